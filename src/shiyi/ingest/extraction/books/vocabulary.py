"""Words of ``ontology/lexicon/reading``: whether a clause is made of them, and what it names."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from shiyi.artefacts import artefact
from shiyi.ingest.datasets.lexicon import MATERIALS
from shiyi.ingest.extraction.books.patterns import pattern
from shiyi.ingest.tables.tsv import Faults, read_tables
from shiyi.ontology.lexicon import rows

_NOUNS: Final = {
    "noun": frozenset({"part", "evil", "sign", "state", "good"}),
    "good": frozenset({"part", "good"}),
}
_COMPLAINT: Final = frozenset(
    {"part", "evil", "sign", "colour", "state", "link", "and", "material"}
)


class Phrase(StrEnum):
    """What a clause names: a complaint, or what a thing does."""

    COMPLAINT = "complaint"
    ACTION = "action"


@cache
def materials() -> frozenset[str]:
    """Return the names of materials: those of the concept tables, and those of old books alone."""
    names = {name for name, _ in rows("reading/materials")}
    for header, lines in read_tables(artefact("ontology/concepts"), Faults()):
        if "class" in header:
            for row in lines:
                if row.get("class") in MATERIALS:
                    names.update((row.get("zh"), *row.get("alt_zh").split("|")))
    return frozenset(names - {""})


@cache
def today() -> Mapping[str, str]:
    """Return the name today of a material that old books call by another."""
    return {name: now for name, now in rows("reading/materials") if now}


@cache
def load_named_parts() -> Mapping[str, frozenset[str]]:
    """Return the parts that the name of a material means by itself: 升麻 is the root."""
    return {name: frozenset(parts.split("|")) for name, parts in rows("reading/parts")}


def names_material(words: str, title: str = "") -> bool:
    """Return whether words name a material, or a part of one or of the entry's own."""
    if words in materials() or pattern("_part-end").fullmatch(words):
        return True
    if title and title in words and len(words) <= len(title) + 2:
        return True
    part = pattern("_part-end")
    return any(words[:-n] in materials() and part.fullmatch(words[-n:]) for n in (1, 2))


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    """Return the kinds of each word; a name of a material keeps its words together."""
    words = {word: frozenset(kinds.split()) for word, kinds in rows("reading/words")}
    return {name: frozenset({"material"}) for name in materials() if len(name) > 1} | words


@lru_cache(maxsize=1 << 14)
def is_of_words(words: str) -> bool:
    """Return whether words are no more than words that are not names of materials."""
    ends = {0}
    for at in range(len(words)):
        if at in ends:
            ends |= {end for end, kinds in _pieces(words, at) if "material" not in kinds}
    return len(words) in ends


@cache
def _characters() -> frozenset[str]:
    """Return the characters of all words: a text with another one is made of none."""
    return frozenset("".join(word for word, kinds in _kinds().items() if "material" not in kinds))


@cache
def _longest() -> int:
    return max(map(len, _kinds()))


@lru_cache(maxsize=1 << 17)
def parse_phrase(words: str, treated: bool = False) -> Phrase | None:
    """Return what words name that consist of known words throughout; None for anything else.

    What is ``treated`` is a complaint where it can be read as one.
    """
    if not words or not _characters().issuperset(words):
        return None
    action = 0 if pattern("no-action").search(words) else _words_of_action(words)
    complaint = 0 if pattern("no-complaint").search(words) else _words_of_complaint(words)
    if action and (not complaint or (action <= complaint and not treated)):
        return Phrase.ACTION
    return Phrase.COMPLAINT if complaint else None


def _pieces(words: str, at: int) -> list[tuple[int, frozenset[str]]]:
    known = _kinds()
    ends = range(at + 1, min(len(words), at + _longest()) + 1)
    return [(end, known[words[at:end]]) for end in ends if words[at:end] in known]


@lru_cache(maxsize=1 << 14)
def names_state(words: str) -> bool:
    """Return whether words name whom a warning is for: a person, a state or a disease."""
    if pattern("no-complaint").search(words) or pattern("eating").match(words):
        return False
    if len(words) == 1:
        return not {"alone", "person"}.isdisjoint(_kinds().get(words, ()))
    return bool(words) and _is_made_of(words, frozenset({"sign", "evil", "person"})) > 0


def is_sign(words: str) -> bool:
    """Return whether words name a sign or a person, and not a cause alone."""
    return _is_made_of(words, frozenset({"sign", "person"})) > 0


def _words_of_complaint(words: str) -> int:
    """Return of how many words a complaint consists, 0 for what is none."""
    if len(words) == 1:
        return int("alone" in _kinds().get(words, ()))
    return _is_made_of(words, frozenset({"sign", "evil"}))


_NOTHING, _WANTED, _MATERIAL = 0, 1, 2  # what the words so far include


def _is_made_of(words: str, things: frozenset[str]) -> int:
    """Return the fewest words that make up a text with a wanted one and no material, or 0."""
    fewest: list[tuple[int, set[int]]] = [(len(words) + 1, set()) for _ in range(len(words) + 1)]
    fewest[0] = 0, {_NOTHING}
    for at, (count, results) in enumerate(fewest):
        for end, kinds in _pieces(words, at) if results else ():
            if not kinds & _COMPLAINT or (
                kinds <= {"link", "and"} and (at == 0 or end == len(words))
            ):
                continue
            number = _MATERIAL if "material" in kinds else _WANTED if kinds & things else _NOTHING
            after = {max(result, number) for result in results}
            if count + 1 < fewest[end][0]:
                fewest[end] = count + 1, after
            elif count + 1 == fewest[end][0]:
                fewest[end][1].update(after)
    return fewest[-1][0] if _WANTED in fewest[-1][1] else 0


# what may follow a word of an action: verb, its object, another verb; a word that is an action
_FOLLOWS: Final[Mapping[str, Mapping[str, str]]] = {
    "start": {"lead": "start", "verb": "verb", "raise": "raised", "whole": "done"},
    "verb": {"verb": "verb", "raise": "raised", "noun": "done", "and": "verb"},
    "raised": {"verb": "verb", "good": "done"},  # what raises an evil does harm
    "done": {
        "lead": "start", "verb": "verb", "raise": "raised", "noun": "done", "whole": "done",
        "link": "joined", "and": "joined",
    },
    "joined": {"verb": "verb", "raise": "raised", "noun": "done", "whole": "done"},
}  # fmt: skip


def _words_of_action(words: str) -> int:
    """Return of how many words an action consists: one or several verbs, each with its objects.

    It is 0 for what is none, and for what begins with the name of a material or is done to one.
    """
    begun = (_kinds().get(words[1:], ()), *(kinds for _, kinds in _pieces(words, 0)))
    if any("material" in kinds for kinds in begun):
        return 0
    fewest: list[dict[str, int]] = [{} for _ in range(len(words) + 1)]
    fewest[0]["start"] = 0
    for at, results in enumerate(fewest):
        for state, count in results.items():
            for end, kinds in _pieces(words, at):
                named = kinds | {name for name, some in _NOUNS.items() if kinds & some}
                for kind in named & _FOLLOWS[state].keys():
                    after = _FOLLOWS[state][kind]
                    fewest[end][after] = min(count + 1, fewest[end].get(after, count + 1))
    return fewest[-1].get("done", 0)
