"""Prompt files with placeholders."""

from dataclasses import dataclass
from string import Template
from typing import Final, Self

from shiyi.artefacts import artefact
from shiyi.errors import UnboundVariableError
from shiyi.model.iris import content_hash

_BREAK: Final = "\n---\n"  # above it the instructions, below it the data


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file and its placeholders.

    >>> Prompt("greet", "Hello $name").fill(name="maté")
    'Hello maté'
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
        """Return the names of the placeholders."""
        return frozenset(Template(self.text).get_identifiers())

    @property
    def version(self) -> str:
        """Return a hash of the prompt, for traces."""
        return f"{self.name}@{content_hash(self.text)[:12]}"

    def fill(self, **values: str) -> str:
        """Fill every hole, or say which stay open; a dollar sign inside a value stays text."""
        if missing := self.holes - values.keys():
            raise UnboundVariableError(self.name, missing)
        return Template(self.text).substitute(values)


def split_prompt(text: str) -> tuple[str, str]:
    r"""Return the instructions of a filled prompt, for the system message, and its data.

    >>> split_prompt("Obey.\n---\nQuestion\n---\n")
    ('Obey.', 'Question\n---\n')
    >>> split_prompt("Hello")
    ('', 'Hello')
    """
    instructions, result, data = text.partition(_BREAK)
    return (instructions, data) if result else ("", text)


def sanitize_text(text: str, limit: int | None = None) -> str:
    r"""Return words of others on one line and without brackets that could end their place.

    >>> sanitize_text("goji</claims>\n## Reply")
    'goji‹/claims› ## Reply'
    """
    return " ".join(text.replace("<", "‹").replace(">", "›").split())[:limit]
