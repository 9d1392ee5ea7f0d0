"""Documents that curators hand in: read by the same confined readers as ``shiyi ingest``."""

import csv
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Annotated, Final

from pydantic import Field

from shiyi.curation.desks.forms import Form
from shiyi.errors import FormatError, ShiyiError, StaleError, UsageError
from shiyi.ingest import run
from shiyi.ingest.batches import Batch, Content, Report
from shiyi.ingest.datasets.dataset import AdmissionPolicy, Dataset, describe_text
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.datasets.mapped_tables import table_batches
from shiyi.ingest.datasets.mapping import ClaimRule, Table
from shiyi.ingest.documents.files import ENDINGS
from shiyi.ingest.gate import Gate, GateResult
from shiyi.ingest.sources import ExtractorFactory, IngestRequest, batches_of
from shiyi.linking.labels import FILE, LabelIndex
from shiyi.model.rdf import local_name, text
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


@dataclass(frozen=True, slots=True)
class Read:
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
    read: list[Read] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Return whether its columns have to be chosen first."""
        return self.path.suffix.lower() in TABLES

    @property
    def withheld(self) -> list[Read]:
        """List the claims that the gate withheld."""
        return [each for each in self.read if each.faults]

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

    def watch(self, _: Content, judged: Sequence[GateResult]) -> None:
        """Record the claims of one batch."""
        for each in judged[: SHOWN - len(self.read)]:
            claim = each.proposed.claim
            faults = tuple((fault.message_zh, fault.message_en) for fault in each.faults)
            quote = next((e.quote for e in claim.evidence if e.quote), "")
            ends = text(claim.subject), local_name(claim.predicate.value), text(claim.object)
            self.read.append(Read(claim.iri.value, *ends, quote, faults))


def _delimiter(path: Path) -> str:
    return "," if path.suffix.lower() == ".csv" else "\t"


class Uploads:
    """The documents handed in since the server started; one is read at a time."""

    def __init__(self, base: KnowledgeBase, settings: Settings) -> None:
        self._base, self._settings = base, settings
        self._found: dict[str, Upload] = {}
        self._turn = threading.Lock()

    def __iter__(self) -> Iterator[Upload]:
        return reversed(list(self._found.values()))

    def get(self, name: str) -> Upload | None:
        """Return a document by its identifier."""
        return self._found.get(name)

    def take(self, person: str, name: str, content: bytes) -> Upload:
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

    def start(self, upload: Upload, columns: Columns | None = None) -> None:
        """Read a document in a thread of its own; StaleError where it is read already."""
        if upload.state != "waiting":
            raise StaleError(f"{upload.name} was read already")
        rule = _rule(upload, columns) if columns else None
        upload.state = "running"
        threading.Thread(target=self._run, args=(upload, rule), daemon=True).start()

    def _run(self, upload: Upload, table: Table | None) -> None:
        state = "failed"
        try:
            with self._turn:
                self._ingest(upload, table)
            state = "done"
        except ShiyiError as error:
            upload.fault = str(error).replace(str(upload.path), upload.name)
        finally:
            self._drop(upload)
            upload.state = state

    def _ingest(self, upload: Upload, table: Table | None) -> None:
        base, settings = self._base, self._settings
        folder = base.folder / "index"
        stored = (folder / FILE).is_file()
        names = (
            LabelIndex.load(folder, base.release)
            if stored
            else LabelIndex.from_store(base.store, base.release)
        )
        gate = Gate(names)
        found: tuple[Dataset, Iterable[Batch]]
        if table is None:
            extracting = ExtractorFactory("rules", names, gate, settings, base.path)
            asked = IngestRequest("text")
            found = batches_of(asked, upload.path, extracting, base, upload.report)
        else:
            dataset = describe_text(upload.path, upload.name)
            lexicons = {"zh": Lexicon(names), "en": Lexicon(names, "en")}
            found = (
                dataset,
                table_batches(
                    dataset, upload.path, lexicons, settings, upload.report, tables=(table,)
                ),
            )
        entry = AdmissionPolicy(found[0], base.store)
        options = run.Options(watch=upload.watch, entry=entry)
        run.ingest(*found, upload.report, gate, base.writer, options)

    def _drop(self, upload: Upload) -> None:
        rmtree(self._base.path / _FOLDER / upload.id, ignore_errors=True)


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


def _kinds(wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the classes that a property takes, with their subclasses; of any class all."""
    return tuple(each for each in Schema.load().parents if Schema.load().fits(each, wanted))
