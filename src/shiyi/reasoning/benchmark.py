"""An embedding measured on triples apart from those it learnt: confidences, and tails ranked."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.embedding import Model
from shiyi.reasoning.link_prediction import filtered_places
from shiyi.reasoning.triples import Longs, Numbered, Row, read_rows
from shiyi.reasoning.ukge import BENCHMARK, apart, train
from shiyi.settings import ReasoningSettings

LINKS: Final = 1000  # rows whose tails are ranked, drawn by the seed
_SYMMETRIC: Final = 0.5  # share of a relation's training rows that also stand turned round

Gaps = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Gauged:
    """What one embedding did on rows it did not learn from, row by row.

    ``gaps`` are absolute errors of confidence, one a row, in the order of the rows. ``places`` are ranks of
    the right tail (1 is first) among those that neither training nor the tested rows state;
    ``both_ways`` are the same with statements of symmetric relations known from both ends.
    """

    gaps: Gaps
    unknown: int  # rows that name what was never seen; the mean confidence is guessed for them
    places: Gaps
    both_ways: Gaps


def trained(
    training: Sequence[Row],
    kind: str = BENCHMARK.embedding,
    seed: int = 0,
    limit_seconds: float | None = 900.0,
    settings: ReasoningSettings = BENCHMARK,
) -> Model:
    """Train an embedding on some rows, and hold none of them out.

    The steps shrink to nothing over the epochs of ``settings``, or over the time given.
    Raises ``UsageError`` for too few rows and ``MissingExtraError`` without torch.
    """
    _, glance = apart(training, seed)  # refuses too few; a twentieth is enough to see it converge
    return train(training, glance, replace(settings, embedding=kind), seed, limit_seconds)


def gauged(
    model: Model,
    training: Sequence[Row],
    test: Sequence[Row],
    seed: int = 0,
    links: int = LINKS,
    lookup: bool = False,
) -> Gauged:
    """Measure a model of some rows on others.

    With ``lookup``, what training states of a symmetric relation from the other end is taken for what it
    says, and such tails rank first.
    """
    mean = float(np.mean([row[3] for row in training]))
    gaps = np.array([abs(mean - row[3]) for row in test])
    seen = [i for i, (h, r, t, _) in enumerate(test) if model.knows(h, r, t)]
    asked = Numbered.of([test[i] for i in seen], model.names)
    symmetric = symmetric_relations(training)
    if seen:
        gaps[seen] = np.abs(model.confidences(asked.triples).astype(np.float64) - asked.confidence)
    if lookup:
        told = _told(training, symmetric)
        for i, (head, relation, tail, held) in enumerate(test):
            if said := told.get((head, relation, tail)):
                gaps[i] = abs(float(np.median(said)) - held)
    drawn = _drawn(asked, links, seed)
    known = Numbered.of([*training, *test], model.names).triples
    numbers = np.array([i for i, r in enumerate(model.names.relations) if r in symmetric], np.int64)
    turned = known[np.isin(known[:, 1], numbers)][:, [2, 1, 0]]
    first = np.empty((0, 3), np.int64)
    if lookup:
        own = Numbered.of(list(training), model.names).triples
        first = own[np.isin(own[:, 1], numbers)][:, [2, 1, 0]]
    return Gauged(
        gaps, len(test) - len(seen), _places(model, drawn, known, first),
        _places(model, drawn, np.concatenate([known, turned]), first),
    )  # fmt: skip


def symmetric_relations(rows: Sequence[Row]) -> frozenset[str]:
    """Name the relations of which most statements also stand from the other end."""
    stated = {row[:3] for row in rows}
    count, back = Counter[str](), Counter[str]()
    for head, relation, tail in stated:
        count[relation] += 1
        back[relation] += (tail, relation, head) in stated
    return frozenset(r for r, n in count.items() if back[r] > _SYMMETRIC * n)


def _told(
    rows: Sequence[Row], symmetric: Collection[str]
) -> dict[tuple[str, str, str], list[float]]:
    """Give the confidences that triples of symmetric relations were given from their other end."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for head, relation, tail, held in rows:
        if relation in symmetric:
            found[tail, relation, head].append(held)
    return found


def _drawn(asked: Numbered, links: int, seed: int) -> Numbered:
    if len(asked.triples) <= links:
        return asked
    pick = np.random.default_rng(seed).choice(len(asked.triples), links, replace=False)
    return Numbered(asked.triples[pick], asked.confidence[pick])


def _places(model: Model, asked: Numbered, known: Longs, first: Longs) -> Gaps:
    if not len(asked.triples):
        return np.empty(0)
    return np.array(filtered_places(model, asked, known, first=first))


def confidence_metrics(
    train_path: Path,
    test_path: Path,
    seed: int = 0,
    limit_seconds: float = 900.0,
    settings: ReasoningSettings = BENCHMARK,
) -> dict[str, float]:
    """Train on one file and measure on another.

    Gives ``mse``, ``mae``, ``rows``, ``unknown``, and of at most 1,000 rows the filtered
    ``hits@1``, ``hits@10`` and ``mrr`` of their tails.
    """
    training, test = read_rows(train_path), read_rows(test_path)
    model = trained(training, settings.embedding, seed, limit_seconds, settings)
    found = gauged(model, training, test, seed)
    return {
        "mse": float((found.gaps**2).mean()), "mae": float(found.gaps.mean()),
        "rows": float(len(test)), "unknown": float(found.unknown),
        "hits@1": float((found.places <= 1).mean()),
        "hits@10": float((found.places <= 10).mean()), "mrr": float((1 / found.places).mean()),
    }  # fmt: skip
