"""The starter knowledge base holds what it promises, and each promise could fail."""

import re
from collections import Counter
from pathlib import Path

from shiyi.ingest.tables.starter import Starter
from shiyi.model.claim import Claim, Tier
from shiyi.model.rdf import local_name, text
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.named import quality_faults, quality_queries
from tests.tables import from_table


def claims(starter: Starter, predicate: str) -> list[Claim]:
    return [claim for claim in starter.claims if claim.predicate == getattr(SHIYI, predicate)]


def of(starter: Starter, class_name: str) -> list[str]:
    return [c.id for c in starter.concepts.by_id.values() if c.class_name == class_name]


def pairs(starter: Starter, predicate: str) -> set[tuple[str, str]]:
    return {
        (local_name(claim.subject.value), local_name(text(claim.object)))
        for claim in claims(starter, predicate)
    }


def names(starter: Starter, predicate: str) -> set[frozenset[str]]:
    """Return pairs by their Chinese labels, whichever way round they are stored."""
    label = {concept.id: concept.zh for concept in starter.concepts.by_id.values()}
    return {frozenset((label[a], label[b])) for a, b in pairs(starter, predicate)}


def test_the_catalogue_has_106_names_in_four_batches(starter: Starter) -> None:
    numbered = {
        code: concept.id
        for concept in starter.concepts.by_id.values()
        for code in concept.notation
        if re.fullmatch(r"MFH-\d{3}", code) and not starter.broader[concept.id]
    }
    assert len(numbered) == 106
    status = pairs(starter, "regulatoryStatus")
    batch = Counter(
        year
        for name in numbered.values()
        for year in ("2002", "2019", "2023", "2024")
        if (name, f"status-mfh-{year}") in status
    )
    assert batch == {"2002": 87, "2019": 6, "2023": 9, "2024": 4}


def test_catalogue_names_have_nature_flavour_channel_efficacy(starter: Starter) -> None:
    parts: dict[str, set[str]] = {}
    for child, above in starter.broader.items():
        for parent in above:
            parts.setdefault(parent, set()).add(child)
    for predicate, floor in (
        ("hasNature", 104),
        ("hasFlavour", 104),
        ("hasMeridianTropism", 104),
        ("hasEfficacy", 104),
    ):
        having = {subject for subject, _ in pairs(starter, predicate)}
        numbered = [
            c.id
            for c in starter.concepts.by_id.values()
            if any(code.startswith("MFH-") for code in c.notation) and not starter.broader[c.id]
        ]
        covered = [n for n in numbered if n in having or having & parts.get(n, set())]
        assert len(covered) >= floor, (predicate, sorted(set(numbered) - set(covered)))


@from_table
def test_the_base_is_broad_enough(starter: Starter, class_name: str, floor: int) -> None:
    assert len(of(starter, class_name)) >= floor


def test_every_concept_is_defined_shortly_in_both_languages(starter: Starter) -> None:
    concepts = starter.concepts.by_id.values()
    assert [concept.id for concept in concepts if not 2 <= len(concept.definition_zh) <= 50] == []
    assert [
        concept.id for concept in concepts if not 2 <= len(concept.definition_en.split()) <= 30
    ] == []


def test_each_of_six_thousand_claims_has_tier(starter: Starter) -> None:
    assert len(starter.claims) >= 6000
    for claim in starter.claims:
        assert all(evidence.source.tier in set(Tier) for evidence in claim.evidence)


LEFT = (
    "川贝母",
    "浙贝母",
    "平贝母",
    "伊贝母",
    "湖北贝母",
    "瓜蒌",
    "瓜蒌子",
    "瓜蒌皮",
    "天花粉",
    "半夏",
    "白及",
    "白蔹",
)
OPPOSED = [
    *((term, right) for term in ("川乌", "草乌", "附子") for right in LEFT),
    *(("甘草", right) for right in ("甘遂", "京大戟", "红大戟", "海藻", "芫花")),
    *(("藜芦", right) for right in ("人参", "丹参", "玄参", "南沙参", "北沙参", "苦参", "细辛", "白芍",
                                  "赤芍", "西洋参", "党参")),
]  # fmt: skip
FEARED = [
    ("硫黄", "芒硝"),
    ("水银", "砒霜"),
    ("狼毒", "密陀僧"),
    ("巴豆", "牵牛子"),
    ("丁香", "郁金"),
    ("牙硝", "三棱"),
    ("川乌", "犀角"),
    ("草乌", "犀角"),
    ("人参", "五灵脂"),
    ("肉桂", "赤石脂"),
]


def test_all_52_incompatible_pairs_are_there(starter: Starter) -> None:
    stored = names(starter, "opposes")
    assert len(OPPOSED) == 52
    assert [pair for pair in OPPOSED if frozenset(pair) not in stored] == []
    assert frozenset(("藜芦", "太子参")) not in stored
    assert not any("昆布" in pair for pair in stored)


def test_all_ten_fears_are_there(starter: Starter) -> None:
    stored = names(starter, "fears")
    assert [pair for pair in FEARED if frozenset(pair) not in stored] == []


def test_mung_bean_has_two_natures_by_two_books(starter: Starter) -> None:
    natures = [c for c in claims(starter, "hasNature") if c.subject.value.endswith("-lvdou")]
    assert {local_name(text(c.object)) for c in natures} >= {"nature-cold", "nature-cool"}
    [taboo] = [
        c
        for c in claims(starter, "contraindicatedIn")
        if c.subject.value.endswith("-lvdou") and "stomach" in text(c.object)
    ]
    assert len({evidence.suggested.id for evidence in taboo.evidence if evidence.suggested}) == 2


def test_taboo_on_spleen_cold_reaches_yang_deficiency(starter: Starter) -> None:
    label = {concept.zh: concept.id for concept in starter.concepts.by_id.values()}
    wanted = label["脾阳虚证"]
    implied = pairs(starter, "impliesSyndrome")
    assert any(wanted in pair for pair in implied)


def test_goji_and_warfarin_rest_on_three_case_reports(starter: Starter) -> None:
    [claim] = [
        c
        for c in claims(starter, "interactsWith")
        if c.subject.value.endswith("substance-gouqizi") and text(c.object).endswith("-warfarin")
    ]
    reports = {e.source.id for e in claim.evidence if e.source.tier is Tier.CASE_REPORT}
    assert reports >= {"rivera-2012", "lam-2001", "leung-2008"}


def test_published_confidence_of_yaoshi_path_is_used(starter: Starter) -> None:
    [claim] = [
        c
        for c in claims(starter, "relatedConstitution")
        if "vivid" in c.subject.value and text(c.object).endswith("constitution-yin-deficiency")
    ]
    assert claim.confidence.value == 0.87


def test_honey_is_not_for_infants(starter: Starter) -> None:
    stored = pairs(starter, "contraindicatedIn")
    assert ("substance-fengmi", "population-infant") in stored


def test_no_known_wrong_cui_is_used(starter: Starter) -> None:
    wrong = {
        ("supplement-selenium", "C0521939"),
        ("supplement-probiotics", "C5815877"),
        ("drug-levothyroxine", "C0021048"),
        ("drug-metformin", "C0025234"),
        ("drug-losartan", "C0065370"),
        ("drug-lisinopril", "C0065371"),
    }
    used = {(mapping.subject, mapping.cui) for mapping in starter.mappings}
    assert len(used) > 300
    assert used & wrong == set()
    assert "C0013227" not in {mapping.cui for mapping in starter.mappings}
    assert "C0009211" not in {mapping.cui for mapping in starter.mappings}


def test_species_cui_never_exact_match_of_plant_part(starter: Starter) -> None:
    exact = [
        mapping.subject
        for mapping in starter.mappings
        if mapping.subject.startswith("substance-")
        and mapping.predicate.value.endswith("exactMatch")
        and mapping.cui
    ]
    organisms = {e.cui for e in starter.mappings if e.subject.startswith("organism-")}
    by_subject = {
        mapping.subject: mapping.cui for mapping in starter.mappings if mapping.subject in exact
    }
    assert [s for s, cui in by_subject.items() if cui in organisms] == []


def test_every_quality_query_is_silent_on_the_base(starter_kb: Path) -> None:
    assert len(quality_queries()) >= 7
    with KnowledgeBase.open(starter_kb) as base:
        assert list(quality_faults(base.store)) == []
