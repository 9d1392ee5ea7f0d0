"""Reads an entry of materia medica clause by clause."""

import re
from collections.abc import Iterator
from dataclasses import replace

from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.clauses import (
    GAP,
    Clause,
    Found,
    Item,
    State,
    actions,
    caution,
    clean,
    first_found,
)
from shiyi.ingest.extraction.books.patterns import pattern, phrase
from shiyi.ingest.extraction.books.sections import FULL, SKIP, STRICT, blocks
from shiyi.ingest.extraction.books.statement import BookStatement

_SENTENCE = re.compile(r"[^。；！？\n]+[。；！？]?")
_CLAUSE = re.compile(r"[^，、∶：:,\s\ue000-\ue002。；！？“”「」]+")
_DENIABLE = frozenset({kinds.EFFICACY, kinds.RELIEVES, kinds.NATURE})


_GROUPS = ((kinds.TOXICITY, "tox"), (kinds.NATURE, "nature"), (kinds.FLAVOUR, "flavour"))


def _run(text: str, at: int) -> Iterator[tuple[str, str, int]]:
    """Yield what a run of properties states; it may go on over full stops."""
    while token := pattern("token").match(text, at):
        for name, group in _GROUPS:
            if token[group]:
                yield name, token[group], token.end()
        at = token.end()


def _label(clause: Clause) -> int | None:
    """Return where the properties begin after their label or speaker; -1 where none is meant."""
    if match := pattern("named").match(clause.here):
        used = pattern("use").match(clause.here) and match["name"]
        return -1 if used else clause.first + match.end()
    match = pattern("speakers").match(clause.here)
    return clause.first + match.end() if match else None


def kinds_of_subject(clause: Clause) -> Found | None:
    """Read the nature of one kind of the subject, without label: that of the north is cool."""
    match = pattern("kinds").match(clause.words)
    if (
        match is None
        or clause.state.block.mode != FULL
        or clause.state.listing
        or pattern("not-kinds").search(match["name"])
    ):
        return None
    return Found(clause.last, [Item(kinds.NATURE, match["nature"], clause.first, clause.last)])


def toxicity(clause: Clause) -> Found | None:
    """Read toxicity that a clause states alone."""
    match = pattern("toxic").match(clause.words)
    if match is None or pattern("token").match(clause.words):
        return None
    return Found(clause.last, [Item(kinds.TOXICITY, match["tox"], clause.first, clause.last)])


def properties(clause: Clause) -> Found | None:
    """Read natures, flavours and toxicity: with their labels, or bare where a sentence begins."""
    state, at = clause.state, _label(clause)
    seen = {kinds.NATURE, kinds.FLAVOUR} & state.seen
    if at == -1 or (at is None and not clause.opens and not seen):
        return None
    results = list(_run(clause.text, clause.first if at is None else at))
    if not results or (at is None and not _stands_bare(clause, results, not seen)):
        return None
    until = results[-1][2]
    items = [
        Item(name, pattern("sweet").sub(phrase("sweet"), word), clause.first, until)
        for name, word, _ in results
    ]
    found = Found(until, items)
    if until < clause.last and (more := channels(clause.rest(until))):
        found.items += more.items
        found.until = more.until
    return found


def _stands_bare(clause: Clause, results: list[tuple[str, str, int]], first: bool) -> bool:
    """Return whether properties without a label are those of the subject."""
    state = clause.state
    if not pattern("bare-follows").match(clause.text[results[-1][2] :]):
        return False
    if state.listing and not (clause.opens and state.dotted):
        return False
    several = len({name for name, _, _ in results}) > 1
    return several or bool(state.part) or (first and clause.first == 0)


def channels(clause: Clause) -> Found | None:
    """Read the channels that a clause says are entered; what follows them is read again."""
    match = pattern("channels").match(clause.text, clause.first, clause.end)
    if not match:
        return None
    items = [
        Item(kinds.CHANNEL, each[0], clause.first, match.end())
        for each in pattern("channel").finditer(match["list"])
    ]
    found = Found(max(match.end(), clause.last), items)
    clause.state.listing = clause.state.listing or kinds.EFFICACY
    rest = clause.rest(match.end())
    if len(rest.words) > 1 and (more := actions(rest)):
        found.items += more.items
    return found


_NOT_AND = re.compile(r"[^，、\ue000 ]+")
_PIECE = re.compile(r"[^，、\ue000]+")
_JOINED = re.compile(r"(?:[^，、\ue000]+、)+\Z")
_LONGEST = 14  # characters of a state that is named
_SHORT = 8  # characters of a name
Piece = tuple[str, int, int]


def _names(words: str) -> Iterator[Piece]:
    at = 0
    for piece in pattern("ward-list").split(words):
        where = words.find(piece, at)
        at = where + len(piece)
        if piece.strip():
            yield piece.strip(), where, at


def incompatibilities(clause: Clause) -> Found | None:
    """Read what is not to be taken together with the subject."""
    return first_found((_eaten_with, _harmful_with, _averse, _taking), clause)


def _pairs(clause: Clause, match: re.Match[str], names: list[Piece], until: int) -> Found:
    items = [
        Item(
            kinds.INCOMPATIBLE,
            clean(name),
            clause.first,
            max(until, clause.first + match.start("list") + end),
        )
        for name, _, end in names
        if 0 < len(clean(name)) <= _SHORT
    ]
    return Found(max(clause.last, until), items)


def _eaten_with(clause: Clause) -> Found | None:
    match = pattern("not-with").match(clause.here) or pattern("opposed").match(clause.here)
    if match is None:
        return None
    clause.state.harms()
    return _pairs(clause, match, list(_names(match["list"])), clause.first + match.end())


def _harmful_with(clause: Clause) -> Found | None:
    match = pattern("with-harm").match(clause.here)
    if match is None:
        return None
    first, final = match["rest"].lstrip(GAP), match["rest"].split("，")[-1]
    if not (pattern("harm").match(first) or pattern("harm").match(final)):
        return None
    clause.state.harms()
    return _pairs(clause, match, list(_names(match["list"])), clause.end)


def _averse(clause: Clause) -> Found | None:
    match = pattern("against").match(clause.here)
    names = list(_against(match["list"])) if match else []
    if match is None or not names:
        return None
    return _pairs(clause, match, names, clause.first + match.start("list") + names[-1][2])


def _taking(clause: Clause) -> Found | None:
    """Read that those who take a thing are to avoid the subject."""
    match = pattern("taking").match(clause.here)
    if match is None:
        return None
    until = clause.first + match.end()
    person = pattern("ban-words").sub("", match[0])
    items = [Item(kinds.CONTRAINDICATED, clean(person), clause.first, until)]
    if not pattern("and-so-on").search(match["list"]):
        bare = pattern("generic-taken").sub("", match["list"])
        items += [
            Item(kinds.INCOMPATIBLE, clean(name), clause.first, until)
            for name, _, _ in _names(bare)
        ]
    return Found(max(clause.last, until), items)


def _against(words: str) -> Iterator[Piece]:
    """Yield the names after a verb; after a comma a name is short."""
    listed = False
    for match in _NOT_AND.finditer(words):
        piece = match[0].strip()
        again = pattern("against-again").match(piece)
        if again:
            piece = piece[again.end() :]
        comma = match.start() and words[match.start() - 1] in "，\ue000"
        if comma and not again and (len(piece) > 4 or pattern("efficacy").match(piece)):
            return
        piece = _trimmed(piece)
        if not piece and not listed:
            return
        if 0 < len(piece) <= _SHORT + 1:
            listed = True
            yield piece, match.start(), match.end()


def _trimmed(piece: str) -> str:
    """Return a name without what ends it, and nothing for what is no name."""
    if not pattern("against-ends").search(piece):
        return piece
    return pattern("against-ends").sub("", piece) if pattern("against-trims").search(piece) else ""


def restrictions(clause: Clause) -> Found | None:
    """Read for whom it is forbidden or to be used with care, and what it harms."""
    readers = (_amount, _ban, _eaten, _harmed_kind, _served, _taken_by, _harm_goes_on, _harm)
    return first_found(readers, clause)


def _amount(clause: Clause) -> Found | None:
    match = pattern("amount").match(clause.words)
    if match is None:
        return None
    who = _people(clause)
    clause.state.harms()
    return caution(clause, who or _whole(match["how"]))


def _whole(how: str) -> str:
    return how if len(how) > 1 else how + phrase("eat")


def _people(clause: Clause) -> str:
    """Return the state of a person before a warning of too much, if that is what stands there."""
    name = pattern("lead").sub("", clause.before)
    if name.count("，") == 1:
        name = pattern("lead").sub("", name.split("，", 1)[1])
    searched = ("ban", "eating")
    if any(pattern(each).search(name) for each in searched) or "，" in name:
        return ""
    others = ("only-properties", "harmed-kind", "efficacy", "use")
    if any(pattern(each).match(name) for each in others) or len(name) > _SHORT:
        return ""
    return name if pattern("complaint").search(name) else ""


def _who(clause: Clause, words: str) -> list[tuple[str, int]]:
    """Return who is warned: of this clause, or of the clauses before it in the sentence."""
    bare = pattern("lead").sub("", words)
    before = clause.text[clause.start : clause.first]
    if bare and not pattern("whole-ban").match(bare):
        joined = _JOINED.search(before)
        at = clause.start + (joined.start() if joined else 0)
        listed = _PIECE.finditer(joined[0] if joined else "")
        return [(bare, clause.first), *((each[0], at + each.start()) for each in listed)]
    if clause.state.dotted and not clause.before:  # a full stop stands for a comma
        head = clause.text[: clause.start].rstrip("。" + GAP)
        cut = max(head.rfind(mark) for mark in "。；\n") + 1
        return [(head[cut:], cut)] if pattern("of-person").search(head) else []
    return [(each[0], clause.start + each.start()) for each in _PIECE.finditer(before)]


def _ban(clause: Clause) -> Found | None:
    ban = pattern("ban").search(clause.words)
    if ban is None:
        return None
    head = clause.words[: ban.start()]
    clause.state.listing = ""
    if pattern("eating").match(clause.words) and not pattern("of-person").search(head):
        return None
    mild = pattern("mild").search(ban["how"] + ban["verb"])
    relation = kinds.CAUTION if mild else kinds.CONTRAINDICATED
    items = [
        Item(relation, clean(name), at, clause.last)
        for words, at in _who(clause, head)
        if (name := _person(words))
    ]
    if items:
        clause.state.harmful = True
        return Found(clause.last, items)
    return Found(clause.last) if not head or pattern("no-person").search(head) else None


def _person(words: str) -> str:
    """Return the state that words name, and nothing where they name none."""
    shorn = pattern("lead").sub("", words)
    bare = pattern("person").sub("", shorn)
    name = next((each for each in (bare, shorn, words) if len(each) > 1), "")
    acts = pattern("efficacy").match(words) or pattern("use").match(words)
    if acts and not pattern("of-person").search(words):
        return ""
    return name if len(name) <= _LONGEST and not pattern("no-person").search(name) else ""


def _eaten(clause: Clause) -> Found | None:
    """Read the harm of eating much, long, raw or hot."""
    match = pattern("eating").search(clause.words)
    if match is None:
        return None
    how = match["how"]
    rest = clause.text[clause.first + match.end() : clause.end]
    if joint := pattern("taken-words").match(rest):
        rest = rest[joint.end() :]
    if not rest and match[0] == clause.words and not clause.state.dotted:
        return None
    if not rest and clause.state.dotted:
        rest = clause.text[clause.end : clause.end + 24].lstrip("。" + GAP)
    if not pattern("harm").match(rest) and (
        not pattern("too-much").match(how) or pattern("benefit").match(rest)
    ):
        return None
    who = _people(clause)
    clause.state.harms()
    return caution(clause, who or pattern("taken-words").sub("", _whole(how)))


def _harmed_kind(clause: Clause) -> Found | None:
    match = pattern("harmed-kind").match(clause.words)
    if match is None:
        return None
    clause.state.harms()
    name = pattern("lead").sub("", match["who"])
    return caution(clause, "" if pattern("no-person").search(name) else name)


def _served(clause: Clause) -> Found | None:
    """Read a person in this clause, and in the next what eating it does."""
    after = clause.after.lstrip(GAP)
    if (
        not pattern("of-person").search(clause.words)
        or not pattern("served").match(after)
        or pattern("able").match(clause.words + after)
    ):
        return None
    clause.state.harms()
    return caution(clause, pattern("lead").sub("", clause.words))


def _taken_by(clause: Clause) -> Found | None:
    match = pattern("taken").match(clause.words)
    if match is None or not pattern("harm").match((match["rest"] + clause.after).lstrip(GAP)):
        return None
    clause.state.harms()
    name = pattern("person").sub("", pattern("lead").sub("", match["who"]))
    if not name or pattern("no-person").search(name):
        return Found(clause.last)
    return caution(clause, name)


def _harm_goes_on(clause: Clause) -> Found | None:
    """Pass over what is still harm; a clause that begins with a cue ends it."""
    state = clause.state
    if not state.harmful:
        return None
    begins = (state.dotted and clause.opens) or pattern("cued").match(clause.words)
    if begins and not pattern("harm").match(clause.words):
        state.harmful = False
        return None
    return Found(clause.last)


def _harm(clause: Clause) -> Found | None:
    """Read harm without condition; a clause of whom the next one warns is passed over."""
    words, listing = clause.words, clause.state.listing
    if pattern("amount").match(clause.following) or (
        pattern("ban").match(clause.following) and pattern("complaint").search(words)
    ):
        return Found(clause.last)
    if pattern("harm-inside").search(words) and not listing:
        return Found(clause.last)
    if not pattern("harm").match(words) or (listing and not pattern("harm-in-list").match(words)):
        return None
    if not pattern("strong-harm").match(words):
        return Found(clause.last)
    clause.state.harmful = True
    return caution(clause)


_READERS = (
    properties, toxicity, kinds_of_subject, channels, incompatibilities, restrictions, actions,
)  # fmt: skip


def read_entry(raw: str, title: str = "", start: int = 0) -> tuple[BookStatement, ...]:
    """Return what an entry states, in the order of its text and each thing once.

    ``raw`` is the text of the entry as the book has it, ``start`` its place in the book.
    """
    results: dict[tuple[str, str, str, str], BookStatement] = {}
    dotted = raw.count("。") > 2 * raw.count("，")
    state: State | None = None
    for each in _of_title(raw, title, start):
        results[each.relation, each.object, "", each.polarity] = each
    for block in blocks(raw, start):
        if block.mode == SKIP:
            continue
        if state is None:
            state = State(block, title, dotted)
        if block.part != state.block.part or block.part:
            state.part = block.part
        state.block, state.harmful = block, False
        if not dotted or block.mode == STRICT:
            state.listing = ""
        for each in _read_block(state):
            shown = replace(each, reported=block.mode == STRICT)
            results.setdefault((each.relation, each.object, each.part, each.polarity), shown)
    return tuple(sorted(results.values(), key=lambda each: (each.start, each.end)))


def _of_title(raw: str, title: str, start: int) -> Iterator[BookStatement]:
    """Yield the nature that stands with the title."""
    at = raw.find(title)
    if at >= 0 and (nature := pattern("title-nature").search(title)):
        end = start + at + len(title)
        yield BookStatement(kinds.NATURE, nature["nature"], start + at, end)


def _read_block(state: State) -> Iterator[BookStatement]:
    for match in _SENTENCE.finditer(state.block.text.text):
        if not state.dotted:
            state.listing, state.harmful = "", False
        elif state.block.mode == STRICT and state.listing != kinds.EFFICACY:
            state.listing = ""
        yield from _read_sentence(state, match.start(), match.end())


def _read_sentence(state: State, start: int, end: int) -> Iterator[BookStatement]:
    text = state.block.text.text
    sentence = text[start:end].rstrip("。；！？")
    end = start + len(sentence)
    yield from _denials(state, start, sentence)
    clauses = [(start + m.start(), start + m.end()) for m in _CLAUSE.finditer(sentence)]
    denied = _denied([text[first:last] for first, last in clauses])
    at = start
    for number, (first, last) in enumerate(clauses):
        if first < at:
            continue
        first = _after_part(state, first, end, first == start)
        if first >= last:
            continue
        found = first_found(_READERS, Clause(state, start, first, last, end))
        if found is None:
            continue
        at = max(found.until, last)
        for each in found.items:
            if number in denied and each.relation in _DENIABLE:
                continue
            state.seen.add(each.relation)
            places = state.block.text.span(each.start, each.end)
            yield BookStatement(
                each.relation, each.words, *places, part=state.part, combined=each.combined
            )


def _denied(clauses: list[str]) -> set[int]:
    """Return the clauses that are denied, by themselves or by what follows them."""
    return {
        number
        for number, words in enumerate(clauses)
        if pattern("denied").search(words)
        or any(pattern("denied-before").match(each) for each in clauses[number + 1 : number + 2])
    }


def _after_part(state: State, at: int, end: int, opening: bool) -> int:
    """Turn to the part that a clause begins with; return where what it states begins."""
    text = state.block.text.text
    for name in ("part-mark", "part-colon", "named-lead") if opening else ("part-colon",):
        match = pattern(name).match(text[at:end])
        if match is None or not _names_part(name, match["part"]):
            continue
        part = match["part"].strip()
        if part not in state.title and not pattern("season").fullmatch(part):
            state.part, state.listing, state.harmful = part, "", False
        return at + match.end()
    return at


def _names_part(name: str, words: str) -> bool:
    if pattern("speaker-name").search(words):
        return False
    if name == "named-lead":
        return not pattern("not-named").search(words)
    if name == "part-mark" or pattern("_part-end").search(words):
        return True
    acts = pattern("use").match(words) or pattern("efficacy").match(words)
    return not acts and not pattern("complaint").search(words[-1:])


def _denials(state: State, start: int, sentence: str) -> Iterator[BookStatement]:
    """Yield what a sentence refuses in so many words."""
    if not pattern("denied").search(sentence):
        return
    for name, group, relation in (
        ("denied-nature", "nature", kinds.NATURE),
        ("denied-use", "what", kinds.RELIEVES),
    ):
        if match := pattern(name).search(sentence):
            places = state.block.text.span(start + match.start(), start + match.end())
            yield BookStatement(relation, match[group], *places, kinds.DENIED, state.part)
