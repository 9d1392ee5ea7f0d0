"""Every method behind the one port: it cites, warns, abstains, and its trace makes the answer again."""

import json
import re
from typing import Any

import pytest

from shiyi.answering.pipeline import METHODS as EVERY
from shiyi.answering.pipeline import Runtime, replay
from shiyi.errors import FormatError, UsageError
from shiyi.linking.embedding.embedder import open_shipped
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.profile import Profile
from shiyi.reasoning.adjacency import Projection
from shiyi.settings import Settings
from tests.support import bases
from tests.support.bases import iri
from tests.support.questions import ask
from tests.tables import from_table

METHODS = (  # those that learn embeddings have tests of their own
    "fused", "paths", "spot", "layers", "therapy", "chain", "neighbourhood", "none", "bm25",
    "random-paths",
)  # fmt: skip
LOOKING = tuple(name for name in METHODS if name != "none")
ADVICE = "失眠吃什么好？"
MEETING = "吃华法林能吃枸杞子吗？"
PROPERTY = "绿豆的药性是什么？"
QUESTIONS = (
    ADVICE, MEETING, PROPERTY, "我胃不适，夏季喝什么饮品好？", "What is the nature of mung bean?",
    "What should I eat for insomnia?", "阴虚质吃什么好？", "what are the benefits of zxcvbium?",
)  # fmt: skip


def made(settings: Settings | None = None) -> Runtime:
    store = bases.stored()
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, settings or Settings(), open_shipped())


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return made()


def test_five_published_methods_fused_and_baselines_exist() -> None:
    assert set(METHODS) <= set(EVERY)
    assert EVERY[0] == "fused"


@pytest.mark.parametrize("method", METHODS)
def test_every_mark_has_citation_that_base_holds(runtime: Runtime, method: str) -> None:
    known = {f.claim for facts in runtime.facts.by_subject.values() for f in facts}
    for question in QUESTIONS:
        answer = ask(runtime, question, method=method)
        cited = {c.claim for c in answer.citations}
        assert cited <= known
        numbers = {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)}
        assert numbers == set(range(1, len(numbers) + 1)), answer.text
        assert {c for r in answer.recommendations for c in r.claims} <= cited


@pytest.mark.parametrize("method", LOOKING)
def test_every_method_answers_what_the_base_records(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, PROPERTY, method=method)
    assert not answer.abstained
    if method != "random-paths":  # chance may lead elsewhere
        assert "寒" in answer.text


@pytest.mark.parametrize("method", METHODS)
def test_the_same_safety_check_stands_after_every_method(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, MEETING, method=method)
    assert [w.severity for w in answer.warnings] == ["interaction"]
    pregnant = ask(runtime, "失眠吃什么好？", method=method, profile=Profile(pregnant=True))
    assert iri("substance-lily") not in [r.iri for r in pregnant.recommendations]
    emergency = ask(runtime, "胃不适，黑便，吃什么好？", method=method)
    assert "emergency" in [w.severity for w in emergency.warnings]
    assert emergency.recommendations == ()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_abstains_where_nothing_fits(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, "what are the benefits of zxcvbium?", method=method)
    assert answer.abstained
    assert answer.missing
    assert answer.citations == ()


@pytest.mark.parametrize("method", METHODS)
def test_no_method_recommends_before_cold_or_heat_known(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, "我胃不适，夏季喝什么饮品好？", method=method)
    assert iri("dish-mung") not in [r.iri for r in answer.recommendations]


@pytest.mark.parametrize("method", LOOKING)
def test_trace_says_what_method_did_in_json(runtime: Runtime, method: str) -> None:
    trace = ask(runtime, PROPERTY, method=method, k=3).to_json()["trace"]
    assert trace["asked"]["k"] == 3
    assert trace["asked"]["question"] == PROPERTY
    if method != "paths":  # its paths are for advice
        assert trace["steps"]
        assert trace["claims"]
    assert json.loads(json.dumps(trace)) == trace


@pytest.mark.parametrize("method", METHODS)
def test_a_trace_makes_the_same_answer_again(runtime: Runtime, method: str) -> None:
    profile = Profile(age=40, medicines=("华法林",))
    for question in QUESTIONS:
        answer = ask(runtime, question, method=method, k=5, profile=profile)
        reply = json.loads(json.dumps(answer.to_json(), ensure_ascii=False))
        again = replay(made() if question == ADVICE else runtime, reply)
        assert again.differences == ()
        assert again.answer.text == answer.text
        assert again.to_json()["replayed"] == {"same": True, "differences": []}


def test_what_is_no_longer_the_same_is_named(runtime: Runtime) -> None:
    answer = ask(runtime, ADVICE).to_json()
    changed = {**answer, "answer": "another", "release": "sha256:old"}
    differences = replay(runtime, changed).differences
    assert "answer" in differences
    assert any(each.startswith("release") for each in differences)
    other = made(Settings.read("paths.max_hops = 1", {}))
    assert "settings: others than then" in replay(other, answer).differences


@from_table
def test_what_is_no_answer_is_refused_with_reason(runtime: Runtime, values: dict[str, Any]) -> None:
    with pytest.raises((UsageError, FormatError)):
        replay(runtime, values)


def test_method_that_is_none_is_refused_by_name(runtime: Runtime) -> None:
    with pytest.raises(FormatError, match="neighbourhood"):
        ask(runtime, ADVICE, method="oracle")


@pytest.mark.parametrize("method", ["layers", "neighbourhood", "therapy", "fused", "paths"])
def test_both_languages_cite_the_same_claims(runtime: Runtime, method: str) -> None:
    def cited(question: str) -> set[str]:
        return {c.claim for c in ask(runtime, question, method=method).citations}

    assert cited(PROPERTY) == cited("What is the nature of mung bean?")
    assert cited(ADVICE) == cited("What should I eat for insomnia?")


def test_subgraph_of_idisk_written_as_paper_writes_it(runtime: Runtime) -> None:
    steps = ask(runtime, MEETING, method="neighbourhood").trace.steps
    subgraph = next(s for s in steps if s["step"] == "subgraph")
    assert "(枸杞子)-[相互作用]-(华法林)" in subgraph["triples"]
    assert subgraph["triples"][0] == "(枸杞子)-[相互作用]-(华法林)"  # joins both entities
    entities = next(s for s in steps if s["step"] == "entities")
    assert all(e["accepted"] for e in entities["entities"] if e["score"] >= 0.75 and e["iri"])


def test_the_neighbourhood_states_that_no_claim_exists(runtime: Runtime) -> None:
    assert "没有检索到" in ask(runtime, "xyzzy有什么功效？", method="neighbourhood").text
    assert "holds nothing" in ask(runtime, "What does xyzzy do?", method="neighbourhood").text


def test_without_retrieval_only_the_safety_check_speaks(runtime: Runtime) -> None:
    answer = ask(runtime, MEETING, method="none")
    assert answer.warnings
    assert answer.recommendations == ()
    assert answer.trace.claims == ()
    assert ask(runtime, ADVICE, method="none").abstained


def test_random_paths_are_drawn_alike_for_same_question(runtime: Runtime) -> None:
    one, two = (ask(runtime, ADVICE, method="random-paths") for _ in range(2))
    assert one.trace.steps == two.trace.steps
    assert one.trace.steps
