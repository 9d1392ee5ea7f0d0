"""Pages for looking around: compare, find a dish, see the numbers."""

from urllib.parse import quote

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.errors import FormatError
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.comparing import MOST, comparison, named
from shiyi.server.constitutions import field, items, scores
from shiyi.server.counting import kept_spread
from shiyi.server.dishes import Wish, fitting, linked, menu
from shiyi.server.inputs import text_field
from shiyi.server.kept import Kept
from shiyi.server.reading import ACCEPTED, Reader, Thing
from shiyi.server.site import Site
from shiyi.server.spread import Spread
from shiyi.server.statistics import classes, statistics
from shiyi.server.wording import catalogue, chosen_language

_LIMIT = 400  # characters of a list of foods


def exploring(site: Site, kept: Kept) -> Blueprint:
    """Serve ``/compare``, ``/dishes``, ``/constitution`` and ``/statistics``."""
    routes = Blueprint("exploring", __name__)

    @routes.get("/compare")
    def compare() -> str | BaseResponse:
        ids = request.args.get("ids", "")
        reader = kept.reader(chosen_language())
        nodes = named(reader, ids)
        if added := request.args.get("add", "").strip():
            found = site.complete(text_field("add", added, 200), chosen_language(), 1)
            names = [*ids.split(","), *(each.iri.removeprefix(ID) for each in found)]
            whole = ",".join(dict.fromkeys(name for name in names if name))
            return redirect("/compare?ids=" + quote(whole, safe=",-"), code=303)

        def made() -> str:
            return render_template(
                "compare.html", seen=comparison(reader, nodes), most=MOST,
                names=[node.value.removeprefix(ID) for node in nodes],
            )  # fmt: skip

        return kept.response(made)

    @routes.get("/dishes")
    def dishes() -> BaseResponse:
        reader = kept.reader(chosen_language())
        choices = {
            "constitution": _choices(reader, SHIYI.Constitution),
            "season": _choices(reader, SHIYI.Season),
        }
        wish = _wish(site, choices)
        asked = any(request.args.get(key, "").strip() for key in ("with", "constitution", "season"))

        def made() -> str:
            courses = kept.value("menu", lambda: menu(reader)) if asked else ()
            found, total = fitting(reader, wish, courses)
            return render_template(
                "dishes.html", found=found, total=total, asked=asked, wish=wish,
                choices=choices, form=request.args,
            )  # fmt: skip

        return kept.response(made)

    @routes.get("/constitution")
    def constitution() -> str:
        asked = items(kept.reader(chosen_language()))
        form = {key: value for key, value in request.args.items() if key != "lang"}
        return render_template(
            "constitution.html", asked=asked, found=scores(asked, form), form=form, field=field,
            rule=ID + "rule-constitution-scoring",
        )  # fmt: skip

    @routes.get("/statistics")
    def numbers() -> str:
        reader = kept.reader(chosen_language())
        seen = statistics(kept.figures("spread", lambda: spread(site)), reader, catalogue())
        largest = classes(reader, site.counts)
        return render_template("statistics.html", seen=seen, classes=largest)

    return routes


def spread(site: Site) -> Spread:
    """Give what was counted with the indexes, else count what the site shows."""
    base = site.base
    kept = kept_spread(base) if base and not base.is_remote else None
    return kept or Spread.of(site.store)


def _choices(reader: Reader, kind: NamedNode) -> dict[str, Thing]:
    found = reader.store.match(None, RDF.type, kind, ACCEPTED)
    things = sorted((reader.thing(quad.subject) for quad in found), key=lambda each: each.iri)
    return {thing.iri.rpartition("/")[2]: thing for thing in things}


def _wish(site: Site, choices: dict[str, dict[str, Thing]]) -> Wish:
    chosen: dict[str, NamedNode | None] = {}
    for name, known in choices.items():
        said = request.args.get(name, "")
        if said and said not in known:
            raise FormatError(name, said, list(known))
        chosen[name] = NamedNode(known[said].iri) if said else None
    read = {}
    for name in ("with", "without"):
        words = request.args.get(name, "")
        read[name] = (
            linked(site.link, text_field(name, words, _LIMIT)) if words.strip() else ((), ())
        )
    return Wish(
        read["with"][0], read["without"][0], chosen["constitution"], chosen["season"],
        (*read["with"][1], *read["without"][1]),
    )  # fmt: skip
