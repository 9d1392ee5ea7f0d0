"""An embedding measured on triples apart from those it learnt: confidences, and tails ranked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.embedding import Model
from shiyi.reasoning.link_prediction import filtered_places
from shiyi.reasoning.triples import Longs, Names, Numbered, Row, read_rows
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


def gauged(
    training: Sequence[Row],
    test: Sequence[Row],
    kind: str = BENCHMARK.embedding,
    seed: int = 0,
    limit_seconds: float | None = 900.0,
    settings: ReasoningSettings = BENCHMARK,
    links: int = LINKS,
) -> Gauged:
    """Train on some rows and measure on others.

    Nothing is held out: the steps shrink to nothing over the epochs of ``settings``, or over the time given.
    Raises ``UsageError`` for too few rows and ``MissingExtraError`` without torch.
    """
    _, glance = apart(training, seed)  # refuses too few; a twentieth is enough to see it converge
    model = train(training, glance, replace(settings, embedding=kind), seed, limit_seconds)
    mean = float(np.mean([row[3] for row in training]))
    gaps = np.array([abs(mean - row[3]) for row in test])
    seen = [i for i, (h, r, t, _) in enumerate(test) if model.knows(h, r, t)]
    asked = Numbered.of([test[i] for i in seen], model.names)
    if seen:
        gaps[seen] = np.abs(model.confidences(asked.triples).astype(np.float64) - asked.confidence)
    drawn = _drawn(asked, links, seed)
    known = Numbered.of([*training, *test], model.names).triples
    turned = _turned(known, training, model.names)
    return Gauged(
        gaps, len(test) - len(seen), _places(model, drawn, known),
        _places(model, drawn, np.concatenate([known, turned])),
    )  # fmt: skip


def _drawn(asked: Numbered, links: int, seed: int) -> Numbered:
    if len(asked.triples) <= links:
        return asked
    pick = np.random.default_rng(seed).choice(len(asked.triples), links, replace=False)
    return Numbered(asked.triples[pick], asked.confidence[pick])


def _places(model: Model, asked: Numbered, known: Longs) -> Gaps:
    if not len(asked.triples):
        return np.empty(0)
    return np.array(filtered_places(model, asked, known))


def _turned(known: Longs, training: Sequence[Row], names: Names) -> Longs:
    """Give the statements of symmetric relations from their other end."""
    stated = {row[:3] for row in training}
    place = names.places()[1]
    count, back = np.zeros(len(names.relations)), np.zeros(len(names.relations))
    for head, relation, tail in stated:
        if relation in place:
            count[place[relation]] += 1
            back[place[relation]] += (tail, relation, head) in stated
    symmetric = back > _SYMMETRIC * np.maximum(count, 1)
    return known[symmetric[known[:, 1]]][:, [2, 1, 0]]


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
    test = read_rows(test_path)
    kind = settings.embedding
    found = gauged(read_rows(train_path), test, kind, seed, limit_seconds, settings)
    return {
        "mse": float((found.gaps**2).mean()), "mae": float(found.gaps.mean()),
        "rows": float(len(test)), "unknown": float(found.unknown),
        "hits@1": float((found.places <= 1).mean()),
        "hits@10": float((found.places <= 10).mean()), "mrr": float((1 / found.places).mean()),
    }  # fmt: skip
