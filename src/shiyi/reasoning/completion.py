"""Predicted claims and how often they are right."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiyi.errors import RangeError, UsageError
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, canonical, decimal, local_name
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.reasoning.adjacency import Projection, edges_at
from shiyi.reasoning.confidence.evidence import Structure, Values
from shiyi.reasoning.confidence.fusion import LEAST, Fusion, logit, newton, number_claims
from shiyi.reasoning.embeddings.model import Model
from shiyi.reasoning.embeddings.triples import Longs
from shiyi.reasoning.rules import DERIVED
from shiyi.settings import CompletionSettings
from shiyi.sparql.store.port import QuadStore

Score = Callable[[Longs], Values]  # beliefs in [0, 1] of numbered (head, relation, tail)
_CHUNK = 200_000
_OWN = 50  # claims of a relation from which it has a model of its own (Shiyi's)
_FALSE = 10  # triples that nobody states, for each claim that a scorer is fitted to (Shiyi's)
_MAKER = resource("activity-completion")
# never predicted although no rule inherits them: they warn, state the law, or say what a material
# is and a dish is made of, which is what warnings follow from
_WITHHELD = frozenset(each.value for each in (
    SHIYI.hasToxicity, SHIYI.hasRedFlag, SHIYI.warrantsCheckFor, SHIYI.confusedWith,
    SHIYI.regulatoryStatus, SHIYI.derivedCaution, SHIYI.potentiallyInteractsWith,
    SHIYI.hasFoodGroup, SHIYI.excludesFoodGroup, SHIYI.hasIngredient, SHIYI.derivedFromOrganism,
    SHIYI.usesPart, SHIYI.impliesSyndrome, SHIYI.judgedAs,
))  # fmt: skip


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


def is_predictable(schema: Schema, predicate: str) -> bool:
    """Return whether completion may touch a relation: between concepts, and never a safety one."""
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
    those stored strictly above ``min_confidence``. Raise ``RangeError`` where ``score`` gives NaN.
    """
    for triples in candidates(graph, kinds, schema):
        belief = np.asarray(score(triples), dtype=np.float64)
        if not bool(np.all((belief >= 0.0) & (belief <= 1.0))):
            raise RangeError("the model gave a belief that is no number in [0, 1]")
        good = belief > settings.min_confidence
        for row, confidence in _best(triples[good], belief[good], settings.tails_per_head):
            head, relation, tail = row
            yield Prediction(
                graph.nodes[head], graph.predicates[relation], graph.nodes[tail], confidence
            )


def prediction_quads(predictions: Iterable[Prediction]) -> Iterator[Quad]:
    """Yield predicted claims for graph:derived: reified, with their ends, never asserted."""
    for prediction in predictions:
        subject, predicate = NamedNode(prediction.subject), NamedNode(prediction.predicate)
        object_, claim = NamedNode(prediction.object), prediction.claim
        yield Quad(claim, RDF.reifies, Triple(subject, predicate, object_), DERIVED)
        yield Quad(claim, RDF.subject, subject, DERIVED)
        yield Quad(claim, RDF.predicate, predicate, DERIVED)
        yield Quad(claim, RDF.object, object_, DERIVED)
        yield Quad(claim, RDF.type, SHIYI.Claim, DERIVED)
        yield Quad(claim, SHIYI.status, SHIYI.predicted, DERIVED)
        yield Quad(claim, SHIYI.polarity, SHIYI.positive, DERIVED)
        yield Quad(claim, SHIYI.confidence, decimal(prediction.confidence), DERIVED)
        yield Quad(claim, PROV.wasGeneratedBy, _MAKER, DERIVED)


def concept_kinds(store: QuadStore) -> Mapping[str, str]:
    """Return the class of each concept of the accepted view, by IRI."""
    return {
        quad.subject.value: local_name(quad.object.value)
        for quad in store.match(None, RDF.type, None, DefaultGraph())
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
    }


def _stated_tails(graph: Projection, schema: Schema) -> Mapping[tuple[int, int], frozenset[int]]:
    """Return the tails of each (head, relation); symmetric relations are read both ways."""
    results: dict[tuple[int, int], set[int]] = defaultdict(set)
    both = [_symmetric(schema, name) for name in graph.predicates]
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), strict=True)
    for head, relation, tail in rows:
        results[head, relation].add(tail)
        if both[relation]:
            results[tail, relation].add(head)
    return {key: frozenset(tails) for key, tails in results.items()}


def _symmetric(schema: Schema, predicate: str) -> bool:
    known = schema.properties.get(local_name(predicate))
    return bool(known and known.symmetric)


def candidates(graph: Projection, kinds: Mapping[str, str], schema: Schema) -> Iterator[Longs]:
    """Yield type-valid numbered triples nobody states; one (head, relation) is never torn apart."""
    stated_tails = _stated_tails(graph, schema)
    valid = {
        i: valid_tails(graph, kinds, schema, name)
        for i, name in enumerate(graph.predicates)
        if is_predictable(schema, name)
    }
    waiting: list[Longs] = []
    for (head, relation), tails in sorted(stated_tails.items()):
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


def valid_tails(
    graph: Projection, kinds: Mapping[str, str], schema: Schema, predicate: str
) -> Longs:
    """Return the numbers of the nodes that the range of a relation admits."""
    wanted = schema.property(local_name(predicate)).range
    fits = {kind for kind in set(kinds.values()) if schema.fits(kind, wanted)}
    return np.array(
        [i for i, node in enumerate(graph.nodes) if kinds.get(node) in fits], dtype=np.int64
    )


def _best(triples: Longs, belief: Values, limit: int) -> Iterator[tuple[Sequence[int], float]]:
    order = np.lexsort((triples[:, 2], -belief, triples[:, 1], triples[:, 0]))
    taken: dict[tuple[int, int], int] = defaultdict(int)
    for i in order.tolist():
        head, relation, tail = (int(triple) for triple in triples[i])
        taken[head, relation] += 1
        if taken[head, relation] <= limit:
            yield (head, relation, tail), float(belief[i])


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """Predictions after hiding claims: how many, how many were hidden ones, how many were hidden.

    ``precision`` is a floor: a prediction that nobody stated may still hold. ``chance`` is what
    guessing among the same type-valid candidates would give.
    """

    predicted: int
    found: int
    hidden: int
    chance: float

    @property
    def precision(self) -> float:
        """Return the share of predictions that were hidden claims, 0 for none."""
        return self.found / self.predicted if self.predicted else 0.0


def scorer(graph: Projection, kinds: Mapping[str, str], schema: Schema, seed: int = 0) -> Score:
    """Score by structure and by how usual a tail is, as a probability.

    A ridge logistic model of the three levels of structure and of the logarithm of how many claims
    of the relation have the tail is fitted to the claims of each relation, each seen as though the
    graph lacked it, beside ten type-valid triples that nobody states; its odds are brought to those
    of the relation, of which far fewer candidates hold. Of a relation with few claims the model of
    all is asked, and below 200 claims structure alone.
    """
    structure, size = Structure.of(graph), len(graph.nodes)
    tails, often = np.unique(_by_tail(number_claims(structure), size), return_counts=True)
    rare, fusion = _log_odds(graph, kinds, schema), Fusion()

    def columns(triples: Longs, own: Values, stated: int) -> Values:
        place = np.minimum(np.searchsorted(tails, _by_tail(triples, size)), len(tails) - 1)
        usual = np.where(tails[place] == _by_tail(triples, size), often[place], 0) - stated
        parts = structure.ask(triples, own).columns()
        return np.column_stack([np.ones(len(triples)), logit(parts), np.log1p(usual)])

    pooled = np.array([fusion.bias, *fusion.weights, 0.0])
    weights = np.tile(pooled, (len(graph.predicates), 1))
    if len(graph) >= LEAST:
        claims = np.array([is_predictable(schema, graph.predicates[k]) for k in graph.kind])
        true = number_claims(structure)[claims]
        false = _draw_unstated(graph, kinds, schema, true, np.random.default_rng(seed))
        rows = np.vstack(
            [columns(true, graph.confidence[claims], 1), columns(false, np.zeros(len(false)), 0)]
        )
        holds = np.arange(len(rows)) < len(true)
        relation = np.r_[true[:, 1], false[:, 1]]
        weights[:] = newton(rows, holds)
        for item in np.unique(true[:, 1]).tolist():
            own = relation == item
            if holds[own].sum() >= _OWN:
                weights[item] = newton(rows[own], holds[own])
            weights[item, 0] += np.log(max(1, (~holds[own]).sum()) / max(1, holds[own].sum()))

    def score(triples: Longs) -> Values:
        rows = columns(triples, np.zeros(len(triples)), 0)
        odds = (rows * weights[triples[:, 1]]).sum(axis=1) + rare[triples[:, 1]]
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -60.0, 60.0))))

    return score


def _by_tail(triples: Longs, size: int) -> Longs:
    return np.asarray(triples[:, 1] * size + triples[:, 2])


def _draw_unstated(
    graph: Projection,
    kinds: Mapping[str, str],
    schema: Schema,
    true: Longs,
    random: np.random.Generator,
) -> Longs:
    """Draw ten type-valid tails for each claim, and leave out those that somebody states."""
    stated, made = _stated_tails(graph, schema), list[Longs]()
    for relation in np.unique(true[:, 1]).tolist():
        valid = valid_tails(graph, kinds, schema, graph.predicates[relation])
        heads = np.repeat(true[true[:, 1] == relation][:, 0], _FALSE)
        if len(valid):
            drawn = valid[random.integers(len(valid), size=len(heads))]
            made.append(np.column_stack([heads, np.full(len(heads), relation), drawn]))
    rows = np.vstack(made) if made else true[:0]
    results = [t not in stated[h, r] and h != t for h, r, t in rows.tolist()]
    return np.asarray(rows[np.array(results, dtype=bool)], dtype=np.int64)


def learnt_scorer(graph: Projection, model: Model) -> Score:
    """Score by a trained embedding; what it has never seen is believed 0."""
    entity, relation = model.names.places()
    entities = np.array([entity.get(name, -1) for name in graph.nodes], dtype=np.int64)
    relations = np.array([relation.get(name, -1) for name in graph.predicates], dtype=np.int64)

    def score(triples: Longs) -> Values:
        rows = np.column_stack(
            [entities[triples[:, 0]], relations[triples[:, 1]], entities[triples[:, 2]]]
        )
        known = (rows >= 0).all(axis=1)
        belief = np.zeros(len(rows))
        belief[known] = model.confidences(rows[known])
        return belief

    return score


def measure(
    graph: Projection,
    kinds: Mapping[str, str],
    schema: Schema,
    settings: CompletionSettings,
    seed: int = 0,
) -> HeldOutResult:
    """Hide a tenth of the claims, complete from the rest, and count; ``UsageError`` if too few."""
    if len(graph) < LEAST:
        raise UsageError(f"{len(graph)} claims are too few to hold some out; {LEAST} are wanted")
    edges = list(edges_at(graph, np.arange(len(graph))))
    hide = np.random.default_rng(seed).random(len(edges)) < 0.1
    visible = Projection.from_edges([e for e, x in zip(edges, hide, strict=True) if not x], "")
    hidden = {
        (e.subject, e.predicate, e.object)
        for e, x in zip(edges, hide, strict=True)
        if x and is_predictable(schema, e.predicate)
    }
    guess = scorer(visible, kinds, schema, seed)
    predictions = list(complete(visible, kinds, schema, guess, settings))
    result = sum((p.subject, p.predicate, p.object) in hidden for p in predictions)
    possible = sum(len(candidate) for candidate in candidates(visible, kinds, schema))
    return HeldOutResult(len(predictions), result, len(hidden), len(hidden) / max(1, possible))


def _log_odds(graph: Projection, kinds: Mapping[str, str], schema: Schema) -> Values:
    stated = np.bincount(graph.kind, minlength=len(graph.predicates)).astype(np.float64)
    missing = np.zeros(len(graph.predicates))
    for triples in candidates(graph, kinds, schema):
        missing += np.bincount(triples[:, 1], minlength=len(missing))
    return np.asarray(np.log((stated + 0.5) / (missing + 0.5)).clip(max=0.0))
