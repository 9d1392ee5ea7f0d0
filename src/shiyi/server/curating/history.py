"""What was done, by whom and why; who said what; any earlier state; and taking a change back."""

from urllib.parse import urlencode
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.decisions import mentions
from shiyi.curation.ledger import Change
from shiyi.curation.roles import Right, require
from shiyi.curation.state import Difference, as_of, blame, state_of
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.claim_view import Event, events_of, lines_of_change
from shiyi.server.curating.edit_stale import lines_of
from shiyi.server.curating.feed import feed
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.inputs import count_field
from shiyi.server.kept import Kept
from shiyi.server.reading import Reader
from shiyi.server.wording import catalogue, chosen_language

_PAGE = 50
_LOOKED_AT = 5000  # changes, when the history is narrowed to a person


def history_routes(kept: Kept, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/history``, ``/curate/change`` and ``/curate/thing``."""
    routes = Blueprint("history", __name__, url_prefix=PREFIX)

    @routes.get("/history")
    @needs(Right.READ)
    def history() -> str:
        reader, changes = kept.reader(chosen_language()), reviewing.decisions.changes
        who = request.args.get("who", "")[:40]
        before = count_field("before", request.args.get("before"), 0, 10**9) or 0
        found = changes.latest(_LOOKED_AT if who else _PAGE, before)
        found = [each for each in found if not who or who in {each.who, *mentions(each.reason)}]
        events = [
            Event(each, changes.is_live(each), title=title_of(reader, each))
            for each in found[:_PAGE]
        ]
        last = events[-1].change.number if len(events) == _PAGE else 0
        return render_template(
            "curate/history.html", events=events, who=who, before=last, key=uuid4().hex
        )

    @routes.get("/change/<int:number>")
    @needs(Right.READ)
    def change(number: int) -> str:
        reader, changes = kept.reader(chosen_language()), reviewing.decisions.changes
        found = changes.numbered(number)
        if found is None:
            raise NotFound(catalogue()("curate.no_change"))
        event = Event(
            found, changes.is_live(found), lines_of_change(reader, found), title_of(reader, found)
        )
        return render_template("curate/change.html", event=event, key=uuid4().hex)

    @routes.get("/thing")
    @needs(Right.READ)
    def thing() -> str:
        reader, iri = kept.reader(chosen_language()), request.args.get("iri", "")
        changes = reviewing.decisions.changes
        made, now = changes.of(iri), state_of(changes.store, iri)
        if not (made or now):
            raise NotFound(catalogue()("curate.no_thing"))
        at = count_field("at", request.args.get("at"), 0, 10**9)
        shown = now if at is None else as_of(now, iri, made, at)
        authors = blame(shown, [each for each in made if at is None or each.number <= at])
        statements = [
            (lines_of(reader, Difference((), (quad,)))[0], authors.get(quad))
            for quad in sorted(
                shown, key=lambda q: (str(q.subject), str(q.predicate), str(q.object))
            )
        ]
        return render_template(
            "curate/thing.html", iri=iri, events=events_of(reader, reviewing, iri), at=at,
            statements=statements, title=name_of(reader, iri), key=uuid4().hex,
            since=lines_of(reader, Difference.between(shown, now)) if at is not None else (),
        )  # fmt: skip

    return routes


def after_routes(kept: Kept, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/undo`` and ``/curate/feed.atom``."""
    routes = Blueprint("after", __name__, url_prefix=PREFIX)

    @routes.post("/undo")
    @needs(Right.REVIEW)
    def undo() -> BaseResponse:
        form, mine = request.form, person()
        found = reviewing.decisions.changes.get(form.get("change", ""))
        if found.who != mine.name:
            require(mine.role, Right.APPROVE)
        key = f"{mine.name} {form['key']}" if form.get("key") else ""
        made = reviewing.decisions.undo(found.iri, mine.name, form.get("reason", "").strip(), key)
        flash(catalogue()("curate.undone", n=found.number))
        claim = made.about[0]
        if "/claim/" in claim:
            return redirect(f"{PREFIX}/claim?{urlencode({'claim': claim})}")
        return redirect(f"{PREFIX}/thing?{urlencode({'iri': claim})}")

    @routes.get("/feed.atom")
    @needs(Right.READ)
    def atom() -> BaseResponse:
        reader, changes = kept.reader(chosen_language()), reviewing.decisions.changes
        called = request.args.get("mentions", "")[:40]
        found = changes.latest(_LOOKED_AT if called else _PAGE)
        if called:
            found = [each for each in found if called in mentions(each.reason)]
        return feed([(each, title_of(reader, each)) for each in found[:_PAGE]], request.url_root)

    return routes


def title_of(reader: Reader, change: Change) -> str:
    """Say what a change is about."""
    names = [name_of(reader, each) for each in change.about[:3]]
    return "; ".join(names) + (" …" if len(change.about) > 3 else "")


def name_of(reader: Reader, iri: str) -> str:
    """Name a claim by what it says, a concept by its label."""
    if iri.startswith(f"{ID}claim/"):
        return reader.premise(NamedNode(iri)).label
    return reader.thing(NamedNode(iri)).label
