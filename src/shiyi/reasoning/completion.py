"""Claims nobody made yet that a model holds likely: kept apart, never asserted, never safety."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiyi.errors import RangeError
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, canonical, decimal, local_name
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.inheritance import DERIVED
from shiyi.reasoning.profiles import Values
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.triples import Longs
from shiyi.settings import CompletionSettings
from shiyi.sparql.store import QuadStore

Score = Callable[[Longs], Values]  # beliefs in [0, 1] of numbered (head, relation, tail)
_CHUNK = 200_000
_MAKER = resource("activity-completion")
# never predicted although no rule inherits them: they warn, state the law, or say what a material
# is and a dish is made of, which is what warnings follow from
_WITHHELD = frozenset(
    each.value for each in (
        SHIYI.hasToxicity, SHIYI.hasRedFlag, SHIYI.warrantsCheckFor, SHIYI.confusedWith,
        SHIYI.regulatoryStatus, SHIYI.derivedCaution, SHIYI.potentiallyInteractsWith,
        SHIYI.hasFoodGroup, SHIYI.excludesFoodGroup,
        SHIYI.hasIngredient, SHIYI.derivedFromOrganism, SHIYI.usesPart, SHIYI.impliesSyndrome,
        SHIYI.judgedAs,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prediction:
    """A triple the accepted view lacks, and how likely the model holds it, in [0, 1]."""

    subject: str
    predicate: str
    object: str
    confidence: float

    @property
    def claim(self) -> NamedNode:
        """Name the claim by its content, as it would be named if somebody made it."""
        terms = (NamedNode(x) for x in (self.subject, self.predicate, self.object))
        return resource(f"claim/{content_hash(*map(canonical, terms), 'positive')}")


def predictable(schema: Schema, predicate: str) -> bool:
    """Tell whether completion may touch a relation: between concepts, and never a safety one."""
    known = schema.properties.get(local_name(predicate))
    return bool(known and known.is_object and known.range and not known.is_safety) and (
        predicate not in _WITHHELD
    )


def complete(
    graph: Projection,
    kinds: Mapping[str, str],
    schema: Schema,
    score: Score,
    settings: CompletionSettings,
) -> Iterator[Prediction]:
    """Yield, for each (head, relation) of the graph, likely type-valid tails it lacks.

    ``kinds`` gives each concept's class. At most ``tails_per_head`` best tails each, and only
    those held strictly above ``min_confidence``. Raises ``RangeError`` where ``score`` gives NaN.
    """
    for triples in candidates(graph, kinds, schema):
        belief = np.asarray(score(triples), dtype=np.float64)
        if not bool(np.all((belief >= 0.0) & (belief <= 1.0))):
            raise RangeError("the model gave a belief that is no number in [0, 1]")
        good = belief > settings.min_confidence
        for row, held in _best(triples[good], belief[good], settings.tails_per_head):
            head, relation, tail = row
            yield Prediction(graph.nodes[head], graph.predicates[relation], graph.nodes[tail], held)


def prediction_quads(found: Iterable[Prediction]) -> Iterator[Quad]:
    """Yield predicted claims for graph:derived: reified, with their ends, never asserted."""
    for each in found:
        subject, predicate = NamedNode(each.subject), NamedNode(each.predicate)
        object_, claim = NamedNode(each.object), each.claim
        yield Quad(claim, RDF.reifies, Triple(subject, predicate, object_), DERIVED)
        yield Quad(claim, RDF.subject, subject, DERIVED)
        yield Quad(claim, RDF.predicate, predicate, DERIVED)
        yield Quad(claim, RDF.object, object_, DERIVED)
        yield Quad(claim, RDF.type, SHIYI.Claim, DERIVED)
        yield Quad(claim, SHIYI.status, SHIYI.predicted, DERIVED)
        yield Quad(claim, SHIYI.polarity, SHIYI.positive, DERIVED)
        yield Quad(claim, SHIYI.confidence, decimal(each.confidence), DERIVED)
        yield Quad(claim, PROV.wasGeneratedBy, _MAKER, DERIVED)


def concept_kinds(store: QuadStore) -> Mapping[str, str]:
    """Give the class of each concept of the accepted view, by IRI."""
    return {
        quad.subject.value: local_name(quad.object.value)
        for quad in store.match(None, RDF.type, None, DefaultGraph())
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
    }


def _stated(graph: Projection, schema: Schema) -> Mapping[tuple[int, int], frozenset[int]]:
    """Give the tails of each (head, relation); symmetric relations are read both ways."""
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    both = [_symmetric(schema, name) for name in graph.predicates]
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), strict=True)
    for head, relation, tail in rows:
        found[head, relation].add(tail)
        if both[relation]:
            found[tail, relation].add(head)
    return {key: frozenset(tails) for key, tails in found.items()}


def _symmetric(schema: Schema, predicate: str) -> bool:
    known = schema.properties.get(local_name(predicate))
    return bool(known and known.symmetric)


def candidates(graph: Projection, kinds: Mapping[str, str], schema: Schema) -> Iterator[Longs]:
    """Yield type-valid numbered triples nobody states; one (head, relation) is never torn apart."""
    stated = _stated(graph, schema)
    valid = {
        i: _valid_tails(graph, kinds, schema, name)
        for i, name in enumerate(graph.predicates)
        if predictable(schema, name)
    }
    waiting: list[Longs] = []
    for (head, relation), tails in sorted(stated.items()):
        if relation not in valid:
            continue
        others = np.setdiff1d(valid[relation], np.array([*tails, head]))
        ends = (np.full(len(others), head), np.full(len(others), relation), others)
        waiting.append(np.column_stack(ends).astype(np.int64))
        if sum(map(len, waiting)) > _CHUNK:
            yield np.vstack(waiting)
            waiting = []
    if waiting:
        yield np.vstack(waiting)


def _valid_tails(
    graph: Projection, kinds: Mapping[str, str], schema: Schema, predicate: str
) -> Longs:
    wanted = schema.property(local_name(predicate)).range
    fits = {kind for kind in set(kinds.values()) if schema.fits(kind, wanted)}
    return np.array(
        [i for i, node in enumerate(graph.nodes) if kinds.get(node) in fits], dtype=np.int64
    )


def _best(triples: Longs, belief: Values, most: int) -> Iterator[tuple[Sequence[int], float]]:
    order = np.lexsort((triples[:, 2], -belief, triples[:, 1], triples[:, 0]))
    taken: dict[tuple[int, int], int] = defaultdict(int)
    for i in order.tolist():
        head, relation, tail = (int(each) for each in triples[i])
        taken[head, relation] += 1
        if taken[head, relation] <= most:
            yield (head, relation, tail), float(belief[i])
