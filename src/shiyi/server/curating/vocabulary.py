"""Vocabulary desk."""

from dataclasses import dataclass, field
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right
from shiyi.curation.changes import Change, Edit, version_of
from shiyi.curation.editing.claims import find_concepts
from shiyi.curation.editing.fields import ShapeForms
from shiyi.curation.editing.form import Fault
from shiyi.curation.vocabulary import merging as moves
from shiyi.curation.vocabulary import proposals
from shiyi.curation.vocabulary.concepts import (
    DEFAULT,
    add_concept,
    change_concept,
    concept_of_form,
    faults_of,
    narrower,
    quads_of,
    stored_concept,
)
from shiyi.errors import StaleError, UsageError
from shiyi.ingest.tables.concepts import KINDS, Concept
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import NamedNode, Quad
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SKOS
from shiyi.server.curating.editor import Line, lines_of
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.http.messages import text_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, chosen_language
from shiyi.server.pages.browse import class_counts, class_tree
from shiyi.server.site.curation import Curation
from shiyi.server.site.site import Site


@dataclass(frozen=True, slots=True)
class Form:
    """The state of a concept's page beside the entry."""

    entry: Concept
    is_new: bool
    version: str = ""
    faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    stale: tuple[Change, ...] = ()
    lines: tuple[Line, ...] = ()

    def against(self, name: str) -> tuple[Fault, ...]:
        """List the faults of one field."""
        return self.faults.get(name, ())


def vocabulary_routes(site: Site, pages: PageCache, curation: Curation) -> Blueprint:
    """Serve ``/curate/vocabulary``."""
    routes = Blueprint("vocabulary_desk", __name__, url_prefix=f"{PREFIX}/vocabulary")
    desk = _Desk(site, pages, curation)

    @routes.get("")
    @needs(Right.READ)
    def browse() -> str:
        words, name = request.args.get("q", ""), request.args.get("class", "")
        counts = class_counts(site)
        name = name if name in counts else ""
        reader = pages.reader(chosen_language())
        tree, total = class_tree(reader, name) if name in counts else ([], 0)
        result = (
            site.complete(text_field("q", words, 200), chosen_language(), 40)
            if words.strip()
            else ()
        )
        return render_template(
            "curate/vocabulary.html",
            counts=counts,
            chosen=name,
            tree=tree,
            total=total,
            words=words,
            found=result,
            classes=sorted(KINDS),
        )

    @routes.get("/concept")
    @needs(Right.READ)
    def concept() -> str:
        name = request.args.get("id", "")
        if not name:
            kind = request.args.get("class", "")
            start = f"{KINDS[kind]}-" if kind in KINDS else ""
            return desk.shown(Form(Concept(start, kind, "", ""), True))
        entry = desk.entry(name)
        return desk.shown(Form(entry, False, version_of(site.store, entry.iri.value)))

    @routes.post("/concept")
    @needs(Right.EDIT)
    def save() -> BaseResponse | tuple[str, int]:
        return desk.saved()

    @routes.post("/move")
    @needs(Right.EDIT)
    def move() -> BaseResponse:
        change = curation.writing.make(desk.move(), person().name)
        flash(catalogue()("edit.saved", n=change.number))
        heir = change.about[-1].removeprefix(ID)
        if change.kind == "deprecate":
            return redirect(f"{PREFIX}/vocabulary")
        return redirect(f"{PREFIX}/vocabulary/concept?id={heir}")

    return routes


class _Desk:
    """Reads the forms of one site."""

    def __init__(self, site: Site, pages: PageCache, curation: Curation) -> None:
        self._site, self._pages, self._curation = site, pages, curation

    def entry(self, name: str) -> Concept:
        """Return the concept of an id; 404 for another."""
        result = None
        if name.isascii() and name.replace("-", "").isalnum():
            result = stored_concept(self._site.store, ID + name)
        if result is None:
            raise NotFound(f"no table holds a concept {name[:80]!r}")
        return result

    def saved(self) -> BaseResponse | tuple[str, int]:
        """Check a concept's form and write it, or show it again with what is wrong."""
        form, store = request.form, self._site.store
        is_new = not form.get("was")
        old = None if is_new else self.entry(form.get("was", ""))
        entry = concept_of_form(form, old.id if old else "", old.class_name if old else "")
        entry = self._resolved(entry)
        version = form.get("version", "")
        faults = faults_of(store, entry, is_new) or self._against(entry)
        if faults:
            by_field: dict[str, tuple[Fault, ...]] = {}
            for each in faults:
                by_field[each.field] = (*by_field.get(each.field, ()), each)
            return self.shown(Form(entry, is_new, version, by_field)), 422
        reason, key = form.get("reason", "").strip(), form.get("key", "")
        edit = (
            add_concept(store, entry, reason, key)
            if is_new
            else change_concept(store, entry, reason, version, key)
        )
        try:
            change = self._curation.writing.make(edit, person().name)
        except StaleError:
            return self.shown(self._behind(entry, is_new, version)), 409
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/vocabulary/concept?id={entry.id}")

    def _behind(self, entry: Concept, is_new: bool, seen: str) -> Form:
        """Keep what was typed, beside what others changed since the version it was made from."""
        store, iri = self._site.store, entry.iri.value
        later, difference = self._curation.writing.since(iri, seen)
        lines = lines_of(self._pages.reader(chosen_language()), difference)
        return Form(entry, is_new, version_of(store, iri), stale=later, lines=lines)

    def move(self) -> Edit:
        """Read what is to become of a concept."""
        form, store = request.form, self._site.store
        source = self.entry(form.get("id", "")).iri.value
        does, reason = form.get("action", ""), form.get("reason", "").strip()
        version, key = form.get("version", ""), form.get("key", "")
        if does == "merge":
            return moves.merge_concepts(
                store, source, self._one(form.get("target", "")), reason, version, key
            )
        if does == "deprecate":
            value = form.get("target", "").strip()
            target = self._one(value) if value else ""
            return moves.deprecate_concept(store, source, target, reason, version, key)
        if does != "split":
            raise UsageError("a concept is merged, split or deprecated")
        old = self.entry(form.get("id", ""))
        part = Concept(
            form.get("new_id", "").strip(),
            old.class_name,
            form.get("zh", "").strip(),
            form.get("en", "").strip(),
            broader=old.broader,
        )
        faults = faults_of(store, part, True) or self._against(part)
        if faults:
            raise UsageError(" ".join(each.message(chosen_language()) for each in faults))
        chosen = [ID + each for each in form.getlist("claim")]
        return moves.split_concept(store, source, part, chosen, reason, version, key)

    def shown(self, form: Form) -> str:
        """Render a concept's page."""
        store, reader = self._site.store, self._pages.reader(chosen_language())
        claims = [] if form.is_new else moves.claims_about(store, form.entry.iri.value)
        forms = ShapeForms.load()
        messages = {
            local: " ".join(
                each.message_zh if chosen_language() == "zh" else each.message_en
                for each in forms.constraints.get("Concept", ())
                if each.path == path
            )
            for local, path in (("zh", "prefLabel"), ("alt_zh", "altLabel"), ("broader", "broader"))
        }
        return render_template(
            "curate/concept.html",
            form=form,
            view=form,
            entry=form.entry,
            key=uuid4().hex,
            classes=sorted(KINDS),
            messages=messages,
            claim_count=len(claims),
            claims=[reader.premise(NamedNode(each)) for each in claims[:200]],
            below=[reader.thing(each) for each in narrower(store, form.entry.iri)]
            if not form.is_new
            else [],
            reason=request.form.get("reason", ""),
        )

    def _one(self, words: str) -> str:
        result = find_concepts(self._site.store, words)
        if len(result) != 1:
            raise UsageError(catalogue()("vocabulary_desk.which", words=words[:80]))
        return result[0]

    def _resolved(self, entry: Concept) -> Concept:
        """Turn the names of broader concepts into ids where they mean one."""
        from dataclasses import replace

        broader = []
        for words in entry.broader:
            result = find_concepts(self._site.store, words)
            broader.append(result[0].removeprefix(ID) if len(result) == 1 else words)
        return replace(entry, broader=tuple(dict.fromkeys(broader)))

    def _against(self, entry: Concept) -> tuple[Fault, ...]:
        """Ask the shapes of concepts, in the confined process."""
        quads = [*quads_of(entry)]
        quads += [Quad(resource(x), RDF.type, SKOS.Concept, DEFAULT) for x in entry.broader]
        names = {"prefLabel": "zh", "altLabel": "alt_zh", "broader": "broader"}
        return tuple(
            Fault(
                names.get(each.path.rpartition("#")[2], "zh"),
                each.message_zh,
                each.message_en,
                "ConceptShape",
            )
            for each in self._curation.checker.node(quads, "concept")
            if each.focus == entry.iri.value and each.severity == "Violation"
        )


_PAGE = f"{PREFIX}/proposals"


class _View:
    """The choices of the form's fields."""

    def __init__(self, faults: tuple[Fault, ...] = ()) -> None:
        self._faults = faults

    def against(self, name: str) -> tuple[Fault, ...]:
        """List the faults of one field."""
        return tuple(each for each in self._faults if each.field == name)


def proposal_routes(site: Site, curation: Curation) -> Blueprint:
    """Serve ``/curate/proposals``."""
    routes = Blueprint("proposals", __name__, url_prefix=PREFIX)

    def shown(faults: tuple[Fault, ...] = ()) -> str:
        schema = Schema.load()
        return render_template(
            "curate/proposals.html",
            found=proposals.proposals(site.store),
            view=_View(faults),
            faults=faults,
            said=request.form,
            key=uuid4().hex,
            rules=proposals.RULES,
            classes=sorted(schema.parents),
            relations=sorted(schema.properties),
        )

    @routes.get("/proposals")
    @needs(Right.READ)
    def desk() -> str:
        return shown()

    @routes.post("/proposals")
    @needs(Right.COMMENT)
    def propose() -> BaseResponse | tuple[str, int]:
        kind, name, turtle, faults = proposals.draft_proposal(request.form)
        if faults:
            return shown(faults), 422
        reason = request.form.get("reason", "").strip()
        if not reason:
            raise UsageError(catalogue()("edit.reason_missing"))
        edit = proposals.propose_term(kind, name, turtle, reason, request.form.get("key", ""))
        change = curation.writing.make(edit, person().name)
        flash(catalogue()("edit.proposed", n=change.number))
        return redirect(_PAGE)

    @routes.post("/proposals/settle")
    @needs(Right.APPROVE)
    def settle() -> BaseResponse:
        name, does = request.form.get("proposal", ""), request.form.get("action", "")
        if does not in {"approve", "decline"} or not name.removeprefix("proposal/").isalnum():
            raise UsageError("a proposal is approved or declined")
        agent, writing = person().name, curation.writing
        edit = proposals.settle_proposal(
            writing,
            ID + name,
            does == "approve",
            agent,
            request.form.get("reason", "").strip(),
            request.form.get("key", ""),
        )
        change = writing.make(edit, agent)
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(_PAGE)

    return routes
