"""Claims, their evidence, sources and confidence."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, Self

from typing_extensions import override

from shiyi.errors import RangeError
from shiyi.model.iris import VOCAB, content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Object, Term, canonical

CEILING = 0.99  # no amount of agreeing sources makes a claim certain


@dataclass(frozen=True, slots=True, order=True)
class Confidence:
    """A degree of belief in [0, 1]: that the source says so and that it holds as stated.

    >>> max(Confidence(0.4), Confidence(0.9))
    Confidence(value=0.9)
    >>> Confidence(1.2)
    Traceback (most recent call last):
        ...
    shiyi.errors.RangeError: a confidence lies in [0, 1], not at 1.2
    """

    value: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:  # also refuses NaN
            raise RangeError(f"a confidence lies in [0, 1], not at {self.value}")


def fuse(votes: Iterable[tuple[str, Confidence]]) -> Confidence:
    """Fuse one vote a lineage by noisy-or: sources that copy one another count once.

    A single lineage keeps its own value; several never pass 0.99 unless one alone does.

    >>> fuse([("a", Confidence(0.9)), ("a", Confidence(0.8))])
    Confidence(value=0.9)
    >>> fuse([("a", Confidence(0.6)), ("b", Confidence(0.5))])
    Confidence(value=0.8)
    """
    best: dict[str, float] = {}
    for lineage, vote in votes:
        best[lineage] = max(best.get(lineage, 0.0), vote.value)
    if not best:
        raise RangeError("a claim without evidence has no confidence")
    if len(best) == 1:
        return Confidence(next(iter(best.values())))
    joined = 1.0 - math.prod(1.0 - value for value in best.values())
    return Confidence(max(min(round(joined, 6), CEILING), *best.values()))


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
    """The kind of work of a source, the most binding first."""

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
    INFERRED = "inferred"
    RECALLED = "recalled"


def confidence_value(term: Term | None) -> float | None:
    """Return the number of a confidence, None where ``term`` is no number in [0, 1].

    Claims can be written past curation, so that readers cannot rely on well-formed ones.

    >>> confidence_value(Literal("0.5")), confidence_value(Literal("NaN")), confidence_value(None)
    (0.5, None, None)
    """
    if not isinstance(term, Literal):
        return None
    try:
        value = float(term.value)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None  # also refuses NaN


class EvidenceKind(StrEnum):
    """How it is known: what was opened, or what else a statement rests on."""

    READ = "read"
    ROW = "row"
    RECALLED = "recalled"
    INFERRED = "inferred"
    PREDICTED = "predicted"

    @property
    def is_opened(self) -> bool:
        """Return whether a person or a program opened a work or a table for it."""
        return self in (EvidenceKind.READ, EvidenceKind.ROW)


OPENED_KINDS: Final = frozenset(each.value for each in EvidenceKind if each.is_opened)


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


# what evidence rests on for which no work was opened: one lineage each, so one vote
UNOPENED = {
    EvidenceKind.RECALLED: Source(
        "common-knowledge", "行业常识，未核对", "common knowledge, not verified", Tier.RECALLED,
        licence="https://creativecommons.org/licenses/by/4.0/", lineage="common-knowledge",
        note="no work was opened; each statement may name one in which to look",
    ),
    EvidenceKind.INFERRED: Source(
        "inference", "由其他论断推出", "inferred from other claims", Tier.INFERRED,
        licence="https://creativecommons.org/licenses/by/4.0/", lineage="inference",
        note="an editor's rule; the locator names it",
    ),
}  # fmt: skip


_LOCATOR: Final = re.compile(r"(\S+) (.+) \[([^\]]+)\](?: (\d+)–(\d+))?(?: #([0-9a-f]+))?")


@dataclass(frozen=True, slots=True)
class Locator:
    """A place in a file of a corpus: a cell of a record, or the characters ``start`` to ``end``.

    >>> str(Locator("books.jsonl.xz", "009-a.txt", "text", 1, 3, "ab"))
    'books.jsonl.xz 009-a.txt [text] 1–3 #ab'
    >>> Locator.parse("herbs.tsv.xz herb/5 [nature] #ab")
    Locator(file='herbs.tsv.xz', key='herb/5', column='nature', start=0, end=0, digest='ab')
    """

    file: str
    key: str
    column: str
    start: int = 0
    end: int = 0
    digest: str = ""

    @override
    def __str__(self) -> str:
        span = f" {self.start}–{self.end}" if self.end else ""
        digest = f" #{self.digest}" if self.digest else ""
        return f"{self.file} {self.key} [{self.column}]{span}{digest}"

    @classmethod
    def parse(cls, written: str) -> Self | None:
        """Return the place that the locator of evidence names; None for one of another form."""
        if (match := _LOCATOR.fullmatch(written)) is None:
            return None
        file, key, column, start, end, digest = match.groups()
        return cls(file, key, column, int(start or 0), int(end or 0), digest or "")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source's support for one claim: where it stands and how strongly it counts.

    ``suggested`` is the work in which to look where ``kind`` says that none was opened.
    ``qualifiers`` holds what this source adds (``amount``, ``grade``, ``rating``, ``note_zh`` …)
    as sorted pairs. ``quote`` is empty unless the passage may be quoted.
    """

    source: Source
    confidence: Confidence
    locator: str = ""
    kind: EvidenceKind = EvidenceKind.READ
    quote: str = ""
    passage: NamedNode | None = None
    qualifiers: tuple[tuple[str, str], ...] = ()
    activity: str = "curation"
    suggested: Source | None = None

    def iri(self, claim: NamedNode) -> NamedNode:
        """Name this evidence for ``claim``: one per claim, place in the source, and activity."""
        place = (
            self.passage.value
            if self.passage
            else f"{(self.suggested or self.source).id} {self.locator}"
        )
        return resource(f"evidence/{content_hash(claim.value, place, self.quote, self.activity)}")


@dataclass(frozen=True, slots=True)
class Text:
    """The object of a claim that is a text: one resource with what it says in each language.

    >>> Text("煎汤", "Boil.").iri.value == Text("煎汤").iri.value
    False
    """

    zh: str = ""
    en: str = ""

    def __post_init__(self) -> None:
        if not (self.zh or self.en):
            raise RangeError("a text says something in Chinese or in English")

    @classmethod
    def of(cls, value: str, language: str) -> Self:
        """Return a text in one language; what is not Chinese stands as English."""
        return cls(zh=value) if language.startswith("zh") else cls(en=value)

    @property
    def iri(self) -> NamedNode:
        """Name the text by what it says."""
        return resource(f"text/{content_hash(self.zh, self.en)}")

    @property
    def labels(self) -> tuple[Literal, ...]:
        """Return what it says, in each language that it has."""
        results = (("zh", self.zh), ("en", self.en))
        return tuple(Literal(value, language=language) for language, value in results if value)


@dataclass(frozen=True, slots=True)
class Claim:
    """A triple that some source makes; its IRI is computed from its content.

    >>> from shiyi.model.rdf import NamedNode as N
    >>> book = Source("book", "Shu", "Book", Tier.TEXTBOOK)
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
    text: Text | None = field(default=None, compare=False)  # what the object says, if it is a text

    def __post_init__(self) -> None:
        if not self.evidence:
            raise RangeError(f"a claim about {self.subject.value} needs evidence")
        if self.text and self.object != self.text.iri:
            raise RangeError(f"{self.object} is not the text of the claim")

    @classmethod
    def create(
        cls,
        subject: NamedNode,
        predicate: NamedNode,
        value: Object | Text,
        evidence: tuple[Evidence, ...],
        polarity: Polarity = Polarity.POSITIVE,
    ) -> Self:
        """Return an accepted claim; words in a language that are no label become a text."""
        if isinstance(value, Literal) and value.language and predicate.value.startswith(VOCAB):
            value = Text.of(value.value, value.language)
        if isinstance(value, Text):
            return cls(subject, predicate, value.iri, evidence, polarity, text=value)
        return cls(subject, predicate, value, evidence, polarity)

    @property
    def iri(self) -> NamedNode:
        """Name the claim by the canonical N-Triples of its triple and its polarity."""
        return claim_iri(self.subject, self.predicate, self.object, self.polarity)

    @property
    def is_asserted(self) -> bool:
        """Return whether the triple itself stands in the accepted view."""
        return self.status is Status.ACCEPTED and self.polarity is Polarity.POSITIVE

    @property
    def confidence(self) -> Confidence:
        """Fuse the evidence, one vote a lineage."""
        return fuse(
            (each.source.lineage or each.source.id, each.confidence) for each in self.evidence
        )

    def join(self, other: Self) -> "Claim":
        """Return one claim with the evidence of both; they must say the same."""
        if self.iri != other.iri:
            raise RangeError(f"{self.iri.value} and {other.iri.value} say different things")
        seen = dict.fromkeys((*self.evidence, *other.evidence))
        return replace(self, evidence=tuple(seen))


@lru_cache(maxsize=4096)  # a claim is asked for its name several times while it is written
def claim_iri(
    subject: NamedNode, predicate: NamedNode, value: Object, polarity: Polarity
) -> NamedNode:
    """Name the claim that a triple and a polarity make."""
    triple = (canonical(subject), canonical(predicate), canonical(value))
    return resource(f"claim/{content_hash(*triple, polarity)}")
