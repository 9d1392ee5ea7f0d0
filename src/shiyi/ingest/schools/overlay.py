"""A school's overlay graph, written and read, and the fine-tuning set made from it."""

import json
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
from shiyi.ingest.schools.chain import Chains, Step
from shiyi.ingest.schools.context import General
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Status
from shiyi.model.iris import GRAPH, content_hash, graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.prompts.templates import Prompt
from shiyi.settings import Settings
from shiyi.sparql.store.port import QuadStore, text_value, text_values


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
        for each in dict.fromkeys((dataset.source.iri, *sources)):
            yield Quad(each, SHIYI.belongsToSchool, self.iri, place)


class ReasoningForm(Form):
    """A reasoning text as a model writes it."""

    reasoning: Line


@dataclass(slots=True)
class Overlay:
    """Builds the overlay of questions with answers; ``counts`` counts results by kind."""

    school: School
    dataset: Dataset
    chains: Chains
    general: General
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
        recalled = self.general.recall([f"{e.subject} {e.relation} {e.object}" for e in steps])
        books = self.general.passages_of(recalled, case.text)
        reasoning = self._reasoning(case, steps, recalled, [value for _, value in books])
        yield Quad(node, RDF.type, SHIYI.ReasoningChain, place)
        yield Quad(node, RDFS.label, Literal(case.text, language=case.language), place)
        yield Quad(node, SHIYI.answerText, Literal(case.answer, language=case.language), place)
        yield Quad(node, RDF.value, Literal("\n".join(each.line for each in steps)), place)
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
        for claim_iri in recalled:
            yield Quad(claim_iri, SHIYI.reasonedIn, written, place)
        self.counts["chain"] += 1

    def _claims(self, steps: Sequence[Step], written: NamedNode) -> list[Claim]:
        """Return the steps that are claims and break no shape, at the confidence of a model."""
        evidence = Evidence(
            self.dataset.source,
            Confidence(self.settings.confidence.model),
            kind=EvidenceKind.PREDICTED,
            passage=written,
            activity="school-1",
        )
        created = [
            Claim(
                each.subject_iri,
                each.predicate,
                each.object_iri,
                (evidence,),
                status=Status.CANDIDATE,
            )
            for each in steps
            if each.predicate and each.subject_iri and each.object_iri
        ]
        judged = self.gate.judge([ProposedClaim(each) for each in created])
        for each in judged:
            if each.faults:
                self.counts[f"refused: {each.faults[0].message_en}"] += 1
        return [each.proposed.claim for each in judged if not each.faults]

    def _reasoning(
        self, case: Case, steps: Sequence[Step], recalled: Sequence[NamedNode], books: Sequence[str]
    ) -> str:
        if self.chains.asker is not None:
            reply = self.chains.asker.ask(
                Prompt.named("write-reasoning"),
                ReasoningForm,
                question=case.text,
                triples="\n".join(each.line for each in steps),
                books="\n\n".join(books) or "-",
                answer=case.answer,
            )
            return reply.reasoning
        known = [self.general.sentence(each) for each in recalled[:3]]
        return compose_reasoning(case, steps, known)


def compose_reasoning(case: Case, steps: Sequence[Step], known: Sequence[str]) -> str:
    """Verbalize a chain without a model.

    >>> from shiyi.model.iris import resource
    >>> case = Case(resource("case/x"), "a cough", "en", answer="wind-cold")
    >>> compose_reasoning(case, [Step("a cough", "leadsTo", "wind-cold")], [])
    'From “a cough” follows “wind-cold”. The answer is therefore: wind-cold.'
    """
    zh, lines = case.language == "zh", list[str]()
    said = {key: texts[not zh] for key, texts in sentences("reasoning").items()}
    for each in steps:
        if each.relation == "leadsTo":
            lines.append(said["leads_to"].format(s=each.subject, o=each.object))
        else:
            word = _word(each.relation, zh)
            lines.append(said["relation"].format(s=each.subject, p=word, o=each.object))
    if known:
        lines.append(said["known"].format(known=said["semicolon"].join(known)))
    answer = "；".join(case.answer.splitlines()).rstrip("。.")
    return "".join(lines) + said["answer"].format(answer=answer)


def _word(relation: str, zh: bool) -> str:
    from shiyi.ontology.schema import Schema

    prop = Schema.load().property(relation)
    return prop.label_zh if zh else prop.label_en


def add_to_school(school: School, dataset: Dataset, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches that also fill the overlay of a school with their works and claims."""

    def making(make: Callable[[], Content]) -> Callable[[], Content]:
        def made() -> Content:
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

        return made

    for batch in batches:
        yield Batch(f"{batch.key} {school.slug}", making(batch.make))


_SCHOOLS = f"{GRAPH}schools/"


@dataclass(frozen=True, slots=True)
class SchoolClaim:
    """A claim of a school: never asserted, and never evidence for advice on its own."""

    iri: str
    subject: str
    predicate: str
    object: str
    confidence: float
    texts: tuple[str, ...]  # reasoning texts that go through it (M2)


@dataclass(frozen=True, slots=True)
class Chain:
    """One question of a school: its answer, the triples between, in order, and the reasoning."""

    iri: str
    question: str
    answer: str
    triples: tuple[tuple[str, str, str], ...]  # in words
    claims: tuple[str, ...]
    reasoning: str
    passages: tuple[str, ...]


def schools(store: QuadStore) -> dict[str, str]:
    """Return the names of the schools that have an overlay, by IRI."""
    results = {}
    for place in _graphs(store, None):
        for quad in store.match(None, RDF.type, SHIYI.School, place):
            if isinstance(quad.subject, NamedNode):
                results[quad.subject.value] = text_value(store, quad.subject, RDFS.label, place)
    return results


def claims_of(store: QuadStore, school: str) -> Iterator[SchoolClaim]:
    """Yield the claims of a school, named by IRI; one that stands in two files comes twice."""
    for place in _graphs(store, school):
        for quad in store.match(None, RDF.type, SHIYI.Claim, place):
            if isinstance(quad.subject, NamedNode):
                node = quad.subject
                values = [
                    text_value(store, node, p, place)
                    for p in (RDF.subject, RDF.predicate, RDF.object)
                ]
                confidence = float(text_value(store, node, SHIYI.confidence, place) or 0)
                texts = text_values(store, node, SHIYI.reasonedIn, place)
                yield SchoolClaim(node.value, values[0], values[1], values[2], confidence, texts)


def claims_in(store: QuadStore, reasoning: str) -> tuple[str, ...]:
    """List the claims that a reasoning text goes through (M2, the other way)."""
    quads = store.match(None, SHIYI.reasonedIn, NamedNode(reasoning))
    return tuple(sorted({text(quad.subject) for quad in quads}))


def chains(store: QuadStore, school: str = "") -> Iterator[Chain]:
    """Yield the chains of a school, or of all, in a lasting order."""
    for place in _graphs(store, school or None):
        nodes = [
            quad.subject
            for quad in store.match(None, RDF.type, SHIYI.ReasoningChain, place)
            if isinstance(quad.subject, NamedNode)
        ]
        for node in sorted(nodes, key=lambda each: each.value):
            yield _chain(store, node, place)


def _chain(store: QuadStore, node: NamedNode, place: NamedNode) -> Chain:
    reasoning, passages = "", tuple[str, ...]()
    for quad in store.match(None, PROV.wasDerivedFrom, node, place):
        if isinstance(quad.subject, NamedNode):
            reasoning = text_value(store, quad.subject, RDF.value, place)
            passages = tuple(
                each
                for each in text_values(store, quad.subject, PROV.wasDerivedFrom, place)
                if each != node.value
            )
    triples = []
    for line in text_value(store, node, RDF.value, place).splitlines():
        subject, predicate, value = line.split("\t")
        triples.append((subject, predicate, value))
    return Chain(
        node.value,
        text_value(store, node, RDFS.label, place),
        text_value(store, node, SHIYI.answerText, place),
        tuple(triples),
        text_values(store, node, SHIYI.hasStep, place),
        reasoning,
        passages,
    )


def _graphs(store: QuadStore, school: str | None) -> list[NamedNode]:
    node = NamedNode(school) if school else None
    results = {
        quad.graph_name
        for quad in store.match(node, RDF.type, SHIYI.School)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_SCHOOLS)
    }
    return sorted(results, key=lambda each: each.value)


_SYSTEM = {
    "reasoning": "逐步推理并作答。 Reason step by step, then answer.",
    "triples": "将问题分解为三元组，每行一条：主体、关系、客体，以制表符分隔。 "
    "Decompose the question into triples, one a line: subject, relation, object, "
    "with tabs between.",
}


def training_lines(chains: Iterable[Chain]) -> Iterator[str]:
    """Yield JSON Lines of the usual chat format, two for each chain; a question comes once.

    Learning rate, batch and cut-off are the trainer's; TCM-DiffRAG took 1e-4, 2 and 2,046 tokens.
    """
    seen: set[tuple[str, str]] = set()
    for chain in chains:
        triples = "\n".join("\t".join(each) for each in chain.triples)
        for task, target in (("reasoning", chain.reasoning), ("triples", triples)):
            if target and (task, chain.question) not in seen:
                seen.add((task, chain.question))
                yield json.dumps(
                    {
                        "messages": [
                            {"role": "system", "content": _SYSTEM[task]},
                            {"role": "user", "content": chain.question},
                            {"role": "assistant", "content": target},
                        ]
                    },
                    ensure_ascii=False,
                )
