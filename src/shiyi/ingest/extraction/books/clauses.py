"""A clause of an entry, what is known where it stands, and what it says that its subject does."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.patterns import correct_miscodings, pattern, phrase
from shiyi.ingest.extraction.books.sections import HARMS, STRICT, USES, Block
from shiyi.ingest.extraction.books.vocabulary import (
    Phrase,
    is_of_words,
    materials,
    names_state,
    parse_phrase,
)

GAP = "，、。, \ue000\ue003"
WEAK = "weak"  # a list that another remark interrupts
_MARKS = re.compile(r"[，、。；,∶：\s\ue000-\ue003\n]")
_NEXT = re.compile(r"[，。；]")


@dataclass(slots=True)
class State:
    """What is known of an entry so far: its part in question, and what its lists state."""

    block: Block
    title: str = ""
    dotted: bool = False  # whether this edition sets a full stop after each clause
    part: str = ""
    aside: str = ""  # the part that comments on the whole entry follow
    doubtful: bool = False  # whether what is spoken of is only mentioned, or not known
    listing: str = ""  # the relation that the items of a list state
    harmful: bool = False  # what follows is harm
    argues: bool = False  # the sentence gives reasons
    since: int = 0  # sentences since it has been spoken of
    combined: bool = False  # the sentence speaks of the subject with another drug
    seen: set[str] = field(default_factory=set)  # relations read in this entry

    def turn(self, part: str, doubtful: bool = False) -> None:
        """Speak of a part, or of another thing, from here on."""
        self.part, self.doubtful, self.since = part, doubtful, 0

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
    text: str = field(init=False, repr=False)  # of the block
    words: str = field(init=False)  # the clause itself

    def __post_init__(self) -> None:
        text = self.state.block.text.text
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "words", text[self.first : self.last])

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

    def is_damaged(self, start: int, end: int) -> bool:
        """Return whether a character was lost beside a span: a blank stands in its place."""
        return " " in self.text[max(0, start - 1) : end + 1].strip("\n")

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
class Parse:
    """The statements of a clause; ``until`` is where they end, at its end or after it."""

    until: int
    items: list[Item] = field(default_factory=list)


Reader = Callable[[Clause], Parse | None]


def read_first(readers: tuple[Reader, ...], clause: Clause) -> Parse | None:
    """Return what the first reader finds that has anything to do with a clause."""
    return next((parse for reader in readers if (parse := reader(clause)) is not None), None)


def clean(words: str) -> str:
    """Return words without marks, and with the miscodings of the corpus put right."""
    return correct_miscodings(_MARKS.sub("", words))


def caution(clause: Clause, words: str = "") -> Parse:
    """Return a caution of the subject for ``words``, or of eating it at all."""
    item = Item(
        kinds.CAUTION, clean(words) if words else phrase("eaten"), clause.first, clause.last
    )
    return Parse(clause.last, [item])


_ANY = re.compile(r"[，、。；\ue000∶]")
_LISTED = re.compile(r"、[^，。；]")
_FEW = 12  # characters between a helper of a recipe and what both do


def actions(clause: Clause) -> Parse | None:
    """Read what it does and what it is used for; an item of a list goes on with its relation."""
    state = clause.state
    listed = not state.listing and _LISTED.match(clause.after)  # one of those that a ban names
    if state.harmful or (listed and pattern("ban").search(_NEXT.split(clause.after[1:])[0])):
        return Parse(clause.last)
    if pattern("described-kind").search(clause.words) and not pattern("cued").match(clause.words):
        return None
    bare = pattern("tail").sub("", clause.words)
    if 1 < len(bare) < len(clause.words):
        clause = replace(clause, last=clause.first + len(bare))
    if pattern("topic").match(clause.words) and not pattern("served-so").search(
        clause.text, clause.first, clause.first + _TOPIC
    ):
        state.listing = ""
    if state.listing and pattern("only-properties").match(clause.words):
        state.listing = ""
        return Parse(clause.last)
    if state.block.mode == HARMS:
        return None
    readers = (_recipe, _apply_readers, _able, _reader("remedy"), _acts, _reader("preparation"))
    if (parse := read_first(readers, clause)) is not None:
        return parse
    goes_on = state.listing == kinds.RELIEVES and len(clause.words) <= _SHORTEST_LIST
    state.listing = WEAK if goes_on or (state.listing and state.dotted) else ""
    return None


_TOPIC = 60  # characters within which a sentence states that its first states are treated


def _item(clause: Clause, words: str, start: int, end: int, combined: bool = False) -> Parse | None:
    """Return the statement of words at ``start`` that name an action or a complaint."""
    if pattern("not-act").match(words) or pattern("eating").fullmatch(words):
        return None
    use = pattern("use-verb").match(words)
    cut = use.end() if use else 0
    bare = pattern("tail").sub("", words[cut:])
    treated = use is not None and pattern("treats").match(words) is not None
    kind = parse_phrase(clean(bare), treated)
    if use or kind is Phrase.COMPLAINT:
        clause.state.listing = kinds.RELIEVES
    ill = pattern("of-illness").search(clause.text, start, end + 2) or (
        treated and pattern("mixed-use").search(bare)
    )
    head = pattern("list-head").match(clause.text, end)  # of what is acted on, behind a list
    mixed = kind is Phrase.ACTION and (ill or (head and not bare.endswith(head["head"])))
    mixed = mixed or (kind is Phrase.COMPLAINT and _is_fused(clean(bare)))
    if clause.is_damaged(start, end) or mixed or (use and kind is None):
        return Parse(end)
    if kind is None:
        return None
    relation = kinds.EFFICACY if kind is Phrase.ACTION else kinds.RELIEVES
    if relation == kinds.RELIEVES and clause.state.title and clause.state.title in bare:
        return None  # the harm that the thing itself does
    combined = combined or clause.state.combined or _is_made_with(clause)
    return Parse(end, [Item(relation, clean(bare), start + cut, end, combined)])


def _is_fused(words: str) -> bool:
    """Return whether a complaint and an action after it stand together without a mark."""
    return any(
        pattern("use-joined").match(words, at)
        and parse_phrase(words[at:]) is Phrase.ACTION
        and parse_phrase(words[:at]) is Phrase.COMPLAINT
        for at in range(1, len(words) - 1)
    )


def _acts(clause: Clause) -> Parse | None:
    """Read a use, an action, or a complaint of a list; in a commentary only after a cue."""
    state = clause.state
    lead = pattern("lead-act").match(clause.words)
    at = lead.end() if lead else 0
    match = pattern("lead-eaten").match(clause.words, at)
    at = match.end() if match else at
    words = clause.words[at:]
    if pattern("prepared-for").match(clause.text[clause.last :]):
        return Parse(clause.last)
    use = pattern("use-verb").match(words)
    cued = bool(use or pattern("cued").match(clause.words))
    if not (not state.argues or cued or state.listing):
        return None
    complains = not use and parse_phrase(clean(words)) is Phrase.COMPLAINT
    defined = state.block.mode == STRICT and pattern("defined").search(clause.words)
    if complains and (match or not _continues_list(clause) or defined):
        return None
    if complains and pattern("explained").search(clause.text, 0, clause.first):
        return None
    if not (use or state.listing) and pattern("harm").match(words):
        return None
    if not use and pattern("whom").match(clause.text, clause.last) and _is_warned(clause):
        return Parse(clause.last)
    if pattern("unborn").search(words) and pattern("unborn-warned").match(clause.after):
        return Parse(clause.last)
    if state.listing == WEAK and not cued and len(words) > _SHORTEST_LIST:
        return None
    parse = _item(clause, words, clause.first + at, clause.last)
    if parse and cued and not state.listing:
        state.listing = kinds.EFFICACY
    return parse


_SHORTEST_LIST = 8


def _is_made_with(clause: Clause) -> bool:
    """Return whether the sentence lists other drugs before, or makes it up with one after."""
    title = clause.state.title
    if _drugs(clause.before, title + clause.state.part):
        return True
    pieces = PIECE.findall(clause.before)
    before = [piece for piece in pieces if begins_material(piece, title)]
    matches = (pattern("takes").match(piece) for piece in pieces)
    if any(match and begins_material(match.string[match.end() :], title) for match in matches):
        return True
    if clause.first == clause.start and begins_material(clause.following, title):
        return True
    if any(pattern("with-another").match(piece) for piece in pieces):
        return True
    needed = pattern("needed").search(clause.after)
    if needed and begins_material(clause.after[needed.end() :], title):
        return True
    after = clause.after[:_WAY]
    made = pattern("made-with").search(after) is not None and _drugs(after, title) > 0
    if len(before) > 1 or made or pattern("led-by").search(clause.before):
        return True
    last = "".join(PIECE.findall(clause.before)[-1:])
    if any(begins_material(last[mix.end() :], title) for mix in pattern("mixed").finditer(last)):
        clause.state.combined = True
        return True
    if (joins := pattern("joins-after").match(clause.after)) and begins_material(
        clause.after[joins.end() :], title
    ):
        return True
    end = len(clause.text) if clause.state.dotted else clause.end
    text = clause.text[clause.last : min(end, clause.last + _LIST)]
    return _drugs(pattern("against-begins").split(text)[0], title) > _WITH_IT


_LIST = 36  # characters after a use in which drugs are counted
_WITH_IT = 2  # drugs that may be named there for another reason


def _drugs(words: str, title: str) -> int:
    """Return how many materials words name one after another, but for that of the title."""
    results, at = set[str](), 0
    while at < len(words):
        named = (words[at : at + size] for size in (4, 3, 2))
        size = next((len(e) for e in named if e in materials() and not is_of_words(e)), 0)
        if size and words[at : at + size] not in title:
            results.add(words[at : at + size])
        at += size or 1
    return len(results)


def _continues_list(clause: Clause) -> bool:
    """Return whether a complaint without a verb is one of those that the entry lists."""
    state = clause.state
    harms = clause.first == clause.start and pattern("harm").match(clause.following)
    if harms or _is_warned(clause) or pattern("not-caused").match(clause.text, clause.last):
        return False
    if state.listing in (kinds.RELIEVES, WEAK) or pattern("able-next").match(clause.following):
        return True
    if state.block.mode == USES and not state.listing:
        return True
    if (
        state.block.mode == STRICT
        or state.dotted
        or not state.seen & {kinds.EFFICACY, kinds.RELIEVES}
    ):
        return False
    before = PIECE.findall(clause.before)
    warns = any(pattern("ban").search(item) for item in PIECE.findall(clause.after))
    text = not before or parse_phrase(clean(pattern("use-verb").sub("", before[-1])))
    return bool(text) and not warns and not state.argues


def _is_warned(clause: Clause) -> bool:
    """Return whether the clause is one of the states that a ban after them names."""
    text = clause.text
    end = len(text) if clause.state.dotted else clause.end
    ends = (pattern(name).match(text, clause.last, end) for name in ("whom", "listed-whom"))
    match = next(filter(None, ends), None)
    frail = pattern("frail").search(clause.words)
    for each in PIECE.finditer(text, match.end() if match else clause.last, end):
        if pattern("ban").match(each[0]) or (match and pattern("harmed-next").match(each[0])):
            return True
        if frail and pattern("also-frail").match(each[0]) and not pattern("ban").search(each[0]):
            continue
        bare = pattern("of-whom").sub("", each[0])
        if bare != each[0] and clause.state.listing == kinds.RELIEVES and not (match or frail):
            return False  # the ban may name its own state alone
        if not names_state(clean(pattern("lead").sub("", bare))):
            other = match and not pattern("also-named").match(each[0])
            banned = pattern("ban").search(each[0]) is not None
            own = pattern("of-whom").search(pattern("ban").split(each[0])[0])
            if own and clause.state.dotted and clause.state.listing and not frail:
                return False
            return banned and not other and not parse_phrase(clean(each[0]))
    return False


def _recipe(clause: Clause) -> Parse | None:
    """Read what it does together with another drug."""
    whole = pattern("recipe").match(clause.words)
    match = whole or pattern("recipe").match(clause.here)
    if match is None or not (whole or len(match["list"]) <= _FEW):
        return None
    named = any(map(begins_material, pattern("ward-list").split(match["list"])))
    if not named and not pattern("with-another").match(clause.words):
        return None
    clause.state.combined = True
    return _of(clause, match, combined=True)


def begins_material(words: str, title: str = "") -> bool:
    """Return whether words begin with a material that is not named in ``title``."""
    names = (words[:size] for size in (5, 4, 3, 2))
    return any(name in materials() and name not in title for name in names)


def _reader(name: str) -> Reader:
    """Return what reads what a pattern of a clause says it acts on."""
    return lambda clause: _of(clause, pattern(name).match(clause.words))


def _apply_readers(clause: Clause) -> Parse | None:
    match = pattern("applied").match(clause.words)
    treated = match and parse_phrase(clean(match["what"])) is Phrase.COMPLAINT
    return _of(clause, match) if treated else None


def _of(clause: Clause, match: re.Match[str] | None, combined: bool = False) -> Parse | None:
    """Return the statement of what a pattern found that it acts on, or is put on."""
    if match is None:
        return None
    start, words = clause.first + match.start("what"), match["what"]
    if put := pattern("applied").match(words):
        start, words = start + put.start("what"), put["what"]
    return _item(clause, words, start, clause.first + match.end(), combined)


def _able(clause: Clause) -> Parse | None:
    """Read a use that names its complaint before the verb."""
    match = pattern("able").match(_ANY.split(clause.here, maxsplit=1)[0])
    if match is None:
        return None
    words = pattern("able-lead").sub("", match["what"])
    if parse_phrase(clean(words)) is not Phrase.COMPLAINT:
        return None
    end = clause.first + match.end("what")
    return _item(clause, words, end - len(words), clause.first + match.end())


_WAY = 24  # characters in which a way to take it names what else it takes
PIECE = re.compile(r"[^，、。；\ue000]+")
