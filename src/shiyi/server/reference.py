"""``/vocab/reference``: every class, property, scheme and shape on one linked page."""

from functools import cache

from flask import Blueprint, Response

from shiyi.publishing.vocabulary import reference_html
from shiyi.server.wording import chosen_language


@cache
def _parts(language: str) -> tuple[str, str]:
    """Part the page from its style, which our content policy wants as a file of its own."""
    page = reference_html(language)
    before, _, rest = page.partition("<style>")
    style, _, after = rest.partition("</style>")
    link = '<link rel="stylesheet" href="/vocab/reference.css">'
    return f"{before}{link}{after}", style


def reference() -> Blueprint:
    """Serve the reference in the reader's language, and its style."""
    routes = Blueprint("reference", __name__)

    @routes.get("/vocab/reference")
    def page() -> Response:
        return Response(_parts(chosen_language())[0], content_type="text/html; charset=utf-8")

    @routes.get("/vocab/reference.css")
    def style() -> Response:
        return Response(_parts("en")[1], content_type="text/css; charset=utf-8")

    return routes
