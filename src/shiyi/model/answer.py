"""An answer: mentions, sentences, citations, warnings, trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shiyi.errors import RangeError
from shiyi.model.claim import OPENED_KINDS, EvidenceKind
from shiyi.model.path import Path


@dataclass(frozen=True, slots=True)
class Mention:
    """A span ``[start, end)`` of a text, and the concept it was linked to, if any.

    ``iri`` is empty for an unlinkable mention; ``score`` lies in [0, 1];
    ``alternatives`` are the other concepts that bear the same name, likeliest first.
    """

    text: str
    start: int
    end: int
    iri: str = ""
    label_zh: str = ""
    label_en: str = ""
    cui: str = ""
    kind: str = ""
    score: float = 0.0
    justification: str = ""
    negated: bool = False
    alternatives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise RangeError(f"a span runs forward, not from {self.start} to {self.end}")
        if not 0.0 <= self.score <= 1.0:
            raise RangeError(f"a score lies in [0, 1], not at {self.score}")

    def label(self, language: str) -> str:
        """Return the concept's label in ``zh`` or ``en``, or the words themselves."""
        return (self.label_zh if language == "zh" else self.label_en) or self.text

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """Return the object that ``/api/link`` sends; an unlinkable mention has no ``iri``."""
        payload: dict[str, Any] = {"mention": self.text, "start": self.start, "end": self.end}
        if self.iri:
            payload |= {
                "iri": self.iri,
                "label": self.label(language),
                "label_zh": self.label_zh,
                "label_en": self.label_en,
                "cui": self.cui or None,
                "kind": self.kind,
            }
        return payload | {
            "score": round(self.score, 4),
            "justification": self.justification,
            "negated": self.negated,
        }


@dataclass(frozen=True, slots=True)
class Labelled:
    """A concept or property as an answer shows it."""

    iri: str
    label: str
    cui: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return IRI, label in the asker's language, and CUI or null."""
        return {"iri": self.iri, "label": self.label, "cui": self.cui or None}


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """What a cited claim rests on; ``suggested`` is where to look if no work was opened."""

    source: str
    tier: str
    quote: str = ""
    passage: str = ""
    iri: str = ""
    locator: str = ""
    kind: str = ""
    year: str = ""
    qualifiers: tuple[tuple[str, str], ...] = ()
    suggested: str = ""

    @property
    def is_opened(self) -> bool:
        """Return whether a work or a table was opened for it."""
        return self.kind in OPENED_KINDS

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as the answer's JSON holds it."""
        plain = ["iri", "source", "tier", "quote", "passage", "locator", "kind", "year"]
        return {name: getattr(self, name) for name in plain} | {
            "opened": self.is_opened,
            "suggested_source": self.suggested,
            "qualifiers": dict(self.qualifiers),
        }


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim that a sentence rests on, with its mark ``[number]``.

    ``origin`` names the school or release that states it, where no curator has accepted it.
    """

    number: int
    claim: str
    subject: Labelled
    predicate: Labelled
    object: Labelled
    polarity: str
    confidence: float
    status: str
    evidence: tuple[CitedEvidence, ...]
    kind: str = ""  # how the claim is known: of its evidence, the surest
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the citation as the answer's JSON holds it."""
        return {
            "number": self.number,
            "claim": self.claim,
            "subject": self.subject.to_json(),
            "predicate": self.predicate.to_json(),
            "object": self.object.to_json(),
            "polarity": self.polarity,
            "confidence": self.confidence,
            "status": self.status,
            "kind": self.kind,
            "origin": self.origin or None,
            "evidence": [evidence.to_json() for evidence in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and the claims it rests on; none for a general safety sentence."""

    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Something to eat or drink that survived the safety check."""

    iri: str
    label: str
    kind: str  # food, dish, herb or supplement
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SafetyWarning:
    """A caution beside an answer; ``severity`` as the interface names it."""

    severity: str  # contraindicated, caution, interaction or emergency
    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer comes down to, in one sentence; ``severity`` is of what speaks against it."""

    kind: str  # emergency, do_not_combine, ask_first, may_be_considered, not_on_record or record
    text: str
    severity: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the object that an answer holds as ``verdict``."""
        return {"kind": self.kind, "severity": self.severity or None, "text": self.text}


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of an answer, enough to replay it.

    ``asked`` is what was asked with the question; ``steps`` is what the method did, in order, with
    every verdict; ``claims`` are the claims it ranked, with their scores; ``texts`` the passages
    and definitions it found; ``more`` the claims that the text rests on besides those it cites;
    ``exchanges`` the prompts to a model and its replies.
    """

    queries: tuple[str, ...] = ()
    relation_paths: tuple[tuple[str, ...], ...] = ()
    prompts: tuple[str, ...] = ()
    rounds: int = 0
    milliseconds: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[tuple[str, float], ...] = ()
    texts: tuple[Mapping[str, str], ...] = ()
    more: tuple[str, ...] = ()
    exchanges: tuple[Mapping[str, Any], ...] = ()
    frame: Mapping[str, Any] = field(default_factory=dict)  # how the question was read
    engine: str = ""  # what ran the queries: sparql, or adjacency above the bound of cost

    def to_json(self) -> dict[str, Any]:
        """Return the trace as the answer's JSON holds it."""
        return {
            "queries": list(self.queries),
            "relation_paths": [list(path) for path in self.relation_paths],
            "prompts": list(self.prompts),
            "rounds": self.rounds,
            "milliseconds": {name: round(ms, 2) for name, ms in self.milliseconds},
            "notes": list(self.notes),
            "asked": dict(self.asked),
            "steps": [dict(step) for step in self.steps],
            "claims": [{"claim": claim, "score": round(score, 6)} for claim, score in self.claims],
            "texts": [dict(text) for text in self.texts],
            "more_evidence": list(self.more),
            "exchanges": [dict(exchange) for exchange in self.exchanges],
            "frame": dict(self.frame),
            "engine": self.engine,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and everything needed to check it."""

    question: str
    language: str
    method: str
    release: str
    sentences: tuple[Sentence, ...]
    text: str  # Markdown with [1] marks
    citations: tuple[Citation, ...] = ()
    paths: tuple[Path, ...] = ()
    linked: tuple[Mention, ...] = ()
    recommendations: tuple[Recommendation, ...] = ()
    warnings: tuple[SafetyWarning, ...] = ()
    follow_up: tuple[str, ...] = ()
    abstained: bool = False
    missing: tuple[str, ...] = ()
    model: str | None = None
    verdict: Verdict = Verdict("not_on_record", "")
    trace: Trace = field(default_factory=Trace)
    model_fault: str = ""  # why the configured model failed, where it did

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``shiyi ask --json`` and ``POST /api/ask``."""
        return {
            "question": self.question,
            "language": self.language,
            "method": self.method,
            "model": self.model,
            "model_fault": self.model_fault or None,
            "release": self.release,
            "answer": self.text,
            "sentences": [{"text": s.text, "claims": list(s.claims)} for s in self.sentences],
            "citations": [citation.to_json() for citation in self.citations],
            "evidence_counts": {
                kind.value: sum(e.kind == kind for c in self.citations for e in c.evidence)
                for kind in EvidenceKind
            },
            "paths": [path.to_json() for path in self.paths],
            "linked": [mention.to_json(self.language) for mention in self.linked],
            "recommendations": [
                {"iri": r.iri, "label": r.label, "kind": r.kind, "claims": list(r.claims)}
                for r in self.recommendations
            ],
            "warnings": [
                {"severity": w.severity, "text": w.text, "claims": list(w.claims)}
                for w in self.warnings
            ],
            "follow_up": list(self.follow_up),
            "abstained": self.abstained,
            "missing": list(self.missing),
            "verdict": self.verdict.to_json(),
            "frame": dict(self.trace.frame) or None,
            "trace": self.trace.to_json(),
        }
