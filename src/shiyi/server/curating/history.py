"""History, undo, Atom feed."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import uuid4
from xml.etree.ElementTree import Element, SubElement, tostring

from flask import Blueprint, Response, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right, require
from shiyi.curation.changes import Change, Difference, as_of, blame, state_of
from shiyi.curation.reviews import mentions
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.claims import Event, events_of, lines_of_change
from shiyi.server.curating.editor import lines_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import count_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, chosen_language
from shiyi.server.views.reader import Reader

_ATOM = "http://www.w3.org/2005/Atom"


def feed(changes: Sequence[tuple[Change, str]], root: str) -> Response:
    """Return the newest changes, each with what it is about."""
    t = catalogue()
    whole = Element("feed", xmlns=_ATOM)
    whole.set("xml:lang", "zh-Hans" if chosen_language() == "zh" else "en")
    SubElement(whole, "id").text = f"{root}curate/feed.atom"
    SubElement(whole, "title").text = t("curate.feed")
    SubElement(whole, "updated").text = changes[0][0].when if changes else "1970-01-01T00:00:00Z"
    SubElement(whole, "link", rel="self", href=f"{root}curate/feed.atom")
    for change, title in changes:
        entry = SubElement(whole, "entry")
        SubElement(entry, "id").text = change.iri
        value = t.get(f"change.{change.kind}", change.kind)
        SubElement(entry, "title").text = f"{change.who} · {value} · {title}"
        SubElement(entry, "updated").text = change.when
        SubElement(SubElement(entry, "author"), "name").text = change.who
        SubElement(entry, "link", href=f"{root}curate/change/{change.number}")
        SubElement(entry, "summary").text = change.reason or value
    body = tostring(whole, encoding="utf-8", xml_declaration=True)
    return Response(body, content_type="application/atom+xml; charset=utf-8")


_PAGE = 50
_LOOKED_AT = 5000  # changes, when the history is narrowed to a person


def history_routes(pages: PageCache, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/history``, ``/curate/change`` and ``/curate/thing``."""
    routes = Blueprint("history", __name__, url_prefix=PREFIX)

    @routes.get("/history")
    @needs(Right.READ)
    def history() -> str:
        reader, changes = pages.reader(chosen_language()), reviewing.decisions.changes
        agent = request.args.get("who", "")[:40]
        before = count_field("before", request.args.get("before"), 0, 10**9) or 0
        result = changes.latest(_LOOKED_AT if agent else _PAGE, before)
        result = [
            each for each in result if not agent or agent in {each.who, *mentions(each.reason)}
        ]
        events = [
            Event(each, changes.is_live(each), title=title_of(reader, each))
            for each in result[:_PAGE]
        ]
        last = events[-1].change.number if len(events) == _PAGE else 0
        return render_template(
            "curate/history.html", events=events, who=agent, before=last, key=uuid4().hex
        )

    @routes.get("/change/<int:number>")
    @needs(Right.READ)
    def change(number: int) -> str:
        reader, changes = pages.reader(chosen_language()), reviewing.decisions.changes
        result = changes.numbered(number)
        if result is None:
            raise NotFound(catalogue()("curate.no_change"))
        event = Event(
            result,
            changes.is_live(result),
            lines_of_change(reader, result),
            title_of(reader, result),
        )
        return render_template("curate/change.html", event=event, key=uuid4().hex)

    @routes.get("/thing")
    @needs(Right.READ)
    def thing() -> str:
        reader, iri = pages.reader(chosen_language()), request.args.get("iri", "")
        changes = reviewing.decisions.changes
        created, now = changes.of(iri), state_of(changes.store, iri)
        if not (created or now):
            raise NotFound(catalogue()("curate.no_thing"))
        at = count_field("at", request.args.get("at"), 0, 10**9)
        shown = now if at is None else as_of(now, iri, created, at)
        authors = blame(shown, [each for each in created if at is None or each.number <= at])
        statements = [
            (lines_of(reader, Difference((), (quad,)))[0], authors.get(quad))
            for quad in sorted(
                shown, key=lambda q: (str(q.subject), str(q.predicate), str(q.object))
            )
        ]
        return render_template(
            "curate/thing.html",
            iri=iri,
            events=events_of(reader, reviewing, iri),
            at=at,
            statements=statements,
            title=name_of(reader, iri),
            key=uuid4().hex,
            since=lines_of(reader, Difference.between(shown, now)) if at is not None else (),
        )

    return routes


def after_routes(pages: PageCache, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/undo`` and ``/curate/feed.atom``."""
    routes = Blueprint("after", __name__, url_prefix=PREFIX)

    @routes.post("/undo")
    @needs(Right.REVIEW)
    def undo() -> BaseResponse:
        form, mine = request.form, person()
        result = reviewing.decisions.changes.get(form.get("change", ""))
        if result.who != mine.name:
            require(mine.role, Right.APPROVE)
        key = f"{mine.name} {form['key']}" if form.get("key") else ""
        created = reviewing.decisions.undo(
            result.iri, mine.name, form.get("reason", "").strip(), key
        )
        flash(catalogue()("curate.undone", n=result.number))
        claim = created.about[0]
        if "/claim/" in claim:
            return redirect(f"{PREFIX}/claim?{urlencode({'claim': claim})}")
        return redirect(f"{PREFIX}/thing?{urlencode({'iri': claim})}")

    @routes.get("/feed.atom")
    @needs(Right.READ)
    def atom() -> BaseResponse:
        reader, changes = pages.reader(chosen_language()), reviewing.decisions.changes
        called = request.args.get("mentions", "")[:40]
        result = changes.latest(_LOOKED_AT if called else _PAGE)
        if called:
            result = [each for each in result if called in mentions(each.reason)]
        return feed([(each, title_of(reader, each)) for each in result[:_PAGE]], request.url_root)

    return routes


def title_of(reader: Reader, change: Change) -> str:
    """Return what a change is about."""
    names = [name_of(reader, each) for each in change.about[:3]]
    return "; ".join(names) + (" …" if len(change.about) > 3 else "")


def name_of(reader: Reader, iri: str) -> str:
    """Name a claim by what it says, a concept by its label."""
    if iri.startswith(f"{ID}claim/"):
        return reader.premise(NamedNode(iri)).label
    return reader.thing(NamedNode(iri)).label
