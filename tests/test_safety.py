import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.reading import Person
from shiyi.model.claim import Polarity
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from tests import kitchen
from tests.kitchen import iri


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return kitchen.runtime()


def found(runtime: Runtime, material: str, person: Person) -> list[tuple[str, str]]:
    return [(f.severity, f.against) for f in runtime.safety.check(iri(material), person)]


def test_an_ingredient_speaks_for_its_dish(runtime: Runtime) -> None:
    cold = Person(states=(iri("syndrome-cold"),))
    assert found(runtime, "dish-mung", cold) == [("contraindicated", iri("syndrome-cold"))]


def test_an_implied_syndrome_does_not_pass_a_taboo_back(runtime: Runtime) -> None:
    assert found(runtime, "dish-mung", Person(states=(iri("syndrome-spleen-yang"),))) == []


def test_a_class_of_medicines_speaks_for_its_member(runtime: Runtime) -> None:
    taking = Person(drugs=(iri("drug-warfarin"),))
    assert found(runtime, "dish-ginger", taking) == [("interaction", iri("drug-warfarin"))]


def test_an_incompatible_pair_is_found_from_either_side(runtime: Runtime) -> None:
    for one, other in (("substance-lilu", "substance-ginseng"),
                       ("substance-ginseng", "substance-lilu")):  # fmt: skip
        reasons = runtime.safety.check(iri(one), Person(), [iri(other)])
        assert [f.severity for f in reasons] == ["contraindicated"]


def test_an_allergen_vetoes_the_dish_that_holds_it(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么好？", profile=Profile(allergies=("花生",)))
    assert iri("dish-peanut") not in [r.iri for r in answer.recommendations]
    assert any("花生" in w.text for w in answer.warnings)


@pytest.mark.parametrize(
    ("profile", "vetoed"),
    [
        (Profile(pregnant=True), "substance-lily"),
        (Profile(medicines=("warfarin",)), "substance-goji"),
        (Profile(age=0.5), "dish-peanut"),
    ],
)
def test_the_profile_vetoes(runtime: Runtime, profile: Profile, vetoed: str) -> None:
    plain = ask(runtime, "失眠吃什么好？")
    asked = ask(runtime, "失眠吃什么好？", profile=profile)
    assert iri(vetoed) in [r.iri for r in plain.recommendations]
    assert iri(vetoed) not in [r.iri for r in asked.recommendations]
    assert asked.warnings


def test_a_medicine_we_do_not_know_is_named_as_unchecked(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么好？", profile=Profile(medicines=("xyzzymab",)))
    assert any("xyzzymab" in each for each in answer.missing)


@pytest.mark.parametrize(
    "question",
    [
        "我能不能不吃二甲双胍？", "可以用山药代替二甲双胍吗", "想停药，改喝枸杞水行吗",
        "Can I stop taking metformin and eat Chinese yam?", "ginger tea instead of my medicine?",
    ],
)  # fmt: skip
def test_advice_to_stop_a_medicine_is_refused(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    words = ("不要自行停用", "Do not stop")
    assert any(w.text.startswith(words) for w in answer.warnings)


@pytest.mark.parametrize("question", ["胃不适还黑便，喝什么好？", "black stools, what tea helps?"])
def test_an_emergency_comes_first_and_no_food_is_named(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert answer.recommendations == ()
    assert answer.text.startswith("> ⚠")


def test_no_record_is_never_called_harmless(runtime: Runtime) -> None:
    answer = ask(runtime, "Can I take goji berry with metformin?")
    assert "no record" in answer.text
    assert "safe" not in answer.text.lower()


def test_a_negative_finding_is_shown_and_does_not_clear(runtime: Runtime) -> None:
    extra = kitchen.claim("substance-yam", "interactsWith", resource("drug-metformin"),
                          polarity=Polarity.NEGATIVE)  # fmt: skip
    answer = ask(kitchen.runtime([extra]), "吃二甲双胍时能吃山药吗？")
    assert "未发现" in answer.text
    assert "不能说明没有风险" in answer.text
