"""The timeline of a thing as a page, a picture, a table and JSON."""

import csv
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from shiyi.errors import FormatError
from shiyi.ingest.documents.books import labels
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.http.messages import to_json
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import LANGUAGES, choose_language
from shiyi.server.pages.resources import find_resource
from shiyi.server.site.site import Site
from shiyi.server.views.concept import is_concept
from shiyi.server.views.reader import Reader, Thing
from shiyi.server.views.timeline import FACETS, Difference, Timeline, Witness, Work, timeline

COLUMNS: Final = (
    "property", "relation", "polarity", "value", "value_label", "today", "source", "title",
    "author", "from", "to", "dynasty", "school", "genre", "date_basis", "place", "place_basis",
    "tier", "kind", "status", "locator", "claim", "evidence",
)  # fmt: skip
_TYPES: Final = {"csv": "text/csv; charset=utf-8", "svg": "image/svg+xml; charset=utf-8"}
THEMES: Final = ("light", "dark")
# years and where they lie on the axis: most books are late, so late years take more of it
_SCALE: Final = (
    (-500, 0.0), (1, 0.06), (600, 0.2), (960, 0.34), (1368, 0.5), (1644, 0.74), (1911, 0.93),
    (2030, 1.0),
)  # fmt: skip
_MOST_LANES: Final = 40  # values in the picture


@dataclass(frozen=True, slots=True)
class Mark:
    """A witness in the picture: from the first to the last year in which it may be written."""

    left: float
    right: float
    witness: Witness


@dataclass(frozen=True, slots=True)
class Lane:
    """A value in the picture; ``property`` is empty unless it is the first of its property."""

    property: str
    label: str
    today: str
    marks: tuple[Mark, ...]


def timelines(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/timeline/…`` as a page, ``.svg`` and ``.csv``, and ``/api/timeline``."""
    routes = Blueprint("timelines", __name__)

    @routes.get("/timeline/<name>")
    def page(name: str) -> Response:
        stem, dot, kind = name.rpartition(".")
        name, kind = (stem, kind) if dot and kind in _TYPES else (name, "")
        if place := _thing_address(site, name, kind):
            return redirect(place, code=303)

        def render() -> str:
            seen = _timeline(site, cache.reader(), name)
            if kind == "csv":
                return _table(seen)
            theme = request.args.get("theme", THEMES[0])
            if theme not in THEMES:
                raise FormatError("theme", theme, THEMES)
            lanes = choose_lanes(seen)
            return render_template(
                "timeline_picture.html" if kind else "timeline.html",
                seen=seen,
                name=name,
                lanes=lanes,
                left_out=sum(len(values) for _, values in seen.properties) - len(lanes),
                theme=theme,
                ticks=_SCALE[1:-1],
                query=urlencode({"lang": choose_language(), **seen.chosen}),
                named=_label,
            )

        response = cache.response(render, _TYPES.get(kind, "text/html; charset=utf-8"))
        if kind == "csv":
            response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return response

    @routes.get("/api/timeline")
    def timeline_json() -> Response:
        name = request.args.get("concept", "").removeprefix(ID)

        def render() -> str:  # labels are in both languages: the address alone decides
            return to_json(_as_json(_timeline(site, cache.reader(LANGUAGES[0]), name)))

        return cache.response(render, "application/json", language="")

    return routes


def _thing_address(site: Site, name: str, kind: str) -> str:
    """Return the address of the thing that a name or alias stands for; empty where it is none."""
    if any(site.store.match(_node(name))):
        return ""
    results = [m.iri for m in site.link(name) if m.iri and m.end - m.start == len(name)]
    return f"/timeline/{results[0].removeprefix(ID)}{kind and '.' + kind}" if results else ""


def _node(name: str) -> NamedNode:
    fits = name.isascii() and all(c.isalnum() or c in "-_~." for c in name) and name
    return NamedNode(ID + name) if fits else NamedNode(ID)


def _timeline(site: Site, reader: Reader, name: str) -> Timeline:
    """Return the timeline of a thing as the query string filters it; raise 404 for an unknown."""
    node = find_resource(site, name)
    if not is_concept(reader, node):
        raise NotFound(f"{node.value} is no concept; a timeline is of a food, a herb or a dish")
    chosen = {facet: request.args.get(facet, "") for facet in FACETS}
    return timeline(reader, node, {facet: value for facet, value in chosen.items() if value})


def _label(kind: str, name: str) -> str:
    """Return a dynasty, a school or a genre in the reader's language."""
    label = labels().get((kind, name))
    return getattr(label, choose_language(), name)


def choose_lanes(timeline: Timeline, limit: int = _MOST_LANES) -> list[Lane]:
    """Return the lanes of the picture: of many values those that most works state."""
    ranked = sorted(
        (
            (-len({w.work for w in value.witnesses}), at, value.thing)
            for at, (_, values) in enumerate(timeline.properties)
            for value in values
        ),
        key=lambda row: row[:2],
    )
    chosen = {(at, thing) for _, at, thing in ranked[:limit]}
    lanes = []
    for at, (name, values) in enumerate(timeline.properties):
        first = name
        for value in values:
            marks = [mark for witness in value.witnesses if (mark := _mark(witness))]
            if marks and (at, value.thing) in chosen:
                lanes.append(Lane(first, value.thing.label, value.today, tuple(marks)))
                first = ""
    return lanes


def _mark(witness: Witness) -> Mark | None:
    work = witness.work
    if work.end is None:  # an old book without a date has no place; what is of today is last
        return Mark(1.0, 1.0, witness) if work.is_modern else None
    return Mark(
        position(work.end if work.start is None else work.start), position(work.end), witness
    )


def position(year: int) -> float:
    """Return where a year lies on the axis, from 0 to 1.

    >>> position(1368), position(-9999), position(2500)
    (0.5, 0.0, 1.0)
    """
    for (first, left), (last, right) in pairwise(_SCALE):
        if year <= last:
            return left + (right - left) * max(0, year - first) / (last - first)
    return 1.0


def _table(timeline: Timeline) -> str:
    """Write a row for each witness as CSV."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, values in timeline.properties:
        for value in values:
            about = value.thing.iri, value.thing.label, value.today
            for witness in value.witnesses:
                work, view = witness.work, witness.evidence
                sign = "negative" if witness.negative else "positive"
                written = work.author, work.start, work.end, work.dynasty, work.school, work.genre
                known = work.basis, work.place, work.place_basis, work.source.tier
                source = work.source.iri, work.source.title, *written, *known
                place = view.kind, witness.status, view.locator, witness.claim, view.iri
                writer.writerow((name, witness.relation, sign, *about, *source, *place))
    return file.getvalue()


def _as_json(timeline: Timeline) -> dict[str, Any]:
    """Return a timeline as JSON; works are listed once, and named by their IRIs."""
    return {
        "concept": _thing(timeline.name),
        "filters": dict(timeline.chosen),
        "properties": [
            {
                "property": name,
                "values": [
                    {
                        "value": _thing(value.thing),
                        "today": value.today,
                        "witnesses": [_witness(witness) for witness in value.witnesses],
                    }
                    for value in values
                ],
            }
            for name, values in timeline.properties
        ],
        "differences": [_difference(difference) for difference in timeline.differences],
        "works": [_work(each) for each in timeline.works],
        "facets": {
            facet: [
                {"id": label.id, "label_zh": label.zh, "label_en": label.en, "works": count}
                for label, count in options
            ]
            for facet, options in timeline.facets
        },
    }


def _thing(thing: Thing) -> dict[str, str]:
    zh, en = thing.label, thing.other or thing.label
    return {"iri": thing.iri, "label_zh": zh, "label_en": en}


def _witness(witness: Witness) -> dict[str, str]:
    return {
        "work": witness.work.source.iri,
        "relation": witness.relation,
        "polarity": "negative" if witness.negative else "positive",
        "status": witness.status,
        "kind": witness.evidence.kind,
        "locator": witness.evidence.locator,
        "quote": witness.evidence.quote,
        "claim": witness.claim,
        "evidence": witness.evidence.iri,
    }


def _work(work: Work) -> dict[str, Any]:
    return {
        **_thing(Thing(work.source.iri, work.source.title, other=work.other)),
        "author": work.author,
        "from": work.start,
        "to": work.end,
        "dynasty": work.dynasty,
        "school": work.school,
        "genre": work.genre,
        "tier": work.source.tier,
        "date_basis": work.basis,
        "place": work.place,
        "place_basis": work.place_basis,
        "modern": work.is_modern,
    }


def _difference(item: Difference) -> dict[str, Any]:
    sides = [
        {
            "name": side.name,
            "values": [_thing(value) for value in side.values],
            "works": [work.source.iri for work in side.works],
        }
        for side in item.sides
    ]
    about = _thing(item.about) if item.about else None
    return {"property": item.property, "kind": item.kind, "about": about, "sides": sides}
