"""One search over concepts, claims, pages and queries: a page, and JSON for the palette."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final

from flask import Blueprint, Response, render_template, request, url_for

from shiyi.model.rdf import NamedNode
from shiyi.server.http.messages import text_field, to_json
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import Catalogue, catalogue, choose_language
from shiyi.server.pages.documentation import search_pages
from shiyi.server.site.site import Site, Suggestion
from shiyi.server.sparql.protocol import examples
from shiyi.server.views.concept import THEMES, heading
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader

_MOST: Final = 200  # characters of what is searched for
_CONCEPTS, _CLAIMS, _REST = 40, 6, 5
_PAGES: Final = {
    "ask": "/ask", "check": "/check", "browse": "/browse", "dishes": "/dishes", "query": "/sparql",
    "vocabulary": "/vocab", "audit": "/audit", "compare": "/compare", "statistics": "/statistics",
    "docs": "/docs/", "api": "/api",
}  # fmt: skip
_ORDER: Final = tuple(name for names in THEMES.values() for name in names)


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found: where it leads, what it says, and a few words about it."""

    href: str
    label: str
    detail: str = ""


def search_routes(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/concept-search`` and ``/api/search``."""
    routes = Blueprint("searching", __name__)

    def find_all() -> tuple[str, tuple[Suggestion, ...], dict[str, list[Hit]]]:
        words = request.args.get("q", "")
        words = text_field("q", words, _MOST).strip() if words.strip() else ""
        concepts = tuple(site.complete(words, choose_language(), _CONCEPTS)) if words else ()
        groups = _search(cache.reader(), words, concepts) if words else {}
        return words, concepts, groups

    @routes.get("/concept-search")
    def search() -> Response:
        def render() -> str:
            words, concepts, groups = find_all()
            return render_template("search.html", words=words, found=concepts, groups=groups)

        return cache.response(render)

    @routes.get("/api/search")
    def search_json() -> Response:
        def render() -> str:
            words, concepts, others = find_all()
            shown = [Hit(href(each.iri), each.label, _alias(each)) for each in concepts[:_CLAIMS]]
            groups = {"concepts": shown, **others}
            hits = {kind: [asdict(hit) for hit in found] for kind, found in groups.items() if found}
            return to_json({"q": words, "groups": hits})

        return cache.response(render, "application/json")

    return routes


def _alias(each: Suggestion) -> str:
    return each.label_en if each.label == each.label_zh else each.label_zh


def _search(reader: Reader, words: str, concepts: Iterable[Suggestion]) -> dict[str, list[Hit]]:
    first = next((suggestion for suggestion in concepts if not suggestion.approximate), None)
    return {
        "claims": _claims(reader, NamedNode(first.iri)) if first else [],
        "pages": list(islice(_pages(words, catalogue()), _REST)),
        "queries": list(islice(_queries(words), _REST)),
    }


def _claims(reader: Reader, node: NamedNode) -> list[Hit]:
    """Return claims about a concept: what speaks against it first, the surest of each relation."""

    def rank(name: str) -> int:
        return _ORDER.index(name) if name in _ORDER else len(_ORDER)

    found = [each for each in reader.statements(node) if not (each.derived or each.negative)]
    found.sort(key=lambda each: (rank(each.predicate), -each.confidence, each.claim))
    return [
        Hit(
            href(each.claim),
            " · ".join((each.subject.label, heading(reader, each.predicate), each.object.label)),
            f"{each.confidence:.2f}",
        )
        for each in found[:_CLAIMS]
    ]


def _pages(words: str, texts: Catalogue) -> Iterator[Hit]:
    wanted = words.casefold()
    for key, path in _PAGES.items():
        label = texts(f"site.{key}")
        if wanted in label.casefold() or wanted in key:
            yield Hit(path, label)
    for place in search_pages(words):
        yield Hit(place.address, place.title, place.text)


def _queries(words: str) -> Iterator[Hit]:
    language, wanted = choose_language(), words.casefold()
    for example in examples():
        question = example.question_zh if language == "zh" else example.question_en
        if wanted in question.casefold() or wanted in example.name:
            yield Hit(url_for("sparql.sparql", query=example.text), question, example.name)
