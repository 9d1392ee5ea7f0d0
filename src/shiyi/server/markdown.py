"""Answers are Markdown from a composer or a model: rendered without raw HTML, then cleaned."""

import re
from functools import cache
from html import escape
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
_PIECE = re.compile(r"(<[^>]*>)")
_MARK = re.compile(r"\[(\d{1,3})\]")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def rendered(markdown: str, citations: dict[int, str], label: str = "citation") -> Markup:
    """Give safe HTML in which ``[n]`` leads to citation ``n``, if there is one.

    >>> rendered("Eat **well** <script>x</script> [1][2]", {1: "goji · is · warm"})
    Markup('<p>Eat <strong>well</strong> &lt;script&gt;x&lt;/script&gt; <a class="cite" \
href="#citation-1" title="goji · is · warm" aria-label="citation 1">1</a>[2]</p>\\n')
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
