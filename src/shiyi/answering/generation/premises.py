"""Claims of a base as premises: every name of both ends, and what the evidence adds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.severity import CAREFUL
from shiyi.model.answer import Citation
from shiyi.model.rdf import local_name

_SAFETY: Final = frozenset({
    "interactsWith", "contraindicatedIn", "cautionIn", "unsuitableFood", "incompatibleWith",
    "opposes", "fears", "hasAdverseReaction", "hasToxicity", "confusedWith",
})  # fmt: skip
PURPORTED: Final = "purported use"
_DOUBTFUL: Final = frozenset({"insufficient", "ineffective"})
_NOTES: Final = frozenset({
    "note_zh", "note_en", "amount", "dose", "duration", "population", "grade",
})  # fmt: skip
_GRAVE: Final = ("contraindicated", "caution", "monitor")


@dataclass(frozen=True, slots=True)
class Premise:
    """What a claim states, as far as a sentence may repeat it.

    ``subject`` and ``object`` are all names of the two ends, ``notes`` all texts that the claim's
    evidence adds (notes, amounts, in both languages). ``relation`` is the local name of the
    property; ``source`` the identifiers of its sources.
    """

    subject: frozenset[str]
    relation: str
    object: frozenset[str]
    polarity: str = "positive"
    rating: str = ""
    severity: str = ""
    grade: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""
    opposed: bool = False  # stands for the contrary of the claim, to find what contradicts it

    @property
    def is_safety(self) -> bool:
        """Return whether the claim is about a harm."""
        return self.relation in _SAFETY and self.polarity == "positive"

    @property
    def is_doubtful(self) -> bool:
        """Return whether the claim itself says that the effect is not shown."""
        return self.rating in _DOUBTFUL or self.grade == PURPORTED

    def contrary(self) -> str:
        """Return the key of the words that deny the claim."""
        if self.polarity == "positive" and self.relation in _SAFETY:
            return "opposed:harm"
        return "opposed:doubt" if self.is_doubtful else "opposed:benefit"

    def required_keys(self) -> frozenset[str]:
        """Return the keys of which one has to be stated by a cue."""
        if self.opposed:
            return frozenset({self.contrary()})
        if self.polarity == "negative":
            return frozenset({"denied"})
        if self.grade == PURPORTED:
            return frozenset({"purported"})
        if self.rating in _DOUBTFUL or self.rating == "possible":
            return frozenset({f"rating:{self.rating}"})
        return frozenset(
            {self.relation, self.rating, self.severity, f"rating:{self.rating}"} - {""}
        )


def premise_of(citation: Citation, names: Callable[[str], Iterable[str]]) -> Premise:
    """Return a cited claim as a premise; where sources grade it differently, the gravest.

    ``names`` returns names of a concept besides the label of the citation.
    """
    values: dict[str, list[str]] = {}
    for evidence in citation.evidence:
        for name, value in evidence.qualifiers:
            values.setdefault(name, []).append(value)
    ends = (citation.subject, citation.object)
    subject, object_ = ({end.label, *names(end.iri)} for end in ends)
    relation = local_name(citation.predicate.iri)
    rating = _first(values.get("rating", ()), CAREFUL)
    # an effect that was studied, or denied, is stated by its rating
    studied = relation in ("isEffectiveFor", "studiedFor") and bool(rating)
    return Premise(
        frozenset(subject),
        "isEffectiveFor" if studied else relation,
        frozenset(object_),
        "positive" if studied else citation.polarity,
        rating,
        _first(values.get("severity", ()), _GRAVE),
        next(iter(values.get("grade", ())), ""),
        tuple(value for name in sorted(_NOTES & values.keys()) for value in values[name]),
        " ".join(dict.fromkeys(each.source for each in citation.evidence)),
    )


def _first(values: Iterable[str], order: Iterable[str]) -> str:
    present = set(values)
    return next((each for each in order if each in present), "")
