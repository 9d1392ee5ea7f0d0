"""Reads whom the subject of an entry harms, and what it is not to be taken together with."""

import re
from collections.abc import Iterator

from shiyi.ingest.extraction.books import clauses
from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.patterns import pattern, phrase
from shiyi.ingest.extraction.books.sections import HARMS, NOTE, USES
from shiyi.ingest.extraction.books.vocabulary import (
    Phrase,
    is_sign,
    materials,
    names_material,
    names_state,
    parse_phrase,
)

_PIECE = re.compile(r"[^，、\ue000]+")
_JOINED = re.compile(r"(?:[^，、\ue000]+、)+\Z")
_NOT_AND = re.compile(r"[^，、\ue000 ]+")
_LONGEST = 8  # characters of a state that stands before a warning
_SHORT = 8  # characters of a name
Piece = tuple[str, int, int]


def restrictions(clause: clauses.Clause) -> clauses.Parse | None:
    """Read for whom it is forbidden or to be used with care, and what it harms."""
    readers = (_amount, _kind, _ban, _read_excess, _read_takers, _harm_goes_on, _harm)
    return clauses.read_first(readers, clause)


def _amount(clause: clauses.Clause) -> clauses.Parse | None:
    match = pattern("amount").match(clause.words)
    if match is None:
        return None
    who = _people(clause)
    clause.state.harms()
    return clauses.caution(clause, who or _manner_text(match["how"]))


def _manner_text(how: str) -> str:
    return how if len(how) > 1 else how + phrase("eat")


def _kind(clause: clauses.Clause) -> clauses.Parse | None:
    """Read which kind of the subject does harm: those with two kernels."""
    match = pattern("kind-harms").match(clause.here)
    who = pattern("lead").sub("", match["who"]) if match else ""
    if not who or any(pattern(name).search(who) for name in ("ban", "eating", "use-verb", "harm")):
        return None
    person = names_state(clauses.clean(pattern("person").sub("", who)))
    if match is None or person or clauses.begins_material(who, clause.state.title):
        return None
    clause.state.harms()
    until = clause.first + match.end("who")
    item = clauses.Item(kinds.CAUTION, clauses.clean(who), clause.first, until)
    return clauses.Parse(clause.last, [item])


def _people(clause: clauses.Clause) -> str:
    """Return the state of a person before a warning of too much, if that is what stands there."""
    name = pattern("lead").sub("", clause.before)
    if name.count("，") == 1:
        name = pattern("lead").sub("", name.split("，", 1)[1])
    searched = ("ban", "eating")
    if any(pattern(each).search(name) for each in searched) or "，" in name:
        return ""
    others = ("only-properties", "use-verb")
    if any(pattern(each).match(name) for each in others) or len(name) > _LONGEST:
        return ""
    if pattern("harm").match(name) and not pattern("of-person").search(name):
        return ""
    return name if names_state(pattern("person").sub("", clauses.clean(name))) else ""


def _find_warned(clause: clauses.Clause, words: str) -> list[tuple[str, int]]:
    """Return who is warned: of this clause, or of the clauses before it in the sentence."""
    bare = pattern("lead").sub("", words)
    before = clause.text[clause.start : clause.first]
    if bare and not pattern("whole-ban").match(bare):
        match = _JOINED.search(before)
        at = clause.start + (match.start() if match else 0)
        matches = _PIECE.finditer(match[0] if match else "")
        named = [(bare, clause.first), *((each[0], at + each.start()) for each in matches)]
        return named if match else named + _states_before(clause)
    return _states_before(clause)


def _states_before(clause: clauses.Clause) -> list[tuple[str, int]]:
    """Return the states of the clauses before, as far as a ban may name them too."""
    results: list[tuple[str, int]] = []
    start = 0 if clause.state.dotted else clause.start
    for match in reversed(list(clauses.PIECE.finditer(clause.text, start, clause.first))):
        name = _person(match[0])
        if (clause.state.listing or clause.state.dotted) and not _is_of_ban(clause, match, results):
            return results  # what it is used for
        harms = pattern("harm").match(pattern("lead").sub("", match[0])) or not name
        if harms or not (pattern("of-person").search(match[0]) or is_sign(clauses.clean(name))):
            listed = parse_phrase(clauses.clean(match[0])) or pattern("use-verb").match(match[0])
            return [] if clause.state.dotted and listed else results  # may end the list before
        results.append((match[0], match.start()))
    return results


def _is_of_ban(clause: clauses.Clause, state: re.Match[str], found: list[tuple[str, int]]) -> bool:
    """Return whether a ban names a state before it, which may belong to a list of uses."""
    if pattern("of-whom").search(state[0]) and clause.state.block.mode != HARMS:
        head = pattern("ban").split(clause.words)[0]
        own = pattern("of-whom").search(head) and not pattern("also-named").match(head)
        return not own and not (clause.state.listing and found)
    if not clause.state.listing:
        return True
    noted = NOTE in clause.text[state.end() : clause.first]
    return not noted and pattern("frail").search(state[0]) is not None


def _ban(clause: clauses.Clause) -> clauses.Parse | None:
    ban = pattern("ban").search(clause.words)
    if ban is None:
        return None
    if pattern("excepted").match(clause.following) or pattern("bans-another").search(clause.words):
        return clauses.Parse(clause.last)
    head = clause.words[: ban.start()]
    who = _find_warned(clause, head)
    led = (pattern("condition-led").match(words) for words in (head, *(words for words, _ in who)))
    others = (clauses.begins_material(head[at:], clause.state.title) for at in range(len(head)))
    if any(led) or any(others):
        return clauses.Parse(clause.last)  # of a state beside another, or of another material
    clause.state.listing = ""
    if pattern("eating").match(clause.words) and not pattern("of-person").search(head):
        return None
    mild = pattern("mild").search(ban["how"] + ban["verb"])
    relation = kinds.CAUTION if mild else kinds.CONTRAINDICATED
    items = [
        clauses.Item(relation, clauses.clean(name), at, clause.last)
        for words, at in who
        if (name := _person(words))
    ]
    if items:
        clause.state.harmful = True
        return clauses.Parse(clause.last, items)
    return clauses.Parse(clause.last) if not head or pattern("no-person").search(head) else None


def _person(words: str) -> str:
    """Return the state that words name, and nothing where they name none."""
    bare = pattern("person").sub("", pattern("lead").sub("", words))
    acts = parse_phrase(clauses.clean(words)) is Phrase.ACTION or pattern("use-verb").match(words)
    if acts and not pattern("of-person").search(words):
        return ""
    return bare if names_state(clauses.clean(bare)) else ""


def _read_excess(clause: clauses.Clause) -> clauses.Parse | None:
    """Read the harm of eating much, long, raw or hot."""
    state, match = clause.state, pattern("eating").search(clause.words)
    if match is None:
        return None
    how = match["how"]
    rest = clause.text[clause.first + match.end() : clause.end]
    if joint := pattern("taken-words").match(rest):
        rest = rest[joint.end() :]
    goes_on = rest[:1] not in {"", *clauses.GAP} and not pattern("harm").match(rest)
    if goes_on and pattern("used-otherwise").match(how):
        return None  # much is used of something else, or it is what is raw that harms
    if not rest and match[0] == clause.words and not clause.state.dotted:
        return None
    if not rest and clause.state.dotted:
        rest = clause.text[clause.end : clause.end + 24].lstrip("。" + clauses.GAP)
    if clauses.begins_material(rest):
        return clauses.Parse(clause.last)  # a part of it, or what it is eaten with
    mild = pattern("often").match(how) and not pattern("ill-after").search(rest)
    if state.block.mode != HARMS and (mild or _benefits(rest)):
        return None
    if not (pattern("harm").match(rest) or state.block.mode == HARMS) and (
        not pattern("too-much").match(how) or pattern("benefit").match(rest)
    ):
        return None
    who = _people(clause)
    clause.state.harms()
    return clauses.caution(clause, who or _manner_text(pattern("taken-words").sub("", how)))


def _benefits(words: str) -> bool:
    """Return whether the first clause of words says what does good."""
    first = next(iter(_PIECE.findall(words)), "")
    bare = pattern("lead-eaten").sub("", pattern("lead-act").sub("", first))
    return parse_phrase(clauses.clean(bare)) is Phrase.ACTION


def _read_takers(clause: clauses.Clause) -> clauses.Parse | None:
    match = pattern("taken").match(clause.words)
    after = (match["rest"] + clause.after).lstrip(clauses.GAP) if match else ""
    if match is None or not (pattern("harm").match(after) or clause.state.block.mode == HARMS):
        return None
    clause.state.harms()
    name = pattern("person").sub("", pattern("lead").sub("", match["who"]))
    if names_state(clauses.clean(name)):
        return clauses.caution(clause, name)
    return clauses.Parse(clause.last)


def _harm_goes_on(clause: clauses.Clause) -> clauses.Parse | None:
    """Pass over what is still harm; a clause that begins with a cue ends it."""
    state = clause.state
    if not state.harmful:
        return None
    begins = (state.dotted and clause.first == clause.start) or pattern("cued").match(clause.words)
    match = pattern("preparation").match(clause.words)
    what = clauses.clean(pattern("use-verb").sub("", match["what"])) if match else ""
    remedy = parse_phrase(what, treated=True) is Phrase.COMPLAINT
    if (begins or remedy) and not pattern("harm").match(clause.words):
        state.harmful = False
        return None
    return clauses.Parse(clause.last)


def _harm(clause: clauses.Clause) -> clauses.Parse | None:
    """Read harm without condition; a clause of whom the next one warns is passed over."""
    words, listing = clause.words, clause.state.listing
    if pattern("amount").match(clause.following) or (
        pattern("ban").match(clause.following) and names_state(clauses.clean(words))
    ):
        return clauses.Parse(clause.last)
    if pattern("ban-reason").match(words) and pattern("ban").search(clause.before):
        return clauses.Parse(clause.last)
    if pattern("harm-inside").search(words) and not listing:
        return clauses.Parse(clause.last)
    if not pattern("harm").match(words) or (listing and not pattern("harm-in-list").match(words)):
        return None
    if not pattern("strong-harm").match(words):
        known = parse_phrase(clauses.clean(words)) and not pattern("harm-in-list").match(words)
        return None if known else clauses.Parse(clause.last)
    clause.state.harmful = True
    end = clause.end + (_NEAR if clause.state.dotted else 0)
    around = clause.text[max(0, clause.start - _NEAR) : end]
    surely = pattern("sure-harm").match(words) or (clause.first == 0 and not clause.state.seen)
    if clause.state.block.mode == USES or (not surely and pattern("harm-if").search(around)):
        return clauses.Parse(clause.last)  # harm of how, when or with what it is eaten
    return clauses.caution(clause)


_NEAR = 16  # characters


def _names(words: str) -> Iterator[Piece]:
    at = 0
    for piece in pattern("ward-list").split(words):
        where = words.find(piece, at)
        at = where + len(piece)
        if piece.strip():
            yield piece.strip(), where, at


def incompatibilities(clause: clauses.Clause) -> clauses.Parse | None:
    """Read what is not to be taken together with the subject."""
    return clauses.read_first((_eaten_with, _harmful_with, _averse, _read_taking), clause)


def _are_materials(names: list[Piece]) -> bool:
    """Return whether names after a verb are of things, at least one of them known."""
    words = [clauses.clean(name) for name, _, _ in names]
    return any(_is_material(word) for word in words) and not any(
        parse_phrase(word) and not _is_material(word) for word in words
    )


def _is_material(words: str) -> bool:
    if animal := pattern("animal").match(words):
        rest = words[animal.end() :]
        return not rest or names_material(words) or pattern("_part-end").fullmatch(rest) is not None
    return names_material(words) or words[1:] in materials() or words[2:] in materials()


def _pairs(
    clause: clauses.Clause, match: re.Match[str], names: list[Piece], until: int
) -> clauses.Parse | None:
    if not _are_materials(names):
        return None
    items = [
        clauses.Item(
            kinds.INCOMPATIBLE,
            clauses.clean(name),
            clause.first,
            max(until, clause.first + match.start("list") + end),
        )
        for name, _, end in names
        if 0 < len(clauses.clean(name)) <= _SHORT
    ]
    return clauses.Parse(max(clause.last, until), items)


def _eaten_with(clause: clauses.Clause) -> clauses.Parse | None:
    match = pattern("not-with").match(clause.here) or pattern("opposed").match(clause.here)
    if match is None:
        return None
    clause.state.harms()
    return _pairs(clause, match, list(_names(match["list"])), clause.first + match.end())


def _harmful_with(clause: clauses.Clause) -> clauses.Parse | None:
    match = pattern("with-harm").match(clause.here)
    if match is None:
        return None
    first, final = match["rest"].lstrip(clauses.GAP), match["rest"].split("，")[-1]
    if not (pattern("harm").match(first) or pattern("harm").match(final)):
        return None
    clause.state.harms()
    return _pairs(clause, match, list(_names(match["list"])), clause.end)


def _averse(clause: clauses.Clause) -> clauses.Parse | None:
    match = pattern("against").match(clause.here)
    named = list(_against(match["list"])) if match else []
    if match is None or not _are_materials([(name, at, end) for name, at, end, _ in named]):
        return None
    first = clause.first + match.start("list")
    items = [
        clauses.Item(
            kinds.INCOMPATIBLE,
            clauses.clean(name),
            first + verb if verb >= 0 else clause.first,
            first + end,
        )
        for name, _, end, verb in named
        if 0 < len(clauses.clean(name)) <= _SHORT
        and not clause.is_damaged(first + end, first + end)
    ]
    return clauses.Parse(max(clause.last, first + named[-1][2]), items)


def _read_taking(clause: clauses.Clause) -> clauses.Parse | None:
    """Read that those who take a thing are to avoid the subject."""
    match = pattern("taking").match(clause.here)
    if match is None:
        return None
    until = clause.first + match.end()
    person = pattern("ban-words").sub("", match[0])
    items = [clauses.Item(kinds.CONTRAINDICATED, clauses.clean(person), clause.first, until)]
    if not pattern("and-so-on").search(match["list"]):
        bare = pattern("generic-taken").sub("", match["list"])
        items += [
            clauses.Item(kinds.INCOMPATIBLE, clauses.clean(name), clause.first, until)
            for name, _, _ in _names(bare)
        ]
    return clauses.Parse(max(clause.last, until), items)


def _against(words: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield the names after a verb with their places and that of their verb, -1 for the first.

    After a comma a name is short.
    """
    listed, verb = False, -1
    for match in _NOT_AND.finditer(words):
        piece = match[0].strip()
        again = pattern("against-again").match(piece)
        if again:
            piece, verb = piece[again.end() :], match.start()
        comma = match.start() and words[match.start() - 1] in "，\ue000"
        if comma and not again and (len(piece) > 4 or parse_phrase(piece) is Phrase.ACTION):
            return
        if pattern("against-stops").match(piece):
            return
        if pattern("against-ends").search(piece):  # no name, or more than one
            trims = pattern("against-trims").search(piece)
            piece = pattern("against-ends").sub("", piece) if trims else ""
        if not piece and not listed:
            return
        if 0 < len(piece) <= _SHORT + 1:
            listed = True
            yield piece, match.start(), match.end(), verb
