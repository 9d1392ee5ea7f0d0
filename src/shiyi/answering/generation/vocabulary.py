"""The words by which a sentence may state a claim.

``ontology/lexicon/grounding.tsv`` holds them, Chinese and English in one row. A row's keys say for
which claims its words may be used. ``ontology/lexicon/neutral.tsv`` holds, by class, everyday words
that state nothing. A word that stands in no row may not be used at all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise
from typing import Final, Self

import snowballstemmer

from shiyi.errors import UsageError
from shiyi.linking.normalization import fold
from shiyi.ontology.lexicon import rows

ANY: Final = "any"  # the key of words that state nothing: connectives, forms of address
SYNONYMS: Final = "synonyms"  # the key of words that mean the same
PURPOSES: Final = "purposes"  # the key of synonyms that name a condition by what is sought for it
PARAPHRASES: Final = "paraphrases"  # the key of words by which what a note says may be repeated
GUARDING: Final = "guarding"  # the key of words by which what a note forbids may be forbidden
DUTY: Final = "duty"  # the key of words that say that something should be done
NOTED: Final = "noted:"  # before the number of a group of synonyms or paraphrases
NOTHING: Final = "∅"  # first among synonyms: the others may be left out of a name
BEFORE_NAME: Final = "before-name"  # the order of words that only count before a name of an end
ORDERS: Final = frozenset({"", "subject-first", "object-first", BEFORE_NAME})
STOPS: Final = frozenset(",.;:!?，。；：！？、…")

_UNIT: Final = re.compile(
    r"[\u3400-\u9fff]|\d+(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_\u3400-\u9fff]+)?\d*|[^\w\s]"
)
_JOINERS: Final = frozenset("-–—'’\"“”()（）《》·/")
_SPELLINGS: Final = (  # of Britain and of America as one
    (re.compile(r"[ao]e(?=\w\w)"), "e"),
    (re.compile(r"our(?=s?$|ed$|ing$)"), "or"),
    (re.compile(r"(?<=[lmntg])is(?=(?:e|es|ed|ing|ations?)$)"), "iz"),
    (re.compile("^likely$"), "probably"),  # its stem is that of like
)
_ASKING: Final = (
    re.compile(r"([\u4f1a\u80fd\u53ef\u8981\u8be5\u6709\u662f])[\u4e0d\u6ca1]\1"),
    "\u662f\u5426",
)  # whether
_STEM: Final = snowballstemmer.stemmer("english").stemWord

Units = tuple[str, ...]
Trie = dict[str, tuple[tuple["Entry", ...], "Trie"]]  # by unit: what ends there, what goes on
Groups = Mapping[str, tuple[tuple[Units, tuple[Units, ...]], ...]]  # by the first unit


@cache
def _stem(word: str) -> str:
    lowered = word.casefold().replace("’", "'").removesuffix("'s")
    if not (lowered.isascii() and lowered.isalpha()):
        return lowered
    if len(lowered) > 5:
        for pattern, one in _SPELLINGS:
            lowered = pattern.sub(one, lowered)
    return str(_STEM(lowered))


def split_units(text: str) -> Units:
    """Return a text as units: Chinese characters, stemmed Latin words, numbers, stops.

    Hyphens, quotation marks and brackets part words and state nothing, so they are left out.
    Spellings of one word are one, and so are the ways to ask in Chinese whether something is.

    >>> split_units("Ginger's effects, 5 g")
    ('ginger', 'effect', ',', '5', 'g')
    """
    folded = _ASKING[0].sub(_ASKING[1], fold(text))
    units = (_stem(hit[0]) for hit in _UNIT.finditer(folded) if hit[0] not in _JOINERS)
    return tuple(units)


@dataclass(frozen=True, slots=True)
class Entry:
    """Words that may state something of a claim.

    ``cue``: one of the words that state the relation itself. ``order``: which end of the claim
    must stand before the words where they stand between both ends; ``before-name``: one follows.
    """

    key: str
    cue: bool = False
    order: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase of the table that a text has from ``start`` to ``stop``."""

    start: int
    stop: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Phrases as a trie of units and by key, and groups of synonyms."""

    phrases: Trie
    by_key: Mapping[str, frozenset[Units]]
    synonyms: Groups
    purposes: Groups
    _words: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read ``grounding.tsv`` and ``neutral.tsv`` of ``ontology/lexicon``.

        Raise :class:`UsageError` for a row without words or with an unknown order.
        """
        entries: dict[Units, list[Entry]] = {}
        by_key: dict[str, set[Units]] = {}
        groups: dict[str, list[tuple[Units, ...]]] = {SYNONYMS: [], PURPOSES: [], PARAPHRASES: []}
        neutral = ([ANY, "", "", zh, en] for _, zh, en in rows("neutral"))
        for number, (keys, cue, order, zh, en) in enumerate(chain(rows("grounding"), neutral)):
            words = [part for part in f"{zh}|{en}".split("|") if part.strip()]
            phrases = tuple(() if word == NOTHING else split_units(word) for word in words)
            if order not in ORDERS or not phrases or () in phrases[1:]:
                raise UsageError(
                    f"grounding or neutral.tsv: no words, or an unknown order: {keys} {zh} {en}"
                )
            if keys in groups:
                groups[keys].append(phrases)
                keys, phrases = f"{NOTED}{number}", tuple(filter(None, phrases))
            for key in keys.split("|"):
                by_key.setdefault(key, set()).update(phrases)
                for phrase in phrases:
                    entries.setdefault(phrase, []).append(Entry(key, cue == "cue", order))
        trie: Trie = {}
        for phrase in entries:
            node = trie
            for unit in phrase:
                node = node.setdefault(unit, ((), {}))[1]
        for phrase, found_entries in entries.items():
            node = trie
            for unit in phrase[:-1]:
                node = node[unit][1]
            node[phrase[-1]] = tuple(found_entries), node[phrase[-1]][1]
        return cls(
            trie,
            {key: frozenset(group) for key, group in by_key.items()},
            _group_synonyms(groups[SYNONYMS]),
            _group_synonyms(groups[PURPOSES]),
        )

    def matches(self, units: Units) -> Iterator[Match]:
        """Yield the phrases that a text has, from left to right."""
        for start in range(len(units)):
            node = self.phrases
            for stop in range(start, len(units)):
                results = node.get(units[stop])
                if results is None:
                    break
                entries, node = results
                if entries:
                    yield Match(start, stop + 1, entries)

    def words(self, key: str) -> frozenset[str]:
        """Return the phrases of one unit that stand under a key."""
        if key not in self._words:
            phrases = self.by_key.get(key, frozenset())
            self._words[key] = frozenset(phrase[0] for phrase in phrases if len(phrase) == 1)
        return self._words[key]

    def alternatives(self, name: Units, *, is_use: bool = False) -> Iterator[tuple[Units, Units]]:
        """Yield a part that a name begins with, and what may stand in its place.

        ``is_use``: the name of a condition that something is used for, so that it may be called
        by what is sought (weight loss for obesity).
        """
        for groups in (self.synonyms, self.purposes) if is_use else (self.synonyms,):
            for part, group in groups.get(name[0], ()):
                if name[: len(part)] == part:
                    # English words are translated as whole names alone
                    is_free = len(part) == len(name) or not part[0].isascii()
                    yield from (
                        (part, other)
                        for other in group
                        if other != part and (is_free or not other or other[0].isascii())
                    )


def _group_synonyms(groups: Iterable[tuple[Units, ...]]) -> Groups:
    results: dict[str, list[tuple[Units, tuple[Units, ...]]]] = {}
    for group in groups:
        for part in filter(None, group):
            results.setdefault(part[0], []).append((part, group))
    return {first: tuple(each) for first, each in results.items()}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as units, with the phrases of the vocabulary that it has."""

    units: Units
    matches: tuple[Match, ...]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, text: str | Units, vocabulary: Vocabulary | None = None) -> Self:
        """Read a text, or units that were cut from one."""
        known = vocabulary or Vocabulary.load()
        units = split_units(text) if isinstance(text, str) else text
        return cls(units, tuple(known.matches(units)), known)

    def has(self, key: str, start: int = 0, stop: int | None = None) -> bool:
        """Return whether one of its units is a word of a key."""
        return not self.vocabulary.words(key).isdisjoint(self.units[start:stop])

    def guards(self, start: int = 0, stop: int | None = None) -> bool:
        """Return whether a word forbids or denies; none within some phrases does."""
        words = self.vocabulary.words("class:guard")
        guards = {at for at, unit in enumerate(self.units[start:stop], start) if unit in words}
        for match in self.matches if guards else ():
            if any(entry.key == "unguarded" for entry in match.entries):
                guards.difference_update(range(match.start, match.stop))
        return bool(guards)

    def mentions(self, key: str, start: int = 0, stop: int | None = None) -> bool:
        """Return whether it has a phrase of a key, whole between two places."""
        end = len(self.units) if stop is None else stop
        return any(
            entry.key == key
            for match in self.matches
            if start <= match.start and match.stop <= end
            for entry in match.entries
        )

    def has_dose(self) -> bool:
        """Return whether it states a number with a unit of doses."""
        counted = self.vocabulary.words("class:number")
        doses = self.vocabulary.words("class:dose")
        return any(
            (first[0].isdigit() or first in counted) and second in doses
            for first, second in pairwise(self.units)
        )

    def clauses(self) -> Iterator["Sentence"]:
        """Yield the clauses, without the words and stops that part them."""
        ends, clause = self.vocabulary.words("class:clause-end"), list[str]()
        for unit in (*self.units, "."):
            if unit not in ends:
                clause.append(unit)
            elif clause:
                yield Sentence.of(tuple(clause), self.vocabulary)
                clause = []

    def parts(self) -> Iterator[tuple[int, int]]:
        """Yield where the parts between stops begin and end; a stop of Chinese lists parts none."""
        stops = [at for at, unit in enumerate(self.units) if unit in STOPS - {"\u3001"}]
        yield from ((a + 1, b) for a, b in pairwise((-1, *stops, len(self.units))))

    def permits(self) -> bool:
        """Return whether it says that something may be taken."""
        words = self.vocabulary.words
        permitting, using = words("class:permitting"), words("class:using")
        refusing = words("class:refusing")
        units = tuple(unit for unit in self.units if unit != "be")
        return any(
            second in using
            and first in permitting
            and refusing.isdisjoint(units[max(0, at - 1) : at + 1])
            and not (first.isascii() and not refusing.isdisjoint(units))
            for at, (first, second) in enumerate(pairwise(units))
        )
