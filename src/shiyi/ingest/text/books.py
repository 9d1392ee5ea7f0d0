"""Collections of tagged ancient books: JSON Lines, ``<目录>`` for chapters, ``<篇名>`` for titles."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiyi.errors import UsageError
from shiyi.ingest.datasets import Dataset, repairs_of
from shiyi.ingest.text.bytes import lines
from shiyi.ingest.text.document import Document, Heading
from shiyi.model.claim import Source, Tier

_HEAD = re.compile(
    r"(?:<目录>(?P<chapter>[^\r\n<]*)[ \t]*[\r\n]*)?<篇名>(?P<title>[^\r\n<]*)\s*"
    r"|<目录>(?P<alone>[^\r\n<]*)\s*"
)
_FIELD = re.compile(r"(书名|作者|朝代|年份)：([^\r\n]*)\s*")
_YEAR = re.compile(r"公元([0-9]{3,4})年?$")
_MARKS = ("内容：", "属性：")


def read_books(path: Path, dataset: Dataset, limit: int) -> Iterator[Document | UsageError]:
    """Yield each book of a collection, or what is wrong with its line, in order.

    ``limit`` is of one line, in bytes; only one book is in memory at a time.
    """
    repairs = repairs_of(dataset.name)
    for number, line in enumerate(lines(path, limit), start=1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            title, text = str(said["title"]), said["text"]
            if not isinstance(text, str) or not title:
                raise UsageError(f"{path.name}:{number} has no text or no title")
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            yield UsageError(f"{path.name}:{number} is no book: {fault}")
            continue
        headings, fields = headings_of(text, title)
        source = _source(dataset, said, title, fields)
        name = str(said.get("file") or f"{title}.txt")
        yield Document(name, source, "zh", text, headings, repairs, _MARKS)


def headings_of(text: str, title: str) -> tuple[tuple[Heading, ...], dict[str, str]]:
    """Give the headings of a tagged book and what its opening block says of it."""
    found: list[Heading] = []
    fields: dict[str, str] = {}
    for each in _HEAD.finditer(text):
        start, end = each.span()
        own = _marked(each["title"] or "")
        chapter = (each["chapter"] or each["alone"] or "").strip()
        if own == title and not found and not chapter:
            while field := _FIELD.match(text, end):
                fields[field[1]], end = field[2].strip(), field.end()
            found.append(Heading(start, end, (title,)))
            continue
        names = [part.strip() for part in (*chapter.split("\\"), own) if part.strip()]
        found.append(Heading(start, end, (title, *names)))
    return tuple(found), fields


def _marked(title: str) -> str:
    """Put □ where a blank stands for a character that was lost: a title of 鱼 may be any fish."""
    return re.sub(r"[ \u3000]+", "□", title.rstrip()) + ("□" if title.endswith(" ") else "")


def _source(dataset: Dataset, said: dict[str, Any], title: str, fields: dict[str, str]) -> Source:
    from pypinyin import lazy_pinyin

    number = re.sub(r"[^a-z0-9]+", "-", str(said.get("no") or said.get("file", "")).lower())
    number = number.strip("-") or "-".join(lazy_pinyin(title))
    year = _YEAR.search(fields.get("年份", ""))
    about = "；".join(
        f"{key}：{value}" for key in ("作者", "朝代", "年份") if (value := fields.get(key))
    )
    return Source(
        f"{dataset.name}-{number}", title, " ".join(lazy_pinyin(title)).capitalize(), Tier.CLASSIC,
        year[1].zfill(4) if year else "", licence=dataset.source.licence,
        lineage=f"{dataset.name}-{number}", note=f"{dataset.source.title_zh}；{about}".rstrip("；"),
    )  # fmt: skip
