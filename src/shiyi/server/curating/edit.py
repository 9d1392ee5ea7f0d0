"""The claim editor: a form made from the shapes, checked as it is filled in, previewed, saved."""

from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from flask import Blueprint, Response, flash, json, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.changes import Edit
from shiyi.curation.editing import Draft, claim_of, negated
from shiyi.curation.editing_changes import ACCEPT, MEND, PROPOSE, Outcome, added, replaced
from shiyi.curation.editing_check import explained, field_of
from shiyi.curation.editing_claims import ACCEPTED, StoredClaim, classes_of, stored_claim
from shiyi.curation.editing_faults import Fault
from shiyi.curation.editing_preview import effect_of
from shiyi.curation.roles import Right, may
from shiyi.curation.state import version_of
from shiyi.errors import FormatError, StaleError, UsageError
from shiyi.model.claim import Claim
from shiyi.model.names import ID
from shiyi.model.rdf import local_name, text
from shiyi.ontology.vocabulary import Schema
from shiyi.server.curating.edit_stale import since_then
from shiyi.server.curating.edit_view import EditView, answers_citing, edit_view
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.kept import Kept
from shiyi.server.links import href
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language

DOES: Final = ("edit", "duplicate", "negate", "split", "mend", "new")
SECOND: Final = "b-"  # what a split's second claim is called by in the form


def edit_routes(site: Site, kept: Kept, curation: Curation) -> Blueprint:
    """Serve ``/curate/edit`` and its check."""
    routes = Blueprint("edit", __name__, url_prefix=PREFIX)
    desk = _Editor(site, kept, curation)

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
        said = [
            {"field": each.field, "shape": each.shape, "message": each.message(language)}
            for each in faults
        ]
        return Response(
            json.dumps({"conforms": not said, "faults": said}, ensure_ascii=False),
            content_type="application/json",
        )

    @routes.get("/edit/done")
    @needs(Right.READ)
    def done() -> str:
        old = desk.old(request.args.get("claim", ""))
        claim = kept.reader(chosen_language()).claim(old.iri, old.home) if old else None
        return render_template("curate/done.html", claim=claim)

    return routes


class _Editor:
    """One form at a time: read, checked, shown or saved."""

    def __init__(self, site: Site, kept: Kept, curation: Curation) -> None:
        self._site, self._kept, self._curation = site, kept, curation

    def opened(self) -> str:
        does = request.args.get("do", "edit" if request.args.get("claim") else "new")
        if does not in DOES:
            raise FormatError("kind of edit", does, DOES)
        old = self.old(request.args.get("claim", ""))
        draft = Draft.of_claim(old) if old else Draft.of_form(request.args)
        if does == "negate":
            draft = negated(draft)
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
        answers = answers_citing(self._site, self._kept, old, claims)
        return self._shown(
            does, old, draft.with_blank(), version=version, checked=True, effect=effect,
            answers=answers, edit=edit,
        )  # fmt: skip

    def claims(self) -> tuple[tuple[Claim, ...], tuple[Fault, ...]]:
        """Give the claims the form says, or every fault: of the fields, then of the shapes."""
        drafts = [Draft.of_form(request.form)]
        if request.form.get("do") == "split":
            drafts = _halves(drafts[0])
        found, faults = [], list[Fault]()
        for prefix, draft in zip(("", SECOND), drafts, strict=False):
            claim, wrong = claim_of(draft, self._site.store, self._site.settings.confidence)
            if claim is not None:
                wrong = self._against(claim, draft)
                found.append(claim)
            faults += [
                replace(each, field=prefix + each.field)
                if prefix and each.field in {"object", "relation", "language"} else each
                for each in wrong
            ]  # fmt: skip
        if not faults and len({each.iri for each in found}) < len(drafts):
            faults.append(Fault(f"{SECOND}object", *catalogue_pair("edit.same_halves")))
        return tuple(found), tuple(dict.fromkeys(faults))

    def _against(self, claim: Claim, draft: Draft) -> tuple[Fault, ...]:
        store = self._site.store
        classes = {
            iri: classes_of(store, iri) for iri in (claim.subject.value, text(claim.object))
            if iri.startswith(ID)
        }  # fmt: skip
        places = [each.place for each in draft.kept()]
        return tuple(
            Fault(
                _placed(field_of(each, claim), places), each.message_zh, each.message_en,
                explained(each, claim, classes),
            )
            for each in self._curation.checker.claim(claim, classes)
            if each.severity == "Violation"
        )  # fmt: skip

    def _edit(
        self, does: str, old: StoredClaim | None, claims: tuple[Claim, ...], version: str
    ) -> Edit:
        reason, key = request.form.get("reason", "").strip(), request.form.get("key", "")
        outcome, store = self.outcome(old, claims), self._site.store
        if old is None or does in {"duplicate", "new"}:
            return added(store, claims[0], reason, outcome, key)
        return replaced(store, old, claims, reason, version, outcome, key)

    def outcome(self, old: StoredClaim | None, claims: tuple[Claim, ...]) -> Outcome:
        """Say where the claims are to stand: what touches safety waits for a second reviewer."""
        if not may(person().role, Right.EDIT):
            return PROPOSE
        if old is not None and old.home != ACCEPTED:
            return MEND
        told = [*claims, *([old.claim] if old else [])]
        safety = any(
            Schema.load().property(local_name(each.predicate.value)).is_safety for each in told
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
                does, old, draft.with_blank(), version=self._version(old),
                stale=since_then(self._site, self._kept, self._curation, old, edit),
            )  # fmt: skip
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
        found = stored_claim(self._site.store, iri)
        if found is None:
            raise NotFound(f"no claim {iri} can be edited here")
        return found

    def _version(self, old: StoredClaim | None) -> str:
        return version_of(self._site.store, old.iri.value) if old else ""

    def _shown(self, does: str, old: StoredClaim | None, draft: Draft, **more: Any) -> str:
        reader = self._kept.reader(chosen_language())
        view: EditView = edit_view(reader, self._site.store, does, old, draft, request.form, **more)
        return render_template(
            "curate/edit.html", view=view, key=request.form.get("key") or uuid4().hex,
            reason=request.form.get("reason", ""), claim_page=href(old.iri.value) if old else "",
        )  # fmt: skip


def catalogue_pair(key: str) -> tuple[str, str]:
    """Give a text in Chinese and in English."""
    from shiyi.server.wording import Catalogue

    return Catalogue.load("zh")(key), Catalogue.load("en")(key)


def _halves(draft: Draft) -> list[Draft]:
    """Part a draft in two by what each piece of evidence is said to be for."""
    form = request.form

    def half(which: str) -> Draft:
        evidence = tuple(
            each for each in draft.evidence
            if form.get(each.name("for"), "both") in ("both", which)
        )  # fmt: skip
        return replace(draft, evidence=evidence)

    second = replace(
        half("second"), object=form.get(f"{SECOND}object", "").strip(),
        relation=form.get(f"{SECOND}relation", "").strip() or draft.relation,
        language=form.get(f"{SECOND}language", "").strip() or draft.language,
    )  # fmt: skip
    return [half("first"), second]


def _placed(name: str, places: list[int]) -> str:
    """Give a fault's field the number the form has, which may leave pieces out."""
    head, dash, part = name.partition("-")
    if not dash or not head[1:].isdigit():
        return name
    part = {"extractionConfidence": "confidence", "sourceLocator": "locator"}.get(part, part)
    return f"e{places[int(head[1:])]}-{part}"
