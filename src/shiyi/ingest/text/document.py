"""A text as it was read: its characters, and where its headings stand."""

from collections import Counter
from dataclasses import dataclass, field

from shiyi.model.claim import Source


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading ``[start, end)`` of a text, with the titles from the book down to it."""

    start: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """What is put in place of a known fault when a passage is read; ``wrong`` becomes ``right``."""

    name: str
    wrong: str
    right: str


@dataclass(frozen=True, slots=True)
class Document:
    """One text: headings in order, none overlapping; ``name`` is unique within its dataset."""

    name: str
    source: Source
    language: str  # zh or en
    text: str = field(repr=False)
    headings: tuple[Heading, ...] = ()
    repairs: tuple[Repair, ...] = ()
    skipped: tuple[str, ...] = ()  # markup that opens a body and is no part of what is said


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a text; ``path`` ends with its own title."""

    iri: str
    path: tuple[str, ...]
    parent: str = ""

    @property
    def title(self) -> str:
        """Give the section's own title."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece ``[start, end)`` of a document's text, and what it says once repaired.

    ``text`` is what a quote is taken from; ``first`` tells whether it opens its section.
    """

    iri: str
    section: Section
    start: int
    end: int
    text: str
    first: bool


@dataclass(slots=True)
class Tree:
    """Sections and passages of a document; headings and passages together are its whole text."""

    document: Document
    sections: list[Section] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    repaired: Counter[str] = field(default_factory=Counter)
