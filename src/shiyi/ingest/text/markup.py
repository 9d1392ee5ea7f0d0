"""HTML and EPUB as text with headings; nothing outside the file is ever fetched."""

import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

from typing_extensions import override

from shiyi.errors import TooLargeError, UsageError
from shiyi.ingest.text.bytes import decode
from shiyi.ingest.text.document import Heading

_BLOCKS = frozenset(
    {"p", "div", "li", "ul", "ol", "br", "section", "article", "table", "blockquote", "pre",
     "dd", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6"}
)  # fmt: skip
_SILENT = frozenset({"script", "style", "template", "noscript", "head", "nav"})
_HEADING = re.compile(r"h([1-6])$")
_SPACES = re.compile(r"[ \t\r\n\f]+")
_RATIO = 200  # how many times an entry of a sound EPUB may grow; text packs about tenfold


class _Text(HTMLParser):
    """Keeps what a reader sees; table rows become lines of cells between bars."""

    def __init__(self, above: tuple[str, ...]) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self.title = ""
        self._size, self._silent, self._in_title = 0, 0, False
        self._open: tuple[int, int] | None = None  # level and start of the heading at hand
        self._above = above
        self._levels: list[tuple[int, str]] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _SILENT:
            self._silent += 1
        elif tag == "tr":
            self._line()
            self._put("|")
        elif tag in _BLOCKS:
            self._line()
            if found := _HEADING.match(tag):
                self._open = int(found[1]), self._size

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in {"td", "th"}:
            self._put(" |")
        elif tag in _BLOCKS or tag == "tr":
            if self._open and _HEADING.match(tag):
                self._head(*self._open)
                self._open = None
            self._line()
            if tag == "p":
                self._put("\n")

    @override
    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            said = _SPACES.sub(" ", data)
            if said != " " or (self.parts and not self.parts[-1].endswith(("\n", " "))):
                self._put(said)

    @override
    def unknown_decl(self, data: str) -> None:
        """Pass over marked sections."""

    def _head(self, level: int, start: int) -> None:
        title = "".join(self.parts)[start:].strip() if start < self._size else ""
        if not title:
            return
        self._levels = [each for each in self._levels if each[0] < level] + [(level, title)]
        path = (*self._above, *(name for _, name in self._levels))
        self.headings.append(Heading(start, self._size, path))

    def _line(self) -> None:
        if self.parts and not self.parts[-1].endswith("\n"):
            self._put("\n")

    def _put(self, said: str) -> None:
        self.parts.append(said)
        self._size += len(said)


def html_text(markup: str, title: str) -> tuple[str, str, tuple[Heading, ...]]:
    """Give the title, the text and its headings of a page."""
    refuse_entities(markup, title)
    found = re.search(r"<title[^>]*>([^<]{1,300})", markup, re.IGNORECASE)
    name = _SPACES.sub(" ", found[1]).strip() if found else title
    parser = _Text((name or title,))
    parser.feed(markup)
    parser.close()
    return name or title, "".join(parser.parts), tuple(parser.headings)


def refuse_entities(markup: str, name: str) -> None:
    """Raise :class:`UsageError` where a file declares entities: they may hold bombs and files."""
    if re.search(r"<!ENTITY", markup, re.IGNORECASE):
        raise UsageError(f"{name} declares XML entities, which are refused; save it without them")


def epub_text(path: Path, limit: int) -> tuple[str, str, tuple[Heading, ...]]:
    """Give the title, the text and its headings of a book, chapters in the order of its spine."""
    try:
        with zipfile.ZipFile(path) as book:
            _check_sizes(book, path, limit)
            package = _package(book, path)
            return _chapters(book, path, package)
    except (zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError) as fault:
        raise UsageError(f"{path} is not a readable EPUB: {fault}") from fault


def _check_sizes(book: zipfile.ZipFile, path: Path, limit: int) -> None:
    entries = book.infolist()
    total = sum(each.file_size for each in entries)
    if total > 4 * limit:
        raise TooLargeError(f"{path}, unpacked,", total, 4 * limit, "bytes")
    for each in entries:
        if each.file_size > 1_000_000 and each.file_size > _RATIO * max(each.compress_size, 1):
            raise UsageError(
                f"{path} is refused: {each.filename} grows {_RATIO}-fold or more when unpacked"
            )


def _package(book: zipfile.ZipFile, path: Path) -> str:
    container = _entry(book, path, "META-INF/container.xml")
    found = re.search(r"full-path\s*=\s*[\"']([^\"']+)", container)
    if found is None:
        raise UsageError(f"{path} is not an EPUB: its container names no package")
    return found[1]


def _chapters(
    book: zipfile.ZipFile, path: Path, package: str
) -> tuple[str, str, tuple[Heading, ...]]:
    said = _entry(book, path, package)
    found = re.search(r"<dc:title[^>]*>([^<]+)", said)
    title = found[1].strip() if found else path.stem
    items = {}
    for item in re.findall(r"<(?:opf:)?item\b[^>]*>", said):
        attributes = dict(re.findall(r"([\w:-]+)\s*=\s*[\"']([^\"']*)", item))
        items[attributes.get("id", "")] = attributes.get("href", "")
    parts: list[str] = []
    headings: list[Heading] = []
    size = 0
    for name in re.findall(r"<(?:opf:)?itemref\b[^>]*idref\s*=\s*[\"']([^\"']+)", said):
        place = str(PurePosixPath(package).parent / items.get(name, "")).removeprefix("./")
        parser = _Text((title,))
        parser.feed(_entry(book, path, place))
        parser.close()
        text = "".join(parser.parts) + "\n\n"
        headings += [Heading(h.start + size, h.end + size, h.path) for h in parser.headings]
        parts.append(text)
        size += len(text)
    return title, "".join(parts), tuple(headings)


def _entry(book: zipfile.ZipFile, path: Path, name: str) -> str:
    markup = decode(book.read(name), f"{path}, {name}")
    refuse_entities(markup, f"{path}, {name}")
    return markup
