"""The review queue, the page of a claim with its thread, batches, and progress."""

import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, flash, g, json, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.answering.knowledge.updates import changes_in
from shiyi.curation.accounts import Right
from shiyi.curation.changes import Change, parse_iri, version_of
from shiyi.curation.desks.desk import Desk
from shiyi.curation.desks.forms import (
    Assignment,
    Batch,
    Comment,
    Decision,
    EvidenceRefusal,
    full_iri,
)
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import VIEWS, Filter, Item, Page, Queue
from shiyi.errors import KnowledgeBaseError, StaleError
from shiyi.ingest.gate import CANDIDATES
from shiyi.model.rdf import NamedNode
from shiyi.reasoning.confidence.reviews import apply_reviews
from shiyi.server.curating.forms import parse_form, with_faults
from shiyi.server.curating.history import list_events, list_lines, page_of
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import count_field, json_response
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue
from shiyi.server.site.curation import Curation
from shiyi.server.views.reader import ClaimView, EvidenceView, Passages, Reader
from shiyi.sparql.store.port import QuadStore

_LOG: Final = logging.getLogger(__name__)
FILE: Final = "queue.cache"
PAGE: Final = 25
_DISPUTES: Final = 50
_FEW: Final = 2000  # claims that are reloaded one by one; above this, all are


class LiveQueue:
    """The queue of an open base: made when first needed, in step with changes and answers."""

    def __init__(self, store: QuadStore, curation: Curation) -> None:
        self._store, self._curation = store, curation
        self._building, self._taking = threading.Lock(), threading.Lock()
        self._queue: Queue | None = None
        self._missed: dict[str, None] = {}  # claims that changed while the queue was made
        self.opinions = Opinions(store)
        if curation.changes:
            curation.changes.listeners += [self.opinions, self._follow]

    def __call__(self) -> Queue:
        """Return the queue, made the first time it is asked for."""
        with self._building:
            if self._queue is None:
                queue = self._open_queue()
                if self._curation.citations:
                    queue.cite(self._curation.citations.counts)
                    self._curation.citations.fresh()
                with self._taking:
                    queue.update(self._missed)
                    self._queue = queue
        if self._curation.citations and (cited := self._curation.citations.fresh()):
            self._queue.cite(cited)
        return self._queue

    def _open_queue(self) -> Queue:
        """Open the queue that an earlier start saved and read what changed since, or make it."""
        base, changes = self._curation.base, self._curation.changes
        if base is None or changes is None:
            return Queue(self._store, self.opinions)
        path, sequence, journal = base.path / FILE, base.sequence, changes.writer.journal
        queue = Queue(self._store, self.opinions, changes, path, base.release)
        if queue.sequence is not None:
            later = journal.records(queue.sequence)
            claims, _ = changes_in(q for record in later for q in (*record.removed, *record.added))
            if len(claims) <= _FEW and queue.digest == journal.digest(queue.sequence):
                queue.update(claims)
            else:  # much changed, or another base was put back
                queue = Queue(self._store, self.opinions, changes)
        if queue.sequence != sequence:
            try:
                queue.save(path, base.release, sequence, journal.digest(sequence))
            except OSError as fault:  # a full disk: the next start rebuilds the queue
                _LOG.warning("the review queue could not be saved: %s", fault)
        return queue

    def prepare(self) -> None:
        """Start to make the queue of a writable base, while a curator signs in."""
        is_made = self._queue is not None or self._building.locked()
        if self._curation.changes is not None and not is_made:
            threading.Thread(target=self._prepare, daemon=True).start()

    def _prepare(self) -> None:
        with suppress(KnowledgeBaseError, sqlite3.ProgrammingError):  # the server was closed
            self()

    def _follow(self, created: Sequence[Change]) -> None:
        claims, _ = changes_in([q for change in created for q in (*change.removed, *change.added)])
        with self._taking:
            if self._queue is None:
                self._missed |= dict.fromkeys(claims)
            else:
                self._queue.update(claims)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the queue."""

    item: Item
    claim: ClaimView
    version: str


def load_claim_view(reader: Reader, iri: str) -> ClaimView | None:
    """Read a claim where it lives, or None where it is no claim."""
    node = parse_iri(iri)
    home = reader.home_of_claim(node)
    return None if home is None else reader.claim(node, home)


def list_waiting_evidence(reader: Reader, desk: Desk, iri: str) -> list[EvidenceView]:
    """List the evidence that waits beside an accepted claim, and is attached on acceptance."""
    waits = any(True for _ in desk.decisions.pending_evidence(iri))
    return list(reader.grounds(NamedNode(iri), CANDIDATES)) if waits else []


def build_sheet(reader: Reader, desk: Desk, opinions: Opinions, iri: str) -> dict[str, Any]:
    """Return everything on the page of one claim under review; NotFound where there is none."""
    view = load_claim_view(reader, iri)
    if view is None:
        raise NotFound(catalogue()("curate.no_claim"))
    assessment, text = desk.decisions.assess(iri), opinions.of(iri)
    own = assessment.standing.prior
    prior = desk.decisions.assess(iri, attaching=True).standing.prior
    sides = {opinion.agreement > 0 for opinion in text.values() if opinion.agreement}
    return {
        "claim": view,
        "assessment": assessment,
        "opinions": sorted(text.values(), key=lambda item: item.number),
        "events": list_events(reader, desk.decisions.changes, iri),
        "own": own,
        "waiting": list_waiting_evidence(reader, desk, iri),
        "if_accepted": apply_reviews(prior, 1.0),
        "if_rejected": apply_reviews(own, -1.0),
        "assigned": opinions.assignee(iri),
        "is_disputed": len(sides) == 2,
        "in_passage": Passages(reader.store),
    }


def queue_routes(pages: PageCache, desk: Desk, live: LiveQueue) -> Blueprint:
    """Serve ``/curate/queue`` with its batches and assignments, and ``/curate/progress``."""
    routes, reader = Blueprint("queue", __name__, url_prefix=PREFIX), pages.reader

    @routes.get("/queue")
    @needs(Right.READ)
    def queue() -> str:
        chosen = Filter.of(request.values)
        offset = count_field("from", request.values.get("from"), 0, 10_000_000) or 0
        page = live().page(person().name, chosen, offset, PAGE)
        rows = _rows(reader(), page)
        iri = request.args.get("claim", "") or (rows[0].item.claim if rows else "")
        return render_template(
            "curate/queue.html",
            page=page,
            rows=rows,
            chosen=chosen,
            parameters=chosen.parameters(),
            choices=live().choices(),
            views=VIEWS,
            size=PAGE,
            foreseen=g.get("foreseen", ()),
            sheet=build_sheet(reader(), desk, live.opinions, iri) if iri else None,
            following=_next_address(live, iri, chosen) if iri else "",
            name_of=lambda iri: reader().premise(NamedNode(iri)).label,
        )

    @routes.post("/batch")
    @needs(Right.REVIEW)
    @with_faults(queue)
    def batch() -> BaseResponse | str:
        result = desk.decide_all(person(), parse_form(Batch))
        if result.foreseen:  # shown before anything is written
            g.foreseen = result.foreseen
            return queue()
        flash(catalogue()("curate.batch_done", n=len(result.made)))
        if result.stale:
            flash(catalogue()("curate.batch_stale", n=len(result.stale)))
        return redirect(f"{PREFIX}/queue?{urlencode(Filter.of(request.form).parameters())}")

    @routes.post("/assign")
    @needs(Right.REVIEW)
    @with_faults(queue)
    def assign() -> BaseResponse:
        assignment = parse_form(Assignment)
        changes = desk.assign(person(), assignment)
        flash(catalogue()("curate.assigned", n=len(changes), name=assignment.to or person().name))
        return redirect(f"{PREFIX}/queue?{urlencode(Filter.of(request.form).parameters())}")

    @routes.get("/progress")
    @needs(Right.READ)
    def progress() -> str:
        opinions = live.opinions
        people, days = opinions.progress()
        disputes = [
            (view, sorted(text.values(), key=lambda opinion: -opinion.agreement))
            for iri, text in sorted(opinions.disputed_claims().items())[:_DISPUTES]
            if (view := load_claim_view(reader(), iri)) is not None
        ]
        return render_template(
            "curate/progress.html",
            people=people.most_common(),
            days=sorted(days.items())[-30:],
            agreement=opinions.agreement(),
            disputes=disputes,
            total=len(live()),
            reviewed=len(opinions.reviewed_claims()),
        )

    return routes


def claim_routes(pages: PageCache, desk: Desk, live: LiveQueue) -> Blueprint:
    """Serve ``/curate/claim``, ``/review`` and ``/comment``."""
    routes, reader = Blueprint("claim_desk", __name__, url_prefix=PREFIX), pages.reader

    claim_page = partial(_claim_page, pages, desk, live)

    @routes.get("/claim")
    @needs(Right.READ)
    def claim() -> str:
        return claim_page()

    @routes.post("/review")
    @needs(Right.REVIEW)
    @with_faults(claim_page)
    def review() -> BaseResponse | tuple[str, int]:
        decision, chosen = parse_form(Decision), Filter.of(request.form)
        following = _next_address(live, decision.claim, chosen)
        try:
            change = desk.decide(person(), decision)
        except StaleError:
            if _wants_json():
                raise
            later, difference = desk.writing().since(decision.claim, decision.version)
            lines = list_lines(reader(), difference.removed, difference.added)
            return claim_page(stale=later, stale_lines=lines, meant=decision.kind), 409
        if _wants_json():
            return json_response(change_values(desk, change) | {"following": following})
        fields = {"kind": decision.kind, "change": change.iri, "claim": decision.claim}
        flash(json.dumps(fields), "reviewed")
        return redirect(following or f"{PREFIX}/queue?{urlencode(chosen.parameters())}")

    @routes.post("/comment")
    @needs(Right.COMMENT)
    @with_faults(claim_page)
    def comment() -> BaseResponse:
        change = desk.comment(person(), parse_form(Comment))
        if _wants_json():
            return json_response(change_values(desk, change))
        return redirect(f"{page_of(change.about[0])}#comments")

    return routes


def evidence_routes(pages: PageCache, desk: Desk, live: LiveQueue) -> Blueprint:
    """Serve ``/curate/evidence``, which refuses what waits beside an accepted claim."""
    routes = Blueprint("evidence_desk", __name__, url_prefix=PREFIX)

    @routes.post("/evidence")
    @needs(Right.REVIEW)
    @with_faults(partial(_claim_page, pages, desk, live))
    def refuse_evidence() -> BaseResponse:
        change = desk.refuse_evidence(person(), parse_form(EvidenceRefusal))
        flash(catalogue()("curate.evidence_refused"))
        return redirect(page_of(change.about[0]))

    return routes


def _claim_page(pages: PageCache, desk: Desk, live: LiveQueue, **more: Any) -> str:
    chosen = Filter.of(request.values)
    iri = full_iri(request.values.get("claim") or request.values.get("thing", ""))
    pane = "pane" if request.args.get("pane") else "review"
    return render_template(
        f"curate/{pane}.html",
        sheet=build_sheet(pages.reader(), desk, live.opinions, iri),
        parameters=chosen.parameters(),
        following=_next_address(live, iri, chosen),
        **more,
    )


def _next_address(live: LiveQueue, claim: str, chosen: Filter) -> str:
    """Return the address of the claim that follows one in the queue."""
    after = live().next_after(person().name, chosen, claim)
    return f"{PREFIX}/claim?{urlencode(chosen.parameters() | {'claim': after})}" if after else ""


def _rows(reader: Reader, page: Page) -> list[Row]:
    return [
        Row(item, view, version_of(reader.store, item.claim))
        for item in page.items
        if (view := load_claim_view(reader, item.claim)) is not None
    ]


def change_values(desk: Desk, change: Change) -> dict[str, Any]:
    """Return a change as JSON: of a decision with the claim's status and confidence after it."""
    about = change.about[0]
    values = {
        "change": change.iri, "number": change.number, "kind": change.kind,
        "about": list(change.about),
    }  # fmt: skip
    if "/claim/" in about and change.kind in {"accept", "reject", "unsure", "undo"}:
        now = desk.decisions.assess(about)
        values |= {
            "claim": about,
            "status": now.claim.status.value,
            "confidence": now.claim.confidence,
            "version": now.version,
            "waits": now.outcome.waits,
        }
    return values


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"
