"""An answer in the making: sections of lines, each with the facts it rests on."""

from dataclasses import dataclass, field

from shiyi.answering.facts import Fact


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence, the facts it rests on, and how deep it stands (0 text, 1 item, 2 below)."""

    text: str
    facts: tuple[Fact, ...] = ()
    depth: int = 1


@dataclass(slots=True)
class Section:
    """A heading (empty for the opening) and its lines."""

    heading: str
    lines: list[Line] = field(default_factory=list)

    def add(self, text: str, *facts: Fact, depth: int = 1) -> None:
        """Append a line."""
        self.lines.append(Line(text, facts, depth))
