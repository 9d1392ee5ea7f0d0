"""The review of one claim: accept, reject, leave open, skip, comment; then the next one."""

from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from flask import Blueprint, Response, flash, json, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.ledger import Change
from shiyi.curation.queue import Filter
from shiyi.curation.roles import Right
from shiyi.errors import FormatError, StaleError, UsageError
from shiyi.server.curating.claim_view import desk_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curating.stale import stale_page
from shiyi.server.kept import Kept
from shiyi.server.wording import catalogue, chosen_language

_KINDS: Final = ("accept", "reject", "unsure", "skip")


def claim_routes(kept: Kept, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/claim``, ``/curate/review`` and ``/curate/comment``."""
    routes = Blueprint("claim_desk", __name__, url_prefix=PREFIX)

    @routes.get("/claim")
    @needs(Right.READ)
    def claim() -> str:
        reader, iri = kept.reader(chosen_language()), request.args.get("claim", "")
        desk = desk_of(reader, reviewing, iri)
        if desk is None:
            raise NotFound(catalogue()("curate.no_claim"))
        chosen = Filter.of(request.args)
        after = reviewing.queue.next_after(person().name, chosen, iri)
        return render_template(
            "curate/review.html", desk=desk, key=uuid4().hex, said=chosen.said(), after=after,
            following=_address(after, chosen) if after else "",
        )  # fmt: skip

    @routes.post("/review")
    @needs(Right.REVIEW)
    def review() -> BaseResponse | str | tuple[str, int]:
        form, chosen = request.form, Filter.of(request.form)
        iri, kind = form.get("claim", ""), form.get("kind", "")
        after = reviewing.queue.next_after(person().name, chosen, iri)
        try:
            change = decide(reviewing, iri, kind, form.get("version", ""), form.get("key", ""))
        except StaleError:
            if _wants_json():
                raise
            return stale_page(kept, reviewing, iri, form.get("version", ""), kind)
        if _wants_json():
            return _json(change, reviewing)
        flash(json.dumps({"kind": kind, "change": change.iri, "claim": iri}), "reviewed")
        return redirect(
            _address(after, chosen) if after else f"{PREFIX}/queue?{urlencode(chosen.said())}"
        )

    @routes.post("/comment")
    @needs(Right.COMMENT)
    def comment() -> BaseResponse:
        form = request.form
        thing = form.get("thing", "")
        change = reviewing.decisions.comment(
            thing, person().name, form.get("text", ""), form.get("key", "")
        )
        if _wants_json():
            return _json(change, reviewing)
        back = "claim?claim=" if "/claim/" in thing else "thing?iri="
        return redirect(f"{PREFIX}/{back}{urlencode({'': thing})[1:]}#comments")

    return routes


def decide(reviewing: Reviewing, iri: str, kind: str, version: str, key: str) -> Change:
    """Write what a form says of one claim."""
    if kind not in _KINDS:
        raise FormatError("decision", kind, _KINDS)
    who, reason = person().name, request.form.get("reason", "").strip()
    key = f"{who} {key}" if key else ""
    if kind == "skip":
        return reviewing.decisions.skip(iri, who, reason, key)
    said = request.form.get("agreement", "")
    try:
        agreed = float(said) if said and kind != "unsure" else None
    except ValueError:
        raise UsageError(f"an agreement is a number in [-1, 1], not {said[:40]!r}") from None
    if agreed is not None and kind == "reject":
        agreed = -abs(agreed)
    return reviewing.decisions.review(
        iri, kind, who, reason, agreement=agreed, expected=version, key=key
    )


def _json(change: Change, reviewing: Reviewing) -> Response:
    claim = change.about[0]
    said = {"change": change.iri, "number": change.number, "kind": change.kind, "claim": claim}
    if change.kind not in {"comment", "skip"}:
        now = reviewing.decisions.weighing(claim)
        said |= {
            "status": now.claim.status.value, "confidence": now.claim.confidence,
            "version": now.version, "waits": now.verdict.waits,
        }  # fmt: skip
    return Response(json.dumps(said, ensure_ascii=False), content_type="application/json")


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"


def _address(claim: str, chosen: Filter) -> str:
    return f"{PREFIX}/claim?{urlencode({**chosen.said(), 'claim': claim})}"
