"""How numbers, tiers and relations are said in words."""

from dataclasses import dataclass
from typing import Final

from shiyi.server.wording import Catalogue

# a confidence at least this high has this word
_STEPS: Final = (
    (0.9, "very-high"),
    (0.8, "high"),
    (0.65, "fair"),
    (0.45, "low"),
    (0.0, "very-low"),
)


@dataclass(frozen=True, slots=True)
class Phrases:
    """Says values in one language."""

    words: Catalogue

    def level(self, confidence: float) -> str:
        """Name the step of a confidence, for words and for colours.

        >>> Phrases(Catalogue("en", {})).level(0.87)
        'high'
        """
        return next(name for least, name in _STEPS if confidence >= least)

    def sure(self, confidence: float) -> str:
        """Say a confidence in words."""
        return self.words(f"confidence.{self.level(confidence)}")

    def percent(self, confidence: float) -> str:
        """Write a confidence with two places, as the data hold it."""
        return f"{confidence:.2f}"

    def number(self, value: float) -> str:
        """Write a whole number with its thousands apart; both languages write it alike.

        >>> Phrases(Catalogue("en", {})).number(21381.4)
        '21,381'
        """
        return f"{value:,.0f}"

    def relation(self, key: str, fallback: str = "") -> str:
        """Name a relation as a heading; ``-inverse`` reads it from its object."""
        return self.words.get(f"relation.{key}", fallback or key)

    def tier(self, name: str) -> str:
        """Name a tier of sources."""
        return self.words.get(f"tier.{name}", name)

    def named(self, section: str, name: str) -> str:
        """Name a value of a closed list, or give it as it is."""
        return self.words.get(f"{section}.{name}", name)
