"""The ``llm`` extractor: relations proposed, filtered, then statements strictly within them.

After Yaoshi-RAG (relation proposal, filter, constrained extraction, attributes of foods and
dishes), TOSRR (a summary and questions with answers for each passage) and TCM MLKG-RAG (described
entities, those of the patient apart from those of the disease).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from shiyi.errors import OutsideError
from shiyi.ingest.extraction import llm_forms as forms
from shiyi.ingest.extraction.llm_forms import Statement
from shiyi.ingest.extraction.llm_notes import claim_notes, note_quads, refused_quads
from shiyi.ingest.extraction.port import Extracted, Extraction
from shiyi.ingest.extraction.relations import ATTRIBUTES, Relations
from shiyi.ingest.extraction.statements import UNLINKED, WITHDRAWN, Reader, Refusal
from shiyi.ingest.gate import Gate
from shiyi.ingest.run import proposed_of
from shiyi.ingest.text.document import Document, Passage
from shiyi.linking.labels import LabelIndex
from shiyi.model.names import content_hash
from shiyi.model.rdf import NamedNode, Quad
from shiyi.prompts.asking import Asker
from shiyi.prompts.prompt import Prompt
from shiyi.settings import IngestSettings, Settings

STEPS = (
    "propose-relations", "filter-relations", "extract-claims", "extract-attributes",
    "describe-passage", "repair-claims",
)  # fmt: skip
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(slots=True)
class _Reading:
    """What a model said of one passage so far."""

    passage: Passage
    chosen: tuple[str, ...] = ()
    made: list[tuple[Statement, Extracted]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    notes: forms.Notes | None = None
    parked: str = ""


class LlmExtractor:
    """Reads passages with a language model; every statement is checked before it is proposed.

    A passage is read whole or parked: where any step fails for good, nothing of it is taken, and
    the steps that went well are in the cache for the next time.
    """

    name = "llm"
    by_model = True

    def __init__(
        self, asker: Asker, index: LabelIndex, gate: Gate, settings: Settings, lessons: str = ""
    ) -> None:
        """Take ``lessons``, the section of the prompt on what curators refused before."""
        self._lessons = lessons
        self._asker, self._gate, self._settings = asker, gate, settings
        self._reader = Reader(index, Relations.of())
        self._prompts = {each: Prompt.named(each) for each in STEPS}
        versions = (each.version for each in self._prompts.values())
        self.version = content_hash(asker.model.name, *versions)[:12]

    def trust(self, settings: IngestSettings) -> float:
        """Give ``ingest.model``."""
        return settings.model

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read passages, ``models.concurrency`` at a time; mend what the gate refuses."""
        language = document.language
        readings = self._each(lambda each: self._read(each, language), passages)
        for _ in range(self._settings.ingest.repair_rounds):
            faulty = self._faulty(readings, document)
            if not faulty:
                break
            self._each(lambda each: self._mend(each[0], each[1], language), faulty)
        return [self._extraction(each, document, place) for each in readings]

    def _each(self, work: Callable[[_T], _R], things: Iterable[_T]) -> list[_R]:
        with ThreadPoolExecutor(max(1, self._settings.models.concurrency), "shiyi-llm") as pool:
            try:
                return list(pool.map(work, things))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _read(self, passage: Passage, language: str) -> _Reading:
        reading = _Reading(passage)
        try:
            self._steps(reading, language)
        except OutsideError as fault:
            return _Reading(passage, parked=str(fault))
        return reading

    def _steps(self, reading: _Reading, language: str) -> None:
        passage, relations, ask = reading.passage, self._reader.relations, self._asker.ask
        shown = {"title": " / ".join(passage.section.path), "passage": passage.text}
        listed = relations.told()
        proposed = ask(
            self._prompts["propose-relations"], forms.Relations, relations=listed, **shown
        )
        statements: list[Statement] = []
        if proposed.relations:
            kept = ask(
                self._prompts["filter-relations"], forms.Relations, relations=listed,
                proposed=", ".join(proposed.relations), **shown,
            )  # fmt: skip
            reading.chosen = relations.known(kept.relations)
        if reading.chosen:
            chosen = relations.told(reading.chosen)
            said = ask(
                self._prompts["extract-claims"], forms.Statements, relations=chosen,
                lessons=self._lessons, **shown,
            )  # fmt: skip
            statements += said.statements
            about = ask(self._prompts["extract-attributes"], forms.Attributes, **shown)
            statements += (each for each in about.attributes if each.relation in ATTRIBUTES)
        reading.notes = ask(
            self._prompts["describe-passage"], forms.Notes, classes=relations.classes, **shown
        )
        self._take(reading, statements, language)

    def _take(self, reading: _Reading, said: Iterable[Statement], language: str) -> None:
        """Make claims of statements; the same claim on the same quote is made once."""
        chosen = (*reading.chosen, *ATTRIBUTES)
        known = {_identity(made) for _, made in reading.made}
        for each in dict.fromkeys(said):
            read = self._reader.read(each, reading.passage, chosen, language)
            if isinstance(read, Refusal):
                reading.refused.append(read)
            elif _identity(read) not in known:
                known.add(_identity(read))
                reading.made.append((each, read))

    def _faulty(
        self, readings: Iterable[_Reading], document: Document
    ) -> list[tuple[_Reading, list[Refusal]]]:
        """Give for each passage what is to be mended: what was refused, and what breaks a shape."""
        found = []
        for reading in readings:
            proposed = [
                proposed_of(made, reading.passage, document, self, self._settings)
                for _, made in reading.made
            ]
            wrong = [each for each in reading.refused if each.mendable]
            judged = self._gate.judge(proposed)
            for (statement, _), each in zip(reading.made, judged, strict=True):
                if each.faults:
                    why = each.faults[0].message_en or each.faults[0].component
                    wrong.append(Refusal(statement, "breaks a shape", why))
            if wrong:
                found.append((reading, wrong))
        return found

    def _mend(self, reading: _Reading, wrong: list[Refusal], language: str) -> None:
        passage = reading.passage
        told = "\n".join(
            f"{number}: {each.statement.model_dump_json()} refused: {each.reason}"
            for number, each in enumerate(wrong, 1)
        )
        try:
            mended = self._asker.ask(
                self._prompts["repair-claims"], forms.Repairs, refused=told,
                relations=self._reader.relations.told((*reading.chosen, *ATTRIBUTES)),
                title=" / ".join(passage.section.path), passage=passage.text,
            )  # fmt: skip
        except OutsideError as fault:
            reading.made, reading.refused, reading.notes = [], [], None
            reading.parked = str(fault)
            return
        for each in mended.repairs:
            if 1 <= each.number <= len(wrong) and (each.withdraw or each.statement):
                self._replace(reading, wrong[each.number - 1], each, language)

    def _replace(
        self, reading: _Reading, old: Refusal, repair: forms.Repair, language: str
    ) -> None:
        """Put the mended statement in place of the refused one; a withdrawn one stays on record."""
        if repair.withdraw:
            withdrawn = Refusal(
                old.statement, WITHDRAWN, f"{WITHDRAWN}, refused before: {old.reason}"
            )
            reading.refused = [withdrawn if e == old else e for e in reading.refused]
            if withdrawn not in reading.refused:
                reading.refused.append(withdrawn)
        else:
            reading.refused = [each for each in reading.refused if each != old]
        reading.made = [each for each in reading.made if each[0] != old.statement]
        if repair.statement and not repair.withdraw:
            self._take(reading, [repair.statement], language)

    def _extraction(self, reading: _Reading, document: Document, place: NamedNode) -> Extraction:
        passage = reading.passage
        if reading.parked:
            return Extraction(parked=reading.parked)
        unlinked = Counter(e.statement.relation for e in reading.refused if e.kind == UNLINKED)
        refused = Counter(e.kind for e in reading.refused if e.kind != UNLINKED)
        quads: list[Quad] = list(refused_quads(reading.refused, passage, place))
        if reading.notes:
            quads += note_quads(reading.notes, passage, document, place, self._reader)
        quads += claim_notes(reading.made, passage, document, place)
        found = tuple(made for _, made in reading.made)
        return Extraction(found, unlinked, tuple(quads), refused)


def _identity(made: Extracted) -> tuple[object, ...]:
    return made.subject, made.predicate, made.object, made.polarity
