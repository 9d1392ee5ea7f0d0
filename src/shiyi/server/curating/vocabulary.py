"""The desks of concepts, of mappings and of proposed terms."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from flask import Blueprint, Response, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right
from shiyi.curation.changes import Change, version_of
from shiyi.curation.desks import forms
from shiyi.curation.desks.desk import Desk
from shiyi.curation.editing.fields import ShapeForms
from shiyi.curation.vocabulary import mappings, merging, proposals
from shiyi.curation.vocabulary.concepts import narrower
from shiyi.curation.vocabulary.sssom import serialize_sssom
from shiyi.errors import FormError, StaleError, UsageError
from shiyi.ingest.tables.concepts import KINDS, Concept
from shiyi.ingest.tables.mappings import LINKS
from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, Term, text
from shiyi.ontology.terms import DCTERMS, RDFS, SHIYI, SKOS
from shiyi.server.curating.forms import keep_typed, parse_form, with_faults
from shiyi.server.curating.history import list_lines
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import count_field, text_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, choose_language, fault_text
from shiyi.server.pages.browse import class_counts, class_tree
from shiyi.server.site.site import Site
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader, Thing

SHOWN: Final = 12  # mappings of one page


def vocabulary_routes(site: Site, pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/vocabulary``: concepts and what is done to them."""
    routes = Blueprint("vocabulary_desk", __name__, url_prefix=f"{PREFIX}/vocabulary")

    @routes.get("")
    @needs(Right.READ)
    def browse() -> str:
        words, name = request.args.get("q", ""), request.args.get("class", "")
        counts, reader = class_counts(site), pages.reader()
        name = name if name in counts else ""
        tree, total = class_tree(reader, name) if name else ([], 0)
        asked = text_field("q", words, 200) if words.strip() else ""
        return render_template(
            "curate/vocabulary.html",
            counts=counts,
            chosen=name,
            tree=tree,
            total=total,
            words=words,
            found=site.complete(asked, choose_language(), 40) if asked else (),
            classes=sorted(KINDS),
        )

    def concept_page(**more: Any) -> str:
        values = request.values
        name = values.get("was") or values.get("concept") or values.get("id") or ""
        entry = None if request.form.get("is_new") else _entry(desk, name)
        reader = pages.reader()
        if entry is None:
            kind = request.values.get("class", "")
            start = f"{KINDS[kind]}-" if kind in KINDS else ""
            return _concept_shown(desk, reader, Concept(start, kind, "", ""), is_new=True, **more)
        return _concept_shown(desk, reader, entry, is_new=False, **more)

    @routes.get("/concept")
    @needs(Right.READ)
    def concept() -> str:
        return concept_page()

    @routes.post("/concept")
    @needs(Right.EDIT)
    @with_faults(concept_page)
    def save() -> BaseResponse | tuple[str, int]:
        edit = parse_form(forms.ConceptEdit)
        try:
            change = desk.save_concept(person(), edit)
        except StaleError:
            thing = desk.concept(edit.was).iri.value
            later, difference = desk.writing().since(thing, edit.version)
            reader = pages.reader()
            lines = list_lines(reader, difference.removed, difference.added)
            keep_typed()
            return concept_page(stale=later, stale_lines=lines), 409
        return _redirect_saved(change, change.about[0])

    moves: dict[str, tuple[type[forms.Form], Callable[..., Change]]] = {
        "merge": (forms.ConceptMerge, desk.merge), "split": (forms.ConceptSplit, desk.split),
        "deprecate": (forms.Deprecation, desk.deprecate),
        "alias": (forms.Aliases, desk.add_aliases),
    }  # fmt: skip

    @routes.post("/move")
    @needs(Right.EDIT)
    @with_faults(concept_page)
    def move() -> BaseResponse:
        action = request.form.get("action", "")
        if action not in moves:
            raise UsageError("a concept is merged, split, deprecated or given another name")
        model, act = moves[action]
        change = act(person(), parse_form(model))
        return _redirect_saved(change, "" if change.kind == "deprecate" else change.about[-1])

    return routes


def _redirect_saved(change: Change, concept: str) -> BaseResponse:
    flash(catalogue()("edit.saved", n=change.number))
    query = f"/concept?id={concept.removeprefix(ID)}" if concept else ""
    return redirect(f"{PREFIX}/vocabulary{query}")


def _entry(desk: Desk, name: str) -> Concept | None:
    try:
        return desk.concept(name) if name else None
    except FormError as error:
        raise NotFound(error.faults[0].message(choose_language())) from error


def _concept_shown(desk: Desk, reader: Reader, entry: Concept, *, is_new: bool, **more: Any) -> str:
    store = desk.store
    claims = [] if is_new else merging.list_claims_about(store, entry.iri.value)
    messages = {
        local: " ".join(
            constraint.message_zh if choose_language() == "zh" else constraint.message_en
            for constraint in ShapeForms.load().constraints.get("Concept", ())
            if constraint.path == path
        )
        for local, path in (("zh", "prefLabel"), ("alt_zh", "altLabel"), ("broader", "broader"))
    }
    return render_template(
        "curate/concept.html",
        entry=entry,
        is_new=is_new,
        version="" if is_new else version_of(store, entry.iri.value),
        classes=sorted(KINDS),
        messages=messages,
        claim_count=len(claims),
        claims=sorted(
            (reader.premise(NamedNode(thing)) for thing in claims[:200]),
            key=lambda thing: thing.label,
        ),
        below=[] if is_new else [reader.thing(node) for node in narrower(store, entry.iri)],
        **more,
    )


def proposal_routes(desk: Desk) -> Blueprint:
    """Serve ``/curate/proposals``."""
    routes = Blueprint("proposals", __name__, url_prefix=PREFIX)

    @routes.get("/proposals")
    @needs(Right.READ)
    def list_page() -> str:
        return render_template(
            "curate/proposals.html",
            found=proposals.proposals(desk.store),
            prefixes=proposals.prefixes(),
        )

    @routes.post("/proposals")
    @needs(Right.COMMENT)
    @with_faults(list_page)
    def propose() -> BaseResponse:
        change = desk.propose(person(), parse_form(forms.TermProposal))
        flash(catalogue()("edit.proposed", n=change.number))
        return redirect(f"{PREFIX}/proposals")

    @routes.post("/proposals/settle")
    @needs(Right.APPROVE)
    @with_faults(list_page)
    def settle() -> BaseResponse:
        change = desk.decide_proposal(person(), parse_form(forms.ProposalDecision))
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/proposals")

    return routes


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
class MappingView:
    """A mapping with both its sides."""

    mapping: mappings.Mapping
    one: Side
    other: Side
    version: str


def mapping_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/mappings``, the decision on one, and SSSOM in and out."""
    routes, store = Blueprint("mappings", __name__, url_prefix=PREFIX), desk.store

    @routes.get("/mappings")
    @needs(Right.READ)
    def list_page() -> str:
        page = count_field("page", request.args.get("page"), 1, 100_000) or 1
        status, about = request.args.get("status", "candidate"), request.args.get("about", "")
        start = (page - 1) * SHOWN
        found = mappings.list_mappings(store, status, start, SHOWN + 1, ID + about if about else "")
        reader = pages.reader()
        return render_template(
            "curate/mappings.html",
            found=[_view_mapping(reader, each) for each in found[:SHOWN]],
            more=len(found) > SHOWN,
            page=page,
            status=status,
            about=about,
            counts=mappings.counts(store),
            predicates=sorted(LINKS),
            sets=mappings.sets(store),
        )

    @routes.post("/mappings")
    @needs(Right.REVIEW)
    @with_faults(list_page)
    def decide() -> BaseResponse:
        try:
            change = desk.decide_mapping(person(), parse_form(forms.MappingDecision))
        except StaleError as error:
            raise UsageError(f"{catalogue()('mappings.stale')} {fault_text(str(error))}") from error
        flash(catalogue()("edit.saved", n=change.number))
        back = request.form.get("back", "candidate")
        return redirect(f"{PREFIX}/mappings?status={back if back.isalpha() else 'candidate'}")

    @routes.post("/mappings/import")
    @needs(Right.EDIT)
    @with_faults(list_page)
    def take_in() -> BaseResponse:
        file = request.files.get("file")
        try:
            words = (file.read() if file else b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"the file is not UTF-8: {error.reason}") from error
        more = {"text": words} if words else {}
        change = desk.import_mappings(person(), parse_form(forms.MappingImport, **more))
        rows = sum(1 for q in change.added if q.predicate == DCTERMS.identifier)
        flash(catalogue()("mappings.imported", n=rows, change=change.number))
        return redirect(f"{PREFIX}/mappings")

    @routes.get("/mappings.sssom.tsv")
    @needs(Right.READ)
    def take_out() -> Response:
        name = request.args.get("set", "")
        status = request.args.get("status", "all" if name else "accepted")
        table = serialize_sssom(mappings.export_mappings(store, status, name))
        response = Response(table, content_type="text/tab-separated-values; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="mappings.sssom.tsv"'
        return response

    return routes


def _view_mapping(reader: Reader, mapping: mappings.Mapping) -> MappingView:
    one, other = (_side(reader, mapping, side) for side in ("subject", "object"))
    return MappingView(mapping, one, other, version_of(reader.store, mapping.iri))


def _side(reader: Reader, mapping: mappings.Mapping, side: str) -> Side:
    iri, row, own = getattr(mapping, side), mapping.row, side == "subject"
    node = NamedNode(iri)
    thing = reader.thing(node)
    if not reader.labels(node):
        value = reader.value(node, SKOS.prefLabel, None) or row.get(f"{side}_label")
        thing = Thing(iri, value or mapping.cui or iri, href(iri), kind="")
    stated = tuple(filter(None, (row.get(f"{side}_category"), row.get(f"{side}_type"))))
    types = (text(term) for term in reader.values(node, DCTERMS.type, None))
    kinds = stated or tuple(reader.thing(kind).label for kind in reader.kinds(node))
    around = [reader.thing(each) for each in _around(reader, node)]
    if own:
        around += [statement.other for statement in islice(reader.statements(node), 8)]
    return Side(
        thing,
        iri,
        reader.value(node, SKOS.definition, None) or reader.value(node, RDFS.comment),
        reader.texts(node, SKOS.altLabel, None)[:10],
        kinds or tuple(dict.fromkeys(types)),  # semantic types of an ingested UMLS release
        tuple(around[:12]),
        _other_mappings(reader, mapping, own),
    )


def _around(reader: Reader, node: NamedNode) -> list[Term]:
    links = (SKOS.broader, SKOS.narrower, SKOS.related)
    terms = (term for link in links for term in reader.values(node, link, None))
    below = (q.subject for q in reader.store.match(None, SKOS.broader, node, DefaultGraph()))
    return [*islice(terms, 8), *islice(below, 6)]


def _other_mappings(reader: Reader, mapping: mappings.Mapping, is_own: bool) -> tuple[Thing, ...]:
    """Name what else our concept is mapped to, or what else of Shiyi's is mapped to the target."""
    node, end = NamedNode(mapping.subject), NamedNode(mapping.object)
    things: dict[str, Thing] = {}
    for predicate in LINKS.values():
        start, target = (node, None) if is_own else (None, end)
        for quad in reader.store.match(start, predicate, target, DefaultGraph()):
            term = quad.object if is_own else quad.subject
            if text(term) != (mapping.object if is_own else mapping.subject):
                things[text(term)] = reader.thing(term)
    for term in reader.values(node, SHIYI.umlsCui) if is_own else ():
        things.setdefault(text(term), Thing("", text(term)))
    return tuple(things.values())[:8]
