"""Reads formulas and dishes: what they are made of, in what amounts, and what they are for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from shiyi.ingest.extraction.books.clauses import clean
from shiyi.ingest.extraction.books.patterns import pattern
from shiyi.ingest.extraction.books.vocabulary import Phrase, materials, parse_phrase

_FEWEST = 2  # ingredients of a recipe; what has fewer is a single remedy
_KNOWN = 0.7  # of the names of a list of ingredients, at least
_NOTE = re.compile(r"[（(〔][^（）()〔〕]*(?:[（(〔][^（）()〔〕]*[）)〕][^（）()〔〕]*)*[）)〕]?")
_ITEM = re.compile(
    r"(?P<name>[\u4e00-\u9fff]+(?: *[\r\n]+[\u4e00-\u9fff]+)?)[ \u3000\r\n]*"
    rf"(?P<note>{_NOTE.pattern})?"
)
_PIECE = re.compile(r"[^，、；。∶：,\s（）()\\x]+")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ingredient:
    """A material of a recipe, its amount as stated, and the span that names it."""

    name: str
    amount: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Use:
    """What a recipe does or is for, and the span that states it."""

    words: str
    kind: Phrase
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """A formula or a dish as a book has it; ``method`` is the span that says how it is made."""

    name: str
    ingredients: tuple[Ingredient, ...]
    uses: tuple[Use, ...]
    method: Span


def read_recipes(raw: str, title: str, start: int, end: int) -> Iterator[Recipe]:
    """Yield the recipe of a section, and those with names set off in it.

    The section is ``[start, end)`` of ``raw``, the text as the book has it. What is not a list
    of known names above a line that says how to prepare them yields nothing.
    """
    name = pattern("recipe-title").search(title)
    heads = list(pattern("recipe-head").finditer(raw, start, end))
    cuts = [start, *(head.start() for head in heads), end]
    names = [name, *(pattern("recipe-named").search(head["head"]) for head in heads)]
    for named, (first, last) in zip(names, pairwise(cuts), strict=True):
        if named and (recipe := _recipe(raw, named["name"], first, last)):
            yield recipe


def _recipe(raw: str, name: str, first: int, last: int) -> Recipe | None:
    if labelled := pattern("recipe-labelled").search(raw, first, last):
        return _read_labelled(raw, name, labelled)
    method = pattern("recipe-method").search(raw, first, last)
    made = raw[method.start() : last] if method else ""
    if method is None or pattern("recipe-other-form").search(f"{name}：{made}"):
        return None  # another recipe is made there, as another form shows
    shown = _NOTE.sub(lambda note: " " * len(note[0]), raw[first : method.start()])
    begun = first + max(shown.rfind(mark) + 1 for mark in "。：x")
    if pattern("recipe-unmarked").search(raw, first + len(name) + 4, begun):
        return None  # of another recipe
    names = shown[begun - first :].replace("、", " ").split()
    known = sum(bool(find_material(each)) for each in names)
    ingredients = _ingredients(raw, begun, method.start())
    if len(ingredients) < _FEWEST or known < _KNOWN * len(names):
        return None
    end = raw.find("\n", method.start(), last)
    uses = tuple(_uses(raw, name, first, begun))
    return Recipe(name, ingredients, uses, (method.start(), end if end > 0 else last))


def _read_labelled(raw: str, name: str, match: re.Match[str]) -> Recipe | None:
    """Return a recipe that names its parts: an amount stands behind its ingredient."""
    ingredients = []
    for piece in _PIECE.finditer(raw, *match.span("list")):
        amount = pattern("recipe-amount").search(piece[0])
        words = piece[0][: amount.start()] if amount else piece[0]
        if material := find_material(words):
            end = piece.start() + (amount.end() if amount else len(words))
            much = amount["much"] if amount else ""
            ingredients.append(Ingredient(material, much, piece.start(), end))
    uses = tuple(_uses(raw, name, *match.span("uses"), treats=True))
    if not ingredients:
        return None
    return Recipe(name, tuple(ingredients), uses, match.span("method"))


def find_material(words: str) -> str:
    """Return the known name in an ingredient's words, without how it is prepared; else nothing."""
    while words:
        if words in materials():
            return words if len(words) > 1 or pattern("recipe-single").match(words) else ""
        lead = pattern("prepared-name").match(words)
        if lead is None:
            return ""
        words = words[lead.end() :]
    return ""


def _ingredients(raw: str, first: int, last: int) -> tuple[Ingredient, ...]:
    """Return the known materials of a list; “each so much” holds of those before it too."""
    found: list[Ingredient] = []
    waiting = 0  # where those begin that have no amount of their own yet
    for match in _ITEM.finditer(raw, first, last):
        note = "".join((match["note"] or "").split())
        meant = pattern("recipe-meant").match(note)
        if meant and meant["name"] in materials():
            continue  # a thing that its name does not mean
        if note and note[-1] not in "）)〕":
            waiting = len(found)
            continue  # others stand in a note that nothing closes
        amount = pattern("recipe-amount").search(note[:40])  # then how it is made
        much = amount["much"] if amount else ""
        if amount and amount["each"]:
            found[waiting:] = [replace(one, amount=much) for one in found[waiting:]]
        found += (
            Ingredient(name, much, match.start("name"), match.end())
            for name in _names(match["name"])
        )
        if amount:
            waiting = len(found)
    return tuple({each.name: each for each in reversed(found)}.values())[::-1]


def _names(words: str) -> Iterator[str]:
    """Yield the known names in words that a line end may cut: one name, or one on each side."""
    pieces = words.split()
    whole = find_material("".join(pieces))
    yield from filter(None, (whole,) if whole else map(find_material, pieces))


def _uses(raw: str, name: str, first: int, last: int, treats: bool = False) -> Iterator[Use]:
    """Yield what is stated above the ingredients; a piece that a line end cuts is passed over.

    An action before a complaint of the same sentence is what brought it about: a sweat, a purge.
    """
    uses: list[Use] = []
    causes: set[int] = set()  # where actions of this sentence begin that stand among complaints
    begun = False  # whether the sentence says what is treated
    for match in _PIECE.finditer(raw, first, last):
        words, rest = match[0], "".join(raw[match.start() : last][:_NEAR].split())
        taken = pattern("recipe-taken").match(words) or pattern("recipe-argued").search(words)
        if taken or pattern("recipe-varied").match(rest):
            break  # how it is taken, or changed for whom
        banned = not begun and pattern("recipe-ban").match(rest)
        if pattern("recipe-likened").match(words):
            treats = False
        verb = pattern("use-verb").match(words)
        treats, begun = treats or verb is not None, begun or verb is not None
        bare = pattern("use-lead").sub("", words[verb.end() if verb else 0 :])
        bare = clean(pattern("tail").sub("", bare))
        kind = None if words == name else parse_phrase(bare, treated=treats)
        if kind is Phrase.ACTION and pattern("treats").match(words):
            kind = Phrase.COMPLAINT
        cut = raw[match.end() : last][:1] in {" ", "\u3000", "\r", "\n"}  # or a character is lost
        cut = cut or raw[first : match.start()].rstrip(" \u3000\r\n")[-1:] not in _BEFORE
        if treats and kind and parse_phrase(bare) is Phrase.ACTION:
            causes.add(match.start())
        elif treats and kind:  # a complaint, which an action before it brought about
            uses = [use for use in uses if use.start not in causes]
        if "。" in raw[match.end() : match.end() + 1]:
            causes.clear()
            begun = False
        cut = cut or bool(banned or pattern("counter-sign").match(rest))
        if kind is not None and not cut and (treats or kind is Phrase.ACTION):
            uses.append(Use(bare, kind, match.start(), match.end()))
    yield from uses


_NEAR = 99  # characters in which a piece is gone on with
_BEFORE = frozenset(("", *"，、；。∶：,x〕"))
