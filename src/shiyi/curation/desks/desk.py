"""The desk: every act of a curator, once, for the pages, the JSON API and the commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from shiyi.curation.accounts import Account, Right, has_right, require
from shiyi.curation.changes import Change, Changes, Edit
from shiyi.curation.desks import feedback, forms, quarantine
from shiyi.curation.desks.forms import full_iri
from shiyi.curation.editing.changes import ACCEPT, MEND, PROPOSE, Outcome, add_claim, replace_claim
from shiyi.curation.editing.claims import (
    ACCEPTED,
    StoredClaim,
    find_concepts,
    load_claim,
    load_classes,
)
from shiyi.curation.editing.form import ClaimDraft, build_claim, fault
from shiyi.curation.editing.validation import EditChecker, field_of, shape_name
from shiyi.curation.queue import Queue
from shiyi.curation.reviews import SIDES, Decisions, ReviewDecision, review_outcome
from shiyi.curation.vocabulary import mappings, merging, proposals
from shiyi.curation.vocabulary.concepts import (
    DEFAULT,
    add_concept,
    change_concept,
    find_faults,
    load_concept,
    quads_of,
)
from shiyi.curation.vocabulary.sssom import MappingSet, parse_sssom
from shiyi.errors import Fault, FormError, StaleError
from shiyi.ingest.tables.concepts import Concept
from shiyi.model.claim import Claim
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import Quad, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SKOS
from shiyi.reasoning.confidence.reviews import Review
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.store.port import QuadStore

_MAPPED: Final = {
    "accept": "accepted", "reject": "rejected", "rule-out": "accepted", "wait": "candidate",
}  # fmt: skip
SECOND: Final = "b-"  # what the fields of a split's second claim begin with


@dataclass(frozen=True, slots=True)
class Preview:
    """What a decision would do to a claim; it waits where a second reviewer has to agree."""

    claim: str
    status: str
    confidence: float
    next_status: str
    next_confidence: float
    waits: bool


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: changes made, claims that had changed, or what would happen."""

    made: tuple[Change, ...] = ()
    stale: tuple[str, ...] = ()
    foreseen: tuple[Preview, ...] = ()


@dataclass(frozen=True, slots=True)
class Desk:
    """One base and what its curators do to it; ``writing`` raises where it takes no changes."""

    store: QuadStore
    writing: Callable[[], Changes]
    queue: Callable[[], Queue]
    checker: EditChecker
    weights: ConfidenceSettings
    kb: Path
    twice: bool = False  # whether every claim waits for a second reviewer

    @property
    def decisions(self) -> Decisions:
        """Return what reviews claims."""
        return Decisions(self.writing(), twice=self.twice)

    def decide(self, user: Account, form: forms.Decision) -> Change:
        """Write a decision on one claim; StaleError where it changed since it was read."""
        key = f"{user.name} {form.key}" if form.key else ""
        if form.kind == "skip":
            return self.decisions.skip(form.claim, user.name, form.reason, key)
        self._need_reason(form, form.claim)
        if form.settles:
            require(user.role, Right.APPROVE)
            _need_reason(form.reason)
        agreement = _agreement(form.kind, form.agreement)
        decision = ReviewDecision(
            form.kind, user.name, form.reason, agreement, form.version, key, form.settles
        )
        return self.decisions.review(form.claim, decision)

    def _need_reason(self, form: forms.Decision | forms.Batch, *claims: str) -> None:
        if not form.reason and any(self.decisions.needs_reason(c, form.kind) for c in claims):
            _need_reason(form.reason)

    def decide_all(self, user: Account, form: forms.Batch) -> BatchResult:
        """Write one decision on several claims, or only foresee what it would do."""
        if form.preview:
            previews = (self.preview(user, each.claim, form.kind) for each in form.claims)
            return BatchResult(foreseen=tuple(previews))
        self._need_reason(form, *(each.claim for each in form.claims))  # before anything is written
        changes, stale = list[Change](), list[str]()
        for place, claim in enumerate(form.claims):
            key = f"{form.key} {place} {claim.claim}" if form.key else ""
            one = forms.Decision(
                claim=claim.claim,
                version=claim.version,
                kind=form.kind,
                reason=form.reason,
                key=key[:200],
            )
            try:
                changes.append(self.decide(user, one))
            except StaleError:
                stale.append(claim.claim)
        return BatchResult(tuple(changes), tuple(stale))

    def preview(self, user: Account, claim: str, kind: str) -> Preview:
        """Return what a decision would do to a claim."""
        now = self.decisions.assess(claim, attaching=kind == "accept")
        after = now.outcome
        if kind in SIDES:
            inputs = now.standing.with_review(Review(user.name, SIDES[kind]))
            after = review_outcome(inputs, now.home, now.twice)
        return Preview(
            claim,
            now.claim.status.value,
            now.claim.confidence,
            after.status.value,
            round(after.confidence, 6),
            after.waits,
        )

    def refuse_evidence(self, user: Account, form: forms.EvidenceRefusal) -> Change:
        """Refuse evidence that waits beside an accepted claim."""
        key = f"{user.name} {form.key}" if form.key else ""
        return self.decisions.refuse_evidence(
            form.claim, form.evidence, user.name, form.reason, form.version, key
        )

    def assign(self, user: Account, form: forms.Assignment) -> tuple[Change, ...]:
        """Assign claims to oneself; to others as an editor."""
        to = form.to or user.name
        if to != user.name:
            require(user.role, Right.APPROVE)
        claims = [claim.claim for claim in form.claims]
        return self.queue().assign(claims, to, user.name, form.reason)

    def comment(self, user: Account, form: forms.Comment) -> Change:
        """Write a comment."""
        return self.decisions.comment(form.thing, user.name, form.text, form.key)

    def undo(self, user: Account, form: forms.UndoRequest) -> Change:
        """Undo a change: one's own, or as an editor anybody's."""
        number = form.change.lstrip("#")
        writing = self.writing()
        named = writing.find_change(int(number)) if number.isdigit() else None
        change = named or writing.get(full_iri(form.change))
        if change.who != user.name:
            require(user.role, Right.APPROVE)
        key = f"{user.name} {form.key}" if form.key else ""
        return self.decisions.undo(change.iri, user.name, form.reason, key)

    # claims

    def claims_of(self, form: forms.ClaimEdit) -> tuple[Claim, ...]:
        """Return the claims of an edit; FormError with every fault of fields and shapes."""
        claims, faults = list[Claim](), list[Fault]()
        for prefix, draft in zip(("", SECOND), form.drafts, strict=False):
            claim, wrong = build_claim(draft, self.store, self.weights)
            if claim is not None:
                claims.append(claim)
                wrong = self._against(claim, draft)
            own = {"object", "object_en", "relation"} if prefix else set[str]()
            faults += [replace(f, field=prefix + f.field) if f.field in own else f for f in wrong]
        if not faults and any(one.iri == other.iri for one, other in pairwise(claims)):
            faults.append(fault(f"{SECOND}object", "same_halves"))
        if faults:
            raise FormError(tuple(dict.fromkeys(faults)))
        return tuple(claims)

    def plan_claim(self, user: Account, form: forms.ClaimEdit) -> tuple[tuple[Claim, ...], Edit]:
        """Return the claims of an edit and the change that it would be."""
        claims, old = self.claims_of(form), self.editable(form.claim)
        outcome = outcome_of(user, old, claims)
        if old is None or not form.retires:
            return claims, add_claim(self.store, claims[0], outcome)
        return claims, replace_claim(self.store, old, claims, form.version, outcome)

    def save_claim(self, user: Account, form: forms.ClaimEdit) -> Change:
        """Write an edit; what touches safety is proposed to a second reviewer."""
        _need_reason(form.reason)
        edit = self.plan_claim(user, form)[1]
        return self.writing().make(edit.with_reason(form.reason, key=form.key), user.name)

    def _make(self, user: Account, form: forms.Form, edit: Edit) -> Change:
        """Write an edit with the reason, the key and the version of the request."""
        version = form.version if isinstance(form, forms.VersionedRequest) else ""
        return self.writing().make(edit.with_reason(form.reason, version, form.key), user.name)

    def editable(self, claim: str) -> StoredClaim | None:
        """Return the claim that is edited; None for the empty name, FormError for a wrong one."""
        stored = load_claim(self.store, claim) if claim else None
        if claim and stored is None:
            raise FormError([fault("claim", "no_claim", words=claim.removeprefix(ID)[:80])])
        return stored

    def _against(self, claim: Claim, draft: ClaimDraft) -> tuple[Fault, ...]:
        """Return what the shapes refuse, asked in the confined process."""
        ends = (claim.subject.value, text(claim.object))
        classes = {iri: load_classes(self.store, iri) for iri in ends if iri.startswith(ID)}
        places = [each.place for each in draft.remainder()]
        return tuple(
            Fault(
                _field_name(field_of(result, claim), places),
                result.message_zh,
                result.message_en,
                shape_name(result, claim, classes),
            )
            for result in self.checker.claim(claim, classes)
            if result.severity == "Violation"
        )

    # concepts

    def concept(self, name: str) -> Concept:
        """Return the concept of an id or IRI; FormError where no table holds it."""
        entry = None
        if (local := name.removeprefix(ID)).isascii() and local.replace("-", "").isalnum():
            entry = load_concept(self.store, ID + local)
        if entry is None:
            raise FormError([fault("concept", "unknown_concept", words=name[:80])])
        return entry

    def named_concept(self, field: str, words: str) -> str:
        """Return the concept that an id or a label names; FormError where it is not one."""
        concepts = find_concepts(self.store, words)
        if len(concepts) != 1:
            raise FormError([fault(field, "which", words=words[:80])])
        return concepts[0]

    def save_concept(self, user: Account, form: forms.ConceptEdit) -> Change:
        """Write a concept, or the fields of one that changed."""
        old = self.concept(form.was) if form.was else None
        values = form.model_dump(exclude={"was", "version", "reason", "key"})
        if old:
            values |= {"id": old.id, "class_name": old.class_name}
        entry = Concept(**values | {"broader": self._broader(form.broader)})
        self._check_concept(entry, old is None)
        edit = change_concept(self.store, entry) if old else add_concept(entry)
        return self._make(user, form, edit)

    def add_aliases(self, user: Account, form: forms.Aliases) -> Change:
        """Add names to a concept."""
        old = self.concept(form.concept)
        entry = replace(
            old,
            alt_zh=tuple(dict.fromkeys((*old.alt_zh, *form.zh))),
            alt_en=tuple(dict.fromkeys((*old.alt_en, *form.en))),
        )
        self._check_concept(entry, False)
        return self._make(user, form, change_concept(self.store, entry))

    def merge(self, user: Account, form: forms.ConceptMerge) -> Change:
        """Merge one concept into another of its kind."""
        source, target = self.concept(form.concept), self.named_concept("target", form.target)
        edit = merging.merge_concepts(self.store, source.iri.value, target, form.reason)
        return self._make(user, form, edit)

    def split(self, user: Account, form: forms.ConceptSplit) -> Change:
        """Make a new concept of some claims of another."""
        old = self.concept(form.concept)
        part = Concept(form.new_id, old.class_name, form.zh, form.en, broader=old.broader)
        self._check_concept(part, True)
        edit = merging.split_concept(self.store, old.iri.value, part, form.claims)
        return self._make(user, form, edit)

    def deprecate(self, user: Account, form: forms.Deprecation) -> Change:
        """Retire a concept, in favour of another or of none."""
        old = self.concept(form.concept)
        target = self.named_concept("target", form.target) if form.target else ""
        edit = merging.deprecate_concept(self.store, old.iri.value, target, form.reason)
        return self._make(user, form, edit)

    def _broader(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of broader concepts as ids where they mean one."""
        results = ((words, find_concepts(self.store, words)) for words in names)
        ids = (group[0].removeprefix(ID) if len(group) == 1 else words for words, group in results)
        return tuple(dict.fromkeys(ids))

    def _check_concept(self, entry: Concept, is_new: bool) -> None:
        faults = find_faults(self.store, entry, is_new)
        if not faults:
            quads = [*quads_of(entry)]
            quads += [Quad(resource(x), RDF.type, SKOS.Concept, DEFAULT) for x in entry.broader]
            names = {"prefLabel": "zh", "altLabel": "alt_zh", "broader": "broader"}
            faults = tuple(
                Fault(
                    names.get(local_name(result.path), "zh"),
                    result.message_zh,
                    result.message_en,
                    "ConceptShape",
                )
                for result in self.checker.node(quads, "concept")
                if result.focus == entry.iri.value and result.severity == "Violation"
            )
        if faults:
            raise FormError(faults)

    # mappings, quarantine, reports, proposals

    def decide_mapping(self, user: Account, form: forms.MappingDecision) -> Change:
        """Accept, reject, rule out or reopen a mapping."""
        edit = mappings.decide_mapping(
            self.store,
            form.mapping,
            _MAPPED[form.action],
            predicate=form.predicate,
            negated=form.action == "rule-out",
            reviewer=user.name,
        )
        return self._make(user, form, edit)

    def import_mappings(self, user: Account, form: forms.MappingImport) -> Change:
        """Import rows as candidates: of a table, of links in cases, or of a look at UMLS."""
        if form.source == "cases":
            rows: MappingSet = mappings.case_rows(self.store)
        elif form.source == "umls":
            rows = mappings.candidates(self.concept(form.about), self.kb)
        else:
            rows = parse_sssom(form.text)
        edit = mappings.import_mappings(self.store, rows)
        read = f"{len(rows.rows)} rows ({form.source})"
        return self._make(user, form, replace(edit, reason=read))

    def refuse(self, user: Account, form: forms.Refusal) -> tuple[Change, ...]:
        """Reject claims of the quarantine, all or none."""
        writing = self.writing()
        keys = {e.claim: f"{form.key} {e.claim}" if form.key else "" for e in form.claims}
        with writing.writer.turn():
            edits = [
                quarantine.reject_claim(self.store, e.claim, form.reason).with_reason(
                    form.reason, e.version, keys[e.claim]
                )
                for e in form.claims
                if not writing.of_key(keys[e.claim])
            ]
            return writing.make_all(edits, user.name) if edits else ()

    def answer_report(self, user: Account, form: forms.ReportAnswer) -> Change:
        """Close a reader's report with an answer."""
        taken = form.action == "right"
        edit = feedback.answer_report(self.store, form.report, taken, form.reason)
        return self._make(user, form, edit)

    def propose(self, user: Account, form: forms.TermProposal) -> Change:
        """Propose a relation or a shape."""
        kind, name = proposals.read_turtle(form.turtle)
        edit = proposals.propose_term(kind, name, form.turtle, form.reason)
        return self._make(user, form, edit)

    def decide_proposal(self, user: Account, form: forms.ProposalDecision) -> Change:
        """Approve or decline a proposal of somebody else."""
        approve = form.action == "approve"
        edit = proposals.settle_proposal(self.writing(), form.proposal, approve, user.name)
        return self._make(user, form, edit)


def outcome_of(user: Account, old: StoredClaim | None, claims: Sequence[Claim]) -> Outcome:
    """Return where claims are to stand: what touches safety waits for a second reviewer."""
    if not has_right(user.role, Right.EDIT):
        return PROPOSE
    if old is not None and old.home != ACCEPTED:
        return MEND
    schema = Schema.load()
    concerned_claims = [*claims, *([old.claim] if old else [])]
    safety = any(schema.property(local_name(e.predicate.value)).is_safety for e in concerned_claims)
    same = old is not None and [claim.iri for claim in claims] == [old.iri]
    return PROPOSE if safety and not same else ACCEPT


def _agreement(kind: str, value: float | None) -> float | None:
    if value is None or kind == "unsure":
        return None
    return -abs(value) if kind == "reject" else value


def _need_reason(reason: str) -> None:
    if not reason:
        raise FormError([fault("reason", "reason")])


def _field_name(name: str, places: Sequence[int]) -> str:
    """Return the form's name of a fault's field; the form may leave numbers out."""
    head, dash, part = name.partition("-")
    if not dash or not head[1:].isdigit():
        return name
    part = {"extractionConfidence": "confidence", "sourceLocator": "locator"}.get(part, part)
    return f"e{places[int(head[1:])]}-{part}"
