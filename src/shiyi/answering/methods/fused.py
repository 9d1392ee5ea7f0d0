"""The method of Shiyi: relation paths first, the neighbourhood beside them, texts where both are thin."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from shiyi.answering.cues import is_cue
from shiyi.answering.facts import Fact
from shiyi.answering.library import words
from shiyi.answering.methods import neighbourhood, paths
from shiyi.answering.methods.claims import HUB, at, degree, expanded, merged, recall
from shiyi.answering.methods.judging import ScoredJudge
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Found, Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.answering.texts import CLAIM, Unit
from shiyi.model.rdf import local_name
from shiyi.prompts.chat import ChatModel

_KEPT: Final = 30  # claims; more only adds noise
_BESIDE: Final = 2  # claims that hold words which were not linked
_SHARED: Final = 0.6  # ours: share of these words that a text must hold
_TEXTS: Final = 15  # texts recalled where the graph is thin (TOSRR's number)


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give paths, and claims merged by reciprocal rank from every route that was taken."""
    found = paths.retrieve(query, runtime, model)
    along = [runtime.claims[h.claim] for p in found.shown for h in p.hops
             if h.claim in runtime.claims]  # fmt: skip
    routes: dict[str, list[Fact]] = {"paths": along}
    hub = any(degree(runtime.facts, iri) > HUB for iri in query.concepts)
    if not hub and (not query.advice or not found.paths):
        near = neighbourhood.retrieve(replace(query, advice=False), runtime, None)
        routes["neighbourhood"] = [each.fact for each in near.claims[:_KEPT]]
    texts, steps = list[Unit](), list[Mapping[str, Any]]()
    if _thin(query, runtime, found):
        texts, routes["texts"], steps = _from_texts(query, runtime)
    claims = merged(routes.values())[:_KEPT]
    beside = () if query.advice else _beside(query, runtime)
    if beside:
        held = [each.fact.claim for each in beside]
        steps = [*steps, {"step": "unlinked words", "claims": held}]
    taken = {"step": "routes", "claims": {name: len(each) for name, each in routes.items()}}
    return replace(
        found, claims=claims, beside=beside, texts=tuple(texts), steps=(*found.steps, taken, *steps)
    )


def _thin(query: Query, runtime: Runtime, found: Retrieved) -> bool:
    """Tell whether the graph says nothing of what is asked."""
    if query.advice:
        return not found.paths
    facts, wanted = runtime.facts, query.predicates
    own = (
        f for iri in query.concepts
        for f in chain(facts.by_subject.get(iri, ()), facts.by_object.get(iri, ()))
        if not f.derived
    )  # fmt: skip
    return not any(not wanted or local_name(f.predicate.value) in wanted for f in own)


def _from_texts(
    query: Query, runtime: Runtime
) -> tuple[list[Unit], list[Fact], list[Mapping[str, Any]]]:
    judge = ScoredJudge(query, runtime)
    hits = runtime.library.by_words(expanded(query, runtime.facts), _TEXTS)
    kept, step = judge.relevant([each.unit for each in hits])
    known = runtime.claims
    facts = [known[c] for unit in kept for c in unit.claims if c in known and unit.kind != CLAIM]
    facts += [known[unit.iri] for unit in kept if unit.kind == CLAIM and unit.iri in known]
    return list(kept), list({f.claim: f for f in facts}.values()), [recall("keyword", hits), step]


def _beside(query: Query, runtime: Runtime) -> tuple[Found, ...]:
    """Give claims of the things asked about whose texts hold words that were not linked."""
    unlinked = [m.text for m in query.reading.mentions if not m.iri and not is_cue(m.text)]
    asked = set(words(" ".join(unlinked)))
    own = {f.claim: f for iri in query.reading.materials for f in at(runtime.facts, iri)}
    if not asked or not own:
        return ()
    hits = runtime.library.by_words(" ".join(unlinked), _BESIDE, (CLAIM,), own)
    shared = [len(asked & set(words(h.unit.text))) / len(asked) for h in hits]
    most = max([_SHARED, *shared])
    return tuple(
        Found(own[h.unit.iri], h.score) for h, share in zip(hits, shared, strict=True)
        if share >= most
    )  # fmt: skip
