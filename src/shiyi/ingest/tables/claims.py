"""Claim tables, long and wide."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shiyi.errors import RangeError
from shiyi.ingest.tables.concepts import Concepts
from shiyi.ingest.tables.tsv import Faults, Row, check_columns, read_tables
from shiyi.model.claim import (
    UNOPENED,
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Text,
)
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, NamedNode, Object, local_name
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.serialization import (
    ABOUT,
    JUDGED,
    QUALIFIERS,
    RATINGS,
    TOPICS,
    VERDICTS,
    assess_rating,
    ids_of,
)
from shiyi.ontology.terms import SHIYI
from shiyi.settings import ConfidenceSettings

_COMMON = ("subject", "source", "locator", "kind", "confidence", "polarity", *QUALIFIERS)
LONG = ("predicate", "object", "object_en", *_COMMON)
_KINDS = tuple(each.value for each in EvidenceKind if each is not EvidenceKind.PREDICTED)
_LONGEST = {"object": 120, "object_en": 350}  # characters of guidance, Shiyi's
ACTIVITIES = {EvidenceKind.RECALLED: "recall", EvidenceKind.INFERRED: "inference"}


@dataclass(frozen=True, slots=True)
class ClaimCell:
    """A claim and the cell that states it: ``value`` is the part of the cell at ``column``."""

    row: Row
    column: str
    value: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimTableReader:
    """Reads rows of the claim tables as claims."""

    schema: Schema
    concepts: Concepts
    sources: dict[str, Source]
    weights: ConfidenceSettings
    faults: Faults

    def read(self, folder: Path) -> list[Claim]:
        """Read every claim table of ``folder``; claims that say the same are joined."""
        claims: dict[str, Claim] = {}
        for cell in self.read_cells(folder):
            claim = claims.get(cell.claim.iri.value)
            claims[cell.claim.iri.value] = claim.join(cell.claim) if claim else cell.claim
        return list(claims.values())

    def read_cells(self, folder: Path) -> Iterator[ClaimCell]:
        """Yield the claim of each cell of each claim table, in the order of files and rows."""
        claims: set[str] = set()
        for header, rows in read_tables(folder, self.faults):
            long = "predicate" in header
            properties = [] if long else [c for c in header if c not in _COMMON and c != "note"]
            self._check_header(header, rows, long, properties)
            for row in rows:
                for cell in self._long(row) if long else self._wide(row, properties):
                    value = self._align_symmetric(cell.claim, claims)
                    claims.add(value.iri.value)
                    yield ClaimCell(row, cell.column, cell.value, value)

    def _align_symmetric(self, claim: Claim, claims: set[str]) -> Claim:
        """Swap the ends of a symmetric claim that stands already the other way."""
        target = claim.object
        if (
            isinstance(target, Literal)
            or not self.schema.property(local_name(claim.predicate.value)).symmetric
        ):
            return claim
        turned = Claim(target, claim.predicate, claim.subject, claim.evidence, claim.polarity)
        return turned if turned.iri.value in claims else claim

    def _check_header(
        self, header: tuple[str, ...], rows: list[Row], long: bool, properties: list[str]
    ) -> None:
        required = ("subject", "predicate", "object", "source") if long else ("subject", "source")
        wide = (
            name
            for each, prop in self.schema.properties.items()
            for name in ((f"{each}@zh", f"{each}@en") if prop.is_text else (each,))
        )
        known = LONG if long else (*_COMMON, *wide)
        check_columns(header, required, (*known, "note"), rows, self.faults)

    def _wide(self, row: Row, properties: Iterable[str]) -> Iterator[ClaimCell]:
        for column in properties:
            name, _, language = column.partition("@")
            if name not in self.schema.properties or not row.get(column):
                continue
            if not self.schema.property(name).is_text:
                for value in row.values(column):
                    yield from self._claims(row, name, value, column)
            elif language == "zh" or not row.get(f"{name}@zh"):  # both columns are one text
                text = Text(row.get(f"{name}@zh"), row.get(f"{name}@en"))
                yield from self._claims(row, name, text, column)

    def _long(self, row: Row) -> Iterator[ClaimCell]:
        name = row.get("predicate")
        if name not in self.schema.properties:
            self.faults.unknown(row.at("predicate"), "property", name, self.schema.properties)
        elif not (row.get("object") or row.get("object_en")):
            self.faults.add(row.at("object"), "is empty")
        elif self.schema.property(name).is_text:
            text = Text(row.get("object"), row.get("object_en"))
            yield from self._claims(row, name, text, "object")
        else:
            yield from self._claims(row, name, row.get("object"), "object")

    def _claims(self, row: Row, name: str, cell: str | Text, column: str) -> Iterator[ClaimCell]:
        prop = self.schema.property(name)
        subject = self.concepts.find(
            row.get("subject"), prop.domain, row.at("subject"), self.faults
        )
        value = cell if isinstance(cell, Text) else self._object(row, prop, cell, column)
        evidence = tuple(self._evidence(row))
        if subject and value and evidence:
            if self._polarity(row) is Polarity.POSITIVE and value == resource(subject):
                self.faults.add(row.at(column), f"{subject} stands on both sides of {name}")
            predicate = getattr(SHIYI, name)
            self._check_rating(row, predicate)
            self._check_guidance(row, predicate)
            polarity = self._polarity(row)
            claim = Claim.create(resource(subject), predicate, value, evidence, polarity)
            yield ClaimCell(row, column, cell if isinstance(cell, str) else cell.zh, claim)

    def _check_rating(self, row: Row, predicate: NamedNode) -> None:
        rating, written = row.get("rating"), (predicate, self._polarity(row))
        if rating and rating not in RATINGS:
            self.faults.unknown(row.at("rating"), "rating", rating, RATINGS)
        elif rating and predicate == SHIYI.isEffectiveFor:
            node, polarity = assess_rating(predicate, rating)
            if written != (node, polarity):
                name = f"{polarity.value} {local_name(node.value)}"
                self.faults.add(row.at("rating"), f"{rating!r} is no such effect: write {name}")

    def _check_guidance(self, row: Row, predicate: NamedNode) -> None:
        topic, verdict = row.get("topic"), row.get("verdict")
        if predicate != SHIYI.guidance:
            if topic or verdict or row.get(ABOUT):
                self.faults.add(row.at("topic"), "is of guidance alone: leave it and its kin empty")
            return
        if topic not in TOPICS:
            what = f"topic, not one of {' '.join(TOPICS)}:"
            self.faults.unknown(row.at("topic"), what, topic, TOPICS)
        if verdict and verdict not in VERDICTS:
            self.faults.unknown(row.at("verdict"), "verdict", verdict, VERDICTS)
        if bool(verdict) != (topic in JUDGED):
            wanted = f"state one of {' '.join(VERDICTS)}" if topic in JUDGED else "leave it empty"
            self.faults.add(row.at("verdict"), f"does not fit the topic {topic!r}: {wanted}")
        for column, most in _LONGEST.items():
            if not 0 < len(row.get(column)) <= most:
                self.faults.add(row.at(column), f"has to state it in 1 to {most} characters")

    def _about(self, row: Row) -> str:
        place = row.at(ABOUT)
        found = (self.concepts.find(c, frozenset(), place, self.faults) for c in row.values(ABOUT))
        return ids_of(resource(each) for each in found if each)

    def _object(self, row: Row, prop: Property, cell: str, column: str) -> Object | None:
        result = self.concepts.find(cell, prop.range, row.at(column), self.faults)
        return resource(result) if result else None

    def _polarity(self, row: Row) -> Polarity:
        given = row.get("polarity") or "positive"
        if given not in set(Polarity):
            self.faults.unknown(row.at("polarity"), "polarity", given, Polarity)
            return Polarity.POSITIVE
        return Polarity(given)

    def _evidence(self, row: Row) -> Iterator[Evidence]:
        names, locators = row.values("source"), [x.strip() for x in row.get("locator").split("|")]
        kind = self._kind(row)
        if not names and kind not in UNOPENED:
            self.faults.add(row.at("source"), "is empty: what was opened names its source")
        given = {name: row.get(name) for name in sorted(QUALIFIERS)} | {ABOUT: self._about(row)}
        qualifiers = tuple(sorted((name, value) for name, value in given.items() if value))
        for index, name in enumerate(names or ("",) * (kind in UNOPENED)):
            if name and name not in self.sources:
                self.faults.unknown(row.at("source"), "source", name, self.sources)
                continue
            locator = locators[index] if len(names) == len(locators) else row.get("locator")
            work = self.sources.get(name)
            yield build_evidence(
                work, kind, self._confidence(row, work, kind), locator, qualifiers, self.weights
            )

    def _kind(self, row: Row) -> EvidenceKind:
        given = row.get("kind")
        if given not in _KINDS:
            self.faults.unknown(row.at("kind"), "kind", given, _KINDS)
            return EvidenceKind.RECALLED
        return EvidenceKind(given)

    def _confidence(self, row: Row, work: Source | None, kind: EvidenceKind) -> Confidence | None:
        if not (stated := row.get("confidence")):
            return None
        if work is None or kind in UNOPENED:
            self.faults.add(row.at("confidence"), "is no source's own: nothing was opened")
            return None
        try:
            return Confidence(float(stated))
        except ValueError:
            self.faults.add(row.at("confidence"), f"{stated!r} is not a number from 0 to 1")
            return None


def build_evidence(
    work: Source | None,
    kind: EvidenceKind,
    confidence: Confidence | None,
    locator: str,
    qualifiers: tuple[tuple[str, str], ...],
    weights: ConfidenceSettings,
) -> Evidence:
    """Return evidence of a kind; where nothing was opened, ``work`` is only where to look.

    Without a ``confidence`` it counts as :func:`default_confidence` says. Raise ``RangeError``
    for evidence that was opened and has no work.
    """
    source = UNOPENED.get(kind, work)
    if source is None:
        raise RangeError(f"{kind.value} evidence names the work that was opened")
    return Evidence(
        source,
        confidence or default_confidence(source, kind, weights),
        locator,
        kind,
        qualifiers=qualifiers,
        activity=ACTIVITIES.get(kind, "curation"),
        suggested=work if kind in UNOPENED else None,
    )


def default_confidence(
    source: Source, kind: EvidenceKind, weights: ConfidenceSettings
) -> Confidence:
    """Return the confidence of evidence without one of its own, by tier and kind."""
    weight: float = getattr(weights, source.tier.value.replace("-", "_"))
    return Confidence(round(weight * (weights.row if kind is EvidenceKind.ROW else 1.0), 6))
