"""RRF files and open crosswalks."""

import csv
import gzip
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TextIO

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import UsageError
from shiyi.linking.umls.semantic_types import DISEASES, INGREDIENTS

_CUI = re.compile(r"C\d{7}")
_MRCONSO, _MRSTY, _MRCUI, _MRDEF, _MRREL = 18, 6, 7, 8, 16  # columns; a line ends with a bar
_NO_RELATION = frozenset({"SIB", "AQ", "QB", "XR", "DEL"})


@dataclass(frozen=True, slots=True)
class UmlsName:
    """One string that names a CUI; ``types`` are semantic types, or what stands for them."""

    text: str
    cui: str
    preferred: bool = False
    types: frozenset[str] = frozenset()


def open_names(folder: Path) -> Iterator[UmlsName]:
    """Yield the names in the open crosswalks that lie in ``folder`` or below it.

    Read are iDISK2.0's ``DSI_public.csv``, Disease Ontology's ``allXREFinDO.tsv`` and any
    ``*umls*.sssom.tsv`` with labels (MONDO, HP), each also compressed by gzip. Raises
    :class:`UsageError` where none of them is there.
    """
    readers = (
        ("DSI_public.csv*", _idisk), ("allXREFinDO.tsv*", _doid), ("*umls*.sssom.tsv*", _sssom),
    )  # fmt: skip
    results = [(path, read) for name, read in readers for path in sorted(folder.rglob(name))]
    if not results:
        raise UsageError(f"{folder} holds no DSI_public.csv, allXREFinDO.tsv or umls.sssom.tsv")
    for path, read in results:
        with _open_text(path) as lines:
            yield from read(lines)


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _idisk(lines: TextIO) -> Iterator[UmlsName]:
    kinds = frozenset({INGREDIENTS})
    for row in csv.DictReader(lines):
        if not _CUI.fullmatch(row["CUI"]):
            continue
        names = {row["Name"].strip(): True}
        for column in ("NHP_Name", "DSLD_Name", "MSKCC_Name"):
            for name in (row[column] or "").split(" | "):
                names.setdefault(name.strip(), False)
        yield from (UmlsName(name, row["CUI"], main, kinds) for name, main in names.items() if name)


def _doid(lines: TextIO) -> Iterator[UmlsName]:
    for row in csv.DictReader(lines, delimiter="\t"):
        prefix, _, cui = row["xref"].partition(":")
        if prefix == "UMLS_CUI" and _CUI.fullmatch(cui):
            yield UmlsName(row["label"], cui, True, frozenset({DISEASES}))


def _sssom(lines: TextIO) -> Iterator[UmlsName]:
    rows = (line for line in lines if not line.startswith("#"))
    for row in csv.DictReader(rows, delimiter="\t"):
        cui = row["object_id"].rpartition(":")[2]
        if row.get("subject_label") and _CUI.fullmatch(cui):
            yield UmlsName(row["subject_label"], cui, True, frozenset({DISEASES}))


@dataclass(frozen=True, slots=True)
class SemanticTypes:
    """The semantic types of each CUI of MRSTY.RRF, five bytes a row."""

    cuis: NDArray[np.uint32]
    types: NDArray[np.uint8]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read MRSTY.RRF."""
        cuis, types = array("I"), array("B")
        for row in _rows(path, _MRSTY):
            cuis.append(int(row[0][1:]))
            types.append(int(row[1][1:]))
        order = np.argsort(np.asarray(cuis, np.uint32), kind="stable")
        return cls(np.asarray(cuis, np.uint32)[order], np.asarray(types, np.uint8)[order])

    def of(self, cui: str) -> frozenset[str]:
        """Return the types of a CUI, none where it is not listed."""
        wanted = np.uint32(int(cui[1:]))
        first, last = np.searchsorted(self.cuis, [wanted, wanted + 1])
        return frozenset(f"T{item:03d}" for item in self.types[first:last])


def mrconso_names(
    path: Path,
    types: SemanticTypes | None = None,
    languages: Iterable[str] = ("ENG", "CHI"),
    sources: Iterable[str] = (),
) -> Iterator[UmlsName]:
    """Yield the names of MRCONSO.RRF that are not suppressed, each once for a CUI.

    ``sources`` are source abbreviations (SAB), none for all. A name is preferred where its atom
    has TS = P, STT = PF and ISPREF = Y. Memory is bounded by the names of one CUI.
    """
    wanted, chosen = frozenset(languages), frozenset(sources)
    names: dict[str, bool] = {}
    reached = ""
    for row in _rows(path, _MRCONSO):
        cui = row[0]
        if cui != reached and names:
            yield from _names(reached, names, types)
            names = {}
        reached = cui
        if row[1] in wanted and row[16] == "N" and (not chosen or row[11] in chosen):
            preferred = row[2] == "P" and row[4] == "PF" and row[6] == "Y"
            names[row[14]] = names.get(row[14], False) or preferred
    yield from _names(reached, names, types)


def _names(cui: str, names: dict[str, bool], types: SemanticTypes | None) -> Iterator[UmlsName]:
    kinds = types.of(cui) if types is not None and names else frozenset[str]()
    for text, preferred in names.items():
        yield UmlsName(text, cui, preferred, kinds)


def load_retired_cuis(path: Path) -> dict[str, str]:
    """Read MRCUI.RRF: the CUI that replaced each retired one, "" where it was deleted.

    Chains are followed. Only synonymy replaces (REL = SY); a retired CUI that was split in
    several, or has merely broader or narrower ones, is as good as deleted.
    """
    replaced: dict[str, set[str]] = {}
    for row in _rows(path, _MRCUI):
        known = replaced.setdefault(row[0], set())
        if row[2] == "SY" and row[5]:
            known.add(row[5])
    return {cui: _follow_replacement(cui, replaced) for cui in replaced}


def _follow_replacement(cui: str, replaced: dict[str, set[str]]) -> str:
    seen: set[str] = set()
    while cui in replaced and cui not in seen:
        seen.add(cui)
        if len(replaced[cui]) != 1:
            return ""
        (cui,) = replaced[cui]
    return "" if cui in seen else cui


def _rows(path: Path, columns: int) -> Iterator[list[str]]:
    with _open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            row = line.rstrip("\r\n").split("|")
            if len(row) != columns + 1 or not _CUI.fullmatch(row[0]):
                raise UsageError(
                    f"{path}:{number} has {len(row)} fields and begins with {row[0]!r}; "
                    f"expected a CUI and {columns} fields, each ended by a bar"
                )
            yield row


@dataclass(frozen=True, slots=True)
class Atom:
    """One string of MRCONSO that is not suppressed, with its language (LAT)."""

    cui: str
    text: str
    language: str
    preferred: bool


def mrconso_atoms(
    path: Path, languages: Iterable[str] = ("ENG", "CHI"), sources: Iterable[str] = ()
) -> Iterator[Atom]:
    """Stream the strings of MRCONSO.RRF; preferred as in :func:`mrconso_names`."""
    wanted, chosen = frozenset(languages), frozenset(sources)
    for row in _rows(path, _MRCONSO):
        if row[1] in wanted and row[16] == "N" and (not chosen or row[11] in chosen):
            preferred = row[2] == "P" and row[4] == "PF" and row[6] == "Y"
            yield Atom(row[0], row[14], row[1], preferred)


def mrdef_texts(path: Path, sources: Iterable[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Stream CUI, source and text of each definition of MRDEF.RRF that is not suppressed."""
    chosen = frozenset(sources)
    for row in _rows(path, _MRDEF):
        if row[6] == "N" and (not chosen or row[4] in chosen):
            yield row[0], row[4], row[5]


def mrrel_pairs(path: Path, sources: Iterable[str] = ()) -> Iterator[tuple[str, str, str, str]]:
    """Stream CUI1, REL, CUI2 and RELA of MRREL.RRF; REL says what the second is to the first.

    Left out are what is suppressed, and siblings and allowed qualifiers (SIB, AQ, QB, XR, DEL).
    """
    chosen = frozenset(sources)
    for row in _rows(path, _MRREL):
        if row[14] == "N" and row[3] not in _NO_RELATION and (not chosen or row[10] in chosen):
            yield row[0], row[3], row[4], row[7]
