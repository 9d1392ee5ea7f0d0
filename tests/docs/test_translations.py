"""The Chinese pages of docs are translations: headings, code, links and figures of the English."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.docs.test_pages import headings_of
from tests.support.places import ROOT

DOCS = ROOT / "docs"
ENGLISH_ONLY = {"SECURITY.md"}
TERMS = "glossary.md"  # its modules stand in the English page alone
DRAWN = {"explanation/architecture.md"}  # the words of its diagrams are translated too
MAX_WORDS = 30_000
MAX_CHARACTERS = 51_000  # the same size: a Chinese word has about 1.7 characters
PAGES = {
    page.relative_to(DOCS).as_posix(): page
    for page in sorted(DOCS.rglob("*.md"))
    if not page.name.endswith(".zh.md")
}


def chinese(page: Path) -> Path:
    return page.with_name(page.name.removesuffix(".md") + ".zh.md")


def parts(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def inline(text: str) -> Iterator[Token]:
    for token in parts(text):
        yield from token.children or ()


def headings(text: str) -> list[str]:
    """Return the marks and anchors of headings, so that a link leads to the same in both."""
    title, *rest = headings_of(text)
    return [title[0], *(f"{mark} {anchor}" for mark, anchor in rest)]


def code(text: str) -> list[str]:
    """Return the lines of code, without comments and with one language of labels."""
    blocks = (part.content for part in parts(text) if part.type in {"fence", "code_block"})
    lines = (re.sub(r"(?:^|\s+)#\s.*", "", line).strip() for line in "".join(blocks).splitlines())
    return [line.replace('= "zh"', '= "en"') for line in lines if line]


def modules(text: str) -> list[str]:
    return re.findall(r"\w+(?:/[\w*.]+)+", "\n".join(code(text)))


def spans(text: str) -> set[str]:
    return {item.content for item in inline(text) if item.type == "code_inline"}


def links(text: str) -> Counter[str]:
    ends = {"link_open": "href", "image": "src"}
    targets = (str(item.attrGet(ends[item.type])) for item in inline(text) if item.type in ends)
    return Counter(target.replace(".zh.md", ".md") for target in targets)


def figures(text: str) -> set[str]:
    words = " ".join(item.content for item in inline(text) if item.type == "text")
    return set(re.findall(r"\d+(?:[.,]\d+)*", words))


def test_each_page_has_a_translation() -> None:
    assert {name for name in PAGES if not chinese(PAGES[name]).exists()} == ENGLISH_ONLY


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ENGLISH_ONLY])
def test_a_translation_has_the_parts_of_its_page(name: str) -> None:
    english = PAGES[name].read_text("utf-8")
    other = chinese(PAGES[name]).read_text("utf-8")
    assert headings(other) == headings(english)
    assert links(other) == links(english)
    look = modules if name in DRAWN else code
    assert look(other) == look(english)
    if name != TERMS:
        assert figures(english) - figures(other) == set()
        assert spans(other) == spans(english)


def test_every_term_is_translated() -> None:
    own = PAGES[TERMS].read_text("utf-8").partition("## Standard terms")[0]
    terms = [row.split("|")[1].strip() for row in own.splitlines() if row.startswith("| ")][1:]
    assert len(terms) > 80
    other = chinese(PAGES[TERMS]).read_text("utf-8")
    assert [term for term in terms if f"| {term} |" not in other] == []


def test_a_part_that_is_left_out_is_noticed() -> None:
    english = "# A\n\n## B c\n\nUse `b` 3 times, see [c](c.md).\n\n```\nrun it   # now\n```\n"
    other = "# 甲\n\n## 乙 {#b-c}\n\n`b` 用 3 次，见[丙](c.zh.md)。\n\n```\nrun it   # 现在\n```\n"
    for look in (headings, code, spans, links, figures):
        assert look(other) == look(english)
        assert look("# 甲") != look(english)


def test_both_languages_keep_within_their_size() -> None:
    words = sum(len(page.read_text("utf-8").split()) for page in PAGES.values())
    texts = (page.read_text("utf-8") for page in DOCS.rglob("*.zh.md"))
    characters = sum(len(re.findall(r"[\u4e00-\u9fff]", text)) for text in texts)
    assert words <= MAX_WORDS
    assert characters <= MAX_CHARACTERS
