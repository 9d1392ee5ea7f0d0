"""The vocabulary desk: browse and mend concepts, merge, split, retire them, propose terms."""

from dataclasses import dataclass, field
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation import vocabulary_moves as moves
from shiyi.curation.changes import Edit
from shiyi.curation.editing_claims import named
from shiyi.curation.editing_faults import Fault
from shiyi.curation.forms import ShapeForms
from shiyi.curation.ledger import Change
from shiyi.curation.roles import Right
from shiyi.curation.state import version_of
from shiyi.curation.vocabulary import (
    DEFAULT,
    Entry,
    added,
    changed,
    entry_of,
    faults_of,
    narrower,
)
from shiyi.errors import StaleError, UsageError
from shiyi.ingest.concepts import KINDS
from shiyi.model.names import ID, resource
from shiyi.model.rdf import NamedNode, Quad
from shiyi.ontology.terms import RDF, SKOS
from shiyi.server.curating.edit_stale import Line, lines_of
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curating.stale import since
from shiyi.server.curators import Curation
from shiyi.server.inputs import text_field
from shiyi.server.kept import Kept
from shiyi.server.pages import class_counts, class_tree
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language


@dataclass(frozen=True, slots=True)
class Form:
    """What a concept's page shows beside the entry."""

    entry: Entry
    is_new: bool
    version: str = ""
    faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    stale: tuple[Change, ...] = ()
    lines: tuple[Line, ...] = ()

    def against(self, name: str) -> tuple[Fault, ...]:
        """List the faults of one field."""
        return self.faults.get(name, ())


def vocabulary_routes(site: Site, kept: Kept, curation: Curation) -> Blueprint:
    """Serve ``/curate/vocabulary``."""
    routes = Blueprint("vocabulary_desk", __name__, url_prefix=f"{PREFIX}/vocabulary")
    desk = _Desk(site, kept, curation)

    @routes.get("")
    @needs(Right.READ)
    def browse() -> str:
        words, name = request.args.get("q", ""), request.args.get("class", "")
        counts = class_counts(site)
        name = name if name in counts else ""
        reader = kept.reader(chosen_language())
        tree, total = class_tree(reader, name) if name in counts else ([], 0)
        found = (
            site.complete(text_field("q", words, 200), chosen_language(), 40)
            if words.strip()
            else ()
        )
        return render_template(
            "curate/vocabulary.html", counts=counts, chosen=name, tree=tree, total=total,
            words=words, found=found, classes=sorted(KINDS),
        )  # fmt: skip

    @routes.get("/concept")
    @needs(Right.READ)
    def concept() -> str:
        name = request.args.get("id", "")
        if not name:
            kind = request.args.get("class", "")
            start = f"{KINDS[kind]}-" if kind in KINDS else ""
            return desk.shown(Form(Entry(start, kind, "", ""), True))
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

    def __init__(self, site: Site, kept: Kept, curation: Curation) -> None:
        self._site, self._kept, self._curation = site, kept, curation

    def entry(self, name: str) -> Entry:
        """Give the concept of an id; 404 for another."""
        found = None
        if name.isascii() and name.replace("-", "").isalnum():
            found = entry_of(self._site.store, ID + name)
        if found is None:
            raise NotFound(f"no table holds a concept {name[:80]!r}")
        return found

    def saved(self) -> BaseResponse | tuple[str, int]:
        """Check a concept's form and write it, or show it again with what is wrong."""
        form, store = request.form, self._site.store
        is_new = not form.get("was")
        old = None if is_new else self.entry(form.get("was", ""))
        entry = Entry.of_form(form, old.id if old else "", old.class_name if old else "")
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
            added(store, entry, reason, key) if is_new
            else changed(store, entry, reason, version, key)
        )  # fmt: skip
        try:
            change = self._curation.writing.make(edit, person().name)
        except StaleError:
            return self.shown(self._behind(entry, is_new, version)), 409
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/vocabulary/concept?id={entry.id}")

    def _behind(self, entry: Entry, is_new: bool, seen: str) -> Form:
        """Keep what was typed, beside what others changed since the version it was made from."""
        store, iri = self._site.store, entry.iri.value
        later, difference = since(self._curation.writing, iri, seen)
        lines = lines_of(self._kept.reader(chosen_language()), difference)
        return Form(entry, is_new, version_of(store, iri), stale=tuple(later), lines=lines)

    def move(self) -> Edit:
        """Read what is to become of a concept."""
        form, store = request.form, self._site.store
        source = self.entry(form.get("id", "")).iri.value
        does, reason = form.get("action", ""), form.get("reason", "").strip()
        version, key = form.get("version", ""), form.get("key", "")
        if does == "merge":
            return moves.merged(
                store, source, self._one(form.get("target", "")), reason, version, key
            )
        if does == "deprecate":
            said = form.get("target", "").strip()
            target = self._one(said) if said else ""
            return moves.deprecated(store, source, target, reason, version, key)
        if does != "split":
            raise UsageError("a concept is merged, split or deprecated")
        old = self.entry(form.get("id", ""))
        part = Entry(
            form.get("new_id", "").strip(), old.class_name, form.get("zh", "").strip(),
            form.get("en", "").strip(), broader=old.broader,
        )  # fmt: skip
        faults = faults_of(store, part, True) or self._against(part)
        if faults:
            raise UsageError(" ".join(each.message(chosen_language()) for each in faults))
        chosen = [ID + each for each in form.getlist("claim")]
        return moves.split(store, source, part, chosen, reason, version, key)

    def shown(self, form: Form) -> str:
        """Render a concept's page."""
        store, reader = self._site.store, self._kept.reader(chosen_language())
        claims = [] if form.is_new else moves.claims_about(store, form.entry.iri.value)
        forms = ShapeForms.load()
        messages = {
            local: " ".join(
                each.message_zh if chosen_language() == "zh" else each.message_en
                for each in forms.constraints.get("Concept", ()) if each.path == path
            )
            for local, path in (("zh", "prefLabel"), ("alt_zh", "altLabel"), ("broader", "broader"))
        }  # fmt: skip
        return render_template(
            "curate/concept.html", form=form, view=form, entry=form.entry, key=uuid4().hex,
            classes=sorted(KINDS), messages=messages, claim_count=len(claims),
            claims=[reader.premise(NamedNode(each)) for each in claims[:200]],
            below=[reader.thing(each) for each in narrower(store, form.entry.iri)]
            if not form.is_new else [], reason=request.form.get("reason", ""),
        )  # fmt: skip

    def _one(self, words: str) -> str:
        found = named(self._site.store, words)
        if len(found) != 1:
            raise UsageError(catalogue()("vocabulary_desk.which", words=words[:80]))
        return found[0]

    def _resolved(self, entry: Entry) -> Entry:
        """Turn the names of broader concepts into ids where they mean one."""
        from dataclasses import replace

        broader = []
        for words in entry.broader:
            found = named(self._site.store, words)
            broader.append(found[0].removeprefix(ID) if len(found) == 1 else words)
        return replace(entry, broader=tuple(dict.fromkeys(broader)))

    def _against(self, entry: Entry) -> tuple[Fault, ...]:
        """Ask the shapes of concepts, in the confined process."""
        quads = [*entry.quads()]
        quads += [Quad(resource(x), RDF.type, SKOS.Concept, DEFAULT) for x in entry.broader]
        names = {"prefLabel": "zh", "altLabel": "alt_zh", "broader": "broader"}
        return tuple(
            Fault(
                names.get(each.path.rpartition("#")[2], "zh"), each.message_zh, each.message_en,
                "ConceptShape",
            )
            for each in self._curation.checker.node(quads, "concept")
            if each.focus == entry.iri.value and each.severity == "Violation"
        )  # fmt: skip
