"""iDISK2.0-RAG: what stands one hop from the typed entities of a question, best rated first."""

from collections.abc import Mapping
from typing import Any, Final

from shiyi.answering.facts import Fact
from shiyi.answering.methods.claims import at, best_first, named, retrieved, shown
from shiyi.answering.methods.port import Query
from shiyi.answering.neighbourhood import RATING
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.model.mention import Mention
from shiyi.model.rdf import local_name
from shiyi.prompts.chat import ChatModel

_UNRATED: Final = 0.9  # ours: what a claim without a rating weighs
_OTHER_RELATION: Final = 0.5  # ours: what a relation weighs that the question did not ask for
_BETWEEN: Final = 2.0  # ours: a claim that joins two entities of the question answers it
_LISTED: Final = 30  # lines of the subgraph in the trace


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the claims at the entities of the question, confidence times rating.

    An entity is a mention linked with at least 0.75; where the question asks for a type, a meaning
    of that type goes before others. Nothing retrieved is said plainly, never made up.
    """
    facts, language = runtime.facts, query.reading.language
    seeds, entities = _entities(query, runtime)
    scores: dict[str, float] = {}
    known: dict[str, Fact] = {}
    truncated = []
    for seed in seeds:
        around = {f.claim: f for f in at(facts, seed)}
        ranked = best_first({c: _weight(query, runtime, f, seeds) for c, f in around.items()},
                            around)  # fmt: skip
        kept = ranked[: runtime.settings.answer.triples_per_node]
        if len(kept) < len(ranked):
            truncated.append([seed, len(ranked)])
        for found in kept:
            known[found.fact.claim] = found.fact
            scores[found.fact.claim] = max(scores.get(found.fact.claim, 0.0), found.score)
    claims = best_first(scores, known)
    steps = [
        {"step": "entities", "gate": runtime.settings.linking.min_cosine, "types": sorted(query.kinds), "entities": entities},
        {"step": "subgraph", "claims": len(claims), "truncated": truncated,
         "triples": [shown(facts, each.fact, language) for each in claims[:_LISTED]]},
    ]  # fmt: skip
    if not claims:
        steps.append({"step": "message", "said": "not in the knowledge base"})
    return retrieved(query, runtime, claims, (), steps)


def _entities(query: Query, runtime: Runtime) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
    """Give the seeds, and what each mention was taken for."""
    seeds, told = list[str](), list[Mapping[str, Any]]()
    denied = set(query.reading.absent)
    for mention in query.reading.mentions:
        meant = _meant(query, runtime, mention)
        accepted = (
            bool(meant)
            and mention.score >= runtime.settings.linking.min_cosine
            and meant not in denied
        )
        told.append({
            "mention": mention.text, "iri": meant or None, "name": named(runtime.facts, meant) if
            meant else None, "type": runtime.facts.classes.get(meant), "score": mention.score,
            "accepted": accepted,
        })  # fmt: skip
        if accepted:
            seeds.append(meant)
    seeds += [s for s in query.concepts if s in {*query.reading.materials, *query.seeds}]
    return tuple(dict.fromkeys(seeds)), told


def _meant(query: Query, runtime: Runtime, mention: Mention) -> str:
    """Take the meaning of an asked type first; one across types is taken where there is no other."""
    if not query.kinds:
        return mention.iri
    typed = (iri for iri in (mention.iri, *mention.alternatives)
             if runtime.facts.classes.get(iri) in query.kinds)  # fmt: skip
    return next(typed, mention.iri)


def _weight(query: Query, runtime: Runtime, fact: Fact, seeds: tuple[str, ...]) -> float:
    weight = fact.confidence * RATING.get(runtime.evidences.rating(fact.claim), _UNRATED)
    if query.predicates and local_name(fact.predicate.value) not in query.predicates:
        weight *= _OTHER_RELATION
    if fact.subject in seeds and fact.object in seeds:
        weight *= _BETWEEN
    return weight
