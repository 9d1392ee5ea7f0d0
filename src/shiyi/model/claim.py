"""A claim: one statement, how sure we are of it, and where it was read."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Self

from shiyi.errors import RangeError
from shiyi.model.confidence import Confidence, fuse
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import NamedNode, Object, canonical


class Polarity(StrEnum):
    """Whether a source says that something holds, or that it does not."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


class Status(StrEnum):
    """Where a claim stands; only accepted, positive claims are asserted."""

    ACCEPTED = "accepted"
    CANDIDATE = "candidate"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    RETRACTED = "retracted"
    PREDICTED = "predicted"


class Tier(StrEnum):
    """What kind of work a source is, the most binding first."""

    REGULATION = "regulation"
    PHARMACOPOEIA = "pharmacopoeia"
    STANDARD = "standard"
    TEXTBOOK = "textbook"
    MONOGRAPH = "monograph"
    REVIEW = "review"
    TRIAL = "trial"
    PAPER = "paper"
    CLASSIC = "classic"
    CASE_REPORT = "case-report"
    WEBPAGE = "webpage"
    MODEL = "model"


class Checked(StrEnum):
    """How we know that the source says so."""

    SOURCE = "source"
    SECONDARY = "secondary"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Source:
    """A work that claims cite; ``lineage`` groups works that copy one another."""

    id: str
    title_zh: str
    title_en: str
    tier: Tier
    year: str = ""
    identifier: str = ""
    licence: str = ""
    lineage: str = ""
    note: str = ""

    @property
    def iri(self) -> NamedNode:
        """Name the source."""
        return resource(f"source-{self.id}")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source's support for one claim: where it stands and how strongly it counts.

    ``qualifiers`` holds what this source adds (``amount``, ``grade``, ``rating``, ``note_zh`` …)
    as sorted pairs. ``quote`` is empty unless the passage may be quoted.
    """

    source: Source
    confidence: Confidence
    locator: str = ""
    checked: Checked = Checked.UNCHECKED
    quote: str = ""
    passage: NamedNode | None = None
    qualifiers: tuple[tuple[str, str], ...] = ()
    activity: str = "curation"

    def iri(self, claim: NamedNode) -> NamedNode:
        """Name this evidence for ``claim``: one per claim, place in the source, and activity."""
        place = self.passage.value if self.passage else f"{self.source.id} {self.locator}"
        return resource(f"evidence/{content_hash(claim.value, place, self.quote, self.activity)}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A triple that some source makes; its IRI is computed from its content.

    >>> from shiyi.model.rdf import NamedNode as N
    >>> book = Source("book", "书", "Book", Tier.TEXTBOOK)
    >>> made = Claim(
    ...     N("https://e.org/a"),
    ...     N("https://e.org/p"),
    ...     N("https://e.org/b"),
    ...     evidence=(Evidence(book, Confidence(0.9)),),
    ... )
    >>> made.iri.value
    'https://w3id.org/shiyi/id/claim/360a78b1e6bf1fd38a46ec9f22c7e31e'
    >>> made.confidence
    Confidence(value=0.9)
    """

    subject: NamedNode
    predicate: NamedNode
    object: Object
    evidence: tuple[Evidence, ...] = field(compare=False)
    polarity: Polarity = Polarity.POSITIVE
    status: Status = field(default=Status.ACCEPTED, compare=False)

    def __post_init__(self) -> None:
        if not self.evidence:
            raise RangeError(f"a claim about {self.subject.value} needs evidence")

    @property
    def iri(self) -> NamedNode:
        """Name the claim by the canonical N-Triples of its triple and its polarity."""
        return claim_iri(self.subject, self.predicate, self.object, self.polarity)

    @property
    def asserted(self) -> bool:
        """Tell whether the triple itself stands in the accepted view."""
        return self.status is Status.ACCEPTED and self.polarity is Polarity.POSITIVE

    @property
    def confidence(self) -> Confidence:
        """Fuse the evidence, one vote a lineage."""
        return fuse(
            (each.source.lineage or each.source.id, each.confidence) for each in self.evidence
        )

    def joined(self, other: Self) -> "Claim":
        """Give one claim with the evidence of both; they must say the same."""
        if self.iri != other.iri:
            raise RangeError(f"{self.iri.value} and {other.iri.value} say different things")
        seen = dict.fromkeys((*self.evidence, *other.evidence))
        return Claim(
            self.subject, self.predicate, self.object, tuple(seen), self.polarity, self.status
        )


@lru_cache(maxsize=4096)  # a claim is asked for its name several times while it is written
def claim_iri(
    subject: NamedNode, predicate: NamedNode, said: Object, polarity: Polarity
) -> NamedNode:
    """Name the claim that a triple and a polarity make."""
    triple = (canonical(subject), canonical(predicate), canonical(said))
    return resource(f"claim/{content_hash(*triple, polarity)}")
