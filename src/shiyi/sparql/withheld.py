"""What may leave: a claim that stands only on restricted sources never does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shiyi.errors import KnowledgeBaseError
from shiyi.model.names import graph
from shiyi.model.rdf import NamedNode, Quad, Term, Triple, canonical, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.store import QuadStore
from shiyi.sparql.written import ASIDE, WRITTEN, any_form

RESTRICTED: Final = "restricted"  # the first word of a licence that forbids passing facts on
_CASES: Final = graph("cases").value
# graphs that are nobody's business: what the writer keeps, and patients' cases
PRIVATE: Final = (graph("journal").value, WRITTEN.value, _CASES)
_BOOKKEEPING: Final = SHIYI.appliedThrough
_NAMED: Final = "SELECT ?graph { GRAPH ?graph { } }"
_TERMS: Final = f"?said ?p ?term FILTER(?p != <{RDF.reifies.value}> && isTRIPLE(?term))"
_WITH_TERMS: Final = (
    f"SELECT ?said ?p ?term ?place {{ {{ {_TERMS} }} UNION {{ GRAPH ?place {{ {_TERMS} }} }} }}"
)


@dataclass(frozen=True, slots=True)
class Withheld:
    """What stays inside: claims, evidence and passages by IRI, and the triples claims assert."""

    evidence: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()  # passages and sections
    triples: frozenset[tuple[str, str, str]] = frozenset()  # as canonical N-Triples
    nodes: frozenset[str] = field(init=False)
    _subjects: frozenset[str] = field(init=False, repr=False)  # of those triples

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", self.evidence | self.claims | self.texts)
        object.__setattr__(self, "_subjects", frozenset(each[0] for each in self.triples))

    def hides(self, quad: Quad) -> bool:
        """Tell whether a quad stays inside: private, or of what is withheld."""
        if quad.predicate == _BOOKKEEPING or text_graph(quad).startswith(PRIVATE):
            return True
        return self.holds(quad)

    def holds(self, quad: Quad) -> bool:
        """Tell whether a quad is of what is withheld."""
        if not self.nodes:
            return False
        said = quad.object
        if isinstance(said, Triple):
            ends: tuple[str, ...] = (text(said.subject), text(said.object))
        else:
            ends = (text(said),)
        if not self.nodes.isdisjoint((text(quad.subject), *ends)):
            return True
        if (subject := canonical(quad.subject)) not in self._subjects:
            return False
        return (subject, canonical(quad.predicate), canonical(said)) in self.triples


def text_graph(quad: Quad) -> str:
    """Give the name of a quad's graph; the default graph's is empty."""
    place = quad.graph_name
    return place.value if isinstance(place, NamedNode) else ""


def withheld(store: QuadStore, licence: str | None = None) -> Withheld:
    """Find what stays inside, in every graph; it takes as long as there is much of it.

    That is what restricted sources say (with ``licence``: what all but sources under it say),
    their passages, claims that nothing else supports, and what was derived from such claims.
    """
    shut = _shut_sources(store, licence)
    if not shut:
        return Withheld()
    evidence: set[Term] = set()
    supported: set[Term] = set()
    for source in shut:
        for node in set(_pointing(store, DCTERMS.source, source)):
            if users := set(_pointing(store, SHIYI.evidence, node)):
                evidence.add(node)
                supported |= users
    claims = {each for each in supported if set(_values(store, each, SHIYI.evidence)) <= evidence}
    held = _all_from(store, claims, (PROV.wasDerivedFrom,))  # derived claims, at any depth
    below = _all_from(store, shut, (PROV.wasDerivedFrom, SHIYI.partOfSection))
    return Withheld(
        _texts(evidence), _texts(held), _texts(below - shut - held - evidence),
        frozenset(
            (canonical(said.subject), canonical(said.predicate), canonical(said.object))
            for said in _asserted(store, held)
        ),
    )  # fmt: skip


def hide(snapshot: Snapshot, whole: bool = False, open_to_all: bool = False) -> bool:
    """Take out of a snapshot what stays inside; tell whether it held any of that.

    From a ``whole`` one, for those who may read all, only the writer's own notes go;
    ``open_to_all`` leaves what restricted sources say. Literals as they were written lie in a store
    of their own inside it then.
    KnowledgeBaseError where something stays inside and the snapshot cannot be changed.
    """
    store = OxigraphStore.read_only(snapshot.path)
    try:  # of the snapshot, and not of what it was made of: that may have changed since
        held = Withheld() if whole or open_to_all else withheld(store)
        private = private_graphs(store)
        if WRITTEN.value in private and not snapshot.is_original and any_form(store.match):
            aside = OxigraphStore.on_disk(snapshot.path / ASIDE)
            aside.load_quads(store.match(None, None, None, WRITTEN))
            aside.flush()
            aside.close()
    finally:
        store.close()
    cases = {each for each in private if each.startswith(_CASES)}
    notes = private - cases
    differs = bool(held.nodes or cases) and not whole
    if snapshot.is_original:
        if differs:
            raise KnowledgeBaseError(
                f"{snapshot.path} holds what may not leave, and no copy without it can be made: "
                "make the folder of the knowledge base writable"
            )
        return False
    if differs or notes:
        strip(snapshot.path, held, notes if whole else private)
    return differs


def private_graphs(store: QuadStore) -> set[str]:
    """Name the graphs that no reader sees."""
    found = (text(row["graph"]) for row in store.select(_NAMED))
    return {name for name in found if name.startswith(PRIVATE)}


def strip(folder: Path, held: Withheld, private: Iterable[str]) -> None:
    """Remove from a copy of the store what stays inside."""
    store = OxigraphStore.on_disk(folder)
    try:
        store.unload_quads(_held_quads(store, held))
        if graphs := tuple(NamedNode(name) for name in sorted(private)):
            store.change((), (), (graphs, ()))
        store.flush()
    finally:
        store.close()


def _held_quads(store: OxigraphStore, held: Withheld) -> list[Quad]:
    nodes = [NamedNode(each) for each in held.nodes]
    found = [quad for node in nodes for quad in store.match(node)]
    found += [quad for node in nodes for quad in store.match(None, None, node)]
    for said in _asserted(store, map(NamedNode, held.claims)):
        subject = said.subject
        if isinstance(subject, NamedNode):
            found += store.match(subject, said.predicate, said.object)
    if nodes:  # statements about them, which no index finds
        found += (quad for quad in with_terms(store) if held.holds(quad))
    return found


def with_terms(store: QuadStore) -> Iterator[Quad]:
    """Yield the quads whose object is a triple term, which no index tells apart."""
    # nearly all of them are found by this, and the query below has then little to decode
    yield from (q for q in store.match(None, RDF.reifies) if isinstance(q.object, Triple))
    for row in store.select(_WITH_TERMS):
        subject, predicate, place = row["said"], row["p"], row.get("place")
        yield Quad(subject, predicate, row["term"], place)  # type: ignore[arg-type] # as it was stored


def _shut_sources(store: QuadStore, licence: str | None) -> set[Term]:
    given = [(quad.subject, text(quad.object)) for quad in store.match(None, DCTERMS.license)]
    shut: set[Term] = {node for node, terms in given if terms.startswith(RESTRICTED)}
    if licence is not None:
        ours = {node for node, terms in given if terms == licence}
        shut |= {q.subject for q in store.match(None, RDF.type, SHIYI.Source)} - ours
    return shut


def _pointing(store: QuadStore, predicate: NamedNode, node: Term) -> Iterator[Term]:
    return (quad.subject for quad in store.match(None, predicate, node))


def _values(store: QuadStore, node: Term, predicate: NamedNode) -> Iterator[Term]:
    return (quad.object for quad in store.match(node, predicate))  # type: ignore[arg-type] # it was a subject


def _texts(nodes: Iterable[Term]) -> frozenset[str]:
    return frozenset(text(each) for each in nodes)


def _all_from(
    store: QuadStore, start: Iterable[Term], ways: tuple[NamedNode, ...]
) -> set[Term]:  # fmt: skip
    """Give what leads to the start by some relations, the start included."""
    found, left = set(start), list(start)
    while left:
        node = left.pop()
        new = {each for way in ways for each in _pointing(store, way, node)} - found
        found |= new
        left += new
    return found


def _asserted(store: QuadStore, claims: Iterable[Term]) -> Iterator[Triple]:
    for claim in claims:
        for said in _values(store, claim, RDF.reifies):
            if isinstance(said, Triple):
                yield said
