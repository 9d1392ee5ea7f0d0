"""What is asked and what counts as right, one value per kind of question."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with options; ``gold`` names the options that are right.

    A true-or-false statement is a choice without options whose gold is ``true`` or ``false``;
    a question with an open answer has no options and ``wanted`` as the words of the answer.
    """

    id: str
    stem: str
    options: tuple[tuple[str, str], ...]
    gold: frozenset[str]
    stratum: str = ""
    wanted: str = ""

    @property
    def letters(self) -> tuple[str, ...]:
        """Name the options."""
        return tuple(letter for letter, _ in self.options)

    @property
    def texts(self) -> tuple[str, ...]:
        """Give the words of the options."""
        return tuple(text for _, text in self.options)


@dataclass(frozen=True, slots=True)
class Prescription:
    """Symptoms and the herbs that were prescribed for them."""

    id: str
    symptoms: tuple[str, ...]
    herbs: frozenset[str]
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A triple and the confidence that is right for it, in [0, 1]."""

    head: str
    relation: str
    tail: str
    confidence: float


class Skips:
    """Counts what was left out, by reason, with the first place of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def note(self, reason: str, place: str) -> None:
        """Count one record that was left out at ``place``."""
        self.counts[reason] += 1
        self.first.setdefault(reason, place)

    def to_json(self) -> dict[str, object]:
        """Give the total, and per reason how many and where first."""
        return {
            "total": sum(self.counts.values()),
            "reasons": {
                reason: {"count": n, "first": self.first[reason]}
                for reason, n in sorted(self.counts.items())
            },
        }


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The choices of one file, and what was left out of it."""

    items: tuple[Choice, ...]
    skips: Skips = field(default_factory=Skips)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a reader chose: options best first, those it commits to, or an abstention."""

    ranking: tuple[str, ...] = ()
    chosen: frozenset[str] = frozenset()
    abstained: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)
