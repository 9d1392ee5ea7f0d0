"""Documents that curators hand in: read by the same confined readers as ``shiyi ingest``."""

import csv
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from shiyi.curation.desks.forms import Form
from shiyi.curation.editing.claims import find_concepts
from shiyi.curation.editing.form import fault
from shiyi.errors import FormatError, FormError, KeyReuseError, ShiyiError, StaleError, UsageError
from shiyi.ingest import run
from shiyi.ingest.batches import Batch, Content, ImportRun, Report
from shiyi.ingest.datasets.dataset import AdmissionPolicy, Dataset, describe_text
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.datasets.mapped_tables import RowReader, table_batches
from shiyi.ingest.datasets.mapping import ClaimRule, Row, Table
from shiyi.ingest.documents.files import ENDINGS
from shiyi.ingest.gate import Gate, GateResult
from shiyi.ingest.sources import ExtractorFactory, IngestRequest, open_batches
from shiyi.linking.labels import FILE, LabelIndex
from shiyi.model.iris import content_hash
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

TABLES: Final = (".csv", ".tsv")
LARGEST: Final = 32 * 1024 * 1024  # bytes of one document
SHOWN: Final = 200  # claims of one document that its page lists
_RECENT: Final = 50  # documents that are remembered
_SAMPLE: Final = 5  # rows of a table that are shown
_FOLDER: Final = "uploads"


class Columns(Form):
    """Which columns of a table hold what; one relation for the whole table."""

    relation: Annotated[str, Field(min_length=1, max_length=80)]
    subject: Annotated[str, Field(min_length=1, max_length=200)]
    object: Annotated[str, Field(min_length=1, max_length=200)]
    quote: Annotated[str, Field(max_length=200)] = ""
    language: Annotated[str, Field(pattern="^(zh|en)$")] = "zh"


class LinkedName(BaseModel):
    """The concept that some words of a table mean, as a subject or an object."""

    role: Literal["subject", "object"]
    words: Annotated[str, Field(max_length=2000)]
    concept: Annotated[str, Field(min_length=1, max_length=200)]


class LinkedNames(Form):
    """The concepts that words of a table mean which name none."""

    names: Annotated[list[LinkedName], Field(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """A claim that was read, and why the gate withheld it, in both languages; nothing if not."""

    claim: str
    subject: str
    relation: str
    object: str
    quote: str
    faults: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Upload:
    """One document on its way into the base."""

    name: str
    person: str
    path: Path
    id: str = field(default_factory=lambda: token_hex(8))
    when: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    state: str = "waiting"  # waiting, running, done or failed
    fault: str = ""
    report: Report = field(default_factory=Report)
    read: list[ExtractedClaim] = field(default_factory=list)
    unlinked: dict[tuple[str, str], dict[int, Row]] = field(default_factory=dict)
    names: dict[tuple[str, str], NamedNode] = field(default_factory=dict)
    table: Table | None = None  # what its columns hold, once they are chosen
    dataset: Dataset | None = None

    @property
    def is_table(self) -> bool:
        """Return whether its columns have to be chosen first."""
        return self.path.suffix.lower() in TABLES

    @property
    def withheld(self) -> list[ExtractedClaim]:
        """List the claims that the gate withheld."""
        return [claim for claim in self.read if claim.faults]

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the columns of a table and its first rows."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file, delimiter=_delimiter(self.path))
                first = [tuple(cell[:200] for cell in row) for row in islice(rows, _SAMPLE + 1)]
        except (UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"{self.name} is no table in UTF-8: {error}") from error
        if not first or len(set(first[0])) < len(first[0]):
            raise UsageError(f"the first line of {self.name} has to name its columns, each once")
        return first[0], first[1:]

    def watch(self, content: Content, judged: Sequence[GateResult]) -> None:
        """Record the claims of one batch, and the rows that name no concept."""
        for name in content.unlinked_names:
            key = name.role, name.words
            if key in self.unlinked or len(self.unlinked) < SHOWN:
                rows = self.unlinked.setdefault(key, {})
                if name.number in rows or len(rows) < SHOWN:
                    rows[name.number] = name.row
        for result in judged[: SHOWN - len(self.read)]:
            claim = result.proposed.claim
            faults = tuple((fault.message_zh, fault.message_en) for fault in result.faults)
            quote = next((e.quote for e in claim.evidence if e.quote), "")
            ends = text(claim.subject), local_name(claim.predicate.value), text(claim.object)
            self.read.append(ExtractedClaim(claim.iri.value, *ends, quote, faults))


def _delimiter(path: Path) -> str:
    return "," if path.suffix.lower() == ".csv" else "\t"


class Uploads:
    """The documents handed in since the server started; one is read at a time."""

    def __init__(self, base: KnowledgeBase, settings: Settings) -> None:
        self._base, self._settings = base, settings
        self._found: dict[str, Upload] = {}
        self._turn = threading.Lock()
        self._requests: dict[str, tuple[str, Upload]] = {}
        self._requesting = threading.Lock()

    def __iter__(self) -> Iterator[Upload]:
        return reversed(list(self._found.values()))

    def get(self, name: str) -> Upload | None:
        """Return a document by its identifier."""
        return self._found.get(name)

    def once(self, key: str, digest: str, make: Callable[[], Upload]) -> Upload:
        """Return what ``make`` does, once for each key; KeyReuseError for another digest."""
        with self._requesting:
            known, upload = self._requests.get(key) or (digest, None)
            if upload and known != digest:
                raise KeyReuseError(upload.when)
            upload = upload or make()
            self._requests[key] = digest, upload
            for old in list(self._requests)[: -4 * _RECENT]:
                del self._requests[old]
        return upload

    def store(self, person: str, name: str, content: bytes) -> Upload:
        """Store a document; a text is read at once, a table waits for its columns.

        Raise FormatError for an ending that no reader takes, UsageError for one too large.
        """
        ending = Path(name).suffix.lower()
        if ending not in (*ENDINGS, *TABLES):
            raise FormatError("file", name[-40:], [*ENDINGS, *TABLES])
        if not content or len(content) > LARGEST:
            raise UsageError(f"a document has 1 to {LARGEST:,} bytes, not {len(content):,}")
        stem = "".join(each if each.isalnum() else "-" for each in Path(name).stem)[:80] or "text"
        upload = Upload(name[-200:], person, Path())
        folder = self._base.path / _FOLDER / upload.id
        folder.mkdir(parents=True, mode=0o700)
        upload.path = folder / f"{stem}{ending}"
        upload.path.write_bytes(content)
        self._found[upload.id] = upload
        for old in list(self._found)[:-_RECENT]:
            if self._found[old].state != "running":
                self._drop(self._found.pop(old))
        if not upload.is_table:
            self.start(upload)
            return upload
        try:
            upload.rows()
        except UsageError:  # refused at once
            self._drop(self._found.pop(upload.id))
            raise
        return upload

    def start(self, upload: Upload, columns: Columns | None = None) -> Upload:
        """Read a document in a thread of its own; StaleError where it is read already."""
        if upload.state != "waiting":
            raise StaleError((upload.name,), "it was read already")
        upload.table = _rule(upload, columns) if columns else None
        return self._begin(upload)

    def link(self, upload: Upload, asked: LinkedNames) -> Upload:
        """Reread the rows with some words, with the concepts that these mean.

        Raise FormError where words name no concept or several, StaleError while rows are read.
        """
        if upload.state != "done":
            raise StaleError((upload.name,), "its rows are being read, or have not been yet")
        names: dict[tuple[str, str], NamedNode] = {}
        for name in asked.names:
            concepts = find_concepts(self._base.store, name.concept)
            if len(concepts) != 1 or (name.role, name.words) not in upload.unlinked:
                raise FormError([fault("names", "which", words=name.concept[:80])])
            names[name.role, name.words] = NamedNode(concepts[0])
        upload.names |= names
        return self._begin(upload, names)

    def _begin(self, upload: Upload, words: Collection[tuple[str, str]] = ()) -> Upload:
        upload.state = "running"
        threading.Thread(target=self._run, args=(upload, words), daemon=True).start()
        return upload

    def _run(self, upload: Upload, words: Collection[tuple[str, str]]) -> None:
        state = "failed"
        try:
            with self._turn:
                self._ingest(upload, words)
            state = "done"
        except ShiyiError as error:
            upload.fault = str(error).replace(str(upload.path), upload.name)
        finally:
            self._drop(upload)
            upload.state = state

    def _ingest(self, upload: Upload, words: Collection[tuple[str, str]]) -> None:
        base, settings = self._base, self._settings
        folder = base.folder / "index"
        stored = (folder / FILE).is_file()
        names = (
            LabelIndex.load(folder, base.release)
            if stored
            else LabelIndex.from_store(base.store, base.release)
        )
        gate = Gate(names)
        results: tuple[Dataset, Iterable[Batch]]
        if (table := upload.table) is None:
            extracting = ExtractorFactory("rules", names, gate, settings, base.path)
            request = IngestRequest("text")
            results = open_batches(request, upload.path, extracting, base, upload.report)
        else:
            dataset = upload.dataset = upload.dataset or describe_text(upload.path, upload.name)
            lexicons = {"zh": Lexicon(names), "en": Lexicon(names, "en")}
            if words:
                reader = RowReader(
                    dataset,
                    table,
                    table.file,
                    lexicons,
                    settings,
                    frozenset(),
                    {},
                    None,
                    upload.names,
                )
                batches = _linked_rows(upload, words, reader)
            else:
                reading = ImportRun(dataset, settings, upload.report)
                batches = table_batches(reading, upload.path, lexicons, tables=(table,))
            results = dataset, batches
        entry = AdmissionPolicy(results[0], base.store)
        options = run.Options(watch=upload.watch, entry=entry)
        run.ingest(*results, upload.report, gate, base.writer, options)

    def _drop(self, upload: Upload) -> None:
        rmtree(self._base.path / _FOLDER / upload.id, ignore_errors=True)


def _linked_rows(
    upload: Upload, words: Iterable[tuple[str, str]], reader: RowReader
) -> Iterator[Batch]:
    """Yield the rows in which some words stand, now that their concepts are known."""
    gone = {key: upload.unlinked.pop(key) for key in words if key in upload.unlinked}
    meant = sorted((*key, text(node)) for key, node in reader.names.items())
    for number, row in sorted(
        {n: row for rows in gone.values() for n, row in rows.items()}.items()
    ):
        every = (*gone.items(), *upload.unlinked.items())
        missing = max(role for (role, _), rows in every if number in rows)  # as it was counted
        upload.report.unlinked[f"{reader.table.claims[0].predicate} ({missing})"] -= 1
        upload.report.rows -= 1
        key = content_hash(reader.dataset.version, str(number), repr(reader.table), repr(meant))
        yield Batch(f"{key} linked", reader.of([dict(row)], number - 1))


def _rule(upload: Upload, columns: Columns) -> Table:
    names, _ = upload.rows()
    for column in filter(None, (columns.subject, columns.object, columns.quote)):
        if column not in names:
            raise FormatError("column", column, names)
    known = Schema.load().property(columns.relation)
    rule = ClaimRule(
        predicate=columns.relation,
        subject=columns.subject,
        subject_kinds=_kinds(known.domain),
        object=columns.object,
        object_kinds=_kinds(known.range),
        object_text="" if known.is_object else f"{{{columns.object}}}",
        object_language=columns.language if known.is_text else "",
        language=columns.language,
        quote=columns.quote,
    )
    return Table(
        upload.path.name,
        names,
        columns.subject,
        (rule,),
        delimiter=_delimiter(upload.path),
        quoted=True,
    )


def _kinds(kinds: frozenset[str]) -> tuple[str, ...]:
    """Return the classes that a property takes, with their subclasses; of any class all."""
    return tuple(parent for parent in Schema.load().parents if Schema.load().fits(parent, kinds))
