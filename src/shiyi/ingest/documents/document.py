"""Documents, their title trees, and sentence-aligned passages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shiyi.model.claim import Source
from shiyi.model.iris import ID, content_hash
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading ``[start, end)`` of a text, with the titles from the book down to it."""

    start: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """The correction of a known fault of a text: ``wrong`` becomes ``right``."""

    name: str
    wrong: str
    right: str


@dataclass(frozen=True, slots=True)
class Document:
    """One text: headings in order, none overlapping; ``name`` is unique within its dataset."""

    name: str
    source: Source
    language: str  # zh or en
    text: str = field(repr=False)
    headings: tuple[Heading, ...] = ()
    repairs: tuple[Repair, ...] = ()
    skipped: tuple[str, ...] = ()  # markup that opens a body and is no part of what is stated


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a text; ``path`` ends with its own title."""

    iri: str
    path: tuple[str, ...]
    parent: str = ""

    @property
    def title(self) -> str:
        """Return the section's own title."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece ``[start, end)`` of a document's text, and its text once repaired.

    ``text`` is what a quote is taken from; ``first`` tells whether it opens its section.
    """

    iri: str
    section: Section
    start: int
    end: int
    text: str
    first: bool


@dataclass(slots=True)
class Tree:
    """Sections and passages of a document; headings and passages together are its whole text."""

    document: Document
    sections: list[Section] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    repaired: Counter[str] = field(default_factory=Counter)


_ZH_END = re.compile(r"[。！？；…]+[”’」』）)】〕》]*[ \t\u3000]*(?:\r*\n)*")
_EN_END = re.compile(r"[.!?]+[\"'”’)\]]*(?:\s+(?=[\"'“‘(\[]?[A-Z0-9])|\s*\Z)")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|etc|vs|Dr|Mr|Mrs|Prof|Fig|No|approx|ca|St)|\b[A-Z])\.\s*$"
)
_PARAGRAPH = re.compile(r"[ \t]*\r*\n(?:[ \t]*\r*\n)+")
_TABLE = re.compile(r"(?:^[ \t]*\|.*(?:\r?\n|\Z)){2,}", re.MULTILINE)
_BLANK = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z0-9][\w'’-]*|[\u3400-\u9fff]")


def text_length(text: str, language: str) -> int:
    """Count what a reader counts: characters but no blanks in Chinese, words in English.

    >>> text_length("甘， 平。", "zh"), text_length("It is sweet.", "en")
    (4, 3)
    """
    if language == "zh":
        return len(text) - sum(map(len, _BLANK.findall(text)))
    return sum(1 for _ in _WORD.finditer(text))


def split_passages(text: str, language: str, minimum: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield spans that follow one another and cover ``text``, each of ``minimum`` to ``limit``.

    A sentence or table longer than ``limit`` is a span of its own; the last span may be short.
    """
    start = end = size = 0
    for unit in _units(text, language):
        more = text_length(text[end:unit], language)
        if size and size + more > limit and (size >= minimum or more > limit):
            yield start, end
            start, size = end, 0
        end, size = unit, size + more
        if size >= minimum and text[start:end].rstrip(" \t").endswith("\n\n"):
            yield start, end
            start, size = end, 0
    if start < end:
        yield start, end


def _units(text: str, language: str) -> Iterator[int]:
    """Yield where each sentence, table or paragraph ends, the end of the text last."""
    tables = [match.span() for match in _TABLE.finditer(text)] if "|" in text else []
    ends = {match.end() for match in _PARAGRAPH.finditer(text)}
    if language == "zh":
        ends.update(match.end() for match in _ZH_END.finditer(text))
    else:
        ends.update(
            match.end()
            for match in _EN_END.finditer(text)
            if not _ABBREVIATED.search(text, max(0, match.start() - 12), match.end())
        )
    for start, stop in tables:
        ends = {end for end in ends if not start < end < stop} | {start, stop}
    ends.discard(0)
    ends.add(len(text))
    yield from sorted(ends)


_BREAK = re.compile(r"[ \t]*\r*\n")
_ENDS = frozenset("。！？；…：∶”」』）)】〕》")
_OPENS = re.compile(
    r"[ \t\u3000]*(?:[一二三四五六七八九十]+[、，]|[（(〔【〈\\○●□*#|]|[0-9０-９]+[.．、])"
)
_WRAPPED = 30  # characters; a line that ends earlier is a title, an item or the end of a paragraph
JOINED = "broken lines"


def repair_text(raw: str, repairs: Sequence[Repair], join: bool, counted: Counter[str]) -> str:
    r"""Return ``raw`` with faults put right and lines joined that break inside a sentence.

    >>> counted = Counter()
    >>> repair_text("主寒热，\n止渴。\n生山谷。", (), True, counted), counted
    ('主寒热，止渴。\n生山谷。', Counter({'broken lines': 1}))
    """
    text = _join_lines(raw, counted) if join else raw
    for repair in repairs:
        if result := text.count(repair.wrong):
            counted[repair.name] += result
            text = text.replace(repair.wrong, repair.right)
    return text.strip()


def _join_lines(raw: str, counted: Counter[str]) -> str:
    lines = [line.rstrip() for line in _BREAK.split(raw)]
    remaining: list[str] = []
    for line in lines:
        if remaining and _continues(remaining[-1], line):
            remaining[-1] += line.lstrip()
            counted[JOINED] += 1
        elif line or (remaining and remaining[-1]):
            remaining.append(line)
    return "\n".join(remaining)


def _continues(before: str, line: str) -> bool:
    """Return whether the sentence of line ``before`` goes on in ``line``."""
    if not before or not line:
        return False
    if line[0] in "，。、；）" or before[-1] in "，、（《“":
        return True
    if before[-1] in _ENDS or before.endswith("\\x") or _OPENS.match(line):
        return False
    return len(before) >= _WRAPPED


def build_tree(document: Document, minimum: int, limit: int) -> Tree:
    """Cut a document into sections and passages; offsets count characters of its own text."""
    tree = Tree(document)
    sections: dict[tuple[str, ...], Section] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for heading, start, end in _bodies(document):
        path = _repaired_path(document, heading.path, tree.repaired)
        section = _section(document, path, sections, tree)
        body, first = document.text[start:end], True
        for here, there in split_passages(body, document.language, minimum, limit):
            raw = _text_of_body(body[here:there], document.skipped) if first else body[here:there]
            text = repair_text(raw, document.repairs, document.language == "zh", tree.repaired)
            if not text:
                continue
            seen[section.iri, text] += 1
            name = content_hash(section.iri, text, str(seen[section.iri, text]))
            iri = f"{ID}passage/{name}"
            tree.passages.append(Passage(iri, section, start + here, start + there, text, first))
            first = False
    return tree


def _bodies(document: Document) -> Iterator[tuple[Heading, int, int]]:
    root = Heading(0, 0, (document.source.title_zh,))
    headings = (root, *document.headings)
    following = [each.start for each in headings[1:]] + [len(document.text)]
    for heading, end in zip(headings, following, strict=True):
        yield heading, heading.end, end


def _repaired_path(
    document: Document, path: tuple[str, ...], counted: Counter[str]
) -> tuple[str, ...]:
    """Repair titles too; of a path only the last is counted, since the others were before."""
    above = (repair_text(each, document.repairs, False, Counter()) for each in path[:-1])
    return (*above, repair_text(path[-1], document.repairs, False, counted))


def _text_of_body(body: str, skipped: tuple[str, ...]) -> str:
    bare = body.lstrip()
    for mark in skipped:
        if bare.startswith(mark):
            return bare[len(mark) :]
    return body


def _section(
    document: Document, path: tuple[str, ...], known: dict[tuple[str, ...], Section], tree: Tree
) -> Section:
    if path in known:
        return known[path]
    parent = _section(document, path[:-1], known, tree).iri if len(path) > 1 else ""
    iri = f"{ID}section/{content_hash(document.source.id, document.name, *path)}"
    known[path] = Section(iri, path, parent)
    tree.sections.append(known[path])
    return known[path]


def section_quads(section: Section, document: Document, graph: NamedNode) -> Iterator[Quad]:
    """Yield a section, its title, and the section it stands in."""
    node = NamedNode(section.iri)
    yield Quad(node, RDF.type, SHIYI.Section, graph)
    yield Quad(node, RDFS.label, Literal(section.title, language=document.language), graph)
    if section.parent:
        yield Quad(node, SHIYI.partOfSection, NamedNode(section.parent), graph)
    else:
        yield Quad(node, PROV.wasDerivedFrom, document.source.iri, graph)


def passage_quads(passage: Passage, document: Document, graph: NamedNode) -> Iterator[Quad]:
    """Yield a passage: its words, section, source, and place (RFC 5147) in the source's text."""
    node = NamedNode(passage.iri)
    place = f"{document.name}#char={passage.start},{passage.end}"
    yield Quad(node, RDF.type, SHIYI.Passage, graph)
    yield Quad(node, RDF.value, Literal(passage.text, language=document.language), graph)
    yield Quad(node, SHIYI.partOfSection, NamedNode(passage.section.iri), graph)
    yield Quad(node, PROV.wasDerivedFrom, document.source.iri, graph)
    yield Quad(node, SHIYI.sourceLocator, Literal(place), graph)
