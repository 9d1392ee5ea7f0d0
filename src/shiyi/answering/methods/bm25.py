"""Yaoshi-RAG's baseline: BM25 over the claims one hop from the question's concepts, as text."""

from shiyi.answering.methods.claims import at, best_first, expanded, recall, retrieved
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.answering.texts import CLAIM
from shiyi.prompts.chat import ChatModel


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the 30 best triples; of the whole base where the question names no concept."""
    near = {f.claim: f for iri in query.concepts for f in at(runtime.facts, iri)}
    most = runtime.settings.baselines.triples
    said = expanded(query, runtime.facts)
    hits = runtime.library.by_words(said, most, (CLAIM,), near)
    known = near or runtime.claims
    scores = {h.unit.iri: h.score for h in hits if h.unit.iri in known}
    steps = ({"step": "subgraph", "claims": len(near)}, recall("BM25", hits))
    return retrieved(query, runtime, best_first(scores, known), (), steps)
