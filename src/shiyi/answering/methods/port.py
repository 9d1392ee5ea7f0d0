"""What every method is given and gives: one port, so that methods can be compared."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

from shiyi.answering.asked import asked_kinds, asked_predicates
from shiyi.answering.paths import Retrieved
from shiyi.answering.reading import Reading
from shiyi.answering.runtime import Runtime
from shiyi.model.rdf import NamedNode
from shiyi.prompts.chat import ChatModel

Method = Callable[["Query", Runtime, ChatModel | None], Retrieved]


@dataclass(frozen=True)
class Query:
    """A question as a method sees it.

    ``seeds`` are what advice is sought for, ``wanted`` the classes it may end in, ``k`` how many
    paths are kept and ``least`` what each hop of a benefit must be held with.
    """

    reading: Reading
    seeds: tuple[str, ...]
    wanted: tuple[NamedNode, ...]
    advice: bool
    k: int
    least: float

    @property
    def text(self) -> str:
        """Give the question as it was asked."""
        return self.reading.question

    @cached_property
    def concepts(self) -> tuple[str, ...]:
        """List what the question names and does not deny, then what it seeks advice for."""
        denied = set(self.reading.absent)
        named = [m.iri for m in self.reading.mentions if m.iri and not m.negated]
        found = (*self.reading.ailments, *self.reading.materials, *named, *self.seeds)
        return tuple(each for each in dict.fromkeys(found) if each not in denied)

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Name the relations whose words stand in the question."""
        return asked_predicates(self.text)

    @cached_property
    def kinds(self) -> Collection[str]:
        """Name the kinds of concept whose words stand in the question."""
        return asked_kinds(self.text)
