"""What people call things at home, in a shop or at a chemist's is known as that thing."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.ingest.starter import Starter, load_starter
from shiyi.linking.linker import Linker
from shiyi.model.rdf import local_name, text
from tests.linkers import of_tables

NAMED = {
    "substance-hibiscus": ("hibiscus", "玫瑰茄", "洛神花", "roselle"),
    "substance-durian": ("durian", "榴莲"),
    "substance-avocado": ("avocado", "牛油果"),
    "substance-kale": ("kale", "羽衣甘蓝"),
    "substance-cheese": ("cheese", "芝士", "aged cheese"),
    "substance-almond": ("almond", "巴旦木"),
    "substance-asparagus": ("asparagus", "芦笋"),
    "substance-anise": ("anise",),
    "substance-blueberry": ("blueberry", "蓝莓"),
    "substance-red-wine": ("red wine", "红酒"),
    "substance-lime": ("lime", "lime juice"),
    "substance-hotpot": ("火锅", "hot pot"),
    "substance-cola": ("可乐", "Coca-Cola"),
    "substance-dog-meat": ("狗肉",),
    "substance-chengzi": ("orange juice", "橙汁"),
    "substance-heizhima": ("芝麻", "sesame"),
    "substance-kuandonghua": ("coltsfoot", "款冬花"),
    "substance-shihu": ("石斛",),
    "substance-hamayou": ("雪蛤",),
    "substance-pepino": ("人参果",),
    "supplement-cannabidiol": ("CBD oil", "大麻二酚"),
    "supplement-wormwood": ("wormwood",),
    "supplement-uva-ursi": ("uva ursi", "bearberry"),
    "supplement-barberry": ("barberry",),
    "supplement-thuja": ("thuja",),
    "supplement-digestive-enzymes": ("酵素",),
    "dish-herbal-cooling-tea": ("凉茶", "王老吉"),
    "dish-guilinggao": ("龟苓膏",),
    "dish-guyuangao": ("固元膏",),
    "formula-lianhua-qingwen": ("连花清瘟", "莲花清瘟"),
    "formula-angong-niuhuang-wan": ("安宫牛黄丸",),
    "formula-niuhuang-jiedu-pian": ("牛黄解毒片",),
    "formula-suxiao-jiuxin-wan": ("速效救心丸",),
    "formula-huoxiang-zhengqi-shui": ("藿香正气水",),
    "formula-xiao-yao-san": ("逍遥丸",),
    "formula-shuanghuanglian": ("双黄连",),
    "drug-loratadine": ("氯雷他定", "Claritin"),
    "drug-febuxostat": ("febuxostat", "非布司他"),
    "drug-salbutamol": ("albuterol", "沙丁胺醇"),
    "drug-montelukast": ("montelukast", "Singulair"),
    "drug-ganmaoling": ("感冒灵", "999感冒灵"),
    "drug-colchicine": ("秋水仙碱", "colchicine"),
    "disease-rhinitis": ("鼻炎",),
    "disease-kidney-failure": ("透析", "dialysis"),
}
MENTIONS = [(name, concept) for concept, names in NAMED.items() for name in names]


@pytest.fixture(scope="module")
def linker() -> Linker:
    return of_tables()


@pytest.fixture(scope="module")
def starter() -> Starter:
    return load_starter()


@pytest.mark.parametrize(("name", "concept"), MENTIONS)
def test_an_everyday_name_is_known_whole_and_for_sure(
    linker: Linker, name: str, concept: str
) -> None:
    (found,) = linker.link(name)
    assert (found.text, local_name(found.iri or ""), found.score) == (name, concept, 1.0)


@pytest.mark.parametrize("text", ["red", "juice", "black", "my dog", "up to date", "红花油"])
def test_what_a_thing_looks_like_and_a_name_amid_other_words_are_no_food(
    linker: Linker, text: str
) -> None:
    assert [found.iri for found in linker.link(text) if found.iri] == []


def test_a_food_named_after_another_is_not_that_other(linker: Linker) -> None:
    linked = {local_name(m.iri) for m in linker.link("吃人参果和佛手瓜") if m.iri}
    assert linked == {"substance-pepino", "substance-chayote"}


def test_every_herb_of_the_favism_list_is_to_be_avoided_without_the_enzyme(
    starter: Starter,
) -> None:
    held = {
        (local_name(c.subject.value), local_name(text(c.object)))
        for c in starter.claims
        if local_name(c.predicate.value) == "cautionIn"
    }
    states = {
        "population-g6pd", "disease-favism", "disease-glucose-6-phosphate-dehydrogenase-deficiency",
    }  # fmt: skip
    for herb in ("huanglian", "jinyinhua", "niuhuang", "zhenzhu", "lameihua"):
        assert {state for subject, state in held if subject == f"substance-{herb}"} >= states


@pytest.mark.parametrize(
    ("question", "severity"),
    [
        ("我有蚕豆病，能喝金银花茶吗", "contraindicated"),
        ("G6PD缺乏能吃牛黄解毒片吗", "contraindicated"),
        ("怀孕能吃安宫牛黄丸吗", "contraindicated"),
        ("怀孕能吃牛黄解毒片吗", "contraindicated"),
        ("高血压能吃连花清瘟吗", "caution"),
        ("孕妇能吃龟苓膏吗", "caution"),
        ("痛风能吃火锅吗", "contraindicated"),
        ("糖尿病可以吃榴莲吗", "caution"),
        ("吃头孢能喝藿香正气水吗", "interaction"),
        ("吃秋水仙碱能吃西柚吗", "interaction"),
        ("吃了感冒灵能喝酒吗", "interaction"),
        ("I take warfarin, can I eat kale?", "interaction"),
        ("I'm on warfarin, is avocado fine?", "interaction"),
        ("I take phenelzine, can I eat cheese?", "interaction"),
        ("Nardil and red wine", "interaction"),
        ("Can I take CBD oil with clobazam?", "interaction"),
        ("CBD and Depakote together?", "interaction"),
        ("Is hibiscus tea fine with blood pressure pills?", "interaction"),
        ("Can I drink hibiscus tea while pregnant?", "contraindicated"),
        ("Can I take thuja while pregnant?", "contraindicated"),
        ("Is barberry fine in pregnancy?", "contraindicated"),
        ("Can I drink coltsfoot tea with liver disease?", "contraindicated"),
        ("thuja and epilepsy", "contraindicated"),
    ],
)
def test_what_must_not_be_missed_is_said(runtime: Runtime, question: str, severity: str) -> None:
    assert severity in {warning.severity for warning in ask(runtime, question).warnings}
