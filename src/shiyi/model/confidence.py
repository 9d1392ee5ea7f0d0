"""How sure the graph is, and how one number is made from several pieces of evidence."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shiyi.errors import RangeError

CEILING = 0.99  # no amount of agreeing sources makes a claim certain


@dataclass(frozen=True, slots=True, order=True)
class Confidence:
    """A degree of belief in [0, 1]: that the source says so and that it holds as stated.

    >>> max(Confidence(0.4), Confidence(0.9))
    Confidence(value=0.9)
    >>> Confidence(1.2)
    Traceback (most recent call last):
        ...
    shiyi.errors.RangeError: a confidence lies in [0, 1], not at 1.2
    """

    value: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:  # also refuses NaN
            raise RangeError(f"a confidence lies in [0, 1], not at {self.value}")


def fuse(votes: Iterable[tuple[str, Confidence]]) -> Confidence:
    """Fuse one vote a lineage by noisy-or: sources that copy one another count once.

    A single lineage keeps its own value; several never pass 0.99 unless one alone does.

    >>> fuse([("a", Confidence(0.9)), ("a", Confidence(0.8))])
    Confidence(value=0.9)
    >>> fuse([("a", Confidence(0.6)), ("b", Confidence(0.5))])
    Confidence(value=0.8)
    """
    best: dict[str, float] = {}
    for lineage, vote in votes:
        best[lineage] = max(best.get(lineage, 0.0), vote.value)
    if not best:
        raise RangeError("a claim without evidence has no confidence")
    if len(best) == 1:
        return Confidence(next(iter(best.values())))
    joined = 1.0 - math.prod(1.0 - value for value in best.values())
    return Confidence(max(min(round(joined, 6), CEILING), *best.values()))
