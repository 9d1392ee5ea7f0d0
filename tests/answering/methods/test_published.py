"""What is peculiar to each published method, on planted claims, cases and passages."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from shiyi.answering.methods import mlkg_rag
from shiyi.answering.methods.method import claims_at
from shiyi.answering.pipeline import Runtime
from shiyi.answering.runtime import RuntimeHolder
from shiyi.linking.embedding.embedder import open_shipped
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.claim import Claim
from shiyi.model.iris import ID, graph, resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.adjacency import Projection
from shiyi.settings import Settings
from tests.support import bases
from tests.support.bases import DEFAULT, iri, kitchen_claim
from tests.support.questions import ask
from tests.tables import from_table

CASES = graph("cases")
CLASSES = {  # classes of disease, as the national standard nests them
    "gbt-heart": ("心系病类", "heart diseases", ""), "gbt-spleen": ("脾系病类", "spleen diseases", ""),
    "gbt-heart-mind": ("神志病类", "diseases of the mind", "gbt-heart"),
    "gbt-sleepless": ("不寐病", "sleeplessness disease", "gbt-heart-mind"),
    "gbt-spleen-stomach": ("胃脘病类", "stomach diseases", "gbt-spleen"),
    "gbt-stomach-ache": ("胃不适病", "upset stomach disease", "gbt-spleen-stomach"),
}  # fmt: skip


def planted() -> list[Quad]:
    quads = []
    for name, (zh, en, above) in CLASSES.items():
        node = resource(name)
        quads += [
            Quad(node, RDF.type, SHIYI.TCMDisease, DEFAULT),
            Quad(node, SKOS.prefLabel, Literal(zh, language="zh"), DEFAULT),
            Quad(node, SKOS.prefLabel, Literal(en, language="en"), DEFAULT),
        ]
        if above:
            quads.append(Quad(node, SKOS.broader, resource(above), DEFAULT))
    quads += case("1", "gbt-sleepless", "adult", "female", "syndrome-heat")
    return quads


def case(name: str, filed: str, age: str, sex: str, pattern: str) -> list[Quad]:
    node, sign, judged = (NamedNode(f"{ID}case/{name}{part}") for part in ("", "/s", "/p"))
    return [
        Quad(node, RDF.type, SHIYI.PatientCase, CASES),
        Quad(node, SHIYI.recordedIn, resource(filed), CASES),
        Quad(node, SHIYI.ageGroup, Literal(age), CASES),
        Quad(node, SHIYI.sex, Literal(sex), CASES),
        Quad(sign, SHIYI.mentionedIn, node, CASES),
        Quad(sign, RDFS.label, Literal("目不交睫", language="zh"), CASES),
        Quad(sign, SHIYI.mentionKind, Literal("symptom"), CASES),
        Quad(sign, SHIYI.theReferenceOf, resource("symptom-sleep"), CASES),
        Quad(judged, SHIYI.mentionedIn, node, CASES),
        Quad(judged, SHIYI.mentionKind, Literal("pattern"), CASES),
        Quad(judged, SHIYI.theReferenceOf, resource(pattern), CASES),
    ]


def made(quads: Iterable[Quad] = (), claims: Iterable[Claim] = (), settings: str = "") -> Runtime:
    store = bases.stored(claims)
    store.change(add=list(quads))
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, Settings.read(settings, {}), open_shipped())


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return made(planted())


def steps(
    runtime: Runtime, question: str, method: str, name: str, **asked: object
) -> list[dict[str, Any]]:
    answer = ask(runtime, question, method=method, **asked)  # type: ignore[arg-type]
    return [dict(s) for s in answer.trace.steps if s["step"] == name]


# spot


def test_two_recalls_merge_to_fifteen_with_every_verdict(runtime: Runtime) -> None:
    answer = ask(runtime, "绿豆的药性是什么？", method="spot")
    names = [step["step"] for step in answer.trace.steps]
    assert names[:2] == ["recall", "recall"]
    for name in ("relevance", "emptiness", "support", "helpfulness", "stop"):
        assert name in names
    by = {s["by"]: len(s["units"]) for s in answer.trace.steps if s["step"] == "recall"}
    assert by["keyword"] <= 5
    assert by["vector"] <= 10
    assert 1 <= answer.trace.rounds <= 3


def test_the_loop_ends_where_nothing_helps(runtime: Runtime) -> None:
    answer = ask(runtime, "西洋参有哪些营养成分？", method="spot")
    stop = answer.trace.steps[-1]
    assert stop["step"] == "stop"
    assert stop["rounds"] <= 3
    assert stop["why"]


def test_one_round_is_a_setting(runtime: Runtime) -> None:
    once = made(settings="reflection.max_rounds = 1")
    assert ask(once, "西洋参有哪些营养成分？", method="spot").trace.rounds == 1


@pytest.mark.parametrize(("key", "by"), [("vector_k", "keyword"), ("keyword_k", "vector")])
def test_each_recall_can_stand_alone(key: str, by: str) -> None:
    alone = made(settings=f"recall.{key} = 0")
    answer = ask(alone, "绿豆的药性是什么？", method="spot")
    results = {s["by"]: s["units"] for s in answer.trace.steps if s["step"] == "recall"}
    assert results[by]
    assert [units for name, units in results.items() if name != by] == [[]]


# layers


def test_veiled_words_go_to_term_person_chose() -> None:
    constipation = [
        Quad(resource("symptom-hard"), RDF.type, SHIYI.Symptom, DEFAULT),
        Quad(resource("symptom-hard"), SKOS.prefLabel, Literal("便秘", language="zh"), DEFAULT),
        Quad(
            resource("symptom-hard"),
            SKOS.prefLabel,
            Literal("constipation", language="en"),
            DEFAULT,
        ),
    ]
    helped = kitchen_claim("substance-peanut", "relieves", resource("symptom-hard"))
    results = steps(made(constipation, [helped]), "老人不更衣三日，病机如何？", "layers", "terms")
    assert [t["term"] for t in results[0]["terms"] if t["word"] == "不更衣"] == [
        iri("symptom-hard")
    ]


def test_words_of_case_link_to_their_referents(runtime: Runtime) -> None:
    results = steps(runtime, "目不交睫是什么意思？", "layers", "terms")
    assert iri("symptom-sleep") in [t["term"] for t in results[0]["terms"]]


# therapy


def test_beam_one_loses_case_that_beam_three_finds(runtime: Runtime) -> None:
    embedder = open_shipped()
    assert embedder is not None
    entities = (iri("symptom-sleep"), iri("symptom-stomach"))
    wide = mlkg_rag.descend(runtime, embedder, entities, beam=3, levels=2)
    narrow = mlkg_rag.descend(runtime, embedder, entities, beam=1, levels=2)
    leaves = {leaf for leaf, _ in wide.leaves}
    assert {iri("gbt-heart-mind"), iri("gbt-spleen-stomach")} <= leaves
    assert len(narrow.leaves) == 1
    assert narrow.leaves[0][0] in leaves


def test_the_nearer_class_has_the_smaller_distance(runtime: Runtime) -> None:
    embedder = open_shipped()
    assert embedder is not None
    way = mlkg_rag.descend(runtime, embedder, (iri("symptom-stomach"),), beam=3, levels=2)
    assert way.leaves[0][0] == iri("gbt-spleen-stomach")
    assert way.leaves[0][1] < way.leaves[-1][1]


def test_similar_case_is_an_example_and_never_cited(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么好？", method="therapy", profile=Profile(age=30, sex="female"))
    assert any("病例只是例子" in each for each in answer.missing)
    assert not any("/case/" in c.claim for c in answer.citations)
    message = next(s for s in answer.trace.steps if s["step"] == "cases")
    assert message["cases"] == [f"{ID}case/1"]
    assert message["relaxed"] == []
    assert message["facets"]["age"] == "adult"


@from_table
def test_trace_of_facets_is_json(runtime: Runtime, question: str) -> None:
    assert json.dumps(ask(runtime, question, method="therapy").to_json(), ensure_ascii=False)


def test_facets_are_relaxed_in_order_with_a_note(runtime: Runtime) -> None:
    profile = Profile(age=70, sex="female")
    answer = ask(runtime, "失眠吃什么好？", method="therapy", profile=profile)
    message = next(s for s in answer.trace.steps if s["step"] == "cases")
    assert message["relaxed"] == ["history", "age"]
    assert any("年龄段" in each for each in answer.missing)


def test_without_disease_entity_term_layer_is_searched(runtime: Runtime) -> None:
    answer = ask(runtime, "绿豆的药性是什么？", method="therapy")
    assert "no descent" in [s["step"] for s in answer.trace.steps]
    assert answer.citations


# chain


def test_a_question_becomes_chains_from_the_schema(runtime: Runtime) -> None:
    chain = steps(runtime, "失眠吃什么好？", "chain", "chain")[0]
    assert chain["by"] == "schema"
    assert any(triples[0][0] == "失眠" or triples[0][2] == "失眠" for triples in chain["chains"])
    matches = steps(runtime, "失眠吃什么好？", "chain", "match")
    assert all(len(m["claims"]) <= 20 for m in matches)
    answer = ask(runtime, "失眠吃什么好？", method="chain")
    assert iri("substance-lily") in [r.iri for r in answer.recommendations]


def test_answered_question_of_its_kind_lends_its_chain() -> None:
    node, stored = (
        NamedNode(f"{ID}chain/1"),
        kitchen_claim("substance-lily", "relieves", resource("symptom-sleep")),
    )
    chain = [
        Quad(node, RDF.type, SHIYI.ReasoningChain, CASES),
        Quad(node, RDFS.label, Literal("失眠吃什么好？", language="zh"), CASES),
        Quad(node, SHIYI.hasStep, stored.iri, CASES),
    ]
    answer = ask(made(chain, [stored]), "失眠吃什么好？", method="chain")
    before = next(s for s in answer.trace.steps if s["step"] == "answered before")
    assert before["chain"] == node.value
    assert stored.iri.value in [claim for claim, _ in answer.trace.claims][:3]


@from_table
def test_texts_triples_or_both_are_a_setting(mode: str, has: str, lacks: str) -> None:
    runtime = made(settings=f'recall.chunking = "{mode}"')
    names = [s["step"] for s in ask(runtime, "绿豆的药性是什么？", method="chain").trace.steps]
    assert has in names
    assert lacks not in names


# neighbourhood


def test_ratings_rank_interactions(runtime: Runtime) -> None:
    results = steps(runtime, "枸杞子", "neighbourhood", "subgraph")[0]
    assert results["claims"] == len(results["triples"]) > 0


def test_a_hub_is_cut_with_a_note() -> None:
    small = made(settings="answer.triples_per_node = 2")
    results = steps(small, "绿豆的药性是什么？", "neighbourhood", "subgraph")[0]
    assert results["truncated"]
    assert results["claims"] <= 4


def test_claim_withdrawn_since_index_made_left_out() -> None:
    runtime = made()
    assert ask(runtime, "绿豆的药性是什么？", method="spot").citations
    store = runtime.store
    fact = next(f for f in runtime.facts.of(iri("substance-mung"), SHIYI.hasNature))
    store.change(remove=list(store.match(NamedNode(fact.claim), None, None, None)))
    later = RuntimeHolder(runtime)
    later.refresh([fact.claim])
    for method in ("spot", "bm25", "chain", "fused"):
        answer = ask(later.current, "绿豆的药性是什么？", method=method)
        assert fact.claim not in {c.claim for c in answer.citations}
        assert fact.claim not in {claim for claim, _ in answer.trace.claims}


def test_hub_is_looked_at_by_its_surest_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiyi.answering.methods.method.HUB", 2)
    facts = made().facts
    found_facts = claims_at(facts, iri("substance-mung"))
    assert len(found_facts) == 2
    mung = (*facts.by_subject[iri("substance-mung")], *facts.by_object[iri("substance-mung")])
    assert [f.confidence for f in found_facts] == sorted(
        (f.confidence for f in mung), reverse=True
    )[:2]
