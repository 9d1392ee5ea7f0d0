"""The queue: what waits, filtered; batches and assignment."""

from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.queue import MOST, WHOSE, Filter
from shiyi.curation.roles import Right, require
from shiyi.errors import StaleError, UsageError
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.claim import decide
from shiyi.server.curating.claim_view import rows_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.inputs import count_field
from shiyi.server.kept import Kept
from shiyi.server.wording import catalogue, chosen_language

PAGE: Final = 25


def queue_routes(kept: Kept, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/queue`` and what its forms send: a batch, an assignment."""
    routes = Blueprint("queue", __name__, url_prefix=PREFIX)

    @routes.get("/queue")
    @needs(Right.READ)
    def queue() -> str:
        chosen = Filter.of(request.args)
        offset = count_field("from", request.args.get("from"), 0, 10_000_000) or 0
        page = reviewing.queue.page(person().name, chosen, offset, PAGE)
        rows = rows_of(kept.reader(chosen_language()), page.items)
        return render_template(
            "curate/queue.html", page=page, rows=rows, chosen=chosen, said=urlencode(chosen.said()),
            choices=reviewing.queue.choices(), whose=WHOSE, size=PAGE, key=uuid4().hex,
            source_name=lambda iri: kept.reader(chosen_language()).thing(NamedNode(iri)).label,
        )  # fmt: skip

    @routes.post("/batch")
    @needs(Right.REVIEW)
    def batch() -> BaseResponse:
        form, kind = request.form, request.form.get("kind", "")
        claims = form.getlist("claims")
        if not 0 < len(claims) <= MOST:
            raise UsageError(catalogue()("curate.choose_claims", n=MOST))
        done, stale = 0, 0
        for place, said in enumerate(claims):
            iri, _, version = said.partition(" ")
            try:
                decide(reviewing, iri, kind, version, f"{form.get('key', '')} {place} {iri}")
                done += 1
            except StaleError:
                stale += 1
        flash(catalogue()("curate.batch_done", n=done))
        if stale:
            flash(catalogue()("curate.batch_stale", n=stale))
        return redirect(f"{PREFIX}/queue?{_query(Filter.of(form))}")

    @routes.post("/assign")
    @needs(Right.REVIEW)
    def assign() -> BaseResponse:
        form, mine = request.form, person()
        to = form.get("to", "").strip() or mine.name
        if to != mine.name:
            require(mine.role, Right.APPROVE)
        claims = [each.partition(" ")[0] for each in form.getlist("claims")]
        made = reviewing.queue.assign(claims, to, mine.name, form.get("reason", ""))
        flash(catalogue()("curate.assigned", n=len(made), name=to))
        return redirect(f"{PREFIX}/queue?{_query(Filter.of(form))}")

    return routes


def _query(chosen: Filter) -> str:
    return urlencode(chosen.said())
