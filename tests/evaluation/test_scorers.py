"""Readers without a model, on a base small enough to know what they should say."""

from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.items import Choice, Prescription
from shiyi.evaluation.runner import evaluate
from shiyi.evaluation.scorers.baselines import CaseScorer, PrescriptionTable
from shiyi.evaluation.scorers.graph import View
from shiyi.evaluation.scorers.retrieval import StatementReader, read_choice
from shiyi.linking.labels import Concept, Label, LabelIndex
from shiyi.linking.linker import Linker
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.places import DATA, ROOT


def bench(base: KnowledgeBase, **asked: object) -> EvaluationContext:
    request = replace(Request("mcq", "none"), **asked)  # type: ignore[arg-type]
    return EvaluationContext(base, Settings(), request)


def asked(stem: str, *options: str) -> Choice:
    return Choice("1", stem, tuple(zip("ABCDE", options, strict=False)), frozenset("A"))


def test_an_option_joined_to_the_stem_is_chosen(kitchen: KnowledgeBase) -> None:
    scorer = bench(kitchen).scorer("paths")
    text = read_choice(asked("阴虚质的人适宜食用", "藜芦", "百合", "花生"), scorer)
    assert text.ranking[0] == "B"
    assert text.chosen == frozenset("B")


def test_two_hops_reach_what_one_does_not(kitchen: KnowledgeBase) -> None:
    item = asked("失眠宜吃", "藜芦", "百合")
    assert read_choice(item, bench(kitchen, hops=1).scorer("paths")).abstained
    assert read_choice(item, bench(kitchen, hops=2).scorer("paths")).chosen == frozenset("B")


def test_a_reader_abstains_where_nothing_joins(kitchen: KnowledgeBase) -> None:
    text = read_choice(asked("心电图的P波", "窦性", "房性"), bench(kitchen).scorer("fused"))
    assert text.abstained
    assert not text.chosen


def test_odd_one_out_is_option_without_evidence(kitchen: KnowledgeBase) -> None:
    scorer = bench(kitchen).scorer("paths")
    text = read_choice(asked("下列不属于脾胃虚寒证表现的是", "胃不适", "口渴", "喜温"), scorer)
    assert text.chosen == frozenset("B")


def test_only_claim_of_relation_answers_without_option(kitchen: KnowledgeBase) -> None:
    scorer = bench(kitchen).scorer("fused")
    on_record = asked("下列哪一项脾胃虚寒证禁用？", "百合", "绿豆", "以上都不是")
    assert read_choice(on_record, scorer).chosen == frozenset("B")
    unknown = asked(
        "Which of the following interacts with metformin?",
        "goji berry",
        "lily bulb",
        "None of the above",
    )
    assert read_choice(unknown, scorer).abstained


def test_odd_one_out_never_one_option_that_fits(kitchen: KnowledgeBase) -> None:
    item = asked("下列不属于脾胃虚寒证表现的是", "喜温", "口渴", "失眠", "黑便")
    text = read_choice(item, bench(kitchen).scorer("paths"))
    assert text.ranking[-1] == "A"
    assert "A" not in text.chosen


def test_a_denied_mention_is_no_seed(kitchen: KnowledgeBase) -> None:
    linking = bench(kitchen).linking
    assert linking.concepts("口渴")
    assert not linking.concepts("无口渴")


def test_rare_character_without_reading_does_not_stop_linking() -> None:
    label = Label("五汁露", "zh", 0, "preferred")
    index = LabelIndex("x", (Concept("https://example.org/x", "Dish", "五汁露", ""),), (label,))
    assert not any(mention.iri for mention in Linker(index).link("诸气𪱥郁"))


def test_a_statement_is_true_on_record_only(kitchen: KnowledgeBase) -> None:
    context = bench(kitchen)
    reader = StatementReader(context.view, context.linking)
    text = reader.read(Choice("1", "绿豆：脾胃虚寒证禁用。", (), frozenset({"true"})))
    assert (text.chosen, text.abstained) == (frozenset({"true"}), False)
    unknown = reader.read(Choice("2", "百合：脾胃虚寒证禁用。", (), frozenset({"false"})))
    assert (unknown.chosen, unknown.abstained) == (frozenset({"false"}), True)


def test_withholding_source_removes_claims_of_it_alone(kitchen: KnowledgeBase) -> None:
    index = bench(kitchen).linker.index
    whole = View.read(kitchen.store, index, "x")
    less = View.read(kitchen.store, index, "x", without=["diet"])

    def claims(view: View, one: str, other: str) -> set[str]:
        ends = ("https://w3id.org/shiyi/id/" + one, "https://w3id.org/shiyi/id/" + other)
        return {link.claim for link in view.links[ends[0]] if link.other == ends[1]}

    both = "substance-mung", "syndrome-cold"  # the book and the diet book say so
    diet_only = "dish-ginger", "substance-ginger"
    assert claims(less, *both) == claims(whole, *both)
    assert claims(whole, *diet_only)
    assert "https://w3id.org/shiyi/id/dish-ginger" not in less.links or not claims(less, *diet_only)
    assert less.withheld > 0
    assert not any("姜茶" in text and "生姜" in text for _, _, text in less.sentences())


def test_unknown_source_method_task_or_switch_is_named(kitchen: KnowledgeBase) -> None:
    with pytest.raises(FormatError, match="nosuch"):
        _ = bench(kitchen, without=("nosuch",)).view
    with pytest.raises(FormatError, match="magic"):
        evaluate(kitchen, Settings(), Request("linking", "none", methods=("magic",)))
    with pytest.raises(FormatError, match="guessing"):
        evaluate(kitchen, Settings(), Request("guessing", "none"))
    with pytest.raises(FormatError, match="luck"):
        Request("mcq", "none", ablate=("luck",))
    with pytest.raises(UsageError, match="--train"):
        evaluate(kitchen, Settings(), Request("recommend", "none", ablate=("general-kg-only",)))
    with pytest.raises(UsageError, match="extractors"):
        evaluate(kitchen, Settings(), Request("extraction", "none"))


def test_a_deterministic_graph_holds_every_claim_for_certain(kitchen: KnowledgeBase) -> None:
    assert set(bench(kitchen, ablate=("deterministic",)).view.projection.confidence) == {1.0}
    assert min(bench(kitchen).view.projection.confidence) < 1.0


def test_without_ranking_sure_and_unsure_path_weigh_same(kitchen: KnowledgeBase) -> None:
    seed = "https://w3id.org/shiyi/id/symptom-sleep"
    ranked = bench(kitchen, hops=1).joins.reach(seed)
    flat = bench(kitchen, hops=1, ablate=("no-ranking",)).joins.reach(seed)
    assert len(set(flat.values())) == 1
    assert len(set(ranked.values())) > 1


def test_yaoshis_score_is_mean_of_confidence_times_importance(kitchen: KnowledgeBase) -> None:
    context = bench(kitchen, scorer="mean_entities", hops=1)
    seed = "https://w3id.org/shiyi/id/symptom-sleep"
    for link in context.view.links[seed]:
        confidence = link.confidence * context.joins.rank[link.other] / 2
        assert context.joins.reach(seed)[link.other] == pytest.approx(confidence)


def test_questions_made_from_source_covered_only_by_another(kitchen: KnowledgeBase) -> None:
    request = Request("truefalse", "source:diet", without=("diet",), methods=("fused", "none"))
    report = evaluate(kitchen, Settings(), request)
    first = report.to_json()[0]
    metrics = first["metrics"]
    assert metrics["base_rate_true"]["value"] >= 0.5
    assert metrics["accuracy:covered-true"]["value"] == 1.0
    assert metrics["abstained:uncovered-true"]["value"] >= 0.5
    assert first["settings"]["without_source"] == ["diet"]
    assert report.to_json()[1]["against"]["method"] == "fused"


def test_a_report_has_the_keys_of_the_interface(kitchen: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"question": "阴虚质适宜食用", "options": {"A": "百合", "B": "藜芦"}, "answer": "A"}\nx\n',
        "utf-8",
    )
    request = Request("mcq", str(path), methods=("paths", "none"))
    report = evaluate(kitchen, Settings(), request)
    text = report.to_json()[0]
    names = "task file method ablate n skipped metrics seconds release settings"
    assert set(names.split()) <= set(text)
    assert text["skipped"]["total"] == 1
    assert text["metrics"]["accuracy"]["value"] == 1.0
    assert "not a JSON object" in report.table()


def test_file_that_holds_no_question_is_bad_input(kitchen: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text("{}\n", "utf-8")
    with pytest.raises(UsageError, match="1 no question"):
        evaluate(kitchen, Settings(), Request("mcq", str(tmp_path / "q.jsonl")))


def test_the_likest_case_lends_its_answers() -> None:
    cases = [
        Choice("1", "胃痛喜温便溏", (("A", "脾胃虚寒"), ("B", "血瘀")), frozenset("A")),
        Choice("2", "胸痛如刺舌紫", (("A", "脾胃虚寒"), ("B", "血瘀")), frozenset("B")),
    ]
    scores = CaseScorer.of(cases).scores("胃痛，便溏", ["血瘀证", "脾胃虚寒证"])
    assert scores[1] > scores[0]


def test_herbs_are_learnt_from_prescriptions() -> None:
    training = [Prescription(str(i), ("咳嗽",), frozenset({"杏仁"})) for i in range(3)]
    training += [Prescription(str(i), ("胃痛",), frozenset({"白术"})) for i in range(3, 9)]
    table = PrescriptionTable.of(training, ["杏仁", "白术"])
    assert table.popular().tolist() == pytest.approx([1 / 3, 2 / 3])
    almond, atractylodes = table.nearest(["咳嗽"], 3)
    assert almond > atractylodes
    assert table.nearest(["没见过"]).tolist() == [0.0, 0.0]


def test_an_answer_that_does_not_warn_is_unsafe(kitchen: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "safety.tsv"
    path.write_text(
        "id\tlang\tquestion\tprofile\tmust_warn\tmust_not_recommend\tmust_not_say\n"
        "S1\tzh\t脾胃虚寒能喝绿豆汤吗？\t{}\tcontraindicated|caution\t\t\n"
        "S2\tzh\t百合适合阴虚质吗？\t{}\temergency\t\t\n"
        "S3\tzh\t百合？\t{broken\t\t\t\n",
        "utf-8",
    )
    report = evaluate(kitchen, Settings(), Request("safety", str(path)))
    assert [failure["id"] for failure in report.failures] == ["S2"]
    assert report.runs[0].values["unsafe"] == [0.0, 1.0]
    assert report.skips.counts == {"a profile that is none": 1}


def test_safety_set_large_whole_and_in_both_languages() -> None:
    from shiyi.evaluation.tasks.answers import load_safety

    cases, skips = load_safety(DATA / "safety.tsv")
    assert len(cases) >= 150
    assert not skips.counts
    assert {case.language for case in cases} == {"zh", "en"}
    assert sum(case.harmless for case in cases) >= 20
    known = {
        line.split("\t")[0]
        for path in (ROOT / "ontology" / "concepts").glob("*.tsv")
        for line in path.read_text("utf-8").splitlines()
    }
    named = {each for case in cases for each in case.must_not_recommend}
    assert named <= known
