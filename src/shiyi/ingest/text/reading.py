"""A person's own text of any kind we read: plain, Markdown, HTML, EPUB, PDF."""

import re
from collections.abc import Iterator
from pathlib import Path

from shiyi.errors import FormatError, UsageError
from shiyi.ingest.datasets import Dataset, own_text
from shiyi.ingest.text.bytes import decode, read_bytes
from shiyi.ingest.text.document import Document, Heading
from shiyi.ingest.text.markup import epub_text, html_text
from shiyi.ingest.text.pdf import pdf_text
from shiyi.linking.normalise import language_of

ENDINGS = (".txt", ".md", ".markdown", ".html", ".htm", ".xhtml", ".epub", ".pdf")
_MARKDOWN = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_PLAIN = re.compile(
    r"^[ \t\u3000]*(第[一二三四五六七八九十百零〇0-9]{1,5}([卷编篇章节回])[^\n。]{0,40}"
    r"|卷[一二三四五六七八九十上中下]{1,3}[^\n。]{0,20}|Chapter [0-9IVXLC]+[^\n]{0,60})\s*?(?:\r?\n|\Z)",
    re.MULTILINE,
)
_LEVELS = {"卷": 1, "编": 1, "篇": 2, "章": 3, "回": 3, "节": 4}


def read_text(path: Path, limit: int) -> tuple[Dataset, Document]:
    """Read one file by its ending; it becomes a dataset of its own."""
    title, text, headings = _read(path, limit)
    if not text.strip():
        raise UsageError(f"{path} holds no text")
    dataset = own_text(path, title)
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
    first = _MARKDOWN.search(content)
    title = first[2] if first else path.stem
    return title, content, tuple(_markdown_headings(content, title))


def _markdown_headings(text: str, title: str) -> Iterator[Heading]:
    fenced = [each.span() for each in _FENCE.finditer(text)]
    open_: list[tuple[int, str]] = []
    for found in _MARKDOWN.finditer(text):
        if any(start <= found.start() < end for start, end in fenced):
            continue
        level = len(found[1])
        open_ = [each for each in open_ if each[0] < level] + [(level, found[2])]
        names = [name for _, name in open_]
        yield Heading(*found.span(), tuple(names if names[0] == title else [title, *names]))


def _plain_headings(text: str, title: str) -> Iterator[Heading]:
    open_: list[tuple[int, str]] = []
    for found in _PLAIN.finditer(text):
        level = _LEVELS.get(found[2] or "卷", 3)
        open_ = [each for each in open_ if each[0] < level] + [(level, found[1].strip())]
        yield Heading(*found.span(), (title, *(name for _, name in open_)))
