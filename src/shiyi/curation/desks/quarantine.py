"""Claims in quarantine.

A rejection with its reason stands in the graph of rejected claims, where the extractor that uses
a language model takes its counter-examples from (``shiyi.ingest.extraction.feedback``).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shiyi.curation.changes import REJECTED, Edit, parse_iri
from shiyi.curation.editing.claims import StoredClaim, load_claim, passage_text, quads_of
from shiyi.curation.editing.form import fault
from shiyi.errors import FormError
from shiyi.ingest.gate import QUARANTINE
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.sparql.store.port import QuadStore

_COUNTED = 50_000  # claims that the lists of relations and reasons look at


@dataclass(frozen=True, slots=True)
class QuarantinedClaim:
    """A claim in quarantine, why it is there, and the words it was read in."""

    stored: StoredClaim
    reasons_zh: tuple[str, ...]
    reasons_en: tuple[str, ...]
    passage: str
    passage_iri: str

    def reasons(self, language: str) -> tuple[str, ...]:
        """Return the reasons in ``zh`` or ``en``."""
        return self.reasons_zh if language == "zh" else self.reasons_en


def list_quarantined(
    store: QuadStore, relation: str = "", reason: str = "", start: int = 0, count: int = 25
) -> list[QuarantinedClaim]:
    """List quarantined claims from place ``start``; of one relation, or for one reason."""
    results = (quarantined_claim(store, iri) for iri in _names(store, relation, reason))
    return list(islice((claim for claim in results if claim), start, start + count))


def quarantined_claim(store: QuadStore, iri: str) -> QuarantinedClaim | None:
    """Read one claim of the quarantine; None where it is not there."""
    claim = load_claim(store, iri)
    if claim is None or claim.home != QUARANTINE:
        return None
    values: dict[str, list[str]] = {"zh": [], "en": []}
    for quad in store.match(claim.iri, RDFS.comment, None, QUARANTINE):
        if isinstance(quad.object, Literal):
            values.setdefault(quad.object.language or "en", []).append(quad.object.value)
    passage = next((e.passage.value for e in claim.claim.evidence if e.passage), "")
    return QuarantinedClaim(
        claim,
        tuple(sorted(values["zh"])),
        tuple(sorted(values["en"])),
        passage_text(store, passage),
        passage,
    )


def relations(store: QuadStore) -> Counter[str]:
    """Count quarantined claims by relation."""
    quads = islice(store.match(None, RDF.predicate, None, QUARANTINE), _COUNTED)
    return Counter(local_name(text(quad.object)) for quad in quads)


def reasons(store: QuadStore, language: str) -> Counter[str]:
    """Count quarantined claims by reason, as stated in ``zh`` or ``en``."""
    quads = islice(store.match(None, RDFS.comment, None, QUARANTINE), _COUNTED)
    return Counter(
        quad.object.value
        for quad in quads
        if isinstance(quad.object, Literal) and quad.object.language == language
    )


def reject_claim(store: QuadStore, iri: str, reason: str) -> Edit:
    """Move a quarantined claim to the rejected ones, with a reason for extractors."""
    result = quarantined_claim(store, iri)
    if result is None:
        raise FormError([fault("claims", "not_held")])
    quads = quads_of(store, result.stored)
    new_quads = [
        Quad(q.subject, q.predicate, q.object, REJECTED)
        for q in quads
        if q.predicate != SHIYI.status
    ]
    node = result.stored.iri
    new_quads += [
        Quad(node, SHIYI.status, SHIYI.rejected, REJECTED),
        Quad(node, RDFS.comment, Literal(reason), REJECTED),
    ]
    return Edit("refuse", (iri,), reason, tuple(quads), tuple(new_quads))


def _names(store: QuadStore, relation: str, reason: str) -> Iterator[str]:
    if relation:
        pattern = store.match(None, RDF.predicate, parse_iri(VOCAB + relation), QUARANTINE)
    else:
        pattern = store.match(None, RDF.type, SHIYI.Claim, QUARANTINE)
    for quad in pattern:
        if isinstance(quad.subject, NamedNode) and (
            not reason
            or any(
                text(q.object) == reason
                for q in store.match(quad.subject, RDFS.comment, None, QUARANTINE)
            )
        ):
            yield quad.subject.value
