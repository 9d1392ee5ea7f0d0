"""Relations that a question calls by the names the vocabulary gives them, as 活性成分 or "uses part"."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from shiyi.answering.asked import asked_predicates
from shiyi.model.mention import Mention
from shiyi.ontology.vocabulary import Property, Schema

_INVERSE: Final = "（逆）"
_LEAST: Final = 2  # characters of a Chinese name; of an English one, five letters


def predicates_of(question: str) -> frozenset[str]:
    """Name the relations a question asks for, by everyday words or by the vocabulary's own.

    >>> sorted(predicates_of("金银花的活性成分是什么？"))
    ['hasActiveConstituent']
    """
    return asked_predicates(question) | {name for name, _, _ in named_in(question)}


def named_in(question: str) -> tuple[tuple[str, int, int], ...]:
    """List relations with the spans of their names, as they stand in the question."""
    return tuple(
        (name, found.start(), found.end())
        for name, pattern in _names()
        for found in pattern.finditer(question)
    )


def outside_names(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Leave out mentions that are but a piece of a relation's name, as 活性 of 活性成分."""
    spans = [(start, end) for _, start, end in named_in(question)]
    return tuple(
        m for m in mentions
        if not any(start <= m.start and m.end <= end and m.end - m.start < end - start
                   for start, end in spans)
    )  # fmt: skip


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(found), re.IGNORECASE))
        for name, known in Schema.load().properties.items()
        if (found := _patterns(known))
    )


def _patterns(known: Property) -> list[str]:
    if not (known.is_object and known.domain) or known.label_zh.endswith(_INVERSE):
        return []
    chinese = re.sub(r"\(.*?\)", "", known.label_zh).split("/")
    english = known.label_en.removeprefix("has ").removeprefix("is ")
    return [
        *(re.escape(each) for each in chinese if len(each) >= _LEAST),
        *([rf"\b{re.escape(english)}s?\b"] if len(english) >= _LEAST + 3 else []),
    ]
