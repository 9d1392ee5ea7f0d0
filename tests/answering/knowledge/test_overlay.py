"""Claims that no curator has accepted: of a school, and of a loaded release of products."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shiyi.answering.knowledge.overlay import find_school, schools, windows
from shiyi.answering.pipeline import Runtime, replay
from shiyi.errors import FormatError, UsageError
from shiyi.linking.embedding.embedder import open_shipped
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Source, Status, Tier
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import Literal, NamedNode, Object, Quad
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.adjacency import Projection
from shiyi.settings import Settings
from tests.support import bases
from tests.support.bases import iri
from tests.support.questions import ask

RELEASE = Source("labels", "标签", "Labels", Tier.WEBPAGE, lineage="labels")
PLACE, CANDIDATES = graph("source", "labels@1"), graph("candidates")
PRODUCT, BERRY = resource("labels-1"), resource("labels-berry")
QUESTION = "失眠的证型是什么？"


def candidate(subject: NamedNode, predicate: NamedNode, value: Object, source: Source) -> Claim:
    evidence = Evidence(source, Confidence(0.48), "row 1", EvidenceKind.ROW)
    return Claim(subject, predicate, value, (evidence,), status=Status.CANDIDATE)


def release() -> Iterator[Quad]:
    """Yield two products, one of them of the only ingredient, which matches a food of the base."""
    named = (
        (PRODUCT, "Calm Berry Complex", SHIYI.DSProduct), (resource("labels-2"), "Rest", SHIYI.DSProduct),
        (BERRY, "Berry extract", SHIYI.DSIngredient), (resource("labels-goji"), "goji berry", SHIYI.DSIngredient),
    )  # fmt: skip
    for node, name, kind in named:
        yield Quad(node, RDF.type, kind, PLACE)
        yield Quad(node, SKOS.prefLabel, Literal(name, language="en"), PLACE)
    yield from source_quads(RELEASE, PLACE)
    for claim in (
        candidate(PRODUCT, SHIYI.hasIngredient, BERRY, RELEASE),
        candidate(BERRY, SKOS.closeMatch, resource("substance-goji"), RELEASE),
        candidate(PRODUCT, SHIYI.productRisk, Literal("Ask first.", language="en"), RELEASE),
    ):
        yield from claim_quads(claim, CANDIDATES)


def school(name: str, *claims: Claim) -> Iterator[Quad]:
    """Yield a school that teaches some claims, with a text that reasons from them."""
    node, place = resource(f"school-{name}"), graph("schools", f"{name}/cases@1")
    text, chain = resource(f"reasoning/{name}"), resource(f"chain/{name}")
    yield Quad(node, RDF.type, SHIYI.School, place)
    yield Quad(node, RDFS.label, Literal(name), place)
    yield Quad(chain, RDF.type, SHIYI.ReasoningChain, place)
    yield Quad(chain, RDFS.label, Literal("心悸失眠，何证？", language="zh"), place)
    yield Quad(text, RDF.type, SHIYI.ReasoningText, place)
    yield Quad(text, RDF.value, Literal("由失眠推及胃热证。", language="zh"), place)
    yield Quad(text, PROV.wasDerivedFrom, chain, place)
    for claim in claims:
        yield from claim_quads(claim, place)
        yield Quad(chain, SHIYI.hasStep, claim.iri, place)
        yield Quad(claim.iri, SHIYI.reasonedIn, text, place)


HEAT = candidate(resource("symptom-sleep"), SHIYI.hasSyndrome, resource("syndrome-heat"), RELEASE)
COLD = candidate(resource("symptom-sleep"), SHIYI.hasSyndrome, resource("syndrome-cold"), RELEASE)
LILY = candidate(resource("substance-ginger"), SHIYI.relieves, resource("symptom-sleep"), RELEASE)


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    store = bases.stored(
        [bases.kitchen_claim("symptom-sleep", "hasSyndrome", resource("syndrome-spleen-yang"))]
    )
    store.change(add=[*release(), *school("warm", COLD, LILY), *school("cool", HEAT)])
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, Settings(), open_shipped())


@pytest.mark.parametrize("method", ["fused", "neighbourhood"])
def test_product_of_release_is_found_and_cited(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, "What is in Calm Berry Complex?", method=method)
    assert PRODUCT.value in {mention.iri for mention in answer.linked}
    contains = next(c for c in answer.citations if c.predicate.iri == SHIYI.hasIngredient.value)
    assert (contains.object.label, contains.status, contains.origin) == (
        "Berry extract",
        "candidate",
        "Labels",
    )
    assert contains.evidence[0].source == "Labels"
    assert "Berry extract" in answer.text
    assert "not reviewed" in answer.text


def test_ingredient_of_product_warns_as_its_food(runtime: Runtime) -> None:
    answer = ask(runtime, "Can I take calm berry complex with warfarin?")
    assert [w.severity for w in answer.warnings] == ["interaction"]
    assert answer.verdict.kind == "ask_first"


def test_only_whole_names_of_a_release_are_names(runtime: Runtime) -> None:
    mentions = ask(runtime, "Is berry complex good, and what gives me rest?").linked
    assert not any("labels" in mention.iri for mention in mentions)
    assert any("labels-2" in mention.iri for mention in ask(runtime, "What is in Rest?").linked)
    base_first = ask(runtime, "What is the nature of goji berry?").linked
    assert iri("substance-goji") in {mention.iri for mention in base_first}


def test_longer_names_hold_shorter_ones() -> None:
    names = {"calm tea": ("x",), "tea": ("y",), "茶饮": ("z",)}
    assert [iris for *_, iris in windows("Calm Tea 与 茶饮", names)] == [("x",), ("z",)]


def test_without_a_release_nothing_is_laid_over() -> None:
    plain = bases.runtime()
    assert plain.with_releases("What is in Calm Berry Complex?") is plain


def test_school_is_named_by_its_name_or_iri(runtime: Runtime) -> None:
    assert set(schools(runtime.store).values()) == {"warm", "cool"}
    assert (
        find_school(runtime.store, "warm")
        == iri("school-warm")
        == find_school(runtime.store, iri("school-warm"))
    )
    with pytest.raises(FormatError, match="cool"):
        ask(runtime, QUESTION, school="none such")
    with pytest.raises(UsageError, match="chain"):
        ask(runtime, QUESTION, school="warm", method="spot")


def test_each_school_answers_by_its_own_claims(runtime: Runtime) -> None:
    cited = {
        name: {c.claim for c in ask(runtime, QUESTION, school=name).citations}
        for name in ("warm", "cool")
    }
    assert COLD.iri.value in cited["warm"] - cited["cool"]
    assert HEAT.iri.value in cited["cool"] - cited["warm"]
    answer = ask(runtime, QUESTION, school="warm")
    assert answer.method == "chain"
    citation = next(c for c in answer.citations if c.claim == COLD.iri.value)
    assert (citation.origin, citation.status) == ("warm", "candidate")
    assert "warm之说，未经审核" in answer.text


def test_general_school_or_both_is_a_choice(runtime: Runtime) -> None:
    base = bases.kitchen_claim("symptom-sleep", "hasSyndrome", resource("syndrome-spleen-yang"))
    results = {
        mode: {c for c, _ in ask(runtime, QUESTION, school="warm", overlay=mode).trace.claims}
        for mode in ("general", "school", "both")
    }
    assert {base.iri.value, COLD.iri.value} <= results["both"]
    assert COLD.iri.value not in results["general"]
    assert base.iri.value in results["general"]
    assert base.iri.value not in results["school"]
    assert COLD.iri.value in results["school"]
    by_setting = replace(
        runtime, settings=Settings.read('chain.school = "warm"\nchain.overlay = "school"', {})
    )
    assert {c for c, _ in ask(by_setting, QUESTION, method="chain").trace.claims} == results[
        "school"
    ]


def test_reasoning_of_school_is_text_that_is_found(runtime: Runtime) -> None:
    texts = ask(runtime, "心悸失眠，何证？", school="cool").trace.texts
    assert iri("reasoning/cool") in {text["iri"] for text in texts}
    steps = ask(runtime, "心悸失眠，何证？", school="cool").trace.steps
    assert "answered before" in {step["step"] for step in steps}
    others = ask(runtime, "心悸失眠，何证？", method="chain").trace.steps
    assert "answered before" not in {step["step"] for step in others}


def test_what_nobody_reviewed_recommends_nothing(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么好？", school="warm")
    assert iri("substance-ginger") not in {
        recommendation.iri for recommendation in answer.recommendations
    }
    assert LILY.iri.value in {c.claim for c in answer.citations}
    assert "不作推荐" in answer.text


def test_a_replay_asks_the_same_school(runtime: Runtime) -> None:
    answer = json.loads(
        json.dumps(ask(runtime, QUESTION, school="warm", overlay="school").to_json())
    )
    assert replay(runtime, answer).differences == ()


def test_the_query_of_a_method_sees_the_product(runtime: Runtime) -> None:
    over = runtime.with_releases("Calm Berry Complex")
    assert over.facts.is_a(PRODUCT.value, SHIYI.DSProduct)
    assert not runtime.facts.is_a(PRODUCT.value, SHIYI.DSProduct)
