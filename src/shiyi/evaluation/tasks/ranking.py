"""Herb ranking."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from shiyi.answering.retrieval.bm25 import TextIndex
from shiyi.errors import UsageError
from shiyi.evaluation.bench import METHODS, EvaluationContext, Request
from shiyi.evaluation.items import Prescription
from shiyi.evaluation.metrics import (
    hits_at,
    ndcg_at,
    ndcg_of_found,
    precision_at,
    recall_at,
    set_scores,
)
from shiyi.evaluation.questions.generation import mfh_questions
from shiyi.evaluation.questions.prescriptions import Prescriptions, load_prescriptions
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.evaluation.report import Report
from shiyi.evaluation.scorers.baselines import Floats, HerbScorer, PrescriptionTable
from shiyi.evaluation.tasks.choice import Progress, check_methods, make_report, run_method

HERB_KINDS = {"Herb", "MFHSubstance", "Food", "DSIngredient", "Dish"}
CUTS = (5, 10, 20)


def run_recommend(bench: EvaluationContext, request: Request, progress: Progress) -> Report:
    """Rank herbs for sets of symptoms; P, R and NDCG at 5, 10 and 20."""
    known = (*METHODS[:-1], "nearest", "popular", "none")
    check_methods(request, known)
    if request.file == FROM_CLAIMS:
        questions, withheld = mfh_questions(
            bench.base.store, bench.linker.index, request.seed, request.limit
        )
        bench = replace(bench, withheld=withheld)
    else:
        questions = load_prescriptions(Path(request.file), None)
    training: tuple[Prescription, ...] = ()
    if request.holdout:
        prescriptions, questions = questions.held_out(request.holdout, request.seed)
        training = prescriptions.items
    for path in request.train:
        training += load_prescriptions(path).items
    if "general-kg-only" in request.ablate:
        training = ()
    items = questions.items[: request.limit]
    table = PrescriptionTable.of(training, questions.herbs) if training else None
    runs = []
    for method in request.methods:
        score = _herb_scorer(bench, method, questions, table)
        runs.append(run_method(method, items, _rank(questions.herbs, score), progress))
    return make_report(bench, request, len(items), questions.skips, runs)


def _rank(herbs: Sequence[str], score: HerbScorer) -> Callable[[Prescription], dict[str, float]]:
    def measure(item: Prescription) -> dict[str, float]:
        scores = score(item.symptoms)
        order = np.argsort(-scores, kind="stable")[: max(CUTS)]
        ranking = [herbs[i] for i in order if scores[i] > 0]
        results = {"hits@1": hits_at(ranking, item.herbs, 1)}
        for k in CUTS:
            results[f"p@{k}"] = precision_at(ranking, item.herbs, k)
            results[f"r@{k}"] = recall_at(ranking, item.herbs, k)
            results[f"ndcg@{k}"] = ndcg_at(ranking, item.herbs, k)
            results[f"ndcg_of_found@{k}"] = ndcg_of_found(ranking[: max(CUTS)], item.herbs, k)
        chosen = set_scores(ranking[:10], item.herbs)
        results |= {"f1@10": chosen["f1"], "abstained": float(not ranking)}
        if item.stratum:
            results |= {f"{name}:{item.stratum}": results[name] for name in ("hits@1", "f1@10")}
        return results

    return measure


def _herb_scorer(
    bench: EvaluationContext, method: str, questions: Prescriptions, table: PrescriptionTable | None
) -> HerbScorer:
    if method == "popular":
        popular = _table_for_method(table, method).popular()
        return lambda _: popular
    if method == "nearest":
        known = _table_for_method(table, method)
        return lambda symptoms: known.nearest(symptoms, 1)
    if method == "tfidf" and table is not None:
        return table.nearest
    if method in {"bm25", "tfidf"}:
        return _by_text(bench, questions, method)
    if method == "fused" and "keyword-only" in bench.request.ablate:
        return _fused_scorer(bench, _by_text(bench, questions, "bm25"), table)
    if method == "none":
        scorer = bench.scorer("none")
        return lambda symptoms: np.array(scorer.scores(" ".join(symptoms), questions.herbs))
    graph = _by_graph(bench, method, questions)
    if method != "fused":
        return graph
    if table is None and "vector-only" not in bench.request.ablate:
        return _path_and_word_scorer(graph, _by_text(bench, questions, "bm25"))
    return _fused_scorer(bench, graph, table)


def _path_and_word_scorer(graph: HerbScorer, words: HerbScorer) -> HerbScorer:
    """Add up paths and words, as ``fused`` does for questions."""
    return lambda symptoms: _shares(graph(symptoms)) + _shares(words(symptoms))


def _fused_scorer(
    bench: EvaluationContext, graph: HerbScorer, table: PrescriptionTable | None
) -> HerbScorer:
    if table is None:
        return graph
    parts = bench.herb_scorers(table)

    def score(symptoms: Sequence[str]) -> Floats:
        total = 0.1 * _shares(
            graph(symptoms)
        )  # Shiyi's: the base breaks ties between learnt scores
        for part in parts:
            total = total + _shares(part(symptoms))
        return total

    return score


def _shares(scores: Floats) -> Floats:
    total = scores.sum()
    return scores / total if total > 0 else scores


def _table_for_method(table: PrescriptionTable | None, method: str) -> PrescriptionTable:
    if table is None:
        raise UsageError(f"method {method} learns: give --train FILE or --holdout SHARE")
    return table


def _herb_concepts(bench: EvaluationContext, herbs: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what each herb name means, herbs and foods only."""
    results = []
    for herb in herbs:
        senses = [iri for concept in bench.linking.concepts(herb) for iri in concept]
        kinds = bench.view.concepts
        results.append(tuple(i for i in senses if i in kinds and kinds[i].kind in HERB_KINDS))
    return results


def _by_graph(bench: EvaluationContext, method: str, questions: Prescriptions) -> HerbScorer:
    by_meaning = method == "fused" and "vector-only" in bench.request.ablate
    scorer = bench.scorer("paths" if method == "fused" and not by_meaning else method)
    joined: dict[str, Floats] = {}

    def one(symptom: str) -> Floats:
        if symptom not in joined:
            joined[symptom] = _shares(np.array(scorer.scores(symptom, questions.herbs)))
        return joined[symptom]

    def score(symptoms: Sequence[str]) -> Floats:
        return np.asarray(sum(one(each) for each in symptoms), dtype=np.float64)

    return score


def _by_text(bench: EvaluationContext, questions: Prescriptions, method: str) -> HerbScorer:
    texts = [
        " ".join([herb, *(bench.subgraphs.get(iri, "") for iri in senses)])
        for herb, senses in zip(
            questions.herbs, _herb_concepts(bench, questions.herbs), strict=True
        )
    ]
    index = TextIndex.bm25(texts) if method == "bm25" else TextIndex.tfidf(texts)
    return lambda symptoms: index.scores(" ".join(symptoms))
