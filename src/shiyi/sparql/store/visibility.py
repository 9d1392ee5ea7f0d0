"""Quads that rest on restricted sources only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shiyi.errors import KnowledgeBaseError
from shiyi.model.iris import ROOT, graph, is_text
from shiyi.model.rdf import NamedNode, Quad, Term, Triple, canonical, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore, is_own
from shiyi.sparql.store.snapshots import Snapshot

RESTRICTED: Final = "restricted"  # the first word of a licence that forbids passing facts on
_CASES: Final = graph("cases").value
# earlier releases noted there how literals were written; nothing reads it any more
FORMER_NOTES: Final = graph("written")
# graphs no reader sees: the writer's own, and patients' cases
PRIVATE: Final = (graph("journal").value, FORMER_NOTES.value, _CASES)
_BOOKKEEPING: Final = SHIYI.appliedThrough
_NAMED: Final = "SELECT ?graph { GRAPH ?graph { } }"
_TERMS: Final = f"?s ?p ?term FILTER(?p != <{RDF.reifies.value}> && isTRIPLE(?term))"
_WITH_TERMS: Final = (
    f"SELECT ?s ?p ?term ?place {{ {{ {_TERMS} }} UNION {{ GRAPH ?place {{ {_TERMS} }} }} }}"
)


@dataclass(frozen=True, slots=True)
class RestrictedContent:
    """Restricted claims, evidence and passages by IRI, and the triples that claims assert."""

    evidence: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()  # passages, sections and texts of claims
    triples: frozenset[tuple[str, str, str]] = frozenset()  # as canonical N-Triples
    nodes: frozenset[str] = field(init=False)
    _subjects: frozenset[str] = field(init=False, repr=False)  # of those triples

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", self.evidence | self.claims | self.texts)
        object.__setattr__(self, "_subjects", frozenset(triple[0] for triple in self.triples))

    def hides(self, quad: Quad) -> bool:
        """Return whether a quad is hidden from readers: private or restricted."""
        place = quad.graph_name
        if isinstance(place, NamedNode) and place.value.startswith(PRIVATE):
            return True
        if quad.predicate == _BOOKKEEPING:
            return True
        return bool(self.nodes) and self.holds(quad)

    def holds(self, quad: Quad) -> bool:
        """Return whether a quad is of what is withheld."""
        if not self.nodes:
            return False
        value = quad.object
        if isinstance(value, Triple):
            ends: tuple[str, ...] = (text(value.subject), text(value.object))
        else:
            ends = (text(value),)
        if not self.nodes.isdisjoint((text(quad.subject), *ends)):
            return True
        if (subject := canonical(quad.subject)) not in self._subjects:
            return False
        return (subject, canonical(quad.predicate), canonical(value)) in self.triples


def find_restricted(store: QuadStore, licence: str | None = None) -> RestrictedContent:
    """Find what is restricted, in every graph; the time grows with its amount.

    That is what restricted sources say (with ``licence``: what all but sources under it say),
    their passages, claims that nothing else supports, and what was derived from such claims.
    """
    shut = _shut_sources(store, licence)
    if not shut:
        return RestrictedContent()
    evidence: set[Term] = set()
    terms: set[Term] = set()
    for source in shut:
        for node in set(_subjects_pointing(store, DCTERMS.source, source)):
            if users := set(_subjects_pointing(store, SHIYI.evidence, node)):
                evidence.add(node)
                terms |= users
    claims = {term for term in terms if set(_values(store, term, SHIYI.evidence)) <= evidence}
    hidden_terms = _all_from(store, claims, (PROV.wasDerivedFrom,))  # derived claims, at any depth
    below = _all_from(store, shut, (PROV.wasDerivedFrom, SHIYI.partOfSection))
    triples = list(_asserted_triples(store, hidden_terms))
    ends = {each.object for each in triples if isinstance(each.object, NamedNode)}
    values = {
        end
        for end in ends
        if is_text(end.value) and not _is_stated_elsewhere(store, end, hidden_terms, triples)
    }
    return RestrictedContent(
        _texts(evidence),
        _texts(hidden_terms),
        _texts((below - shut - hidden_terms - evidence) | values),
        frozenset(
            (canonical(triple.subject), canonical(triple.predicate), canonical(triple.object))
            for triple in triples
        ),
    )


def _is_stated_elsewhere(
    store: QuadStore, result: Term, hidden: set[Term], triples: Iterable[Triple]
) -> bool:
    """Return whether a claim that is not hidden has a text as its object too."""
    known = {(triple.subject, triple.predicate) for triple in triples if triple.object == result}
    return any(
        quad.subject not in hidden
        if quad.predicate == RDF.object
        else (quad.subject, quad.predicate) not in known
        for quad in store.match(None, None, result)
        if _counts(quad)
    )


def remove_restricted(snapshot: Snapshot, whole: bool = False, open_to_all: bool = False) -> bool:
    """Remove restricted data from a snapshot; return whether there was any.

    From a ``whole`` one, for those who may read all, only the writer's own notes go;
    ``open_to_all`` leaves what restricted sources say.
    KnowledgeBaseError where there is some and the snapshot cannot be changed.
    """
    store = OxigraphStore.read_only(snapshot.path)
    try:  # of the snapshot, and not of what it was made of: that may have changed since
        content = RestrictedContent() if whole or open_to_all else find_restricted(store)
        private = private_graphs(store)
    finally:
        store.close()
    cases = {each for each in private if each.startswith(_CASES)}
    notes = private - cases
    differs = bool(content.nodes or cases) and not whole
    if snapshot.is_original:
        if differs:
            raise KnowledgeBaseError(
                f"{snapshot.path} holds what may not leave, and no copy without it can be made: "
                "make the folder of the knowledge base writable"
            )
        return False
    if differs or notes:
        strip(snapshot.path, content, notes if whole else private)
    return differs


def private_graphs(store: QuadStore) -> set[str]:
    """Name the graphs that no reader sees."""
    results = (text(row["graph"]) for row in store.select(_NAMED))
    return {name for name in results if name.startswith(PRIVATE)}


def strip(folder: Path, hidden: RestrictedContent, private: Iterable[str]) -> None:
    """Remove hidden data and private graphs from a copy of the store."""
    store = OxigraphStore.on_disk(folder)
    try:
        store.unload_quads(_hidden_quads(store, hidden))
        if graphs := tuple(NamedNode(name) for name in sorted(private)):
            store.change((), (), (graphs, ()))
        store.flush()
    finally:
        store.close()


def _hidden_quads(store: OxigraphStore, hidden: RestrictedContent) -> list[Quad]:
    nodes = [NamedNode(each) for each in hidden.nodes]
    quads = [quad for node in nodes for quad in store.match(node)]
    quads += [quad for node in nodes for quad in store.match(None, None, node)]
    for triple in _asserted_triples(store, map(NamedNode, hidden.claims)):
        subject = triple.subject
        if isinstance(subject, NamedNode):
            quads += store.match(subject, triple.predicate, triple.object)
    if nodes:  # statements about them, which no index finds
        quads += (quad for quad in quads_with_triple_terms(store) if hidden.holds(quad))
    return quads


def quads_with_triple_terms(store: QuadStore) -> Iterator[Quad]:
    """Yield the quads with a triple term as object, which no index tells apart."""
    # nearly all of them are found by this, and the query below has then little to decode
    yield from (q for q in store.match(None, RDF.reifies) if isinstance(q.object, Triple))
    for row in store.select(_WITH_TERMS):
        subject, predicate, place = row["s"], row["p"], row.get("place")
        yield Quad(subject, predicate, row["term"], place)  # type: ignore[arg-type] # as it was stored


def _shut_sources(store: QuadStore, licence: str | None) -> set[Term]:
    given = [
        (quad.subject, text(quad.object))
        for quad in store.match(None, DCTERMS.license)
        if _counts(quad)
    ]
    shut: set[Term] = {node for node, terms in given if terms.startswith(RESTRICTED)}
    if licence is not None:
        licensed = {node for node, terms in given if terms == licence}
        shut |= {q.subject for q in store.match(None, RDF.type, SHIYI.Source)} - licensed
    return shut


def _subjects_pointing(store: QuadStore, predicate: NamedNode, node: Term) -> Iterator[Term]:
    return (quad.subject for quad in store.match(None, predicate, node) if _counts(quad))


def _values(store: QuadStore, node: Term, predicate: NamedNode) -> Iterator[Term]:
    quads = store.match(node, predicate)  # type: ignore[arg-type] # it was a subject
    return (quad.object for quad in quads if _counts(quad))


def _counts(quad: Quad) -> bool:
    """Return whether to believe a quad: of the base's nodes only the base's graphs tell."""
    return is_own(quad) or not text(quad.subject).startswith(ROOT)


def _texts(nodes: Iterable[Term]) -> frozenset[str]:
    return frozenset(text(term) for term in nodes)


def _all_from(store: QuadStore, start: Iterable[Term], ways: tuple[NamedNode, ...]) -> set[Term]:
    """Return what leads to the start by some relations, the start included."""
    terms, remaining_terms = set(start), list(start)
    while remaining_terms:
        node = remaining_terms.pop()
        new = {term for way in ways for term in _subjects_pointing(store, way, node)} - terms
        terms |= new
        remaining_terms += new
    return terms


def _asserted_triples(store: QuadStore, claims: Iterable[Term]) -> Iterator[Triple]:
    for claim in claims:
        for triple in _values(store, claim, RDF.reifies):
            if isinstance(triple, Triple):
                yield triple
