"""Releases compared claim by claim."""

import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self

from shiyi.errors import UsageError
from shiyi.model.iris import ID
from shiyi.model.rdf import (
    Literal,
    NamedNode,
    Triple,
    canonical,
    local_name,
    parse_n_quads_lines,
    text,
)
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.nquads import default_graph_lines, published_lines
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

CLAIMS: Final = "claims.csv.gz"
MAPPINGS: Final = "mappings.sssom.tsv"
RECORD: Final = "release.json"
BEGUN: Final = ".release-"  # of the name of a folder in which a release is being written
COLUMNS: Final = (
    "claim", "subject", "subject_zh", "subject_en", "predicate", "object", "object_zh",
    "object_en", "polarity", "status", "confidence", "evidence",
)  # fmt: skip
_CLAIM: Final = f"<{ID}claim/".encode()
_LABEL: Final = f" {SKOS.prefLabel} ".encode()
Mapping3 = tuple[str, str, str]  # concept, predicate, other concept


@dataclass(frozen=True, slots=True)
class ReleasedClaim:
    """One accepted claim as a row of text; ``object`` is canonical N-Triples."""

    claim: str
    subject: str
    subject_zh: str
    subject_en: str
    predicate: str
    object: str
    object_zh: str
    object_en: str
    polarity: str
    status: str
    confidence: str
    evidence: str  # IRIs, sorted, with blanks between

    def sentence(self, language: str = "en") -> str:
        """State the claim in the labels of its time."""
        zh = language == "zh"
        ends = (
            self.subject_zh if zh else self.subject_en,
            (self.object_zh if zh else self.object_en) or self.object,
        )
        sign = " ¬" if self.polarity == "negative" else " "
        return (
            f"{ends[0] or local_name(self.subject)} ·{sign}{local_name(self.predicate)} · {ends[1]}"
        )


@dataclass(frozen=True, slots=True)
class Edition:
    """The accepted claims and the mappings of a release or a base; ``version`` may be empty."""

    version: str
    release: str
    claims: Mapping[str, ReleasedClaim]
    mappings: frozenset[Mapping3]
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_store(cls, store: QuadStore, release: str, version: str = "") -> Self:
        """Read the publishable part of a base."""
        return cls.of_lines(
            list(default_graph_lines(published_lines(store, find_restricted(store)))),
            mapping_rows(store),
            release,
            version,
        )

    @classmethod
    def of_lines(
        cls, lines: Iterable[bytes], rows: Iterable[Mapping3], release: str, version: str
    ) -> Self:
        """Read canonical lines of the accepted view."""
        claims = {claim.claim: claim for claim in read_claims(lines)}
        return cls(version, release, claims, frozenset(rows))

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Read a release that :func:`shiyi.publishing.release.publish` wrote."""
        try:
            record = json.loads((folder / RECORD).read_bytes())
            table = gzip.decompress((folder / CLAIMS).read_bytes()).decode("utf-8")
            rows = (folder / MAPPINGS).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as fault:
            raise UsageError(f"{folder} holds no whole release: {fault}") from fault
        claims = {row["claim"]: ReleasedClaim(**row) for row in csv.DictReader(io.StringIO(table))}
        cells = [_rename_prefix(row).split("\t") for row in rows if not row.startswith("#")][1:]
        mappings = frozenset((cell[0], cell[2], cell[3]) for cell in cells)
        labels = {cell[0]: cell[1] for cell in cells}
        return cls(record["version"], record["release"], claims, mappings, labels)


def _rename_prefix(row: str) -> str:
    """Return a mapping with the prefix of today; earlier releases name concepts ``shiyi:``.

    >>> _rename_prefix("shiyi:substance-goji"), _rename_prefix("shiyi.id:substance-goji")
    ('shiyi.id:substance-goji', 'shiyi.id:substance-goji')
    """
    return f"shiyi.id:{row.removeprefix('shiyi:')}" if row.startswith("shiyi:") else row


def mapping_rows(store: QuadStore) -> Iterator[Mapping3]:
    """Yield mappings as the SSSOM table has them."""
    from shiyi.publishing.tables import sssom_table

    return ((row[0], row[2], row[3]) for row in sssom_table(store).rows)


def read_claims(lines: Iterable[bytes]) -> Iterator[ReleasedClaim]:
    """Yield the claims of canonical lines in IRI order, with the labels of both ends."""
    about, labels = [], dict[str, dict[str, str]]()
    for line in lines:
        if line.startswith(_CLAIM):
            about.append(line)
        elif _LABEL in line:
            [quad] = parse_n_quads_lines([line])
            if isinstance(label := quad.object, Literal) and label.language:
                labels.setdefault(text(quad.subject), {})[label.language] = label.value
    for claim, quads in groupby(parse_n_quads_lines(about), key=lambda quad: text(quad.subject)):
        values, evidence, triple = {}, list[str](), None
        for quad in quads:
            if quad.predicate == RDF.reifies and isinstance(quad.object, Triple):
                triple = quad.object
            elif quad.predicate == SHIYI.evidence:
                evidence.append(text(quad.object))
            else:
                values[quad.predicate] = local_name(text(quad.object))
        if triple is not None:
            start, end = labels.get(text(triple.subject), {}), _ends(triple, labels)
            yield ReleasedClaim(
                claim,
                text(triple.subject),
                start.get("zh", ""),
                start.get("en", ""),
                triple.predicate.value,
                canonical(triple.object),
                end.get("zh", ""),
                end.get("en", ""),
                values.get(SHIYI.polarity, ""),
                values.get(SHIYI.status, ""),
                values.get(SHIYI.confidence, ""),
                " ".join(sorted(evidence)),
            )


def _ends(triple: Triple, labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    if isinstance(triple.object, NamedNode):
        return labels.get(triple.object.value, {})
    if isinstance(triple.object, Literal):
        return {triple.object.language or "en": triple.object.value}
    return {}


def claims_table(claims: Iterable[ReleasedClaim]) -> bytes:
    """Write claims as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(claim, name) for name in COLUMNS] for claim in claims)
    return file.getvalue().encode("utf-8")


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Return the sort key of a version: numbers by value, and letters before the bare number.

    >>> sorted(["1.10", "1.9", "1.9rc1"], key=version_key)
    ['1.9rc1', '1.9', '1.10']
    """
    parts = [
        (1, int(item)) if item.isdigit() else (-1, item)
        for item in re.findall(r"[0-9]+|[A-Za-z]+", version)
    ]
    return (*parts, (0, 0))


def list_editions(folder: Path) -> list[Path]:
    """List the whole releases in a folder, the newest version first."""
    results = [
        path.parent for path in folder.glob(f"*/{RECORD}") if not path.parent.name.startswith(".")
    ]
    return sorted(results, key=lambda each: version_key(each.name), reverse=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Claims added, removed and changed from ``old`` to ``new``, in the order of their IRIs."""

    old: Edition
    new: Edition
    added: tuple[ReleasedClaim, ...]
    removed: tuple[ReleasedClaim, ...]
    rerated: tuple[tuple[ReleasedClaim, ReleasedClaim], ...]  # another confidence
    restated: tuple[tuple[ReleasedClaim, ReleasedClaim], ...]  # another status
    resupported: tuple[tuple[ReleasedClaim, ReleasedClaim], ...]  # other evidence
    mapped: tuple[Mapping3, ...]
    unmapped: tuple[Mapping3, ...]

    @property
    def has_changes(self) -> bool:
        """Return whether anything did."""
        return any(self.counts().values())

    @property
    def remapped_concepts(self) -> tuple[str, ...]:
        """List the concepts with changed mappings."""
        return tuple(sorted({row[0] for row in (*self.mapped, *self.unmapped)}))

    def counts(self) -> dict[str, int]:
        """Count each kind of change."""
        return {
            "added": len(self.added),
            "removed": len(self.removed),
            "re_rated": len(self.rerated),
            "status_changed": len(self.restated),
            "evidence_changed": len(self.resupported),
            "re_mapped": len(self.remapped_concepts),
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything for programs."""
        return {
            "old": _edition_record(self.old),
            "new": _edition_record(self.new),
            "counts": self.counts(),
            "added": [_claim(claim) for claim in self.added],
            "removed": [_claim(claim) for claim in self.removed],
            "re_rated": [
                _claim(new) | {"old_confidence": float(old.confidence)} for old, new in self.rerated
            ],
            "status_changed": [
                _claim(new) | {"old_status": old.status} for old, new in self.restated
            ],
            "evidence_changed": [
                _claim(new) | _changed_mappings(old.evidence.split(), new.evidence.split())
                for old, new in self.resupported
            ],
            "re_mapped": [
                {
                    "concept": concept,
                    "added": _of(concept, self.mapped),
                    "removed": _of(concept, self.unmapped),
                }
                for concept in self.remapped_concepts
            ],
        }

    def sentences(self) -> Iterator[str]:
        """Yield one line for each change, with ``+``, ``-`` or ``~`` in front."""
        for claim in self.added:
            yield f"+ {claim.sentence()} ({claim.confidence}) {claim.claim}"
        for claim in self.removed:
            yield f"- {claim.sentence()} ({claim.confidence}) {claim.claim}"
        for old, new in self.rerated:
            yield f"~ {new.sentence()}: confidence {old.confidence} → {new.confidence} {new.claim}"
        for old, new in self.restated:
            yield f"~ {new.sentence()}: {old.status} → {new.status} {new.claim}"
        for old, new in self.resupported:
            counts = [len(each.evidence.split()) for each in (old, new)]
            yield f"~ {new.sentence()}: other evidence ({counts[0]} → {counts[1]}) {new.claim}"
        for sign, mappings in (("+", self.mapped), ("-", self.unmapped)):
            for concept, predicate, other in mappings:
                yield f"{sign} mapping {concept} {predicate} {other}"


def compare(old: Edition, new: Edition) -> Comparison:
    """Compare two editions; claims are the same where their IRIs are.

    >>> empty = Edition("", "", {}, frozenset())
    >>> compare(empty, empty).has_changes
    False
    """
    both = [(old.claims[iri], new.claims[iri]) for iri in sorted(old.claims.keys() & new.claims)]
    return Comparison(
        old,
        new,
        tuple(new.claims[iri] for iri in sorted(new.claims.keys() - old.claims)),
        tuple(old.claims[iri] for iri in sorted(old.claims.keys() - new.claims)),
        tuple((a, b) for a, b in both if float(a.confidence) != float(b.confidence)),
        tuple((a, b) for a, b in both if a.status != b.status),
        tuple((a, b) for a, b in both if a.evidence != b.evidence),
        tuple(sorted(new.mappings - old.mappings)),
        tuple(sorted(old.mappings - new.mappings)),
    )


def _edition_record(edition: Edition) -> dict[str, Any]:
    return {
        "version": edition.version,
        "release": edition.release,
        "claims": len(edition.claims),
        "mappings": len(edition.mappings),
    }


def _claim(claim: ReleasedClaim) -> dict[str, Any]:
    return {
        "claim": claim.claim,
        "subject": claim.subject,
        "subject_label": claim.subject_en,
        "predicate": claim.predicate,
        "relation": local_name(claim.predicate),
        "object": claim.object,
        "object_label": claim.object_en,
        "polarity": claim.polarity,
        "status": claim.status,
        "confidence": float(claim.confidence),
    }


def _changed_mappings(old: list[str], new: list[str]) -> dict[str, list[str]]:
    return {
        "evidence_added": sorted(set(new) - set(old)),
        "evidence_removed": sorted(set(old) - set(new)),
    }


def _of(concept: str, mappings: tuple[Mapping3, ...]) -> list[dict[str, str]]:
    return [{"predicate": p, "object": o} for c, p, o in mappings if c == concept]
