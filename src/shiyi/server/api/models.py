"""Replies of the JSON API as pydantic models, and what describes an operation in OpenAPI."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shiyi.answering.sections import cabinet
from shiyi.answering.understanding import frame
from shiyi.server.api.requests import Context, Iri, IriReference, Language

Share = Annotated[float, Field(ge=0, le=1)]


class FieldFault(BaseModel):
    """What is wrong with one field, in the reader's language."""

    field: str
    message: str
    shape: str = ""


Body = str | type[BaseModel]  # a media type, or a model in JSON
Content = tuple[Body, ...] | Body


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path; ``codes`` are its responses besides 200.

    ``given`` is the field of the body that the path gives.
    """

    method: str
    path: str
    name: str
    summary: str
    reply: Content = ()
    codes: tuple[int, ...] = ()
    query: tuple[str, ...] = ()
    body: Content = ()
    security: str = ""  # of a bearer token: optional or required
    given: str = ""


class Problem(BaseModel):
    """What was wrong and what to do (RFC 9457)."""

    type: str = ""
    title: str
    status: int
    detail: str
    instance: str = ""
    faults: list[FieldFault] = Field([], description="The fields of a request that are at fault")


class Labelled(BaseModel):
    """A resource with its label."""

    iri: IriReference = ""  # empty where it is a text
    label: str
    cui: str | None = None


class Evidence(BaseModel):
    """What a claim rests on: how it is known, and where it stands or where to look."""

    source: str
    tier: str
    kind: Literal["read", "row", "recalled", "inferred", "predicted"]
    opened: bool
    quote: str = ""
    passage: str = ""


class Citation(BaseModel):
    """A claim that a sentence rests on, with its mark ``[number]``."""

    number: int
    claim: Iri
    subject: Labelled
    predicate: Labelled
    object: Labelled
    polarity: Literal["positive", "negative"] = "positive"
    confidence: Share
    status: str = ""
    origin: str | None = Field(None, description="School or release, of an unreviewed claim")
    evidence: list[Evidence] = []


class Sentence(BaseModel):
    """A sentence and the claims it rests on."""

    text: str
    claims: list[Iri]


class Recommendation(BaseModel):
    """Something to eat or drink that passed the safety check."""

    iri: Iri
    label: str
    kind: str
    claims: list[Iri] = []


class Warning(BaseModel):
    """A warning of the safety check."""

    severity: str
    text: str
    claims: list[Iri] = []


class Hop(BaseModel):
    """One claim on a path, and the direction in which it is followed."""

    subject: Iri
    predicate: Iri
    object: str
    claim: Iri
    confidence: Share
    forward: bool


class Path(BaseModel):
    """A scored reasoning path."""

    score: float
    hops: list[Hop]


class Mention(BaseModel):
    """A mention in a text; one that cannot be linked has no ``iri``."""

    mention: str
    start: int
    end: int
    iri: Iri | None = None
    label: str = ""
    label_zh: str = ""
    label_en: str = ""
    cui: str | None = None
    score: float = 0.0
    justification: str = ""
    negated: bool = False


class Verdict(BaseModel):
    """What an answer comes down to."""

    kind: Literal[
        "emergency", "do_not_combine", "ask_first", "may_be_considered", "not_on_record", "record"
    ]
    severity: str | None = None
    text: str


class Answer(BaseModel):
    """An answer with its citations, warnings and trace."""

    question: str
    language: Language = "zh"
    method: str = ""
    model: str | None = None
    release: str
    answer: str = Field(description="Markdown with marks such as [1]")
    sentences: list[Sentence] = []
    citations: list[Citation]
    paths: list[Path] = []
    linked: list[Mention] = []
    recommendations: list[Recommendation] = []
    warnings: list[Warning]
    follow_up: list[str] = []
    abstained: bool
    missing: list[str] = Field(description="What the knowledge base does not hold")
    verdict: Verdict
    frame: dict[str, Any] | None = Field(None, description="How the question was read")
    trace: dict[str, Any] = {}
    context: Context | None = None


class Frame(BaseModel):
    """A question as it is understood."""

    text: str
    language: Language
    ask: list[frame.Intent]
    polarity: frame.Polarity
    patient: frame.Patient
    wanted: frame.WantedKinds
    focus: list[frame.Focus] = Field([], description="What is named, with role and assertion")
    conditions: list[frame.Condition] = []
    alarm: frame.Alarm | None = None
    danger: Share = 0.0
    signs: list[Iri] = []
    confidence: Share


class Pivot(BaseModel):
    """Claims that decide an outcome together; rejected, or where they are candidates accepted."""

    outcome: Literal["verdict", "recommendation"]
    change: Literal["reject", "accept"]
    claims: list[Citation]
    now: str = Field(description="The verdict with its severity, or what is recommended")
    then: str = Field(description="The same after the change; empty: recommended no longer")


class Pivots(BaseModel):
    """What would change an answer: the smallest sets of claims, of up to three."""

    pivots: list[Pivot]
    complete: bool = Field(description="Whether all such sets were looked at")


class AuditedSentence(BaseModel):
    """A sentence with its verdict, the claims it was compared with, and the reasons."""

    text: str
    verdict: Literal["dangerous", "contradicted", "supported", "not_on_record"]
    claims: list[Citation] = []
    reasons: list[str] = []


class Audit(BaseModel):
    """The verdicts on the sentences of a text."""

    sentences: list[AuditedSentence]
    counts: dict[str, int]


class CheckedThing(BaseModel):
    """A thing as it was named; without ``iri`` it is not recognised and is in no pair."""

    text: str
    iri: Iri | None
    label: str
    kind: str = ""
    ingredients: list[Labelled] = []
    suggestions: list[Labelled] = []


class CheckedReason(BaseModel):
    """One thing on record, with its severity as the sources rate it."""

    severity: str = Field(json_schema_extra={"enum": list(cabinet.SEVERITIES)})
    text: str
    claims: list[Iri] = []


class CheckedPair(CheckedReason):
    """Two things and what is on record of them together; the gravest reason first."""

    a: str
    b: str
    reasons: list[CheckedReason]
    adds_up: bool = Field(description="Whether each has the same effect on record, alone")


class SummedEffect(BaseModel):
    """An effect that several things have on record, each alone."""

    effect: str
    things: list[str]
    text: str
    claims: list[Iri]


class Duplicate(BaseModel):
    """What several things are or contain."""

    ingredient: Labelled
    things: list[str]


class Concern(CheckedReason):
    """What is on record of one thing in a state of the person, or of its own toxicity."""

    thing: str
    condition: Labelled


class Check(BaseModel):
    """Some things together."""

    things: list[CheckedThing]
    pairs: list[CheckedPair]
    effects: list[SummedEffect]
    duplicates: list[Duplicate]
    conditions: list[Concern]
    unknown: list[str] = Field(description="Words of the profile that mean nothing known")


class Mentions(BaseModel):
    """The mentions of a text."""

    mentions: list[Mention]


class Completion(BaseModel):
    """A concept with a name that begins so."""

    model_config = ConfigDict(from_attributes=True)

    iri: Iri
    label: str
    label_zh: str = ""
    label_en: str = ""
    kind: str = ""
    matched: str = ""
    approximate: bool = Field(False, description="Whether it is only like what was typed")


class Completions(BaseModel):
    """Completions of a name."""

    q: str
    completions: list[Completion]


class Hit(BaseModel):
    """Something that a search found, and where it leads."""

    href: str
    label: str
    detail: str = ""


class SearchResults(BaseModel):
    """What a search found: ``concepts``, ``claims``, ``pages`` and ``queries``."""

    q: str
    groups: dict[str, list[Hit]]


class CanonicalHash(BaseModel):
    """The hash of a release by RDF Dataset Canonicalization."""

    algorithm: str
    hash: str


class Release(BaseModel):
    """A release and its files."""

    version: str
    issued: str = Field(json_schema_extra={"format": "date"})
    iri: Iri
    release: str = ""
    counts: dict[str, Any] = {}
    url: str = ""
    canonical: CanonicalHash
    files: dict[str, Any] | list[Any] = {}


class Releases(BaseModel):
    """All releases, the newest first."""

    releases: list[Release]


class WrittenChange(BaseModel):
    """A change that was written; of a decision with the claim's state after it."""

    change: IriReference = ""
    number: int = 0
    kind: str = ""
    about: list[Iri] = []
    claim: Iri | None = None
    status: str | None = None
    confidence: Share | None = None
    version: str | None = Field(None, description="To be sent with the next decision")
    waits: bool | None = Field(None, description="Whether a second reviewer has to agree")
    changes: list[dict[str, Any]] = Field([], description="Where several were written")
    stale: list[Iri] = Field([], description="Claims that had changed; nothing was written")
    foreseen: list[dict[str, Any]] = Field([], description="Of a preview")
