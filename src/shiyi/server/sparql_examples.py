"""The named queries of ``sparql/``, as the query page offers them."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from shiyi.artefacts import artefact

_HEAD: Final = re.compile(r"\A#\s*(?:question\s*[:：]?\s*)?(.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Example:
    """One query with the question it answers."""

    name: str
    group: str
    question_en: str
    question_zh: str
    text: str


@cache
def examples() -> tuple[Example, ...]:
    """Read every example, sorted by group and name.

    The first line of a query is ``# question in English? / 中文问题？``; a second comment line
    ``# group: …`` may group it.
    """
    home = artefact("sparql")
    files = sorted(home.rglob("*.rq")) if home.is_dir() else []
    found = [_read(path.read_text(encoding="utf-8"), path.stem) for path in files]
    return tuple(sorted(found, key=lambda each: (each.group, each.name)))


def _read(text: str, name: str) -> Example:
    head = _HEAD.match(text)
    question = head[1].strip() if head else name
    english, _, chinese = question.partition(" / ")
    group = re.search(r"^#\s*group:\s*(\S.*)$", text, re.MULTILINE)
    return Example(name, group[1].strip() if group else "", english, chinese or english, text)
