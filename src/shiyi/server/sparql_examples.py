"""The named queries of ``sparql/``, as the query page offers them."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from shiyi.artefacts import artefact

_HEAD: Final = re.compile(r"\A#\s*(?:question\s*[:：]?\s*)?(.+)", re.IGNORECASE)
# group -> terms of the vocabulary that put a query there; the first that fits
_GROUPS: Final = {
    "safety": ("contraindicatedIn", "cautionIn", "interactsWith", "redFlag", "incompatible", "fears",
               "hasAdverse", "caution", "emergency"),
    "food": ("hasNature", "hasFlavour", "hasIngredient", "suitableFood", "regulatoryStatus",
             "hasEffic", "effectiveFor", "importance", "latinName"),
    "provenance": ("evidence", "sourceTier", "DCTERMS.source", "licen", "prov:", "generation"),
    "claims": ("rdf:reifies", "shiyi:confidence", "Claim"),
}  # fmt: skip


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
    ``# group: …`` may group it; else the terms it uses do.
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
    kind = group[1].strip() if group else _group(name, text)
    return Example(name, kind, english, chinese or english, text)


def _group(name: str, text: str) -> str:
    """Tell by its words what a query is about; those that look for faults are of their own kind."""
    if "-violation" in name:
        return "quality"
    found = (
        group for group, terms in _GROUPS.items() if any(term in name + text for term in terms)
    )
    return next(found, "concepts")
