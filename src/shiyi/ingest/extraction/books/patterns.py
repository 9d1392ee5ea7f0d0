"""Patterns of ``ontology/lexicon/reading``: with examples that each must and must not match."""

import re
from collections.abc import Mapping
from functools import cache

from shiyi.errors import TableError
from shiyi.ontology.lexicon import rows

_REFERENCE = re.compile(r"\{\{([\w-]+)\}\}")


@cache
def _texts() -> Mapping[str, str]:
    """Return the pattern of each name; rows of one name are alternatives in their order."""
    results: dict[str, str] = {}
    for name, pattern, *_ in rows("reading/patterns"):
        filled = _REFERENCE.sub(lambda match: results[match[1]], pattern)
        results[name] = f"{results[name]}|{filled}" if name in results else filled
    return results


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name; raise ``TableError`` where the table has no such pattern."""
    try:
        return re.compile(_texts()[name])
    except (KeyError, re.error) as fault:
        raise TableError([f"reading/patterns.tsv: {name} is no pattern: {fault}"]) from fault


@cache
def _phrases() -> Mapping[str, str]:
    return {name: words for name, words, _ in rows("reading/phrases")}


def phrase(name: str) -> str:
    """Return the words that a statement uses for a thing that an entry does not spell out."""
    return _phrases()[name]


@cache
def section_modes() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return how a titled section of an entry is read, by patterns of its title, first match."""
    return tuple((re.compile(title), mode) for title, mode in rows("reading/sections"))


@cache
def synonyms() -> Mapping[str, str]:
    """Return the name today of what old books call by another word."""
    return {word: name for word, name, _ in rows("reading/synonyms")}


@cache
def _corrections() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """Return miscodings of the corpus in what an entry states, and the right words."""
    right = {wrong: word for wrong, word, _ in rows("reading/miscodings")}
    return re.compile("|".join(sorted(right, key=len, reverse=True))), right


def correct_miscodings(words: str) -> str:
    """Return words with the miscodings of the corpus put right."""
    wrong, right = _corrections()
    return wrong.sub(lambda match: right[match[0]], words)
