"""The operator's own UMLS release."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from shiyi.errors import UsageError
from shiyi.ingest.batches import Batch, Content, Report
from shiyi.ingest.datasets.dataset import Dataset, load_dataset
from shiyi.linking.umls.index import UmlsNames
from shiyi.linking.umls.linker import UmlsLinker
from shiyi.linking.umls.sources import (
    SemanticTypes,
    UmlsName,
    load_retired_cuis,
    mrconso_atoms,
    mrconso_names,
    mrdef_texts,
    mrrel_pairs,
)
from shiyi.model.iris import UMLS, content_hash
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.base.digests import file_digest
from shiyi.sparql.store.port import QuadStore

FOLDER = "umls"  # of the index, in the folder of the knowledge base; it survives a new build
LANGUAGES = {
    "ENG": "en", "CHI": "zh", "SPA": "es", "FRE": "fr", "GER": "de", "JPN": "ja", "POR": "pt",
    "ITA": "it", "RUS": "ru", "KOR": "ko", "DUT": "nl", "SWE": "sv", "CZE": "cs", "POL": "pl",
    "HUN": "hu", "FIN": "fi", "NOR": "no", "TUR": "tr", "GRE": "el", "LAV": "lv", "EST": "et",
    "HRV": "hr", "SCR": "hr", "DAN": "da", "UKR": "uk", "ARA": "ar", "LAT": "la", "BAQ": "eu",
    "HEB": "he",
}  # fmt: skip
# MRREL says what CUI2 is to CUI1: RB and PAR, that it is broader
_RELATIONS = {"RB": SKOS.broader, "PAR": SKOS.broader, "RN": SKOS.narrower, "CHD": SKOS.narrower}
_PIECE = 20_000  # quads of one batch


@dataclass(frozen=True, slots=True)
class Filters:
    """The part of a release to read: languages (LAT), sources (SAB), semantic types."""

    languages: tuple[str, ...] = ("ENG", "CHI")
    sources: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(slots=True)
class Release:
    """A folder of RRF files; only MRCONSO must be there."""

    folder: Path
    filters: Filters = field(default_factory=Filters)

    def file(self, name: str) -> Path | None:
        """Find a file, packed by gzip or not."""
        for path in (self.folder / f"{name}.RRF", self.folder / f"{name}.RRF.gz"):
            if path.is_file():
                return path
        return None

    @property
    def conso(self) -> Path:
        """Return MRCONSO; UsageError where the folder is no release."""
        if result := self.file("MRCONSO"):
            return result
        raise UsageError(f"{self.folder} holds no MRCONSO.RRF; give the META folder of a release")

    def dataset(self) -> Dataset:
        """Describe the release by the digest of its names; UMLS ships under its own licence."""
        base = load_dataset("umls")
        return Dataset(base.name, file_digest(self.conso)[:12], base.source, base.page)

    def retired_cuis(self) -> dict[str, str]:
        """Return the CUI that stands today for each retired one, "" for those deleted."""
        path = self.file("MRCUI")
        return load_retired_cuis(path) if path else {}

    def types(self) -> SemanticTypes | None:
        """Read the semantic types, where the release has them."""
        path = self.file("MRSTY")
        if path is None and self.filters.types:
            raise UsageError(f"{self.folder} holds no MRSTY.RRF, which --types needs")
        return SemanticTypes.read(path) if path else None

    def names(self) -> Iterator[UmlsName]:
        """Stream the names that the filters let through; memory holds the types and one CUI."""
        wanted = frozenset(self.filters.types)
        result = mrconso_names(
            self.conso, self.types(), self.filters.languages, self.filters.sources
        )
        return (name for name in result if not wanted or name.types & wanted)


def index_names(release: Release, home: Path) -> int:
    """Build the index of names in ``home/umls``, with the retired CUIs; return the count."""
    names = UmlsNames.build(release.names(), home / FOLDER)
    retired = json.dumps(release.retired_cuis(), sort_keys=True)
    (home / FOLDER / "retired.json").write_text(retired, "utf-8")
    return names.size


def open_umls_linker(home: Path) -> UmlsLinker | None:
    """Open the index that :func:`index_names` made, if one was made."""
    if not (home / FOLDER / "umls.json").is_file():
        return None
    retired = json.loads((home / FOLDER / "retired.json").read_text("utf-8"))
    return UmlsLinker(UmlsNames(home / FOLDER), retired)


def list_cuis(store: QuadStore) -> set[str]:
    """List the CUIs that a concept of the base, or a candidate, is matched to."""
    results = set[str]()
    for predicate in (SKOS.exactMatch, SKOS.closeMatch, SKOS.broadMatch):
        for quad in store.match(None, predicate, None, None):
            if isinstance(quad.object, NamedNode) and quad.object.value.startswith(UMLS):
                results.add(quad.object.value.removeprefix(UMLS))
    for quad in store.match(None, RDF.object, None, None):
        if isinstance(quad.object, NamedNode) and quad.object.value.startswith(UMLS):
            results.add(quad.object.value.removeprefix(UMLS))
    return results


def umls_batches(
    release: Release, dataset: Dataset, known: set[str], report: Report
) -> Iterator[Batch]:
    """Yield what the release says of ``known`` CUIs: names, types, definitions, hierarchy.

    A retired CUI is followed: it is stated what stands for it, and that is taken in its place.
    """
    place = dataset.graph
    retired = release.retired_cuis()
    current = {retired.get(cui, cui) for cui in known} - {""}
    parts: tuple[tuple[str, Callable[[], Iterable[Quad]]], ...] = (
        ("retired", lambda: _retired_matches(known, retired, place, report)),
        ("names", lambda: _names(release, current, place)),
        ("definitions", lambda: _definitions(release, current, place)),
        ("relations", lambda: _relations(release, current, place)),
    )
    filters = content_hash(repr(release.filters), *sorted(known))
    for name, quads in parts:
        rest, number = iter(quads()), 0
        while piece := list(islice(rest, _PIECE)):
            report.rows += len(piece)
            yield Batch(f"{name} {number} {filters}", lambda piece=piece: Content(quads=piece))  # type: ignore[misc]
            number += 1


def _retired_matches(
    known: set[str], retired: dict[str, str], place: NamedNode, report: Report
) -> Iterator[Quad]:
    for cui in sorted(known & retired.keys()):
        if now := retired[cui]:
            report.repaired["retired CUI"] += 1
            yield Quad(_node(cui), DCTERMS.isReplacedBy, _node(now), place)
        else:
            report.unlinked["deleted CUI"] += 1


def _names(release: Release, cuis: set[str], place: NamedNode) -> Iterator[Quad]:
    filters, types = release.filters, release.types()
    for atom in mrconso_atoms(release.conso, filters.languages, filters.sources):
        if atom.cui not in cuis:
            continue
        kinds = types.of(atom.cui) if types else frozenset[str]()
        if filters.types and not kinds & set(filters.types):
            continue
        node = _node(atom.cui)
        predicate = SKOS.prefLabel if atom.preferred else SKOS.altLabel
        language = LANGUAGES.get(atom.language)
        yield Quad(node, predicate, Literal(atom.text, language=language), place)
        yield Quad(node, RDF.type, SKOS.Concept, place)
        yield Quad(node, SHIYI.umlsCui, Literal(atom.cui), place)
        for kind in sorted(kinds):
            yield Quad(node, DCTERMS.type, Literal(kind), place)


def _definitions(release: Release, cuis: set[str], place: NamedNode) -> Iterator[Quad]:
    path = release.file("MRDEF")
    for cui, sab, value in mrdef_texts(path, release.filters.sources) if path else ():
        if cui in cuis:
            yield Quad(_node(cui), SKOS.definition, Literal(value, language="en"), place)
            yield Quad(_node(cui), RDFS.isDefinedBy, Literal(sab), place)


def _relations(release: Release, cuis: set[str], place: NamedNode) -> Iterator[Quad]:
    path = release.file("MRREL")
    for one, rel, other, _ in mrrel_pairs(path, release.filters.sources) if path else ():
        if one in cuis and other in cuis and one != other:
            yield Quad(_node(one), _RELATIONS.get(rel, SKOS.related), _node(other), place)


def _node(cui: str) -> NamedNode:
    return NamedNode(UMLS + cui)
