"""What changed between two releases, claim by claim."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shiyi.model.rdf import local_name
from shiyi.publishing.editions import Edition, Mapping3, Stated


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came, went and changed from ``old`` to ``new``; every list in the order of the IRIs."""

    old: Edition
    new: Edition
    added: tuple[Stated, ...]
    removed: tuple[Stated, ...]
    rerated: tuple[tuple[Stated, Stated], ...]  # another confidence
    restated: tuple[tuple[Stated, Stated], ...]  # another status
    resupported: tuple[tuple[Stated, Stated], ...]  # other evidence
    mapped: tuple[Mapping3, ...]
    unmapped: tuple[Mapping3, ...]

    @property
    def changed(self) -> bool:
        """Tell whether anything did."""
        return any(self.counts().values())

    @property
    def remapped(self) -> tuple[str, ...]:
        """List the concepts whose mappings changed."""
        return tuple(sorted({each[0] for each in (*self.mapped, *self.unmapped)}))

    def counts(self) -> dict[str, int]:
        """Count each kind of change."""
        return {
            "added": len(self.added), "removed": len(self.removed), "re_rated": len(self.rerated),
            "status_changed": len(self.restated), "evidence_changed": len(self.resupported),
            "re_mapped": len(self.remapped),
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Give everything for programs."""
        return {
            "old": _named(self.old), "new": _named(self.new), "counts": self.counts(),
            "added": [_claim(each) for each in self.added],
            "removed": [_claim(each) for each in self.removed],
            "re_rated": [
                _claim(new) | {"old_confidence": float(old.confidence)} for old, new in self.rerated
            ],
            "status_changed": [_claim(new) | {"old_status": old.status} for old, new in self.restated],
            "evidence_changed": [
                _claim(new) | _moved(old.evidence.split(), new.evidence.split())
                for old, new in self.resupported
            ],
            "re_mapped": [
                {"concept": concept, "added": _of(concept, self.mapped),
                 "removed": _of(concept, self.unmapped)}
                for concept in self.remapped
            ],
        }  # fmt: skip

    def sentences(self) -> Iterator[str]:
        """Yield one line for each change, with ``+``, ``-`` or ``~`` in front."""
        for each in self.added:
            yield f"+ {each.sentence()} ({each.confidence}) {each.claim}"
        for each in self.removed:
            yield f"- {each.sentence()} ({each.confidence}) {each.claim}"
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
    >>> compare(empty, empty).changed
    False
    """
    both = [(old.claims[iri], new.claims[iri]) for iri in sorted(old.claims.keys() & new.claims)]
    return Comparison(
        old, new,
        tuple(new.claims[iri] for iri in sorted(new.claims.keys() - old.claims)),
        tuple(old.claims[iri] for iri in sorted(old.claims.keys() - new.claims)),
        tuple((a, b) for a, b in both if float(a.confidence) != float(b.confidence)),
        tuple((a, b) for a, b in both if a.status != b.status),
        tuple((a, b) for a, b in both if a.evidence != b.evidence),
        tuple(sorted(new.mappings - old.mappings)), tuple(sorted(old.mappings - new.mappings)),
    )  # fmt: skip


def _named(edition: Edition) -> dict[str, Any]:
    return {
        "version": edition.version, "release": edition.release, "claims": len(edition.claims),
        "mappings": len(edition.mappings),
    }  # fmt: skip


def _claim(each: Stated) -> dict[str, Any]:
    return {
        "claim": each.claim, "subject": each.subject, "subject_label": each.subject_en,
        "predicate": each.predicate, "relation": local_name(each.predicate), "object": each.object,
        "object_label": each.object_en, "polarity": each.polarity, "status": each.status,
        "confidence": float(each.confidence),
    }  # fmt: skip


def _moved(old: list[str], new: list[str]) -> dict[str, list[str]]:
    return {
        "evidence_added": sorted(set(new) - set(old)),
        "evidence_removed": sorted(set(old) - set(new)),
    }


def _of(concept: str, mappings: tuple[Mapping3, ...]) -> list[dict[str, str]]:
    return [{"predicate": p, "object": o} for c, p, o in mappings if c == concept]
