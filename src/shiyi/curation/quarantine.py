"""What the gate held back: shown with passage and reason, mended and passed, or rejected.

A rejection with its reason stands in the graph of rejected claims, where the extractor that uses
a language model takes its counter-examples from (``shiyi.ingest.extraction.lessons``).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shiyi.curation.changes import Edit
from shiyi.curation.editing_claims import StoredClaim, passage_text, quads_of, stored_claim
from shiyi.curation.ledger import REJECTED, named
from shiyi.errors import UsageError
from shiyi.ingest.gate import QUARANTINE
from shiyi.model.names import VOCAB
from shiyi.model.rdf import Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.sparql.store import QuadStore

_COUNTED = 50_000  # claims that the lists of relations and reasons look at


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A claim in quarantine, why it is there, and the words it was read in."""

    stored: StoredClaim
    reasons_zh: tuple[str, ...]
    reasons_en: tuple[str, ...]
    passage: str
    passage_iri: str

    def reasons(self, language: str) -> tuple[str, ...]:
        """Give the reasons in ``zh`` or ``en``."""
        return self.reasons_zh if language == "zh" else self.reasons_en


def waiting(
    store: QuadStore, relation: str = "", reason: str = "", start: int = 0, count: int = 25
) -> list[HeldBack]:
    """List held-back claims from place ``start``; of one relation, or for one reason."""
    found = (held_back(store, iri) for iri in _names(store, relation, reason))
    return list(islice((each for each in found if each), start, start + count))


def held_back(store: QuadStore, iri: str) -> HeldBack | None:
    """Read one claim of the quarantine; None where it is not there."""
    stored = stored_claim(store, iri)
    if stored is None or stored.home != QUARANTINE:
        return None
    said: dict[str, list[str]] = {"zh": [], "en": []}
    for quad in store.match(stored.iri, RDFS.comment, None, QUARANTINE):
        if isinstance(quad.object, Literal):
            said.setdefault(quad.object.language or "en", []).append(quad.object.value)
    passage = next((e.passage.value for e in stored.claim.evidence if e.passage), "")
    return HeldBack(
        stored, tuple(sorted(said["zh"])), tuple(sorted(said["en"])), passage_text(store, passage),
        passage,
    )  # fmt: skip


def relations(store: QuadStore) -> Counter[str]:
    """Count held-back claims by relation."""
    quads = islice(store.match(None, RDF.predicate, None, QUARANTINE), _COUNTED)
    return Counter(local_name(text(quad.object)) for quad in quads)


def reasons(store: QuadStore, language: str) -> Counter[str]:
    """Count held-back claims by reason, as said in ``zh`` or ``en``."""
    quads = islice(store.match(None, RDFS.comment, None, QUARANTINE), _COUNTED)
    return Counter(
        quad.object.value for quad in quads
        if isinstance(quad.object, Literal) and quad.object.language == language
    )  # fmt: skip


def rejected(store: QuadStore, iri: str, reason: str, version: str = "", key: str = "") -> Edit:
    """Move a held-back claim to the rejected ones, with the reason that extraction learns from."""
    found = held_back(store, iri)
    if found is None:
        raise UsageError(f"{iri[:200]} is not in quarantine; somebody may have settled it")
    if not reason.strip():
        raise UsageError("a rejection states its reason: extraction learns from it")
    gone = quads_of(store, found.stored)
    come = [
        Quad(q.subject, q.predicate, q.object, REJECTED) for q in gone
        if q.predicate != SHIYI.status
    ]  # fmt: skip
    node = found.stored.iri
    come += [
        Quad(node, SHIYI.status, SHIYI.rejected, REJECTED),
        Quad(node, RDFS.comment, Literal(reason.strip()), REJECTED),
    ]
    seen = {iri: version} if version else {}
    return Edit("refuse", (iri,), reason.strip(), tuple(gone), tuple(come), seen, key=key)


def _names(store: QuadStore, relation: str, reason: str) -> Iterator[str]:
    if relation:
        pattern = store.match(None, RDF.predicate, named(VOCAB + relation), QUARANTINE)
    else:
        pattern = store.match(None, RDF.type, SHIYI.Claim, QUARANTINE)
    for quad in pattern:
        if isinstance(quad.subject, NamedNode) and (
            not reason or _has_reason(store, quad.subject, reason)
        ):
            yield quad.subject.value


def _has_reason(store: QuadStore, claim: NamedNode, reason: str) -> bool:
    return any(text(q.object) == reason for q in store.match(claim, RDFS.comment, None, QUARANTINE))
