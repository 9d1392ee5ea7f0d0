"""TOSRR."""

from collections.abc import Mapping
from typing import Any

from shiyi.answering.methods.judging import Judge, ModelJudge, ScoredJudge
from shiyi.answering.methods.method import RRF, Query, assemble, claims_in, expand, fuse, recall
from shiyi.answering.retrieval.library import Hit
from shiyi.answering.retrieval.passages import CLAIM, Unit
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.prompts.chat import ChatModel


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the claims of the texts that were found relevant, in at most three rounds.

    It stops when the texts support a helpful answer, when a question comes a second time, and when
    another round finds nothing new; every verdict is a step of the trace.
    """
    scored = ScoredJudge(query, runtime)
    judge: Judge = ModelJudge(query, runtime, model, scored) if model else scored
    text, asked = expand(query, runtime.facts), set[str]()
    judged: dict[tuple[str, str], Unit] = {}
    seen: set[tuple[str, str]] = set()
    steps: list[Mapping[str, Any]] = []
    rounds, why = 0, "the last round was reached"
    for rounds in range(1, runtime.settings.reflection.max_rounds + 1):
        asked.add(text)
        units, detail = _recall_units(text, runtime)
        steps += [*detail]
        new = [unit for unit in units if (unit.iri, unit.kind) not in seen]
        if not new:
            why = "nothing new was found"
            break
        seen |= {(unit.iri, unit.kind) for unit in new}
        relevant, step = judge.relevant(new)
        steps.append(step)
        judged |= {(unit.iri, unit.kind): unit for unit in relevant}
        steps.append({"step": "emptiness", "by": "count", "left": len(judged)})
        if judged and _answers(judge, tuple(judged.values()), steps):
            why = "supported and helpful"
            break
        text, step = judge.reformulate(tuple(judged.values()), rounds)
        steps.append(step)
        if text in asked:
            why = "the question came a second time"
            break
    steps.append({"step": "stop", "rounds": rounds, "why": why})
    facts = list({f.claim: f for u in judged.values() for f in claims_in(runtime, u)}.values())
    return assemble(query, runtime, fuse([facts]), tuple(judged.values()), steps, rounds)


def _recall_units(text: str, runtime: Runtime) -> tuple[list[Unit], list[Mapping[str, Any]]]:
    """Recall by words and by meaning, and merge: by reciprocal rank, or as a plain union."""
    settings = runtime.settings.recall
    kinds = (CLAIM,) if settings.unit == "spo" else ()
    library, asked = runtime.library, text.splitlines()
    by_words = [library.by_words(line, settings.keyword_k, kinds) for line in asked]
    by_meaning = library.nearest(asked, settings.vector_k, kinds)
    steps = [recall("keyword", hits) for hits in by_words]
    steps += [recall("vector", hits) for hits in by_meaning]
    units = _merge_recalls((*by_words, *by_meaning), settings.merge)
    if units and (reranker := runtime.shelf.reranker(settings.reranker)):
        scores = reranker(asked[0], [unit.text for unit in units])
        order = sorted(range(len(units)), key=lambda place: (-scores[place], place))
        units = [units[place] for place in order]
        results = [[units[i].iri, round(scores[place], 4)] for i, place in enumerate(order)]
        steps.append({"step": "rerank", "by": settings.reranker, "units": results})
    return units[: settings.merged_k], steps


def _merge_recalls(recalls: tuple[tuple[Hit, ...], ...], merge: str) -> list[Unit]:
    units = {(h.unit.iri, h.unit.kind): h.unit for hits in recalls for h in hits}
    if merge == "union":
        return list(units.values())
    worth = dict.fromkeys(units, 0.0)
    for hits in recalls:
        for rank, hit in enumerate(hits, 1):
            worth[hit.unit.iri, hit.unit.kind] += 1 / (RRF + rank)
    return [units[key] for key in sorted(units, key=lambda key: (-worth[key], key))]


def _answers(judge: Judge, units: tuple[Unit, ...], steps: list[Mapping[str, Any]]) -> bool:
    supported, step = judge.is_supported(units)
    steps.append(step)
    if not supported:
        return False
    helpful, step = judge.helpful(units)
    steps.append(step)
    return helpful
