"""The upper part of a concept page: properties, effects, interactions and status at a glance."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Final

from shiyi.answering.knowledge.severity import INTERACTIONS
from shiyi.model.claim import OPENED_KINDS
from shiyi.model.iris import graph
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.reasoning.confidence.reviews import KINDS
from shiyi.server.views.reader import DERIVED, EvidenceView, Reader, SourceView, Statement, Thing

_SCALE: Final = {
    "very-cold": -4, "cold": -3, "cool": -2, "slightly-cold": -1, "neutral": 0, "slightly-warm": 1,
    "warm": 2, "hot": 3, "very-hot": 4,
}  # fmt: skip
_OUTCOMES: Final = (
    "isEffectiveFor", "studiedFor", "indicatedFor", "relieves", "hasEfficacy", "suitableFood",
    "hasTreatmentPrinciple",
)  # fmt: skip
_STUDIED: Final = "studiedFor"
_HELPFUL: Final = frozenset(_OUTCOMES) - {_STUDIED}
_INTERACTIONS: Final = ("interactsWith", "incompatibleWith", "opposes", "fears")
_TRADITION: Final = frozenset({"incompatibleWith", "opposes", "fears"})  # named by their books
_AGAINST: Final = ("contraindicatedIn", "cautionIn")
_MADE: Final = (
    "consumptionMethod", "cookingMethod", "processing", "preparedBy", "usesPart",
)  # fmt: skip
_RANKS: Final = ("effective", "likely", "possible", "", "insufficient", "ineffective")
_PROPERTIES: Final = ("hasNature", "hasFlavour", "hasMeridianTropism")
_STANDING: Final = ("regulatoryStatus", "ruleText")
TAKEN: Final = frozenset(
    {*_OUTCOMES[:5], *_INTERACTIONS, *_MADE, *_PROPERTIES, *_STANDING,
     "potentiallyInteractsWith", "derivedCaution"}
)  # fmt: skip
READ: Final = 40  # claims of a table with their sources; more are in the data
_REVIEWS: Final = graph("reviews")
_WHEN_WHO: Final = (PROV.generatedAtTime, PROV.wasAttributedTo)


@dataclass(frozen=True, slots=True)
class SupportedClaim:
    """A claim with its rating and the works behind it, those opened first."""

    statement: Statement
    rating: str
    sources: tuple[tuple[SourceView, bool], ...]
    note: str = ""

    @property
    def is_studied(self) -> bool:
        """Return whether it says that something was studied, not that it works."""
        return self.statement.predicate == _STUDIED

    @property
    def opened_count(self) -> int:
        """Count the sources that were opened."""
        return sum(opened for _, opened in self.sources)


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """How many claims of a page have a review, and the last one."""

    claims: int = 0
    person: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """What a reader wants of a concept first."""

    natures: tuple[tuple[float, float, Statement], ...]  # places on a half circle of radius 1
    flavours: tuple[Statement, ...]
    channels: tuple[Statement, ...]
    standing: tuple[SupportedClaim, ...]
    preparation: tuple[Statement, ...]
    outcomes: tuple[SupportedClaim, ...]
    interactions: tuple[tuple[str, tuple[SupportedClaim, ...]], ...]
    inferred: tuple[tuple[Thing, tuple[Statement, ...]], ...]
    against: tuple[Statement, ...]
    helped_by: tuple[Statement, ...]
    suits: tuple[Statement, ...]  # foods for those who have it
    avoids: tuple[Statement, ...]
    red_flags: tuple[Statement, ...]
    reviewed: ReviewSummary

    @property
    def sources(self) -> int:
        """Count the works behind the table of effects."""
        return len({source.title for claim in self.outcomes for source, _ in claim.sources})

    def uses(self, limit: int = 3) -> tuple[str, ...]:
        """Name the effects and uses that rest on most; what was only studied is none."""
        good = (s for s in self.outcomes if not s.statement.negative and not s.is_studied)
        fit = [claim for claim in good if claim.rating not in {"ineffective", "insufficient"}]
        return tuple(dict.fromkeys(claim.statement.other.label for claim in fit))[:limit]

    def studied_topics(self, limit: int = 3) -> tuple[str, ...]:
        """Name what it was studied for without a result that stands."""
        results = (s.statement.other.label for s in self.outcomes if s.is_studied)
        return tuple(dict.fromkeys(results))[:limit]

    def cautions(self, limit: int = 3) -> tuple[str, ...]:
        """Name who may not, or should take care, the gravest first."""
        return tuple(dict.fromkeys(statement.other.label for statement in self.against))[:limit]


def overview(reader: Reader, statements: Sequence[Statement]) -> Overview:
    """Gather the first things of a page from its claims."""
    by: dict[str, list[Statement]] = defaultdict(list)
    for each in sorted(statements, key=lambda s: (s.derived, -s.confidence, s.other.label)):
        if each.forward or each.predicate in _INTERACTIONS or each.derived:
            by[each.predicate].append(each)
    mine = {name: [each for each in found if each.forward] for name, found in by.items()}
    natures = [each for each in mine.get("hasNature", ()) if not each.negative]
    places = {each: _SCALE.get(local_name(each.object.iri).partition("-")[2]) for each in natures}
    outcomes = [each for name in _OUTCOMES[:5] for each in mine.get(name, ()) if not each.derived]
    standing = [s for name in _STANDING for s in mine.get(name, ())]
    related = [s for name in _INTERACTIONS for s in by.get(name, ())]
    related = [s for s in related if not (s.negative or s.derived)]
    reader.load_grounds(s.claim for s in (*outcomes[:READ], *standing, *related))
    effects = sorted((load_support(reader, each) for each in outcomes[:READ]), key=_weight)
    return Overview(
        natures=tuple((*_place(at), each) for each, at in places.items() if at is not None),
        flavours=tuple(mine.get("hasFlavour", ())),
        channels=tuple(mine.get("hasMeridianTropism", ())),
        standing=tuple(load_support(reader, s) for s in standing),
        preparation=filter_by_language(reader, [s for name in _MADE for s in mine.get(name, ())]),
        outcomes=tuple(effects),
        interactions=_interactions(reader, related),
        inferred=_by_rule(
            reader, [*by.get("derivedCaution", ()), *by.get("potentiallyInteractsWith", ())]
        ),
        against=tuple(s for name in _AGAINST for s in mine.get(name, ()) if not s.negative),
        helped_by=tuple(
            s for s in statements if s.predicate in _HELPFUL and not (s.forward or s.negative)
        ),
        suits=tuple(s for s in mine.get("suitableFood", ()) if not (s.negative or s.derived)),
        avoids=tuple(s for s in mine.get("unsuitableFood", ()) if not (s.negative or s.derived)),
        red_flags=tuple(mine.get("hasRedFlag", ())),
        reviewed=_review_summary(reader, statements),
    )


def _place(at: int) -> tuple[float, float]:
    """Return where a nature stands on the half circle: very cold left, very hot right."""
    turn = pi * (at + 4) / 8
    return -cos(turn), sin(turn)


def _weight(claim: SupportedClaim) -> tuple[bool, int, int, float]:
    rank = _RANKS.index(claim.rating) if claim.rating in _RANKS else _RANKS.index("")
    return claim.statement.negative, rank, -claim.opened_count, -claim.statement.confidence


def load_support(reader: Reader, statement: Statement) -> SupportedClaim:
    """Read what a claim rests on."""
    views = list(reader.grounds(NamedNode(statement.claim)))
    works: dict[str, tuple[SourceView, bool]] = {}
    for view in views:
        known = works.get(view.source.iri)
        works[view.source.iri] = view.source, view.kind in OPENED_KINDS or bool(known and known[1])
    ordered = sorted(works.values(), key=lambda pair: (not pair[1], pair[0].title))
    note = next((note for each in views for note in each.notes), "")
    return SupportedClaim(statement, _most_careful_rating(views), tuple(ordered), note)


def _most_careful_rating(evidence: Iterable[EvidenceView]) -> str:
    """Return the most careful rating: of an interaction the gravest, of an effect the weakest."""
    given = [value for view in evidence for name, value in view.qualifiers if name == "rating"]
    grave = [term for term in INTERACTIONS if term in given]
    weak = [term for term in reversed(_RANKS) if term and term in given]
    return next(iter(grave or weak), "")


def _interactions(
    reader: Reader, statements: Sequence[Statement]
) -> tuple[tuple[str, tuple[SupportedClaim, ...]], ...]:
    groups: dict[str, list[SupportedClaim]] = defaultdict(list)
    for statement in statements:
        read = load_support(reader, statement)
        grave = "contraindicated" if statement.predicate in _TRADITION else "unrated"
        groups[read.rating or grave].append(read)
    return tuple((name, tuple(groups[name])) for name in INTERACTIONS if name in groups)


def _by_rule(
    reader: Reader, statements: Sequence[Statement]
) -> tuple[tuple[Thing, tuple[Statement, ...]], ...]:
    groups: dict[str, list[Statement]] = defaultdict(list)
    # no other property of these claims is shown, and they are many
    claims = [NamedNode(statement.claim) for statement in statements]
    rules: dict[str, str] = {}
    for quad in reader.store.match_each(claims, SHIYI.derivedBy, DERIVED):
        rules.setdefault(text(quad.subject), text(quad.object))
    for each in statements:
        groups[rules.get(each.claim, "")].append(each)
    named = ((reader.thing(NamedNode(rule)), group) for rule, group in groups.items() if rule)
    return tuple((rule, tuple(group)) for rule, group in named)


def filter_by_language(reader: Reader, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Drop texts of the other language where there is one in the reader's."""
    local = {s.predicate for s in statements if s.object.language == reader.language}
    fits = {"", reader.language}
    return tuple(s for s in statements if s.object.language in fits or s.predicate not in local)


def _review_summary(reader: Reader, statements: Iterable[Statement]) -> ReviewSummary:
    nodes = [NamedNode(statement.claim) for statement in statements]
    about = list(reader.store.match_each((), DCTERMS.subject, _REVIEWS, nodes))
    read = reader.describe(quad.subject for quad in about if isinstance(quad.subject, NamedNode))
    reviews = {n for n in read if reader.value(n, DCTERMS.type, _REVIEWS) in KINDS}
    last = [tuple(reader.value(n, term, _REVIEWS) for term in _WHEN_WHO) for n in reviews]
    when, who = max(last, default=("", ""))
    claims = {quad.object for quad in about if quad.subject in reviews}
    return ReviewSummary(len(claims), who.rpartition("/")[2], when)
