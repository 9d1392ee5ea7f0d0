"""Claim tables: one row a claim (*long*), or a column a property (*wide*)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shiyi.ingest.concepts import Concepts
from shiyi.ingest.tables import Faults, Row, check_columns, read_tables
from shiyi.model.claim import Checked, Claim, Evidence, Polarity, Source
from shiyi.model.confidence import Confidence
from shiyi.model.names import resource
from shiyi.model.rdf import Literal, Object, local_name
from shiyi.ontology.statements import QUALIFIERS
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Property, Schema
from shiyi.settings import ConfidenceSettings

_COMMON = ("subject", "source", "locator", "checked", "confidence", "polarity", *QUALIFIERS)
LONG = ("predicate", "object", *_COMMON)


@dataclass(frozen=True, slots=True)
class Stated:
    """One claim as one cell of a row states it: ``value`` is the part of the cell at ``column``."""

    row: Row
    column: str
    value: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class Reader:
    """What is needed to turn rows into claims."""

    schema: Schema
    concepts: Concepts
    sources: dict[str, Source]
    weights: ConfidenceSettings
    faults: Faults

    def read(self, folder: Path) -> list[Claim]:
        """Read every claim table of ``folder``; claims that say the same are joined."""
        claims: dict[str, Claim] = {}
        for each in self.stated(folder):
            known = claims.get(each.claim.iri.value)
            claims[each.claim.iri.value] = known.joined(each.claim) if known else each.claim
        return list(claims.values())

    def stated(self, folder: Path) -> Iterator[Stated]:
        """Yield what each cell of each claim table states, in the order of files and rows."""
        claims: set[str] = set()
        for header, rows in read_tables(folder, self.faults):
            long = "predicate" in header
            properties = [] if long else [c for c in header if c not in _COMMON and c != "note"]
            self._check_header(header, rows, long, properties)
            for row in rows:
                for each in self._long(row) if long else self._wide(row, properties):
                    said = self._as_first_said(each.claim, claims)
                    claims.add(said.iri.value)
                    yield Stated(row, each.column, each.value, said)

    def _as_first_said(self, claim: Claim, claims: set[str]) -> Claim:
        """Turn a symmetric claim round if it stands already the other way."""
        said = claim.object
        if (
            isinstance(said, Literal)
            or not self.schema.property(local_name(claim.predicate.value)).symmetric
        ):
            return claim
        turned = Claim(said, claim.predicate, claim.subject, claim.evidence, claim.polarity)
        return turned if turned.iri.value in claims else claim

    def _check_header(
        self, header: tuple[str, ...], rows: list[Row], long: bool, properties: list[str]
    ) -> None:
        required = ("subject", "predicate", "object", "source") if long else ("subject", "source")
        known = LONG if long else _COMMON
        texts = (f"{n}@{lang}" for n, p in self.schema.properties.items()
                 if p.is_text for lang in ("zh", "en"))  # fmt: skip
        check_columns(
            header, required, (*known, *(() if long else (*self.schema.properties, *texts)), "note"),
            rows, self.faults,
        )  # fmt: skip

    def _wide(self, row: Row, properties: Iterable[str]) -> Iterator[Stated]:
        for column in properties:
            name, _, language = column.partition("@")
            if name in self.schema.properties and row.get(column):
                values = (row.get(column),) if language else row.values(column)
                for value in values:
                    yield from self._claims(row, name, value, language, column)

    def _long(self, row: Row) -> Iterator[Stated]:
        name, _, language = row.get("predicate").partition("@")
        if name not in self.schema.properties:
            self.faults.unknown(row.at("predicate"), "property", name, self.schema.properties)
        elif not row.get("object"):
            self.faults.add(row.at("object"), "is empty")
        else:
            yield from self._claims(row, name, row.get("object"), language, "object")

    def _claims(
        self, row: Row, name: str, cell: str, language: str, column: str
    ) -> Iterator[Stated]:
        prop = self.schema.property(name)
        subject = self.concepts.find(
            row.get("subject"), prop.domain, row.at("subject"), self.faults
        )
        said = self._object(row, prop, cell, language, column)
        evidence = tuple(self._evidence(row))
        if subject and said and evidence:
            if self._polarity(row) is Polarity.POSITIVE and said == resource(subject):
                self.faults.add(row.at(column), f"{subject} stands on both sides of {name}")
            claim = Claim(
                resource(subject), getattr(SHIYI, name), said, evidence, self._polarity(row)
            )
            yield Stated(row, column, cell, claim)

    def _object(
        self, row: Row, prop: Property, cell: str, language: str, column: str
    ) -> Object | None:
        if prop.is_text:
            if language not in {"zh", "en"}:
                self.faults.add(
                    row.at(column), f"{prop.name} is a text: write {prop.name}@zh or @en"
                )
                return None
            return Literal(cell, language=language)
        found = self.concepts.find(cell, prop.range, row.at(column), self.faults)
        return resource(found) if found else None

    def _polarity(self, row: Row) -> Polarity:
        given = row.get("polarity") or "positive"
        if given not in set(Polarity):
            self.faults.unknown(row.at("polarity"), "polarity", given, Polarity)
            return Polarity.POSITIVE
        return Polarity(given)

    def _evidence(self, row: Row) -> Iterator[Evidence]:
        names, locators = row.values("source"), [x.strip() for x in row.get("locator").split("|")]
        if not names:
            self.faults.add(row.at("source"), "is empty: every claim names its source")
        checked = self._checked(row)
        qualifiers = tuple((name, row.get(name)) for name in sorted(QUALIFIERS) if row.get(name))
        for index, name in enumerate(names):
            if name not in self.sources:
                self.faults.unknown(row.at("source"), "source", name, self.sources)
                continue
            locator = locators[index] if len(names) == len(locators) else row.get("locator")
            source = self.sources[name]
            yield Evidence(
                source, self._confidence(row, source, checked), locator, checked,
                qualifiers=qualifiers,
            )  # fmt: skip

    def _checked(self, row: Row) -> Checked:
        given = row.get("checked") or "unchecked"
        if given not in set(Checked):
            self.faults.unknown(row.at("checked"), "checked", given, Checked)
            return Checked.UNCHECKED
        return Checked(given)

    def _confidence(self, row: Row, source: Source, checked: Checked) -> Confidence:
        if stated := row.get("confidence"):
            try:
                return Confidence(float(stated))
            except ValueError:
                self.faults.add(row.at("confidence"), f"{stated!r} is not a number from 0 to 1")
        return weighed(source, checked, self.weights)


def weighed(source: Source, checked: Checked, weights: ConfidenceSettings) -> Confidence:
    """Say how strongly evidence counts that states no number: by its tier and how it was checked."""
    weight: float = getattr(weights, source.tier.value.replace("-", "_"))
    factors = {Checked.SECONDARY: weights.secondary, Checked.UNCHECKED: weights.unchecked}
    return Confidence(round(weight * factors.get(checked, 1.0), 6))
