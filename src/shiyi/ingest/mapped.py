"""Tables read by a declared mapping: rows to concepts of the source, and to candidate claims."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from shiyi.errors import UsageError
from shiyi.ingest.datasets import Dataset, file_digest
from shiyi.ingest.extraction.lexicon import Lexicon
from shiyi.ingest.gate import Proposed
from shiyi.ingest.mapping import ClaimRule, EntityRule, Row, Table, fill, mapping_of, speaks
from shiyi.ingest.report import Report
from shiyi.ingest.rows import files_of, joined_rows, rows_of
from shiyi.ingest.run import Batch, Content
from shiyi.linking.umls import EXACT, UmlsMatch
from shiyi.model.claim import Checked, Claim, Evidence, Source
from shiyi.model.confidence import Confidence
from shiyi.model.names import UMLS, content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.statements import source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.settings import Settings

_VERSION = "3"
_CUI = re.compile(r"C[0-9]{7}")
Linking = Callable[[str, str], UmlsMatch | None]


def table_batches(
    dataset: Dataset, path: Path, lexicons: Mapping[str, Lexicon], settings: Settings,
    report: Report, limit: int = 0, link: Linking | None = None,
    tables: tuple[Table, ...] = (),
) -> Iterator[Batch]:  # fmt: skip
    """Yield the rows of every table of a mapping that ``path``, a folder or one file, holds.

    ``link`` gives a name of a class its CUI where the source gives none.
    """
    tables = tables or mapping_of(dataset.name)
    found = [(table, file) for table in tables for file in files_of(path, table.file)]
    if not found:
        raise UsageError(f"{path} holds none of {', '.join(each.file for each in tables)}")
    dropped = _dropped(found, settings)
    for table, place in found:
        if dataset.differs(place):
            report.notes.append(f"{place.name} is not the file that source.ttl describes")
        making = Making(dataset, table, place.name, lexicons, settings, dropped,
                        joined_rows(path, table, settings), link)  # fmt: skip
        rows = islice(rows_of(place, table, settings), limit or None)
        report.documents += 1
        digest, at = file_digest(place), 0
        while part := list(islice(rows, settings.ingest.table_batch)):
            key = content_hash(place.name, digest, str(at), str(len(part)), repr(table))
            yield Batch(f"{key} mapping {_VERSION}", making.of(part, at))
            at += len(part)


def _dropped(found: list[tuple[Table, Path]], settings: Settings) -> frozenset[str]:
    """Find the concepts whose names say nothing, so that nothing is claimed of them either."""
    return frozenset(
        _local(table.entity.id, row)
        for table, file in found
        if table.entity and "|hash}" not in table.entity.id
        for row in rows_of(file, table, settings)
        if not speaks(row.get(table.entity.label, ""))
    )


@dataclass(slots=True)
class Making:
    """What rows of one file are made with."""

    dataset: Dataset
    table: Table
    file: str
    lexicons: Mapping[str, Lexicon]
    settings: Settings
    dropped: frozenset[str]
    joined: Mapping[str, Row]
    link: Linking | None = None
    _sources: dict[str, tuple[Source, Confidence]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)  # works that this batch has described
    _nameless: str = ""  # the concept of the row at hand, where its name says nothing

    def of(self, rows: list[dict[str, str]], at: int) -> Callable[[], Content]:
        """Give what makes a batch of rows; ``at`` rows of the file stand before."""

        def make() -> Content:
            content, seen = Content(rows=len(rows)), set[Hashable]()
            self._told.clear()
            for number, row in enumerate(rows, start=at + 1):
                before = self.joined.get(row[self.table.key])
                whole = {**before, **row} if before else row
                locator = f"{self.file}: {row[self.table.key]}, row {number}"
                for claim in self._claims(whole, locator, content):
                    said = claim, *((e.source.id, e.quote, e.qualifiers) for e in claim.evidence)
                    if said not in seen:
                        seen.add(said)
                        content.proposed.append(Proposed(claim))
            return content

        return make

    def _claims(self, row: Row, locator: str, content: Content) -> Iterator[Claim]:
        sources, self._nameless = self._cited(row, content), ""
        if self.table.entity:
            yield from self._entity(self.table.entity, row, locator, sources, content)
        for rule in self.table.claims:
            if _holds(rule, row):
                yield from self._claim(rule, row, locator, sources, content)

    def _entity(
        self, rule: EntityRule, row: Row, locator: str,
        sources: list[tuple[Source, Confidence]], content: Content,
    ) -> Iterator[Claim]:  # fmt: skip
        name, local = row.get(rule.label, ""), _local(rule.id, row)
        if not speaks(name) or not local:
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
            other.strip() for column in rule.alt
            for other in row.get(column, "").split(rule.alt_separator)
        )  # fmt: skip
        content.quads += (
            Quad(node, SKOS.altLabel, Literal(other, language=rule.language), place)
            for other in others if other != name and speaks(other)
        )  # fmt: skip
        for predicate, said in self._matches(rule, row, name, content.unlinked):
            yield Claim(node, predicate, said, self._evidence(sources, locator, name))

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
        self, rule: ClaimRule, row: Row, locator: str,
        sources: list[tuple[Source, Confidence]], content: Content,
    ) -> Iterator[Claim]:  # fmt: skip
        cell = row.get(rule.object, "") or fill(rule.object_text or rule.object_id, row)
        if not cell:  # no record, which is neither "none" nor "safe"
            return
        subject = self._subject(rule, row, content)
        said = self._object(rule, row, cell, content)
        if subject is None or said is None:
            missing = "subject" if subject is None else "object"
            content.unlinked[f"{rule.predicate} ({missing})"] += 1
            return
        words = row.get(rule.quote, "") or cell
        qualifiers = tuple(sorted(_qualifiers(rule, row, content.unlinked)))
        if subject != said:
            evidence = self._evidence(sources, locator, words, qualifiers)
            yield Claim(subject, rule.node, said, evidence)

    def _subject(self, rule: ClaimRule, row: Row, content: Content) -> NamedNode | None:
        if rule.subject_id:
            return self._own(_local(rule.subject_id, row), rule.subject_class, content)
        return self.lexicons[rule.language].find(row.get(rule.subject, ""), rule.subject_kinds)

    def _object(
        self, rule: ClaimRule, row: Row, cell: str, content: Content
    ) -> NamedNode | Literal | None:
        if rule.object_text:
            return Literal(cell, language=rule.object_language or None)
        if rule.object_id:
            return self._own(_local(rule.object_id, row), rule.object_class, content)
        if rule.iri:
            found = re.fullmatch(rule.pattern, cell)
            return NamedNode(rule.iri.replace("{}", found[1])) if found else None
        if rule.values and cell not in rule.values:
            return None
        return self.lexicons[rule.language].find(rule.values.get(cell, cell), rule.object_kinds)

    def _own(self, local: str, class_name: str, content: Content) -> NamedNode | None:
        if not local or local in self.dropped or local == self._nameless:
            return None
        node = resource(local)
        content.classes[node.value] = class_name
        return node

    def _evidence(
        self, sources: list[tuple[Source, Confidence]], locator: str, words: str,
        qualifiers: tuple[tuple[str, str], ...] = (),
    ) -> tuple[Evidence, ...]:  # fmt: skip
        return tuple(
            Evidence(source, weight, locator, Checked.SECONDARY, words, None, qualifiers,
                     f"mapping-{_VERSION}")
            for source, weight in sources
        )  # fmt: skip

    def _cited(self, row: Row, content: Content) -> list[tuple[Source, Confidence]]:
        """Give the works a row cites, each a source of its own; else the dataset itself."""
        cell = row.get(self.table.source_column, "") if self.table.source_column else ""
        names = [each.strip() for each in cell.split(",") if each.strip()] or [""]
        found = []
        for name in names:
            if name not in self._sources:
                self._sources[name] = self._source(name)
            source, weight = self._sources[name]
            if name and name not in self._told:
                self._told.add(name)
                content.quads += source_quads(source, self.dataset.graph)
            found.append((source, weight))
        return found

    def _source(self, name: str) -> tuple[Source, Confidence]:
        source = self.dataset.source
        if name:
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or content_hash(name)[:8]
            source = replace(
                source, id=f"{self.dataset.name}-{slug}", lineage=slug,
                title_zh=f"{source.title_zh}：{name}", title_en=f"{source.title_en}: {name}",
            )  # fmt: skip
        weights = self.settings.confidence
        weight: float = getattr(weights, source.tier.value.replace("-", "_"))
        return source, Confidence(round(weight * weights.secondary, 6))


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
        if not (said := fill(template, row)):
            continue
        if name == "rating":
            known = rule.qualifier_values.get(said.casefold())
            if known is None:
                unlinked[f"{rule.predicate} (rating {said[:20]!r})"] += 1
                continue
            said = known
        yield name, said
