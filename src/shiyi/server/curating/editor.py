"""The claim editor: a form made from the shapes, checked, previewed and saved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from flask import Blueprint, Response, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.answering.pipeline import AskRequest
from shiyi.curation.accounts import Right
from shiyi.curation.changes import version_of
from shiyi.curation.desks.desk import SECOND, Desk
from shiyi.curation.desks.forms import ClaimEdit, full_iri
from shiyi.curation.editing.changes import successors
from shiyi.curation.editing.claims import StoredClaim, find_concepts, load_classes, passage_text
from shiyi.curation.editing.fields import Field, ShapeForms
from shiyi.curation.editing.form import ClaimDraft, is_iri
from shiyi.curation.editing.validation import compute_effect
from shiyi.errors import FormatError, FormError, OutsideError, StaleError
from shiyi.model.claim import Claim
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.curating.forms import parse_form, with_faults
from shiyi.server.curating.history import list_lines
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import json_response
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.problems import fault_values
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.site.site import Site
from shiyi.server.views.reader import Reader, Thing

DOES: Final = ("edit", "duplicate", "negate", "split", "mend", "new")
_SOURCES: Final = 600  # in the list of a form
_EATEN: Final = frozenset(
    {"DietaryMaterial", "Dish", "Formula", "DSIngredient", "DSProduct", "Drug"}
)


@dataclass(frozen=True, slots=True)
class Preview:
    """A question asked before saving, and whether its answer cites the old claim."""

    question: str
    cites: bool


def edit_routes(site: Site, pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/edit`` and its check."""
    routes, reader = Blueprint("edit", __name__, url_prefix=PREFIX), pages.reader

    def render(draft: ClaimDraft, **more: Any) -> str:
        old, does = _old(desk), _does()
        edit = more.pop("edit", None)
        return render_template(
            "curate/edit.html",
            does=does,
            stored=reader().claim(old.iri, old.home) if old else None,
            waiting=_ends(reader(), tuple(successors(desk.store, old.iri.value))) if old else (),
            version=more.pop("version", "")
            or (version_of(desk.store, old.iri.value) if old else ""),
            proposes=edit is not None and edit.kind == "propose",
            **_fields(reader(), desk, draft.with_blank()),
            **more,
        )

    def again() -> str:
        """Show what was typed, beside its faults."""
        return render(ClaimDraft.of_form(request.form), version=request.form.get("version", ""))

    @routes.get("/edit")
    @needs(Right.COMMENT)
    def form() -> str:
        old, does = _old(desk), _does()
        draft = ClaimDraft.of_claim(old) if old else ClaimDraft.of_form(request.args)
        return render(draft.negate() if does == "negate" else draft)

    @routes.post("/edit")
    @needs(Right.COMMENT)
    @with_faults(again)
    def send() -> BaseResponse | str | tuple[str, int]:
        action, draft = request.form.get("action", "check"), ClaimDraft.of_form(request.form)
        if action == "refresh":
            return again()
        asked = _edit_of_draft(draft)
        if action == "check":
            desk.claims_of(asked)
            return render(draft, version=asked.version, checked=True)
        if action == "save":
            try:
                return _save_draft(desk, asked)
            except StaleError:
                later, difference = desk.writing().since(asked.claim, asked.version)
                lines = list_lines(reader(), difference.removed, difference.added)
                return render(draft, stale=later, stale_lines=lines), 409
        claims, edit = desk.plan_claim(person(), asked)
        old = desk.editable(asked.claim)
        return render(
            draft,
            version=asked.version,
            checked=True,
            effect=(effect := compute_effect(desk.store, old, claims, edit)),
            resting=_ends(reader(), effect.resting),
            conflicts=_ends(reader(), effect.conflicts),
            answers=_preview_answers(site, reader(), old, claims),
            edit=edit,
        )

    return routes


def check_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve the check of a form that is being filled in, and the page after saving."""
    routes = Blueprint("edit_check", __name__, url_prefix=PREFIX)

    @routes.post("/edit/check")
    @needs(Right.COMMENT)
    def check() -> Response:
        faults: list[dict[str, str]] = []
        try:
            desk.claims_of(_edit_of_draft(ClaimDraft.of_form(request.form)))
        except FormError as error:
            faults = fault_values(error)
        return json_response({"conforms": not faults, "faults": faults})

    @routes.get("/edit/done")
    @needs(Right.READ)
    def saved_page() -> str:
        old = _old(desk)
        claim = pages.reader().claim(old.iri, old.home) if old else None
        return render_template("curate/done.html", claim=claim)

    return routes


def _save_draft(desk: Desk, request: ClaimEdit) -> BaseResponse:
    claims, edit = desk.plan_claim(person(), request)
    change = desk.save_claim(person(), request)
    status = {quad.object for quad in edit.added if quad.predicate == SHIYI.status}
    waits = edit.kind == "propose" or SHIYI.candidate in status
    flash(catalogue()("edit.proposed" if waits else "edit.saved", n=change.number))
    return redirect(f"{PREFIX}/edit/done?claim={claims[0].iri.value.removeprefix(ID)}")


def _old(desk: Desk) -> StoredClaim | None:
    name = request.values.get("claim", "")
    try:
        return desk.editable(full_iri(name))
    except FormError as error:
        raise NotFound(error.faults[0].message(choose_language())) from error


def _does() -> str:
    does = request.values.get("do", "edit" if request.values.get("claim") else "new")
    if does not in DOES:
        raise FormatError("kind of edit", does, DOES)
    return does


def _edit_of_draft(draft: ClaimDraft) -> ClaimEdit:
    does = _does()
    drafts = _halves(draft) if does == "split" else [draft]
    return parse_form(ClaimEdit, drafts=drafts, retires=does not in {"duplicate", "new"})


def _halves(draft: ClaimDraft) -> list[ClaimDraft]:
    """Split a draft in two, by the half that each piece of evidence is for."""
    form = request.form

    def half(which: str) -> ClaimDraft:
        drafts = [e for e in draft.evidence if form.get(e.name("for"), "both") in ("both", which)]
        return draft.model_copy(update={"evidence": tuple(drafts)})

    names = ("object", "object_en", "relation")
    typed = {name: form.get(SECOND + name, "").strip() for name in names}
    update = {name: value for name, value in typed.items() if value or name != "relation"}
    return [half("first"), half("second").model_copy(update=update)]


def _fields(reader: Reader, desk: Desk, draft: ClaimDraft) -> Mapping[str, Any]:
    """Return what the form's fields offer and hold, concepts by their labels."""
    forms, language, store = ShapeForms.load(), choose_language(), desk.store
    concepts = find_concepts(store, draft.subject)
    subject = concepts[0] if len(concepts) == 1 else ""
    kinds = load_classes(store, subject) if subject else frozenset[str]()
    known = draft.relation in forms.schema.properties
    object_field = forms.object_field(draft.relation, kinds) if known else None
    names = forms.relations(kinds) if subject else ()
    labels = ((forms.schema.property(name), name) for name in names)
    return {
        "draft": _readable(reader, desk, draft, object_field),
        "relations": sorted((p.label_zh if language == "zh" else p.label_en, n) for p, n in labels),
        "object_field": object_field,
        "evidence_fields": forms.evidence_fields(),
        "confidence_field": forms.evidence_field("extractionConfidence"),
        "kind_field": forms.evidence_field("evidenceKind"),
        "sources": _sources(reader),
        "passages": {
            e.place: passage_text(store, e.passage) for e in draft.evidence if is_iri(e.passage)
        },
    }


def _readable(
    reader: Reader, desk: Desk, draft: ClaimDraft, object_field: Field | None
) -> ClaimDraft:
    """Show a concept by its label where the label means it alone, else by its identifier."""

    def render(words: str, kinds: tuple[str, ...]) -> str:
        concepts = find_concepts(desk.store, words, kinds)
        if len(concepts) != 1:
            return words
        label = reader.thing(NamedNode(concepts[0])).label
        alone = find_concepts(desk.store, label, kinds) == concepts
        return label if alone else concepts[0].removeprefix(ID)

    update = {"subject": render(draft.subject, ())}
    if object_field is not None and object_field.kind == "concept":
        update["object"] = render(draft.object, object_field.kinds)
    return draft.model_copy(update=update)


def _sources(reader: Reader) -> list[tuple[str, str]]:
    terms = {q.subject for q in reader.store.match(None, RDF.type, SHIYI.Source, None)}
    named = (term for term in terms if isinstance(term, NamedNode))
    pairs = ((e.value.removeprefix(f"{ID}source-"), reader.thing(e).label) for e in named)
    return sorted(pairs)[:_SOURCES]


def _ends(reader: Reader, claims: tuple[str, ...]) -> tuple[Thing, ...]:
    return tuple(reader.premise(NamedNode(claim)) for claim in claims[:12])


def _preview_answers(
    site: Site, reader: Reader, old: StoredClaim | None, claims: tuple[Claim, ...]
) -> tuple[Preview, ...] | None:
    """Ask questions about both ends, and see which answers cite the claim that would go.

    None where the answers' model does not answer.
    """
    if old is None:
        return ()
    previews = []
    for question in _questions(reader, [old.claim, *claims])[:4]:
        try:
            answer = site.ask(AskRequest(question, site.methods[0], choose_language()))
        except OutsideError:
            return None
        previews.append(Preview(question, any(c.claim == old.iri.value for c in answer.citations)))
    return tuple(previews)


def _questions(reader: Reader, claims: list[Claim]) -> list[str]:
    """Return questions about both ends: about food, about a condition, about the two."""
    t, created = catalogue(), dict[str, None]()
    for claim in claims:
        eaten: list[str] = []
        had: list[str] = []
        for end in (claim.subject, claim.object):
            if isinstance(end, NamedNode):
                kinds, label = load_classes(reader.store, end.value), reader.thing(end).label
                (eaten if kinds & _EATEN else had if "Condition" in kinds else []).append(label)
        if len(eaten) == 2:
            created[t("edit.pair_question", one=eaten[0], other=eaten[1])] = None
        if eaten and had:
            created[t("edit.had_question", one=eaten[0], other=had[0])] = None
        created |= {t("concept.ask_question", label=each): None for each in eaten}
        created |= {t("constitution.question", label=each): None for each in had}
    return list(created)
