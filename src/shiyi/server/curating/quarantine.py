"""The quarantine desk: what the gate held back, with passage and reason."""

from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation import quarantine
from shiyi.curation.roles import Right
from shiyi.curation.state import version_of
from shiyi.errors import StaleError, UsageError
from shiyi.model.names import ID
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.inputs import count_field
from shiyi.server.kept import Kept
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language

SHOWN = 20  # claims of one page
_BATCH = 100  # claims that one form settles


def quarantine_routes(site: Site, kept: Kept, curation: Curation) -> Blueprint:
    """Serve ``/curate/quarantine``."""
    routes = Blueprint("quarantine", __name__, url_prefix=PREFIX)
    store = site.store

    @routes.get("/quarantine")
    @needs(Right.READ)
    def desk() -> str:
        page = count_field("page", request.args.get("page"), 1, 100_000) or 1
        relation, reason = request.args.get("relation", ""), request.args.get("reason", "")
        start = (page - 1) * SHOWN
        found = quarantine.waiting(store, relation[:100], reason[:500], start, SHOWN + 1)
        reader, language = kept.reader(chosen_language()), chosen_language()
        return render_template(
            "curate/quarantine.html", found=[
                (each, reader.claim(each.stored.iri, each.stored.home), marked(each),
                 version_of(store, each.stored.iri.value))
                for each in found[:SHOWN]
            ],
            more=len(found) > SHOWN, page=page, relation=relation, reason=reason,
            relations=quarantine.relations(store).most_common(), key=uuid4().hex,
            reasons=quarantine.reasons(store, language).most_common(30),
        )  # fmt: skip

    @routes.post("/quarantine")
    @needs(Right.REVIEW)
    def settle() -> BaseResponse:
        names = request.form.getlist("claim")
        if not names:
            raise UsageError(catalogue()("quarantine.none_chosen"))
        if len(names) > _BATCH:
            raise UsageError(f"at most {_BATCH} claims are settled at once")
        seen = dict(each.rpartition("=")[::2] for each in request.form.getlist("version"))
        why, key = request.form.get("reason", ""), request.form.get("key", "")
        writing = curation.writing
        with writing.writer.turn():
            edits = [
                quarantine.rejected(store, ID + name, why, seen.get(name, ""), key and f"{key} {name}")
                for name in names
                if not (key and writing.of_key(f"{key} {name}"))
            ]  # fmt: skip
            try:
                made = writing.make_all(edits, person().name) if edits else ()
            except StaleError as fault:
                raise UsageError(str(fault)) from fault
        flash(catalogue()("quarantine.rejected", n=len(made)))
        return redirect(f"{PREFIX}/quarantine")

    return routes


def marked(held: quarantine.HeldBack) -> tuple[str, str, str]:
    """Part a passage into what stands before its quote, the quote, and what follows."""
    quote = next((e.quote for e in held.stored.claim.evidence if e.quote and e.passage), "")
    before, found, after = held.passage.partition(quote) if quote else (held.passage, "", "")
    return before, found, after
