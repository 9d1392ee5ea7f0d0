"""Chains of triples for a question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated

from pydantic import Field

from shiyi.ingest.cases.records import Case, Mention
from shiyi.ingest.extraction.extractor import Relations
from shiyi.ingest.extraction.replies import Form, Name
from shiyi.ingest.extraction.statements import StatementReader
from shiyi.linking.normalization import fold
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.resilience import Retrier
from shiyi.prompts.templates import Prompt

LEADS = "leadsTo"  # the relation of a step that the file itself states
# of two things of a case, the relation that a chain goes through, by the kinds of both
_BETWEEN = (
    ("pattern", "hasManifestation", "symptom"), ("disease", "hasSyndrome", "pattern"),
    ("disease", "hasManifestation", "symptom"), ("pattern", "hasTreatmentPrinciple", "treatment"),
    ("pattern", "realisedBy", "treatment"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One triple of a chain in words; the IRIs where both ends and the relation are known."""

    subject: str
    relation: str
    object: str
    subject_iri: NamedNode | None = None
    object_iri: NamedNode | None = None

    @property
    def predicate(self) -> NamedNode | None:
        """Return the relation's IRI where the step can be a claim."""
        known = self.subject_iri and self.object_iri and self.relation != LEADS
        result: NamedNode | None = getattr(SHIYI, self.relation) if known else None
        return result

    @property
    def line(self) -> str:
        """Return the triple as a line with tabs."""
        return "\t".join(
            " ".join(name.split()) for name in (self.subject, self.relation, self.object)
        )


class ChainTriple(Form):
    """A triple as a model writes it."""

    subject: Name
    relation: Name
    object: Name


class ChainForm(Form):
    """A chain as a model writes it."""

    triples: Annotated[list[ChainTriple], Field(max_length=60)]


@dataclass(frozen=True, slots=True)
class ChainBuilder:
    """Splits cases into parts; with ``asker`` a model proposes, and its names are looked up."""

    reader: StatementReader
    asker: Retrier | None = None

    def of(self, case: Case) -> tuple[Step, ...]:
        """Return the chain of a case, each step once; raise ``OutsideError`` if the model fails."""
        steps = list(self._stated_steps(case))
        steps += self._steps_of_model(case) if self.asker else self._joining_steps(case)
        return tuple(dict.fromkeys(steps))

    def _stated_steps(self, case: Case) -> Iterator[Step]:
        for before, after in case.steps:
            yield Step(before.words, LEADS, after.words)

    def _joining_steps(self, case: Case) -> Iterator[Step]:
        """Join what the question names with what the answer names, where a relation fits both."""
        request = self._concepts_by_kind(case.mentions)
        for kind, relation, other in _BETWEEN:
            for one, two in product(request.get(kind, ()), request.get(other, ())):
                if self._fits(one[1], relation, two[1]):
                    yield Step(one[0], relation, two[0], one[1], two[1])

    def _concepts_by_kind(
        self, mentions: Sequence[Mention]
    ) -> dict[str, list[tuple[str, NamedNode]]]:
        results: dict[str, list[tuple[str, NamedNode]]] = {}
        every = self.reader.relations.kinds(frozenset({"Condition", "Therapy", "Formula"}))
        for mention in mentions:
            if concept := mention.concept or self.reader.find(mention.words, every):
                results.setdefault(mention.kind, []).append((mention.words, concept))
        return results

    def _fits(self, subject: NamedNode, relation: str, value: NamedNode) -> bool:
        prop = self.reader.relations.schema.property(relation)
        return (
            subject != value
            and self.reader.is_a(subject, prop.domain)
            and self.reader.is_a(value, prop.range)
        )

    def _steps_of_model(self, case: Case) -> Iterator[Step]:
        if self.asker is None:
            return
        relations: Relations = self.reader.relations
        reply = self.asker.ask(
            Prompt.named("decompose-chain"),
            ChainForm,
            relations=relations.prompt_lines(),
            question=case.text,
            answer=case.answer,
        )
        where = fold(f"{case.text}\n{case.answer}")
        for triple in reply.triples:
            stated = fold(triple.subject) in where and fold(triple.object) in where
            if not stated or triple.relation not in relations.names:
                continue
            prop = relations.schema.property(triple.relation)
            subject = self.reader.find(triple.subject, relations.kinds(prop.domain))
            thing = self.reader.find(triple.object, relations.kinds(prop.range))
            yield Step(triple.subject, triple.relation, triple.object, subject, thing)
