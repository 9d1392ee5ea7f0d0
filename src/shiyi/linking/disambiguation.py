"""Stop words and ambiguous senses."""

import re
from collections.abc import Sequence
from typing import Final

from shiyi.artefacts import artefact
from shiyi.linking.normalization import is_cjk, is_latin
from shiyi.ontology.lexicon import Cues, cue_texts, word_list


def read_words(name: str) -> frozenset[str]:
    """Read one list; lines that begin with ``#`` are comments.

    >>> "drug" in read_words("generic")
    True
    """
    return frozenset(word for line in read_lines(name) for word in line.split())


def read_lines(name: str) -> tuple[str, ...]:
    """Read one list line by line.

    >>> "calla lily" in read_lines("not-names")
    True
    """
    text = artefact(f"ontology/lexicon/{name}.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


STOPS = read_words("questions-en")

_CUES: Final = Cues("negation")
# heads that name no concept by themselves
GENERIC = read_words("generic")
BODIES = read_words("bodies")
QUALITIES = read_words("qualities")  # the "red" of red wine is no red bean

# kinds with short names that are parts of other words (肺热, heart attack)
SCHEMES = frozenset(
    {"Nature", "Flavour", "Meridian", "ToxicityLevel", "SystemOrganClass", "OrganismPart"}
)
# kinds too general to be guessed at; they are linked by their names alone
NEVER_GUESSED = SCHEMES | {"Season", "Method", "RegulatoryStatus", "Rule"}
# everyday words that are names in some surroundings only
AMBIGUOUS = frozenset({"spring", "fall", "period", "date", "dates", "sage", "may", "lead", "cold"})
# what may follow a cold one has; before any other noun the word is an adjective
_AILING = re.compile(
    r" (?:symptoms?|sores?|virus|viruses|remed(?:y|ies)|medicines?|medications?)\b"
)
_NOUN = re.compile(r" ([a-z]+)")
_ENDINGS = word_list("senses", "_medicine-endings")[0]
_NEAR = 200  # characters before and behind a name in which natures are spoken of
_SCHEME_NEIGHBOURS, _BEFORE, _AFTER = (  # characters beside a name that is no part of a longer one
    frozenset(cue_texts("senses")[cue][0]) for cue in ("_beside-scheme", "_before", "_after")
)


def needs_context(surface: str, scheme: bool) -> bool:
    """Return whether a written form is linked in some surroundings only, as of a ``scheme``."""
    if len(surface) == 1 or surface in AMBIGUOUS or surface in _ENDINGS:
        return True
    return scheme and (len(surface) <= 2 if is_cjk(surface[0]) else " " not in surface)


def fits(text: str, start: int, end: int, kinds: Sequence[str]) -> bool:
    """Return whether the surroundings let ``[start, end)`` of a folded text mean a concept."""
    if _stands_alone(text, start, end):
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    if not is_cjk(text[start]):
        return _english_fits(text, start, end, kinds)
    if SCHEMES.issuperset(kinds):
        if _scheme_talk(text, start, end):
            return _is_open(before, _SCHEME_NEIGHBOURS) and _is_open(after, _SCHEME_NEIGHBOURS)
        return _is_open(before, frozenset()) and _is_open(after, frozenset())
    return _is_open(before, _BEFORE) and _is_open(after, _AFTER)


def _english_fits(text: str, start: int, end: int, kinds: Sequence[str]) -> bool:
    word, before = text[start:end], text[max(0, start - 40) : start].rstrip().rpartition(" ")[2]
    if SCHEMES.issuperset(kinds):
        return _scheme_talk(text, start, end)
    if word in {"spring", "fall"}:
        return before in {"in", "this", "during", "for", "every", "late", "early"}
    if word == "cold":
        following = _NOUN.match(text, end)
        return following is None or following[1] in STOPS or bool(_AILING.match(text, end))
    if word == "period":
        return before in {"my", "her", "your", "during"}
    return word not in {"may", "lead"} and len(word) > 1


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether nothing else stands in a folded text with single spaces."""
    if start > 1 or len(text) - end > 20:
        return False
    return not text[:start].strip() and not text[end:].strip(" ?？。.!！")


def _scheme_talk(text: str, start: int, end: int) -> bool:
    # in the neighbourhood, so that each of many names costs the same in a text of any length
    return _CUES["scheme-talk"].search(text, max(0, start - _NEAR), end + _NEAR) is not None


def _is_open(neighbour: str, friends: frozenset[str]) -> bool:
    return not neighbour or neighbour in friends or not (is_cjk(neighbour) or is_latin(neighbour))
