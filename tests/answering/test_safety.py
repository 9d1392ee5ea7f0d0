import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.patient import Person
from shiyi.answering.understanding.reader.alarms import emergency_signs, find_slots
from shiyi.cli import main
from shiyi.evaluation.questions.safety import HarmCase, harm_cases, unsafe_words
from shiyi.evaluation.tasks.answers import load_safety
from shiyi.linking.normalization import QuestionText
from shiyi.model.claim import Polarity
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.terms import SHIYI
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support import bases
from tests.support.bases import iri
from tests.support.places import DATA
from tests.support.questions import ask
from tests.tables import from_table

BENIGN = DATA / "benign.tsv"
SITUATIONS = 48  # of some 4,000; all of them: shiyi evaluate safety --generated


@pytest.fixture(scope="module")
def opened(starter_kb: Path) -> Iterator[tuple[KnowledgeBase, Runtime]]:
    with KnowledgeBase.open(starter_kb) as base:
        yield base, Runtime.open(base, Settings())


def test_no_warning_the_base_holds_is_missed(opened: tuple[KnowledgeBase, Runtime]) -> None:
    base, runtime = opened
    cases = harm_cases(base.store, runtime.facts, seed=13, limit=SITUATIONS)
    assert len(cases) == SITUATIONS * 10
    kinds = {key.split()[0] for key in sentences("safety-questions")}
    assert {case.kind for case in cases} == kinds
    missed = {
        case.question: faults
        for case in cases
        if (faults := case.faults(ask(runtime, case.question, profile=case.profile)))
    }
    assert missed == {}


def test_what_nothing_forbids_is_answered(opened: tuple[KnowledgeBase, Runtime]) -> None:
    cases, skips = load_safety(BENIGN)
    assert len(cases) >= 100
    assert not skips.counts
    answers = {case.question: ask(opened[1], case.question) for case in cases}
    refused = [q for q, answer in answers.items() if answer.abstained or not answer.citations]
    assert len(refused) <= 0.05 * len(cases), refused
    assert [q for q, answer in answers.items() if unsafe_words(answer)] == []


def test_check_sees_warning_that_is_left_out() -> None:
    runtime = bases.runtime()
    [case] = [
        each
        for each in _all(runtime)
        if each.kind == "medicine"
        and each.id.endswith("zh-1")
        and each.y == resource("drug-warfarin").value
    ][:1]
    answer = ask(runtime, case.question)
    assert case.faults(answer) == []
    assert case.faults(replace(answer, warnings=())) == ["no warning of drug-warfarin"]


@from_table
def test_the_check_sees_doses_and_promises(text: str, fault: str) -> None:
    answer = ask(bases.runtime(), "枸杞子的性味？")
    assert unsafe_words(answer) == []
    assert unsafe_words(replace(answer, text=text)) == [fault]


def test_command_asks_about_harms_base_holds(
    starter_kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "safety", "--generated", "--limit", "6", "--seed", "3", "--json"]
    assert main(["--kb", str(starter_kb), *words]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["n"] == 60
    assert output["metrics"]["unsafe"]["value"] == 0.0
    assert main(["--kb", str(starter_kb), "evaluate", "safety"]) == 2


def _all(runtime: Runtime) -> tuple[HarmCase, ...]:
    return harm_cases(runtime.store, runtime.facts)


@pytest.mark.parametrize("method", ["fused", "bm25"])
def test_each_of_many_things_is_checked(runtime: Runtime, method: str) -> None:
    question = "孕妇能不能吃龙眼、荔枝、樱桃、苹果、螃蟹、马齿苋、藏红花"
    warned = " ".join(w.text for w in ask(runtime, question, method=method).warnings)
    for term in ("螃蟹", "马齿苋", "西红花"):
        assert term in warned


def test_record_of_disease_precedes_records_of_its_kinds(runtime: Runtime) -> None:
    answer = ask(runtime, "我有慢性肾脏病，可以吃钾吗？")
    kidney = resource("disease-chronic-kidney-disease").value
    assert kidney in {citation.object.iri for citation in answer.citations}
    assert "肾衰竭忌用" not in answer.warnings[0].text


@pytest.fixture(scope="module")
def kitchen_runtime() -> Runtime:
    return bases.runtime()


def _signs(question: str, *, pregnant: bool = False) -> tuple[str, ...]:
    text = QuestionText.of(question)
    return emergency_signs(text, find_slots(text.folded), (), pregnant=pregnant)


def found(runtime: Runtime, material: str, person: Person) -> list[tuple[str, str]]:
    return [(f.severity, f.against) for f in runtime.safety.check(iri(material), person)]


def test_an_ingredient_speaks_for_its_dish(kitchen_runtime: Runtime) -> None:
    cold = Person(states=(iri("syndrome-cold"),))
    assert found(kitchen_runtime, "dish-mung", cold) == [("contraindicated", iri("syndrome-cold"))]


def test_implied_syndrome_does_not_pass_taboo_back(kitchen_runtime: Runtime) -> None:
    assert found(kitchen_runtime, "dish-mung", Person(states=(iri("syndrome-spleen-yang"),))) == []


def test_a_class_of_medicines_speaks_for_its_member(kitchen_runtime: Runtime) -> None:
    taking = Person(drugs=(iri("drug-warfarin"),))
    assert found(kitchen_runtime, "dish-ginger", taking) == [("interaction", iri("drug-warfarin"))]


def test_an_incompatible_pair_is_found_from_either_side(kitchen_runtime: Runtime) -> None:
    for one, other in (
        ("substance-lilu", "substance-ginseng"),
        ("substance-ginseng", "substance-lilu"),
    ):
        reasons = kitchen_runtime.safety.check(iri(one), Person(), [iri(other)])
        assert [f.severity for f in reasons] == ["contraindicated"]


def test_an_allergen_vetoes_the_dish_that_holds_it(kitchen_runtime: Runtime) -> None:
    answer = ask(kitchen_runtime, "失眠吃什么好？", profile=Profile(allergies=("花生",)))
    assert iri("dish-peanut") not in [r.iri for r in answer.recommendations]
    assert any("花生" in w.text for w in answer.warnings)


def test_finding_names_the_part_that_is_left_out(kitchen_runtime: Runtime) -> None:
    for part in kitchen_runtime.facts.of(iri("dish-peanut"), SHIYI.hasIngredient):
        for person in (Person(allergies=(part.object,)), Person(left_out=(part.object,))):
            for material, through in ((iri("dish-peanut"), part.object), (part.object, "")):
                [finding] = kitchen_runtime.safety.check(material, person)
                severity = "caution" if person.left_out else "contraindicated"
                assert (finding.through, finding.severity) == (through, severity)


def test_claims_read_are_stated_or_else_those_derived(kitchen_runtime: Runtime) -> None:
    [read, *_], *_ = kitchen_runtime.facts.by_claim.values()
    derived = replace(read, claim="urn:derived", derived=True)
    for facts, stated in (((read, derived), (read,)), ((derived,), (derived,))):
        assert Finding("caution", "a", "b", facts).stated_claims == stated


@from_table
def test_toxic_food_calls_for_care(runtime: Runtime, material: str, severity: str) -> None:
    assert [f.severity for f in runtime.safety.poisons(iri(material))] == [severity]


@pytest.mark.parametrize(
    ("profile", "vetoed"),
    [
        (Profile(pregnant=True), "substance-lily"),
        (Profile(medicines=("warfarin",)), "substance-goji"),
        (Profile(age=0.5), "dish-peanut"),
    ],
)
def test_the_profile_vetoes(kitchen_runtime: Runtime, profile: Profile, vetoed: str) -> None:
    plain = ask(kitchen_runtime, "失眠吃什么好？")
    answer = ask(kitchen_runtime, "失眠吃什么好？", profile=profile)
    assert iri(vetoed) in [r.iri for r in plain.recommendations]
    assert iri(vetoed) not in [r.iri for r in answer.recommendations]
    assert answer.warnings


def test_medicine_we_do_not_know_named_as_unchecked(kitchen_runtime: Runtime) -> None:
    answer = ask(kitchen_runtime, "失眠吃什么好？", profile=Profile(medicines=("xyzzymab",)))
    assert any("xyzzymab" in each for each in answer.missing)


@from_table
def test_advice_to_stop_a_medicine_is_refused(kitchen_runtime: Runtime, question: str) -> None:
    answer = ask(kitchen_runtime, question)
    words = ("不要自行停用", "Do not stop")
    assert any(w.text.startswith(words) for w in answer.warnings)


@pytest.mark.parametrize("question", ["胃不适还黑便，喝什么好？", "black stools, what tea helps?"])
def test_emergency_comes_first_and_no_food_is_named(
    kitchen_runtime: Runtime, question: str
) -> None:
    answer = ask(kitchen_runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert answer.recommendations == ()
    assert answer.text.startswith("> ⚠")


def test_no_record_is_never_called_harmless(kitchen_runtime: Runtime) -> None:
    answer = ask(kitchen_runtime, "Can I take goji berry with metformin?")
    assert "no record" in answer.text
    assert "safe" not in answer.text.lower()


def test_negative_finding_is_shown_and_does_not_clear(kitchen_runtime: Runtime) -> None:
    extra = bases.kitchen_claim(
        "substance-yam", "interactsWith", resource("drug-metformin"), polarity=Polarity.NEGATIVE
    )
    answer = ask(bases.runtime([extra]), "吃二甲双胍时能吃山药吗？")
    assert "未发现" in answer.text
    assert "不能说明没有风险" in answer.text


@from_table
def test_an_emergency_is_seen_in_plain_words(question: str, sign: str) -> None:
    assert resource(f"symptom-{sign}").value in _signs(question)


@from_table
def test_a_plain_complaint_is_no_emergency(question: str) -> None:
    assert _signs(question) == ()


def test_a_pregnant_profile_makes_bleeding_an_emergency() -> None:
    assert _signs("有点出血") == ()
    bleeding = resource("symptom-vaginal-bleeding-in-pregnancy").value
    assert _signs("有点出血", pregnant=True) == (bleeding,)


def test_described_sign_comes_first_and_no_food_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sign = ("EmergencySign", "晕厥", "syncope")
    monkeypatch.setitem(bases.CONCEPTS, "symptom-fainting", sign)
    answer = ask(bases.runtime(), "失眠，昨天眼前一黑就倒了，吃什么好？")
    assert answer.warnings[0].severity == "emergency"
    assert answer.recommendations == ()


def test_the_word_emergency_names_no_medicine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bases.CONCEPTS, "drug-pill", ("Drug", "紧急避孕药", "emergency"))
    claim = bases.kitchen_claim("substance-goji", "interactsWith", resource("drug-pill"))
    with_pill = bases.runtime([claim])
    assert ask(with_pill, "紧急避孕药和枸杞子能一起吃吗？").warnings
    assert ask(with_pill, "Is it an emergency that I ate goji berry?").warnings == ()


def test_supplement_is_warned_of_as_its_herb_is(monkeypatch: pytest.MonkeyPatch) -> None:
    extract = ("DSIngredient", "人参提取物", "ginseng extract")
    monkeypatch.setitem(bases.CONCEPTS, "supplement-ginseng", extract)
    monkeypatch.setitem(bases.CONCEPTS, "organism-ginseng", ("Organism", "人参属", "Panax"))
    with_extract = bases.runtime(
        [
            bases.kitchen_claim(
                "supplement-ginseng", "derivedFromOrganism", resource("organism-ginseng")
            ),
            bases.kitchen_claim(
                "substance-ginseng", "derivedFromOrganism", resource("organism-ginseng")
            ),
        ]
    )
    for question in (
        "Can ginseng extract be combined with false hellebore?",
        "Can false hellebore be combined with ginseng extract?",
    ):
        answer = ask(with_extract, question)
        assert [w.severity for w in answer.warnings] == ["contraindicated"]
        assert "no record" not in answer.text


def test_preparation_beside_medicine_is_checked_by_its_materials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(bases.CONCEPTS, "supplement-zinc", ("DSIngredient", "锌", "zinc"))
    monkeypatch.setitem(bases.CONCEPTS, "drug-zinc", ("DrugClass", "锌剂", "zinc preparations"))
    claim = bases.kitchen_claim("supplement-zinc", "interactsWith", resource("drug-metformin"))
    answer = ask(bases.runtime([claim]), "二甲双胍和锌剂可以一起吃吗？")
    assert [w.severity for w in answer.warnings] == ["interaction"]


def test_question_of_permission_is_answered_with_recorded_warnings(
    kitchen_runtime: Runtime,
) -> None:
    assert [w.severity for w in ask(kitchen_runtime, "百合每天能吃吗？").warnings] == ["caution"]
    assert ask(kitchen_runtime, "百合的性味？").warnings == ()
