"""History of the base, of a change and of a thing; undo; the Atom feed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from flask import Blueprint, Response, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right
from shiyi.curation.changes import Change, Changes, blame, state_before, state_of
from shiyi.curation.desks.desk import Desk
from shiyi.curation.desks.forms import UndoRequest
from shiyi.curation.reviews import mentions
from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, local_name
from shiyi.server.curating.forms import parse_form, with_faults
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.headers import public_root
from shiyi.server.http.messages import count_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.views.reader import Reader, Thing

_ATOM = "http://www.w3.org/2005/Atom"
_PAGE = 50
_LOOKED_AT = 5000  # changes, when the history is narrowed to a person


@dataclass(frozen=True, slots=True)
class Line:
    """One statement that went, came, or was replaced by another of its property."""

    what: Thing
    went: Thing | None
    came: Thing | None


@dataclass(frozen=True, slots=True)
class Event:
    """One change of the history; ``live`` is whether it was not undone."""

    change: Change
    live: bool
    lines: tuple[Line, ...] = ()
    title: str = ""


def list_lines(reader: Reader, removed: Iterable[Quad], added: Iterable[Quad]) -> tuple[Line, ...]:
    """Return what went and came as lines; one value for another of a property is one line."""
    old_quads, new_quads = {_bare(q) for q in removed}, {_bare(q) for q in added}
    remaining_quads = sorted(old_quads - new_quads, key=str)
    new: dict[tuple[object, object], list[Quad]] = {}
    for quad in sorted(new_quads - old_quads, key=str):
        new.setdefault((quad.subject, quad.predicate), []).append(quad)
    lines = []
    for quad in remaining_quads:
        other_quads = new.get((quad.subject, quad.predicate))
        came = _value(reader, other_quads.pop(0)) if other_quads else None
        lines.append(Line(_object_view(reader, quad), _value(reader, quad), came))
    for quads in new.values():
        lines += [Line(_object_view(reader, quad), None, _value(reader, quad)) for quad in quads]
    return tuple(lines)


def _bare(quad: Quad) -> Quad:
    """Return a quad without its graph: a move between graphs is not shown."""
    return Quad(quad.subject, quad.predicate, quad.object, DefaultGraph())


def _object_view(reader: Reader, quad: Quad) -> Thing:
    thing = reader.thing(quad.predicate)
    return thing if thing.label else Thing("", local_name(quad.predicate.value))


def _value(reader: Reader, quad: Quad) -> Thing:
    target = quad.object
    if not isinstance(target, Triple):
        return reader.thing(target)
    parts = (target.subject, target.predicate, target.object)
    return Thing("", " · ".join(reader.thing(term).label for term in parts))


def list_events(reader: Reader, changes: Changes, thing: str) -> tuple[Event, ...]:
    """List what happened to a thing, the newest first."""
    return tuple(
        Event(change, changes.is_live(change), list_lines(reader, change.removed, change.added))
        for change in reversed(changes.of(thing))
    )


def change_title(reader: Reader, change: Change) -> str:
    """Return what a change is about."""
    names = [reader.premise(NamedNode(each)).label for each in change.about[:3]]
    return "; ".join(names) + (" …" if len(change.about) > 3 else "")


def history_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/history``, ``/change``, ``/thing``, ``/undo`` and ``/feed.atom``."""
    routes, reader = Blueprint("history", __name__, url_prefix=PREFIX), pages.reader

    @routes.get("/history")
    @needs(Right.READ)
    def history() -> str:
        changes, agent = desk.writing(), request.args.get("who", "")[:40]
        before = count_field("before", request.args.get("before"), 0, 10**9) or 0
        found = changes.latest(_LOOKED_AT if agent else _PAGE, before)
        fitting = [e for e in found if not agent or agent in {e.who, *mentions(e.reason)}][:_PAGE]
        events = [
            Event(
                each,
                changes.is_live(each),
                list_lines(reader(), each.removed, each.added),
                change_title(reader(), each),
            )
            for each in fitting
        ]
        last = fitting[-1].number if len(fitting) == _PAGE else 0
        return render_template("curate/history.html", events=events, who=agent, before=last)

    @routes.get("/change/<int:number>")
    @needs(Right.READ)
    def change(number: int) -> str:
        changes = desk.writing()
        found = changes.find_change(number)
        if found is None:
            raise NotFound(catalogue()("curate.no_change"))
        lines = list_lines(reader(), found.removed, found.added)
        event = Event(found, changes.is_live(found), lines, change_title(reader(), found))
        return render_template("curate/change.html", event=event)

    @routes.get("/thing")
    @needs(Right.READ)
    def thing() -> str:
        return _thing(reader(), desk.writing(), request.values.get("iri", ""))

    def undone() -> str:
        """Show the history with the fault of an undo."""
        return history()

    @routes.post("/undo")
    @needs(Right.REVIEW)
    @with_faults(undone)
    def undo() -> BaseResponse:
        made = desk.undo(person(), parse_form(UndoRequest))
        taken_back = desk.writing().get(made.reverses)
        flash(catalogue()("curate.undone", n=taken_back.number))
        return redirect(page_of(made.about[0]))

    @routes.get("/feed.atom")
    @needs(Right.READ)
    def atom() -> BaseResponse:
        changes, called = desk.writing(), request.args.get("mentions", "")[:40]
        found = changes.latest(_LOOKED_AT if called else _PAGE)
        fitting = [each for each in found if not called or called in mentions(each.reason)]
        titled = [(each, change_title(reader(), each)) for each in fitting[:_PAGE]]
        return feed(titled, public_root())

    return routes


def page_of(thing: str) -> str:
    """Return the desk's page of a claim or of another thing."""
    if thing.startswith(f"{ID}claim/"):
        return f"{PREFIX}/claim?{urlencode({'claim': thing})}"
    return f"{PREFIX}/thing?{urlencode({'iri': thing})}"


def _thing(reader: Reader, changes: Changes, iri: str) -> str:
    """Show a thing now, or as it was after a change, with who brought each statement."""
    made_changes, now = changes.of(iri), state_of(changes.store, iri)
    if not (made_changes or now):
        raise NotFound(catalogue()("curate.no_thing"))
    at = count_field("at", request.args.get("at"), 0, 10**9)
    quads = now if at is None else state_before(now, iri, made_changes, at)
    authors = blame(quads, [change for change in made_changes if at is None or change.number <= at])
    statements = [
        (_object_view(reader, quad), _value(reader, quad), authors.get(quad))
        for quad in sorted(quads, key=lambda q: (str(q.subject), str(q.predicate), str(q.object)))
    ]
    return render_template(
        "curate/thing.html",
        iri=iri,
        events=list_events(reader, changes, iri),
        at=at,
        statements=statements,
        title=reader.premise(NamedNode(iri)).label,
        since=list_lines(reader, quads, now) if at is not None else (),
    )


def feed(changes: Sequence[tuple[Change, str]], root: str) -> Response:
    """Return the newest changes, each with what it is about."""
    t = catalogue()
    whole = Element("feed", xmlns=_ATOM)
    whole.set("xml:lang", "zh-Hans" if choose_language() == "zh" else "en")
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
