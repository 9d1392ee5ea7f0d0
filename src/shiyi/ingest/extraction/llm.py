"""Schema-constrained extraction with a language model.

After Yaoshi-RAG (relation proposal, filter, constrained extraction, attributes of foods and
dishes), TOSRR (a summary and questions with answers for each passage) and TCM MLKG-RAG (described
entities, those of the patient apart from those of the disease).

Summaries, questions with answers and descriptions are searched and never cited.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from shiyi.errors import OutsideError
from shiyi.ingest.batches import propose_claim
from shiyi.ingest.documents.document import Document, Passage
from shiyi.ingest.extraction import replies as forms
from shiyi.ingest.extraction.extractor import ATTRIBUTES, ExtractedStatement, Extraction, Relations
from shiyi.ingest.extraction.replies import Notes, Statement
from shiyi.ingest.extraction.statements import UNLINKED, WITHDRAWN, Refusal, StatementReader
from shiyi.ingest.gate import Gate
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Confidence, Evidence
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.prompts.resilience import Retrier
from shiyi.prompts.templates import Prompt
from shiyi.settings import IngestSettings, Settings


def note_quads(
    notes: Notes, passage: Passage, document: Document, place: NamedNode, reader: StatementReader
) -> Iterator[Quad]:
    """Yield summary, questions with answers, and described entities of a passage."""
    language, text = document.language, NamedNode(passage.iri)

    def make_note(kind: NamedNode, *content: str) -> tuple[NamedNode, Iterator[Quad]]:
        node = resource(f"note/{content_hash(passage.iri, kind.value, *content)}")
        start = (Quad(node, RDF.type, kind, place), Quad(node, PROV.wasDerivedFrom, text, place))
        return node, iter(start)

    node, start = make_note(SHIYI.PassageSummary, notes.summary)
    yield from start
    yield Quad(node, RDF.value, Literal(notes.summary, language=language), place)
    for pair in notes.questions:
        node, start = make_note(SHIYI.QuestionAnswer, pair.question, pair.answer)
        yield from start
        yield Quad(node, RDFS.label, Literal(pair.question, language=language), place)
        yield Quad(node, SHIYI.answerText, Literal(pair.answer, language=language), place)
    classes = frozenset(reader.relations.schema.parents)
    for entity in notes.entities:
        node, start = make_note(SHIYI.EntityDescription, entity.name, entity.description)
        yield from start
        yield Quad(node, RDFS.label, Literal(entity.name, language=language), place)
        yield Quad(node, SHIYI.entityLayer, Literal(entity.layer), place)
        if entity.description:
            yield Quad(node, RDF.value, Literal(entity.description, language=language), place)
        wanted = frozenset({entity.type}) if entity.type in classes else classes
        if concept := reader.find(entity.name, reader.relations.kinds(wanted)):
            yield Quad(node, SHIYI.describes, concept, place)


def claim_notes(
    created: Sequence[tuple[Statement, ExtractedStatement]],
    passage: Passage,
    document: Document,
    place: NamedNode,
) -> Iterator[Quad]:
    """Yield the passage's description of the relation of each claim."""
    for statement, read in created:
        if not statement.description:
            continue
        evidence = (Evidence(document.source, Confidence(1.0)),)  # its IRI needs none
        claim = Claim.create(read.subject, read.predicate, read.object, evidence, read.polarity)
        value = statement.description
        node = resource(f"note/{content_hash(passage.iri, claim.iri.value, value)}")
        yield Quad(node, RDF.type, SHIYI.RelationDescription, place)
        yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
        yield Quad(node, SHIYI.describes, claim.iri, place)
        yield Quad(node, RDF.value, Literal(value, language=document.language), place)


def refused_quads(refused: Iterable[Refusal], passage: Passage, place: NamedNode) -> Iterator[Quad]:
    """Yield each statement that no claim was made of, as it was written, and why."""
    for refusal in refused:
        payload = refusal.statement.model_dump_json()
        node = resource(f"refused/{content_hash(passage.iri, payload, refusal.reason)}")
        yield Quad(node, RDF.type, SHIYI.RefusedStatement, place)
        yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
        yield Quad(node, RDF.value, Literal(payload), place)
        yield Quad(node, RDFS.comment, Literal(refusal.reason, language="en"), place)


STEPS = (
    "propose-relations", "filter-relations", "extract-claims", "extract-attributes",
    "describe-passage", "repair-claims",
)  # fmt: skip
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(slots=True)
class _Passage:
    """The state of one passage while a model reads it."""

    passage: Passage
    relations: tuple[str, ...] = ()
    statements: list[tuple[Statement, ExtractedStatement]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    notes: forms.Notes | None = None
    parked: str = ""


class LlmExtractor:
    """Reads passages with a language model; every statement is checked before it is proposed.

    A passage is read whole or parked: after a permanent fault nothing of it is used, and
    the steps that went well are in the cache for the next time.
    """

    name = "llm"
    by_model = True

    def __init__(
        self, asker: Retrier, index: LabelIndex, gate: Gate, settings: Settings, lessons: str = ""
    ) -> None:
        """Add ``lessons`` to the prompt: the section on statements that curators refused."""
        self._lessons = lessons
        self._asker, self._gate, self._settings = asker, gate, settings
        self._reader = StatementReader(index, Relations.of())
        self._prompts = {step: Prompt.named(step) for step in STEPS}
        versions = (prompt.version for prompt in self._prompts.values())
        self.version = content_hash(asker.model.name, *versions)[:12]

    def trust(self, settings: IngestSettings) -> float:
        """Return ``ingest.model``."""
        return settings.model

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read passages, ``models.concurrency`` at a time; repair what the gate refuses."""
        language = document.language
        readings = self._map(lambda passage: self._read(passage, language), passages)
        for _ in range(self._settings.ingest.repair_rounds):
            faulty = self._faulty(readings, document)
            if not faulty:
                break
            self._map(lambda row: self._repair(row[0], row[1], language), faulty)
        return [self._extraction(passage, document, place) for passage in readings]

    def _map(self, work: Callable[[_T], _R], things: Iterable[_T]) -> list[_R]:
        with ThreadPoolExecutor(max(1, self._settings.models.concurrency), "shiyi-llm") as pool:
            try:
                return list(pool.map(work, things))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _read(self, passage: Passage, language: str) -> _Passage:
        reading = _Passage(passage)
        try:
            self._steps(reading, language)
        except OutsideError as fault:
            return _Passage(passage, parked=str(fault))
        return reading

    def _steps(self, reading: _Passage, language: str) -> None:
        passage, relations, ask = reading.passage, self._reader.relations, self._asker.ask
        context = {"title": " / ".join(passage.section.path), "passage": passage.text}
        lines = relations.prompt_lines()
        proposal = ask(
            self._prompts["propose-relations"], forms.Relations, relations=lines, **context
        )
        statements: list[Statement] = []
        if proposal.relations:
            selection = ask(
                self._prompts["filter-relations"],
                forms.Relations,
                relations=lines,
                proposed=", ".join(proposal.relations),
                **context,
            )
            reading.relations = relations.filter_names(selection.relations)
        if reading.relations:
            chosen_lines = relations.prompt_lines(reading.relations)
            reply = ask(
                self._prompts["extract-claims"],
                forms.Statements,
                relations=chosen_lines,
                lessons=self._lessons,
                **context,
            )
            statements += reply.statements
            about = ask(self._prompts["extract-attributes"], forms.Attributes, **context)
            statements += (each for each in about.attributes if each.relation in ATTRIBUTES)
        reading.notes = ask(
            self._prompts["describe-passage"], forms.Notes, classes=relations.classes, **context
        )
        self._add_claims(reading, statements, language)

    def _add_claims(self, reading: _Passage, values: Iterable[Statement], language: str) -> None:
        """Make claims of statements; the same claim on the same quote is made once."""
        relations = (*reading.relations, *ATTRIBUTES)
        known = {_identity(created) for _, created in reading.statements}
        for statement in dict.fromkeys(values):
            read = self._reader.read(statement, reading.passage, relations, language)
            if isinstance(read, Refusal):
                reading.refused.append(read)
            elif _identity(read) not in known:
                known.add(_identity(read))
                reading.statements.append((statement, read))

    def _faulty(
        self, readings: Iterable[_Passage], document: Document
    ) -> list[tuple[_Passage, list[Refusal]]]:
        """Return for each passage the statements to repair: those refused or breaking a shape."""
        results = []
        for reading in readings:
            claims = [
                propose_claim(created, reading.passage, document, self, self._settings)
                for _, created in reading.statements
            ]
            refusals = [refusal for refusal in reading.refused if refusal.is_repairable]
            judged_results = self._gate.judge(claims)
            for (statement, _), result in zip(reading.statements, judged_results, strict=True):
                if result.faults:
                    reason = result.faults[0].message_en or result.faults[0].component
                    refusals.append(Refusal(statement, "breaks a shape", reason))
            if refusals:
                results.append((reading, refusals))
        return results

    def _repair(self, reading: _Passage, wrong: list[Refusal], language: str) -> None:
        passage = reading.passage
        words = "\n".join(
            f"{number}: {refusal.statement.model_dump_json()} refused: {refusal.reason}"
            for number, refusal in enumerate(wrong, 1)
        )
        try:
            reply = self._asker.ask(
                self._prompts["repair-claims"],
                forms.Repairs,
                refused=words,
                relations=self._reader.relations.prompt_lines((*reading.relations, *ATTRIBUTES)),
                title=" / ".join(passage.section.path),
                passage=passage.text,
            )
        except OutsideError as fault:
            reading.statements, reading.refused, reading.notes = [], [], None
            reading.parked = str(fault)
            return
        for repair in reply.repairs:
            if 1 <= repair.number <= len(wrong) and (repair.withdraw or repair.statement):
                self._replace(reading, wrong[repair.number - 1], repair, language)

    def _replace(
        self, reading: _Passage, old: Refusal, repair: forms.Repair, language: str
    ) -> None:
        """Replace a refused statement by its repair; a withdrawn one stays on record."""
        if repair.withdraw:
            withdrawn = Refusal(
                old.statement, WITHDRAWN, f"{WITHDRAWN}, refused before: {old.reason}"
            )
            reading.refused = [withdrawn if e == old else e for e in reading.refused]
            if withdrawn not in reading.refused:
                reading.refused.append(withdrawn)
        else:
            reading.refused = [refusal for refusal in reading.refused if refusal != old]
        reading.statements = [row for row in reading.statements if row[0] != old.statement]
        if repair.statement and not repair.withdraw:
            self._add_claims(reading, [repair.statement], language)

    def _extraction(self, reading: _Passage, document: Document, place: NamedNode) -> Extraction:
        passage = reading.passage
        if reading.parked:
            return Extraction(parked=reading.parked)
        unlinked = Counter(e.statement.relation for e in reading.refused if e.kind == UNLINKED)
        refused = Counter(e.kind for e in reading.refused if e.kind != UNLINKED)
        quads: list[Quad] = list(refused_quads(reading.refused, passage, place))
        if reading.notes:
            quads += note_quads(reading.notes, passage, document, place, self._reader)
        quads += claim_notes(reading.statements, passage, document, place)
        results = tuple(statement for _, statement in reading.statements)
        return Extraction(results, unlinked, tuple(quads), refused)


def _identity(created: ExtractedStatement) -> tuple[object, ...]:
    return created.subject, created.predicate, created.object, created.polarity
