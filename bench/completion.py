"""Rank hidden claims: `python bench/completion.py KB [--seeds 10] [--without complex,transe,rotate]`.

A tenth of the claims of relations that completion may touch is hidden. For each, the tails of the
right class that nobody states are ranked: Hits@10, and AUC, the share of them that rank below the
hidden one (ties count half). Popularity is how often the relation has the tail; rules are paths of
one and two relations, weighed by how often they hold, as AnyBURL does (Meilicke et al. 2019);
shiyi is what `shiyi reason complete` uses; complex, transe and rotate are trained by PyKEEN.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from shiyi.ontology.schema import Schema
from shiyi.reasoning.adjacency import Projection, edges_at
from shiyi.reasoning.completion import concept_kinds, is_predictable, scorer, valid_tails
from shiyi.reasoning.embeddings.baselines import train_links, train_translation
from shiyi.reasoning.embeddings.ukge import list_rows
from shiyi.sparql.base.knowledge_base import KnowledgeBase

Floats = NDArray[np.float64]
Score = Callable[[int, int, NDArray[np.int64]], Floats]  # of tails for a head and a relation
HIDDEN, FEWEST, DOUBT = (
    0.1,
    20,
    5.0,
)  # share hidden; facts of a relation with rules; added to bodies
PATHS = 60  # rules of one relation, the surest


@dataclass(frozen=True)
class Split:
    """What may be seen, and the queries: head, relation and hidden tail by number."""

    seen: Projection
    hidden: tuple[tuple[int, int, int], ...]
    stated: dict[tuple[int, int], set[int]]


def split(graph: Projection, schema: Schema, seed: int) -> Split:
    """Hide a tenth of what may be predicted; what names a thing unseen is not asked."""
    chance = np.random.default_rng(seed)
    edges = list(edges_at(graph, np.arange(len(graph))))
    hide = [
        is_predictable(schema, edge.predicate) and bool(chance.random() < HIDDEN) for edge in edges
    ]
    projection = Projection.from_edges(
        [e for e, gone in zip(edges, hide, strict=True) if not gone], ""
    )
    node = {name: i for i, name in enumerate(projection.nodes)}
    relation = {name: i for i, name in enumerate(projection.predicates)}
    known = [
        (node[e.subject], relation[e.predicate], node[e.object], gone)
        for e, gone in zip(edges, hide, strict=True)
        if e.subject in node and e.object in node and e.predicate in relation
    ]
    stated: dict[tuple[int, int], set[int]] = defaultdict(set)
    for head, kind, tail, _ in known:
        stated[head, kind].add(tail)
    return Split(projection, tuple((h, k, t) for h, k, t, gone in known if gone), stated)


def by_popularity(seen: Projection) -> Score:
    """Score a tail by how many claims of the relation have it."""
    counts = np.zeros((len(seen.predicates), len(seen.nodes)))
    np.add.at(counts, (seen.kind, seen.target), 1)
    return lambda head, kind, tails: counts[kind, tails]


def by_rules(seen: Projection, wanted: set[int]) -> Score:
    """Score a tail by the rules whose body holds between head and tail: 1 - prod (1 - confidence)."""
    size = len(seen.nodes)
    shape = (size, size)
    steps = []
    for kind in range(len(seen.predicates)):
        mine = seen.kind == kind
        one, other = seen.source[mine], seen.target[mine]
        ones = np.ones(len(one))
        steps.append(csr_array((ones, (one, other)), shape))
        steps.append(csr_array((ones, (other, one)), shape))
    facts = {
        kind: (steps[2 * kind] > 0).astype(float)
        for kind in wanted
        if steps[2 * kind].nnz >= FEWEST
    }
    results: dict[int, list[tuple[float, Any]]] = defaultdict(list)
    for name, body in _bodies(steps):
        holds = (body > 0).astype(float)
        for kind, fact in facts.items():
            if name == (2 * kind,):
                continue
            both = holds.multiply(fact).sum()
            if both >= 2:
                # a body counts where the head has the relation at all (partial completeness)
                has = np.asarray(fact.sum(axis=1)).ravel() > 0
                bodies = float(np.asarray(holds.sum(axis=1)).ravel()[has].sum())
                results[kind].append((float(both) / (bodies + DOUBT), holds))
    for rules in results.values():
        rules.sort(key=lambda row: -row[0])
        del rules[PATHS:]

    def score(head: int, kind: int, tails: NDArray[np.int64]) -> Floats:
        left = np.ones(size)
        for confidence, holds in results[kind]:
            left[holds.indices[holds.indptr[head] : holds.indptr[head + 1]]] *= 1 - confidence
        return 1 - left[tails]

    return score


def _bodies(steps: list[Any]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield paths of one and two relations, either way; a path back to its start is none."""
    for place, step in enumerate(steps):
        yield (place,), step
    for one, other in product(range(len(steps)), repeat=2):
        if one ^ 1 != other and steps[one].nnz and steps[other].nnz:
            body = steps[one] @ steps[other]
            body.setdiag(0)
            body.eliminate_zeros()
            if 0 < body.nnz < 400_000:
                yield (one, other), body


def by_structure(seen: Projection, kinds: Any, schema: Schema, seed: int) -> Score:
    """Score by the calibrated belief of the structure around a triple."""
    believe = scorer(seen, kinds, schema, seed)

    def score(head: int, kind: int, tails: NDArray[np.int64]) -> Floats:
        ends = (np.full(len(tails), head), np.full(len(tails), kind), tails)
        return np.asarray(believe(np.column_stack(ends).astype(np.int64)))

    return score


def by_embedding(seen: Projection, name: str, seed: int) -> Score:
    """Score by a model of PyKEEN."""
    rows = list_rows(seen)
    if name == "complex":
        links = train_links(rows, seed=seed)
        entity, relation = links.names.places()
    else:
        translation = train_translation(rows, name, seed=seed)
        entity, relation = translation.names.places()
    node = np.array([entity.get(each, 0) for each in seen.nodes])

    def score(head: int, kind: int, tails: NDArray[np.int64]) -> Floats:
        one, by = int(node[head]), relation[seen.predicates[kind]]
        if name == "complex":
            likely: Floats = links.tails(one, by)[node[tails]].astype(float)
            return likely
        ends = (np.full(len(tails), one), np.full(len(tails), by), node[tails])
        far: Floats = translation.distances(np.column_stack(ends).astype(np.int64)).astype(float)
        return -far

    return score


def ranks(values: Floats) -> Floats:
    """Return the place of each value, 1 for the largest; equal ones share the mean."""
    order = np.sort(-values)
    first, last = np.searchsorted(order, -values), np.searchsorted(order, -values, "right")
    return np.asarray((first + last + 1) / 2)


def measure(
    graph: Projection, kinds: Any, schema: Schema, seed: int, models: list[str]
) -> dict[str, Any]:
    """Rank the hidden claims of one split by every scorer."""
    parts = split(graph, schema, seed)
    projection = parts.seen
    scorers = {
        "popularity": by_popularity(projection),
        "rules": by_rules(projection, {kind for _, kind, _ in parts.hidden}),
        "shiyi": by_structure(projection, kinds, schema, seed),
    } | {name: by_embedding(projection, name, seed) for name in models}
    valid = {
        k: valid_tails(projection, kinds, schema, projection.predicates[k])
        for k in {k for _, k, _ in parts.hidden}
    }
    places: dict[str, list[float]] = defaultdict(list)
    areas: dict[str, list[float]] = defaultdict(list)
    for head, kind, tail in parts.hidden:
        others = np.setdiff1d(valid[kind], np.array([*parts.stated[head, kind], head]))
        if tail not in valid[kind] or not len(others):
            continue
        tails = np.array([tail, *others])
        own = {name: ranks(score(head, kind, tails)) for name, score in scorers.items()}
        for name, each in own.items():
            places[name].append(float(each[0]))
            areas[name].append(1 - (each[0] - 1) / len(others))
    return {
        name: {
            "hits@10": float(np.mean(np.array(p) <= 10)),
            "auc": float(np.mean(areas[name])),
            "n": len(p),
        }
        for name, p in places.items()
    }


def main() -> None:
    """Measure on several splits; print a table, and the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--without", default="")
    args = parser.parse_args()
    models = [m for m in ("complex", "transe", "rotate") if m not in args.without.split(",")]
    with KnowledgeBase.open(args.kb) as base:
        graph, kinds = Projection.from_store(base.store, base.release), concept_kinds(base.store)
    results = []
    for seed in range(args.seeds):
        started = time.perf_counter()
        results.append(measure(graph, kinds, Schema.load(), seed, models))
        print(
            f"seed {seed}: {time.perf_counter() - started:.0f} s",
            json.dumps(results[-1]),
            file=sys.stderr,
            flush=True,
        )
    print(
        f"{len(graph):,} claims, {results[0]['popularity']['n']} of them hidden and asked, {args.seeds} seeds"
    )
    for name in results[0]:
        cells = [[record[name][metric] for record in results] for metric in ("hits@10", "auc")]
        print(f"{name:12}", *(f"{np.mean(c):.3f} ± {np.std(c):.3f}" for c in cells))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
