import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.alarms import emergency_signs
from shiyi.answering.person import Person
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


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("心口闷痛，还往左肩窜，喝点啥", "chest-pressure-spreading-to-the-arm-or-jaw"),
        ("my jaw aches and my chest feels tight", "chest-pressure-spreading-to-the-arm-or-jaw"),
        ("刚才眼前一黑就倒在地上，吃什么补", "fainting"),
        ("she passed out in the kitchen, which soup", "fainting"),
        ("孕六周见红，吃什么好", "vaginal-bleeding-in-pregnancy"),
        ("spotting while pregnant, which tea", "vaginal-bleeding-in-pregnancy"),
        ("早上痰里有血丝", "coughing-up-blood"),
        ("the whites of my eyes are yellow", "jaundice"),
        ("我从昨晚起小便排不出来", "no-urine-output"),
        ("被蜂蜇了，嘴唇肿起来", "swelling-of-the-face-or-throat"),
        ("lips swollen after shrimp", "swelling-of-the-face-or-throat"),
        ("活不下去了，有什么茶", "suicidal-thoughts"),
        ("嚼了几颗生的苦杏仁", "suspected-poisoning"),
        ("I ate a handful of apricot kernels", "suspected-poisoning"),
        ("喝了药酒后舌头发麻", "suspected-poisoning"),
        ("my tongue tingles after a soup with aconite", "suspected-poisoning"),
        ("he took a whole bottle of sleeping pills", "suspected-poisoning"),
        ("三个月大的宝宝软绵绵的，不肯动", "infant-not-feeding-and-floppy"),
    ],
)  # fmt: skip
def test_an_emergency_is_seen_in_plain_words(question: str, sign: str) -> None:
    assert f"symptom-{sign}" in emergency_signs(question)


@pytest.mark.parametrize(
    "question",
    [
        "胃胀，吃什么好？", "嗓子有点肿，喝什么茶", "怀孕了牙龈出血，吃什么", "没有晕倒，只是累",
        "脸色发黄，怎么调理", "吃多了柿子，不消化", "I have never fainted, but I feel tired",
        "sore throat, which tea helps", "How are apricot kernels prepared?", "我想瘦，累死了",
        "吃桃仁能治手脚麻木吗", "I took 50 mg losartan tablets, can I eat bananas?",
        "Does aconite help numbness?", "I ate fresh herbs in my soup", "半夏泻心汤能治头昏吗",
        "bleeding gums while pregnant", "Is yellow millet good for the skin?",
    ],
)  # fmt: skip
def test_a_plain_complaint_is_no_emergency(question: str) -> None:
    assert emergency_signs(question) == ()


def test_a_pregnant_profile_makes_bleeding_an_emergency() -> None:
    assert emergency_signs("有点出血") == ()
    assert emergency_signs("有点出血", pregnant=True) == ("symptom-vaginal-bleeding-in-pregnancy",)


def test_a_described_sign_comes_first_and_no_food_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sign = ("EmergencySign", "晕厥", "syncope")
    monkeypatch.setitem(kitchen.CONCEPTS, "symptom-fainting", sign)
    answer = ask(kitchen.runtime(), "失眠，昨天眼前一黑就倒了，吃什么好？")
    assert answer.warnings[0].severity == "emergency"
    assert answer.recommendations == ()


def test_the_word_emergency_names_no_medicine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kitchen.CONCEPTS, "drug-pill", ("Drug", "紧急避孕药", "emergency"))
    met = kitchen.claim("substance-goji", "interactsWith", resource("drug-pill"))
    with_pill = kitchen.runtime([met])
    assert ask(with_pill, "紧急避孕药和枸杞子能一起吃吗？").warnings
    assert ask(with_pill, "Is it an emergency that I ate goji berry?").warnings == ()


def test_a_supplement_is_warned_of_as_its_herb_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extract = ("DSIngredient", "人参提取物", "ginseng extract")
    monkeypatch.setitem(kitchen.CONCEPTS, "supplement-ginseng", extract)
    monkeypatch.setitem(kitchen.CONCEPTS, "organism-ginseng", ("Organism", "人参属", "Panax"))
    with_extract = kitchen.runtime([
        kitchen.claim("supplement-ginseng", "derivedFromOrganism", resource("organism-ginseng")),
        kitchen.claim("substance-ginseng", "derivedFromOrganism", resource("organism-ginseng")),
    ])  # fmt: skip
    for question in ("Can ginseng extract be combined with false hellebore?",
                     "Can false hellebore be combined with ginseng extract?"):  # fmt: skip
        answer = ask(with_extract, question)
        assert [w.severity for w in answer.warnings] == ["contraindicated"]
        assert "no record" not in answer.text


def test_a_preparation_beside_a_medicine_is_checked_as_what_it_is_made_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(kitchen.CONCEPTS, "supplement-zinc", ("DSIngredient", "锌", "zinc"))
    monkeypatch.setitem(kitchen.CONCEPTS, "drug-zinc", ("DrugClass", "锌剂", "zinc preparations"))
    met = kitchen.claim("supplement-zinc", "interactsWith", resource("drug-metformin"))
    answer = ask(kitchen.runtime([met]), "二甲双胍和锌剂可以一起吃吗？")
    assert [w.severity for w in answer.warnings] == ["interaction"]


def test_whoever_asks_whether_they_may_is_warned_of_what_is_recorded(runtime: Runtime) -> None:
    assert [w.severity for w in ask(runtime, "百合每天能吃吗？").warnings] == ["caution"]
    assert ask(runtime, "百合的性味？").warnings == ()
