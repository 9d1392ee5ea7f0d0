"""Named queries: one question per file of ``sparql/``."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import FormatError, UsageError


@dataclass(frozen=True, slots=True)
class Query:
    """A question in English and Chinese, and the SPARQL that answers it."""

    name: str
    question_en: str
    question_zh: str
    text: str

    @classmethod
    def named(cls, name: str) -> "Query":
        """Read ``sparql/<name>.rq``.

        >>> Query.named("about").question_en
        'What is said of this resource?'
        """
        return _read(name)

    @classmethod
    def parse(cls, name: str, text: str) -> "Query":
        """Read a query whose first line is ``# question in English? / 中文问题？``."""
        heading = re.fullmatch(r"#\s*(.+\?.*?)\s+/\s+(.+？.*?)\s*", text.partition("\n")[0])
        if not heading:
            raise UsageError(f"sparql/{name}.rq opens with its question: '# in English? / 中文？'")
        return cls(name, heading[1], heading[2], text)


def query_names() -> tuple[str, ...]:
    """List the named queries; those that look for faults are called ``qc/…-violation``."""
    folder = _folder()
    files = folder.rglob("*.rq")
    return tuple(sorted(str(file.relative_to(folder).with_suffix("")) for file in files))


@cache
def _read(name: str) -> Query:
    if name not in query_names():
        raise FormatError("query", name, query_names())
    return Query.parse(name, (_folder() / f"{name}.rq").read_text(encoding="utf-8"))


def _folder() -> Path:
    return artefact("sparql")
