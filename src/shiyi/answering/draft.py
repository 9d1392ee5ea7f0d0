"""An answer in the making: sections of lines, each with the facts it rests on."""

from dataclasses import dataclass, field

from shiyi.answering.facts import Fact

Piece = tuple[str, tuple[Fact, ...]]  # some words, and the facts that say so


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence in pieces, and how deep it stands (0 text, 1 item, 2 below)."""

    pieces: tuple[Piece, ...]
    depth: int = 1

    @property
    def text(self) -> str:
        """Give the words without marks."""
        return "".join(words for words, _ in self.pieces)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """List the facts of all pieces, each once."""
        return tuple({f.claim: f for _, facts in self.pieces for f in facts}.values())


@dataclass(slots=True)
class Section:
    """A heading (empty for the opening) and its lines."""

    heading: str
    lines: list[Line] = field(default_factory=list)

    def add(self, text: str, *facts: Fact, depth: int = 1) -> None:
        """Append a line."""
        self.lines.append(Line(((text, facts),), depth))

    def item(self, *pieces: Piece, depth: int = 1) -> None:
        """Append a line whose pieces each bear their own marks."""
        self.lines.append(Line(tuple(p for p in pieces if p[0]), depth))
