"""Fusing and calibrating confidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError, UsageError
from shiyi.model.iris import graph as named_graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, decimal, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.confidence.evidence import EvidenceLevels, Structure, Values
from shiyi.reasoning.derivation import PARTS
from shiyi.reasoning.embeddings.model import Model
from shiyi.reasoning.embeddings.triples import Longs
from shiyi.reasoning.rules import DERIVED
from shiyi.sparql.store.port import QuadStore

_EDGE = 0.02  # parts are stored this far from 0 and 1, so that no one level decides alone
_RIDGE = 1.0
_BINS = 10


@dataclass(frozen=True, slots=True)
class Fusion:
    """How much each level of structure counts: ``sigmoid(bias + sum w * logit(part))``.

    The defaults are the closed form: what was fitted on the starter base, rounded. They need no
    training. ``share`` is how far structure may move what the sources say (Shiyi's).
    """

    bias: float = 0.6
    weights: tuple[float, float, float] = (0.6, 1.3, 0.0)
    share: float = 0.5

    def structure(self, parts: Values) -> Values:
        """Return the belief structure alone supports, for rows of entity, relation, path."""
        return _sigmoid(self.bias + logit(parts) @ np.array(self.weights))

    def fuse(self, text: Values, parts: Values) -> Values:
        """Move what the sources say by what structure says, in log-odds.

        >>> one = Fusion().fuse(np.array([0.9]), np.full((1, 3), 0.5))
        >>> round(float(one[0]), 6)
        0.9
        """
        _check(text)
        moved = logit(text, 0.001) + self.share * (logit(parts) @ np.array(self.weights))
        return _sigmoid(moved)

    @classmethod
    def fit(cls, parts: Values, holds: NDArray[np.bool_], share: float = 0.5) -> Self:
        """Fit a logistic model; a level that would count against itself counts nothing.

        Raise ``UsageError`` where all hold or none does.
        """
        if len(parts) < 2 or holds.all() or not holds.any():
            raise UsageError("a fusion is fitted on claims that hold and claims that do not")
        rows = np.column_stack([np.ones(len(parts)), logit(parts)])
        weights, used = np.zeros(rows.shape[1]), np.ones(rows.shape[1], dtype=bool)
        while True:
            weights[used] = newton(rows[:, used], holds)
            against = used & (weights < 0) & (np.arange(len(used)) > 0)
            if not against.any():
                break
            used &= ~against
            weights[against] = 0.0
        bias, entity, relation, path = weights.tolist()
        return cls(bias, (entity, relation, path), share)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far beliefs agree with outcomes: errors in [0, 1], and the diagram's points.

    ``bins`` holds mean belief, share that stored, and count.
    """

    ece: float
    brier: float
    auc: float
    rows: int
    bins: tuple[tuple[float, float, int], ...]

    @classmethod
    def of(cls, belief: Values, holds: NDArray[np.bool_]) -> Self:
        """Measure; raise ``UsageError`` where only one outcome occurs."""
        _check(belief)
        if holds.all() or not holds.any():
            raise UsageError("calibration is measured on claims that hold and claims that do not")
        place = np.minimum((belief * _BINS).astype(np.int64), _BINS - 1)
        bins = tuple(
            (float(belief[own].mean()), float(holds[own].mean()), int(own.sum()))
            for own in (place == i for i in range(_BINS))
            if own.any()
        )
        ece = sum(abs(mean - share) * count for mean, share, count in bins) / len(belief)
        brier = float(((belief - holds) ** 2).mean())
        return cls(ece, brier, _auc(belief, holds), len(belief), bins)


def draw_corrupted(graph: Structure, seed: int) -> Longs:
    """Return one unstated triple for each claim, its tail another of the relation.

    Raise ``UsageError`` for an empty graph. Where a relation has too few tails, none comes.
    """
    claims = graph.graph
    if not len(claims):
        raise UsageError("an empty graph has no claims to learn from")
    random = np.random.default_rng(seed)
    size, kinds = len(claims.nodes), claims.kind.astype(np.int64)
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], np.arange(len(claims.predicates) + 1))
    spread = starts[kinds + 1] - starts[kinds]
    drawn = order[starts[kinds] + (random.random(len(kinds)) * spread).astype(np.int64)]
    false = np.column_stack([claims.source, kinds, claims.target[drawn]]).astype(np.int64)
    stated = np.unique(_keys(number_claims(graph), size))
    keys = _keys(false, size)
    place = np.minimum(np.searchsorted(stated, keys), len(stated) - 1)
    return np.asarray(false[(stated[place] != keys) & (false[:, 0] != false[:, 2])])


def number_claims(structure: Structure) -> Longs:
    """Return the graph's claims as head, relation, tail."""
    graph = structure.graph
    return np.column_stack([graph.source, graph.kind, graph.target]).astype(np.int64)


def number_triples(graph: Projection, triples: Iterable[tuple[str, str, str]]) -> Longs:
    """Write triples of IRIs as numbers, without those that name what no claim does."""
    node = {iri: i for i, iri in enumerate(graph.nodes)}
    kind = {iri: i for i, iri in enumerate(graph.predicates)}
    rows = [
        (node[s], kind[p], node[o])
        for s, p, o in sorted(triples)
        if s in node and p in kind and o in node
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def fit_fusion(
    structure: Structure, seed: int = 0, refused: Iterable[tuple[str, str, str]] = ()
) -> tuple[Fusion, Calibration]:
    """Fit on four fifths of claims, corrupted claims and ``refused`` ones; measure on the rest.

    Those refused are triples of IRIs that a curator rejected; each counts as one corrupted.
    """
    true = number_claims(structure)
    false = np.concatenate(
        [draw_corrupted(structure, seed), number_triples(structure.graph, refused)]
    )
    confidence = structure.graph.confidence
    parts = np.vstack(
        [
            structure.ask(true, confidence).columns(),
            structure.ask(false, np.zeros(len(false))).columns(),
        ]
    )
    holds = np.r_[np.ones(len(true), dtype=bool), np.zeros(len(false), dtype=bool)]
    tested = np.random.default_rng(seed).random(len(holds)) < 0.2
    fusion = Fusion.fit(parts[~tested], holds[~tested])
    return fusion, Calibration.of(fusion.structure(parts[tested]), holds[tested])


def newton(rows: Values, holds: NDArray[np.bool_]) -> Values:
    """Return the weights of a ridge logistic regression; the first column is the bias."""
    ridge = _RIDGE * np.r_[1e-6, np.ones(rows.shape[1] - 1)]
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        belief = _sigmoid(rows @ weights)
        slope = rows.T @ (belief - holds) + ridge * weights
        bend = (rows * (belief * (1 - belief))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if float(np.abs(step).max()) < 1e-9:
            break
    return weights


def _keys(triples: Longs, size: int) -> Longs:
    return np.asarray((triples[:, 1] * size + triples[:, 0]) * size + triples[:, 2])


def _auc(belief: Values, holds: NDArray[np.bool_]) -> float:
    values, place, counts = np.unique(belief, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    rank = (ends - (counts - 1) / 2.0)[place]
    good = int(holds.sum())
    return float((rank[holds].sum() - good * (good + 1) / 2) / (good * (len(values[place]) - good)))


def _check(values: Values) -> None:
    if not bool(np.all((values >= 0.0) & (values <= 1.0))):  # also refuses NaN
        raise RangeError("a belief is a number in [0, 1]")


def logit(values: Values, edge: float = _EDGE) -> Values:
    """Return log-odds of beliefs, which are brought ``edge`` away from 0 and 1."""
    clipped = np.clip(values, edge, 1.0 - edge)
    return np.asarray(np.log(clipped / (1.0 - clipped)))


def _sigmoid(values: Values) -> Values:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0))))


LEAST = 200  # claims below which nothing is fitted and the closed form holds (Shiyi's)
_REJECTED = named_graph("rejected")
_DISPUTED = 0.25  # of a contradicting claim's confidence is what text support loses (Shiyi's)


@dataclass(frozen=True, slots=True, eq=False)
class FusedConfidences:
    """Parts and fused confidence of each claim of a graph, in its order.

    ``calibration`` is None where there were too few claims to fit and measure.
    """

    graph: Projection
    text: Values
    parts: EvidenceLevels
    fused: Values
    fusion: Fusion
    calibration: Calibration | None

    def quads(self) -> Iterator[Quad]:
        """Yield five annotations a claim, in graph:derived; the accepted view stays as it is."""
        columns = (self.text, self.parts.entity, self.parts.relation, self.parts.path, self.fused)
        for i, claim in enumerate(self.graph.claims):
            node = NamedNode(claim)
            for predicate, values in zip(PARTS, columns, strict=True):
                yield Quad(node, predicate, decimal(float(values[i])), DERIVED)


def weigh(
    graph: Projection,
    disputes: Mapping[str, float] | None = None,
    model: Model | None = None,
    seed: int = 0,
    refused: Iterable[tuple[str, str, str]] = (),
    decayed: Mapping[str, float] | None = None,
) -> FusedConfidences:
    """Weigh every claim of a graph; raise ``UsageError`` for an empty one.

    ``disputes`` gives the confidence of the surest claim against a claim. With a trained
    ``model`` its belief takes the place of the energy at the relation level, where it knows
    all three names. ``refused`` triples are negative examples; ``decayed`` gives the
    confidence of claims that a retracted source states, in the place of the graph's.
    """
    if not len(graph):
        raise UsageError("an empty graph has no claims to weigh; run shiyi build or shiyi ingest")
    structure = Structure.of(graph)
    fusion: Fusion = Fusion()
    calibration: Calibration | None = None
    if len(graph) >= LEAST:
        fusion, calibration = fit_fusion(structure, seed, refused)
    parts = structure.ask(number_claims(structure), graph.confidence)
    if model is not None:
        parts = EvidenceLevels(parts.entity, _predict(graph, model, parts.relation), parts.path)
    against = np.array([(disputes or {}).get(claim, 0.0) for claim in graph.claims])
    confidence = np.array(
        [
            (decayed or {}).get(c, v)
            for c, v in zip(graph.claims, graph.confidence.tolist(), strict=True)
        ]
    )
    support = confidence * (1.0 - _DISPUTED * against)
    fused = fusion.fuse(support, parts.columns())
    if not bool(np.isfinite(fused).all()):
        raise RangeError("a fused confidence came out as no number; nothing was written")
    return FusedConfidences(graph, support, parts, fused, fusion, calibration)


def disputes(store: QuadStore) -> Mapping[str, float]:
    """Return, by claim IRI, the confidence of the surest claim it conflicts with."""
    worst: dict[str, float] = {}
    for quad in store.match(None, SHIYI.conflictsWith, None, DefaultGraph()):
        if not isinstance(quad.subject, NamedNode) or not isinstance(quad.object, NamedNode):
            continue
        for value in store.match(quad.object, SHIYI.confidence, None, DefaultGraph()):
            confidence = float(str(getattr(value.object, "value", "0")))
            worst[quad.subject.value] = max(worst.get(quad.subject.value, 0.0), confidence)
    return worst


def load_rejected(store: QuadStore) -> frozenset[tuple[str, str, str]]:
    """Return the triples that curators rejected and nobody accepts."""
    results = set()
    for quad in store.match(None, SHIYI.status, SHIYI.rejected, _REJECTED):
        claim = quad.subject
        if not isinstance(claim, NamedNode) or any(
            store.match(claim, SHIYI.status, SHIYI.accepted, DefaultGraph())
        ):
            continue
        for statement in store.match(claim, RDF.reifies, None, _REJECTED):
            if isinstance(statement.object, Triple):
                ends = statement.object.subject, statement.object.object
                results.add((text(ends[0]), statement.object.predicate.value, text(ends[1])))
    return frozenset(results)


def _predict(graph: Projection, model: Model, otherwise: Values) -> Values:
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), strict=True)
    learnt = otherwise.copy()
    for i, (head, kind, tail) in enumerate(rows):
        names = (graph.nodes[head], graph.predicates[kind], graph.nodes[tail])
        if model.knows(*names):
            learnt[i] = model.confidence(*names)
    return learnt
