"""A prompt is a file with holes in it."""

from dataclasses import dataclass
from string import Template
from typing import Self

from shiyi.artefacts import artefact
from shiyi.errors import UnboundVariableError
from shiyi.model.names import content_hash


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file and what must be said to fill it.

    >>> Prompt("greet", "Hello $name").fill(name="山药")
    'Hello 山药'
    >>> Prompt("greet", "Hello $name").fill()
    Traceback (most recent call last):
        ...
    shiyi.errors.UnboundVariableError: greet needs name
    """

    name: str
    text: str

    @classmethod
    def named(cls, name: str) -> Self:
        """Open ``prompts/<name>.md``."""
        return cls(name, artefact(f"prompts/{name}.md").read_text(encoding="utf-8"))

    @property
    def holes(self) -> frozenset[str]:
        """Name what must be said."""
        return frozenset(Template(self.text).get_identifiers())

    @property
    def version(self) -> str:
        """Give a hash of the prompt, for traces."""
        return f"{self.name}@{content_hash(self.text)[:12]}"

    def fill(self, **said: str) -> str:
        """Fill every hole, or say which stay open; a dollar sign inside a value stays text."""
        if missing := self.holes - said.keys():
            raise UnboundVariableError(self.name, missing)
        return Template(self.text).substitute(said)
