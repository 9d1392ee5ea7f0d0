"""Shiyi's own method."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.methods import yaoshi_rag
from shiyi.answering.methods.judging import ScoredJudge
from shiyi.answering.methods.method import HUB, Query, claims_at, degree, expand, fuse, recall
from shiyi.answering.methods.mlkg_rag import retrieve_by_terms
from shiyi.answering.retrieval.passages import CLAIM, Unit
from shiyi.answering.retrieval.paths import RankedFact, Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.linking.normalization import words
from shiyi.model.rdf import local_name
from shiyi.prompts.chat import ChatModel

_CACHED: Final = 30  # claims; more only adds noise
_BESIDE: Final = 2  # claims that hold words which were not linked
_SHARED: Final = 0.6  # Shiyi's: share of these words that a text must hold
_TEXTS: Final = 15  # texts recalled where the graph is thin (TOSRR's number)


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return paths, and claims merged by reciprocal rank from every route that was taken."""
    found = yaoshi_rag.retrieve_paths(query, runtime, model)
    facts = [
        runtime.claims[h.claim] for p in found.shown for h in p.hops if h.claim in runtime.claims
    ]
    routes: dict[str, list[Fact]] = {"paths": facts}
    texts, steps = list[Unit](), list[Mapping[str, Any]]()
    hub = any(degree(runtime.facts, iri) > HUB for iri in query.concepts)
    if not hub and (not query.advice or not found.paths):
        asked = replace(query, advice=False)
        of_named, step = retrieve_by_terms(asked, runtime, nearest=False)
        routes["terms"] = [fact.fact for fact in of_named[:_CACHED]]
        steps.append(step)
        if query.concepts and not query.predicates:  # a description: its words choose
            by_words = yaoshi_rag.retrieve_bm25(asked, runtime, None)
            routes["words"] = [fact.fact for fact in by_words.claims]
    if _thin(query, runtime, found):
        texts, routes["texts"], more = _from_texts(query, runtime)
        steps += more
    claims = fuse(routes.values())[:_CACHED]
    beside = () if query.advice else _claims_in_texts(query, runtime)
    if beside:
        claims_beside = [fact.fact.claim for fact in beside]
        steps = [*steps, {"step": "unlinked words", "claims": claims_beside}]
    taken = {"step": "routes", "claims": {name: len(group) for name, group in routes.items()}}
    return replace(
        found, claims=claims, beside=beside, texts=tuple(texts), steps=(*found.steps, taken, *steps)
    )


def _thin(query: Query, runtime: Runtime, retrieval: Retrieval) -> bool:
    """Return whether the graph says nothing of what is asked."""
    if query.advice:
        return not retrieval.paths
    facts, wanted = runtime.facts, query.predicates
    own = (
        f
        for iri in query.concepts
        for f in chain(facts.by_subject.get(iri, ()), facts.by_object.get(iri, ()))
        if not f.derived
    )
    return not any(not wanted or local_name(f.predicate.value) in wanted for f in own)


def _from_texts(
    query: Query, runtime: Runtime
) -> tuple[list[Unit], list[Fact], list[Mapping[str, Any]]]:
    judge = ScoredJudge(query, runtime)
    hits = runtime.library.by_words(expand(query, runtime.facts), _TEXTS)
    relevant, step = judge.relevant([hit.unit for hit in hits])
    known = runtime.claims
    facts = [
        known[c] for unit in relevant for c in unit.claims if c in known and unit.kind != CLAIM
    ]
    facts += [known[unit.iri] for unit in relevant if unit.kind == CLAIM and unit.iri in known]
    return (
        list(relevant),
        list({f.claim: f for f in facts}.values()),
        [recall("keyword", hits), step],
    )


def _claims_in_texts(query: Query, runtime: Runtime) -> tuple[RankedFact, ...]:
    """Return claims of the things asked about in texts with words that were not linked."""
    unlinked = query.parsed.unknown
    asked = set(words(" ".join(unlinked)))
    own = {f.claim: f for iri in query.parsed.materials for f in claims_at(runtime.facts, iri)}
    if not asked or not own:
        return ()
    hits = runtime.library.by_words(" ".join(unlinked), _BESIDE, (CLAIM,), own)
    shared = [len(asked & set(words(h.unit.text))) / len(asked) for h in hits]
    most = max([_SHARED, *shared])
    return tuple(
        RankedFact(own[h.unit.iri], h.score)
        for h, share in zip(hits, shared, strict=True)
        if share >= most
    )
