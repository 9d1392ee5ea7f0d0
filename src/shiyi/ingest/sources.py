"""From a source name to its batches and extractor."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.errors import SettingError, UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.ingest.batches import Batch, ImportRun, Report
    from shiyi.ingest.cases.reading import Importer
    from shiyi.ingest.cases.term_matches import Terms
    from shiyi.ingest.datasets.dataset import Dataset
    from shiyi.ingest.datasets.lexicon import Lexicon
    from shiyi.ingest.documents.document import Document
    from shiyi.ingest.extraction.extractor import Extractor
    from shiyi.ingest.gate import Gate
    from shiyi.ingest.schools.overlay import Overlay, School
    from shiyi.linking.labels import LabelIndex
    from shiyi.linking.linker import Linker
    from shiyi.prompts.caching import ReplyStore
    from shiyi.prompts.openai import OpenAIChatModel
    from shiyi.prompts.resilience import Retrier
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


EXTRACTORS = ("rules", "llm")


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """A kind of source, and how to read it; the options of ``shiyi ingest``."""

    source: str
    extractor: str = "rules"
    school: str = ""
    limit: int = 0
    workers: str = "1"
    mapping: Path | None = None
    languages: str = ""
    sources: str = ""
    types: str = ""


@dataclass(slots=True)
class ExtractorFactory:
    """Creates the requested extractor for each dataset; caches the model's replies.

    ``kb`` is where replies are stored; without it they live as long as the process.
    """

    name: str
    index: "LabelIndex"
    gate: "Gate"
    settings: Settings
    kb: Path | None = None
    lessons: str = ""  # what curators refused, as a section of the prompt
    _askers: "dict[str, Retrier]" = field(default_factory=dict)
    _replies: "ReplyStore | None" = None
    _linker: "Linker | None" = None

    def extractor(self, dataset: "Dataset") -> "Extractor":
        """Return the extractor for one dataset; :class:`SettingError` where no model is named."""
        if self.name == "rules":
            from shiyi.ingest.datasets.lexicon import Lexicon
            from shiyi.ingest.extraction.books.extractor import EntryExtractor

            return EntryExtractor(Lexicon(self.index))
        from shiyi.ingest.extraction.llm import LlmExtractor

        return LlmExtractor(
            self.make_retrier(dataset), self.index, self.gate, self.settings, self.lessons
        )

    def make_retrier(self, dataset: "Dataset") -> "Retrier":
        """Return the asker of the model for a dataset."""
        from shiyi.prompts.caching import ReplyStore
        from shiyi.prompts.resilience import Retrier

        model = self._model()
        if self._replies is None:
            self._replies = ReplyStore.open(self.kb) if self.kb else ReplyStore.in_memory()
        release = f"{dataset.name}@{dataset.version}"
        if release not in self._askers:
            self._askers[release] = Retrier(model, self._replies, self.settings.models, release)
        return self._askers[release]

    def _model(self) -> "OpenAIChatModel":
        from shiyi.prompts.openai import open_model

        model = open_model(self.settings.models, os.environ, "extract")
        if model is None:
            raise SettingError(
                "models.extract",
                "names no model: set SHIYI_MODELS_EXTRACT, OPENAI_BASE_URL and OPENAI_API_KEY",
            )
        return model

    def importer(self, dataset: "Dataset", base: "KnowledgeBase") -> "tuple[Importer, Terms]":
        """Return the reader of cases, and the terms that their words are linked to."""
        from shiyi.ingest.cases import reading
        from shiyi.ingest.cases.classification import Classes
        from shiyi.ingest.cases.term_matches import Terms
        from shiyi.linking.embedding import embedder
        from shiyi.linking.linker import Linker

        linking = self.settings.linking
        model = embedder.open_embedder(linking.embedder)
        if self._linker is None:
            self._linker = Linker.open(base.folder, base.store, base.release, linking, model)
        dictionary = reading.DictionaryReader(self._linker)
        classes = Classes(self.index, model, most=self.settings.terms.class_distance)
        reader: reading.CaseReader = dictionary
        if self.name == "llm":
            reader = reading.LlmCaseReader(self.make_retrier(dataset), dictionary, classes)
        digest = f"{dataset.name}@{dataset.version}"
        terms = Terms.of(self.index, model, linking)
        find = reading.open_finder(self.settings.ingest.privacy)
        return reading.Importer(reader, dictionary, classes, digest, find), terms

    def overlay(self, school: "School", dataset: "Dataset", base: "KnowledgeBase") -> "Overlay":
        """Return the builder of a school's overlay from answered cases."""
        from shiyi.ingest.extraction.extractor import Relations
        from shiyi.ingest.extraction.statements import StatementReader
        from shiyi.ingest.schools.chain import ChainBuilder
        from shiyi.ingest.schools.context import GeneralKnowledge
        from shiyi.ingest.schools.overlay import Overlay
        from shiyi.linking.embedding import embedder

        settings = self.settings.ingest
        chains = ChainBuilder(
            StatementReader(self.index, Relations.of()),
            self.make_retrier(dataset) if self.name == "llm" else None,
        )
        general = GeneralKnowledge(
            base.store,
            embedder.open_embedder(self.settings.linking.embedder),
            settings.chain_triples,
            settings.chain_passages,
        )
        return Overlay(school, dataset, chains, general, self.gate, self.settings)

    def report_usage(self, report: "Report", dataset: "Dataset") -> None:
        """Add the model's usage to the report."""
        from shiyi.ingest.batches import figure_title

        asker = self._askers.get(f"{dataset.name}@{dataset.version}")
        if asker is None:
            return
        usage = asker.usage
        report.model = {
            figure_title("calls"): usage.calls,
            figure_title("cached"): usage.cached,
            figure_title("prompt_tokens"): usage.prompt_tokens,
            figure_title("completion_tokens"): usage.completion_tokens,
            figure_title("model_seconds"): round(usage.seconds, 2),
            **{f"mended or final {name}": count for name, count in usage.faults.items()},
        }
        if cost := usage.cost(self.settings.models):
            report.model[figure_title("cost")] = round(cost, 4)

    def close(self) -> None:
        """Release the stored replies."""
        if self._replies is not None:
            self._replies.close()


BOOKS = "tcm-ancient-books"
Batches = tuple["Dataset", Iterable["Batch"]]


def open_batches(
    request: IngestRequest,
    path: Path,
    extracting: ExtractorFactory,
    base: "KnowledgeBase",
    report: "Report",
) -> Batches:
    """Return the dataset and batches of one path, with the overlay of the requested school."""
    dataset, batches = _SourcePath(request, path, extracting, base, report).open()
    if request.school and request.source != "cases":
        from shiyi.ingest.schools.overlay import School, add_to_school

        batches = add_to_school(School(request.school), dataset, batches)
    return dataset, batches


@dataclass(frozen=True, slots=True)
class _SourcePath:
    """One path to be read, as the command names it."""

    request: IngestRequest
    path: Path
    extracting: ExtractorFactory
    base: "KnowledgeBase"
    report: "Report"

    def open(self) -> Batches:
        from shiyi.artefacts import artefact
        from shiyi.ingest.datasets.dataset import load_dataset
        from shiyi.ingest.datasets.vocabularies import KINDS

        source = self.request.source
        if source == "text":
            return self._text()
        if source == "cases":
            return self._cases()
        if source in KINDS:
            return self._vocabulary()
        dataset = None
        if source not in {"umls", "table"}:
            dataset = load_dataset(BOOKS if source == "books" else source)
        if not self.path.exists():
            raise UsageError(f"{self.path} does not exist")
        if source == "umls":
            return self._umls()
        if dataset is None or artefact(f"ingest/{dataset.name}/mapping.toml").is_file():
            return self._table()
        return self._books(dataset)

    @property
    def _settings(self) -> Settings:
        return self.extracting.settings

    def _run(self, dataset: "Dataset") -> "ImportRun":
        from shiyi.ingest.batches import ImportRun

        return ImportRun(dataset, self._settings, self.report, self.request.limit)

    def _text(self) -> Batches:
        from shiyi.ingest.documents.files import read_text

        dataset, document = read_text(self.path, self._settings.ingest.max_text_bytes)
        return dataset, self._read(dataset, iter((document,)))

    def _books(self, dataset: "Dataset") -> Batches:
        from shiyi.ingest.documents.books import read_books

        books = read_books(self.path, dataset, self._settings.ingest.max_text_bytes)
        return dataset, self._read(dataset, books)

    def _read(
        self, dataset: "Dataset", documents: "Iterable[Document | UsageError]"
    ) -> Iterable["Batch"]:
        request, base, report = self.request, self.base, self.report
        if request.workers == "1":
            from shiyi.ingest.run import text_batches

            extractor = self.extracting.extractor(dataset)
            store = base.store if base.writes else None
            return text_batches(self._run(dataset), documents, extractor, store)
        from shiyi.ingest.parallel import DocumentReader, spread_batches
        from shiyi.linking.labels import FILE

        if request.extractor != "rules" or request.limit:
            raise UsageError("--workers goes with the rules extractor, and without --limit")
        folder = base.folder / "index"
        if not (folder / FILE).is_file():
            self.extracting.index.save(folder)
        reader = DocumentReader(dataset, folder, base.release, self._settings)
        return spread_batches(reader, documents, report, request.workers)

    def _cases(self) -> Batches:
        from shiyi.ingest.cases.quads import case_batches, cases_dataset
        from shiyi.ingest.cases.reading import LlmCaseReader
        from shiyi.ingest.schools.overlay import School

        school = School(self.request.school) if self.request.school else None
        if not self.path.is_file():
            raise UsageError("the file of cases does not exist")
        dataset = cases_dataset(self.path, school.slug if school else "")
        reading, terms = self.extracting.importer(dataset, self.base)
        if isinstance(reading.reader, LlmCaseReader):
            self.report.model_faults = reading.reader.faults
        overlay = self.extracting.overlay(school, dataset, self.base) if school else None
        if overlay:
            self.report.overlay = overlay.counts
        also = overlay.quads if overlay else None
        return dataset, case_batches(self._run(dataset), self.path, reading, terms, also)

    def _table(self) -> Batches:
        from shiyi.ingest.datasets.dataset import find_description, load_dataset, read_dataset
        from shiyi.ingest.datasets.mapped_tables import table_batches
        from shiyi.ingest.datasets.mapping import load_mapping, read_mapping
        from shiyi.ingest.datasets.umls import open_umls_linker

        mapping = self.request.mapping
        if self.request.source != "table":
            dataset = load_dataset(self.request.source)
            tables = load_mapping(dataset.name)
            dataset = find_description(self.path) or dataset
        elif mapping is None:
            raise UsageError(
                "a table needs --mapping, a mapping.toml with its source.ttl beside it"
            )
        else:
            tables, dataset = read_mapping(mapping), read_dataset(mapping.parent / "source.ttl")
        linker = open_umls_linker(self.base.path)
        link, run = linker.link if linker else None, self._run(dataset)
        return dataset, table_batches(run, self.path, self._lexicons(), link, tables)

    def _vocabulary(self) -> Batches:
        from shiyi.ingest.datasets.vocabularies import (
            BaseConcepts,
            describe_vocabulary,
            load_matches,
            vocabulary_batches,
        )

        kinds = {concept.iri: concept.kind for concept in self.extracting.index.concepts}
        concepts = BaseConcepts(kinds, self._lexicons(), load_matches(self.base.store))
        dataset = describe_vocabulary(self.request.source, self.path)
        run = self._run(dataset)
        return dataset, vocabulary_batches(run, self.request.source, self.path, concepts)

    def _umls(self) -> Batches:
        from shiyi.ingest.datasets.umls import (
            Filters,
            Release,
            index_names,
            list_cuis,
            umls_batches,
        )

        languages, sources, types = (
            tuple(part.strip().upper() for part in cell.split(",") if part.strip())
            for cell in (self.request.languages, self.request.sources, self.request.types)
        )
        release = Release(self.path, Filters(languages or Filters().languages, sources, types))
        dataset = release.dataset()
        if self.base.writes:
            count = index_names(release, self.base.path)
            self.report.notes.append(
                f"{count:,} names are in the index, which tables are linked with"
            )
        return dataset, umls_batches(release, dataset, list_cuis(self.base.store), self.report)

    def _lexicons(self) -> dict[str, "Lexicon"]:
        from shiyi.ingest.datasets.lexicon import Lexicon

        index = self.extracting.index
        return {"zh": Lexicon(index), "en": Lexicon(index, "en")}
