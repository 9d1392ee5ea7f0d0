"""iDISK2.0-RAG."""

from collections.abc import Mapping
from typing import Any, Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.methods.method import Query, assemble, both_labels, claims_at, rank_all, render
from shiyi.answering.retrieval.neighbourhood import RATING
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.model.answer import Mention
from shiyi.model.rdf import local_name
from shiyi.prompts.chat import ChatModel

_UNRATED: Final = 0.9  # Shiyi's: what a claim without a rating weighs
_OTHER_RELATION: Final = 0.5  # Shiyi's: what a relation weighs that the question did not ask for
_BETWEEN: Final = 2.0  # Shiyi's: a claim that joins two entities of the question answers it
_LISTED: Final = 30  # lines of the subgraph in the trace


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the claims at the entities of the question, confidence times rating.

    An entity is a mention linked with at least 0.75; where the question asks for a type, a meaning
    of that type goes before others. Nothing retrieved is stated plainly, never made up.
    """
    facts, language = runtime.facts, query.parsed.language
    seeds, entities = _entities(query, runtime)
    scores: dict[str, float] = {}
    known: dict[str, Fact] = {}
    truncated = []
    for seed in seeds:
        around = {f.claim: f for f in claims_at(facts, seed)}
        below = (f for low in facts.narrower.get(seed, ()) for f in claims_at(facts, low))
        around |= {f.claim: f for f in below if f.origin}  # of a loaded release that names it
        ranked = rank_all({c: _weight(query, runtime, f, seeds) for c, f in around.items()}, around)
        shown_facts = ranked[: runtime.settings.answer.triples_per_node]
        if len(shown_facts) < len(ranked):
            truncated.append([seed, len(ranked)])
        for fact in shown_facts:
            known[fact.fact.claim] = fact.fact
            scores[fact.fact.claim] = max(scores.get(fact.fact.claim, 0.0), fact.score)
    claims = rank_all(scores, known)
    steps = [
        {
            "step": "entities",
            "gate": runtime.settings.linking.min_cosine,
            "types": sorted(query.kinds),
            "entities": entities,
        },
        {
            "step": "subgraph",
            "claims": len(claims),
            "truncated": truncated,
            "triples": [render(facts, claim.fact, language) for claim in claims[:_LISTED]],
        },
    ]
    if not claims:
        steps.append({"step": "message", "said": "not in the knowledge base"})
    return assemble(query, runtime, claims, (), steps)


def _entities(query: Query, runtime: Runtime) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
    """Return the seeds, and what each mention was taken for."""
    seeds, matches = list[str](), list[Mapping[str, Any]]()
    denied = set(query.parsed.absent)
    for mention in query.parsed.mentions:
        meaning = _choose_meaning(query, runtime, mention)
        accepted = (
            bool(meaning)
            and mention.score >= runtime.settings.linking.min_cosine
            and meaning not in denied
        )
        match = {"mention": mention.text, "iri": meaning or None, "score": mention.score}
        match["name"] = both_labels(runtime.facts, meaning) if meaning else None
        match |= {"type": runtime.facts.classes.get(meaning), "accepted": accepted}
        matches.append(match)
        if accepted:
            seeds.append(meaning)
    seeds += [s for s in query.concepts if s in {*query.parsed.materials, *query.seeds}]
    return tuple(dict.fromkeys(seeds)), matches


def _choose_meaning(query: Query, runtime: Runtime, mention: Mention) -> str:
    """Prefer the meaning of an asked type; take one of another type where there is none."""
    if not query.kinds:
        return mention.iri
    senses = (mention.iri, *mention.alternatives)
    typed = (iri for iri in senses if runtime.facts.classes.get(iri) in query.kinds)
    return next(typed, mention.iri)


def _weight(query: Query, runtime: Runtime, fact: Fact, seeds: tuple[str, ...]) -> float:
    weight = fact.confidence * RATING.get(runtime.evidences.rating(fact.claim), _UNRATED)
    if query.predicates and local_name(fact.predicate.value) not in query.predicates:
        weight *= _OTHER_RELATION
    if fact.subject in seeds and fact.object in seeds:
        weight *= _BETWEEN
    return weight
