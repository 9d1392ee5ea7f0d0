"""Balanced questions of what to eat, made from a base whose claims are known; names of one character."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.answering.runtime import write_indexes
from shiyi.cli import main
from shiyi.errors import UsageError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.items import Choice
from shiyi.evaluation.questions.generation import claim_questions, mfh_questions, surest_questions
from shiyi.evaluation.runner import evaluate
from shiyi.evaluation.scorers.retrieval import StatementReader
from shiyi.evaluation.scorers.scorer import ValueFinder
from shiyi.model.claim import Source, Tier
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases
from tests.support.bases import kitchen_claim

SURE, LESS = 0.9, (0.5, 0.55, 0.6)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("claims") / "kb"
    subjects = ("substance-peanut", "substance-yam", "substance-goji", "substance-lilu")
    extra = [
        kitchen_claim(each, "hasNature", resource("nature-hot"), confidence=stored)
        for each, stored in zip(subjects, (SURE, *LESS), strict=True)
    ]
    extra += [
        kitchen_claim("symptom-sleep", "suitableFood", resource("substance-lily")),
        kitchen_claim("symptom-sleep", "suitableFood", resource("substance-yam")),
    ]
    build_generation(folder, tuple(bases.kitchen_quads(extra)), {})
    with KnowledgeBase.open(folder) as opened:
        write_indexes(opened, Settings())
        yield opened


def accuracy(base: KnowledgeBase, method: str, *ablate: str) -> float:
    request = Request("mcq", "claims", methods=(method,), ablate=ablate)
    report = evaluate(base, Settings(), request)
    return report.metrics(report.runs[0])["accuracy"].value


def test_surest_of_four_options_on_record_is_right(base: KnowledgeBase) -> None:
    index = EvaluationContext(base, Settings(), Request("mcq", "claims")).linker.index
    (choice,) = surest_questions(base.store, index, seed=0).items
    named = dict(choice.options)
    assert {named[letter] for letter in choice.gold} == {"花生"}
    assert set(choice.texts) == {"花生", "山药", "枸杞子", "藜芦"}


def test_equal_confidences_cannot_rank_claims(base: KnowledgeBase) -> None:
    assert accuracy(base, "fused") == accuracy(base, "paths") == 1.0
    index = EvaluationContext(base, Settings(), Request("mcq", "claims")).linker.index
    drawn = {
        next(iter(surest_questions(base.store, index, seed).items)).options for seed in range(9)
    }
    assert len(drawn) > 1  # the place of the right option is drawn, so a tie is a draw
    whole = EvaluationContext(base, Settings(), Request("mcq", "claims"))
    flat = EvaluationContext(base, Settings(), Request("mcq", "claims", ablate=("deterministic",)))
    stem, options = "下列哪一项的药性为热？", ["花生", "山药", "枸杞子", "藜芦"]
    assert len(set(whole.scorer("paths").scores(stem, options))) == 4
    assert len(set(flat.scorer("neighbourhood").scores(stem, options))) == 1


def test_each_generated_question_names_its_claims(base: KnowledgeBase) -> None:
    bench = EvaluationContext(base, Settings(), Request("retrieval", "claims"))
    questions = claim_questions(base.store, bench.runtime.facts, bench.linker, seed=0)
    known = set(bench.view.projection.claims)
    assert {question.kind for question in questions} >= {"plain", "two", "veiled"}
    assert all(question.claims and question.claims <= known for question in questions)
    two = [question for question in questions if question.kind == "two"]
    assert all(question.question.count("？") == 2 for question in two)
    names = {label.text for label in bench.linker.index.labels}
    veiled = [
        question.question.removesuffix("宜食什么？")
        for question in questions
        if question.kind == "veiled"
    ]
    assert veiled
    assert not names & set(veiled)


def test_without_layers_no_claim_found_for_veiled_word(base: KnowledgeBase) -> None:
    results = {}
    for ablate in ((), ("no-multilayer",)):
        request = Request("retrieval", "claims", methods=("layers",), ablate=ablate)
        metrics = evaluate(base, Settings(), request).to_json()[0]["metrics"]
        results[ablate] = metrics["context_recall:veiled"]["value"]
    assert results[()] > 0.9
    assert results["no-multilayer",] < results[()]


def test_retrieval_of_claims_given_by_kind_of_question(base: KnowledgeBase) -> None:
    request = Request("retrieval", "claims", methods=("layers", "none"), limit=8)
    first, other = evaluate(base, Settings(), request).to_json()
    assert {"context_recall", "context_precision", "context_recall:plain", "abstained"} <= set(
        first["metrics"]
    )
    assert other["metrics"]["context_recall"]["value"] == 0.0
    assert other["against"]["method"] == "layers"


STATES = ("symptom-sleep", "disease-anemia", "syndrome-heat", "syndrome-cold")
THINGS = ("substance-goji", "substance-yam", "dish-peanut")


@pytest.fixture(scope="module")
def mfh_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("mfh") / "kb"
    extra = [
        kitchen_claim(state, "suitableFood", resource(thing))
        for state in STATES
        for thing in THINGS
    ]
    extra.append(
        kitchen_claim("constitution-yin-deficiency", "unsuitableFood", resource("substance-yam"))
    )
    build_generation(folder, tuple(bases.kitchen_quads(extra)), {})
    with KnowledgeBase.open(folder) as opened:
        yield opened


def bench(base: KnowledgeBase) -> EvaluationContext:
    return EvaluationContext(base, Settings(), Request("recommend", "claims"))


def test_symptoms_diseases_and_syndromes_have_equal_questions(mfh_base: KnowledgeBase) -> None:
    prescriptions, _ = mfh_questions(mfh_base.store, bench(mfh_base).linker.index, seed=0)
    assert Counter(prescription.stratum for prescription in prescriptions.items) == {
        "Symptom": 1,
        "Disease": 1,
        "Syndrome": 1,
    }
    constitutions = Counter(prescription.symptoms[1] for prescription in prescriptions.items)
    assert max(constitutions.values()) - min(constitutions.values()) <= 1


def test_what_is_bad_for_constitution_no_right_answer(mfh_base: KnowledgeBase) -> None:
    prescriptions, _ = mfh_questions(mfh_base.store, bench(mfh_base).linker.index, seed=0)
    for prescription in prescriptions.items:
        assert ("山药" in prescription.herbs) == (prescription.symptoms[1] != "阴虚质")


def test_the_claims_that_answer_at_once_are_withheld(mfh_base: KnowledgeBase) -> None:
    context = bench(mfh_base)
    prescriptions, stored = mfh_questions(mfh_base.store, context.linker.index, seed=0)
    assert len(stored) >= 3 * len(prescriptions.items)
    less = EvaluationContext(mfh_base, Settings(), context.request, withheld=stored)
    assert stored <= set(context.view.projection.claims)
    assert not stored & set(less.view.projection.claims)
    assert less.view.withheld == len(stored)


def test_recommendations_measured_on_questions_by_kind_of_condition(
    mfh_base: KnowledgeBase,
) -> None:
    request = Request("recommend", "claims", methods=("paths", "bm25", "none"))
    report = evaluate(mfh_base, Settings(), request)
    assert report.n == 3
    figures = report.to_json()[0]["metrics"]
    assert {"hits@1", "f1@10", "hits@1:Symptom", "f1@10:Disease", "ndcg_of_found@20"} <= set(
        figures
    )


def test_a_base_without_advice_raises(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", tuple(bases.kitchen_quads()), {})
    with (
        KnowledgeBase.open(tmp_path / "kb") as opened,
        pytest.raises(UsageError, match="too few conditions"),
    ):
        evaluate(opened, Settings(), Request("recommend", "claims"))


def test_one_character_natures_are_read_where_asked(mfh_base: KnowledgeBase) -> None:
    context = bench(mfh_base)
    reader = StatementReader(context.view, context.linking)

    def text(statement: str) -> frozenset[str]:
        return reader.read(Choice("1", statement, (), frozenset({"true"}))).chosen

    assert text("绿豆的药性为寒。") == {"true"}
    assert text("绿豆的药性为热。") == {"false"}


def test_a_character_inside_a_longer_name_names_nothing(mfh_base: KnowledgeBase) -> None:
    names = ValueFinder.of(bench(mfh_base).linker.index)
    text = "脾胃虚寒证的药性是寒"
    results = list(names.find(text, {"Nature"}, longer=[(0, 5)]))
    assert [(start, end) for start, end, _ in results] == [(9, 10)]
    assert not list(names.find(text, {"Meridian"}))


RELEASE = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dcterms: <http://purl.org/dc/terms/> .
@prefix shiyi: <https://w3id.org/shiyi/vocab#> . @prefix id: <https://w3id.org/shiyi/id/> .
id:dataset-trial a dcat:Dataset ; dcterms:title "Made-up release"@en, "编写的发行版"@zh ;
  dcterms:license "CC0-1.0" ; dcat:version "1" ; shiyi:sourceTier id:tier-webpage ;
  shiyi:lineage "trial" .
"""


@pytest.mark.parametrize("task", ["truefalse", "mcq"])
def test_release_that_no_curator_accepted_is_asked(task: str, tmp_path: Path) -> None:
    folder, kb = tmp_path / "trial", tmp_path / "kb"
    folder.mkdir()
    names = ("blue", "green", "red", "white", "yellow")
    tables = {  # the forms of iDISK 2.0
        "DSI": [
            "iDISK_ID,Name,CUI",
            *(f"DSI{n},{name} root extract," for n, name in enumerate(names)),
        ],
        "D": ["iDISK_ID,Name,CUI", "D0,warfarin,", "D1,made-up drug,"],
        "dsi_d": ["DSI,Relation,D,Source,Interaction Rating,Source Description"],
        "DSP": ["iDISK_ID,Name,Company Name,Company Address,Product Purpose,Product Risk"],
    }
    tables["DSP"].append("DSP0,Sample capsules,Sample Company,,,")
    tables["dsi_d"] += [f"DSI{n},interacts_with,D{int(n > 1)},MSKCC,," for n in range(5)]
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join((*lines, "")), "utf-8")
    (folder / "source.ttl").write_text(RELEASE, "utf-8")
    quads = []
    for name in names:
        thing, label = (
            resource(f"supplement-{name}"),
            Literal(f"{name} root extract", language="en"),
        )
        quads.append(Quad(thing, RDF.type, SHIYI.DSIngredient, bases.DEFAULT))
        quads.append(Quad(thing, SKOS.prefLabel, label, bases.DEFAULT))
    cited = Source("mskcc", "同一来源", "The same source", Tier.WEBPAGE)
    quads.append(Quad(cited.iri, SHIYI.lineage, Literal("mskcc"), bases.DEFAULT))
    drug = resource("drug-warfarin")
    known = [kitchen_claim("supplement-blue", "interactsWith", drug)]
    known.append(kitchen_claim("supplement-green", "interactsWith", drug, cited, 0.6))
    build_generation(kb, (*bases.kitchen_quads(known), *quads), {})
    assert main(["--kb", str(kb), "ingest", "idisk2", str(folder)]) == 0
    with KnowledgeBase.open(kb) as opened:
        write_indexes(opened, Settings())
        request = Request(task, "source:trial", without=("trial",), methods=("neighbourhood",))
        report = evaluate(opened, Settings(), request)
    found = {name: v.value for name, v in report.metrics(report.runs[0]).items()}
    right = "-true" if task == "truefalse" else ""
    assert found[f"accuracy:covered{right}"] == 1.0  # the base has it from another source
    assert found[f"abstained:uncovered{right}"] == 1.0  # what it has from a work cited is withheld
