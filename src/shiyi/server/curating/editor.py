"""The claim editor."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from flask import Blueprint, Response, flash, json, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.answering.pipeline import AskRequest
from shiyi.curation.accounts import Right, may
from shiyi.curation.changes import Change, Difference, Edit, version_of
from shiyi.curation.editing.changes import (
    ACCEPT,
    MEND,
    PROPOSE,
    Outcome,
    add_claim,
    replace_claim,
    successors,
)
from shiyi.curation.editing.claims import (
    ACCEPTED,
    StoredClaim,
    classes_of,
    find_concepts,
    passage_text,
    stored_claim,
)
from shiyi.curation.editing.fields import Field, ShapeForms
from shiyi.curation.editing.form import Draft, DraftEvidence, Fault, claim_of, negate
from shiyi.curation.editing.validation import Effect, effect_of, field_of, shape_name
from shiyi.errors import FormatError, OutsideError, StaleError, UsageError
from shiyi.model.claim import Claim
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import Catalogue, catalogue, chosen_language
from shiyi.server.site.curation import Curation
from shiyi.server.site.site import Site
from shiyi.server.views.links import href
from shiyi.server.views.reader import ClaimView, Reader, Thing
from shiyi.sparql.store.port import QuadStore


@dataclass(frozen=True, slots=True)
class Line:
    """One statement that went or came."""

    what: Thing
    value: Thing
    came: bool


@dataclass(frozen=True, slots=True)
class Since:
    """The changes of a claim since a form was opened, and what they changed."""

    changes: tuple[Change, ...]
    lines: tuple[Line, ...]


def lines_of(reader: Reader, difference: Difference) -> tuple[Line, ...]:
    """Return the statements of a difference as lines, removed ones first."""
    gone = [_line(reader, quad, False) for quad in difference.removed]
    return (*gone, *(_line(reader, quad, True) for quad in difference.added))


def _line(reader: Reader, quad: Quad, came: bool) -> Line:
    target = quad.object
    if isinstance(target, Triple):
        parts = (target.subject, target.predicate, target.object)
        value = Thing("", " · ".join(reader.thing(each).label for each in parts))
    else:
        value = reader.thing(target)
    what = reader.thing(quad.predicate)
    return Line(what if what.label else Thing("", local_name(quad.predicate.value)), value, came)


_SOURCES = 600  # in the list of a form


@dataclass(frozen=True, slots=True)
class Answered:
    """A question asked before saving, and whether its answer cites the old claim."""

    question: str
    cites: bool
    address: str


@dataclass(frozen=True, slots=True)
class EditView:
    """Everything on the page; ``faults`` are by the name of their field."""

    does: str
    draft: Draft
    subject: Thing | None
    relations: tuple[tuple[str, str], ...]
    object_field: Field | None
    evidence_fields: tuple[Field, ...]
    confidence_field: Field
    kind_field: Field
    sources: tuple[tuple[str, str], ...]
    passages: Mapping[int, str]
    sent: Mapping[str, str]  # what was sent, for fields that no draft holds
    stored: ClaimView | None = None
    version: str = ""
    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)
    waiting: tuple[Thing, ...] = ()
    checked: bool = False
    effect: Effect | None = None
    resting: tuple[Thing, ...] = ()
    conflicts: tuple[Thing, ...] = ()
    answers: tuple[Answered, ...] | None = None
    proposes: bool = False
    stale: Since | None = None

    @property
    def fault_count(self) -> int:
        """Count the faults."""
        return sum(len(each) for each in self.faults.values())

    def against(self, name: str) -> tuple[Fault, ...]:
        """List the faults of one field."""
        return self.faults.get(name, ())

    def value(self, evidence: DraftEvidence, name: str) -> str:
        """Return what a field of a piece of evidence holds."""
        return evidence.qualifiers.get(name, "")


def edit_view(
    reader: Reader,
    store: QuadStore,
    does: str,
    old: StoredClaim | None,
    draft: Draft,
    values: Mapping[str, str],
    *,
    version: str = "",
    faults: tuple[Fault, ...] = (),
    checked: bool = False,
    effect: Effect | None = None,
    edit: Edit | None = None,
    answers: tuple[Answered, ...] | None = None,
    stale: Since | None = None,
) -> EditView:
    """Gather the data of the page, with concepts by their labels."""
    forms, language = ShapeForms.load(), chosen_language()
    result = find_concepts(store, draft.subject)
    subject = result[0] if len(result) == 1 else ""
    kinds = classes_of(store, subject) if subject else frozenset()
    names = forms.relations(kinds) if subject else ()
    known = draft.relation in forms.schema.properties
    object_field = forms.object_field(draft.relation, kinds) if known else None
    by_field: dict[str, tuple[Fault, ...]] = {}
    for each in faults:
        by_field[each.field] = (*by_field.get(each.field, ()), each)
    return EditView(
        does,
        _readable(reader, store, draft, object_field),
        reader.thing(NamedNode(subject)) if subject else None,
        tuple(sorted((_label(forms, name, language), name) for name in names)),
        object_field,
        forms.evidence_fields(),
        forms.evidence_field("extractionConfidence"),
        forms.evidence_field("evidenceKind"),
        _sources(reader, store),
        {e.place: passage_text(store, e.passage) for e in draft.evidence if _is_own(e.passage)},
        values,
        reader.claim(old.iri, old.home) if old else None,
        version,
        by_field,
        tuple(reader.premise(NamedNode(x)) for x in successors(store, old.iri.value))
        if old
        else (),
        checked,
        effect,
        _named(reader, effect.resting if effect else ()),
        _named(reader, effect.conflicts if effect else ()),
        answers,
        edit is not None and edit.kind == "propose",
        stale,
    )


def _label(forms: ShapeForms, name: str, language: str) -> str:
    prop = forms.schema.property(name)
    return prop.label_zh if language == "zh" else prop.label_en


def _readable(reader: Reader, store: QuadStore, draft: Draft, object_field: Field | None) -> Draft:
    """Show a concept by its label where the label means it alone, else by its identifier."""
    from dataclasses import replace

    def shown(words: str, kinds: tuple[str, ...]) -> str:
        result = find_concepts(store, words, kinds)
        if len(result) != 1:
            return words
        label = reader.thing(NamedNode(result[0])).label
        return label if find_concepts(store, label, kinds) == result else result[0].removeprefix(ID)

    target = draft.object
    if object_field is not None and object_field.kind == "concept":
        target = shown(draft.object, object_field.kinds)
    return replace(draft, subject=shown(draft.subject, ()), object=target)


def _sources(reader: Reader, store: QuadStore) -> tuple[tuple[str, str], ...]:
    results = {
        quad.subject
        for quad in store.match(None, RDF.type, SHIYI.Source, None)
        if isinstance(quad.subject, NamedNode)
    }
    pairs = sorted(
        (each.value.removeprefix(f"{ID}source-"), reader.thing(each).label) for each in results
    )
    return tuple(pairs[:_SOURCES])


def _named(reader: Reader, claims: tuple[str, ...]) -> tuple[Thing, ...]:
    return tuple(reader.premise(NamedNode(each)) for each in claims[:12])


def _is_own(iri: str) -> bool:
    try:
        return NamedNode(iri).value.startswith(ID)
    except ValueError:
        return False


def answers_citing(
    site: Site, pages: PageCache, old: StoredClaim | None, claims: tuple[Claim, ...]
) -> tuple[Answered, ...] | None:
    """Ask questions about both ends, and see which answers cite the claim that would go.

    None where the answers' model does not answer.
    """
    if old is None:
        return ()
    reader, t, language = pages.reader(chosen_language()), catalogue(), chosen_language()
    questions = _questions(reader, t, [old.claim, *claims])
    results = []
    for question in questions[:4]:
        try:
            answer = site.ask(AskRequest(question, site.methods[0], language))
        except OutsideError:
            return None
        cites = any(each.claim == old.iri.value for each in answer.citations)
        results.append(Answered(question, cites, question))
    return tuple(results)


def _questions(reader: Reader, t: Catalogue, claims: list[Claim]) -> list[str]:
    """Return questions about both ends: about food, about a condition, about the two."""
    created: dict[str, None] = {}
    for claim in claims:
        eaten: list[str] = []
        had: list[str] = []
        for end in (claim.subject, claim.object):
            if isinstance(end, NamedNode):
                kinds, label = classes_of(reader.store, end.value), reader.thing(end).label
                (eaten if kinds & _EATEN else had if "Condition" in kinds else []).append(label)
        if len(eaten) == 2:
            created[t("edit.pair_question", one=eaten[0], other=eaten[1])] = None
        if eaten and had:
            created[t("edit.had_question", one=eaten[0], other=had[0])] = None
        created |= {t("concept.ask_question", label=each): None for each in eaten}
        created |= {t("constitution.question", label=each): None for each in had}
    return list(created)


_EATEN = frozenset({"DietaryMaterial", "Dish", "Formula", "DSIngredient", "DSProduct", "Drug"})


DOES: Final = ("edit", "duplicate", "negate", "split", "mend", "new")
SECOND: Final = "b-"  # what a split's second claim is called by in the form


def edit_routes(site: Site, pages: PageCache, curation: Curation) -> Blueprint:
    """Serve ``/curate/edit`` and its check."""
    routes = Blueprint("edit", __name__, url_prefix=PREFIX)
    desk = _Editor(site, pages, curation)

    @routes.get("/edit")
    @needs(Right.COMMENT)
    def form() -> str:
        return desk.opened()

    @routes.post("/edit")
    @needs(Right.COMMENT)
    def sent() -> BaseResponse | str | tuple[str, int]:
        return desk.sent()

    @routes.post("/edit/check")
    @needs(Right.COMMENT)
    def check() -> Response:
        _, faults = desk.claims()
        language = chosen_language()
        values = [
            {"field": each.field, "shape": each.shape, "message": each.message(language)}
            for each in faults
        ]
        return Response(
            json.dumps({"conforms": not values, "faults": values}, ensure_ascii=False),
            content_type="application/json",
        )

    @routes.get("/edit/done")
    @needs(Right.READ)
    def done() -> str:
        old = desk.old(request.args.get("claim", ""))
        claim = pages.reader(chosen_language()).claim(old.iri, old.home) if old else None
        return render_template("curate/done.html", claim=claim)

    return routes


class _Editor:
    """One form at a time: read, checked, shown or saved."""

    def __init__(self, site: Site, pages: PageCache, curation: Curation) -> None:
        self._site, self._pages, self._curation = site, pages, curation

    def opened(self) -> str:
        does = request.args.get("do", "edit" if request.args.get("claim") else "new")
        if does not in DOES:
            raise FormatError("kind of edit", does, DOES)
        old = self.old(request.args.get("claim", ""))
        draft = Draft.of_claim(old) if old else Draft.of_form(request.args)
        if does == "negate":
            draft = negate(draft)
        return self._shown(does, old, draft.with_blank(), version=self._version(old))

    def sent(self) -> BaseResponse | str | tuple[str, int]:
        action, does = request.form.get("action", "check"), request.form.get("do", "edit")
        if does not in DOES:
            raise FormatError("kind of edit", does, DOES)
        old = self.old(request.form.get("claim", ""))
        draft, version = Draft.of_form(request.form), request.form.get("version", "")
        if action == "refresh":
            return self._shown(does, old, draft.with_blank(), version=version)
        claims, faults = self.claims()
        if faults or action == "check":
            page = self._shown(
                does, old, draft.with_blank(), faults=faults, version=version, checked=not faults
            )
            return (page, 422) if faults else page
        edit = self._edit(does, old, claims, version)
        if action == "save":
            return self._saved(does, old, draft, claims, edit)
        effect = effect_of(self._site.store, old, claims, edit)
        answers = answers_citing(self._site, self._pages, old, claims)
        return self._shown(
            does,
            old,
            draft.with_blank(),
            version=version,
            checked=True,
            effect=effect,
            answers=answers,
            edit=edit,
        )

    def claims(self) -> tuple[tuple[Claim, ...], tuple[Fault, ...]]:
        """Return the claims the form says, or every fault: of the fields, then of the shapes."""
        drafts = [Draft.of_form(request.form)]
        if request.form.get("do") == "split":
            drafts = _halves(drafts[0])
        results, faults = [], list[Fault]()
        for prefix, draft in zip(("", SECOND), drafts, strict=False):
            claim, wrong = claim_of(draft, self._site.store, self._site.settings.confidence)
            if claim is not None:
                wrong = self._against(claim, draft)
                results.append(claim)
            faults += [
                replace(each, field=prefix + each.field)
                if prefix and each.field in {"object", "relation", "language"}
                else each
                for each in wrong
            ]
        if not faults and len({each.iri for each in results}) < len(drafts):
            faults.append(Fault(f"{SECOND}object", *catalogue_pair("edit.same_halves")))
        return tuple(results), tuple(dict.fromkeys(faults))

    def _against(self, claim: Claim, draft: Draft) -> tuple[Fault, ...]:
        store = self._site.store
        classes = {
            iri: classes_of(store, iri)
            for iri in (claim.subject.value, text(claim.object))
            if iri.startswith(ID)
        }
        places = [each.place for each in draft.remaining()]
        return tuple(
            Fault(
                _placed(field_of(each, claim), places),
                each.message_zh,
                each.message_en,
                shape_name(each, claim, classes),
            )
            for each in self._curation.checker.claim(claim, classes)
            if each.severity == "Violation"
        )

    def _edit(
        self, does: str, old: StoredClaim | None, claims: tuple[Claim, ...], version: str
    ) -> Edit:
        reason, key = request.form.get("reason", "").strip(), request.form.get("key", "")
        outcome, store = self.outcome(old, claims), self._site.store
        if old is None or does in {"duplicate", "new"}:
            return add_claim(store, claims[0], reason, outcome, key)
        return replace_claim(store, old, claims, reason, version, outcome, key)

    def outcome(self, old: StoredClaim | None, claims: tuple[Claim, ...]) -> Outcome:
        """Return where the claims are to stand: what touches safety waits for a second reviewer."""
        if not may(person().role, Right.EDIT):
            return PROPOSE
        if old is not None and old.home != ACCEPTED:
            return MEND
        concerned = [*claims, *([old.claim] if old else [])]
        safety = any(
            Schema.load().property(local_name(each.predicate.value)).is_safety for each in concerned
        )
        same = old is not None and [each.iri for each in claims] == [old.iri]
        return PROPOSE if safety and not same else ACCEPT

    def _saved(
        self,
        does: str,
        old: StoredClaim | None,
        draft: Draft,
        claims: tuple[Claim, ...],
        edit: Edit,
    ) -> BaseResponse | tuple[str, int]:
        if not edit.reason:
            raise UsageError(catalogue()("edit.reason_missing"))
        try:
            change = self._curation.writing.make(edit, person().name)
        except StaleError:
            page = self._shown(
                does,
                old,
                draft.with_blank(),
                version=self._version(old),
                stale=self._since(old, edit),
            )
            return page, 409
        key = "edit.proposed" if self.outcome(old, claims) is PROPOSE else "edit.saved"
        flash(catalogue()(key, n=change.number))
        return redirect(f"{PREFIX}/edit/done?claim={claims[0].iri.value.removeprefix(ID)}")

    def old(self, name: str) -> StoredClaim | None:
        if not name:
            return None
        iri = name if name.startswith(ID) else ID + name
        if not iri.isprintable() or set(iri) & set('<>"{}|\\^` '):
            raise NotFound("no claim has such a name")
        result = stored_claim(self._site.store, iri)
        if result is None:
            raise NotFound(f"no claim {iri} can be edited here")
        return result

    def _since(self, old: StoredClaim | None, edit: Edit) -> Since:
        if old is None:
            return Since((), ())
        thing = old.iri.value
        later, difference = self._curation.writing.since(thing, edit.expected.get(thing, ""))
        return Since(later, lines_of(self._pages.reader(chosen_language()), difference))

    def _version(self, old: StoredClaim | None) -> str:
        return version_of(self._site.store, old.iri.value) if old else ""

    def _shown(self, does: str, old: StoredClaim | None, draft: Draft, **more: Any) -> str:
        reader = self._pages.reader(chosen_language())
        view: EditView = edit_view(reader, self._site.store, does, old, draft, request.form, **more)
        return render_template(
            "curate/edit.html",
            view=view,
            key=request.form.get("key") or uuid4().hex,
            reason=request.form.get("reason", ""),
            claim_page=href(old.iri.value) if old else "",
        )


def catalogue_pair(key: str) -> tuple[str, str]:
    """Return a text in Chinese and in English."""
    from shiyi.server.i18n import Catalogue

    return Catalogue.load("zh")(key), Catalogue.load("en")(key)


def _halves(draft: Draft) -> list[Draft]:
    """Split a draft in two, by the half that each piece of evidence is for."""
    form = request.form

    def half(which: str) -> Draft:
        evidence = tuple(
            each for each in draft.evidence if form.get(each.name("for"), "both") in ("both", which)
        )
        return replace(draft, evidence=evidence)

    second = replace(
        half("second"),
        object=form.get(f"{SECOND}object", "").strip(),
        relation=form.get(f"{SECOND}relation", "").strip() or draft.relation,
        language=form.get(f"{SECOND}language", "").strip() or draft.language,
    )
    return [half("first"), second]


def _placed(name: str, places: list[int]) -> str:
    """Return the form's name of a fault's field; the form may leave numbers out."""
    head, dash, part = name.partition("-")
    if not dash or not head[1:].isdigit():
        return name
    part = {"extractionConfidence": "confidence", "sourceLocator": "locator"}.get(part, part)
    return f"e{places[int(head[1:])]}-{part}"
