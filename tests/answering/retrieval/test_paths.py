import math
from pathlib import Path as File

import pytest

from shiyi.answering.knowledge.facts import EDIBLE
from shiyi.answering.retrieval import paths
from shiyi.answering.retrieval.paths import ADJACENCY, ENGINES, SPARQL
from shiyi.answering.retrieval.planning import SCORERS
from shiyi.answering.runtime import Runtime
from shiyi.errors import FormatError
from shiyi.evaluation.ablations import ablate_runtime
from shiyi.model.path import Hop, Path, diverse, score_paths
from shiyi.settings import PageRankSettings, PathSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support import bases
from tests.support.questions import ask

SLEEP = "失眠吃什么好？"
RANK = {"b": 2.0, "c": 3.0}
PATH = Path((Hop("a", "p", "b", "1", 0.5), Hop("b", "p", "c", "2", 0.4)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean_entities", (0.5 * 2 + 0.4 * 3) / 3),
        ("mean_hops", (0.5 * 2 + 0.4 * 3) / 2),
        ("sum", 0.5 * 2 + 0.4 * 3),
        ("product", 0.5 * 0.4 * 2.5),
        ("min", 0.4 * 2.5),
        ("specific", 0.5 * 0.4 * 0.4 * math.log2(5) ** 0.5 / (1 + math.log2(4)) ** 1.5),
    ],
)
def test_a_scorer_gives_what_its_equation_says(name: str, expected: float) -> None:
    assert SCORERS[name](PATH, RANK) == pytest.approx(expected)


def test_ten_paths_are_not_one() -> None:
    hub = [
        Path((Hop("a", "p", "hub", "h", 1.0), Hop("hub", "p", f"e{i}", str(i), 1.0)))
        for i in range(20)
    ]
    other = Path((Hop("a", "p", "small", "s", 0.1), Hop("small", "p", "z", "t", 0.1)))
    rank = {f"e{i}": 2.0 for i in range(20)} | {"hub": 9.0}
    shown_paths = diverse(score_paths([*hub, other], rank, SCORERS["sum"]), 10)
    assert other.hops in [path.hops for path in shown_paths]
    assert (
        sum(
            path.hops[1].start == "hub"
            for path in diverse(score_paths([*hub, other], rank, SCORERS["sum"]), 5)
        )
        == 4
    )


def test_both_engines_answer_alike() -> None:
    results = []
    for engine in ENGINES:
        answer = ask(bases.runtime(settings=Settings(paths=PathSettings(engine=engine))), SLEEP)
        assert answer.trace.engine == engine
        results.append((answer.text, answer.paths, answer.trace.queries))
    assert results[0] == results[1]


def test_above_bound_of_cost_adjacency_is_walked() -> None:
    results = []
    for bound, engine in ((0, ADJACENCY), (10_000, SPARQL)):
        answer = ask(bases.runtime(settings=Settings(paths=PathSettings(sparql_hops=bound))), SLEEP)
        assert answer.trace.engine == engine
        results.append((answer.text, answer.paths))
    assert results[0] == results[1]


def test_both_engines_gather_the_same_paths() -> None:
    seeds = [iri for iri in bases.runtime().facts.classes if "symptom" in iri or "syndrome" in iri]
    results = []
    for engine in ENGINES:
        runtime = bases.runtime(settings=Settings(paths=PathSettings(engine=engine)))
        got = runtime.retriever.retrieve(seeds, EDIBLE, 10, 0.3)
        results.append((got.paths, got.shown, got.relation_paths, got.queries))
    assert results[0] == results[1]
    assert len(results[0][0]) > 3


def test_hub_paths_that_may_be_shown_are_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = bases.runtime(
        settings=Settings(paths=PathSettings(engine=ADJACENCY, scorer="mean_entities"))
    )
    seeds = [iri for iri in runtime.facts.classes if "symptom" in iri or "syndrome" in iri]
    whole = runtime.retriever.retrieve(seeds, EDIBLE, 10, 0.0)
    monkeypatch.setattr(paths, "_ALL", 1)
    monkeypatch.setattr(paths, "_ENDS", 3)
    monkeypatch.setattr(paths, "_WAYS", 1)
    monkeypatch.setattr(paths, "_BEST", len(whole.paths) // 2)
    favoured = {path.hops[-1].end for path in whole.paths[-2:]}
    cut = runtime.retriever.retrieve(seeds, EDIBLE, 10, 0.0, favoured=favoured)
    assert set(cut.paths) <= set(whole.paths)
    assert len(cut.paths) < len(whole.paths)
    assert cut.paths[:1] == whole.paths[:1]
    assert cut.relation_paths == whole.relation_paths
    assert favoured <= {path.hops[-1].end for path in cut.paths}
    assert any(step["step"] == "kept" for step in cut.steps)


def test_an_unknown_engine_or_scorer_is_refused() -> None:
    with pytest.raises(FormatError):
        bases.runtime(settings=Settings(paths=PathSettings(engine="magic")))

    runtime = bases.runtime(settings=Settings(paths=PathSettings(scorer="magic")))
    with pytest.raises(FormatError):
        ask(runtime, "失眠吃什么好？")


OTHER_RANKINGS = {
    "scorer": Settings(paths=PathSettings(scorer="mean_entities")),
    "scorer min": Settings(paths=PathSettings(scorer="min")),
    "k": Settings(paths=PathSettings(top_k=3)),
    "damping": Settings(pagerank=PageRankSettings(damping=0.1)),
}
RANKED_QUESTIONS = (
    "失眠多梦、手脚心热，吃点什么好？",
    "What foods are good for spleen qi deficiency?",
    "头晕吃什么",
    "阴虚吃什么",
)


def recommended(runtime: Runtime) -> list[list[str]]:
    answers = [ask(runtime, question, method="paths") for question in RANKED_QUESTIONS]
    for answer in answers:
        ends = {path.hops[-1].end for path in answer.paths}
        assert {recommendation.iri for recommendation in answer.recommendations} <= ends
    return [[recommendation.iri for recommendation in answer.recommendations] for answer in answers]


@pytest.mark.parametrize("changed", OTHER_RANKINGS)
def test_another_ranking_recommends_other_things(starter_kb: File, changed: str) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        usual = Runtime.open(base, Settings())
        other = Runtime.open(base, OTHER_RANKINGS[changed])
        assert recommended(other) != recommended(usual)


def test_without_confidence_other_things_are_recommended(starter_kb: File) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        usual = Runtime.open(base, Settings())
        certain = ablate_runtime(usual, frozenset({"deterministic"}))
        assert recommended(certain) != recommended(usual)
