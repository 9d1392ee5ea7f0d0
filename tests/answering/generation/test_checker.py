"""The sentence checker: every word accounted for, both ends, relation, polarity, direction."""

from dataclasses import replace

import pytest

from shiyi.answering.generation.checker import supporting, unverified
from shiyi.answering.generation.premises import Premise
from shiyi.answering.generation.vocabulary import Vocabulary, units_of


def names(*labels: str) -> frozenset[str]:
    return frozenset(labels)


WARFARIN = names("华法林", "warfarin")
GINKGO = names("银杏叶提取物", "ginkgo leaf extract", "ginkgo")
INTERACTION = Premise(
    GINKGO,
    "interactsWith",
    WARFARIN,
    rating="moderate",
    severity="caution",
    notes=("增加出血风险", "Raises the risk of bleeding"),
)
GOJI = names("枸杞子", "goji")
FLAVOUR = Premise(GOJI, "hasFlavour", names("甘", "sweet"))
NATURE = Premise(GOJI, "hasNature", names("平", "neutral"))
CLAIMED = Premise(
    names("牛蒡补充剂", "burdock supplement"),
    "indicatedFor",
    names("银屑病", "psoriasis"),
    grade="purported use",
)
INEFFECTIVE = Premise(
    names("硒", "selenium"),
    "isEffectiveFor",
    names("前列腺癌", "prostate cancer"),
    rating="ineffective",
)
LEVELS = Premise(
    names("贯叶连翘", "St John's wort"),
    "interactsWith",
    names("抗癫痫药", "antiepileptic drugs"),
    notes=("药物浓度可下降", "Levels may fall"),
)
MYTH = Premise(
    names("螃蟹", "crab"), "incompatibleWith", names("柿子", "persimmon"), polarity="negative"
)

FORBIDDEN = Premise(
    names("药用鼠尾草", "medicinal sage"),
    "contraindicatedIn",
    names("孕妇", "pregnant women"),
    severity="contraindicated",
    notes=("可致流产；调味量无此记载", "May cause miscarriage"),
)
CARE = Premise(
    names("咖啡因", "caffeine"),
    "cautionIn",
    names("高血压", "hypertension"),
    severity="caution",
    notes=("升高血压", "Raises blood pressure"),
)
OSMOTIC = Premise(
    names("镁", "magnesium"),
    "isEffectiveFor",
    names("便秘", "constipation"),
    rating="effective",
    notes=("渗透性通便；肾病者禁", "Osmotic laxative; not in kidney disease"),
)
MASKING = Premise(
    names("维生素B12", "vitamin B12"),
    "interactsWith",
    names("叶酸", "folic acid"),
    severity="monitor",
    notes=("叶酸可掩盖B12缺乏的贫血", "Folic acid can mask B12-deficiency anaemia"),
)
SCANTY = Premise(names("甘蔗粥"), "relieves", names("痰少而黏", "scanty sticky phlegm"))
SLIM = Premise(
    names("壳聚糖", "chitosan"), "isEffectiveFor", names("肥胖症", "obesity"), rating="insufficient"
)


@pytest.mark.parametrize(
    ("sentence", "premise"),
    [
        ("银杏叶提取物可能与华法林相互作用，增加出血风险。", INTERACTION),
        ("Ginkgo may interact with warfarin and raise the risk of bleeding.", INTERACTION),
        ("枸杞子味甘。", FLAVOUR),
        ("Goji is sweet.", FLAVOUR),
        ("有人宣称牛蒡补充剂能用于银屑病。", CLAIMED),
        ("Burdock supplement is promoted for psoriasis, but that is no proof.", CLAIMED),
        ("Trials did not find that selenium prevents prostate cancer.", INEFFECTIVE),
        ("St John's wort may lower the levels of antiepileptic drugs.", LEVELS),
        ("螃蟹和柿子同食未见致病。", MYTH),
        ("怀孕的时候千万别吃药用鼠尾草，可能小产。", FORBIDDEN),
        ("Medicinal sage is off the table for expecting mothers.", FORBIDDEN),
        ("血压高的人喝咖啡因要留个心眼，会把血压顶上去。", CARE),
        ("Folic acid may hide the anaemia of B12 deficiency, so watch vitamin B12.", MASKING),
        ("痰少又黏，甘蔗粥可以缓解。", SCANTY),
        ("壳聚糖减肥？证据不够。", SLIM),
        ("As the books have it, by the way, goji is described as sweet.", FLAVOUR),
        ("有人问起，枸杞子算是味甘的一味药材。", FLAVOUR),
        ("银杏叶提取物会不会影响华法林？可能，出血风险会增加。", INTERACTION),
        ("No medicinal sage for pregnant women.", FORBIDDEN),
        ("Folic acid can mask the anemia of B12 deficiency; watch vitamin B12.", MASKING),
        ("Magnesium works for constipation; it should not be used in kidney disease.", OSMOTIC),
        ("镁通便有效，肾病患者不能用。", OSMOTIC),
    ],
)
def test_sentence_that_restates_its_claim_is_verified(sentence: str, premise: Premise) -> None:
    assert unverified(sentence, [premise]) == ""


@pytest.mark.parametrize(
    ("sentence", "premise", "fault"),
    [
        ("Ginkgo does not interact with warfarin.", INTERACTION, "not accounted for: not"),
        ("银杏叶提取物不影响华法林。", INTERACTION, "not accounted for: 不"),
        ("Ginkgo may interact with warfarin and aspirin.", INTERACTION, "not accounted for: aspirin"),
        ("Take 120 mg of ginkgo with warfarin with caution.", INTERACTION, "120"),
        ("Ginkgo may affect warfarin; lower the dose of warfarin.", INTERACTION, "change a medicine"),
        ("Ginkgo and warfarin.", INTERACTION, "does not state the relation"),
        ("Ginkgo can be taken together with warfarin.", INTERACTION, "does not state the relation"),
        ("Ginkgo calls for caution.", INTERACTION, "does not name both ends"),
        ("枸杞子味苦。", FLAVOUR, "not accounted for: 苦"),
        ("牛蒡补充剂能用于银屑病。", CLAIMED, "does not state the relation"),
        ("Selenium prevents prostate cancer.", INEFFECTIVE, "does not state the relation"),
        ("Antiepileptic drugs lower the levels of St John's wort.", LEVELS, "turns the relation"),
        ("螃蟹和柿子不能一起吃。", MYTH, "not accounted for"),
        ("孕妇能吃药用鼠尾草，可能小产。", FORBIDDEN, "does not state the relation"),
        ("孕妇禁用药用鼠尾草，也可以吃。", FORBIDDEN, "allows what its claim forbids"),
        ("孕妇不要避免药用鼠尾草。", FORBIDDEN, "denies what it forbids"),
        ("不用担心，孕妇禁用药用鼠尾草。", FORBIDDEN, "promises safety"),
        ("镁通便有效，肾病患者也可以用。", OSMOTIC, "leaves out what its note forbids"),
        ("Vitamin B12 can mask anaemia of folic acid; watch.", MASKING, "turns the relation"),
        ("Ginkgo will raise the risk of bleeding with warfarin.", INTERACTION, "will"),
        ("Magnesium works for constipation; it should not be used.", OSMOTIC, "forbids what its note"),
        ("镁通便有效，肾病患者应该用。", OSMOTIC, "leaves out what its note forbids"),
        ("药用鼠尾草孕妇禁用，不可能小产。", FORBIDDEN, "不 可 能"),
        ("Pregnant women should not keep away from medicinal sage.", FORBIDDEN, "denies"),
        ("药用鼠尾草孕妇禁不用。", FORBIDDEN, "denies what it forbids"),
        ("There is no medicinal sage that pregnant women avoid.", FORBIDDEN, "denies"),
        ("Burdock supplement is promoted for psoriasis. It is effective.", CLAIMED, "claimed for shown"),
        ("Caffeine is a sensible choice in hypertension: it raises blood pressure.", CARE, "relation"),
    ],
)  # fmt: skip
def test_sentence_that_says_other_than_its_claim_is_refused(
    sentence: str, premise: Premise, fault: str
) -> None:
    assert fault in unverified(sentence, [premise])


def test_sentence_without_claim_is_refused() -> None:
    assert unverified("枸杞子味甘。", []) == "cites no claim"


def test_subject_of_sentences_before_need_not_be_named_again() -> None:
    assert unverified("It is sweet.", [FLAVOUR]) == "does not name both ends of the claim"
    assert unverified("It is sweet.", [FLAVOUR], [GOJI]) == ""
    assert unverified("It is sweet.", [FLAVOUR], [GINKGO]) != ""


def test_clauses_are_verified_each_by_its_claim() -> None:
    assert unverified("枸杞子味甘，性平。", [FLAVOUR, NATURE]) == ""
    assert "not accounted for" in unverified("枸杞子味平，性甘，辛。", [FLAVOUR, NATURE])


def test_every_cited_claim_is_stated() -> None:
    assert unverified("枸杞子味甘。", [FLAVOUR, NATURE]) == "does not state every claim it cites"
    assert supporting("枸杞子味甘。", [NATURE, FLAVOUR]) == (1,)


def test_subjects_of_one_property_may_be_listed() -> None:
    longan = replace(NATURE, subject=names("龙眼肉", "longan aril"), object=names("温", "warm"))
    tea = replace(NATURE, subject=names("陈皮茶", "tangerine peel tea"), object=names("温", "warm"))
    assert unverified("Both tangerine peel tea and longan aril are warm.", [tea, longan]) == ""
    assert unverified("Longan aril is warm, and so is lychee.", [longan]) != ""


def test_claims_of_two_things_are_not_exchanged() -> None:
    cool = replace(NATURE, subject=names("淡豆豉"), object=names("凉"))
    neutral = replace(NATURE, subject=names("甘草"), object=names("平"))
    assert unverified("淡豆豉性凉，甘草性平。", [cool, neutral]) == ""
    assert unverified("淡豆豉性平，甘草性凉。", [cool, neutral]) != ""


def test_contrary_of_a_claim_is_found() -> None:
    contrary = replace(INTERACTION, opposed=True)
    assert unverified("Ginkgo does not interact with warfarin.", [contrary]) == ""
    assert unverified("Ginkgo may interact with warfarin.", [contrary]) != ""


def test_widths_and_scripts_hide_no_word() -> None:
    assert unverified("银杏叶提取物不影響华法林。", [INTERACTION]) != ""
    assert unverified("Ｇｉｎｋｇｏ does ｎｏｔ interact with warfarin.", [INTERACTION]) != ""


def test_vocabulary_has_both_languages() -> None:
    vocabulary = Vocabulary.load()
    for relation in ("relieves", "suitableFood", "contraindicatedIn", "interactsWith"):
        phrases = vocabulary.by_key[relation]
        assert any("\u3400" <= p[0] <= "\u9fff" for p in phrases)
        assert any(p[0].isascii() for p in phrases)
    assert units_of("avoid") in vocabulary.by_key["contraindicatedIn"]
