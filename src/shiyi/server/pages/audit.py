"""The audit page: checks a text against the claims, sentence by sentence."""

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import Any

from flask import Blueprint, Response, request, stream_template

from shiyi.answering.generation.audit import (
    MAX_CHARS,
    AuditedSentence,
    Auditor,
    count_verdicts,
    link_code,
    split_sentences,
)
from shiyi.server.http.messages import text_field
from shiyi.server.i18n import choose_language
from shiyi.server.site.site import Site

_MAX_CODE = 8_000  # characters of a link


def audit_pages(site: Site) -> Blueprint:
    """Serve ``/audit``; verdicts are sent one by one, as soon as each is known.

    A text may be private: it is not stored and in no address. A link has verdicts and claims.
    """
    routes = Blueprint("auditing", __name__)

    @routes.route("/audit", methods=["GET", "POST"])
    def audit() -> Response:
        language = choose_language()
        text, total = "", 0
        found: Iterable[AuditedSentence] = ()
        if request.method == "POST":
            text = text_field("text", request.form.get("text"), MAX_CHARS)
            sentences = split_sentences(text)
            found, total = Auditor(site.runtime).verdicts(sentences, language), len(sentences)
        elif code := request.args.get("result", ""):
            linked = Auditor(site.runtime).audit_link(
                text_field("result", code, _MAX_CODE), language
            )
            found, total = linked, len(linked)
        shown, done = tee(found)

        def summary() -> dict[str, Any]:
            audited = tuple(done)
            return {"counts": count_verdicts(audited), "code": link_code(audited)}

        page: Iterator[str] = stream_template(
            "audit.html", text=text, most=MAX_CHARS, sentences=shown, total=total, summary=summary
        )
        response = Response(page, content_type="text/html; charset=utf-8")
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"  # a proxy must not buffer the verdicts
        return response

    return routes
