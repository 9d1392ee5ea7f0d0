"""The words by which a sentence may state a claim.

``ontology/lexicon/grounding.tsv`` holds them, Chinese and English in one row. A row's keys say for
which claims its words may be used; a word that stands in no row may not be used at all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

import snowballstemmer

from shiyi.artefacts import artefact
from shiyi.errors import UsageError

ANY: Final = "any"  # the key of words that state nothing: connectives, forms of address
SYNONYMS: Final = "synonyms"  # the key of words that mean the same, wherever one of them stands
PURPOSES: Final = "purposes"  # the key of synonyms that name a condition by what is sought for it
NOTHING: Final = "∅"  # first among synonyms: the others may be left out of a name
ORDERS: Final = frozenset({"", "subject-first", "object-first"})

_UNIT: Final = re.compile(
    r"[\u3400-\u9fff]|\d+(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_\u3400-\u9fff]+)?\d*|[^\w\s]"
)
_JOINERS: Final = frozenset("-–—'’\"“”()（）《》·/")
_STEM: Final = snowballstemmer.stemmer("english").stemWord

Units = tuple[str, ...]
_Group = tuple[Units, ...]
_Index = Mapping[str, tuple[tuple[Units, _Group], ...]]  # by the first unit of a phrase
_REPLACED: Final = 2  # parts of a name that may have a synonym at once


@cache
def _stem(word: str) -> str:
    lowered = word.casefold().replace("’", "'").removesuffix("'s")
    return _STEM(lowered) if lowered.isascii() and lowered.isalpha() else lowered


def units_of(text: str) -> Units:
    """Return a text as units: Chinese characters, stemmed Latin words, numbers, stops.

    Hyphens, quotation marks and brackets part words and state nothing, so they are left out.

    >>> units_of("Ginger's effects, 姜5克")
    ('ginger', 'effect', ',', '姜', '5', '克')
    """
    return tuple(_stem(hit[0]) for hit in _UNIT.finditer(text) if hit[0] not in _JOINERS)


@dataclass(frozen=True, slots=True)
class Entry:
    """Words that may state something of a claim.

    ``cue``: one of the words that state the relation itself. ``order``: which end of the claim
    must stand before the words where they stand between both ends.
    """

    key: str
    cue: bool = False
    order: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Phrases by key, and groups of synonyms."""

    entries: Mapping[str, tuple[tuple[Units, Entry], ...]]
    synonyms: _Index
    purposes: _Index

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read ``ontology/lexicon/grounding.tsv``.

        Raise :class:`UsageError` for a row without words or with an unknown order.
        """
        entries: dict[str, list[tuple[Units, Entry]]] = {}
        groups: dict[str, list[_Group]] = {SYNONYMS: [], PURPOSES: []}
        path = artefact("ontology/lexicon/grounding.tsv")
        for number, line in enumerate(path.read_text("utf-8").splitlines()[1:], 2):
            if not line.strip() or line.startswith("#"):
                continue
            keys, cue, order, zh, en = (*line.split("\t"), "", "", "", "")[:5]
            words = [each for each in (zh + "|" + en).split("|") if each.strip()]
            phrases = tuple(() if each == NOTHING else units_of(each) for each in words)
            if order not in ORDERS or not phrases or () in phrases[1:]:
                raise UsageError(f"{path.name}, line {number}: no words, or an unknown order")
            if keys in groups:
                groups[keys].append(phrases)
                continue
            for key in keys.split("|"):
                entry = Entry(key, cue == "cue", order)
                entries.setdefault(key, []).extend((phrase, entry) for phrase in phrases)
        phrases_by_key = {key: tuple(each) for key, each in entries.items()}
        return cls(phrases_by_key, _indexed(groups[SYNONYMS]), _indexed(groups[PURPOSES]))

    def phrases(self, keys: Iterable[str]) -> Iterable[tuple[Units, Entry]]:
        """Yield the phrases that claims of some keys may be stated with."""
        for key in (ANY, *keys):
            yield from self.entries.get(key, ())

    def mentions(self, text: Units, key: str) -> bool:
        """Return whether a text has a phrase of a key."""
        return any(_contains(text, phrase) for phrase, _ in self.entries.get(key, ()))

    def alike(self, text: Units, denials: frozenset[str] = frozenset()) -> Iterable[Units]:
        """Yield the synonyms of every word of a text that has some and follows no denial."""
        for at, _, group in _found(text, self.synonyms):
            if not at or text[at - 1] not in denials:
                yield from filter(None, group)

    def names(self, name: Units, *, is_use: bool = False) -> Iterable[Units]:
        """Yield a name and its variants: a synonym in the place of each part that has one.

        ``is_use``: the name of a condition that something is used for, so that it may be called
        by what is sought (减肥, to lose weight).
        """
        indexes = (self.synonyms, self.purposes) if is_use else (self.synonyms,)
        parts = [hit for index in indexes for hit in _found(name, index)]
        known = {name}
        fresh = known
        for _ in range(_REPLACED):
            fresh = {variant for each in fresh for variant in _variants(each, parts)} - known
            known |= fresh
        yield from known


def _indexed(groups: Iterable[_Group]) -> _Index:
    index: dict[str, list[tuple[Units, _Group]]] = {}
    for group in groups:
        for part in filter(None, group):
            index.setdefault(part[0], []).append((part, group))
    return {first: tuple(each) for first, each in index.items()}


def _found(text: Units, index: _Index) -> Iterable[tuple[int, Units, _Group]]:
    """Yield where a text has a phrase of a group of synonyms."""
    for at, unit in enumerate(text):
        for part, group in index.get(unit, ()):
            if text[at : at + len(part)] == part:
                yield at, part, group


def _variants(name: Units, parts: Iterable[tuple[int, Units, _Group]]) -> Iterable[Units]:
    """Yield a name with one of some parts exchanged for a synonym.

    A part may be left out where more than one unit remains.
    """
    for _, part, group in parts:
        at = _find(name, part)
        if at < 0:
            continue
        for other in group:
            if other != part and (other or len(name) > len(part) + 1):
                yield (*name[:at], *other, *name[at + len(part) :])


def _find(text: Units, part: Units) -> int:
    width = len(part)
    return next((i for i in range(len(text) - width + 1) if text[i : i + width] == part), -1)


def _contains(text: Units, part: Units) -> bool:
    return _find(text, part) >= 0
