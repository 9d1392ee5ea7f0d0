"""Rows of a mapped table as claims."""

import csv
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from shiyi.errors import TableError, UsageError
from shiyi.ingest.batches import Batch, Content, ImportRun, UnlinkedName
from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.datasets.limits import decode, lines
from shiyi.ingest.datasets.mapping import (
    ClaimRule,
    EntityRule,
    Row,
    Table,
    fill,
    is_name,
    load_mapping,
)
from shiyi.ingest.gate import ProposedClaim
from shiyi.linking.umls.linker import EXACT, UmlsMatch
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Source
from shiyi.model.iris import UMLS, content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, parse_n_quads_lines, text
from shiyi.ontology.serialization import assess_rating, source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.settings import Settings
from shiyi.sparql.base.digests import file_digest

_CELL = 1 << 20  # characters of one cell at most (Shiyi's)


def list_files(path: Path, pattern: str) -> list[Path]:
    """List the files of a folder that ``pattern`` names, in any case, packed or not, by name.

    ``path`` may also be one such file.
    """
    wanted = pattern.lower()
    names = (wanted, *(f"{wanted}{ending}" for ending in (".gz", ".xz")))
    paths = [path] if path.is_file() else sorted(path.iterdir() if path.is_dir() else ())
    return [
        each
        for each in paths
        if each.is_file() and any(fnmatch.fnmatchcase(each.name.lower(), name) for name in names)
    ]


def read_rows(path: Path, table: Table, settings: Settings) -> Iterator[dict[str, str]]:
    """Yield rows by column; raise :class:`TableError` for columns or cells that do not fit."""
    return _rows(path, table, table.columns, table.optional, settings)


def load_joined_rows(path: Path, table: Table, settings: Settings) -> dict[str, Row]:
    """Return the rows of the table that ``table`` is joined to, by their key."""
    if not table.join_file:
        return {}
    folder = path if path.is_dir() else path.parent
    result = list_files(folder, table.join_file)
    if not result:
        raise TableError([f"{folder} lacks {table.join_file}, which {table.file} is joined to"])
    rows = _rows(result[0], table, table.join_columns, (), settings)
    return {row[table.key]: row for row in rows}


def _rows(
    path: Path,
    table: Table,
    columns: tuple[str, ...],
    optional: tuple[str, ...],
    settings: Settings,
) -> Iterator[dict[str, str]]:
    read = (
        _decode_line(block, path.name, table.encoding)
        for block in lines(path, settings.ingest.max_text_bytes)
    )
    remaining = (line for line in read if not line.startswith("#"))
    delimiter = table.delimiter or ("," if ".csv" in path.name.lower() else "\t")
    csv.field_size_limit(_CELL)
    try:
        reader = (
            csv.reader(remaining, delimiter=delimiter, strict=True)
            if table.quoted
            else csv.reader(remaining, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        )
        header = [cell.strip() for cell in next(reader, [])] if table.header else [*columns]
        _check(path, header, columns, optional)
        empty = dict.fromkeys((each for each in optional if each not in header), "")
        for cells in reader:
            if len(cells) != len(header):
                raise TableError(
                    [f"{path.name}:{reader.line_num} has {len(cells)} cells, not {len(header)}"]
                )
            values = map(_value, cells) if table.terms else map(str.strip, cells)
            yield empty | dict(zip(header, values, strict=True))
    except csv.Error as fault:
        raise TableError([f"{path.name}: {fault}"]) from fault


def _value(cell: str) -> str:
    r"""Return the IRI or the text of a term of RDF; TableError where it is none.

    >>> _value('"mung bean \\"raw\\""@en'), _value("<urn:a>"), _value("")
    ('mung bean "raw"', 'urn:a', '')
    """
    if not cell.strip():
        return ""
    try:
        [quad] = parse_n_quads_lines([f"<urn:s> <urn:p> {cell} .".encode()])
    except (SyntaxError, ValueError) as fault:
        raise TableError([f"{cell[:40]!r} is no term of RDF"]) from fault
    return text(quad.object).strip()


def _decode_line(line: bytes, name: str, encoding: str) -> str:
    if encoding:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            return line.decode(encoding)
    return decode(line, name)


def _check(
    path: Path, header: list[str], columns: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    known = {*columns, *optional}
    unknown = [f"{path.name} has the unknown column {c!r}" for c in header if c not in known]
    missing = [f"{path.name} lacks the column {c!r}" for c in columns if c not in header]
    if unknown or missing:
        raise TableError([*unknown, *missing])


_VERSION = "3"
_CUI = re.compile(r"C[0-9]{7}")
Linking = Callable[[str, str], UmlsMatch | None]


def table_batches(
    run: ImportRun,
    path: Path,
    lexicons: Mapping[str, Lexicon],
    link: Linking | None = None,
    tables: tuple[Table, ...] = (),
) -> Iterator[Batch]:
    """Yield the rows of every table of a mapping that ``path``, a folder or one file, holds.

    ``link`` gives a name of a class its CUI where the source gives none.
    """
    dataset, settings = run.dataset, run.settings
    tables = tables or load_mapping(dataset.name)
    results = [(table, file) for table in tables for file in list_files(path, table.file)]
    if not results:
        raise UsageError(f"{path} holds none of {', '.join(each.file for each in tables)}")
    dropped = _unnamed_concepts(results, settings)
    for table, place in results:
        if dataset.differs(place):
            run.report.notes.append(f"{place.name} is not the file that source.ttl describes")
        making = RowReader(
            dataset,
            table,
            place.name,
            lexicons,
            settings,
            dropped,
            load_joined_rows(path, table, settings),
            link,
        )
        rows = islice(read_rows(place, table, settings), run.limit or None)
        run.report.documents += 1
        digest, at = file_digest(place), 0
        while part := list(islice(rows, settings.ingest.table_batch)):
            key = content_hash(place.name, digest, str(at), str(len(part)), repr(table))
            yield Batch(f"{key} mapping {_VERSION}", making.of(part, at))
            at += len(part)


def _unnamed_concepts(results: list[tuple[Table, Path]], settings: Settings) -> frozenset[str]:
    """Return the concepts without a meaningful name, of which nothing is claimed either."""
    return frozenset(
        _local(table.entity.id, row)
        for table, file in results
        if table.entity and "|hash}" not in table.entity.id
        for row in read_rows(file, table, settings)
        if not is_name(row.get(table.entity.label, ""))
    )


@dataclass(slots=True)
class RowReader:
    """Turns the rows of one file into claims."""

    dataset: Dataset
    table: Table
    file: str
    lexicons: Mapping[str, Lexicon]
    settings: Settings
    dropped: frozenset[str]
    joined: Mapping[str, Row]
    link: Linking | None = None
    names: Mapping[tuple[str, str], NamedNode] = field(default_factory=dict)  # by role and words
    _sources: dict[str, tuple[Source, Confidence]] = field(default_factory=dict)
    _described: set[str] = field(default_factory=set)  # works that this batch has described
    _number: int = 0  # of the row at hand
    _nameless: str = ""  # the concept of the row at hand, where its name says nothing

    def of(self, rows: list[dict[str, str]], at: int) -> Callable[[], Content]:
        """Return a function that reads a batch of rows; ``at`` rows of the file stand before."""

        def make() -> Content:
            content, seen_hashables = Content(rows=len(rows)), set[Hashable]()
            self._described.clear()
            for number, row in enumerate(rows, start=at + 1):
                self._number = number
                before = self.joined.get(row[self.table.key])
                whole = {**before, **row} if before else row
                locator = f"{self.file}: {row[self.table.key]}, row {number}"
                for claim in self._claims(whole, locator, content):
                    values = claim, *((e.source.id, e.quote, e.qualifiers) for e in claim.evidence)
                    if values not in seen_hashables:
                        seen_hashables.add(values)
                        content.proposed.append(ProposedClaim(claim))
            return content

        return make

    def _claims(self, row: Row, locator: str, content: Content) -> Iterator[Claim]:
        sources, self._nameless = self._cited_works(row, content), ""
        if self.table.entity:
            yield from self._entity(self.table.entity, row, locator, sources, content)
        for rule in self.table.claims:
            if _holds(rule, row):
                yield from self._claim(rule, row, locator, sources, content)

    def _entity(
        self,
        rule: EntityRule,
        row: Row,
        locator: str,
        sources: list[tuple[Source, Confidence]],
        content: Content,
    ) -> Iterator[Claim]:
        name, local = row.get(rule.label, ""), _local(rule.id, row)
        if not is_name(name) or not local:
            content.unlinked[f"{rule.class_name} without a name"] += 1
            self._nameless = local
            return
        node, place = resource(local), self.dataset.graph
        content.classes[node.value] = rule.class_name
        content.quads += (
            Quad(node, RDF.type, getattr(SHIYI, rule.class_name), place),
            Quad(node, RDF.type, SKOS.Concept, place),
            Quad(node, SKOS.prefLabel, Literal(name, language=rule.language), place),
        )
        others = dict.fromkeys(
            other.strip()
            for column in rule.alt
            for other in row.get(column, "").split(rule.alt_separator)
        )
        content.quads += (
            Quad(node, SKOS.altLabel, Literal(other, language=rule.language), place)
            for other in others
            if other != name and is_name(other)
        )
        for predicate, value in self._matches(rule, row, name, content.unlinked):
            yield Claim(node, predicate, value, self._evidence(sources, locator, name))

    def _matches(
        self, rule: EntityRule, row: Row, name: str, unlinked: Counter[str]
    ) -> Iterator[tuple[NamedNode, NamedNode]]:
        if rule.same_kinds:
            if same := self.lexicons[rule.language].find(name, rule.same_kinds):
                yield SKOS.closeMatch, same
            else:
                unlinked["closeMatch (name)"] += 1
        cui = row.get(rule.cui, "")
        if _CUI.fullmatch(cui):  # the source's own, which errs at times: close, not exact
            yield SKOS.closeMatch, NamedNode(UMLS + cui)
        elif self.link and rule.cui_kind:
            if match := self.link(name, rule.cui_kind):
                exact = match.predicate == EXACT
                yield (SKOS.exactMatch if exact else SKOS.closeMatch), NamedNode(UMLS + match.cui)
            else:
                unlinked["closeMatch (CUI)"] += 1

    def _claim(
        self,
        rule: ClaimRule,
        row: Row,
        locator: str,
        sources: list[tuple[Source, Confidence]],
        content: Content,
    ) -> Iterator[Claim]:
        cell = row.get(rule.object, "") or fill(rule.object_text or rule.object_id, row)
        if not cell:  # no record, which is neither "none" nor "safe"
            return
        subject = self._subject(rule, row, content)
        value = self._object(rule, row, cell, content)
        if subject is None or value is None:
            missing = "subject" if subject is None else "object"
            content.unlinked[f"{rule.predicate} ({missing})"] += 1
            return
        words = row.get(rule.quote, "") or cell
        qualifiers = tuple(sorted(_qualifiers(rule, row, content.unlinked)))
        if subject != value:
            evidence = self._evidence(sources, locator, words, qualifiers)
            predicate, polarity = assess_rating(rule.node, dict(qualifiers).get("rating", ""))
            yield Claim.create(subject, predicate, value, evidence, polarity)

    def _subject(self, rule: ClaimRule, row: Row, content: Content) -> NamedNode | None:
        if rule.subject_id:
            return self._make_node(_local(rule.subject_id, row), rule.subject_class, content)
        words = row.get(rule.subject, "")
        return self._link_cell("subject", words, rule.subject_kinds, rule, row, content)

    def _object(
        self, rule: ClaimRule, row: Row, cell: str, content: Content
    ) -> NamedNode | Literal | None:
        if rule.object_text:
            return Literal(cell, language=rule.object_language or None)
        if rule.object_id:
            return self._make_node(_local(rule.object_id, row), rule.object_class, content)
        if rule.iri:
            match = re.fullmatch(rule.pattern, cell)
            return NamedNode(rule.iri.replace("{}", match[1])) if match else None
        if rule.values and cell not in rule.values:
            return None
        words = rule.values.get(cell, cell)
        return self._link_cell("object", words, rule.object_kinds, rule, row, content)

    def _link_cell(
        self,
        role: str,
        words: str,
        kinds: tuple[str, ...],
        rule: ClaimRule,
        row: Row,
        content: Content,
    ) -> NamedNode | None:
        node = self.names.get((role, words)) or self.lexicons[rule.language].find(words, kinds)
        if node is None:
            content.unlinked_names.append(UnlinkedName(self._number, row, role, words))
        return node

    def _make_node(self, local: str, class_name: str, content: Content) -> NamedNode | None:
        if not local or local in self.dropped or local == self._nameless:
            return None
        node = resource(local)
        content.classes[node.value] = class_name
        return node

    def _evidence(
        self,
        sources: list[tuple[Source, Confidence]],
        locator: str,
        words: str,
        qualifiers: tuple[tuple[str, str], ...] = (),
    ) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(
                source,
                weight,
                locator,
                EvidenceKind.ROW,
                words,
                None,
                qualifiers,
                f"mapping-{_VERSION}",
            )
            for source, weight in sources
        )

    def _cited_works(self, row: Row, content: Content) -> list[tuple[Source, Confidence]]:
        """Return the works a row cites, each a source of its own; else the dataset itself."""
        cell = row.get(self.table.source_column, "") if self.table.source_column else ""
        names = [part.strip() for part in cell.split(",") if part.strip()] or [""]
        results = []
        for name in names:
            if name not in self._sources:
                self._sources[name] = self._source(name)
            source, weight = self._sources[name]
            if name and name not in self._described:
                self._described.add(name)
                content.quads += source_quads(source, self.dataset.graph)
            results.append((source, weight))
        return results

    def _source(self, name: str) -> tuple[Source, Confidence]:
        source = self.dataset.source
        if name:
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or content_hash(name)[:8]
            source = replace(
                source,
                id=f"{self.dataset.name}-{slug}",
                lineage=slug,
                title_zh=f"{source.title_zh}：{name}",
                title_en=f"{source.title_en}: {name}",
            )
        weights = self.settings.confidence
        weight: float = getattr(weights, source.tier.value.replace("-", "_"))
        return source, Confidence(round(weight * weights.row, 6))


def _local(template: str, row: Row) -> str:
    """Fill the template of a local name; what an IRI cannot hold is escaped."""
    return quote(fill(template, row), safe="")


def _holds(rule: ClaimRule, row: Row) -> bool:
    return (
        all(row.get(column) == value for column, value in rule.where.items())
        and all(row.get(column) for column in rule.given)
        and not any(row.get(column) for column in rule.absent)
    )


def _qualifiers(rule: ClaimRule, row: Row, unlinked: Counter[str]) -> Iterator[tuple[str, str]]:
    for name, template in rule.qualifiers.items():
        if not (value := fill(template, row)):
            continue
        if name == "rating":
            known = rule.qualifier_values.get(value.casefold())
            if known is None:
                unlinked[f"{rule.predicate} (rating {value[:20]!r})"] += 1
                continue
            value = known
        yield name, value
