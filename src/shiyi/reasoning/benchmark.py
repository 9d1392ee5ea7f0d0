"""An embedding measured on triples apart from those it learnt: confidences, and tails ranked."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.embedding import Model
from shiyi.reasoning.link_prediction import Ranker, places_under
from shiyi.reasoning.triples import Longs, Names, Numbered, Row
from shiyi.reasoning.ukge import BENCHMARK, apart, train
from shiyi.settings import ReasoningSettings

LINKS: Final = 20_000  # rows whose tails are ranked, drawn by the seed where there are more
BOTH_WAYS: Final = "both_ways"
_SYMMETRIC: Final = 0.5  # share of a relation's training rows that also stand turned round

Gaps = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Hits@1, Hits@10 and reciprocal rank of the asked tails, row by row."""

    hits1: Gaps
    hits10: Gaps
    reciprocal: Gaps

    @classmethod
    def of(cls, places: Gaps) -> Self:
        """Read places, 1 for the first."""
        return cls((places <= 1).astype(float), (places <= 10).astype(float), 1 / places)


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


def gaps(
    model: Model, training: Sequence[Row], test: Sequence[Row], lookup: bool = False
) -> tuple[Gaps, int]:
    """Give the absolute error of confidence of each row, and of how many rows a name was never seen.

    The mean confidence is guessed for those. With ``lookup``, what training states of a symmetric
    relation from the other end is taken for what it says.
    """
    mean = float(np.mean([row[3] for row in training]))
    found = np.array([abs(mean - row[3]) for row in test])
    seen = [i for i, (h, r, t, _) in enumerate(test) if model.knows(h, r, t)]
    if seen:
        asked = Numbered.of([test[i] for i in seen], model.names)
        said = model.confidences(asked.triples).astype(np.float64)
        found[seen] = np.abs(said - asked.confidence)
    told = _told(training, symmetric_relations(training)) if lookup else {}
    for i, (head, relation, tail, held) in enumerate(test):
        if others := told.get((head, relation, tail)):
            found[i] = abs(float(np.median(others)) - held)
    return found, len(test) - len(seen)


def ranked(
    model: Ranker,
    names: Names,
    training: Sequence[Row],
    test: Sequence[Row],
    known: Sequence[Row] = (),
    seed: int = 0,
    lookup: bool = False,
) -> Mapping[str, Ranked]:
    """Rank the tails of test rows, by the name of what is left out of the ranking.

    Rows: all whose names training has, of any confidence; of more than 20,000, so many by the seed. Tails only,
    as unKR does. ``""`` leaves out the other facts of training, test and ``known``; ``raw`` leaves out nothing;
    ``both_ways`` also leaves out what symmetric relations state from the other end. ``oracle`` is no model: what
    one could reach under ``""`` at best that knows each of these facts from either end, and which are stated in
    training, but not which of the rest were asked. The last two only where a relation is symmetric.
    With ``lookup``, tails that training states rank first, then those it states from the other end.
    """
    asked = _drawn(Numbered.of(list(test), names), seed)
    if not len(asked.triples):
        return {}
    own, stated = (
        Numbered.of(rows, names).triples for rows in (list(training), [*training, *test, *known])
    )
    symmetric = symmetric_relations(training)
    numbers = np.array([i for i, r in enumerate(names.relations) if r in symmetric], np.int64)
    closed = np.concatenate([stated, _turned(stated, numbers)])
    filters = {"": stated, "raw": stated[:0]} | ({BOTH_WAYS: closed} if symmetric else {})
    first = (own, _turned(own, numbers)) if lookup else ()
    places = places_under(model, asked, filters, first)
    found = {name: Ranked.of(each) for name, each in places.items()}
    return found | ({"oracle": _oracle(asked.triples, own, stated, closed)} if symmetric else {})


def _turned(triples: Longs, relations: Longs) -> Longs:
    """Give the triples of some relations from their other end."""
    return triples[np.isin(triples[:, 1], relations)][:, [2, 1, 0]]


def _oracle(asked: Longs, own: Longs, stated: Longs, closed: Longs) -> Ranked:
    """Give what to expect of drawing at random among the facts that no filter leaves out."""
    facts, filtered, learnt = (
        {tuple(row) for row in each.tolist()} for each in (closed, stated, own)
    )
    hidden = Counter(row[:2] for row in facts - filtered)
    restated = np.array([tuple(row) in learnt for row in asked.tolist()])
    rivals = np.array([hidden[tuple(row)] for row in asked[:, :2].tolist()])
    among = np.where(restated, 1, rivals + 1)
    harmonic = np.cumsum(1 / np.arange(1, among.max() + 1))
    return Ranked(1 / among, np.minimum(1, 10 / among), harmonic[among - 1] / among)


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


def _drawn(asked: Numbered, seed: int) -> Numbered:
    if len(asked.triples) <= LINKS:
        return asked
    pick = np.random.default_rng(seed).choice(len(asked.triples), LINKS, replace=False)
    return Numbered(asked.triples[pick], asked.confidence[pick])
