"""Pivots of an answer: the smallest sets of claims that decide its verdict and recommendations.

Each set is verified: the question is repeated without its claims, or with a candidate.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.knowledge.updates import candidates
from shiyi.answering.pipeline import AskRequest, ask
from shiyi.answering.runtime import Runtime
from shiyi.model.answer import Answer, Citation, Recommendation

VERDICT, RECOMMENDATION = "verdict", "recommendation"
_WIDEST: Final = 3  # claims of a set
_ASKS: Final = 60  # questions asked for one answer
_ADDED: Final = 10  # candidates that are tried


@dataclass(frozen=True, slots=True)
class Pivot:
    """Claims that change an outcome together: where they are rejected, or where one is accepted.

    ``outcome`` is the verdict or one recommendation; ``now`` and ``then`` are its values: kinds
    of verdict with their severity, or labels of what is recommended, empty where nothing is.
    """

    outcome: str
    change: str  # reject or accept
    claims: tuple[Citation, ...]
    now: str
    then: str

    def to_json(self) -> dict[str, Any]:
        """Return outcome, change, claims and both values."""
        return {
            "outcome": self.outcome,
            "change": self.change,
            "claims": [citation.to_json() for citation in self.claims],
            "now": self.now,
            "then": self.then,
        }


@dataclass(frozen=True, slots=True)
class Pivots:
    """All pivots of an answer; ``complete`` unless the questions allowed were used up."""

    pivots: tuple[Pivot, ...]
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """Return the pivots, and whether all sets of up to three claims were looked at."""
        return {"pivots": [pivot.to_json() for pivot in self.pivots], "complete": self.complete}


def find_pivots(runtime: Runtime, request: AskRequest, asks: int = _ASKS) -> Pivots:
    """Return the smallest sets of up to three claims that decide what an answer says."""
    search = _Search(runtime, request, asks)
    answer, pivots = search.base, list[Pivot]()
    for recommendation in answer.recommendations:
        pivots += search.rejections(RECOMMENDATION, recommendation.label, recommendation)
    verdict = search.rejections(VERDICT, _verdict(answer))
    return Pivots((*verdict, *pivots, *search.additions()), search.complete)


@dataclass
class _Search:
    """Answers of one question without some claims, each asked once."""

    runtime: Runtime
    request: AskRequest
    asks: int
    complete: bool = True
    _answers: dict[frozenset[str], Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = ask(self.runtime, self.request)
        self._answers[frozenset()] = self.base
        self._derived: dict[str, set[str]] = {}
        for claim, grounds in self.runtime.facts.premises.items():
            for ground in grounds:
                self._derived.setdefault(ground, set()).add(claim)

    def rejections(
        self, outcome: str, now: str, target: Recommendation | None = None
    ) -> Iterator[Pivot]:
        """Yield the smallest sets of claims without which an outcome is another."""
        front = [frozenset[str]()]
        for _ in range(_WIDEST):
            nodes = dict.fromkeys(
                node | {claim} for node in front for claim in self._rests_on(node, target) - node
            )
            front, results = [], list[tuple[frozenset[str], str]]()
            for node in nodes:
                answer = self._repeat(node)
                if answer is None:
                    break
                labels = (r.label for r in answer.recommendations if target and r.iri == target.iri)
                then = _verdict(answer) if target is None else next(labels, "")
                if then == now:
                    front.append(node)
                else:
                    results.append((node, then))
            if results or not front:
                for node, then in results:
                    facts = (self.runtime.facts.by_claim[iri][0] for iri in sorted(node))
                    yield Pivot(outcome, "reject", self._cite(facts), now, then)
                return

    def additions(self) -> Iterator[Pivot]:
        """Yield the candidates that change the verdict or a recommendation if accepted."""
        about = {m.iri for m in self.base.linked if m.iri}
        about |= {recommendation.iri for recommendation in self.base.recommendations}
        now = {VERDICT: _verdict(self.base), RECOMMENDATION: _labels(self.base)}
        facts = [f for f in candidates(self.runtime.store) if {f.subject, f.object} & about]
        self.complete &= len(facts) <= _ADDED
        for fact in facts[:_ADDED]:
            answer = ask(self.runtime.with_changes((), (fact,)), self.request)
            then = {VERDICT: _verdict(answer), RECOMMENDATION: _labels(answer)}
            for outcome, value in then.items():
                if value != now[outcome]:
                    yield Pivot(outcome, "accept", self._cite((fact,)), now[outcome], value)

    def _repeat(self, claims: frozenset[str]) -> Answer | None:
        """Return the answer without claims and what is derived from them; None at the limit."""
        if claims not in self._answers:
            if len(self._answers) > self.asks:
                self.complete = False
                return None
            removed = set(claims).union(*(self._derived.get(claim, ()) for claim in claims))
            self._answers[claims] = ask(self.runtime.with_changes(removed, ()), self.request)
        return self._answers[claims]

    def _rests_on(self, withheld: frozenset[str], target: Recommendation | None) -> frozenset[str]:
        """Return the asserted claims that an outcome rests on while some are withheld."""
        answer = self._answers[withheld]
        if target is None:
            first = next((s.claims for s in answer.sentences if s.claims), ())
            claims: Iterable[str] = chain(first, self._gravest(answer))
        else:
            own = (r.claims for r in answer.recommendations if r.iri == target.iri)
            path_claims = (
                [h.claim for h in p.hops] for p in answer.paths if p.entities[-1] == target.iri
            )
            claims = chain.from_iterable((*own, *path_claims))
        premises = self.runtime.facts.premises
        return frozenset(chain.from_iterable(premises.get(claim) or (claim,) for claim in claims))

    def _gravest(self, answer: Answer) -> tuple[str, ...]:
        """Return the claims of the first warning, of several interactions of that rated gravest."""
        gravity = self.runtime.evidences.gravity
        warnings = [w for w in answer.warnings if w.severity == answer.warnings[0].severity]
        rated = [w.claims for w in warnings if w.claims]
        return min(rated, key=lambda claims: min(map(gravity, claims)), default=())

    def _cite(self, facts: Iterable[Fact]) -> tuple[Citation, ...]:
        cite, language = self.runtime.evidences.citation, self.base.language
        return tuple(cite(number, fact, language) for number, fact in enumerate(facts, 1))


def _verdict(answer: Answer) -> str:
    return " ".join(filter(None, (answer.verdict.kind, answer.verdict.severity)))


def _labels(answer: Answer) -> str:
    return ", ".join(recommendation.label for recommendation in answer.recommendations)
