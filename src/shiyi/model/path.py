"""Hops, relation paths and reasoning paths."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from shiyi.errors import RangeError


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a relation path; ``forward`` is false where it is read backwards.

    >>> str(Step("hasManifestation", forward=False))
    '^hasManifestation'
    """

    predicate: str
    forward: bool = True

    @override
    def __str__(self) -> str:
        return self.predicate if self.forward else f"^{self.predicate}"


RelationPath = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One accepted claim on a path, as the claim states it, and the way it was walked."""

    subject: str
    predicate: str
    object: str
    claim: str
    confidence: float
    forward: bool = True
    start: str = field(init=False, repr=False, compare=False)  # the node the hop leaves
    end: str = field(init=False, repr=False, compare=False)  # the node the hop reaches

    def __post_init__(self) -> None:
        ends = (self.subject, self.object) if self.forward else (self.object, self.subject)
        for name, end in zip(("start", "end"), ends, strict=True):
            object.__setattr__(self, name, end)

    def to_json(self) -> dict[str, Any]:
        """Return the hop as the answer's JSON holds it."""
        return {
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "claim": self.claim,
            "confidence": self.confidence,
            "forward": self.forward,
        }


@dataclass(frozen=True, slots=True)
class Path:
    """Hops that join end to start, and the score that ranks them."""

    hops: tuple[Hop, ...]
    score: float = 0.0

    def __post_init__(self) -> None:
        if not self.hops:
            raise RangeError("a path has at least one hop")
        for one, next_one in zip(self.hops, self.hops[1:], strict=False):
            if one.end != next_one.start:
                raise RangeError(f"a path breaks between {one.end} and {next_one.start}")

    @property
    def entities(self) -> tuple[str, ...]:
        """List the nodes in walking order, one more than there are hops."""
        return (self.hops[0].start, *[hop.end for hop in self.hops])

    @property
    def relations(self) -> RelationPath:
        """Return the relation path it follows."""
        return tuple(Step(hop.predicate, hop.forward) for hop in self.hops)

    @property
    def product(self) -> float:
        """Multiply the confidences of the hops."""
        return math.prod([hop.confidence for hop in self.hops])

    @property
    def weakest(self) -> float:
        """Return the smallest confidence on the path."""
        return min(hop.confidence for hop in self.hops)

    def to_json(self) -> dict[str, Any]:
        """Return the path as the answer's JSON holds it."""
        return {"score": round(self.score, 6), "hops": [hop.to_json() for hop in self.hops]}


Scorer = Callable[[Path, Mapping[str, float]], float]  # with the importance of each node


def score_paths(paths: Iterable[Path], rank: Mapping[str, float], scorer: Scorer) -> list[Path]:
    """Score every path; best first, ties by their claims."""
    marked_paths = [Path(path.hops, scorer(path, rank)) for path in paths]
    return sorted(marked_paths, key=lambda p: (-p.score, [hop.claim for hop in p.hops]))


def diverse(ranked: Iterable[Path], k: int, per_middle: int = 4, per_end: int = 2) -> list[Path]:
    """Return the best ``k``, at most ``per_middle`` through one middle and ``per_end`` to an end.

    A path of one hop has no middle: it says outright what is asked. Where fewer than ``k`` are
    found so, the best of the others fill up, still at most ``per_end`` to an end.
    """
    middles: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    chosen: list[int] = []
    paths, left = list(ranked), list[int]()
    for place, path in enumerate(paths):
        middle, end = path.hops[-1].start, path.hops[-1].end
        if ends[end] >= per_end or len(chosen) == k:
            continue
        if len(path.hops) > 1 and middles[middle] >= per_middle:
            left.append(place)
            continue
        middles[middle] += 1
        ends[end] += 1
        chosen.append(place)
    for place in left:
        end = paths[place].hops[-1].end
        if len(chosen) < k and ends[end] < per_end:
            ends[end] += 1
            chosen.append(place)
    return [paths[place] for place in sorted(chosen)]
