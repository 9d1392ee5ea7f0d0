"""What may leave: a claim that stands only on restricted sources never does."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from shiyi.model.names import graph
from shiyi.model.rdf import NamedNode, Quad, Triple, canonical, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.sparql.store import QuadStore

RESTRICTED: Final = "restricted"  # the first word of a licence that forbids passing facts on
# graphs that are nobody's business: what the journal keeps, and patients' cases
PRIVATE: Final = (graph("journal").value, graph("cases").value)
_BOOKKEEPING: Final = SHIYI.appliedThrough


@dataclass(frozen=True, slots=True)
class Withheld:
    """What stays inside: claims, evidence and passages by IRI, and the triples claims assert."""

    evidence: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()  # passages and sections
    triples: frozenset[tuple[str, str, str]] = frozenset()  # as canonical N-Triples
    nodes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", self.evidence | self.claims | self.texts)

    def hides(self, quad: Quad) -> bool:
        """Tell whether a quad stays inside."""
        if quad.predicate == _BOOKKEEPING or text_graph(quad).startswith(PRIVATE):
            return True
        if not self.nodes:
            return False
        said = quad.object
        if isinstance(said, Triple):
            ends: tuple[str, ...] = (text(said.subject), text(said.object))
        else:
            ends = (text(said),)
        if not self.nodes.isdisjoint((text(quad.subject), *ends)):
            return True
        parts = (canonical(quad.subject), canonical(quad.predicate), canonical(said))
        return parts in self.triples


def text_graph(quad: Quad) -> str:
    """Give the name of a quad's graph; the default graph's is empty."""
    place = quad.graph_name
    return place.value if isinstance(place, NamedNode) else ""


def withheld(store: QuadStore, licence: str | None = None) -> Withheld:
    """Find what an export leaves out, in every graph.

    That is what restricted sources say (with ``licence``: what all but sources under it say),
    their passages, claims that nothing else supports, and what was derived from such claims.
    """
    shut = _shut_sources(store, licence)
    if not shut:
        return Withheld()
    cited = _pairs(store, DCTERMS.source)
    evidence = {node for node, sources in cited.items() if sources & shut}
    support = _pairs(store, SHIYI.evidence)
    evidence &= {node for each in support.values() for node in each}
    claims = {claim for claim, each in support.items() if each <= evidence}
    derived = _turned(_pairs(store, PROV.wasDerivedFrom))
    held = _all_from(claims, derived)  # derived claims, at any depth
    parts = _turned(_pairs(store, SHIYI.partOfSection))
    both = {key: derived.get(key, set()) | parts.get(key, set()) for key in (*derived, *parts)}
    texts = _all_from(shut, both) - shut - held
    return Withheld(
        frozenset(evidence), frozenset(held), frozenset(texts - evidence),
        frozenset(_asserted(store, held)),
    )  # fmt: skip


def _shut_sources(store: QuadStore, licence: str | None) -> set[str]:
    given = _pairs(store, DCTERMS.license)
    shut = {node for node, terms in given.items() if any(t.startswith(RESTRICTED) for t in terms)}
    if licence is not None:
        sources = {text(q.subject) for q in store.match(None, RDF.type, SHIYI.Source)}
        shut |= {node for node in sources if licence not in given.get(node, ())}
    return shut


def _pairs(store: QuadStore, predicate: NamedNode) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, predicate):
        found[text(quad.subject)].add(text(quad.object))
    return found


def _turned(pairs: Mapping[str, set[str]]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for subject, objects in pairs.items():
        for each in objects:
            found[each].add(subject)
    return found


def _all_from(start: Iterable[str], steps: Mapping[str, set[str]]) -> set[str]:
    """Give what can be reached, the start included."""
    found, left = set(start), list(start)
    while left:
        new = steps.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def _asserted(store: QuadStore, claims: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    for claim in claims:
        for quad in store.match(NamedNode(claim), RDF.reifies):
            if isinstance(said := quad.object, Triple):
                yield canonical(said.subject), canonical(said.predicate), canonical(said.object)
