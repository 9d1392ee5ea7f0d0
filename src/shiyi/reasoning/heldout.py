"""How completion scores a missing claim, and how often it is right on claims held out."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shiyi.errors import UsageError
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.completion import Score, candidates, complete, predictable
from shiyi.reasoning.embedding import Model
from shiyi.reasoning.evidence import Structure
from shiyi.reasoning.fusion import Fusion, calibrated
from shiyi.reasoning.profiles import Values
from shiyi.reasoning.projection import Edge, Projection
from shiyi.reasoning.triples import Longs
from shiyi.reasoning.weigh import LEAST
from shiyi.settings import CompletionSettings


@dataclass(frozen=True, slots=True)
class HeldOut:
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
        """Give the share of predictions that were hidden claims, 0 for none."""
        return self.found / self.predicted if self.predicted else 0.0


def scorer(graph: Projection, kinds: Mapping[str, str], schema: Schema, seed: int = 0) -> Score:
    """Score by structure: its calibrated belief, brought down to how rare facts are.

    Calibration is on one false claim for each true one; of type-valid candidates far fewer hold,
    as few as the relation states of them, and the belief is corrected by those odds.
    """
    structure = Structure.of(graph)
    fusion = calibrated(structure, seed)[0] if len(graph) >= LEAST else Fusion()
    rare = _log_odds(graph, kinds, schema)

    def score(triples: Longs) -> Values:
        parts = structure.ask(triples, np.zeros(len(triples))).columns()
        belief = fusion.structure(parts)
        odds = np.log(belief) - np.log1p(-belief) + rare[triples[:, 1]]
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -60.0, 60.0))))

    return score


def learnt_scorer(graph: Projection, model: Model) -> Score:
    """Score by a trained embedding; what it has never seen is believed 0."""
    entity, relation = model.names.places()
    entities = np.array([entity.get(name, -1) for name in graph.nodes], dtype=np.int64)
    relations = np.array([relation.get(name, -1) for name in graph.predicates], dtype=np.int64)

    def score(triples: Longs) -> Values:
        rows = np.column_stack([
            entities[triples[:, 0]], relations[triples[:, 1]], entities[triples[:, 2]],
        ])  # fmt: skip
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
) -> HeldOut:
    """Hide a tenth of the claims, complete from the rest, and count; ``UsageError`` if too few."""
    if len(graph) < LEAST:
        raise UsageError(f"{len(graph)} claims are too few to hold some out; {LEAST} are wanted")
    rows = zip(
        graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), graph.claims,
        graph.confidence.tolist(), strict=True,
    )  # fmt: skip
    edges = [
        Edge(graph.nodes[h], graph.predicates[k], graph.nodes[t], claim, held)
        for h, k, t, claim, held in rows
    ]
    hide = np.random.default_rng(seed).random(len(edges)) < 0.1
    kept = Projection.from_edges([e for e, x in zip(edges, hide, strict=True) if not x], "")
    hidden = {
        (e.subject, e.predicate, e.object)
        for e, x in zip(edges, hide, strict=True)
        if x and predictable(schema, e.predicate)
    }
    guess = scorer(kept, kinds, schema, seed)
    made = list(complete(kept, kinds, schema, guess, settings))
    found = sum((p.subject, p.predicate, p.object) in hidden for p in made)
    possible = sum(len(each) for each in candidates(kept, kinds, schema))
    return HeldOut(len(made), found, len(hidden), len(hidden) / max(1, possible))


def _log_odds(graph: Projection, kinds: Mapping[str, str], schema: Schema) -> Values:
    stated = np.bincount(graph.kind, minlength=len(graph.predicates)).astype(np.float64)
    missing = np.zeros(len(graph.predicates))
    for triples in candidates(graph, kinds, schema):
        missing += np.bincount(triples[:, 1], minlength=len(missing))
    return np.asarray(np.log((stated + 0.5) / (missing + 0.5)).clip(max=0.0))
