"""Mapping desk."""

from dataclasses import dataclass
from itertools import islice
from uuid import uuid4

from flask import Blueprint, Response, flash, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right
from shiyi.curation.changes import version_of
from shiyi.curation.vocabulary import mappings
from shiyi.curation.vocabulary.concepts import stored_concept
from shiyi.curation.vocabulary.mappings import candidates
from shiyi.curation.vocabulary.sssom import MappingSet, parse_sssom, serialize_sssom
from shiyi.errors import StaleError, UsageError
from shiyi.ingest.tables.mappings import LINKS
from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Term, text
from shiyi.ontology.terms import DCTERMS, RDFS, SHIYI, SKOS
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import count_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, chosen_language
from shiyi.server.site.curation import Curation
from shiyi.server.site.site import Site
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader, Thing

SHOWN = 12  # mappings of one page


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a mapping: names, definition, kinds, and what stands around it."""

    thing: Thing
    iri: str
    definition: str
    aliases: tuple[str, ...]
    kinds: tuple[str, ...]
    neighbours: tuple[Thing, ...]
    others: tuple[Thing, ...]  # what else is mapped to, or from, the same


@dataclass(frozen=True, slots=True)
class Shown:
    """A mapping with both its sides."""

    mapping: mappings.Mapping
    one: Side
    other: Side
    version: str


def mapping_routes(site: Site, pages: PageCache, curation: Curation) -> Blueprint:
    """Serve ``/curate/mappings``, the decision on one, and SSSOM in and out."""
    routes = Blueprint("mappings", __name__, url_prefix=PREFIX)
    store = site.store

    @routes.get("/mappings")
    @needs(Right.READ)
    def desk() -> str:
        page = count_field("page", request.args.get("page"), 1, 100_000) or 1
        status, about = request.args.get("status", "candidate"), request.args.get("about", "")
        iri = ID + about if about else ""
        result = mappings.list_mappings(store, status, (page - 1) * SHOWN, SHOWN + 1, iri)
        reader = pages.reader(chosen_language())
        return render_template(
            "curate/mappings.html",
            found=[_shown(reader, each) for each in result[:SHOWN]],
            more=len(result) > SHOWN,
            page=page,
            status=status,
            about=about,
            key=uuid4().hex,
            counts=mappings.counts(store),
            predicates=sorted(LINKS),
            sets=mappings.sets(store),
        )

    @routes.post("/mappings")
    @needs(Right.REVIEW)
    def decide() -> BaseResponse:
        form = request.form
        does = form.get("action", "")
        status = {
            "accept": "accepted",
            "reject": "rejected",
            "rule-out": "accepted",
            "wait": "candidate",
        }.get(does)
        if status is None:
            raise UsageError("a mapping is accepted, rejected, ruled out, or put back to wait")
        name = form.get("mapping", "")
        if not name.startswith("mapping/") or not name.removeprefix("mapping/").isalnum():
            raise UsageError("there is no such mapping")
        agent, version = person().name, form.get("version", "")
        edit = mappings.decide_mapping(
            store,
            ID + name,
            status,
            form.get("reason", "").strip(),
            predicate=form.get("predicate", ""),
            negated=does == "rule-out",
            reviewer=agent,
            version=version,
            key=form.get("key", ""),
        )
        try:
            change = curation.writing.make(edit, agent)
        except StaleError as fault:
            raise UsageError(f"{catalogue()('mappings.stale')} {fault}") from fault
        flash(catalogue()("edit.saved", n=change.number))
        back = form.get("back", "candidate")
        return redirect(f"{PREFIX}/mappings?status={back if back.isalpha() else 'candidate'}")

    @routes.post("/mappings/import")
    @needs(Right.EDIT)
    def take_in() -> BaseResponse:
        result = _taken(site)
        edit = mappings.import_mappings(store, result, catalogue()("mappings.taken_in"))
        change = curation.writing.make(edit, person().name)
        flash(catalogue()("mappings.imported", n=len(result.rows), change=change.number))
        return redirect(f"{PREFIX}/mappings")

    @routes.get("/mappings.sssom.tsv")
    @needs(Right.READ)
    def take_out() -> Response:
        result = mappings.export_mappings(
            store,
            request.args.get("status", "all" if request.args.get("set") else "accepted"),
            request.args.get("set", ""),
        )
        response = Response(
            serialize_sssom(result), content_type="text/tab-separated-values; charset=utf-8"
        )
        response.headers["Content-Disposition"] = 'attachment; filename="mappings.sssom.tsv"'
        return response

    return routes


def _taken(site: Site) -> MappingSet:
    """Read what is to be taken in: a table, links of cases, or a look at UMLS."""
    kind = request.form.get("from", "")
    if kind == "cases":
        return mappings.case_rows(site.store)
    if kind == "umls":
        return _of_umls(site, request.form.get("about", ""))
    sent = request.files.get("file")
    try:
        words = (sent.read() if sent else b"").decode("utf-8")
    except UnicodeDecodeError as fault:
        raise UsageError(f"the file is not UTF-8: {fault.reason}") from fault
    return parse_sssom(words or request.form.get("text", ""))


def _of_umls(site: Site, name: str) -> MappingSet:
    """Look a concept up in the operator's UMLS release."""
    entry = stored_concept(site.store, ID + name) if name.replace("-", "").isalnum() else None
    if entry is None:
        raise UsageError("no table holds a concept of that name")
    return candidates(entry, site.settings.kb)


def _shown(reader: Reader, mapping: mappings.Mapping) -> Shown:
    return Shown(
        mapping,
        _side(reader, mapping.subject, mapping.row.get("subject_label"), mapping, True),
        _side(reader, mapping.object, mapping.row.get("object_label"), mapping, False),
        version_of(reader.store, mapping.iri),
    )


def _side(reader: Reader, iri: str, label: str, mapping: mappings.Mapping, ours: bool) -> Side:
    node = NamedNode(iri)
    thing = reader.thing(node)
    if not reader.labels(node):
        value = reader.value(node, SKOS.prefLabel, None) or label
        thing = Thing(iri, value or mapping.cui or iri, href(iri), kind="")
    row = mapping.row
    kinds = tuple(
        each
        for each in (
            row.get("subject_category" if ours else "object_category"),
            row.get("subject_type" if ours else "object_type"),
        )
        if each
    )
    types = (text(term) for term in reader.values(node, DCTERMS.type, None))
    kinds = kinds or tuple(reader.thing(each).label for each in reader.kinds(node))
    kinds = kinds or tuple(dict.fromkeys(types))  # semantic types of an ingested UMLS release
    around = [reader.thing(each) for each in (*_linked(reader, node), *_below(reader, node))]
    if ours:
        around += [each.other for each in islice(reader.statements(node), 8)]
    definition = reader.value(node, SKOS.definition, None) or reader.value(node, RDFS.comment)
    return Side(
        thing,
        iri,
        definition,
        reader.texts(node, SKOS.altLabel, None)[:10],
        kinds,
        tuple(around[:12]),
        _others(reader, mapping, ours),
    )


def _linked(reader: Reader, node: NamedNode) -> list[Term]:
    results = (
        term
        for link in (SKOS.broader, SKOS.narrower, SKOS.related)
        for term in reader.values(node, link, None)
    )
    return list(islice(results, 8))


def _below(reader: Reader, node: NamedNode) -> list[NamedNode]:
    quads = reader.store.match(None, SKOS.broader, node, DefaultGraph())
    return [q.subject for q in islice(quads, 6) if isinstance(q.subject, NamedNode)]


def _others(reader: Reader, mapping: mappings.Mapping, ours: bool) -> tuple[Thing, ...]:
    """Name what else our concept is mapped to, or what else of Shiyi's is mapped to the target."""
    results: dict[str, Thing] = {}
    store = reader.store
    for predicate in LINKS.values():
        if ours:
            quads = store.match(NamedNode(mapping.subject), predicate, None, DefaultGraph())
            terms = [q.object for q in quads if text(q.object) != mapping.object]
        else:
            quads = store.match(None, predicate, NamedNode(mapping.object), DefaultGraph())
            terms = [q.subject for q in quads if text(q.subject) != mapping.subject]
        for term in terms:
            results[text(term)] = reader.thing(term)
    if ours:
        for term in reader.values(NamedNode(mapping.subject), SHIYI.umlsCui):
            if isinstance(term, Literal):
                results.setdefault(term.value, Thing("", term.value))
    return tuple(results.values())[:8]
