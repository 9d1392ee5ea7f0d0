"""The documentation as pages, and the interactive description of the API."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise
from os.path import normpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flask import Blueprint, Response, redirect, render_template, request
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.artefacts import artefact
from shiyi.server.api.routes import document
from shiyi.server.http.messages import text_field
from shiyi.server.i18n import Catalogue, choose_language
from shiyi.server.pages.references import QUERIES, find_page
from shiyi.server.site.site import Site
from shiyi.server.views.remedies import declare_prefixes

_START: Final = "index.md"
_CHINESE: Final = ".zh.md"  # the ending of a translation, beside the page of the same name
# the kinds of pages (https://diataxis.fr), in the order of the contents; the rest follows
KINDS: Final = ("tutorials", "how-to", "reference", "explanation")
_PICTURES: Final = {".svg": "image/svg+xml", ".webp": "image/webp"}
_ANCHOR: Final = re.compile(r"[^\w\- ]")
_EXPLICIT: Final = re.compile(r"\s*\{#([\w-]+)\}$")  # the anchor of a translated heading
_MARKS: Final = re.compile(r"\]\([^)]*(?:\)|$)|\s*\{#[\w-]*\}?|[`*|\[]+|-{3,}|#+ ")
_TABLES: Final = "bench/tables"  # what runs have measured
_SHOWN: Final = 40  # places found
_AROUND: Final = 90  # characters beside what was found


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page, with its anchor."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation, rendered; its name is the same in each language."""

    name: str
    language: str
    title: str
    html: Markup
    headings: tuple[Heading, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where words were found: a page, its language and title, and the text around."""

    name: str
    language: str
    title: str
    text: str

    @property
    def address(self) -> str:
        """Return the address of the page, in its language where that is not the reader's."""
        other = self.language != choose_language()
        return f"/docs/{self.name}" + (f"?lang={self.language}" if other else "")


@cache
def page_files() -> dict[str, Path]:
    """Return the files of the documentation by their names in addresses."""
    root, tables = artefact("docs"), artefact(_TABLES)
    paths = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.md"))}
    return paths | {f"figures/{path.name}": path for path in sorted(tables.glob("*.md"))}


def read_page(name: str, language: str = "") -> Page:
    """Render a page in a language, by default the reader's; raise NotFound for a name of none.

    A page that is not translated is rendered in English.
    """
    language = language or choose_language()
    if (write := find_page(name)) is not None:
        return _make_page(name, language, write)
    if name not in page_files():
        raise NotFound("the documentation has no such page; /docs/ lists all")
    return _stored_page(translated if (translated := _chinese(name)) and language == "zh" else name)


def _chinese(name: str) -> str:
    """Return the name of the Chinese file of a page, empty where there is none."""
    result = name.removesuffix(".md") + _CHINESE
    return result if result in page_files() else ""


@cache
def _stored_page(name: str) -> Page:
    language = "zh" if name.endswith(_CHINESE) else "en"
    return _render_page(name.replace(_CHINESE, ".md"), language, _text(name))


@cache
def _text(name: str) -> str:
    return page_files()[name].read_text("utf-8")


@cache
def _fold_name(name: str) -> str:
    return _text(name).casefold()


@lru_cache(maxsize=64)
def _make_page(name: str, language: str, write: Callable[[], str]) -> Page:
    return _render_page(name, language if name == QUERIES else "en", write())


def _render_page(name: str, language: str, text: str) -> Page:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    headings = tuple(_add_anchors(tokens))
    _relink(name, tokens)
    title = next((heading.text for heading in headings), name)
    _link_queries(tokens, Catalogue.load(language)("sparql.run"))
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    shown = Markup(html)  # noqa: S704 - our own texts, no raw HTML
    return Page(name, language, title, shown, headings, text)


def _add_anchors(tokens: list[Token]) -> Iterator[Heading]:
    """Add an anchor to each heading as other renderers do, or as ``{#id}`` states, and yield it."""
    seen: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        parts = inline.children or []
        match = _EXPLICIT.search(parts[-1].content) if parts else None
        if match:
            parts[-1].content = parts[-1].content[: match.start()]
        words = "".join(part.content for part in parts)
        anchor = _ANCHOR.sub("", words.lower()).strip().replace(" ", "-")
        anchor = match[1] if match else anchor
        seen[anchor] = seen.get(anchor, -1) + 1
        anchor += f"-{seen[anchor]}" if seen[anchor] else ""
        opening.attrSet("id", anchor)
        yield Heading(int(opening.tag[1]), words, anchor)


def _link_queries(tokens: list[Token], words: str) -> None:
    """Add a link to each query in SPARQL that runs it on this server."""
    for place in reversed(range(len(tokens))):
        if tokens[place].info == "sparql":
            query = declare_prefixes(tokens[place].content.strip())
            link = f'<p><a class="chip small" href="/sparql?query={quote(query)}">{words}</a></p>\n'
            tokens.insert(place + 1, Token("html_block", "", 0, content=link))


def _relink(name: str, tokens: list[Token]) -> None:
    """Turn links that leave the documentation into plain text; other pages stay linked."""
    for token in tokens:
        dropped = False
        for child in token.children or ():
            if child.type == "link_open":
                link = str(child.attrGet("href")).replace(_CHINESE, ".md")
                link = _on_this_server(name, link)
                child.attrSet("href", link)
                dropped = not _is_served(name, link)
            if dropped and child.type in ("link_open", "link_close"):
                dropped = child.type == "link_open"
                child.type, child.tag, child.nesting, child.content = "text", "", 0, ""


def _on_this_server(name: str, link: str) -> str:
    """Return the address of a page that lies in another folder of the repository than it is served.

    >>> _on_this_server("how-to/ingest.md", "../../bench/tables/books.md#a")
    '/docs/figures/books.md#a'
    """
    target, mark, anchor = link.partition("#")
    home = _TABLES if name.startswith("figures/") else f"docs/{Path(name).parent}"
    place = "" if "://" in link or not target else normpath(Path(home) / target)
    for folder, served in ((f"{_TABLES}/", "/docs/figures/"), ("docs/", "/docs/")):
        if place.startswith(folder) and folder.startswith("bench") != name.startswith("figures/"):
            return served + place.removeprefix(folder) + mark + anchor
    return link


def _is_served(name: str, link: str) -> bool:
    """Return whether a link of a page leads to a place of this server, or to another."""
    target = link.partition("#")[0]
    if not target or "://" in link or link.startswith(("mailto:", "/")):
        return True
    place = normpath(Path(name).parent / target)
    return place in page_files() or place in pictures() or find_page(place) is not None


def search_pages(words: str) -> list[Place]:
    """Return the first place in each page that has all words, those with it in the title first.

    A page is searched in the reader's language, and in the other where nothing is found.
    """
    asked, places = words.casefold().split(), []
    for name in page_files():
        if name.endswith(_CHINESE):
            continue
        files = [name, *([_chinese(name)] if _chinese(name) else [])]
        for file in reversed(files) if choose_language() == "zh" else files:
            text, folded = _text(file), _fold_name(file)
            if all(each in folded for each in asked):
                at = folded.index(max(asked, key=len))
                around = _MARKS.sub(" ", text[max(0, at - _AROUND) : at + _AROUND])
                around = " ".join(around.split())
                page = _stored_page(file)
                places.append(Place(name, page.language, page.title, around))
                break
    titled = [place for place in places if any(word in place.title.casefold() for word in asked)]
    return [*titled, *(place for place in places if place not in titled)][:_SHOWN]


def documentation(site: Site) -> Blueprint:
    """Serve ``/docs/`` and ``/api``."""
    routes = Blueprint("documentation", __name__)

    @routes.get("/docs")
    def bare() -> BaseResponse:
        return redirect("/docs/", code=308)

    @routes.get("/docs/")
    def start() -> str:
        words = request.args.get("q", "")
        places = search_pages(text_field("q", words, 200)) if words.strip() else []
        return _render_docs(_START, words, places)

    @routes.get("/docs/<path:name>")
    def page(name: str) -> str | BaseResponse:
        in_tables = name.startswith("figures/")
        file = artefact(_TABLES if in_tables else "docs") / name.removeprefix("figures/")
        if file.suffix in _PICTURES and name in pictures():
            response = Response(file.read_bytes(), content_type=_PICTURES[file.suffix])
            response.headers["Cache-Control"] = "public, max-age=3600"
            return response
        if name.endswith(_CHINESE) and name in page_files():
            return redirect(f"/docs/{name.replace(_CHINESE, '.md')}?lang=zh", code=308)
        if name not in page_files() and find_page(name) is None and (moved := _moved_to(name)):
            return redirect(f"/docs/{moved}", code=308)
        return _render_docs(name)

    @routes.get("/api")
    def api() -> str:
        api = document(site)
        example = partial(_example, api["components"]["schemas"])
        return render_template("api.html", paths=api["paths"], example=example)

    return routes


@cache
def pictures() -> frozenset[str]:
    """Return the pictures of the documentation, so that no other path is ever opened."""
    root = artefact("docs")
    files = (path for path in root.rglob("*") if path.suffix in _PICTURES)
    paths = (path for path in artefact(_TABLES).glob("*") if path.suffix in _PICTURES)
    own = {path.relative_to(root).as_posix() for path in files}
    return frozenset(own | {f"figures/{path.name}" for path in paths})


def _moved_to(name: str) -> str:
    """Return the page of that name in any folder, with or without its ending."""
    last = Path(name).name.lower()
    return next((file for file in page_files() if Path(file).name in {last, f"{last}.md"}), "")


def contents() -> dict[str, list[Page]]:
    """Return the pages by kind, in the language of the reader."""
    pages: dict[str, list[Page]] = {kind: [] for kind in KINDS}
    for name in page_files():
        kind, _, rest = name.partition("/")
        if kind in pages and "/" not in rest and not name.endswith(_CHINESE):
            pages[kind].append(read_page(name))
    others = ("glossary.md", QUERIES, "reference/python.md")
    pages["reference"] += [read_page(name) for name in others]
    return pages


def _render_docs(name: str, words: str = "", places: list[Place] | None = None) -> str:
    page = read_page(name)
    return render_template("docs.html", page=page, kinds=contents(), words=words, places=places)


def _example(schemas: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return the fields of a request that have an example or are needed, as JSON."""
    model = schemas.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    required = model.get("required", [])
    values = {
        name: item["examples"][0] if "examples" in item else ""
        for name, item in model.get("properties", {}).items()
        if "examples" in item or name in required
    }
    return json.dumps(values, ensure_ascii=False, indent=2)
