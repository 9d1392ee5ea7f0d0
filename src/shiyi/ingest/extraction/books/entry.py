"""Reads an entry of materia medica clause by clause."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace

from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.clauses import (
    GAP,
    Clause,
    Item,
    Parse,
    State,
    actions,
    begins_material,
    read_first,
)
from shiyi.ingest.extraction.books.patterns import pattern, phrase
from shiyi.ingest.extraction.books.restrictions import incompatibilities, restrictions
from shiyi.ingest.extraction.books.sections import FULL, RECIPE, STRICT, blocks, is_of_others
from shiyi.ingest.extraction.books.statement import BookStatement
from shiyi.ingest.extraction.books.vocabulary import (
    is_of_words,
    materials,
    names_material,
    parse_phrase,
    today,
)

_CLAUSE = re.compile(r"[^，、∶：:,\s\ue000-\ue003。；！？“”「」]+")
_USES = frozenset({kinds.EFFICACY, kinds.RELIEVES})
_RESTRICTIONS = frozenset({kinds.CAUTION, kinds.CONTRAINDICATED, kinds.INCOMPATIBLE})
_DENIABLE = frozenset({kinds.EFFICACY, kinds.RELIEVES, kinds.NATURE})
_PIECE = re.compile(r"[^，、\ue000]+")
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
        used = match["name"] and pattern("use-verb").match(clause.here)
        _set_part(clause.state, match["name"] or "")
        return -1 if used else clause.first + match.end()
    match = pattern("speakers").match(clause.here)
    return clause.first + match.end() if match else None


def _set_part(state: State, words: str) -> None:
    """Set the material named before its properties, if it is another."""
    bare = pattern("of-it").sub("", words)
    if bare != words and bare not in state.title:
        state.turn(bare, doubtful=True)
    names = [bare[at:] for at in range(len(bare) - 1) if bare[at:] in materials()]
    own = any(name in state.title for name in names)
    if names and not own and names[0] != state.part and state.title not in names[0]:
        state.turn(names[0], doubtful=names[0] != words)


def kinds_of_subject(clause: Clause) -> Parse | None:
    """Read the nature of one kind of the subject, without label: that of the north is cool."""
    match = pattern("kinds").match(clause.words)
    if (
        match is None
        or clause.state.block.mode != FULL
        or clause.state.listing
        or pattern("not-kinds").search(match["name"])
    ):
        return None
    return Parse(clause.last, [Item(kinds.NATURE, match["nature"], clause.first, clause.last)])


def toxicity(clause: Clause) -> Parse | None:
    """Read toxicity that a clause states alone."""
    match = pattern("toxic").match(clause.words)
    token = pattern("token").match(clause.words)
    if match is None or (token and token.end() < len(clause.words)):
        return None
    return Parse(clause.last, [Item(kinds.TOXICITY, match["tox"], clause.first, clause.last)])


def properties(clause: Clause) -> Parse | None:
    """Read natures, flavours and toxicity: with their labels, or bare where a sentence begins."""
    state, at = clause.state, _label(clause)
    seen = {kinds.NATURE, kinds.FLAVOUR} & state.seen
    headed = bool(state.part) and clause.text[clause.start : clause.first].endswith(("∶", "："))
    if at == -1 or (at is None and clause.first != clause.start and not (seen or headed)):
        return None
    results = list(_run(clause.text, clause.first if at is None else at))
    if not results or (at is None and not _is_bare(clause, results, not seen)):
        return None
    until = results[-1][2]
    items = [
        Item(name, pattern("sweet").sub(phrase("sweet"), word), clause.first, until)
        for name, word, _ in results
    ]
    parse = Parse(until, items)
    if until < clause.last and (more := channels(clause.rest(until))):
        parse.items += more.items
        parse.until = more.until
    return parse


def _is_bare(clause: Clause, results: list[tuple[str, str, int]], first: bool) -> bool:
    """Return whether properties without a label are those of the subject."""
    state = clause.state
    if not pattern("bare-follows").match(clause.text[results[-1][2] :]):
        return False
    if state.listing and not (clause.first == clause.start and state.dotted):
        return False
    several = len({name for name, _, _ in results}) > 1
    return several or bool(state.part) or (first and clause.first == 0)


def channels(clause: Clause) -> Parse | None:
    """Read the channels that a clause states; the text after them is reread."""
    match = pattern("channels").match(clause.text, clause.first, clause.end)
    if not match:
        return None
    items = [
        Item(kinds.CHANNEL, each[0], clause.first, match.end())
        for each in pattern("channel").finditer(match["list"])
    ]
    parse = Parse(max(match.end(), clause.last), items)
    clause.state.listing = clause.state.listing or kinds.EFFICACY
    rest = clause.rest(match.end())
    if len(rest.words) > 1 and (more := actions(rest)):
        parse.items += more.items
    return parse


_READERS = (
    properties, toxicity, kinds_of_subject, channels, incompatibilities, restrictions, actions,
)  # fmt: skip


def read_entry(raw: str, title: str = "", start: int = 0) -> tuple[BookStatement, ...]:
    """Return what an entry states, in the order of its text and each thing once.

    ``raw`` is the text of the entry as the book has it, ``start`` its place in the book.
    """
    results: dict[tuple[str, str, str], BookStatement] = {}
    heads = [start, *(start + match.end() for match in pattern("heading").finditer(raw))]
    dotted = raw.count("。") > 2 * raw.count("，")
    state: State | None = None
    stated = False  # by the entry itself
    for statement in _of_title(raw, title, start):
        results[statement.relation, statement.object, ""] = statement
    for block in blocks(raw, title, start):
        if state is None:
            state = State(block, title, dotted)
        if block.part == state.aside:
            block = replace(block, part="")
        else:
            state.aside = ""
        state.block, state.harmful = block, False
        state.turn(block.part)
        if not dotted or block.mode == STRICT:
            state.listing = ""
        end = 0  # where the list goes on that a statement has begun
        for statement in _read_block(state):
            if block.mode == STRICT and stated and not _is_stated(state, statement, end):
                continue  # a commentary argues from uses as often as it states them
            behind = statement.start - heads[bisect_right(heads, statement.start) - 1]
            if behind > FARTHEST and statement.relation not in _RESTRICTIONS:
                continue
            end = statement.end + _NEXT_IN_LIST
            stated = stated or block.mode != STRICT
            shown = replace(statement, reported=block.mode == STRICT)
            results.setdefault((statement.relation, statement.object, statement.part), shown)
    uses = {(result.part, result.object) for result in results.values() if result.relation in _USES}
    statements = (  # a use for those it harms is of a kind that is not named
        result
        for result in results.values()
        if result.relation not in _RESTRICTIONS
        or not any(result.object in used for part, used in uses if part == result.part)
    )
    return tuple(sorted(statements, key=lambda each: (each.start, each.end)))


FARTHEST = 150  # characters behind a heading: what follows compares, cites and argues
_NEXT_IN_LIST = 8  # characters between two things that a list states


def _is_stated(state: State, statement: BookStatement, listed: int) -> bool:
    """Return whether a commentary states a use of its subject alone, without a warning."""
    if statement.relation not in _USES:
        return True
    text, at = state.block.text.text, bisect_left(state.block.text.places, statement.start)
    begins = max(text.rfind(mark, 0, at) for mark in _STOPS) + 1
    ends = min((end for mark in _STOPS if (end := text.find(mark, at)) >= 0), default=len(text))
    if pattern("warned-of").search(text, begins, ends):
        return False
    matches = pattern("joined").finditer(text, begins, at)
    if any(begins_material(text[match.end() : at], state.title) for match in matches):
        return False
    cued = pattern("states-use").search(text, begins, at) is not None
    return cued or (statement.relation == kinds.EFFICACY and statement.start <= listed)


_STOPS = "。；！？\n"
_SAME = 2  # sentences of one clause that speak of what the first names
_ANOTHER = "○"  # before another material than the entry's own


def _of_title(raw: str, title: str, start: int) -> Iterator[BookStatement]:
    """Yield the nature stated in the title."""
    at = raw.find(title)
    if at >= 0 and (nature := pattern("title-nature").search(title)):
        end = start + at + len(title)
        yield BookStatement(kinds.NATURE, nature["nature"], start + at, end)


_FEW_ARGUMENTS = 0.2  # of the sentences of a paragraph


def _read_block(state: State) -> Iterator[BookStatement]:
    text = state.block.text.text
    arguments = len(pattern("argues").findall(text))
    argues = state.dotted and arguments > _FEW_ARGUMENTS * text.count("。")
    sentences = list(pattern("sentence").finditer(text))
    dosed = _find_dosed(sentences) if state.dotted else frozenset()
    first, last = _recipes(text)
    joined = patient = 0  # sentences that still speak of what was joined, or of one patient
    for number, match in enumerate(sentences):
        joined = (
            _JOINED_FOR
            if state.dotted and _joins(state, match[0].lstrip(GAP))
            else max(0, joined - 1)
        )
        formula = pattern("formula-speaks").search(match[0]) is not None
        case = pattern("case-of").match(match[0].lstrip(GAP)) is not None
        patient = (_JOINED_FOR if state.dotted else 1) if case else max(0, patient - 1)
        state.combined = joined > 0 or patient > 0 or number in dosed or formula
        state.combined = state.combined or first <= match.start() < last
        state.combined = state.combined or pattern("for-beasts").search(match[0]) is not None
        state.argues = argues or pattern("argues").search(match[0]) is not None
        if not state.dotted and text[: match.start()].endswith(("。", "！", "？")):
            state.listing, state.harmful = "", False
        elif state.block.mode == STRICT and state.listing != kinds.EFFICACY:
            state.listing = ""
        end = match.end() - len(match[0].lstrip(GAP))
        yield from _read_sentence(state, end, match.end())


_JOINED_FOR = 6


def _find_dosed(sentences: list[re.Match[str]]) -> frozenset[int]:
    """Return the sentences of a dotted edition beside doses of two drugs or a named formula."""
    doses = [
        len(pattern("amounts").findall(match[0]))
        + 2 * bool(pattern("formula-speaks").search(match[0]))
        for match in sentences
    ]
    return frozenset(
        at for at in range(len(doses)) if sum(doses[max(0, at - _NEAR) : at + _NEAR + 1]) > 1
    )


_NEAR = 2  # sentences on each side


def _recipes(text: str) -> tuple[int, int]:
    """Return where the numbered recipes of a block begin and end."""
    at, last = text.find(RECIPE), text.rfind(RECIPE)
    begins = max((text.rfind(mark, 0, max(0, at - 1)) for mark in _STOPS), default=0) + 1
    return (begins, last) if at >= 0 else (0, 0)


def _joins(state: State, sentence: str) -> bool:
    """Return whether a sentence begins with another drug that is joined to the subject."""
    match = pattern("joins").match(sentence)
    return match is not None and begins_material(sentence[match.end() :], state.title)


def _read_sentence(state: State, start: int, end: int) -> Iterator[BookStatement]:
    text = state.block.text.text
    sentence = text[start:end].rstrip("。；！？")
    end = start + len(sentence)
    if sentence[:1] == _ANOTHER:
        start, sentence = start + 1, sentence[1:]
        state.turn(_ANOTHER, doubtful=True)
    state.since += 1
    _turn(state, sentence)
    if state.part != state.block.part and state.since > (_SAME if state.dotted else 0):
        state.doubtful = True  # whether it still speaks of a part named in passing
    clauses = [(start + m.start(), start + m.end()) for m in _CLAUSE.finditer(sentence)]
    denied = _find_denied([text[first:last] for first, last in clauses])
    at = start
    for number, (first, last) in enumerate(clauses):
        if first < at:
            continue
        opening = first == start or pattern("quoting").fullmatch(text[start:first]) is not None
        first = _after_part(state, first, end, opening)
        if first >= last:
            continue
        parse = read_first(_READERS, Clause(state, start, first, last, end))
        if parse is None:
            continue
        at = max(parse.until, last)
        for item in parse.items:
            if number in denied and item.relation in _DENIABLE:
                continue
            state.seen.add(item.relation)
            places = state.block.text.span(item.start, item.end)
            joint = item.combined or state.doubtful
            yield BookStatement(item.relation, item.words, *places, part=state.part, combined=joint)
    alone = not state.dotted and not pattern("goes-on").match(text, end)
    if state.block.mode == STRICT and alone:  # a commentary comes back to the whole
        state.turn(state.block.part)


def _turn(state: State, sentence: str) -> None:
    """Turn to the material that a sentence names first, or that another writer is quoted of."""
    at = _skip_quotation(state, sentence)
    another = pattern("another-named").match(sentence, at) if state.seen else None
    if another and another["name"] not in state.title:
        state.turn(another["name"], doubtful=not _is_named(another["name"], state.title))
        return
    if kind := _kind_of_title(sentence[at:], state.title):
        state.turn(kind, doubtful=True)
        return
    for size in (5, 4, 3, 2, 1):
        name, after = sentence[at : at + size], sentence[at + size :]
        if not _is_named(name, state.title) or pattern("not-turned").match(after):
            continue
        stated = pattern("turns-to").match(after) is not None
        if size == 1 and not pattern("one-turns").match(after):
            continue
        if not stated and pattern("described").match(sentence[at:]):
            continue
        if is_of_words(pattern("tail").sub("", _PIECE.findall(sentence[at:])[0])):
            return
        if name == state.part:
            state.doubtful = state.doubtful and not stated
            return
        own = _is_own(name, state.title)
        ends = state.block.mode == STRICT and state.title.endswith(name, 1)
        state.turn(*((state.block.part,) if own and not ends else (name, ends or not stated)))
        return


def _skip_quotation(state: State, sentence: str) -> int:
    """Turn to what another writer is quoted of, or a recipe; return where the words begin."""
    lead = pattern("quoting").match(sentence)
    recipe = pattern("recipe-source").match(sentence)
    whole = state.block.part and not is_of_others(state.block.part)
    if recipe or (whole and pattern("whole-speaker").match(sentence)):
        state.aside = state.aside or state.block.part
        state.block = replace(state.block, part=recipe[0] if recipe else "")
        state.turn(state.block.part)
    if lead and not pattern("same-speaker").match(sentence):
        state.turn(state.block.part)
    return lead.end() if lead else 0


def _kind_of_title(sentence: str, title: str) -> str:
    """Return the kind of the title that a sentence speaks of, no known material: 棠梨 of 梨."""
    first = _PIECE.match(sentence)
    at = first[0].find(title, 1) if first and title else -1
    name, after = sentence[: at + len(title)], sentence[at + len(title) :]
    if at not in range(1, 4) or name in materials() or is_of_words(name):
        return ""
    turned = pattern("turns-to").match(after) and not pattern("not-turned").match(after)
    return name if turned and not pattern("kind-lead").search(name[:at]) else ""


def _is_named(name: str, title: str) -> bool:
    """Return whether a name is of a material, or of another part of what the title names."""
    stem = name[:-1]
    is_part = stem and pattern("_part-end").fullmatch(name[-1:]) is not None
    other = is_part and title.startswith(stem) and title != name
    return name in materials() or (stem in materials() and names_material(name)) or bool(other)


def _is_own(name: str, title: str) -> bool:
    """Return whether a name is that of the title, or a shorter one for it; no whole of a part."""
    if today().get(name, name) == today().get(title, title):
        return True
    if title.startswith(name):
        return pattern("_part-end").fullmatch(title[len(name) :]) is None
    return title.endswith(name)


def _find_denied(clauses: list[str]) -> set[int]:
    """Return the clauses that are denied, by themselves or by what follows them."""
    untrue = [n for n, words in enumerate(clauses) if pattern("untrue").search(words)]
    claimed = [n for n, words in enumerate(clauses) if pattern("claimed").search(words)]
    if untrue and claimed:
        return set(range(claimed[0], untrue[-1] + 1))
    return {
        number
        for number, words in enumerate(clauses)
        if pattern("denied").search(words)
        or any(pattern("denied-before").match(each) for each in clauses[number + 1 : number + 2])
    }


_OPENS = (
    "another-kind", "part-mark", "part-nature", "part-colon", "named-lead", "named-part",
    "opens-entry",
)  # fmt: skip


def _after_part(state: State, at: int, end: int, opening: bool) -> int:
    """Turn to the part that a clause begins with; return where what it states begins.

    What stands before a colon and names no material is the person quoted.
    """
    text = state.block.text.text
    for name in _OPENS if opening else ("part-colon",):
        match = pattern(name).match(text[at:end])
        part = pattern("part-lead").sub("", match["part"].strip()) if match else ""
        if match is None or pattern("season").fullmatch(part):
            continue
        known = _names_part(name, part, state.title)
        if pattern("organ").fullmatch(part) and not pattern("with-organs").search(state.title):
            if pattern("animal").search(state.title):  # of the animal, or of who is treated
                state.turn(part, doubtful=True)
            continue
        if not known and name != "part-colon":
            continue
        if known and not state.title.endswith(part):
            state.turn(part)
            state.listing, state.harmful = "", False
        return at + match.end()
    return at


def _names_part(pattern_name: str, words: str, title: str) -> bool:
    """Return whether the words that a pattern found name another material, known or not."""
    if names_material(words, title) or pattern("kind-of").search(words):
        return True
    if pattern_name == "part-mark":
        return pattern("_part-end").fullmatch(pattern("part-kind").sub("", words)) is not None
    if pattern_name == "part-colon":
        return pattern("no-subject").search(words) is None
    return pattern_name in {"named-part", "named-lead"} and _may_be_part(words)


def _may_be_part(words: str) -> bool:
    """Return whether words that name no known material may name a part of one."""
    part = pattern("of-part").search(words)
    if part is None or pattern("not-part").search(words):
        return False
    return parse_phrase(words) is None or pattern("animal").search(words) is not None
