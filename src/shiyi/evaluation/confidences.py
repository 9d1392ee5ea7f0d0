"""Confidences of triples, and ranks of their tails: embeddings, a sum of means, the mean."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from shiyi.reasoning.benchmark import LINKS, Ranked, gaps, ranked, trained
from shiyi.reasoning.embedding import KINDS, Model
from shiyi.reasoning.links import Links, train_links
from shiyi.reasoning.triples import Row

RANKS: Final = "links"  # the method that ranks only, by a model of its own
METHODS: Final = ("fused", *KINDS, RANKS, "additive", "none")
_FEWEST: Final = 20  # triples that an embedding needs
_SAID: Final = (
    "hits and mrr: tails of at most {most:,} rows of any confidence, ties half. hits@1, hits@10, mrr leave out the "
    "facts of the training, asked and known files; :raw leaves out nothing; :both_ways also what symmetric "
    "relations state from the other end; :oracle is the best that the first filter lets anyone expect"
)


def run_confidence(bench: Bench, request: Request, progress: Progress) -> Report:
    """Predict the confidence of triples: MSE and MAE, and for embeddings Hits@1, Hits@10, MRR.

    ``fused`` is UKGE with logistic function for confidences, ComplEx (``links``) for ranks, and for a
    symmetric relation what training states from the other end; without torch, or with fewer than 20 triples to
    learn from, it is the sum of means, and the notes say so. ``--known`` files only leave tails out of rankings.
    Raises ``UsageError`` where nothing is given to learn.
    """
    check_methods(request, METHODS)
    items, skips = load_weighted(Path(request.file), request.limit)
    training = [each for path in request.train for each in load_weighted(path)[0]]
    if not training and set(request.methods) != {"none"}:
        raise UsageError("confidences are learnt: give --train FILE")
    mean = fmean(each.confidence for each in training) if training else 0.5
    runs, notes = list[Run](), list[str]()
    learnt = _Learnt(training, items, _known(request), request)
    for method in request.methods:
        kind, why = _embedding(method, training)
        notes += [why] if why else []
        if kind:
            runs.append(learnt.run(method, kind, progress))
            continue
        guess = (lambda _: mean) if method == "none" else _additive(training, mean)

        def measure(item: Weighted, guess: Callable[[Weighted], float] = guess) -> dict[str, float]:
            gap = abs(guess(item) - item.confidence)
            return {"mse": gap * gap, "mae": gap}

        runs.append(run_method(method, items, measure, progress))
    report = made(bench, request, len(items), skips, runs)
    if any("mrr" in run.values for run in runs):
        notes.append(_SAID.format(most=LINKS))
    return replace(report, notes=tuple(notes))


def _embedding(method: str, training: Sequence[Weighted]) -> tuple[str, str]:
    """Give the embedding a method trains, or none, and why another stands in for it."""
    if method != "fused":
        return (method if method in (*KINDS, RANKS) else ""), ""
    if len(training) < _FEWEST:
        return "", f"fused: {len(training)} triples are too few for an embedding; additive instead"
    if find_spec("torch") is None:
        return "", "fused: additive, since the extra neural (torch) is not installed"
    return "ukge_logi", ""


class _Learnt:
    """What is trained of one training set, each once: embeddings of confidence, and ranks."""

    def __init__(
        self,
        training: Sequence[Weighted],
        items: Sequence[Weighted],
        known: Sequence[Weighted],
        request: Request,
    ) -> None:
        self._training, self._items, self._known = map(_rows, (training, items, known))
        self._request = request
        self._models: dict[str, Model] = {}
        self._links: Links | None = None
        self._took: dict[str, float] = {}  # seconds of training

    def run(self, method: str, kind: str, progress: Progress) -> Run:
        """Measure a method: confidences by an embedding, ranks by the same or by ``links``."""
        lookup, parts = method == "fused", [kind]
        started = time.perf_counter()
        before = sum(self._took.values())
        values: dict[str, Sequence[float]] = {}
        ranker: Model | Links = self._ranks() if kind == RANKS else self._model(kind)
        if isinstance(ranker, Model):
            found, unknown = gaps(ranker, self._training, self._items, lookup)
            values |= {"mse": (found**2).tolist(), "mae": found.tolist()}
            values["unknown"] = [unknown / len(self._items)]
        if lookup:
            ranker, parts = self._ranks(), [kind, RANKS]
        places = ranked(
            ranker,
            ranker.names,
            self._training,
            self._items,
            self._known,
            self._request.seed,
            lookup,
        )
        values |= _ranked_values(places)
        progress(method, len(self._items), len(self._items))
        fresh = sum(self._took.values()) - before  # what another method trained counts here too
        seconds = time.perf_counter() - started - fresh + sum(self._took[each] for each in parts)
        return Run(method, values, seconds)

    def _model(self, kind: str) -> Model:
        if kind not in self._models:
            started = time.perf_counter()
            limit, seed = self._request.limit_seconds, self._request.seed
            self._models[kind] = trained(self._training, kind, seed, limit)
            self._took[kind] = time.perf_counter() - started
        return self._models[kind]

    def _ranks(self) -> Links:
        if self._links is None:
            started = time.perf_counter()
            limit, seed = self._request.limit_seconds / 2, self._request.seed
            self._links = train_links(self._training, seed=seed, limit_seconds=limit)
            self._took[RANKS] = time.perf_counter() - started
        return self._links


def _ranked_values(places: Mapping[str, Ranked]) -> dict[str, Sequence[float]]:
    values: dict[str, Sequence[float]] = {}
    for name, found in places.items():
        end = f":{name}" if name else ""
        for metric, each in zip(
            ("hits@1", "hits@10", "mrr"), (found.hits1, found.hits10, found.reciprocal), strict=True
        ):
            values[metric + end] = each.tolist()
    return values


def _known(request: Request) -> list[Weighted]:
    return [each for path in request.known for each in load_weighted(path)[0]]


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
