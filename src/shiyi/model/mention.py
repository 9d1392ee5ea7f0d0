"""A span of text and the concept it is grounded to."""

from dataclasses import dataclass
from typing import Any

from shiyi.errors import RangeError


@dataclass(frozen=True, slots=True)
class Mention:
    """A span ``[start, end)`` of a text, and the concept it was linked to, if any.

    ``iri`` is empty for an unlinkable mention; ``score`` lies in [0, 1];
    ``alternatives`` are the other concepts that bear the same name, likeliest first.
    """

    text: str
    start: int
    end: int
    iri: str = ""
    label_zh: str = ""
    label_en: str = ""
    cui: str = ""
    kind: str = ""
    score: float = 0.0
    justification: str = ""
    negated: bool = False
    alternatives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise RangeError(f"a span runs forward, not from {self.start} to {self.end}")
        if not 0.0 <= self.score <= 1.0:
            raise RangeError(f"a score lies in [0, 1], not at {self.score}")

    def label(self, language: str) -> str:
        """Return the concept's label in ``zh`` or ``en``, or the words themselves."""
        return (self.label_zh if language == "zh" else self.label_en) or self.text

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """Return the object that ``/api/link`` sends; an unlinkable mention has no ``iri``."""
        payload: dict[str, Any] = {"mention": self.text, "start": self.start, "end": self.end}
        if self.iri:
            payload |= {
                "iri": self.iri,
                "label": self.label(language),
                "label_zh": self.label_zh,
                "label_en": self.label_en,
                "cui": self.cui or None,
                "kind": self.kind,
            }
        return payload | {
            "score": round(self.score, 4),
            "justification": self.justification,
            "negated": self.negated,
        }
