"""What a release says, claim by claim, so that two can be compared."""

import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, Self

from shiyi.errors import UsageError
from shiyi.model.names import ID
from shiyi.model.rdf import (
    Literal,
    NamedNode,
    Triple,
    canonical,
    local_name,
    parse_n_quads_lines,
    text,
)
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.lines import allowed_lines, in_default_graph
from shiyi.sparql.store import QuadStore
from shiyi.sparql.withheld import withheld

CLAIMS: Final = "claims.csv.gz"
MAPPINGS: Final = "mappings.sssom.tsv"
RECORD: Final = "release.json"
COLUMNS: Final = (
    "claim", "subject", "subject_zh", "subject_en", "predicate", "object", "object_zh",
    "object_en", "polarity", "status", "confidence", "evidence",
)  # fmt: skip
_CLAIM: Final = f"<{ID}claim/".encode()
_LABEL: Final = f" {SKOS.prefLabel} ".encode()
Mapping3 = tuple[str, str, str]  # concept, predicate, other concept


@dataclass(frozen=True, slots=True)
class Stated:
    """One accepted claim as a row of text; ``object`` is canonical N-Triples."""

    claim: str
    subject: str
    subject_zh: str
    subject_en: str
    predicate: str
    object: str
    object_zh: str
    object_en: str
    polarity: str
    status: str
    confidence: str
    evidence: str  # IRIs, sorted, with blanks between

    def sentence(self, language: str = "en") -> str:
        """Say the claim in the labels of its time."""
        zh = language == "zh"
        ends = (
            self.subject_zh if zh else self.subject_en,
            (self.object_zh if zh else self.object_en) or self.object,
        )
        sign = " ¬" if self.polarity == "negative" else " "
        return (
            f"{ends[0] or local_name(self.subject)} ·{sign}{local_name(self.predicate)} · {ends[1]}"
        )


@dataclass(frozen=True, slots=True)
class Edition:
    """The accepted claims and the mappings of a release or a base; ``version`` may be empty."""

    version: str
    release: str
    claims: Mapping[str, Stated]
    mappings: frozenset[Mapping3]
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_store(cls, store: QuadStore, release: str, version: str = "") -> Self:
        """Read what of a base may leave."""
        return cls.of_lines(list(in_default_graph(allowed_lines(store, withheld(store)))),
                            mapped(store), release, version)  # fmt: skip

    @classmethod
    def of_lines(
        cls, lines: Iterable[bytes], rows: Iterable[Mapping3], release: str, version: str
    ) -> Self:
        """Read canonical lines of the accepted view."""
        claims = {each.claim: each for each in stated(lines)}
        return cls(version, release, claims, frozenset(rows))

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Read a release that :func:`shiyi.publishing.release.publish` wrote."""
        try:
            record = json.loads((folder / RECORD).read_bytes())
            table = gzip.decompress((folder / CLAIMS).read_bytes()).decode("utf-8")
            rows = (folder / MAPPINGS).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as fault:
            raise UsageError(f"{folder} holds no whole release: {fault}") from fault
        claims = {row["claim"]: Stated(**row) for row in csv.DictReader(io.StringIO(table))}
        cells = [row.split("\t") for row in rows if not row.startswith("#")][1:]
        mappings = frozenset((cell[0], cell[2], cell[3]) for cell in cells)
        labels = {cell[0]: cell[1] for cell in cells}
        return cls(record["version"], record["release"], claims, mappings, labels)


def mapped(store: QuadStore) -> Iterator[Mapping3]:
    """Yield mappings as the SSSOM table has them."""
    from shiyi.publishing.tables import sssom_table

    return ((row[0], row[2], row[3]) for row in sssom_table(store).rows)


def stated(lines: Iterable[bytes]) -> Iterator[Stated]:
    """Yield the claims of canonical lines, in the order of their IRIs, with the labels of both ends."""
    about, labels = [], dict[str, dict[str, str]]()
    for line in lines:
        if line.startswith(_CLAIM):
            about.append(line)
        elif _LABEL in line:
            [quad] = parse_n_quads_lines([line])
            if isinstance(label := quad.object, Literal) and label.language:
                labels.setdefault(text(quad.subject), {})[label.language] = label.value
    for claim, quads in groupby(parse_n_quads_lines(about), key=lambda quad: text(quad.subject)):
        said, evidence, triple = {}, list[str](), None
        for quad in quads:
            if quad.predicate == RDF.reifies and isinstance(quad.object, Triple):
                triple = quad.object
            elif quad.predicate == SHIYI.evidence:
                evidence.append(text(quad.object))
            else:
                said[quad.predicate] = local_name(text(quad.object))
        if triple is not None:
            start, end = labels.get(text(triple.subject), {}), _ends(triple, labels)
            yield Stated(
                claim, text(triple.subject), start.get("zh", ""), start.get("en", ""),
                triple.predicate.value, canonical(triple.object), end.get("zh", ""),
                end.get("en", ""), said.get(SHIYI.polarity, ""), said.get(SHIYI.status, ""),
                said.get(SHIYI.confidence, ""), " ".join(sorted(evidence)),
            )  # fmt: skip


def _ends(triple: Triple, labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    if isinstance(triple.object, NamedNode):
        return labels.get(triple.object.value, {})
    if isinstance(triple.object, Literal):
        return {triple.object.language or "en": triple.object.value}
    return {}


def claims_table(claims: Iterable[Stated]) -> bytes:
    """Write claims as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(each, name) for name in COLUMNS] for each in claims)
    return file.getvalue().encode("utf-8")


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Give what versions are ordered by: numbers as numbers, and letters before the number alone.

    >>> sorted(["1.10", "1.9", "1.9rc1"], key=version_key)
    ['1.9rc1', '1.9', '1.10']
    """
    parts = [
        (1, int(each)) if each.isdigit() else (-1, each)
        for each in re.findall(r"[0-9]+|[A-Za-z]+", version)
    ]
    return (*parts, (0, 0))


def editions_in(folder: Path) -> list[Path]:
    """List the whole releases in a folder, the newest version first."""
    found = [
        path.parent for path in folder.glob(f"*/{RECORD}") if not path.parent.name.startswith(".")
    ]
    return sorted(found, key=lambda each: version_key(each.name), reverse=True)
