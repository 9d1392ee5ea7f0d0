"""The facts in memory after a few claims or concepts changed, mended rather than read again."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from shiyi.answering.facts import Fact, Facts
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Triple, local_name, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.projection import Edge, Projection
from shiyi.reasoning.projection_changes import changed
from shiyi.sparql.store import QuadStore

_PLACES = ((DefaultGraph(), False), (graph("derived"), True))
_INDEXES = ("_about", "_toward", "_joined")
_HIERARCHIES = ("narrower", "_belongs", "_above", "_below", "_of_class")
Value = TypeVar("Value")
Ended = tuple[str, Fact]  # a fact, and the end it is listed under


def with_claims(facts: Facts, old: Collection[Fact], new: Collection[Fact]) -> Facts:
    """Give the facts without ``old`` and with ``new``, indexes included."""
    facts.prepare()
    gone = {fact.claim for fact in (*old, *new)}
    touched = (*old, *new)
    by_subject = _side(
        facts.by_subject, gone, [(f.subject, f) for f in old], [(f.subject, f) for f in new]
    )
    by_object = _side(
        facts.by_object, gone, [(f.object, f) for f in old if not f.language],
        [(f.object, f) for f in new if not f.language],
    )  # fmt: skip
    made = replace(facts, by_subject=by_subject, by_object=by_object)
    for name in _HIERARCHIES:
        made.__dict__[name] = getattr(facts, name)
    about = {(f.subject, f.predicate) for f in touched}
    toward = {(f.object, f.predicate) for f in touched if not f.language}
    made.__dict__["_about"] = _index(facts.__dict__["_about"], about, by_subject)
    made.__dict__["_toward"] = _index(facts.__dict__["_toward"], toward, by_object)
    joined = dict(facts.__dict__["_joined"])
    for one, other in {(f.subject, f.object) for f in touched if not f.language}:
        joined[one, other] = joined[other, one] = _between(by_subject, one, other)
    made.__dict__["_joined"] = joined
    return made


def _side(
    side: Mapping[str, tuple[Fact, ...]], gone: set[str], old: list[Ended], new: list[Ended]
) -> dict[str, tuple[Fact, ...]]:
    come: dict[str, list[Fact]] = defaultdict(list)
    for end, fact in new:
        come[end].append(fact)
    made = dict(side)
    for end in dict.fromkeys(end for end, _ in (*old, *new)):
        made[end] = (*(f for f in side.get(end, ()) if f.claim not in gone), *come[end])
    return made


def _index(
    index: Mapping[tuple[str, NamedNode], tuple[Fact, ...]],
    touched: Iterable[tuple[str, NamedNode]],
    side: Mapping[str, tuple[Fact, ...]],
) -> dict[tuple[str, NamedNode], tuple[Fact, ...]]:
    made = dict(index)
    for end, predicate in touched:
        fitting = (
            f for f in side.get(end, ())
            if f.predicate == predicate and f.positive and not f.derived
        )  # fmt: skip
        made[end, predicate] = tuple(sorted(fitting, key=lambda f: (-f.confidence, f.claim)))
    return made


def _between(by_subject: Mapping[str, tuple[Fact, ...]], one: str, other: str) -> tuple[Fact, ...]:
    ways = ((one, other), (other, one))
    return tuple(
        f for at, there in ways for f in by_subject.get(at, ())
        if f.object == there and not f.language
    )  # fmt: skip


def facts_of(store: QuadStore, claim: str) -> tuple[Fact, ...]:
    """Read what the accepted view and the derived graph hold of one claim."""
    found = []
    for place, derived in _PLACES:
        said = {q.predicate: q.object for q in store.match(NamedNode(claim), None, None, place)}
        triple = said.get(RDF.reifies)
        if not isinstance(triple, Triple) or said.get(SHIYI.status) != SHIYI.accepted:
            continue
        object_ = triple.object
        language = (object_.language or "und") if isinstance(object_, Literal) else ""
        found.append(Fact(
            text(triple.subject), triple.predicate, text(object_), claim,
            float(text(said[SHIYI.confidence])), said.get(SHIYI.polarity) != SHIYI.negative, derived,
            language,
        ))  # fmt: skip
    return tuple(found)


def edge_of(fact: Fact) -> Edge:
    """Give a fact as the adjacency holds it."""
    return Edge(fact.subject, fact.predicate.value, fact.object, fact.claim, fact.confidence)


def is_edge(fact: Fact) -> bool:
    """Tell whether the adjacency holds a fact: accepted, positive, between two concepts."""
    return fact.positive and not fact.derived and not fact.language


def edges_of(facts: Facts) -> list[Edge]:
    """List what the adjacency should hold."""
    return [edge_of(f) for found in facts.by_subject.values() for f in found if is_edge(f)]


def level(projection: Projection, facts: Facts) -> Projection:
    """Give an adjacency that was written at the build as the facts are since, changes included."""
    edges = {edge.claim: edge for edge in edges_of(facts)}
    held = dict(zip(projection.claims, projection.confidence.tolist(), strict=True))
    gone = held.keys() - edges.keys()
    come = [e for claim, e in edges.items() if held.get(claim) != e.confidence]
    return changed(projection, gone, come) if gone or come else projection


def with_premises(facts: Facts, store: QuadStore, claims: tuple[str, ...]) -> Facts:
    """Read anew what derived claims rest on."""
    found: dict[str, tuple[str, ...]] = {}
    for claim in claims:
        links = store.match(NamedNode(claim), PROV.wasDerivedFrom, None, graph("derived"))
        found[claim] = tuple(sorted(text(quad.object) for quad in links))
    if all(facts.premises.get(claim, ()) == grounds for claim, grounds in found.items()):
        return facts
    kept = {k: v for k, v in facts.premises.items() if k not in found}
    return _same(facts, premises={**kept, **{k: v for k, v in found.items() if v}})


def with_concepts(facts: Facts, store: QuadStore, concepts: tuple[str, ...]) -> Facts:
    """Read anew how some concepts are named, classed and placed."""
    if not concepts:
        return facts
    labels, classes = dict(facts.labels), dict(facts.classes)
    broader, cuis = dict(facts.broader), dict(facts.cuis)
    default = DefaultGraph()
    for iri in concepts:
        quads = list(store.match(NamedNode(iri), None, None, default))
        named = [q for p in (RDFS.label, SKOS.prefLabel) for q in quads if q.predicate == p]
        labels[iri] = {
            q.object.language or "und": q.object.value
            for q in named if isinstance(q.object, Literal)
        }  # fmt: skip
        kinds = {local_name(text(q.object)) for q in quads if q.predicate == RDF.type}
        ours = [k for k in kinds if k in facts.schema.parents and k not in {"Claim", "Evidence"}]
        _set(classes, iri, _narrowest(ours, facts))
        above = sorted(text(q.object) for q in quads if q.predicate == SKOS.broader)
        _set(broader, iri, tuple(above))
        _set(
            cuis,
            iri,
            min((text(q.object) for q in quads if q.predicate == SHIYI.umlsCui), default=""),
        )
    made = _same(facts, labels=labels, classes=classes, broader=broader, cuis=cuis)
    for name in _HIERARCHIES:
        made.__dict__.pop(name, None)
    return made


def _narrowest(kinds: list[str], facts: Facts) -> str:
    return max(kinds, key=lambda name: (len(facts.schema.superclasses(name)), name), default="")


def _set(found: dict[str, Value], iri: str, value: Value) -> None:
    found.pop(iri, None)
    if value:
        found[iri] = value


def _same(facts: Facts, **parts: Mapping[str, object]) -> Facts:
    """Replace parts that no index is built from, and keep the indexes."""
    made = replace(facts, **parts)  # type: ignore[arg-type]
    built = (*_INDEXES, *_HIERARCHIES)
    made.__dict__.update({name: facts.__dict__[name] for name in built if name in facts.__dict__})
    return made
