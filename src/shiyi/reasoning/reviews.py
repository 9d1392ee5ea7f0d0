"""Reviews move a confidence, and taking one back restores it exactly."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shiyi.errors import RangeError, UsageError
from shiyi.model.confidence import Confidence, fuse

DECAY = 0.5  # what is left of a retracted source's vote (ours)


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's agreement with one claim, from -1 (wrong) over 0 (unsure) to 1 (right)."""

    reviewer: str
    agreement: float

    def __post_init__(self) -> None:
        if not -1.0 <= self.agreement <= 1.0:  # also refuses NaN
            raise RangeError(f"a reviewer's agreement lies in [-1, 1], not at {self.agreement}")
        if not self.reviewer:
            raise UsageError("a review names its reviewer")


@dataclass(frozen=True, slots=True)
class Vote:
    """What one source says of one claim; ``lineage`` groups sources that copy one another."""

    source: str
    lineage: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything one claim's confidence is made of; a new value for each change, so undo is exact.

    >>> goji = Standing((Vote("book", "book", 0.8),))
    >>> goji.reviewed(Review("li", 0.5)).confidence
    0.775
    >>> goji.reviewed(Review("li", 0.5)).without("li").confidence
    0.8
    """

    votes: tuple[Vote, ...]
    reviews: Mapping[str, Review] = field(default_factory=lambda: MappingProxyType({}))
    retracted: frozenset[str] = frozenset()

    @property
    def confidence(self) -> float:
        """Recompute the confidence, in [0, 1], from votes, retractions and reviews."""
        held = fuse(
            (vote.lineage, Confidence(vote.confidence * self._left(vote))) for vote in self.votes
        ).value
        return moved(held, agreement(self.reviews.values()))

    def reviewed(self, review: Review) -> "Standing":
        """Add a review; a reviewer's later one takes the place of the earlier."""
        kept = MappingProxyType({**self.reviews, review.reviewer: review})
        return Standing(self.votes, kept, self.retracted)

    def without(self, reviewer: str) -> "Standing":
        """Take a reviewer's review back; raises ``UsageError`` where there is none."""
        if reviewer not in self.reviews:
            raise UsageError(f"{reviewer} has not reviewed this claim")
        kept = {name: each for name, each in self.reviews.items() if name != reviewer}
        return Standing(self.votes, MappingProxyType(kept), self.retracted)

    def retract(self, source: str) -> "Standing":
        """Let a source that was withdrawn count for half."""
        return Standing(self.votes, self.reviews, self.retracted | {source})

    def restore(self, source: str) -> "Standing":
        """Give a source its whole vote back."""
        return Standing(self.votes, self.reviews, self.retracted - {source})

    def _left(self, vote: Vote) -> float:
        return DECAY if vote.source in self.retracted else 1.0


def agreement(reviews: Iterable[Review]) -> float:
    """Give the mean agreement of several reviewers, in [-1, 1]; 0 without reviews.

    The order they came in does not matter.

    >>> agreement([Review("li", 1.0), Review("wang", -1.0)])
    0.0
    """
    values = sorted(each.agreement for each in reviews)
    return sum(values) / len(values) if values else 0.0


def moved(confidence: float, agreed: float) -> float:
    """Give ``f(c, r) = (1 - |r|) * c + |r| * (r + 1) / 2``: full agreement 1, full denial 0.

    >>> moved(0.6, 1.0), moved(0.6, 0.0), moved(0.6, -1.0)
    (1.0, 0.6, 0.0)
    """
    held = Confidence(confidence).value
    if not -1.0 <= agreed <= 1.0:
        raise RangeError(f"an agreement lies in [-1, 1], not at {agreed}")
    weight = abs(agreed)
    return min(1.0, max(0.0, (1.0 - weight) * held + weight * (agreed + 1.0) / 2.0))
