"""Answers are Markdown from a composer or a model: rendered without raw HTML, then cleaned."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING

from markupsafe import Markup

from shiyi.model.names import ID

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = frozenset(
    {
        "p", "br", "strong", "em", "ul", "ol", "li", "a", "code", "blockquote", "hr", "h2", "h3",
        "h4", "table", "thead", "tbody", "tr", "th", "td", "pre",
    }
)  # fmt: skip
_HEADING = re.compile(r"(?=<h[234]>)")
_ITEM = re.compile(r"<li>(.*?)</li>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_CITE = re.compile(r'<a class="cite"[^>]*>\d+</a>')
_PIECE = re.compile(r"(<[^>]*>)")
_MARK = re.compile(r"\[(\d{1,3})\]")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def rendered(markdown: str, citations: dict[int, str], label: str = "citation") -> Markup:
    """Give safe HTML in which ``[n]`` leads to citation ``n``, if there is one.

    >>> str(rendered("**Eat** <script>x</script> [1]", {})).strip()
    '<p><strong>Eat</strong> &lt;script&gt;x&lt;/script&gt; [1]</p>'
    >>> str(rendered("[1]", {1: "goji · is · warm"})).count('href="#citation-1"')
    1
    """
    import nh3

    html = nh3.clean(
        _parser().render(markdown),
        tags=set(_TAGS),
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )
    html = html.replace(f'href="{ID}', 'href="/page/')

    def chip(found: re.Match[str]) -> str:
        number = int(found[1])
        if number not in citations:
            return found[0]
        return (
            f'<a class="cite" href="#citation-{number}" title="{escape(citations[number])}" '
            f'aria-label="{escape(label)} {number}">{number}</a>'
        )

    pieces = _PIECE.split(html)
    # every other piece is a tag; marks are looked for in the text alone
    return Markup("".join(p if i % 2 else _MARK.sub(chip, p) for i, p in enumerate(pieces)))  # noqa: S704 - cleaned by nh3 above


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer in parts: before its first heading, its paths, and everything else."""

    opening: Markup
    paths: Markup
    rest: Markup


def parted(html: Markup, shown: Sequence[str], paths: str = "") -> Parts:
    """Part an answer at its headings; sections that only repeat ``shown`` are left out.

    ``paths`` is the heading of the section that goes with the graph.

    >>> parted(Markup("<p>a</p><h3>b</h3><blockquote><p>⚠ c</p></blockquote>"), ["c"]).rest
    Markup('')
    >>> parted(Markup("<p>a</p><h3>P</h3><p>x</p><h3>b</h3>"), [], "P").paths
    Markup('<p>x</p>')
    """
    opening, *sections = _HEADING.split(str(html))
    said = {_bare(text) for text in shown}
    kept, along = [], []
    for section in (each for each in sections if not _repeats(each, said)):
        heading, _, body = section.partition("</h3>")
        if paths and _bare(heading) == _bare(paths):
            along.append(body)
        else:
            kept.append(section)
    # parts of what rendered() cleaned
    return Parts(Markup(opening), Markup("".join(along)), Markup("".join(kept)))  # noqa: S704


def _repeats(section: str, said: set[str]) -> bool:
    if (items := _ITEM.findall(_CITE.sub("", section))) and "<blockquote>" not in section:
        return {_bare(item) for item in items} <= said
    heading, quote, body = section.partition("<blockquote>")
    if not quote or "<p>" in heading or body.rstrip().partition("</blockquote>")[2]:
        return False
    pieces = [_bare(piece) for piece in _CITE.sub("", body).split("⚠")]
    return {piece for piece in pieces if piece} <= said


def _bare(text: str) -> str:
    return "".join(unescape(_TAG.sub("", text)).split()).casefold().rstrip(".。")
