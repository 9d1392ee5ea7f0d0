"""Claims compared with the entries of corpora: which entry supports or contradicts which claim."""

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import TableError
from shiyi.ingest.tables.concepts import Concepts
from shiyi.ingest.tables.evidence import COLUMNS, EVIDENCE, PointerRow, read_pointers
from shiyi.ingest.tables.starter import Starter
from shiyi.ingest.tables.tsv import Place
from shiyi.model.claim import Claim, Polarity
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.verification.corpora import (
    CATALOGUE,
    Corpus,
    Record,
    Registry,
    Table,
    entries,
    file_faults,
    read_records,
    text_digest,
)
from shiyi.verification.names import WORDS, Subjects
from shiyi.verification.pointers import read_keys, read_pointed_words, write_pointers
from shiyi.verification.readers import INVERSE, Reader, Verdict, spans

Claimed = tuple[str, str, str]


@dataclass(slots=True)
class Outcome:
    """What one run found: rows, and of how many claims each relation has an opened one."""

    rows: dict[str, list[PointerRow]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Count claims by corpus, verdict and relation."""
        return {
            name: {
                verdict: dict(
                    sorted(Counter(row.predicate for row in rows if row.verdict == verdict).items())
                )
                for verdict in map(str, Verdict)
            }
            for name, rows in self.rows.items()
        }

    def sheet(self, share: float, seed: int = 27) -> list[PointerRow]:
        """Return a share of the rows of each corpus, drawn at random, for people to read."""
        generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
        return [
            row
            for _, rows in sorted(self.rows.items())
            for row in generator.sample(rows, min(len(rows), round(len(rows) * share + 0.5)))
        ]


@dataclass(slots=True)
class _List:
    """The values of one relation that the rows of one subject state, and the last such row."""

    values: set[str] = field(default_factory=set)
    record: Record | None = None
    column: str = ""


class Comparison:
    """Compares the claims of the tables with entries about their subjects."""

    def __init__(self, starter: Starter, relation: str = "", sample: int = 0) -> None:
        self._starter, self.relation, self.sample = starter, relation, sample
        schema = Schema.load()
        self._reader = Reader(starter.concepts, starter.broader, schema)
        self._claims: dict[tuple[str, str], set[Claimed]] = defaultdict(set)
        claims = sorted(_claimed_triples(starter))
        if relation:
            claims = [row for row in claims if row[1] == relation]
        if 0 < sample < len(claims):
            claims = random.Random(27).sample(claims, sample)  # noqa: S311
        for subject, name, value in claims:
            self._claims[subject, name].add((subject, name, value))
            turned = name if schema.property(name).symmetric else f"{INVERSE}{name}"
            self._claims[value, turned].add((subject, name, value))
        self._cited: dict[tuple[str, str], list[tuple[Claimed, Verdict]]] = defaultdict(list)
        for triple, claim in _stated_claims(starter):
            text = Verdict.SUPPORTS if claim.polarity is Polarity.POSITIVE else Verdict.CONTRADICTS
            if not relation or triple[1] == relation:
                for evidence in claim.evidence:
                    self._cited[evidence.source.id, evidence.locator].append((triple, text))
        self._ingredients: dict[str, set[str]] = defaultdict(set)
        for subject, name, value in _claimed_triples(starter):
            if name == "hasIngredient":
                self._ingredients[subject].add(value)
        # texts are compared by people: their pointers stay while the wording does
        self.texts = {_ends(each) for each in starter.claims if each.text}
        self.digest = text_digest(json.dumps(claims))
        self.size = len(claims)

    def compare(self, corpus: Corpus, folder: Path) -> list[PointerRow]:
        """Return at most one row per claim and corpus: what supports goes before what denies."""
        best: dict[Claimed, PointerRow] = {}
        for table in corpus.tables:
            subjects = Subjects(self._starter.concepts, table.kinds)
            lists: dict[tuple[str, str], _List] = defaultdict(_List)
            records = (
                entry for one in read_records(table, folder) for entry in entries(table, one)
            )
            for record in records:
                for row in self._citing_rows(corpus, table, record):
                    best[row.claim] = row
                if not (subject := _subject(table, record, subjects)):
                    continue
                if table.same and not self._shares_ingredients(subject, record.cells[table.same]):
                    continue
                for relation in table.complete if corpus.kind == "row" else ():
                    self._add_values(lists[subject, relation], table, relation, record)
                for row in self._rows(corpus, table, record, subject):
                    known = best.get(row.claim)
                    if known is None or (known.verdict, row.verdict) == (
                        Verdict.CONTRADICTS,
                        Verdict.SUPPORTS,
                    ):
                        best[row.claim] = row
            for row in self._unlisted_rows(corpus, table, lists):
                best.setdefault(row.claim, row)
        return list(best.values())

    def _add_values(self, to: "_List", table: Table, relation: str, record: Record) -> None:
        for column in table.rules["mentions"][relation]:
            if stated := self._reader.values_in(relation, record.cells[column]):
                to.values |= stated
                to.record, to.column = record, column

    def _unlisted_rows(
        self, corpus: Corpus, table: Table, lists: Mapping[tuple[str, str], "_List"]
    ) -> Iterator[PointerRow]:
        """Yield the claims of values that the complete list of their subject does not have."""
        for key, each in lists.items():
            if record := each.record:
                for claim in self._claims.get(key, set()):
                    if claim[2] not in each.values:
                        results = (Verdict.CONTRADICTS, 0, 0)
                        yield _pointer(corpus, table, record, claim, results, each.column)

    def _citing_rows(self, corpus: Corpus, table: Table, record: Record) -> Iterator[PointerRow]:
        """Yield what the tables themselves read in a row: their evidence names its key."""
        for locator in (record.key, f"{table.file} {record.key}") if table.cited else ():
            for claim, verdict in self._cited.get((corpus.source, locator), ()):
                end = len(record.cells[table.cited]) if corpus.kind == "read" else 0
                yield _pointer(corpus, table, record, claim, (verdict, 0, end), table.cited)

    def _shares_ingredients(self, subject: str, text: str) -> bool:
        """Return whether half of the ingredients agree both ways, as homonyms do not."""
        claimed = self._ingredients.get(subject, set())
        members = self._reader.list_members("hasIngredient", text)
        common = len(claimed & members)
        return common >= 2 and 2 * common >= len(claimed) and 2 * common >= len(members)

    def _rows(
        self, corpus: Corpus, table: Table, record: Record, subject: str
    ) -> Iterator[PointerRow]:
        for reader, relations in table.rules.items():
            for relation, columns in relations.items():
                for claim in self._claims.get((subject, relation), ()):
                    value = claim[2] if claim[0] == subject else claim[0]
                    for column in columns:
                        text = record.cells.get(column, "")
                        read = reader, relation, value
                        if text and (row := self._row(corpus, table, read, text)):
                            yield _pointer(corpus, table, record, claim, row, column)

    def _row(
        self, corpus: Corpus, table: Table, read: tuple[str, str, str], text: str
    ) -> tuple[Verdict, int, int] | None:
        reader, relation, value = read
        cues, bars = table.cues.get(relation), table.bars.get(relation, ())
        if corpus.kind == "row":
            verdict = self._reader.verdict(reader, relation, text, value)
            return (verdict, 0, 0) if verdict else None
        for start, end in spans(text):
            sentence = text[start:end]
            if (cues and not any(cue in sentence for cue in cues)) or any(
                each in sentence for each in bars
            ):
                continue
            if verdict := self._reader.verdict(reader, relation, sentence, value):
                return verdict, start, end
        return None


def _pointer(
    corpus: Corpus,
    table: Table,
    record: Record,
    claim: Claimed,
    found: tuple[Verdict, int, int],
    column: str,
) -> PointerRow:
    verdict, start, end = found
    digest = text_digest(record.cells[column][start:end]) if end else record.digest
    start, end = (number + record.offset if end else 0 for number in (start, end))
    place, nowhere = (table.file, record.key, column), Place("", 0)
    return PointerRow(corpus.name, *claim, verdict, *place, start, end, digest, nowhere)


def _stated_claims(starter: Starter) -> Iterator[tuple[Claimed, Claim]]:
    """Yield each accepted claim that joins two concepts, with the ids of its parts."""
    for claim in starter.claims:
        if claim.text is None and isinstance(claim.object, NamedNode):
            yield _ends(claim), claim


def _ends(claim: Claim) -> Claimed:
    """Return the ids of subject, predicate and object of a claim; of a text that of its words."""
    value = local_id(text(claim.object))
    value = f"text/{value}" if claim.text else value
    return local_id(claim.subject.value), local_name(claim.predicate.value), value


def _claimed_triples(starter: Starter) -> Iterator[Claimed]:
    """Yield subject, predicate and object of each positive claim that joins two concepts."""
    for triple, claim in _stated_claims(starter):
        if claim.polarity is Polarity.POSITIVE:
            yield triple


def local_id(iri: str) -> str:
    """Return the id of a concept from its address."""
    return iri.rsplit("/", 1)[-1]


def _subject(table: Table, record: Record, subjects: Subjects) -> str:
    title, *others = (record.cells.get(name, "") for name in table.names or ("",))
    separated = (part for cell in others for part in _split(cell))
    return subjects.of(title, separated) if title else ""


def _split(cell: str) -> list[str]:
    for mark in ";；、|，,":
        cell = cell.replace(mark, "\t")
    return cell.split("\t")


def verify_claims(
    comparison: Comparison,
    registry: Registry,
    corpora: Iterable[str] = (),
    out: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda _name, _done, _all: None,
) -> Outcome:
    """Compare the claims with each installed corpus and write one table of pointers a corpus.

    A corpus with the files, rules and claims of the last run is skipped. Nothing
    is written of a sample. Raise :class:`UsageError` for an unknown corpus, and
    :class:`TableError` for files of another version.
    """
    outcome, sample, relation = Outcome(), comparison.sample, comparison.relation
    wanted = tuple(corpora) or tuple(registry.known)
    paths, folder = registry.paths(), out or artefact(EVIDENCE)
    known_rows = {} if sample else _known_rows(folder)
    for number, name in enumerate(wanted):
        corpus = registry.corpus(name)
        progress(name, number, len(wanted))
        if name not in paths:
            outcome.missing.append(name)
            continue
        if faults := list(file_faults(corpus, paths[name])):
            raise TableError(faults)
        inputs = text_digest(comparison.digest + _rules_digest() + json.dumps(corpus.digests))
        file = folder / f"{name}.tsv"
        if corpus.books or (not sample and not relation and _inputs(file) == inputs):
            outcome.skipped.append(name)
            outcome.rows[name] = known_rows.get(name, [])
            continue
        rows = comparison.compare(corpus, paths[name])
        outcome.rows[name] = rows
        if sample:
            continue
        other_rows = [
            row
            for row in known_rows.get(name, [])
            if (relation and row.predicate != relation) or row.claim in comparison.texts
        ]
        write_pointers(file, [*rows, *other_rows], "" if relation else inputs)
    progress("", len(wanted), len(wanted))
    return outcome


def write_sheet(path: Path, outcome: Outcome, registry: Registry, concepts: Concepts) -> None:
    """Write 5 % of the pointers with the words that they name, for people to judge.

    The sheet has words of others: it is for reading, not for the repository.
    """
    lines = ["\t".join((*COLUMNS, "claim", "words", "judgement"))]
    for row, words in read_words(outcome.sheet(0.05), registry):
        subject = concepts.by_id[row.subject].zh
        value = concepts.by_id[row.object].zh if row.object in concepts.by_id else row.object
        names = f"{subject} {row.predicate} {value}"
        lines.append("\t".join((*row.cells(), names, " ".join(words.split()), "")))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_words(rows: Iterable[PointerRow], registry: Registry) -> Iterator[tuple[PointerRow, str]]:
    """Yield each row with its words, where its corpus is installed."""
    paths, by_file = registry.paths(), defaultdict[tuple[str, str], list[PointerRow]](list)
    for row in rows:
        if row.corpus in paths:
            by_file[row.corpus, row.file].append(row)
    for (name, file), group in by_file.items():
        keys = {row.key for row in group}
        records = read_keys(registry.corpus(name), paths[name], file, keys)
        for row in group:
            if row.key in records:
                yield row, read_pointed_words(row, records[row.key])


def _known_rows(folder: Path) -> dict[str, list[PointerRow]]:
    results: dict[str, list[PointerRow]] = defaultdict(list)
    for row in read_pointers(folder):
        results[row.corpus].append(row)
    return results


def _inputs(file: Path) -> str:
    if not file.is_file():
        return ""
    for line in file.read_text(encoding="utf-8").split("\n", 3)[:2]:
        if line.startswith("# inputs "):
            return line.removeprefix("# inputs ").strip()
    return ""


def _rules_digest() -> str:
    rules = (artefact(path).read_bytes() for path in (CATALOGUE, WORDS))
    return hashlib.sha256(b"\0".join(rules)).hexdigest()
