"""The text of an entry without line ends, and its blocks: sections, parts, paragraphs, notes."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from shiyi.ingest.extraction.books.patterns import pattern, section_modes
from shiyi.ingest.extraction.books.vocabulary import materials, names_material

PART_OPENS, PART_ENDS = "\ue001", "\ue002"  # private use: round a title that is set off
NOTE = "\ue000"  # private use: stands for a note in brackets
RECIPE = "\ue003"  # private use: stands for the number of the recipe before it
_PICTURE = re.compile(r"\\r([^\\\n]*)\\p[^\\\n]*\\r")
_MARKED = re.compile(r"\\x([^\\]{0,60})\\x")
_ENDS = frozenset("。！？；∶：”」』】〕》")
_SHORT = 12  # characters of a line that is a title by itself


@dataclass(frozen=True, slots=True)
class PlainText:
    """Text to be read; the character at ``i`` stands at ``places[i]`` of the book's text."""

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where ``[start, end)`` stands in the book."""
        return self.places[start], self.places[end - 1] + 1

    def cut(self, start: int, end: int) -> "PlainText":
        """Return the part ``[start, end)``."""
        return PlainText(self.text[start:end], self.places[start:end])


def plain_text(raw: str, start: int = 0) -> tuple[PlainText, tuple[PlainText, ...]]:
    """Return what an entry says itself, and its notes in brackets; ``start`` is its place.

    Lines are joined where a sentence goes on. In an edition that names its fragments, brackets
    hold what was restored and are text.
    """
    pieces = [(char, start + place) for char, place in _unwrap_lines(raw)]
    whole = PlainText("".join(c for c, _ in pieces), tuple(p for _, p in pieces))
    if pattern("fragment").search(raw):
        return _remove_patterns(whole, pattern("fragment"), re.compile(r"[（）]")), ()
    return _separate_notes(whole)


def _marks(raw: str) -> tuple[dict[int, str], set[int]]:
    """Return where what is set off begins and ends, and the places that are not read."""
    gone = {i for each in _PICTURE.finditer(raw) for i in range(*each.span())}
    marks: dict[int, str] = {}
    for match in _MARKED.finditer(raw):
        for first, last, sign in (
            (match.start(), match.start(1), PART_OPENS),
            (match.end(1), match.end(), PART_ENDS),
        ):
            gone.update(range(first, last))
            marks[first] = sign
    return marks, gone


def _unwrap_lines(raw: str) -> Iterator[tuple[str, int]]:
    """Yield each character that is read, with its place."""
    head = pattern("entry-label").match(raw)
    at = head.end() if head else 0
    marks, gone = _marks(raw)
    line = 0  # characters of the paragraph so far
    before = ""
    while at < len(raw):
        if at in marks:
            if marks[at] == PART_OPENS and before not in {"", "\n"} and _stands_alone(raw, at):
                yield "\n", at
            yield marks[at], at
            line, before = line + 1, marks[at]
        elif at in gone:
            pass
        elif raw[at] in "\r\n":
            end = at
            while end < len(raw) and raw[end] in "\r\n \t\u3000":
                end += 1
            following = raw[end : end + 1]
            closes = before == "）" and raw[:at].rstrip()[-2:-1] == "。"
            if (
                ((before in _ENDS or closes) and following not in "，。、；）")
                or (line < _SHORT and following not in "，。、；")
                or before == PART_ENDS
            ) and not pattern("line-goes-on").match(raw, end):
                yield "\n", at
                line, before = 0, "\n"
            at = end
            continue
        elif raw[at] in " \t\u3000" and raw[at + 1 : at + 2] in {"\r", "\n", "\u3000", " ", ""}:
            pass
        else:
            yield raw[at], at
            line, before = line + 1, raw[at]
        at += 1


def _stands_alone(raw: str, at: int) -> bool:
    """Return whether what is set off at ``at`` has a line to itself."""
    ended = raw[:at].rstrip(" \u3000")[-1:] in {"\r", "\n"}
    return ended and pattern("alone").match(raw, at) is not None


def _remove_patterns(whole: PlainText, *unwanted: re.Pattern[str]) -> PlainText:
    gone = {
        i
        for each in (*unwanted, pattern("numbered"))
        for match in each.finditer(whole.text)
        for i in range(*match.span())
    }
    numbered = {match.start() for match in pattern("numbered").finditer(whole.text)}
    body = [
        ("\n" if i in numbered else c, p)
        for i, (c, p) in enumerate(zip(whole.text, whole.places, strict=True))
        if i in numbered or (i not in gone and not (numbered and c == "\n"))
    ]
    return PlainText("".join(c for c, _ in body), tuple(p for _, p in body))


def _separate_notes(whole: PlainText) -> tuple[PlainText, tuple[PlainText, ...]]:
    """Separate notes in brackets, of which one may stand in another, from the text."""
    depth, opened = 0, 0
    results: list[tuple[str, int]] = []
    notes: list[PlainText] = []
    for at, (char, place) in enumerate(zip(whole.text, whole.places, strict=True)):
        if char in "（(":
            if depth == 0:
                opened = at
                results.append((NOTE, place))
            depth += 1
        elif char in "）)":
            if depth == 1:
                notes.append(note := whole.cut(opened + 1, at))
                if pattern("recipe-number").fullmatch(note.text):
                    results[-1] = RECIPE, results[-1][1]
            depth = max(0, depth - 1)
        elif depth and char in _SECTIONS:  # nothing closes the bracket
            notes.append(whole.cut(opened + 1, at))
            depth = 0
        if depth == 0 and char not in "（）()":
            results.append((char, place))
    if depth:
        notes.append(whole.cut(opened + 1, len(whole.text)))
    return PlainText("".join(c for c, _ in results), tuple(p for _, p in results)), tuple(notes)


_SECTIONS = frozenset({PART_OPENS, "【"})
FULL, USES, HARMS, STRICT, SKIP = "full", "uses", "harms", "strict", "skip"
_OTHERS = "others"  # of materials that are not the entry's own
_TITLE = re.compile(r"[【〔](?P<title>[^】〕\n]{1,8})[】〕]")
_SET_OFF = re.compile(rf"{PART_OPENS}(?P<part>[^{PART_ENDS}]{{0,40}}){PART_ENDS}")
_BEFORE = frozenset({"", "\n", " ", "\u3000", NOTE, PART_ENDS, *"。！？；】〕”"})
_LONGEST_PART = 8  # characters; what is set off and longer is a remark


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text read in one way: in full, strictly as a commentary, or not at all."""

    text: PlainText
    mode: str
    part: str = ""


def blocks(raw: str, title: str = "", start: int = 0) -> Iterator[Block]:
    """Yield the blocks of an entry that are read, in their order, then its notes.

    What begins a numbered paragraph is its part throughout, unless a kind without known name.
    """
    whole, notes = plain_text(raw, start)
    found_blocks = list(_blocks(whole))
    match = pattern("fragment").search(raw) and pattern("numbered").search(raw)
    for block in found_blocks:
        head = pattern("paragraph-head").match(block.text.text) if match else None
        part = head["part"] if head else ""
        unknown = block.mode == SKIP or (part.endswith(title, 1) and part not in materials())
        own = not names_material(part, title) or title.endswith(part)
        yield from () if unknown else (block if own else replace(block, part=part),)
    begins = [each.text.places[0] for each in found_blocks]
    for note in notes:
        at = bisect_right(begins, note.places[0]) - 1 if note.text else -1
        if at < 0:
            yield Block(note, STRICT)
        elif found_blocks[at].mode != SKIP:
            yield Block(note, STRICT, found_blocks[at].part)


@dataclass(slots=True)
class _SectionMode:
    """How what follows is read, and of what it speaks."""

    mode: str = FULL
    part: str = ""
    whole: str = ""  # of the sections that follow; another may be spoken of in passing
    other: str = ""  # what is set off with parts of its own
    parts: set[str] = field(default_factory=set)

    def under(self, title: str, before: str, opens_sections: bool) -> None:
        """Go on under a title in brackets, which may stand behind the name of a material."""
        if (named := pattern("headed").search(before)) and names_material(named["name"]):
            self.whole = named["name"]
        if not _mode(title, "") and names_material(title):
            self.mode, self.part = FULL, title
            if opens_sections:
                self.whole = title
            return
        self.mode, self.part = _mode(title, STRICT), self.whole
        if self.mode == _OTHERS:  # of no known material until one is named
            self.mode, self.part = FULL, title
        elif self.mode == STRICT and len(self.parts) > 1:  # of any of them
            self.part = title

    def after(self, words: str) -> None:
        """Go on behind words that are set off: a title, a part, another material or a formula."""
        if words and _mode(words, ""):
            self.mode = _mode(words, self.mode)
        elif _names_parts(words):
            self.part = self.whole = "".join(pattern("ward-list").split(words))
            self.mode = FULL
        elif _is_remark(words) or pattern("other-name").search(words):
            self.mode = FULL
        elif pattern("formula-name").search(words) and not names_material(words):
            self.part = self.whole = words
            self.mode = SKIP
        else:
            is_part = pattern("_part-end").fullmatch(words) is not None
            self.parts.add(words)
            if not is_part:
                self.other = pattern("title-part").sub("", words)
            self.part = self.whole = self.other + words if is_part else words
            self.mode = FULL


def is_of_others(title: str) -> bool:
    """Return whether what stands under a title is of other materials than the entry's own."""
    return _mode(title, "") == _OTHERS


def _is_remark(words: str) -> bool:
    states = pattern("states").search(words) and not pattern("formula-name").search(words)
    return bool(states) or len(words) > _LONGEST_PART


def _blocks(whole: PlainText) -> Iterator[Block]:
    at, now = 0, _SectionMode()
    marks = sorted(
        [*_TITLE.finditer(whole.text), *_SET_OFF.finditer(whole.text)], key=lambda m: m.start()
    )
    for mark in marks:
        if mark.start() < at or (mark.re is _SET_OFF and not _begins(whole.text, mark)):
            continue
        yield from _paragraphs(whole.cut(at, mark.start()), now.mode, now.part)
        before, at = whole.text[at : mark.start()], mark.end()
        if mark.re is _TITLE:
            opens = _TITLE.match(whole.text[at:].lstrip()) is not None
            now.under(mark["title"], before, opens)
            continue
        words = mark["part"].strip("【】 ")
        if not (_mode(words, "") and words) and not _names_parts(words) and _is_remark(words):
            inner = whole.cut(mark.start("part"), mark.end("part"))
            yield from _paragraphs(inner, FULL, now.part)
        now.after(words)
    yield from _paragraphs(whole.cut(at, len(whole.text)), now.mode, now.part)


def _begins(text: str, mark: re.Match[str]) -> bool:
    """Return whether what is set off is a title: it begins a sentence, or another kind."""
    before = text[: mark.start()]
    if before[-1:] in _BEFORE:
        return True
    if pattern("_part-end").fullmatch(mark["part"]) and pattern("labelled").match(text, mark.end()):
        return True  # the stop before it was lost
    introduced = pattern("introduces").search(before[-_SHORT:]) is not None
    another = pattern("kind-of").search(before) is not None
    return introduced and (another or (len(mark["part"]) > 1 and mark["part"] in materials()))


def _names_parts(words: str) -> bool:
    """Return whether words name several parts together, as root and bark."""
    pieces = pattern("ward-list").split(words)
    return len(pieces) > 1 and all(pattern("_part-end").fullmatch(piece) for piece in pieces)


def _mode(title: str, now: str) -> str:
    for words, mode in section_modes():
        if words.search(title.strip()):
            return mode
    return now


_ARGUED = 4  # words of argument in a paragraph that explains and states nothing new


def _paragraphs(text: PlainText, mode: str, part: str) -> Iterator[Block]:
    at = 0
    for line in text.text.split("\n"):
        piece = text.cut(at, at + len(line))
        at += len(line) + 1
        if not line.strip():
            continue
        own = mode
        if mode != SKIP and pattern("skipped").search(line):
            own = SKIP
            if len(line.strip()) <= _LONGEST_PART:  # a title of its own
                mode = SKIP
        elif mode in (FULL, USES) and (
            pattern("comment").search(line)
            or pattern("explains").search(line)
            or (at > len(line) + 1 and len(pattern("expounds").findall(line)) >= _ARGUED)
        ):
            own = STRICT
        yield Block(piece, own, part)
