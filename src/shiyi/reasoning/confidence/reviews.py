"""Reviews moving a confidence; inter-rater agreement.

Computed by coincidences: K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011.
Our own, since the package of that name is under the GPL.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError, UsageError
from shiyi.model.claim import CEILING, Confidence, fuse
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.sparql.store.port import QuadStore

DECAY = 0.5  # what is left of a retracted source's vote (Shiyi's)


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's agreement with one claim, from -1 (wrong) over 0 (unsure) to 1 (right)."""

    reviewer: str
    agreement: float

    def __post_init__(self) -> None:
        if not -1.0 <= self.agreement <= 1.0:  # also refuses NaN
            raise RangeError(f"a reviewer's agreement lies in [-1, 1], not at {self.agreement}")
        if not self.reviewer:
            raise UsageError("a review names its reviewer")


@dataclass(frozen=True, slots=True)
class Vote:
    """What one source says of one claim; ``lineage`` groups sources that copy one another."""

    source: str
    lineage: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ConfidenceInputs:
    """Everything one claim's confidence is made of; a new value for each change, so undo is exact.

    >>> goji = ConfidenceInputs((Vote("book", "book", 0.8),))
    >>> round(goji.with_review(Review("li", 0.5)).confidence, 6)
    0.7875
    """

    votes: tuple[Vote, ...]
    reviews: Mapping[str, Review] = field(default_factory=lambda: MappingProxyType({}))
    retracted: frozenset[str] = frozenset()

    @property
    def prior(self) -> float:
        """Compute the confidence, in [0, 1], from votes and retractions alone."""
        return fuse(
            (vote.lineage, Confidence(vote.confidence * self._weight(vote))) for vote in self.votes
        ).value

    @property
    def confidence(self) -> float:
        """Recompute the confidence, in [0, 1], from votes, retractions and reviews."""
        return apply_reviews(self.prior, agreement(self.reviews.values()), len(self.reviews))

    def with_review(self, review: Review) -> "ConfidenceInputs":
        """Add a review; a reviewer's later one takes the place of the earlier."""
        reviews = MappingProxyType({**self.reviews, review.reviewer: review})
        return ConfidenceInputs(self.votes, reviews, self.retracted)

    def _weight(self, vote: Vote) -> float:
        return DECAY if vote.source in self.retracted else 1.0


def agreement(reviews: Iterable[Review]) -> float:
    """Return the mean agreement of several reviewers, in [-1, 1]; 0 without reviews.

    The order they came in does not matter.

    >>> agreement([Review("li", 1.0), Review("wang", -1.0)])
    0.0
    """
    values = sorted(review.agreement for review in reviews)
    return sum(values) / len(values) if values else 0.0


def apply_reviews(confidence: float, agreed: float, reviewers: int = 1) -> float:
    """Return a confidence moved by the mean agreement ``r`` of ``n`` reviewers.

    It goes from ``c`` toward ``(r + 1) / 2`` by the share ``w = |r| * (1 - 2 ** -n)`` of the way:
    one reviewer goes half of it at most, two agreeing ones three quarters; nobody reaches 1.

    >>> (
    ...     apply_reviews(0.6, 1.0),
    ...     apply_reviews(0.6, 0.0),
    ...     apply_reviews(0.6, -1.0),
    ...     apply_reviews(0.6, 1.0, 2),
    ... )
    (0.8, 0.6, 0.3, 0.9)
    """
    before = Confidence(confidence).value
    if not -1.0 <= agreed <= 1.0:
        raise RangeError(f"an agreement lies in [-1, 1], not at {agreed}")
    weight = abs(agreed) * (1.0 - 0.5 ** max(reviewers, 1))
    after = (1.0 - weight) * before + weight * (agreed + 1.0) / 2.0
    return min(max(before, CEILING), max(0.0, after))


REVIEWS: Final = graph("reviews")
_WAITING: Final = (graph("candidates"), graph("quarantine"))  # the nearer to acceptance first
KINDS: Final = frozenset({"accept", "reject", "unsure"})
_AGENT: Final = resource("agent/x").value[:-1]


def list_reviews(store: QuadStore, claim: str) -> tuple[Review, ...]:
    """List each reviewer's latest review of a claim that nobody took back, the oldest first.

    A safety claim that waits for a second reviewer has reviews that have not moved it yet.
    """
    latest: dict[str, tuple[int, Review]] = {}
    for quad in store.match(None, DCTERMS.subject, NamedNode(claim), REVIEWS):
        values = {
            q.predicate: text(q.object)
            for q in store.match(NamedNode(text(quad.subject)), None, None, REVIEWS)
        }
        if values.get(DCTERMS.type) not in KINDS or not is_live(store, text(quad.subject)):
            continue
        who = values.get(PROV.wasAttributedTo, "").removeprefix(_AGENT)
        number = int(values.get(SHIYI.changeNumber, "0"))
        if who and number > latest.get(who, (0, None))[0]:
            latest[who] = number, Review(who, float(values.get(SHIYI.agreement, "0")))
    return tuple(review for _, review in sorted(latest.values(), key=lambda row: row[0]))


def graphs_with_waiting(places: Iterable[object], *, attaching: bool = False) -> frozenset[object]:
    """Return those of a claim's graphs in which evidence waits for review, and does not count yet.

    With ``attaching`` the candidates count too, as they do once the claim is accepted.
    """
    results = frozenset(places)
    ahead = [DefaultGraph(), *_WAITING]
    first = next((at for at, place in enumerate(ahead) if place in results), len(ahead))
    return results.intersection(ahead[max(first + 1, 2 if attaching else 0) :])


def load_inputs(
    store: QuadStore,
    claim: str,
    reviews: Iterable[Review] | None = None,
    *,
    attaching: bool = False,
    without: Container[object] = (),
) -> ConfidenceInputs:
    """Return what a claim's confidence is made of, read from its evidence and its reviews alone.

    Its ``confidence`` is what stepwise reviews and undoing led to, save for a safety claim that
    waits for a second reviewer, and for a claim of a retracted source, which decays. With
    ``reviews`` these count, not those of the store. Evidence that waits for review does not count,
    but with ``attaching``, nor that of nodes in ``without``. Raise ``UsageError`` for no evidence.
    """
    votes = []
    links = list(store.match(NamedNode(claim), SHIYI.evidence))
    waiting = graphs_with_waiting((link.graph_name for link in links), attaching=attaching)
    for link in links:
        if link.graph_name in waiting or link.object in without:
            continue
        values = {
            q.predicate: text(q.object)
            for q in store.match(NamedNode(text(link.object)))
            if q.graph_name == link.graph_name
        }
        source = values.get(DCTERMS.source, "")
        if source and SHIYI.extractionConfidence in values:
            kin = next(iter(store.match(NamedNode(source), SHIYI.lineage)), None)
            lineage = text(kin.object) if kin else source
            votes.append(Vote(source, lineage, float(values[SHIYI.extractionConfidence])))
    if not votes:
        raise UsageError(f"{claim} has no evidence: it has no confidence and cannot be reviewed")
    gone = frozenset(vote.source for vote in votes if is_retracted(store, vote.source))
    latest = {
        each.reviewer: each for each in (list_reviews(store, claim) if reviews is None else reviews)
    }
    return ConfidenceInputs(tuple(votes), MappingProxyType(latest), gone)


def list_reviewed(store: QuadStore) -> frozenset[str]:
    """List the claims that have a review which nobody took back."""
    asked = {text(q.object) for q in store.match(None, DCTERMS.subject, None, REVIEWS)}
    return frozenset(claim for claim in asked if list_reviews(store, claim))


def compute_decayed(store: QuadStore) -> Mapping[str, float]:
    """Return the recomputed confidence of each claim that a retracted source states.

    A source is retracted where any graph says ``shiyi:status shiyi:retracted`` of it.
    """
    results: dict[str, float] = {}
    for status in store.match(None, SHIYI.status, SHIYI.retracted):
        for evidence in store.match(None, DCTERMS.source, status.subject):
            for link in store.match(None, SHIYI.evidence, evidence.subject):
                claim = text(link.subject)
                if claim not in results:
                    results[claim] = load_inputs(store, claim).confidence
    return results


def is_retracted(store: QuadStore, source: str) -> bool:
    """Return whether a source was retracted: whether any graph says so of it."""
    return any(store.match(NamedNode(source), SHIYI.status, SHIYI.retracted))


SETTLES: Final = DCTERMS.replaces  # of a review that settles a dispute: the reviews against it


def is_live(store: QuadStore, change: str) -> bool:
    """Return whether no change that stands reverses this one, or settles a dispute against it."""
    return not any(
        is_live(store, text(quad.subject))
        for predicate in (SHIYI.reverses, SETTLES)
        for quad in store.match(None, predicate, NamedNode(change), REVIEWS)
    )


Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: NDArray[np.float64], level: Level) -> float | None:
    """Return alpha of ``ratings``, one row a rater, one column a unit, NaN where nobody rated.

    1 is full agreement, 0 what chance gives, below 0 is disagreement. None where no unit has two
    ratings or all that are compared are equal: nothing can be stated then.

    >>> both = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> krippendorff_alpha(both, "nominal")
    1.0
    """
    paired = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    values = np.unique(paired[~np.isnan(paired)])
    if len(values) < 2:
        return None
    counts = np.stack([(paired == value).sum(axis=0) for value in values], axis=1).astype(float)
    rated = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    coincidences = (pairs / (rated - 1)[:, None, None]).sum(axis=0)
    totals = coincidences.sum(axis=0)
    distance = _distance(values, totals, level)
    observed = float((coincidences * distance).sum())
    expected = float((np.outer(totals, totals) * distance).sum()) / (totals.sum() - 1)
    return float(1.0 - observed / expected)


def _distance(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    place = values
    if level == "ordinal":  # ranks: all below, and half of those that say the same
        place = np.cumsum(totals) - totals / 2
    return np.asarray((place[:, None] - place[None, :]) ** 2)
