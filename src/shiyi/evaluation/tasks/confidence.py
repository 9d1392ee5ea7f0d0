"""Confidence prediction."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import UsageError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.items import WeightedTriple
from shiyi.evaluation.questions.prescriptions import load_triples
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.tasks.choice import Progress, check_methods, make_report, run_method
from shiyi.reasoning.embeddings.baselines import Links, train_links
from shiyi.reasoning.embeddings.model import KINDS, Model
from shiyi.reasoning.embeddings.ranking import Ranker, ranks_under_filters
from shiyi.reasoning.embeddings.triples import Longs, Names, Row, TripleArray
from shiyi.reasoning.embeddings.ukge import BENCHMARK, holdout, train
from shiyi.settings import ReasoningSettings

LINKS: Final = 20_000  # rows with ranked tails, drawn by the seed where there are more
BOTH_WAYS: Final = "both_ways"
_SYMMETRIC: Final = 0.5  # share of a relation's training rows that also stand turned round

Gaps = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankingMetrics:
    """Hits@1, Hits@10 and reciprocal rank of the asked tails, row by row."""

    hits1: Gaps
    hits10: Gaps
    reciprocal: Gaps

    @classmethod
    def of(cls, places: Gaps) -> Self:
        """Read places, 1 for the first."""
        return cls((places <= 1).astype(float), (places <= 10).astype(float), 1 / places)


def train_model(
    training: Sequence[Row],
    kind: str = BENCHMARK.embedding,
    seed: int = 0,
    limit_seconds: float | None = 900.0,
    settings: ReasoningSettings = BENCHMARK,
) -> Model:
    """Train an embedding on some rows, and hold none of them out.

    The steps shrink to nothing over the epochs of ``settings``, or over the time given.
    Raise ``UsageError`` for too few rows and ``MissingExtraError`` without torch.
    """
    _, glance = holdout(training, seed)  # refuses too few; a twentieth is enough to see it converge
    return train(training, glance, replace(settings, embedding=kind), seed, limit_seconds)


def gaps(
    model: Model, training: Sequence[Row], test: Sequence[Row], lookup: bool = False
) -> tuple[Gaps, int]:
    """Return the absolute error of confidence of each row, and how many rows name the unseen.

    The mean confidence is guessed for those. With ``lookup``, what training states of a symmetric
    relation from the other end is taken for what it says.
    """
    mean = float(np.mean([row[3] for row in training]))
    found = np.array([abs(mean - row[3]) for row in test])
    seen = [i for i, (h, r, t, _) in enumerate(test) if model.knows(h, r, t)]
    if seen:
        array = TripleArray.of([test[i] for i in seen], model.names)
        predicted = model.confidences(array.triples).astype(np.float64)
        found[seen] = np.abs(predicted - array.confidence)
    converse = _converse_confidences(training, symmetric_relations(training)) if lookup else {}
    for i, (head, relation, tail, confidence) in enumerate(test):
        if others := converse.get((head, relation, tail)):
            found[i] = abs(float(np.median(others)) - confidence)
    return found, len(test) - len(seen)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to learn from and to rank, what else is ``known``, and the names of their ends."""

    names: Names
    training: Sequence[Row]
    test: Sequence[Row]
    known: Sequence[Row] = ()


def rank_tails(
    model: Ranker, split: Split, seed: int = 0, lookup: bool = False
) -> Mapping[str, RankingMetrics]:
    """Rank the tails of test rows, by the name of what is left out of the ranking.

    Ranked are rows of any confidence that name only what training names, at most 20,000, drawn by
    the seed; tails only, as unKR does. ``""`` leaves out the other facts of training, test and
    ``known``; ``raw`` leaves out nothing; ``both_ways`` also leaves out what symmetric relations
    state from the other end. ``oracle`` is no model: the best that one can reach under ``""`` who
    knows each of these facts from either end, and which are stated in training, but not which of
    the rest were asked. The last two only where a relation is symmetric.
    With ``lookup``, tails that training states rank first, then those it states from the other end.
    """
    array = _sample_triples(TripleArray.of(list(split.test), split.names), seed)
    if not len(array.triples):
        return {}
    every = [*split.training, *split.test, *split.known]
    own, stated_longs = (
        TripleArray.of(rows, split.names).triples for rows in (list(split.training), every)
    )
    symmetric = symmetric_relations(split.training)
    numbers = np.array([i for i, r in enumerate(split.names.relations) if r in symmetric], np.int64)
    closed = np.concatenate([stated_longs, _invert_triples(stated_longs, numbers)])
    filters = {"": stated_longs, "raw": stated_longs[:0]} | (
        {BOTH_WAYS: closed} if symmetric else {}
    )
    first = (own, _invert_triples(own, numbers)) if lookup else ()
    places = ranks_under_filters(model, array, filters, first)
    results = {name: RankingMetrics.of(item) for name, item in places.items()}
    return results | (
        {"oracle": _oracle(array.triples, own, stated_longs, closed)} if symmetric else {}
    )


def _invert_triples(triples: Longs, relations: Longs) -> Longs:
    """Return the triples of some relations from their other end."""
    return triples[np.isin(triples[:, 1], relations)][:, [2, 1, 0]]


def _oracle(triples: Longs, own: Longs, stated: Longs, closed: Longs) -> RankingMetrics:
    """Return what to expect of drawing at random among the facts that no filter leaves out."""
    facts, filtered, learnt = (
        {tuple(row) for row in item.tolist()} for item in (closed, stated, own)
    )
    hidden = Counter(row[:2] for row in facts - filtered)
    restated = np.array([tuple(row) in learnt for row in triples.tolist()])
    rivals = np.array([hidden[tuple(row)] for row in triples[:, :2].tolist()])
    among = np.where(restated, 1, rivals + 1)
    harmonic = np.cumsum(1 / np.arange(1, among.max() + 1))
    return RankingMetrics(1 / among, np.minimum(1, 10 / among), harmonic[among - 1] / among)


def symmetric_relations(rows: Sequence[Row]) -> frozenset[str]:
    """Name the relations of which most statements also stand from the other end."""
    stated = {row[:3] for row in rows}
    count, back = Counter[str](), Counter[str]()
    for head, relation, tail in stated:
        count[relation] += 1
        back[relation] += (tail, relation, head) in stated
    return frozenset(r for r, n in count.items() if back[r] > _SYMMETRIC * n)


def _converse_confidences(
    rows: Sequence[Row], symmetric: Collection[str]
) -> dict[tuple[str, str, str], list[float]]:
    """Return the confidences of triples of symmetric relations as their converse states them."""
    results: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for head, relation, tail, confidence in rows:
        if relation in symmetric:
            results[tail, relation, head].append(confidence)
    return results


def _sample_triples(triples: TripleArray, seed: int) -> TripleArray:
    if len(triples.triples) <= LINKS:
        return triples
    pick = np.random.default_rng(seed).choice(len(triples.triples), LINKS, replace=False)
    return TripleArray(triples.triples[pick], triples.confidence[pick])


RANKS: Final = "links"  # the method that ranks only, by a model of its own
METHODS: Final = ("fused", *KINDS, RANKS, "additive", "none")
_FEWEST: Final = 20  # triples that an embedding needs
_NOTE: Final = (
    "hits and mrr: tails of at most {limit:,} rows of any confidence, ties half. hits@1, hits@10, "
    "mrr leave out the facts of the training, asked and known files; :raw leaves out nothing; "
    ":both_ways also what symmetric "
    "relations state from the other end; :oracle is the best that the first filter allows"
)


def run_confidence(bench: EvaluationContext, request: Request, progress: Progress) -> Report:
    """Predict the confidence of triples: MSE and MAE, and for embeddings Hits@1, Hits@10, MRR.

    ``fused`` is UKGE with logistic function for confidences, ComplEx (``links``) for ranks, and
    for a symmetric relation what training states from the other end; without torch, or with
    fewer than 20 triples to learn from, it is the sum of means, and the notes say so. ``--known``
    files only leave tails out of rankings.
    Raises ``UsageError`` where nothing is given to learn.
    """
    check_methods(request, METHODS)
    items, skips = load_triples(Path(request.file), request.limit)
    training = [each for path in request.train for each in load_triples(path)[0]]
    if not training and set(request.methods) != {"none"}:
        raise UsageError("confidences are learnt: give --train FILE")
    mean = fmean(each.confidence for each in training) if training else 0.5
    runs, notes = list[Run](), list[str]()
    models = _TrainedModels(
        training, items, [each for path in request.known for each in load_triples(path)[0]], request
    )
    for method in request.methods:
        kind, note = _trained_embedding(method, training)
        notes += [note] if note else []
        if kind:
            runs.append(models.run(method, kind, progress))
            continue
        guess = (lambda _: mean) if method == "none" else _additive(training, mean)

        def measure(
            item: WeightedTriple, guess: Callable[[WeightedTriple], float] = guess
        ) -> dict[str, float]:
            gap = abs(guess(item) - item.confidence)
            return {"mse": gap * gap, "mae": gap}

        runs.append(run_method(method, items, measure, progress))
    report = make_report(bench, request, len(items), skips, runs)
    if any("mrr" in run.values for run in runs):
        notes.append(_NOTE.format(limit=LINKS))
    return replace(report, notes=tuple(notes))


def _trained_embedding(method: str, training: Sequence[WeightedTriple]) -> tuple[str, str]:
    """Return the embedding a method trains, or none, and why another stands in for it."""
    if method != "fused":
        return (method if method in (*KINDS, RANKS) else ""), ""
    if len(training) < _FEWEST:
        return "", f"fused: {len(training)} triples are too few for an embedding; additive instead"
    if find_spec("torch") is None:
        return "", "fused: additive, since the extra neural (torch) is not installed"
    return "ukge_logi", ""


class _TrainedModels:
    """What is trained of one training set, each once: embeddings of confidence, and ranks."""

    def __init__(
        self,
        training: Sequence[WeightedTriple],
        items: Sequence[WeightedTriple],
        known: Sequence[WeightedTriple],
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
            found_gaps, unknown = gaps(ranker, self._training, self._items, lookup)
            values |= {"mse": (found_gaps**2).tolist(), "mae": found_gaps.tolist()}
            values["unknown"] = [unknown / len(self._items)]
        if lookup:
            ranker, parts = self._ranks(), [kind, RANKS]
        split = Split(ranker.names, self._training, self._items, self._known)
        places = rank_tails(ranker, split, self._request.seed, lookup)
        values |= _ranked_values(places)
        progress(method, len(self._items), len(self._items))
        fresh = sum(self._took.values()) - before  # what another method trained counts here too
        seconds = time.perf_counter() - started - fresh + sum(self._took[part] for part in parts)
        return Run(method, values, seconds)

    def _model(self, kind: str) -> Model:
        if kind not in self._models:
            started = time.perf_counter()
            limit, seed = self._request.limit_seconds, self._request.seed
            self._models[kind] = train_model(self._training, kind, seed, limit)
            self._took[kind] = time.perf_counter() - started
        return self._models[kind]

    def _ranks(self) -> Links:
        if self._links is None:
            started = time.perf_counter()
            limit, seed = self._request.limit_seconds / 2, self._request.seed
            self._links = train_links(self._training, seed=seed, limit_seconds=limit)
            self._took[RANKS] = time.perf_counter() - started
        return self._links


def _ranked_values(places: Mapping[str, RankingMetrics]) -> dict[str, Sequence[float]]:
    values: dict[str, Sequence[float]] = {}
    for name, result in places.items():
        end = f":{name}" if name else ""
        for metric, each in zip(
            ("hits@1", "hits@10", "mrr"),
            (result.hits1, result.hits10, result.reciprocal),
            strict=True,
        ):
            values[metric + end] = each.tolist()
    return values


def _rows(items: Iterable[WeightedTriple]) -> list[Row]:
    return [(triple.head, triple.relation, triple.tail, triple.confidence) for triple in items]


def _additive(training: Sequence[WeightedTriple], mean: float) -> Callable[[WeightedTriple], float]:
    """Guess the mean plus what relation, head and tail depart from it, shrunk where rare."""
    left = {id(each): each.confidence - mean for each in training}
    tables: list[tuple[str, dict[str, float]]] = []
    for part in ("relation", "head", "tail"):
        groups: dict[str, list[float]] = defaultdict(list)
        for triple in training:
            groups[getattr(triple, part)].append(left[id(triple)])
        table = {name: sum(gaps) / (len(gaps) + 5) for name, gaps in groups.items()}
        tables.append((part, table))
        for triple in training:
            left[id(triple)] -= table[getattr(triple, part)]

    def guess(item: WeightedTriple) -> float:
        total = mean + sum(table.get(getattr(item, part), 0.0) for part, table in tables)
        return min(1.0, max(0.0, total))

    return guess
