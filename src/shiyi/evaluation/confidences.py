"""Confidences of triples: embeddings of the uncertain graph, a sum of means, the mean."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Final

from shiyi.errors import UsageError
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.items import Weighted
from shiyi.evaluation.prescriptions import load_weighted
from shiyi.evaluation.results import Report, Run
from shiyi.evaluation.tasks import Progress, check_methods, made, run_method
from shiyi.reasoning.benchmark import LINKS, gauged, trained
from shiyi.reasoning.embedding import KINDS, Model
from shiyi.reasoning.triples import Row

METHODS: Final = ("fused", *KINDS, "additive", "none")
_FEWEST: Final = 20  # triples that an embedding needs
_RANKED: Final[tuple[tuple[str, Callable[[float], float]], ...]] = (
    ("hits@1", lambda place: float(place <= 1)),
    ("hits@10", lambda place: float(place <= 10)),
    ("mrr", lambda place: 1 / place),
)


def run_confidence(bench: Bench, request: Request, progress: Progress) -> Report:
    """Predict the confidence of triples: MSE and MAE, and for embeddings Hits@1, Hits@10, MRR.

    ``fused`` is UKGE with logistic function, and for a symmetric relation what training states from the other
    end; without torch, or with fewer than 20 triples to learn from, it is
    the sum of means, and the notes say so. Raises ``UsageError`` where nothing is given to learn.
    """
    check_methods(request, METHODS)
    items, skips = load_weighted(Path(request.file), request.limit)
    training = [each for path in request.train for each in load_weighted(path)[0]]
    if not training and set(request.methods) != {"none"}:
        raise UsageError("confidences are learnt: give --train FILE")
    mean = fmean(each.confidence for each in training) if training else 0.5
    runs, notes = list[Run](), list[str]()
    models: dict[str, tuple[Model, float]] = {}
    for method in request.methods:
        kind, why = _embedding(method, training)
        notes += [why] if why else []
        if kind:
            if kind not in models:
                models[kind] = _trained(kind, training, request)
            runs.append(_embedded(method, models[kind], training, items, request, progress))
            continue
        guess = (lambda _: mean) if method == "none" else _additive(training, mean)

        def measure(item: Weighted, guess: Callable[[Weighted], float] = guess) -> dict[str, float]:
            gap = abs(guess(item) - item.confidence)
            return {"mse": gap * gap, "mae": gap}

        runs.append(run_method(method, items, measure, progress))
    report = made(bench, request, len(items), skips, runs)
    if any("mrr" in run.values for run in runs):
        notes.append(
            f"hits and mrr: tails of at most {LINKS:,} rows, filtered by the training and asked files; "
            "both_ways: symmetric relations known from both ends"
        )
    return replace(report, notes=tuple(notes))


def _embedding(method: str, training: Sequence[Weighted]) -> tuple[str, str]:
    """Give the embedding a method trains, or none, and why another stands in for it."""
    if method != "fused":
        return (method if method in KINDS else ""), ""
    if len(training) < _FEWEST:
        return "", f"fused: {len(training)} triples are too few for an embedding; additive instead"
    if find_spec("torch") is None:
        return "", "fused: additive, since the extra neural (torch) is not installed"
    return "ukge_logi", ""


def _trained(kind: str, training: Sequence[Weighted], request: Request) -> tuple[Model, float]:
    started = time.perf_counter()
    model = trained(_rows(training), kind, request.seed, request.limit_seconds)
    return model, time.perf_counter() - started


def _embedded(
    method: str,
    made_in: tuple[Model, float],
    training: Sequence[Weighted],
    items: Sequence[Weighted],
    request: Request,
    progress: Progress,
) -> Run:
    started = time.perf_counter()
    model, seconds = made_in
    found = gauged(
        model, _rows(training), _rows(items), request.seed, LINKS, lookup=method == "fused"
    )
    progress(method, len(items), len(items))
    values: dict[str, Sequence[float]] = {
        "mse": (found.gaps**2).tolist(), "mae": found.gaps.tolist(),
    }  # fmt: skip
    for end, places in (("", found.places), (":both_ways", found.both_ways)):
        if len(places):
            values |= {name + end: [of(p) for p in places.tolist()] for name, of in _RANKED}
    values["unknown"] = [found.unknown / len(items)]
    return Run(method, values, seconds + time.perf_counter() - started)


def _rows(items: Iterable[Weighted]) -> list[Row]:
    return [(each.head, each.relation, each.tail, each.confidence) for each in items]


def _additive(training: Sequence[Weighted], mean: float) -> Callable[[Weighted], float]:
    """Guess the mean plus what relation, head and tail depart from it, shrunk where rare."""
    left = {id(each): each.confidence - mean for each in training}
    tables: list[tuple[str, dict[str, float]]] = []
    for part in ("relation", "head", "tail"):
        groups: dict[str, list[float]] = defaultdict(list)
        for each in training:
            groups[getattr(each, part)].append(left[id(each)])
        table = {name: sum(gaps) / (len(gaps) + 5) for name, gaps in groups.items()}
        tables.append((part, table))
        for each in training:
            left[id(each)] -= table[getattr(each, part)]

    def guess(item: Weighted) -> float:
        total = mean + sum(table.get(getattr(item, part), 0.0) for part, table in tables)
        return min(1.0, max(0.0, total))

    return guess
