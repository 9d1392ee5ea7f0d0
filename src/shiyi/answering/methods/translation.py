"""Baselines of Yaoshi-RAG: TransE and RotatE rank the triples of the two-hop subgraph."""

from shiyi.answering.facts import Fact
from shiyi.answering.methods.claims import at, best_first, retrieved
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.prompts.chat import ChatModel


def transe(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the 30 triples that TransE finds likeliest."""
    return _retrieve("transe", query, runtime)


def rotate(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the 30 triples that RotatE finds likeliest."""
    return _retrieve("rotate", query, runtime)


def _retrieve(kind: str, query: Query, runtime: Runtime) -> Retrieved:
    settings = runtime.settings.baselines
    near = _within(query, runtime, settings.hops)
    embedding = runtime.shelf.translation(kind)
    distances = {
        fact.claim: embedding.distance(fact.subject, fact.predicate.value, fact.object)
        for fact in near.values()
    }
    scores = {claim: 1 / (1 + far) for claim, far in distances.items() if far != float("inf")}
    ranked = best_first(scores, near)[: settings.triples]
    steps = ({"step": "subgraph", "hops": settings.hops, "claims": len(near)},
             {"step": kind, "ranked": len(scores)})  # fmt: skip
    return retrieved(query, runtime, ranked, (), steps)


def _within(query: Query, runtime: Runtime, hops: int) -> dict[str, Fact]:
    """Collect the claims at most ``hops`` from the question's concepts."""
    found: dict[str, Fact] = {}
    reached, front = set(query.concepts), set(query.concepts)
    for _ in range(hops):
        here = {f.claim: f for iri in sorted(front) for f in at(runtime.facts, iri)}
        found |= here
        front = {end for f in here.values() if not f.language for end in (f.subject, f.object)}
        front -= reached
        reached |= front
    return found
