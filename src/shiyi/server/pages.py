"""Pages for people who ask and people who browse; each works without JavaScript."""

import csv
from io import StringIO
from typing import Final

from flask import Blueprint, Response, render_template, request

from shiyi.errors import FormatError
from shiyi.model.names import VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, SKOS
from shiyi.server.asking import answered_page, asked
from shiyi.server.counting import CLASSES
from shiyi.server.facets import FACETED, Narrowing, holders, narrowing, things
from shiyi.server.inputs import text_field
from shiyi.server.kept import Kept
from shiyi.server.reading import Reader, Thing
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language

_FACETS: Final = "facets"
_EXAMPLES: Final = (1, 2, 3, 4, 5)


def pages(site: Site, kept: Kept) -> Blueprint:
    """Serve ``/``, ``/ask``, ``/browse`` and ``/concept-search``."""
    routes = Blueprint("pages", __name__)

    @routes.get("/")
    def home() -> str:
        return render_template("home.html", examples=examples())

    @routes.get("/ask")
    def ask() -> str | Response:
        if "q" not in request.args:
            return render_template("home.html", examples=examples(), asking=True)
        return answered_page(asked(site), kept, request.args)

    @routes.get("/browse")
    def browse() -> str | Response:
        name, counts = request.args.get("class", ""), class_counts(site)
        if name and name not in counts:
            raise FormatError("class", name, list(counts))
        if name and request.args.get("format") == "csv":
            return _listed(kept, name)

        def made() -> str:
            reader = kept.reader(chosen_language())
            chosen = narrowed(kept, name) if name else None
            left = things(reader, chosen.left) if chosen and chosen.narrowed else None
            tree, total = class_tree(reader, name) if name else ([], 0)
            return render_template(
                "browse.html", counts=counts, chosen=name, tree=tree, total=total,
                facets=chosen.facets if chosen else (), narrowed=left,
            )  # fmt: skip

        # a page of earlier counts is not kept: the next reader may have the new ones
        return kept.response(made) if name not in FACETED or kept.is_current(_FACETS) else made()

    @routes.get("/concept-search")
    def search() -> str:
        words = request.args.get("q", "")
        found = (
            site.complete(text_field("q", words, 200), chosen_language(), 40)
            if words.strip() else ()
        )  # fmt: skip
        return render_template("search.html", words=words, found=found)

    return routes


def narrowed(kept: Kept, name: str) -> Narrowing:
    """Narrow a class by the facets that the query string chooses."""
    reader = kept.reader(chosen_language())
    held = kept.figures(_FACETS, lambda: holders(reader)) if name in FACETED else {}
    return narrowing(reader, name, request.args, held)


def _listed(kept: Kept, name: str) -> Response:
    """Give the members of a class that the facets leave, as a table."""
    table = StringIO()
    writer = csv.writer(table)
    writer.writerow(("id", "label", "other"))
    for each in things(kept.reader(chosen_language()), narrowed(kept, name).left):
        writer.writerow((each.iri, each.label, each.other))
    response = Response(table.getvalue(), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def examples() -> list[str]:
    """List the example questions in the reader's language."""
    words = catalogue()
    return [words(f"example.{n}") for n in _EXAMPLES]


def class_counts(site: Site) -> dict[str, int]:
    """Count the concepts of each class that has any."""
    return {name: site.counts[name] for name in CLASSES if name in site.counts}


Tree = list[tuple[Thing, "Tree"]]


def class_tree(reader: Reader, name: str) -> tuple[Tree, int]:
    """Give the concepts of a class as a forest along ``skos:broader``, and how many there are."""
    kind = NamedNode(VOCAB + name)
    members = {
        quad.subject
        for quad in reader.store.match(None, RDF.type, kind, DefaultGraph())
        if isinstance(quad.subject, NamedNode)
    }
    children: dict[NamedNode, list[NamedNode]] = {}
    roots: list[NamedNode] = []
    for node in members:
        above = [p for p in reader.values(node, SKOS.broader) if p in members and p != node]
        parents = [parent for parent in above if isinstance(parent, NamedNode)]
        for parent in parents:
            children.setdefault(parent, []).append(node)
        if not parents:
            roots.append(node)

    def grown(node: NamedNode, above: frozenset[NamedNode]) -> tuple[Thing, Tree]:
        below = [n for n in children.get(node, ()) if n not in above]
        return reader.thing(node), planted(below, above | {node})

    def planted(nodes: list[NamedNode], above: frozenset[NamedNode]) -> Tree:
        return [grown(node, above) for node in sorted(nodes, key=sort_key)]

    def sort_key(node: NamedNode) -> tuple[str, str]:
        return text(next(reader.values(node, SKOS.notation), None)), reader.thing(node).label

    return planted(roots, frozenset()), len(members)
