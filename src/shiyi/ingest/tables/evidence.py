"""Rows of ``ingest/evidence/``: where in an open corpus a claim is supported or contradicted."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.ingest.documents.books import books, source_of
from shiyi.ingest.tables.claims import default_confidence
from shiyi.ingest.tables.tsv import Faults, Place, Row, check_columns, read_tables
from shiyi.model.claim import (
    Claim,
    Evidence,
    EvidenceKind,
    Locator,
    Polarity,
    Source,
    Status,
    claim_iri,
)
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI
from shiyi.settings import ConfidenceSettings

EVIDENCE = "ingest/evidence"
SUPPORTS, CONTRADICTS = "supports", "contradicts"  # a claim that the tables make
STATES = "states"  # the place makes the claim, whether or not a table makes it too
COLUMNS = (
    "subject", "predicate", "object", "verdict", "file", "key", "column", "start", "end", "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PointerRow:
    """One row: a claim, what the corpus says of it, and the place that says so.

    ``end`` is 0 where the whole row of a table is meant: ``digest`` is then that of the row, else
    that of the characters from ``start`` to ``end`` of its ``column``.
    """

    corpus: str
    subject: str
    predicate: str
    object: str
    verdict: str
    file: str
    key: str
    column: str
    start: int
    end: int
    digest: str
    place: Place

    @property
    def claim(self) -> tuple[str, str, str]:
        """Return subject, predicate and object."""
        return self.subject, self.predicate, self.object

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        span = (str(self.start), str(self.end)) if self.end else ("", "")
        return (*self.claim, self.verdict, self.file, self.key, self.column, *span, self.digest)


def read_pointers(folder: Path | None = None, faults: Faults | None = None) -> Iterator[PointerRow]:
    """Yield every row of every ``*.tsv`` of ``ingest/evidence``; the file's name is the corpus.

    Raise :class:`TableError` for rows that cannot be read, unless ``faults`` collects them.
    """
    collected_faults = faults if faults is not None else Faults()
    for header, rows in read_tables(folder or artefact(EVIDENCE), collected_faults):
        check_columns(header, COLUMNS, COLUMNS, rows, collected_faults)
        for row in rows:
            if pointer := _pointer(row, collected_faults):
                yield pointer
    if faults is None:
        collected_faults.raise_if_any()


def _pointer(row: Row, faults: Faults) -> PointerRow | None:
    start, end = row.get("start") or "0", row.get("end") or "0"
    if not (start.isdigit() and end.isdigit()):
        faults.add(row.at("start"), "start and end are numbers of characters, or both empty")
        return None
    if int(end) and int(start) >= int(end):
        faults.add(row.at("end"), f"{end} does not lie after {start}")
        return None
    verdicts = SUPPORTS, CONTRADICTS, STATES
    if row.get("verdict") not in verdicts:
        faults.unknown(row.at("verdict"), "verdict", row.get("verdict"), verdicts)
        return None
    subject, predicate, value, verdict, file, key, column = map(row.get, COLUMNS[:7])
    return PointerRow(
        Path(row.place.file).stem,
        subject,
        predicate,
        value,
        verdict,
        file,
        key,
        column,
        int(start),
        int(end),
        row.get("digest"),
        row.place,
    )


def attach_evidence(
    claims: Iterable[Claim],
    sources: Mapping[str, Source],
    weights: ConfidenceSettings,
    faults: Faults,
    folder: Path | None = None,
) -> list[Claim]:
    """Return the claims with what corpora say of them.

    What supports a claim is evidence of it, and takes the place of a row of the same source that
    the tables cite. What contradicts it is evidence of its denial, a candidate in the review queue
    where the tables do not deny it themselves. A row about a claim no longer in the tables is
    passed over, unless it states the claim itself.
    """
    results = {each.iri.value: each for each in claims}
    corpora = _corpora(folder)
    lineages = {each.title_zh: each.lineage or each.id for each in sources.values()}
    for row in read_pointers(folder, faults):
        if row.corpus not in corpora:
            faults.unknown(row.place, "corpus", row.corpus, corpora)
            continue
        named, kind, of_books = corpora[row.corpus]
        if named not in sources:
            faults.unknown(row.place, "source", named, sources)
            continue
        source = _book(row, sources[named], lineages, faults) if of_books else sources[named]
        ends = resource(row.subject), getattr(SHIYI, row.predicate), resource(row.object)
        supports = row.verdict != CONTRADICTS
        polarity = Polarity.POSITIVE if supports else Polarity.NEGATIVE
        claim = results.get(claim_iri(*ends, polarity).value)
        evidence = _evidence(row, source, kind, weights)
        if claim:
            results[claim.iri.value] = _with_pointer(claim, evidence, row)
        elif not supports and claim_iri(*ends, Polarity.POSITIVE).value in results:
            denial = Claim(*ends, (evidence,), polarity, Status.CANDIDATE)
            results[denial.iri.value] = denial
        elif row.verdict == STATES:
            stated = Claim(*ends, (evidence,))
            results[stated.iri.value] = stated
    return list(results.values())


def _with_pointer(claim: Claim, evidence: Evidence, row: PointerRow) -> Claim:
    """Add what a pointer shows to a claim, in the place of the row that the tables cite for it."""
    same = [
        each
        for each in claim.evidence
        if each.source == evidence.source and each.activity == "curation" and each.kind.is_opened
    ]
    cited_evidence = [each for each in same if each.locator in (row.key, f"{row.file} {row.key}")]
    old = next(iter(cited_evidence or (same if len(same) == 1 else ())), None)
    if old:
        evidence = replace(evidence, qualifiers=old.qualifiers, confidence=old.confidence)
    return replace(claim, evidence=(*(e for e in claim.evidence if e is not old), evidence))


def _evidence(row: PointerRow, source: Source, kind: str, weights: ConfidenceSettings) -> Evidence:
    known = EvidenceKind(kind)
    place = Locator(row.file, row.key, row.column, row.start, row.end, row.digest)
    return Evidence(
        source,
        default_confidence(source, known, weights),
        str(place),
        known,
        activity="verification",
    )


def _corpora(folder: Path | None) -> dict[str, tuple[str, str, bool]]:
    """Return source and kind of evidence of each corpus, and whether each key is a book."""
    with ((folder or artefact(EVIDENCE)) / "corpora.toml").open("rb") as file:
        return {
            name: (item["source"], item["kind"], item.get("books", False))
            for name, item in tomllib.load(file).items()
        }


def _book(
    row: PointerRow, collection: Source, lineages: Mapping[str, str], faults: Faults
) -> Source:
    """Return the book that the key of a row names, of one lineage with the work of its title."""
    book = books().get(row.key)
    if book is None:
        faults.unknown(row.place, "book", row.key, books())
        return collection
    source = source_of(book, collection)
    return replace(source, lineage=lineages.get(book.title, source.lineage))
