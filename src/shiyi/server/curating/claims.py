"""The review queue and the review of a claim."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from flask import Blueprint, Response, flash, json, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right, require
from shiyi.curation.changes import Change, Difference, parse_iri, version_of
from shiyi.curation.opinions import Opinion
from shiyi.curation.queue import MOST, WHOSE, Filter, Item
from shiyi.curation.reviews import ClaimAssessment
from shiyi.errors import FormatError, StaleError, UsageError
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.reasoning.confidence.reviews import moved
from shiyi.server.curating.editor import Line, lines_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import count_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, chosen_language
from shiyi.server.views.reader import ClaimView, Reader


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the queue."""

    item: Item
    claim: ClaimView
    version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One change of the history; ``live`` is whether it was not undone."""

    change: Change
    live: bool
    lines: tuple[Line, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class ClaimDesk:
    """Everything on the page of one claim under review."""

    claim: ClaimView
    assessment: ClaimAssessment
    opinions: tuple[Opinion, ...]
    events: tuple[Event, ...]
    own: float  # what the evidence alone gives
    if_accepted: float
    if_rejected: float
    assigned: str


def rows_of(reader: Reader, items: tuple[Item, ...]) -> list[Row]:
    """Return the lines of a page of the queue."""
    return [
        Row(item, view, version_of(reader.store, item.claim))
        for item in items
        if (view := view_of(reader, item.claim)) is not None
    ]


def view_of(reader: Reader, iri: str) -> ClaimView | None:
    """Read a claim where it lives, or None where it is no claim."""
    node = parse_iri(iri)
    home = reader.home_of_claim(node)
    return None if home is None else reader.claim(node, home)


def desk_of(reader: Reader, reviewing: Reviewing, iri: str) -> ClaimDesk | None:
    """Return the page of a claim, None where there is no such claim."""
    view = view_of(reader, iri)
    if view is None:
        return None
    assessment = reviewing.decisions.assess(iri)
    own = _own(assessment)
    return ClaimDesk(
        view,
        assessment,
        tuple(sorted(reviewing.opinions.of(iri).values(), key=lambda each: each.number)),
        events_of(reader, reviewing, iri),
        own,
        moved(own, 1.0),
        moved(own, -1.0),
        reviewing.opinions.assigned(iri),
    )


def events_of(reader: Reader, reviewing: Reviewing, thing: str) -> tuple[Event, ...]:
    """List what happened to a thing, the newest first."""
    changes = reviewing.decisions.changes
    return tuple(
        Event(each, changes.is_live(each), lines_of_change(reader, each))
        for each in reversed(changes.of(thing))
    )


def lines_of_change(reader: Reader, change: Change) -> tuple[Line, ...]:
    """Return what a change removed and added, without moves between graphs."""
    gone, come = {_bare(q) for q in change.removed}, {_bare(q) for q in change.added}
    return lines_of(reader, Difference.between(frozenset(gone - come), frozenset(come - gone)))


def _bare(quad: Quad) -> Quad:
    return Quad(quad.subject, quad.predicate, quad.object, DefaultGraph())


def _own(assessment: ClaimAssessment) -> float:
    created = assessment.standing
    for reviewer in tuple(created.reviews):
        created = created.without(reviewer)
    return created.confidence


def stale_page(
    pages: PageCache, reviewing: Reviewing, iri: str, seen: str, kind: str
) -> tuple[str, int]:
    """Show the difference since a version, and ask again; status 409."""
    reader = pages.reader(chosen_language())
    desk = desk_of(reader, reviewing, iri)
    if desk is None:
        raise NotFound(catalogue()("curate.no_claim"))
    later, difference = reviewing.decisions.changes.since(iri, seen)
    page = render_template(
        "curate/review.html",
        desk=desk,
        key=uuid4().hex,
        parameters={},
        after="",
        following="",
        stale=later,
        stale_lines=lines_of(reader, difference),
        meant=kind,
    )
    return page, 409


_KINDS: Final = ("accept", "reject", "unsure", "skip")


def claim_routes(pages: PageCache, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/claim``, ``/curate/review`` and ``/curate/comment``."""
    routes = Blueprint("claim_desk", __name__, url_prefix=PREFIX)

    @routes.get("/claim")
    @needs(Right.READ)
    def claim() -> str:
        reader, iri = pages.reader(chosen_language()), request.args.get("claim", "")
        desk = desk_of(reader, reviewing, iri)
        if desk is None:
            raise NotFound(catalogue()("curate.no_claim"))
        chosen = Filter.of(request.args)
        after = reviewing.queue.next_after(person().name, chosen, iri)
        return render_template(
            "curate/review.html",
            desk=desk,
            key=uuid4().hex,
            parameters=chosen.parameters(),
            after=after,
            following=_address(after, chosen) if after else "",
        )

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
            return stale_page(pages, reviewing, iri, form.get("version", ""), kind)
        if _wants_json():
            return _json(change, reviewing)
        flash(json.dumps({"kind": kind, "change": change.iri, "claim": iri}), "reviewed")
        return redirect(
            _address(after, chosen) if after else f"{PREFIX}/queue?{urlencode(chosen.parameters())}"
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
    """Write the decision of a form about one claim."""
    if kind not in _KINDS:
        raise FormatError("decision", kind, _KINDS)
    agent, reason = person().name, request.form.get("reason", "").strip()
    key = f"{agent} {key}" if key else ""
    if kind == "skip":
        return reviewing.decisions.skip(iri, agent, reason, key)
    value = request.form.get("agreement", "")
    try:
        agreed = float(value) if value and kind != "unsure" else None
    except ValueError:
        raise UsageError(f"an agreement is a number in [-1, 1], not {value[:40]!r}") from None
    if agreed is not None and kind == "reject":
        agreed = -abs(agreed)
    return reviewing.decisions.review(
        iri, kind, agent, reason, agreement=agreed, expected=version, key=key
    )


def _json(change: Change, reviewing: Reviewing) -> Response:
    claim = change.about[0]
    values = {"change": change.iri, "number": change.number, "kind": change.kind, "claim": claim}
    if change.kind not in {"comment", "skip"}:
        now = reviewing.decisions.assess(claim)
        values |= {
            "status": now.claim.status.value,
            "confidence": now.claim.confidence,
            "version": now.version,
            "waits": now.outcome.waits,
        }
    return Response(json.dumps(values, ensure_ascii=False), content_type="application/json")


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"


def _address(claim: str, chosen: Filter) -> str:
    return f"{PREFIX}/claim?{urlencode({**chosen.parameters(), 'claim': claim})}"


PAGE: Final = 25


def queue_routes(pages: PageCache, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/queue`` and what its forms send: a batch, an assignment."""
    routes = Blueprint("queue", __name__, url_prefix=PREFIX)

    @routes.get("/queue")
    @needs(Right.READ)
    def queue() -> str:
        chosen = Filter.of(request.args)
        offset = count_field("from", request.args.get("from"), 0, 10_000_000) or 0
        page = reviewing.queue.page(person().name, chosen, offset, PAGE)
        rows = rows_of(pages.reader(chosen_language()), page.items)
        return render_template(
            "curate/queue.html",
            page=page,
            rows=rows,
            chosen=chosen,
            parameters=urlencode(chosen.parameters()),
            choices=reviewing.queue.choices(),
            whose=WHOSE,
            size=PAGE,
            key=uuid4().hex,
            source_name=lambda iri: pages.reader(chosen_language()).thing(NamedNode(iri)).label,
        )

    @routes.post("/batch")
    @needs(Right.REVIEW)
    def batch() -> BaseResponse:
        form, kind = request.form, request.form.get("kind", "")
        claims = form.getlist("claims")
        if not 0 < len(claims) <= MOST:
            raise UsageError(catalogue()("curate.choose_claims", n=MOST))
        done, stale = 0, 0
        for place, value in enumerate(claims):
            iri, _, version = value.partition(" ")
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
        created = reviewing.queue.assign(claims, to, mine.name, form.get("reason", ""))
        flash(catalogue()("curate.assigned", n=len(created), name=to))
        return redirect(f"{PREFIX}/queue?{_query(Filter.of(form))}")

    return routes


def _query(chosen: Filter) -> str:
    return urlencode(chosen.parameters())


_DISPUTES = 50


def progress_routes(pages: PageCache, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/progress``."""
    routes = Blueprint("progress", __name__, url_prefix=PREFIX)

    @routes.get("/progress")
    @needs(Right.READ)
    def progress() -> str:
        opinions, reader = reviewing.opinions, pages.reader(chosen_language())
        people, days = opinions.progress()
        disputes = [
            (view, sorted(result.values(), key=lambda each: -each.agreement))
            for claim, result in sorted(opinions.disputed().items())[:_DISPUTES]
            if (view := view_of(reader, claim)) is not None
        ]
        return render_template(
            "curate/progress.html",
            people=people.most_common(),
            days=sorted(days.items())[-30:],
            agreement=opinions.agreement(),
            disputes=disputes,
            total=len(reviewing.queue.columns),
            reviewed=len(opinions.reviewed()),
        )

    return routes
