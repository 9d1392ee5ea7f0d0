"""A school's overlay graph."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shiyi.errors import OutsideError
from shiyi.ingest.batches import Batch, Content
from shiyi.ingest.cases.records import Case
from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.extraction.replies import Form, Line
from shiyi.ingest.gate import Gate, ProposedClaim
from shiyi.ingest.schools.chain import ChainBuilder, Step
from shiyi.ingest.schools.context import GeneralKnowledge
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Status
from shiyi.model.iris import content_hash, graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.prompts.templates import Prompt
from shiyi.settings import Settings


@dataclass(frozen=True, slots=True)
class School:
    """A school or practitioner by name."""

    name: str

    @property
    def slug(self) -> str:
        """Return the name in lower-case ASCII, Chinese as pinyin."""
        from pypinyin import lazy_pinyin

        spelt = "-".join(lazy_pinyin(self.name)).lower()
        return re.sub(r"[^a-z0-9]+", "-", spelt).strip("-") or content_hash(self.name)[:8]

    @property
    def iri(self) -> NamedNode:
        """Name the school."""
        return resource(f"school-{self.slug}")

    def place(self, dataset: Dataset) -> NamedNode:
        """Name the part of the overlay that one release fills, so that it can be forgotten."""
        return graph("schools", f"{self.slug}/{dataset.name}@{dataset.version}")

    def quads(self, dataset: Dataset, sources: Iterable[NamedNode] = ()) -> Iterator[Quad]:
        """Yield the school, and which works are its."""
        place = self.place(dataset)
        yield Quad(self.iri, RDF.type, SHIYI.School, place)
        yield Quad(self.iri, RDFS.label, Literal(self.name), place)
        for node in dict.fromkeys((dataset.source.iri, *sources)):
            yield Quad(node, SHIYI.belongsToSchool, self.iri, place)


class ReasoningForm(Form):
    """A reasoning text as a model writes it."""

    reasoning: Line


@dataclass(slots=True)
class Overlay:
    """Builds the overlay of questions with answers; ``counts`` counts results by kind."""

    school: School
    dataset: Dataset
    chains: ChainBuilder
    general: GeneralKnowledge
    gate: Gate
    settings: Settings
    counts: Counter[str] = field(default_factory=Counter)

    def quads(self, cases: Sequence[Case]) -> Iterator[Quad]:
        """Yield school, chains, texts and claims of answered cases."""
        yield from self.school.quads(self.dataset)
        for case in cases:
            if not case.answer:
                self.counts["case without an answer"] += 1
                continue
            try:
                yield from self._chain(case)
            except OutsideError as fault:
                self.counts[f"chain not made: {fault}"[:200]] += 1

    def _chain(self, case: Case) -> Iterator[Quad]:
        steps = self.chains.of(case)
        if not steps:
            self.counts["case that names no chain"] += 1
            return
        place, digest = self.school.place(self.dataset), content_hash(case.text, case.answer)
        node = resource(f"chain/{content_hash(place.value, digest)}")
        written = resource(f"reasoning/{content_hash(place.value, digest)}")
        nodes = self.general.recall([f"{e.subject} {e.relation} {e.object}" for e in steps])
        books = self.general.passages_of(nodes, case.text)
        reasoning = self._write_reasoning(case, steps, nodes, [value for _, value in books])
        yield Quad(node, RDF.type, SHIYI.ReasoningChain, place)
        yield Quad(node, RDFS.label, Literal(case.text, language=case.language), place)
        yield Quad(node, SHIYI.answerText, Literal(case.answer, language=case.language), place)
        yield Quad(node, RDF.value, Literal("\n".join(step.line for step in steps)), place)
        yield Quad(node, PROV.wasDerivedFrom, self.dataset.source.iri, place)
        yield Quad(written, RDF.type, SHIYI.ReasoningText, place)
        yield Quad(written, RDF.value, Literal(reasoning, language=case.language), place)
        for origin in (node, *(each for each, _ in books)):
            yield Quad(written, PROV.wasDerivedFrom, origin, place)
        for claim in self._claims(steps, written):
            yield from claim_quads(claim, place)
            yield Quad(node, SHIYI.hasStep, claim.iri, place)
            yield Quad(claim.iri, SHIYI.reasonedIn, written, place)
            self.counts["claim of the school"] += 1
        for claim_iri in nodes:
            yield Quad(claim_iri, SHIYI.reasonedIn, written, place)
        self.counts["chain"] += 1

    def _claims(self, steps: Sequence[Step], graph: NamedNode) -> list[Claim]:
        """Return the steps that are claims and break no shape, at the confidence of a model."""
        evidence = Evidence(
            self.dataset.source,
            Confidence(self.settings.confidence.model),
            kind=EvidenceKind.PREDICTED,
            passage=graph,
            activity="school-1",
        )
        claims = [
            Claim(
                step.subject_iri,
                step.predicate,
                step.object_iri,
                (evidence,),
                status=Status.CANDIDATE,
            )
            for step in steps
            if step.predicate and step.subject_iri and step.object_iri
        ]
        results = self.gate.judge([ProposedClaim(claim) for claim in claims])
        for result in results:
            if result.faults:
                self.counts[f"refused: {result.faults[0].message_en}"] += 1
        return [each.proposed.claim for each in results if not each.faults]

    def _write_reasoning(
        self, case: Case, steps: Sequence[Step], recalled: Sequence[NamedNode], books: Sequence[str]
    ) -> str:
        if self.chains.asker is not None:
            reply = self.chains.asker.ask(
                Prompt.named("write-reasoning"),
                ReasoningForm,
                question=case.text,
                triples="\n".join(step.line for step in steps),
                books="\n\n".join(books) or "-",
                answer=case.answer,
            )
            return reply.reasoning
        known = [self.general.sentence(node) for node in recalled[:3]]
        return compose_reasoning(case, steps, known)


def compose_reasoning(case: Case, steps: Sequence[Step], known: Sequence[str]) -> str:
    """Verbalize a chain without a model.

    >>> from shiyi.model.iris import resource
    >>> case = Case(resource("case/x"), "a cough", "en", answer="wind-cold")
    >>> compose_reasoning(case, [Step("a cough", "leadsTo", "wind-cold")], [])
    'From “a cough” follows “wind-cold”. The answer is therefore: wind-cold.'
    """
    zh, lines = case.language == "zh", list[str]()
    values = {key: texts[not zh] for key, texts in sentences("reasoning").items()}
    for step in steps:
        if step.relation == "leadsTo":
            lines.append(values["leads_to"].format(s=step.subject, o=step.object))
        else:
            word = _relation_label(step.relation, zh)
            lines.append(values["relation"].format(s=step.subject, p=word, o=step.object))
    if known:
        lines.append(values["known"].format(known=values["semicolon"].join(known)))
    answer = "；".join(case.answer.splitlines()).rstrip("。.")
    return "".join(lines) + values["answer"].format(answer=answer)


def _relation_label(relation: str, zh: bool) -> str:
    from shiyi.ontology.schema import Schema

    prop = Schema.load().property(relation)
    return prop.label_zh if zh else prop.label_en


def add_to_school(school: School, dataset: Dataset, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches that also fill the overlay of a school with their works and claims."""

    def bind(make: Callable[[], Content]) -> Callable[[], Content]:
        def make_content() -> Content:
            content, place = make(), school.place(dataset)
            sources = [
                q.subject
                for q in content.quads
                if q.predicate == RDF.type
                and q.object == SHIYI.Source
                and isinstance(q.subject, NamedNode)
            ]
            content.quads += school.quads(dataset, sources)
            for each in content.proposed:
                claim = replace(each.claim, status=Status.CANDIDATE)
                content.quads += claim_quads(claim, place)
            return content

        return make_content

    for batch in batches:
        yield Batch(f"{batch.key} {school.slug}", bind(batch.make))
