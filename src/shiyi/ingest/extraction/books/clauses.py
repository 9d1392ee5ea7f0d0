"""A clause of an entry, what is known where it stands, and what it says that its subject does."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.patterns import corrected, pattern, phrase
from shiyi.ingest.extraction.books.sections import HARMS, STRICT, USES, Block

GAP = "，、。, \ue000"
WEAK = "weak"  # a list that another remark interrupts
_MARKS = re.compile(r"[，、。；,∶：\s\ue000-\ue002\n]")
_NEXT = re.compile(r"[，。；]")


@dataclass(slots=True)
class State:
    """What is known of an entry so far: its part in question, and what its lists state."""

    block: Block
    title: str = ""
    dotted: bool = False  # whether this edition sets a full stop after each clause
    part: str = ""
    listing: str = ""  # the relation that the items of a list state
    harmful: bool = False  # what follows is harm
    seen: set[str] = field(default_factory=set)  # relations read in this entry

    def harms(self) -> None:
        """Read what follows as harm."""
        self.harmful, self.listing = True, ""


@dataclass(frozen=True, slots=True)
class Clause:
    """The clause ``[first, last)`` of a sentence ``[start, end)`` of a block."""

    state: State
    start: int
    first: int
    last: int
    end: int

    @property
    def text(self) -> str:
        """Return the text of the block."""
        return self.state.block.text.text

    @property
    def words(self) -> str:
        """Return the clause itself."""
        return self.text[self.first : self.last]

    @property
    def here(self) -> str:
        """Return the sentence from this clause on."""
        return self.text[self.first : self.end]

    @property
    def after(self) -> str:
        """Return what follows in the sentence."""
        return self.text[self.last : self.end]

    @property
    def following(self) -> str:
        """Return the next clause."""
        return _NEXT.split(self.after.lstrip(GAP))[0]

    @property
    def before(self) -> str:
        """Return what of the sentence is before it."""
        return self.text[self.start : self.first].rstrip(GAP)

    @property
    def opens(self) -> bool:
        """Return whether the clause opens its sentence."""
        return self.first == self.start

    @property
    def full(self) -> bool:
        """Return whether the entry itself speaks, and not a commentary."""
        return self.state.block.mode != STRICT

    def rest(self, first: int) -> "Clause":
        """Return what of the clause begins at ``first``."""
        return Clause(self.state, self.start, first, self.last, self.end)


@dataclass(frozen=True, slots=True)
class Item:
    """A statement with its span in the text of the block."""

    relation: str
    words: str
    start: int
    end: int
    combined: bool = False


@dataclass(slots=True)
class Found:
    """The statements of a clause; ``until`` is where they end, at its end or after it."""

    until: int
    items: list[Item] = field(default_factory=list)


Reader = Callable[[Clause], Found | None]


def first_found(readers: tuple[Reader, ...], clause: Clause) -> Found | None:
    """Return what the first reader finds that has anything to do with a clause."""
    for reader in readers:
        if (found := reader(clause)) is not None:
            return found
    return None


def clean(words: str) -> str:
    """Return words without marks, and with the miscodings of the corpus put right."""
    return corrected(_MARKS.sub("", words))


def statement(
    relation: str, words: str, start: int, end: int, combined: bool = False
) -> Found | None:
    """Return one statement, unless its words are too few or too many to be one."""
    name = clean(pattern("tail").sub("", pattern("and-lead").sub("", words)))
    short = len(name) == 1 and not (
        pattern("complaint").search(name) or pattern("lists-word").match(name)
    )
    if short or not 1 <= len(name) <= 16:
        return None
    return Found(end, [Item(relation, name, start, end, combined)])


def caution(clause: Clause, words: str = "") -> Found:
    """Return a caution of the subject for ``words``, or of eating it at all."""
    item = Item(
        kinds.CAUTION, clean(words) if words else phrase("eaten"), clause.first, clause.last
    )
    return Found(clause.last, [item])


_ANY = re.compile(r"[，、。；\ue000∶]")
_LISTED = re.compile(r"、[^，。；]")
_FEW = 12  # characters between a helper of a recipe and what both do


def actions(clause: Clause) -> Found | None:
    """Read what it does and what it is used for; an item of a list goes on with its relation."""
    state = clause.state
    if state.harmful or _is_of_a_ban(clause):
        return Found(clause.last)
    bare = pattern("tail").sub("", clause.words)
    if 1 < len(bare) < len(clause.words):
        clause = replace(clause, last=clause.first + len(bare))
    if state.listing and pattern("only-properties").match(clause.words):
        state.listing = ""
        return Found(clause.last)
    if state.block.mode == HARMS:
        return None
    if (found := first_found((_recipe, _prepared, _applied, _able), clause)) is not None:
        return found
    if _stops(clause):
        state.listing = WEAK if state.listing and state.dotted else ""
        return None
    if pattern("prepared-for").match(clause.text[clause.last :]):
        return Found(clause.last)
    return first_found((_used, _efficacy, _listed, _titled), clause)


def _is_of_a_ban(clause: Clause) -> bool:
    """Return whether the clause is one of several states that a ban names together."""
    return bool(
        not clause.state.listing
        and _LISTED.match(clause.after)
        and pattern("ban").search(re.split(r"[，。；]", clause.after[1:])[0])
    )


def _stops(clause: Clause) -> bool:
    """Return whether a clause speaks of origin, looks, names or preparation."""
    if not pattern("stop").search(clause.words) or pattern("plain-use").match(clause.words):
        return False
    return not (clause.state.listing and pattern("complaint").search(clause.words[-1:]))


def _recipe(clause: Clause) -> Found | None:
    """Read what it does together with another drug."""
    whole = pattern("recipe").match(clause.words)
    match = whole or pattern("recipe").match(clause.here)
    if match is None or not (whole or len(match["list"]) <= _FEW):
        return None
    first = clause.first
    return _item(match["what"], first + match.start("what"), first + match.end(), combined=True)


def _prepared(clause: Clause) -> Found | None:
    match = pattern("preparation").match(clause.words)
    if match is None:
        return None
    clause.state.listing = kinds.RELIEVES
    return _item(match["what"], clause.first + match.start("what"), clause.last)


def _applied(clause: Clause) -> Found | None:
    match = pattern("applied").match(clause.words)
    if match is None:
        return None
    clause.state.listing = kinds.RELIEVES
    start = clause.first + match.start("what")
    return statement(kinds.RELIEVES, match["what"], start, clause.last)


def _able(clause: Clause) -> Found | None:
    """Read a use that names its complaint before the verb."""
    match = pattern("able").match(_ANY.split(clause.here, maxsplit=1)[0])
    if match is None:
        return None
    words = pattern("able-lead").sub("", match["what"])
    if not pattern("complaint").search(words):
        return None
    end = clause.first + match.end("what")
    return statement(kinds.RELIEVES, words, end - len(words), clause.first + match.end())


def _used(clause: Clause) -> Found | None:
    match = pattern("use").match(clause.words)
    if match is None:
        return None
    at = match.start("verb")
    if not (clause.full or at == 0 or pattern("cued").match(clause.words)):
        return None
    clause.state.listing = kinds.RELIEVES
    return _item(clause.words[at:], clause.first + at, clause.last)


def _efficacy(clause: Clause) -> Found | None:
    state, words = clause.state, clause.words
    if clause.full and clause.first == 0 and pattern("lists-word").match(words):
        return statement(kinds.EFFICACY, words, clause.first, clause.last)
    if not (clause.full or state.listing or pattern("cued").match(words)):
        return None
    match = pattern("efficacy").match(words)
    if match is None:
        return None
    if not clause.full:
        state.listing = state.listing or kinds.EFFICACY
    group = "what" if match["what"] else "word"
    start = clause.first + match.start(group)
    return statement(kinds.EFFICACY, match[group], start, clause.last)


def _listed(clause: Clause) -> Found | None:
    """Read an item of a list of complaints."""
    state, words = clause.state, clause.words
    if state.listing == WEAK:
        goes_on = len(words) <= 8 and bool(pattern("complaint").search(words[-2:]))
    else:
        goes_on = state.listing == kinds.RELIEVES and len(words) <= 14
        if clause.opens and state.dotted:
            goes_on = goes_on and bool(pattern("goes-on").match(words))
    return statement(kinds.RELIEVES, words, clause.first, clause.last) if goes_on else None


def _titled(clause: Clause) -> Found | None:
    """Read the first complaint of a section of uses, which needs no verb."""
    state, words = clause.state, clause.words
    if state.block.mode != USES or state.listing or len(words) > _FEW:
        return None
    if not pattern("complaint").search(words):
        return None
    state.listing = kinds.RELIEVES
    return statement(kinds.RELIEVES, words.strip(GAP), clause.first, clause.last)


def _item(words: str, start: int, end: int, combined: bool = False) -> Found | None:
    """Return the statement of a verb with its object, which may itself be an efficacy."""
    bare = pattern("use-verb").sub("", words)
    cut = len(words) - len(bare)
    efficacy = not cut or pattern("efficacy").match(bare)
    relation = kinds.EFFICACY if efficacy else kinds.RELIEVES
    return statement(relation, bare, start + cut, end, combined)
