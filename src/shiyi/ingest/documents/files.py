"""Plain text, Markdown, PDF, HTML and EPUB as documents."""

import re
import unicodedata
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.ingest.datasets.dataset import Dataset, describe_text
from shiyi.ingest.datasets.limits import decode, read_bytes
from shiyi.ingest.documents.document import Document, Heading
from shiyi.linking.normalization import has_cjk, language_of

if TYPE_CHECKING:
    from lxml.etree import _Element

_BLOCKS = frozenset(
    {"p", "div", "li", "ul", "ol", "br", "section", "article", "table", "tr", "blockquote", "pre",
     "dd", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6"}
)  # fmt: skip
_HIDDEN = ("script", "style", "template", "noscript", "head", "nav")
_LEVELS_OF_TAGS = {f"h{level}": level for level in range(1, 7)}
_SPACES = re.compile(r"[ \t\r\n\f]+")
_RATIO = 200  # how many times an entry of a sound EPUB may grow; text packs about tenfold
_PAGES = 5_000
_DC = "{http://purl.org/dc/elements/1.1/}"

Parts = tuple[str, str, tuple[Heading, ...]]  # title, text and headings of a file


def html_text(markup: str, title: str) -> Parts:
    """Return the title, the visible text and the headings of a page.

    A row of a table becomes one line, with its cells between bars.
    """
    _refuse_entities(markup, title)
    root = _parse_html(markup, title)
    if root is None:
        return title, "", ()
    own = _SPACES.sub(" ", root.findtext(".//title") or "").strip()[:300] or title
    text, headings = _visible_text(root, (own,))
    return own, text, headings


def _parse_html(markup: str, name: str) -> "_Element | None":
    from lxml import etree

    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # nothing but comments or blanks
        return None
    if any(fault.type_name == "ERR_RESOURCE_LIMIT" for fault in parser.error_log):
        raise UsageError(f"{name} is refused: its markup is nested more than 2,048 deep")
    return root


def _visible_text(root: "_Element", above: tuple[str, ...]) -> tuple[str, tuple[Heading, ...]]:
    """Return what a reader sees of a tree of HTML, and its headings, below the titles ``above``."""
    from lxml import etree

    etree.strip_elements(root, *_HIDDEN, with_tail=False)
    builder = _TextBuilder(above)
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            builder.start(str(element.tag), element.text or "")
        else:
            builder.end(str(element.tag), element.tail or "")
    return "".join(builder.parts), tuple(builder.headings)


class _TextBuilder:
    def __init__(self, above: tuple[str, ...]) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self._size = 0
        self._above = above
        self._levels: list[tuple[int, str]] = []
        self._open: tuple[int, int] | None = None  # first character and part of a heading

    def start(self, tag: str, words: str) -> None:
        if tag in _BLOCKS:
            self._end_line()
        if tag == "tr":
            self._append("|")
        if tag in _LEVELS_OF_TAGS:
            self._open = self._size, len(self.parts)
        self._put_words(words)

    def end(self, tag: str, words: str) -> None:
        if tag in {"td", "th"}:
            self._append(" |")
        if tag in _LEVELS_OF_TAGS:
            self._end_heading(_LEVELS_OF_TAGS[tag])
        if tag in _BLOCKS:
            self._end_line()
        if tag == "p":
            self._append("\n")
        self._put_words(words)

    def _end_heading(self, level: int) -> None:
        start, first = self._open or (self._size, len(self.parts))
        self._open = None
        if title := "".join(self.parts[first:]).strip():
            self._levels = [row for row in self._levels if row[0] < level] + [(level, title)]
            path = (*self._above, *(name for _, name in self._levels))
            self.headings.append(Heading(start, self._size, path))

    def _end_line(self) -> None:
        if self.parts and not self.parts[-1].endswith("\n"):
            self._append("\n")

    def _put_words(self, words: str) -> None:
        words = _SPACES.sub(" ", words)
        if words != " " or (self.parts and not self.parts[-1].endswith(("\n", " "))):
            self._append(words)

    def _append(self, text: str) -> None:
        if text:
            self.parts.append(text)
            self._size += len(text)


def _refuse_entities(markup: str, name: str) -> None:
    """Raise :class:`UsageError` where a file declares entities: they may hold bombs and files."""
    if re.search(r"<!ENTITY", markup, re.IGNORECASE):
        raise UsageError(f"{name} declares XML entities, which are refused; save it without them")


def epub_text(path: Path, limit: int) -> Parts:
    """Return the title, the text and the headings of a book, chapters in the order of its spine."""
    from lxml import etree

    try:
        with zipfile.ZipFile(path) as book:
            _check_sizes(book, path, limit)
            return _chapters(book, path)
    except (
        zipfile.BadZipFile,
        etree.XMLSyntaxError,
        KeyError,
        RuntimeError,
        NotImplementedError,
    ) as fault:
        raise UsageError(f"{path} is not a readable EPUB: {fault}") from fault


def _check_sizes(book: zipfile.ZipFile, path: Path, limit: int) -> None:
    entries = book.infolist()
    total = sum(each.file_size for each in entries)
    if total > 4 * limit:
        raise TooLargeError(f"{path}, unpacked,", total, 4 * limit, "bytes")
    for entry in entries:
        if entry.file_size > 1_000_000 and entry.file_size > _RATIO * max(entry.compress_size, 1):
            raise UsageError(
                f"{path} is refused: {entry.filename} grows {_RATIO}-fold or more when unpacked"
            )


def _chapters(book: zipfile.ZipFile, path: Path) -> Parts:
    from lxml import etree

    def entry(name: str) -> str:
        markup = decode(book.read(name), f"{path}, {name}")
        _refuse_entities(markup, f"{path}, {name}")
        return markup

    def xml(name: str) -> "_Element":
        parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
        return etree.fromstring(entry(name).encode(), parser)

    root_file = xml("META-INF/container.xml").find(".//{*}rootfile")
    package_path = None if root_file is None else root_file.get("full-path")
    if not package_path:
        raise UsageError(f"{path} is not an EPUB: its container names no package")
    package = xml(package_path)
    title = (package.findtext(f".//{_DC}title") or "").strip() or path.stem
    files = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    parts: list[str] = []
    headings: list[Heading] = []
    size = 0
    for reference in package.iterfind(".//{*}itemref"):
        place = PurePosixPath(package_path).parent / unquote(files.get(reference.get("idref"), ""))
        root = _parse_html(entry(str(place)), f"{path}, {place}")
        if root is None:
            continue
        text, result = _visible_text(root, (title,))
        headings += [Heading(each.start + size, each.end + size, each.path) for each in result]
        parts.append(text + "\n\n")
        size += len(parts[-1])
    return title, "".join(parts), tuple(headings)


# fonts of PDF give radicals for characters: what NFKC leaves of the radicals of Unicode
_RADICALS: Final = {
    0x2EA0: 0x6C11, 0x2EC1: 0x864E, 0x2EC4: 0x897F, 0x2EC5: 0x89C1, 0x2EC6: 0x89D2, 0x2EC9: 0x8D1D,
    0x2ECB: 0x8F66, 0x2ED3: 0x957F, 0x2ED4: 0x95E8, 0x2ED8: 0x9752, 0x2ED9: 0x97E6, 0x2EDA: 0x9875,
    0x2EDB: 0x98CE, 0x2EDC: 0x98DE, 0x2EDD: 0x98DF, 0x2EE2: 0x9A6C, 0x2EE4: 0x9B3C, 0x2EE5: 0x9C7C,
    0x2EE6: 0x9E1F, 0x2EE7: 0x5364, 0x2EE8: 0x9EA6, 0x2EE9: 0x9EC4, 0x2EEC: 0x9F50, 0x2EEE: 0x9F7F,
    0x2EF0: 0x9F99,
}  # fmt: skip
_RADICAL: Final = re.compile("[\u2e80-\u2fdf]")
_WITHIN: Final = ("\uff0c", "\u3001", "\uff1b")  # comma, enumeration comma, semicolon
_FULL: Final = 0.9  # of the widest line, from which a line may have been wrapped


def _page_text(extracted: str) -> str:
    r"""Return the text of a page with its characters, and without breaks inside of sentences.

    >>> ascii(_page_text("\u2f63\u59dc\n\u6cbb\u54b3"))
    "'\\u751f\\u59dc\\u6cbb\\u54b3'"
    """
    text = _RADICAL.sub(
        lambda hit: unicodedata.normalize("NFKC", hit[0]).translate(_RADICALS), extracted
    )
    lines = text.split("\n")
    widths = [len(line.encode("gb18030", "replace")) for line in lines]
    full = _FULL * max(widths)
    parts = [lines[0]]
    for (line, after), width in zip(pairwise(lines), widths, strict=False):
        goes_on = has_cjk(after[:1]) and (has_cjk(line[-1:]) or line[-1:] in _WITHIN)
        parts.append(after if goes_on and width >= full else f"\n{after}")
    return "".join(parts)


def pdf_text(path: Path, limit: int) -> tuple[str, str]:
    """Return the title and the text of a PDF; scanned pages hold none, which is stated."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(path)
        if len(reader.pages) > _PAGES:
            raise TooLargeError(str(path), len(reader.pages), _PAGES, "pages")
        title = str((reader.metadata.title if reader.metadata else None) or path.stem)
        parts: list[str] = []
        for page in reader.pages:
            parts.append(_page_text(page.extract_text()))
            if len(parts[-1]) > limit:
                raise TooLargeError(str(path), len(parts[-1]), limit)
    except (PyPdfError, OSError, ValueError, KeyError, RecursionError) as fault:
        if isinstance(fault, TooLargeError):
            raise
        raise UsageError(f"{path} is not a readable PDF: {fault}") from fault
    text = "\n".join(parts)
    if not text.strip():
        raise UsageError(f"{path} holds pictures of pages and no text; recognise its text first")
    return title, text


ENDINGS = (".txt", ".md", ".markdown", ".html", ".htm", ".xhtml", ".epub", ".pdf")
_PLAIN = re.compile(
    r"^[ \t\u3000]*(第[一二三四五六七八九十百零〇0-9]{1,5}([卷编篇章节回])[^\n。]{0,40}"
    r"|卷[一二三四五六七八九十上中下]{1,3}[^\n。]{0,20}"
    r"|Chapter [0-9IVXLC]+[^\n]{0,60})\s*?(?:\r?\n|\Z)",
    re.MULTILINE,
)
_LEVELS = {"卷": 1, "编": 1, "篇": 2, "章": 3, "回": 3, "节": 4}


def read_text(path: Path, limit: int) -> tuple[Dataset, Document]:
    """Read one file by its ending; it becomes a dataset of its own."""
    title, text, headings = _read(path, limit)
    if not text.strip():
        raise UsageError(f"{path} holds no text")
    dataset = describe_text(path, title)
    return dataset, Document(path.name, dataset.source, language_of(text), text, headings)


def _read(path: Path, limit: int) -> tuple[str, str, tuple[Heading, ...]]:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError("file ending", ending or path.name, ENDINGS)
    if not path.is_file():
        raise UsageError(f"{path} is no file")
    if ending == ".epub":
        return epub_text(path, limit)
    if ending == ".pdf":
        title, text = pdf_text(path, limit)
        return title, text, ()
    content = decode(read_bytes(path, limit), str(path))
    if ending in {".html", ".htm", ".xhtml"}:
        return html_text(content, path.stem)
    if ending == ".txt":
        return path.stem, content, tuple(_plain_headings(content, path.stem))
    return markdown_text(content, path.stem)


def markdown_text(text: str, title: str) -> Parts:
    """Return the title, the text as it stands, and the headings of a Markdown document."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text)), len(text)]
    results = [
        (int(opening.tag[1]), starts[opening.map[0]], starts[opening.map[1]], content.content)
        for opening, content in pairwise(tokens)
        if opening.type == "heading_open" and opening.map and not opening.level
    ]
    own = results[0][3] if results else title
    open_levels: list[tuple[int, str]] = []
    headings: list[Heading] = []
    for level, start, end, name in results:
        open_levels = [row for row in open_levels if row[0] < level] + [(level, name)]
        names = [each for _, each in open_levels]
        path = tuple(names if names[0] == own else [own, *names])
        headings.append(Heading(start, end, path))
    return own, text, tuple(headings)


def _plain_headings(text: str, title: str) -> Iterator[Heading]:
    open_: list[tuple[int, str]] = []
    for match in _PLAIN.finditer(text):
        level = _LEVELS.get(match[2] or "卷", 3)
        open_ = [row for row in open_ if row[0] < level] + [(level, match[1].strip())]
        yield Heading(*match.span(), (title, *(name for _, name in open_)))
