"""Questions made from single claims: what they ask, and that the switches they are made for hurt."""

from collections.abc import Iterator

import pytest

from shiyi.answering.runtime import write_indexes
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.claim_questions import claim_questions, surest_questions
from shiyi.evaluation.runner import evaluate
from shiyi.model.names import resource
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen
from tests.kitchen import claim

SURE, LESS = 0.9, (0.5, 0.55, 0.6)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("claims") / "kb"
    subjects = ("substance-peanut", "substance-yam", "substance-goji", "substance-lilu")
    extra = [
        claim(each, "hasNature", resource("nature-hot"), confidence=held)
        for each, held in zip(subjects, (SURE, *LESS), strict=True)
    ]
    extra += [
        claim("symptom-sleep", "suitableFood", resource("substance-lily")),
        claim("symptom-sleep", "suitableFood", resource("substance-yam")),
    ]
    build_generation(folder, tuple(kitchen.quads(extra)), {})
    with KnowledgeBase.open(folder) as opened:
        write_indexes(opened, Settings())
        yield opened


def accuracy(base: KnowledgeBase, method: str, *ablate: str) -> float:
    request = Request("mcq", "claims", methods=(method,), ablate=ablate)
    report = evaluate(base, Settings(), request)
    return report.metrics(report.runs[0])["accuracy"].value


def test_the_surest_of_four_options_on_record_is_right(base: KnowledgeBase) -> None:
    index = Bench(base, Settings(), Request("mcq", "claims")).linker.index
    (asked,) = surest_questions(base.store, index, seed=0).items
    named = dict(asked.options)
    assert {named[letter] for letter in asked.gold} == {"花生"}
    assert set(asked.texts) == {"花生", "山药", "枸杞子", "藜芦"}


def test_who_holds_every_claim_for_equally_sure_cannot_tell_the_surest(base: KnowledgeBase) -> None:
    assert accuracy(base, "fused") == accuracy(base, "paths") == 1.0
    index = Bench(base, Settings(), Request("mcq", "claims")).linker.index
    drawn = {
        next(iter(surest_questions(base.store, index, seed).items)).options for seed in range(9)
    }
    assert len(drawn) > 1  # the place of the right option is drawn, so a tie is a draw
    whole = Bench(base, Settings(), Request("mcq", "claims"))
    flat = Bench(base, Settings(), Request("mcq", "claims", ablate=("deterministic",)))
    stem, options = "下列哪一项的药性为热？", ["花生", "山药", "枸杞子", "藜芦"]
    assert len(set(whole.scorer("paths").scores(stem, options))) == 4
    assert len(set(flat.scorer("neighbourhood").scores(stem, options))) == 1


def test_each_kind_of_question_names_the_claims_that_answer_it(base: KnowledgeBase) -> None:
    bench = Bench(base, Settings(), Request("retrieval", "claims"))
    asked = claim_questions(base.store, bench.runtime.facts, bench.linker, seed=0)
    known = set(bench.view.projection.claims)
    assert {each.kind for each in asked} >= {"plain", "two", "veiled"}
    assert all(each.claims and each.claims <= known for each in asked)
    two = [each for each in asked if each.kind == "two"]
    assert all(each.question.count("？") == 2 for each in two)
    names = {label.text for label in bench.linker.index.labels}
    veiled = [each.question.removesuffix("宜食什么？") for each in asked if each.kind == "veiled"]
    assert veiled
    assert not names & set(veiled)


def test_without_layers_no_claim_is_found_for_a_veiled_word(base: KnowledgeBase) -> None:
    found = {}
    for ablate in ((), ("no-multilayer",)):
        request = Request("retrieval", "claims", methods=("layers",), ablate=ablate)
        metrics = evaluate(base, Settings(), request).to_json()[0]["metrics"]
        found[ablate] = metrics["context_recall:veiled"]["value"]
    assert found[()] > 0.9
    assert found["no-multilayer",] < found[()]


def test_retrieval_of_claims_is_given_by_kind_of_question(base: KnowledgeBase) -> None:
    request = Request("retrieval", "claims", methods=("layers", "none"), limit=8)
    first, other = evaluate(base, Settings(), request).to_json()
    assert {"context_recall", "context_precision", "context_recall:plain", "abstained"} <= set(
        first["metrics"]
    )
    assert other["metrics"]["context_recall"]["value"] == 0.0
    assert other["against"]["method"] == "layers"
