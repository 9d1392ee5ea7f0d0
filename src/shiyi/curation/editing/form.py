"""Parsing of the claim form to a claim, or to faults by field."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shiyi.curation.editing.claims import (
    StoredClaim,
    find_concepts,
    load_classes,
    load_source,
    passage_text,
)
from shiyi.curation.editing.fields import Constraint, ShapeForms
from shiyi.errors import Fault, RangeError
from shiyi.ingest.tables.claims import build_evidence
from shiyi.ingest.tables.tsv import split
from shiyi.model.claim import UNOPENED, Claim, Confidence, Evidence, EvidenceKind, Polarity, Text
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import NamedNode, Object, local_name, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.serialization import ABOUT, QUALIFIERS, ids_of
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.store.port import QuadStore


def fault(name: str, what: str, **values: str | tuple[str, str]) -> Fault:
    """Return a fault of the field ``name``; a pair is a word in Chinese and in English.

    >>> fault("object", "empty").message("en")
    'This may not be empty.'
    """
    texts = sentences("claim-faults")[what]
    zh, en = (
        text.format(**{k: v if isinstance(v, str) else v[at] for k, v in values.items()})
        for at, text in enumerate(texts)
    )
    return Fault(name, zh, en)


LONGEST = 4000  # characters of a text or a quote
_SHORT = 400  # characters of any other field
_MOST = 20  # pieces of evidence of one claim that a form can hold


class EvidenceDraft(BaseModel):
    """One piece of evidence as it was sent; ``place`` numbers it, ``removed`` drops it."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    place: int = 0
    source: str = ""
    locator: str = ""
    kind: str = "recalled"
    confidence: Annotated[str, Field(coerce_numbers_to_str=True)] = ""
    quote: str = ""
    passage: str = ""
    qualifiers: dict[str, str] = {}
    activity: str = "curation"
    removed: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was filled in."""
        named = self.source, self.locator, self.quote, self.passage
        return not any((*named, *self.qualifiers.values()))

    def name(self, part: str) -> str:
        """Return the form's name of one of its fields."""
        return f"e{self.place}-{part}"


class ClaimDraft(BaseModel):
    """A claim as it was sent: unchecked texts."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    subject: str
    relation: str
    object: str
    object_en: str = ""  # the English of a text; `object` is then its Chinese
    polarity: str = "positive"
    evidence: tuple[EvidenceDraft, ...] = ()

    @model_validator(mode="after")
    def _number_evidence(self) -> "ClaimDraft":
        if len({draft.place for draft in self.evidence}) == len(self.evidence):
            return self
        placed = (e.model_copy(update={"place": i}) for i, e in enumerate(self.evidence))
        return self.model_copy(update={"evidence": tuple(placed)})

    @classmethod
    def of_claim(cls, stored: StoredClaim) -> "ClaimDraft":
        """Fill a form from a stored claim."""
        claim = stored.claim
        stated = claim.text or Text(text(claim.object))
        return cls(
            subject=claim.subject.value,
            relation=local_name(claim.predicate.value),
            object=stated.zh,
            object_en=stated.en,
            polarity=claim.polarity.value,
            evidence=tuple(_draft_evidence(i, each) for i, each in enumerate(claim.evidence)),
        )

    @classmethod
    def of_form(cls, form: Mapping[str, str]) -> "ClaimDraft":
        """Read a form as it was sent; unknown names are ignored."""
        names = ("subject", "relation", "object", "object_en")
        places = [n for n in range(_MOST) if any(f"e{n}-{part}" in form for part in _PARTS)]
        return cls(
            **{name: _form_text(form, name) for name in names},
            polarity=_form_text(form, "polarity") or "positive",
            evidence=tuple(_evidence_sent(n, form) for n in places),
        )

    def remainder(self) -> tuple[EvidenceDraft, ...]:
        """List the evidence that is not removed."""
        return tuple(draft for draft in self.evidence if not (draft.removed or draft.is_empty))

    def with_blank(self) -> "ClaimDraft":
        """Add an empty piece of evidence, so that one can be filled in without a script."""
        at = max((draft.place for draft in self.evidence), default=-1) + 1
        drafts = tuple(draft for draft in self.evidence if not draft.is_empty)
        blank = EvidenceDraft(place=at, kind="read")
        return self.model_copy(update={"evidence": (*drafts, blank)})

    def negate(self) -> "ClaimDraft":
        """Return a draft with the opposite polarity."""
        turned = "negative" if self.polarity == "positive" else "positive"
        return self.model_copy(update={"polarity": turned})


_PARTS = ("source", "locator", "kind", "confidence", "quote", "passage", "remove", *QUALIFIERS)


def _form_text(form: Mapping[str, str], name: str) -> str:
    return form.get(name, "").replace("\r\n", "\n").strip()


def _evidence_sent(place: int, form: Mapping[str, str]) -> EvidenceDraft:
    values = {part: _form_text(form, f"e{place}-{part}") for part in (*_PARTS, "activity")}
    return EvidenceDraft(
        place=place,
        qualifiers={name: values[name] for name in QUALIFIERS if values[name]},
        removed=bool(values.pop("remove")),
        **{name: value for name, value in values.items() if value and name not in QUALIFIERS},
    )


def _draft_evidence(place: int, evidence: Evidence) -> EvidenceDraft:
    work = evidence.suggested if evidence.kind in UNOPENED else evidence.source
    return EvidenceDraft(
        place=place,
        source=work.id if work else "",
        locator=evidence.locator,
        kind=evidence.kind.value,
        confidence=f"{evidence.confidence.value:g}",
        quote=evidence.quote,
        passage=evidence.passage.value if evidence.passage else "",
        qualifiers=dict(evidence.qualifiers),
        activity=evidence.activity,
    )


def build_claim(
    draft: ClaimDraft, store: QuadStore, weights: ConfidenceSettings
) -> tuple[Claim | None, tuple[Fault, ...]]:
    """Return the claim of a draft, or every fault of it."""
    faults: list[Fault] = []
    subject = _concept(draft.subject, "subject", store, (), faults)
    relation = _relation(draft, subject, store, faults)
    value = _object(draft, subject, relation, store, faults) if relation else None
    evidence = [
        each for each in (_evidence(e, store, weights, faults) for e in draft.remainder()) if each
    ]
    if not draft.remainder():
        faults.append(fault("evidence", "no_evidence"))
    if draft.polarity not in set(Polarity):
        faults.append(fault("polarity", "polarity"))
    if faults or subject is None or value is None:
        return None, tuple(faults)
    if value == NamedNode(subject) and draft.polarity == "positive":
        return None, (fault("object", "itself"),)
    try:
        return Claim.create(
            NamedNode(subject),
            NamedNode(VOCAB + draft.relation),
            value,
            tuple(evidence),
            Polarity(draft.polarity),
        ), ()
    except RangeError:
        return None, (fault("evidence", "no_evidence"),)


def _concept(
    words: str, name: str, store: QuadStore, kinds: tuple[str, ...], faults: list[Fault]
) -> str | None:
    if not words:
        faults.append(fault(name, "empty"))
        return None
    if len(words) > _SHORT or not words.isprintable():
        faults.append(fault(name, "too_long"))
        return None
    result = find_concepts(store, words, kinds)
    if len(result) == 1:
        return result[0]
    if result:
        names = ", ".join(each.removeprefix(ID) for each in result[:6])
        faults.append(fault(name, "ambiguous", words=words, names=names))
    else:
        faults.append(fault(name, "unknown_concept", words=words))
    return None


def _relation(draft: ClaimDraft, subject: str | None, store: QuadStore, faults: list[Fault]) -> str:
    forms = ShapeForms.load()
    if draft.relation not in forms.schema.properties:
        faults.append(fault("relation", "unknown_relation", words=draft.relation[:80]))
        return ""
    if subject and draft.relation not in forms.relations(load_classes(store, subject)):
        faults.append(fault("relation", "relation_not_for", words=draft.relation))
    return draft.relation


def _object(
    draft: ClaimDraft, subject: str | None, relation: str, store: QuadStore, faults: list[Fault]
) -> Object | Text | None:
    field = ShapeForms.load().object_field(
        relation, load_classes(store, subject) if subject else ()
    )
    if field.kind == "concept":
        result = _concept(draft.object, "object", store, field.kinds, faults)
        return NamedNode(result) if result else None
    parts = (("object", draft.object), ("object_en", draft.object_en))
    wrong = [name for name, value in parts if value and not _is_text(value, name, LONGEST, faults)]
    if not (draft.object or draft.object_en):
        faults.append(fault("object", "empty"))
        return None
    return None if wrong else Text(draft.object, draft.object_en)


def _evidence(
    draft: EvidenceDraft, store: QuadStore, weights: ConfidenceSettings, faults: list[Fault]
) -> Evidence | None:
    before = len(faults)
    iri = draft.source if draft.source.startswith(ID) else f"{ID}source-{draft.source}"
    source = load_source(store, iri) if is_iri(iri) else None
    needless = not draft.source and draft.kind in {each.value for each in UNOPENED}
    if source is None and not needless:
        faults.append(fault(draft.name("source"), "unknown_source", words=draft.source[:80]))
    faults += _field_violations(draft)
    qualifiers = {name: value for name, value in draft.qualifiers.items() if name in QUALIFIERS}
    if words := qualifiers.get(ABOUT):
        results = [_concept(each, draft.name(ABOUT), store, (), faults) for each in split(words)]
        qualifiers[ABOUT] = ids_of(NamedNode(result) for result in results if result)
    for part in ("locator", *QUALIFIERS):
        value = draft.locator if part == "locator" else draft.qualifiers.get(part, "")
        if value:
            _is_text(value, draft.name(part), _SHORT, faults)
    _check_quotes(draft, store, faults)
    if len(faults) > before:
        return None
    kind = EvidenceKind(draft.kind)
    evidence = build_evidence(
        source,
        kind,
        Confidence(float(draft.confidence)) if draft.confidence else None,
        draft.locator,
        tuple(sorted(qualifiers.items())),
        weights,
    )
    if kind in UNOPENED:
        return evidence
    return replace(
        evidence,
        quote=draft.quote,
        passage=NamedNode(draft.passage) if draft.passage else None,
        activity=draft.activity if _is_activity(draft.activity) else "curation",
    )


def _field_violations(draft: EvidenceDraft) -> Iterator[Fault]:
    """Yield the violations of single fields: choices, patterns, ranges."""
    forms = ShapeForms.load()
    values = {
        **draft.qualifiers,
        "evidenceKind": draft.kind,
        "extractionConfidence": draft.confidence,
    }
    for name, value in values.items():
        if value:
            part = {"extractionConfidence": "confidence", "evidenceKind": "kind"}.get(name, name)
            for constraint in forms.evidence_field(name).against(value):
                yield constraint_fault(draft.name(part), constraint)


def constraint_fault(name: str, broken: Constraint) -> Fault:
    """Return the fault of a field that breaks a constraint of a shape."""
    return Fault(name, broken.message_zh, broken.message_en, broken.shape)


def _check_quotes(draft: EvidenceDraft, store: QuadStore, faults: list[Fault]) -> None:
    if draft.quote:
        _is_text(draft.quote, draft.name("quote"), LONGEST, faults)
    if not draft.passage:
        return
    words = passage_text(store, draft.passage) if is_iri(draft.passage) else ""
    if not words:
        faults.append(fault(draft.name("passage"), "unknown_passage"))
    elif draft.quote and draft.quote not in words:
        faults.append(fault(draft.name("quote"), "not_in_passage"))


def _is_text(value: str, name: str, limit: int, faults: list[Fault]) -> bool:
    if not value:
        faults.append(fault(name, "empty"))
    elif len(value) > limit:
        faults.append(fault(name, "too_long"))
    elif not all(c.isprintable() or c in "\n\t\u3000" for c in value):
        faults.append(fault(name, "control"))
    else:
        return True
    return False


def is_iri(value: str) -> bool:
    """Return whether a text is the IRI of a resource of Shiyi's."""
    return value.startswith(ID) and value.isprintable() and not set(value) & set('<>"{}|\\^` ')


def _is_activity(value: str) -> bool:
    return 0 < len(value) <= 60 and all(c.isascii() and (c.isalnum() or c in "-._") for c in value)


def find_quote_span(evidence: Evidence, store: QuadStore) -> tuple[int, int] | None:
    """Return where a quote begins and ends in its passage, or None."""
    if not (evidence.quote and evidence.passage):
        return None
    at = passage_text(store, evidence.passage.value).find(evidence.quote)
    return (at, at + len(evidence.quote)) if at >= 0 else None
