"""Live reviews, skips and assignments by claim, and the agreement of reviewers."""

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from shiyi.curation.changes import REVIEWS, Change, agent
from shiyi.curation.reviews import REVIEWING, settled_reviews
from shiyi.model.rdf import text
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.reasoning.confidence.reviews import SETTLES, krippendorff_alpha
from shiyi.sparql.store.port import QuadStore

_AGENT = agent("").value
_KINDS = REVIEWING | {"skip", "comment", "assign"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """One live act of one person on one claim; ``agreement`` counts for reviews alone."""

    change: str
    number: int
    kind: str
    who: str
    when: str
    claim: str
    agreement: float = 0.0
    audience: str = ""  # to whom the claim was assigned


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two or more reviewers above chance; None where it is undefined.

    ``alpha`` is Krippendorff's for interval data (Hayes and Krippendorff 2007); ``kappa`` is
    Cohen's for the decisions accept, unsure and reject of each pair (Cohen 1960).
    """

    claims: int
    alpha: float | None
    kappa: Mapping[tuple[str, str], tuple[float, int]]


class Opinions:
    """Every live review, skip and assignment, by claim; synchronized by listening to changes."""

    def __init__(self, store: QuadStore) -> None:
        self._store, self._lock = store, threading.Lock()
        self._all: dict[str, Opinion] = {}
        self._takers: dict[str, list[str]] = defaultdict(list)
        self._by_claim: dict[str, list[str]] = defaultdict(list)
        self._read()

    def __call__(self, created: Sequence[Change]) -> None:
        """Add new changes."""
        with self._lock:
            for change in created:
                if change.reverses:
                    self._takers[change.reverses].append(change.iri)
                for review in settled_reviews(change):
                    self._takers[review].append(change.iri)
                if change.kind in _KINDS:
                    for claim in change.about:
                        self._store_opinion(
                            Opinion(
                                change.iri,
                                change.number,
                                change.kind,
                                change.who,
                                change.when,
                                claim,
                                float(change.note(SHIYI.agreement) or 0),
                                change.note(DCTERMS.audience).removeprefix(_AGENT),
                            )
                        )

    def of(self, claim: str) -> dict[str, Opinion]:
        """Return each reviewer's latest live review of a claim."""
        results: dict[str, Opinion] = {}
        for opinion in self._live(claim):
            if opinion.kind in REVIEWING:
                results[opinion.who] = opinion
        return results

    def assignee(self, claim: str) -> str:
        """Return the latest assignee of a claim, or the empty text."""
        return next((e.audience for e in reversed(self._live(claim)) if e.kind == "assign"), "")

    def done_by(self, agent: str) -> set[str]:
        """List the claims that somebody reviewed."""
        return {claim for claim, result in self._load_reviewed().items() if agent in result}

    def skipped_by(self, agent: str) -> set[str]:
        """List the claims that somebody left to others."""
        return {e.claim for e in self._all.values() if e.kind == "skip" and e.who == agent}

    def assigned_to(self, agent: str) -> set[str]:
        """List the claims that wait for somebody."""
        claims = {e.claim for e in self._all.values() if e.kind == "assign" and e.audience == agent}
        return {claim for claim in claims if self.assignee(claim) == agent}

    def reviewed_claims(self) -> set[str]:
        """List the claims that anybody reviewed."""
        return set(self._load_reviewed())

    def disputed_claims(self) -> dict[str, dict[str, Opinion]]:
        """Return the claims on which one reviewer is for and another against."""
        return {
            claim: result
            for claim, result in self._load_reviewed().items()
            if min(e.agreement for e in result.values())
            < 0
            < max(e.agreement for e in result.values())
        }

    def progress(self) -> tuple[Counter[str], Counter[str]]:
        """Count live reviews by reviewer, and by day."""
        people: Counter[str] = Counter()
        days: Counter[str] = Counter()
        for result in self._load_reviewed().values():
            for opinion in result.values():
                people[opinion.who] += 1
                days[datetime.fromisoformat(opinion.when).date().isoformat()] += 1
        return people, days

    def agreement(self) -> Agreement:
        """Measure agreement over the claims that at least two people reviewed."""
        opinions = {c: result for c, result in self._load_reviewed().items() if len(result) > 1}
        people = sorted({reviewer for result in opinions.values() for reviewer in result})
        table = np.full((len(people), len(opinions)), np.nan)
        for j, claim in enumerate(sorted(opinions)):
            for reviewer, opinion in opinions[claim].items():
                table[people.index(reviewer), j] = opinion.agreement
        alpha = krippendorff_alpha(table, "interval")
        pairs = {}
        for i, one in enumerate(people):
            for j, other in enumerate(people[i + 1 :], i + 1):
                both = ~np.isnan(table[i]) & ~np.isnan(table[j])
                kappa = cohen_kappa(
                    np.sign(table[i][both]).tolist(), np.sign(table[j][both]).tolist()
                )
                if kappa is not None:
                    pairs[one, other] = (kappa, int(both.sum()))
        return Agreement(len(opinions), alpha, pairs)

    def _live(self, claim: str) -> list[Opinion]:
        results = [self._all[iri] for iri in self._by_claim.get(claim, ()) if self._stands(iri)]
        return sorted(results, key=lambda opinion: opinion.number)

    def _stands(self, iri: str) -> bool:
        return not any(self._stands(taker) for taker in self._takers.get(iri, ()))

    def _load_reviewed(self) -> dict[str, dict[str, Opinion]]:
        with self._lock:
            claims = list(self._by_claim)
        return {claim: result for claim in claims if (result := self.of(claim))}

    def _store_opinion(self, opinion: Opinion) -> None:
        self._all[opinion.change] = opinion
        self._by_claim[opinion.claim].append(opinion.change)

    def _read(self) -> None:
        """Read the reviews graph column by column, which is faster than change by change."""
        store = self._store

        def column(predicate: object) -> dict[str, str]:
            quads = store.match(None, predicate, None, REVIEWS)  # type: ignore[arg-type]
            return {text(q.subject): text(q.object) for q in quads}

        for predicate in (SHIYI.reverses, SETTLES):
            for quad in store.match(None, predicate, None, REVIEWS):
                self._takers[text(quad.object)].append(text(quad.subject))
        kinds, agent, when = (
            column(DCTERMS.type),
            column(PROV.wasAttributedTo),
            column(PROV.generatedAtTime),
        )
        numbers, claims = column(SHIYI.changeNumber), column(DCTERMS.subject)
        agreed, audience = column(SHIYI.agreement), column(DCTERMS.audience)
        for iri, kind in kinds.items():
            whole = iri in claims and iri in agent and iri in numbers and iri in when
            if kind in _KINDS and whole:  # what others wrote into the graph may lack anything
                self._store_opinion(
                    Opinion(
                        iri,
                        int(numbers[iri]),
                        kind,
                        agent[iri].removeprefix(_AGENT),
                        when[iri],
                        claims[iri],
                        float(agreed.get(iri, 0)),
                        audience.get(iri, "").removeprefix(_AGENT),
                    )
                )


def cohen_kappa(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Cohen's kappa of two people's decisions on the same claims; None without any spread.

    >>> cohen_kappa([1, 1, -1, -1], [1, 1, -1, 1])
    0.5
    """
    n = len(one)
    if not n:
        return None
    same = sum(a == b for a, b in zip(one, other, strict=True)) / n
    by_chance = sum(one.count(x) * other.count(x) for x in set(one) | set(other)) / n**2
    return None if by_chance == 1 else round((same - by_chance) / (1 - by_chance), 6)
