"""The port of a method, what it is given and gives, and claims merged by rank."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from shiyi.answering.knowledge.facts import BENEFIT, Fact, Facts
from shiyi.answering.retrieval.library import Hit
from shiyi.answering.retrieval.passages import CLAIM, Unit
from shiyi.answering.retrieval.paths import RankedFact, Retrieval
from shiyi.answering.retrieval.planning import SCORERS
from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.question import Question
from shiyi.model.path import Hop, Path, diverse, score_paths
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

Method = Callable[["Query", Runtime, ChatModel | None], Retrieval]


@dataclass(frozen=True)
class Query:
    """A question as a method sees it.

    ``seeds`` are what advice is sought for, ``wanted`` the classes it may end in, ``k`` how many
    paths are stored and ``least`` what each hop of a benefit must be stored with.
    """

    parsed: Question
    seeds: tuple[str, ...]
    wanted: tuple[NamedNode, ...]
    advice: bool
    k: int
    least: float

    @property
    def text(self) -> str:
        """Return the question as it was asked."""
        return self.parsed.question

    @cached_property
    def concepts(self) -> tuple[str, ...]:
        """List what the question names and does not deny, then what it seeks advice for."""
        denied = set(self.parsed.absent)
        named = [m.iri for m in self.parsed.mentions if m.iri and not m.negated]
        ailments = (*self.parsed.ailments, *self.parsed.materials, *named, *self.seeds)
        return tuple(iri for iri in dict.fromkeys(ailments) if iri not in denied)

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Name the relations that the words of the question name."""
        return frozenset(self.parsed.frame.wanted.relations)

    @cached_property
    def kinds(self) -> Collection[str]:
        """Name the kinds of concept that the words of the question name."""
        return self.parsed.frame.wanted.kinds


HUB: Final = 3000  # Shiyi's: claims of one concept that a method looks at
RRF: Final = 60  # Cormack, Clarke and Büttcher 2009
_BENEFIT: Final = frozenset(node.value for node in BENEFIT)
_STEPS: Final = 4000  # hops looked at while claims are joined


def claims_at(facts: Facts, iri: str) -> tuple[Fact, ...]:
    """List the claims that were read at a concept, from either end; of a hub the surest."""
    both = [*facts.by_subject.get(iri, ()), *facts.by_object.get(iri, ())]
    if len(both) > HUB:
        both = heapq.nlargest(HUB, both, key=lambda f: (f.confidence, f.claim))
    return tuple({f.claim: f for f in both if not f.derived}.values())


def degree(facts: Facts, iri: str) -> int:
    """Count the claims at a concept."""
    return len(facts.by_subject.get(iri, ())) + len(facts.by_object.get(iri, ()))


def fuse(rankings: Iterable[Sequence[Fact]]) -> tuple[RankedFact, ...]:
    """Merge rankings by reciprocal rank: the sum of 1 / (60 + rank), best first."""
    total: dict[str, float] = defaultdict(float)
    facts: dict[str, Fact] = {}
    for ranking in rankings:
        for rank, fact in enumerate(ranking, 1):
            total[fact.claim] += 1 / (RRF + rank)
            facts.setdefault(fact.claim, fact)
    return rank_all(total, facts)


def rank_all(scores: Mapping[str, float], facts: Mapping[str, Fact]) -> tuple[RankedFact, ...]:
    """Rank claims by their scores."""
    ranked = sorted([(-score, claim) for claim, score in scores.items()])
    return tuple([RankedFact(facts[claim], -score) for score, claim in ranked])


def claims_in(runtime: Runtime, unit: Unit, limit: int = 5) -> tuple[Fact, ...]:
    """Return the claims that a recalled text bears, or leads to; a definition leads to its concept.

    A claim that was withdrawn since the index was made is left out.
    """
    facts = runtime.claims
    if unit.claims or unit.kind == CLAIM:
        return tuple(facts[claim] for claim in unit.claims if claim in facts)
    own = (f for f in runtime.facts.by_subject.get(unit.iri, ()) if not f.derived)
    return tuple(sorted(own, key=lambda f: (-f.confidence, f.claim)))[:limit]


def assemble(
    query: Query,
    runtime: Runtime,
    claims: Sequence[RankedFact],
    texts: Sequence[Unit] = (),
    steps: Sequence[Mapping[str, object]] = (),
    rounds: int = 0,
) -> Retrieval:
    """Assemble what a method found; its claims are joined to paths where advice is sought."""
    paths: tuple[Path, ...] = ()
    if query.advice:
        paths = join(query, runtime, [fact.fact for fact in claims])
    shown = diverse(paths, query.k)
    plans = dict.fromkeys(path.relations for path in shown)
    return Retrieval(
        paths, tuple(shown), tuple(plans), (), (), tuple(claims), tuple(texts), tuple(steps), rounds
    )


def join(query: Query, runtime: Runtime, facts: Iterable[Fact]) -> tuple[Path, ...]:
    """Join claims from the seeds to what is wanted: bridges first, one benefit last."""
    leaving: dict[str, list[Hop]] = defaultdict(list)
    for fact in facts:
        if fact.origin or fact.language or not fact.positive:
            continue  # what no curator has accepted recommends nothing
        if fact.confidence >= query.least:
            for end in (fact.subject, fact.object):
                leaving[end].append(fact.path(end).hops[0])
    paths: dict[tuple[str, ...], Path] = {}
    front: list[tuple[Hop, ...]] = [(hop,) for seed in query.seeds for hop in leaving[seed]]
    steps = 0
    for _ in range(runtime.settings.paths.max_hops):
        following: list[tuple[Hop, ...]] = []
        for hops in front:
            steps += 1
            if steps > _STEPS:
                break
            path = Path(hops)
            if _ends(query, runtime, path):
                paths[tuple(hop.claim for hop in hops)] = path
            elif hops[-1].predicate not in _BENEFIT:
                entities = path.entities
                room = max(0, _STEPS - len(following))
                onward = (h for h in leaving[path.entities[-1]] if h.end not in entities)
                following += [(*hops, h) for h in islice(onward, room)]
        front = following
    scorer = SCORERS[runtime.settings.paths.scorer]
    return tuple(score_paths(paths.values(), runtime.rank, scorer))


def _ends(query: Query, runtime: Runtime, path: Path) -> bool:
    last = path.hops[-1]
    return (
        last.predicate in _BENEFIT
        and runtime.facts.is_a(last.end, *query.wanted)
        and runtime.retriever.planner.sound(path, runtime.facts.classes)
    )


def render(facts: Facts, fact: Fact, language: str) -> str:
    """Write a claim as ``(a)-[rel]-(b)`` (iDISK2.0-RAG).

    The arrow of a denied claim is crossed out.
    """
    other = facts.words(fact, language)
    other = other[:80] if fact.language else other
    relation = facts.property_label(fact.predicate, language)
    mark = "-" if fact.positive else "-/-"
    return f"({facts.label(fact.subject, language)}){mark}[{relation}]-({other})"


def recall(kind: str, hits: Iterable[Hit]) -> Mapping[str, object]:
    """Write a recall as a step of the trace."""
    results = [[hit.unit.iri, round(hit.score, 4)] for hit in hits]
    return {"step": "recall", "by": kind, "units": results}


def both_labels(facts: Facts, iri: str) -> str:
    """Return the labels of a concept in both languages."""
    labels = facts.labels.get(iri, {})
    return " ".join(dict.fromkeys(labels.values())) or local_name(iri)


def expand(query: Query, facts: Facts) -> str:
    """Add to a question the names of its concepts in both languages, so that both find the same."""
    return " ".join((query.text, *(both_labels(facts, iri) for iri in query.concepts)))


def neighbours(facts: Facts, concepts: Iterable[str]) -> frozenset[str]:
    """Return the concepts with those above them and, of things to eat, their kin."""
    results = {above for iri in concepts for above in facts.above(iri)}
    return frozenset(results | {k for iri in concepts for k in facts.siblings(iri)})


def is_benefit(fact: Fact) -> bool:
    """Return whether a claim says that something does good."""
    return fact.predicate.value in _BENEFIT or fact.predicate == SHIYI.dietaryBenefit
