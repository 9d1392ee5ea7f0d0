"""Every option of every method changes the outcome of some question on the starter base."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

HEAT, CHILD = (
    "大热天在外面干活后发热出很多汗，口渴心烦，身子发沉想吐",
    "四岁男孩不肯吃饭，瘦，脸色不好",
)
DRUGS, WEAK, YEAST = "华法林和银杏叶片能一起吃吗？", "阳虚吃什么好？", "吃辛伐他汀能吃红曲吗？"
SLEEP, SIGNS = "失眠多梦、手脚心热，吃点什么好？", "夜里睡不踏实，早上没力气，该怎么调养？"
NATURE, BOTH = "绿豆和生姜的药性是什么？", "Can I take ginkgo biloba with warfarin?"
VEILED, NOTE = "老人不更衣三日，吃什么好？", "能安神又不寒的是什么？"
ALARM = "I have chest pain spreading to my left arm. What should I eat?"
COUGH, TYPING = "咳嗽吃什么？", "枸杞籽有什么功效？"
OPTIONS = (  # an option, another value, the method, and questions one of which it answers otherwise
    ("recall.keyword_k", "0", "spot", (NATURE, NOTE, SLEEP)),
    ("recall.vector_k", "0", "spot", (NATURE, NOTE, SLEEP)),
    ("recall.merged_k", "3", "spot", (NATURE, SLEEP)),
    ("recall.merge", '"union"', "spot", (NATURE, NOTE, SLEEP, BOTH)),
    ("recall.reranker", '"cosine"', "spot", (NATURE, SLEEP, BOTH)),
    ("recall.unit", '"spo"', "spot", (DRUGS,)),
    ("recall.chunking", '"macro"', "chain", (NATURE, SLEEP)),
    ("recall.documents_k", "2", "chain", (DRUGS,)),
    ("reflection.max_rounds", "1", "spot", (WEAK, TYPING, SLEEP)),
    ("terms.top_k", "1", "layers", (TYPING, SIGNS, VEILED)),
    ("terms.beam", "1", "therapy", (HEAT,)),
    ("terms.levels", "1", "therapy", (SLEEP, COUGH, SIGNS)),
    ("terms.class_distance", "0.05", "therapy", (CHILD,)),
    ("chain.triples_k", "2", "chain", (NATURE, SLEEP)),
    ("linking.layer_distance", "0.0", "layers", (YEAST,)),
    ("linking.min_cosine", "0.99", "neighbourhood", (ALARM,)),
    ("answer.triples_per_node", "1", "neighbourhood", (NATURE, BOTH)),
    ("paths.top_k", "1", "paths", (SLEEP,)),
    ("paths.scorer", '"mean_entities"', "paths", (SLEEP, COUGH)),
    ("paths.max_hops", "1", "paths", (SLEEP,)),
    ("paths.relation_paths", "1", "paths", (SLEEP, COUGH)),
    ("paths.allow_inverse", "false", "paths", (COUGH, SLEEP)),
    ("paths.limit", "2", "paths", (WEAK,)),
    ("paths.engine", '"adjacency"', "paths", (WEAK,)),
    ("paths.sparql_hops", "1", "paths", (WEAK,)),
    ("pagerank.damping", "0.1", "paths", (SLEEP, COUGH)),
    ("pagerank.scope", '"query_subgraph"', "paths", (SLEEP, COUGH)),
    ("pagerank.scale_by_n", "false", "paths", (SLEEP, COUGH)),
    ("pagerank.max_iterations", "1", "paths", (SLEEP, COUGH)),
    ("pagerank.tolerance", "10.0", "paths", (SLEEP, COUGH)),
    ("baselines.triples", "3", "bm25", (NATURE, SLEEP)),
)
SECTIONS = ("recall", "reflection", "terms", "chain", "paths", "pagerank", "baselines")
ELSEWHERE = {  # options that need a base of their own: the module that shows their effect
    "terms.cases": "answering/methods/test_samples.py",
    "chain.school": "answering/knowledge/test_overlay.py",
    "chain.overlay": "answering/knowledge/test_overlay.py",
    "baselines.hops": "reasoning/embeddings/test_baselines.py",
}


@pytest.fixture(scope="module")
def base(starter_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(starter_kb) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(base: KnowledgeBase) -> Runtime:
    return Runtime.open(base, Settings())


def outcome(runtime: Runtime, question: str, method: str) -> object:
    """Return what an answer recommends, cites and ranks, and what ran its queries."""
    answer = ask(runtime, AskRequest(question, method))
    ranked = [(claim, round(score, 6)) for claim, score in answer.trace.claims]
    paths = [(round(path.score, 6), [hop.claim for hop in path.hops]) for path in answer.paths]
    cited = [each.claim for each in answer.citations]
    given = [each.iri for each in answer.recommendations]
    return given, cited, ranked, paths, answer.missing, answer.trace.engine


@pytest.mark.parametrize(("option", "value", "method", "questions"), OPTIONS)
def test_an_option_changes_an_outcome(
    base: KnowledgeBase,
    plain: Runtime,
    option: str,
    value: str,
    method: str,
    questions: tuple[str, ...],
) -> None:
    changed = Runtime.open(base, Settings.read(f"{option} = {value}", {}))
    assert any(outcome(plain, q, method) != outcome(changed, q, method) for q in questions)


def test_no_option_of_a_method_is_left_out() -> None:
    known = {
        f"{name}.{each.name}" for name in SECTIONS for each in fields(getattr(Settings(), name))
    }
    tried = {option for option, *_ in OPTIONS}
    assert known - tried - ELSEWHERE.keys() == set()
    tests = Path(__file__).parents[2]
    for option, module in ELSEWHERE.items():
        key = option.rpartition(".")[2]
        assert re.search(rf"\b{key}\b", (tests / module).read_text("utf-8")), option
