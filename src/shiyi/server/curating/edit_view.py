"""What the editor's page shows: fields with their faults, passages, and what saving would change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shiyi.curation.changes import Edit
from shiyi.curation.editing import Draft, DraftEvidence
from shiyi.curation.editing_changes import successors
from shiyi.curation.editing_claims import StoredClaim, classes_of, named, passage_text
from shiyi.curation.editing_faults import Fault
from shiyi.curation.editing_preview import Effect
from shiyi.curation.forms import Field, ShapeForms
from shiyi.errors import OutsideError
from shiyi.model.claim import Claim
from shiyi.model.names import ID
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.curating.edit_stale import Since
from shiyi.server.kept import Kept
from shiyi.server.reading import ClaimView, Reader, Thing
from shiyi.server.site import Site
from shiyi.server.wording import Catalogue, catalogue, chosen_language
from shiyi.sparql.store import QuadStore

_SOURCES = 600  # in the list of a form


@dataclass(frozen=True, slots=True)
class Answered:
    """A question asked before saving, and whether its answer cites the claim that would go."""

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
    checked_field: Field
    sources: tuple[tuple[str, str], ...]
    passages: Mapping[int, str]
    said: Mapping[str, str]  # what was sent, for fields that no draft holds
    held: ClaimView | None = None
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
        """Give what a field of a piece of evidence holds."""
        return evidence.qualifiers.get(name, "")


def edit_view(
    reader: Reader, store: QuadStore, does: str, old: StoredClaim | None, draft: Draft,
    said: Mapping[str, str], *, version: str = "", faults: tuple[Fault, ...] = (),
    checked: bool = False, effect: Effect | None = None, edit: Edit | None = None,
    answers: tuple[Answered, ...] | None = None, stale: Since | None = None,
) -> EditView:  # fmt: skip
    """Gather what the page shows, with the concepts by the names people know them by."""
    forms, language = ShapeForms.load(), chosen_language()
    found = named(store, draft.subject)
    subject = found[0] if len(found) == 1 else ""
    kinds = classes_of(store, subject) if subject else frozenset()
    names = forms.relations(kinds) if subject else ()
    known = draft.relation in forms.schema.properties
    asked = forms.object_field(draft.relation, kinds) if known else None
    by_field: dict[str, tuple[Fault, ...]] = {}
    for each in faults:
        by_field[each.field] = (*by_field.get(each.field, ()), each)
    return EditView(
        does, _readable(reader, store, draft, asked), reader.thing(NamedNode(subject)) if subject
        else None,
        tuple(sorted((_label(forms, name, language), name) for name in names)), asked,
        forms.evidence_fields(), forms.evidence_field("extractionConfidence"),
        forms.evidence_field("checked"), _sources(reader, store),
        {e.place: passage_text(store, e.passage) for e in draft.evidence if _ours(e.passage)},
        said, reader.claim(old.iri, old.home) if old else None, version, by_field,
        tuple(reader.premise(NamedNode(x)) for x in successors(store, old.iri.value)) if old
        else (),
        checked, effect, _named(reader, effect.resting if effect else ()),
        _named(reader, effect.conflicts if effect else ()), answers,
        edit is not None and edit.kind == "propose", stale,
    )  # fmt: skip


def _label(forms: ShapeForms, name: str, language: str) -> str:
    prop = forms.schema.property(name)
    return prop.label_zh if language == "zh" else prop.label_en


def _readable(reader: Reader, store: QuadStore, draft: Draft, asked: Field | None) -> Draft:
    """Show a concept by its label where the label means it alone, else by its identifier."""
    from dataclasses import replace

    def shown(words: str, kinds: tuple[str, ...]) -> str:
        found = named(store, words, kinds)
        if len(found) != 1:
            return words
        label = reader.thing(NamedNode(found[0])).label
        return label if named(store, label, kinds) == found else found[0].removeprefix(ID)

    said = draft.object
    if asked is not None and asked.kind == "concept":
        said = shown(draft.object, asked.kinds)
    return replace(draft, subject=shown(draft.subject, ()), object=said)


def _sources(reader: Reader, store: QuadStore) -> tuple[tuple[str, str], ...]:
    found = {
        quad.subject for quad in store.match(None, RDF.type, SHIYI.Source, None)
        if isinstance(quad.subject, NamedNode)
    }  # fmt: skip
    pairs = sorted(
        (each.value.removeprefix(f"{ID}source-"), reader.thing(each).label) for each in found
    )
    return tuple(pairs[:_SOURCES])


def _named(reader: Reader, claims: tuple[str, ...]) -> tuple[Thing, ...]:
    return tuple(reader.premise(NamedNode(each)) for each in claims[:12])


def _ours(iri: str) -> bool:
    try:
        return NamedNode(iri).value.startswith(ID)
    except ValueError:
        return False


def answers_citing(
    site: Site, kept: Kept, old: StoredClaim | None, claims: tuple[Claim, ...]
) -> tuple[Answered, ...] | None:
    """Ask what people would ask of both ends, and see which answers cite the claim that would go.

    None where the answers' model does not answer.
    """
    if old is None:
        return ()
    reader, t, language = kept.reader(chosen_language()), catalogue(), chosen_language()
    questions = _questions(reader, t, [old.claim, *claims])
    found = []
    for question in questions[:4]:
        try:
            answer = site.ask(
                question, method=site.methods[0], language=language, k=None, profile=Profile()
            )
        except OutsideError:
            return None
        cites = any(each.claim == old.iri.value for each in answer.citations)
        found.append(Answered(question, cites, question))
    return tuple(found)


def _questions(reader: Reader, t: Catalogue, claims: list[Claim]) -> list[str]:
    """Word what people ask of both ends: of what is eaten, of who has something, of the two."""
    made: dict[str, None] = {}
    for claim in claims:
        eaten: list[str] = []
        had: list[str] = []
        for end in (claim.subject, claim.object):
            if isinstance(end, NamedNode):
                kinds, label = classes_of(reader.store, end.value), reader.thing(end).label
                (eaten if kinds & _EATEN else had if "Condition" in kinds else []).append(label)
        if len(eaten) == 2:
            made[t("edit.pair_question", one=eaten[0], other=eaten[1])] = None
        if eaten and had:
            made[t("edit.had_question", one=eaten[0], other=had[0])] = None
        made |= {t("concept.ask_question", label=each): None for each in eaten}
        made |= {t("constitution.question", label=each): None for each in had}
    return list(made)


_EATEN = frozenset({"DietaryMaterial", "Dish", "Formula", "DSIngredient", "DSProduct", "Drug"})
