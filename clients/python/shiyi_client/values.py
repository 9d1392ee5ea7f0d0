"""Replies of a server as immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Concept:
    """A food, herb, medicine, syndrome … by its IRI."""

    iri: str
    label_zh: str = ""
    label_en: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a text that name a concept; ``iri`` is empty where none fits."""

    mention: str
    start: int
    end: int
    iri: str = ""
    label_zh: str = ""
    label_en: str = ""
    cui: str = ""
    score: float = 0.0
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with its confidence, in [0, 1]; ``object`` is an IRI or a text."""

    iri: str
    subject: str
    predicate: str
    object: str
    confidence: float
    polarity: str = "positive"
    status: str = "accepted"
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim that an answer cites, with labels in the answer's language."""

    number: int
    claim: str
    subject: str
    predicate: str
    object: str
    polarity: str
    confidence: float
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: severity, text, claims."""

    severity: str
    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; ``raw`` is the whole reply. Where ``abstained``, see ``missing``."""

    question: str
    text: str
    citations: tuple[Citation, ...]
    warnings: tuple[Caution, ...]
    follow_up: tuple[str, ...]
    abstained: bool
    missing: tuple[str, ...]
    release: str
    raw: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> "Answer":
        """Read the JSON of ``POST /api/ask``."""
        citations = tuple(
            Citation(
                each["number"], each["claim"], each["subject"]["label"], each["predicate"]["label"],
                each["object"]["label"], each["polarity"], float(each["confidence"]),
                tuple(dict.fromkeys(one["source"] for one in each["evidence"])),
            )
            for each in values["citations"]
        )  # fmt: skip
        warnings = tuple(
            Caution(each["severity"], each["text"], tuple(each["claims"]))
            for each in values["warnings"]
        )
        return cls(
            values["question"], values["answer"], citations, warnings, tuple(values["follow_up"]),
            bool(values["abstained"]), tuple(values["missing"]), values["release"], values,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Release:
    """A published release; ``files`` gives the SHA-256 of each file by its name."""

    version: str
    issued: str
    iri: str
    canonical: str
    claims: int
    files: Mapping[str, str] = field(default_factory=dict)
