"""Requests of curators as pydantic models: of the forms of the desks and of the JSON API."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shiyi.curation.changes import REASON, parse_iri
from shiyi.curation.editing.form import ClaimDraft, fault
from shiyi.errors import Fault, FormError
from shiyi.model.iris import ID

MOST: Final = 200  # claims of one batch


def full_iri(name: str) -> str:
    """Return the IRI of a name, which may leave out what all IRIs of resources begin with.

    >>> full_iri("claim/1"), full_iri("")
    ('https://w3id.org/shiyi/id/claim/1', '')
    """
    return parse_iri(name if "://" in name else ID + name).value if name else ""


def _claim_and_version(value: object) -> object:
    """Read the two words of a check box of the queue."""
    if isinstance(value, str):
        claim, _, version = value.partition(" ")
        return {"claim": claim, "version": version}
    return value


def _lines(value: object) -> object:
    """Read a list that a form holds one a line, or between bars."""
    if isinstance(value, str):
        parts = (part.strip() for part in value.replace("\r", "").replace("|", "\n").split("\n"))
        return tuple(dict.fromkeys(part for part in parts if part))
    return value


Thing = Annotated[str, AfterValidator(full_iri), Field(examples=["claim/…"], min_length=1)]
Maybe = Annotated[str, AfterValidator(full_iri)]  # a thing, or the empty text
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
Reason = Annotated[str, Field(max_length=REASON)]
Needed = Annotated[str, Field(min_length=1, max_length=REASON)]


class Form(BaseModel):
    """A request of a curator; ``key`` makes a second sending of the same request harmless."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    reason: Reason = ""
    key: Annotated[str, Field(max_length=200)] = ""

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Check what was sent; raise FormError that names every field at fault."""
        try:
            return cls.model_validate(sent)
        except ValidationError as error:
            raise FormError([f for item in error.errors() for f in _faults(item)]) from error


class VersionedRequest(Form):
    """A request about something that was read in this ``version``; of any where it is empty."""

    version: str = ""


class Decision(VersionedRequest):
    """A review of one claim; ``version`` is that of the claim which was read.

    One by an editor that ``settles`` a dispute ends it: reviews on the other side do not count.
    """

    claim: Thing
    kind: Literal["accept", "reject", "unsure", "skip"]
    agreement: Annotated[float, Field(ge=-1, le=1)] | None = None
    settles: bool = False


class EvidenceRefusal(VersionedRequest):
    """Evidence that waits beside an accepted claim and is not to count."""

    claim: Thing
    evidence: Thing
    reason: Needed


class SelectedClaim(BaseModel):
    """A claim of a batch, with the version that was read."""

    claim: Thing
    version: str = ""


Several = list[Annotated[SelectedClaim, BeforeValidator(_claim_and_version)]]
Many = Annotated[Several, Field(min_length=1, max_length=MOST)]


class Batch(Form):
    """One decision on several claims; with ``preview`` nothing is written."""

    claims: Many
    kind: Literal["accept", "reject", "unsure", "skip"]
    preview: bool = False


class Assignment(Form):
    """Claims that somebody is to review; oneself where ``to`` is empty."""

    claims: Many
    to: Annotated[str, Field(max_length=40)] = ""


class Comment(Form):
    """A comment on a claim or concept; ``@name`` calls somebody."""

    thing: Thing
    text: Needed


class UndoRequest(Form):
    """The change that is taken back, by its IRI or number."""

    change: Annotated[str, Field(min_length=1)]


class ClaimEdit(VersionedRequest):
    """A claim as it should be; without ``claim`` a new one, with two drafts a split."""

    claim: Maybe = ""
    drafts: Annotated[list[ClaimDraft], Field(min_length=1, max_length=2)]
    retires: bool = True  # whether the claim is replaced; else another is added beside it


class ConceptEdit(VersionedRequest):
    """A concept as it should be; ``was`` is empty for a new one."""

    was: str = ""
    id: str = ""
    class_name: str = ""
    zh: str = ""
    en: str = ""
    alt_zh: Lines = ()
    alt_en: Lines = ()
    pinyin: str = ""
    latin: Lines = ()
    notation: Lines = ()
    broader: Lines = ()
    definition_zh: str = ""
    definition_en: str = ""
    scope_zh: str = ""
    scope_en: str = ""
    tcm_only: bool = False


class Aliases(Form):
    """Further names of a concept."""

    concept: str
    zh: Lines = ()
    en: Lines = ()


class ConceptMerge(VersionedRequest):
    """A concept that goes, and the one that takes its names, claims and mappings."""

    concept: Annotated[str, Field(min_length=1)]
    target: Annotated[str, Field(min_length=1)]
    reason: Needed


class ConceptSplit(VersionedRequest):
    """A new concept made of some claims of another."""

    concept: Annotated[str, Field(min_length=1)]
    new_id: Annotated[str, Field(min_length=1)]
    zh: Annotated[str, Field(min_length=1)]
    en: Annotated[str, Field(min_length=1)]
    claims: Annotated[list[Thing], Field(min_length=1)]
    reason: Needed


class Deprecation(VersionedRequest):
    """A concept that is retired, with the one that replaces it, if any does."""

    concept: Annotated[str, Field(min_length=1)]
    target: str = ""
    reason: Needed


class MappingDecision(VersionedRequest):
    """What becomes of a mapping; ``rule-out`` accepts that it does not hold."""

    mapping: Thing
    action: Literal["accept", "reject", "rule-out", "wait"]
    predicate: str = ""


class MappingImport(Form):
    """Rows of SSSOM; those of links in cases, or of a look at UMLS, where ``source`` says so."""

    text: str = ""
    source: Literal["table", "cases", "umls"] = "table"
    about: str = ""


class Refusal(Form):
    """Claims of the quarantine that are rejected; extraction learns from the reason."""

    claims: Annotated[Several, Field(min_length=1, max_length=100)]
    reason: Needed


class ReportAnswer(Form):
    """The answer to a reader's report."""

    report: Thing
    action: Literal["right", "not-right"]
    reason: Needed


class TermProposal(Form):
    """A relation or a shape in Turtle, for others to approve."""

    turtle: Annotated[str, Field(min_length=1, max_length=8000)]
    reason: Needed


class ProposalDecision(Form):
    """The decision on a proposal."""

    proposal: Thing
    action: Literal["approve", "decline"]


_KINDS: Final = {
    "missing": "empty", "string_too_short": "empty", "too_short": "empty", "too_long": "too_long",
    "string_too_long": "too_long", "literal_error": "unknown_rule",
    "extra_forbidden": "unknown_field", "float_parsing": "number", "float_type": "number",
    "less_than_equal": "out_of_range", "greater_than_equal": "out_of_range",
    "string_pattern_mismatch": "unknown_rule", "bool_parsing": "unknown_rule",
}  # fmt: skip


def _faults(error: Any) -> list[Fault]:
    """Return a fault of pydantic's in both languages."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, FormError):
        return list(cause.faults)
    name = ".".join(map(str, error["loc"])) or "request"
    if error["type"] in _KINDS:
        return [fault(name, _KINDS[error["type"]])]
    return [fault(name, "malformed", words=str(error["msg"]))]
