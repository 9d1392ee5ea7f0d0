"""Faulty tables are refused with file, line, column and the nearest valid name."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from shiyi.curation.editing.fields import ShapeForms
from shiyi.errors import TableError
from shiyi.ingest.tables.claims import default_confidence
from shiyi.ingest.tables.starter import Starter, load_starter
from shiyi.model.claim import EvidenceKind, Polarity, Source, Tier
from shiyi.model.iris import resource
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.serialization import TOPICS, VERDICTS, claim_quads
from shiyi.ontology.terms import SHIYI
from shiyi.settings import ConfidenceSettings
from tests.tables import from_table

SOURCES = "id\ttitle_zh\ttitle_en\ttier\tlineage\nbook\t书\tBook\ttextbook\t\nbook-2\t书二\tBook, 2nd\ttextbook\tbook\ncase\t病例\tCase\tcase-report\t\n"
CONCEPTS = (
    "id\tclass\tzh\ten\talt_zh\tbroader\n"
    "substance-lvdou\tFood\t绿豆\tmung bean\t青小豆\t\n"
    "substance-jiang\tFood\t姜\tginger\t\t\n"
    "substance-shengjiang\tFood\t生姜\tfresh ginger\t\t姜\n"
    "nature-cold\tNature\t寒\tcold\t\t\n"
    "nature-cool\tNature\t凉\tcool\t\t\n"
    "syndrome-cold-stomach\tSyndrome\t胃寒证\tstomach cold\t\t\n"
    "symptom-cough\tSymptom\t咳嗽\tcough\t\t\n"
    "disease-cough\tTCMDisease\t咳嗽\tcough disease\t\t\n"
)
CLAIMS = "subject\tpredicate\tobject\tsource\tlocator\tconfidence\tkind\tpolarity\tgrade\n"
GUIDANCE = "subject\tpredicate\tobject\tobject_en\tsource\tlocator\tkind\ttopic\tabout\tverdict\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(concepts: str = "", claims: str = "", mappings: str = "", **more: str) -> Path:
        for folder, text in {
            "sources": SOURCES,
            "concepts": CONCEPTS + concepts,
            "claims": claims,
            "mappings": mappings,
        }.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            name = "all.sssom.tsv" if folder == "mappings" else "all.tsv"
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
        for name, text in more.items():
            (tmp_path / "claims" / f"{name}.tsv").write_text(text, encoding="utf-8")
        return tmp_path

    return make


def faults(folder: Path) -> tuple[str, ...]:
    with pytest.raises(TableError) as raised:
        load_starter(folder)
    return raised.value.faults


def the_claim(starter: Starter, predicate: str) -> float:
    [claim] = [each for each in starter.claims if each.predicate == getattr(SHIYI, predicate)]
    return claim.confidence.value


def test_long_row_becomes_one_claim_with_its_grade(write: Write) -> None:
    row = "绿豆\tcontraindicatedIn\t胃寒证\tbook\t绿豆条\t\tread\t\t忌\n"
    [claim] = load_starter(write(claims=CLAIMS + row)).claims
    assert claim.subject.value.endswith("substance-lvdou")
    assert claim.evidence[0].qualifiers == (("grade", "忌"),)
    assert claim.confidence.value == 0.9


def test_wide_row_becomes_claim_for_each_value(write: Write) -> None:
    wide = "subject\tsource\tkind\thasNature\tprimaryEffect@zh\n绿豆\tbook\tread\t寒|凉\t清热\n"
    claims = load_starter(write(claims=wide)).claims
    assert [claim.text.zh for claim in claims if claim.text] == ["清热"]
    assert len(claims) == 3


def test_a_text_in_two_languages_is_one_claim(write: Write) -> None:
    """Its object is one resource that says it in both."""
    head = "subject\tsource\tkind\tprimaryEffect@zh\tprimaryEffect@en\n"
    starter = load_starter(write(claims=head + "绿豆\tbook\tread\t清热\tClears heat.\n"))
    [claim] = starter.claims
    text = {str(q.object) for q in claim_quads(claim) if q.subject == claim.object}
    assert {'"清热"@zh', '"Clears heat."@en'} < text
    assert Quad(claim.subject, claim.predicate, claim.object, DefaultGraph()) in claim_quads(claim)


def test_guidance_names_topic_verdict_and_concepts(write: Write) -> None:
    row = "绿豆\tguidance\t可\tYes.\t\t\trecalled\tsuitability\tsymptom-cough|胃寒证\tyes\n"
    [claim] = load_starter(write(claims=GUIDANCE + row)).claims
    about = "symptom-cough|syndrome-cold-stomach"
    given = (("about", about), ("topic", "suitability"), ("verdict", "yes"))
    assert claim.evidence[0].qualifiers == given
    objects = {str(q.object) for q in claim_quads(claim) if q.predicate == SHIYI.about}
    assert objects == {str(resource(part)) for part in about.split("|")}


@from_table
def test_faulty_guidance_is_refused_with_what_to_do(write: Write, row: str, text: str) -> None:
    cells = row.replace("|", "\t")
    results = faults(write(guidance=f"{GUIDANCE}绿豆\tguidance\t{cells}\n"))
    assert [text in each for each in results] == [True]
    assert results[0].startswith("claims/guidance.tsv:2 ")


def test_topics_and_verdicts_are_those_of_the_shapes() -> None:
    topics, verdicts = (
        ShapeForms.load().evidence_field(n).allowed_values for n in ("topic", "verdict")
    )
    assert topics == TOPICS
    assert set(verdicts) == set(VERDICTS)


def test_two_sources_of_one_lineage_count_once(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\tbook|book-2\ta|b\t\tread\t\t\n"
    starter = load_starter(write(claims=CLAIMS + rows))
    assert the_claim(starter, "hasNature") == 0.9
    assert len(starter.claims[0].evidence) == 2


def test_two_independent_sources_are_fused_by_noisy_or(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\tbook|case\ta|b\t\tread\t\t\n"
    assert the_claim(load_starter(write(claims=CLAIMS + rows)), "hasNature") == pytest.approx(0.95)


def test_confidence_that_source_states_stands_as_it_is(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\tbook\t\t0.87\tread\t\t\n"
    assert the_claim(load_starter(write(claims=CLAIMS + rows)), "hasNature") == 0.87


def test_recalled_evidence_has_one_lower_vote(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\tbook|case\ta|b\t\trecalled\t\t\n"
    [claim] = load_starter(write(claims=CLAIMS + rows)).claims
    assert [evidence.suggested.id for evidence in claim.evidence if evidence.suggested] == [
        "book",
        "case",
    ]
    assert claim.confidence.value == 0.45
    lines = [str(quad) for quad in claim_quads(claim)]
    assert sum("suggestedSource" in line for line in lines) == 2
    assert not any("wasDerivedFrom" in line or "tier-textbook" in line for line in lines)
    opened = "绿豆\thasNature\t寒\tcase\tb\t\tread\t\t\n"
    assert the_claim(load_starter(write(claims=CLAIMS + opened)), "hasNature") > 0.45


def test_a_recalled_row_may_name_no_work(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\t\t条\t\trecalled\t\t\n"
    [claim] = load_starter(write(claims=CLAIMS + rows)).claims
    assert claim.evidence[0].suggested is None
    assert claim.evidence[0].source.id == "common-knowledge"


def test_disagreeing_sources_give_two_claims_in_conflict(write: Write) -> None:
    rows = "绿豆\thasNature\t寒\tbook\t\t\tread\t\t\n绿豆\thasNature\t凉\tcase\t\t\tread\t\t\n"
    starter = load_starter(write(claims=CLAIMS + rows))
    links = [quad for quad in starter.quads() if quad.predicate == SHIYI.conflictsWith]
    assert len(starter.claims) == 2
    assert len(links) == 2


def test_a_negative_claim_is_not_asserted(write: Write) -> None:
    rows = "绿豆\tcontraindicatedIn\t胃寒证\tbook\t\t\tread\tnegative\t\n"
    starter = load_starter(write(claims=CLAIMS + rows))
    assert starter.claims[0].polarity is Polarity.NEGATIVE
    assert not any(quad.predicate == SHIYI.contraindicatedIn for quad in starter.quads())


@from_table
def test_faulty_row_refused_with_place_and_nearest_name(write: Write, rows: str, text: str) -> None:
    results = faults(write(claims=CLAIMS + rows))
    assert any(text in fault for fault in results), results


@from_table
def test_a_faulty_concept_is_refused(write: Write, row: str, text: str) -> None:
    results = faults(write(concepts=row))
    assert any(text in fault for fault in results), results


def test_a_cycle_of_broader_concepts_is_refused(write: Write) -> None:
    loop = "substance-a\tFood\t甲\ta\t\tsubstance-b\nsubstance-b\tFood\t乙\tb\t\tsubstance-a\n"
    assert any("broader than itself" in fault for fault in faults(write(concepts=loop)))


def test_one_run_reports_faults_of_all_files(write: Write) -> None:
    wrong = "x\thasNature\t寒\tbook\t\t\tread\t\t\n"
    results = faults(write(claims=CLAIMS + wrong * 3, more=CLAIMS + wrong))
    assert len(results) == 4


def test_an_unknown_column_is_refused_with_the_nearest(write: Write) -> None:
    results = faults(write(claims="subject\tsource\thasNatuer\n绿豆\tbook\t寒\n"))
    assert any("unknown column 'hasNatuer'" in f and "hasNature" in f for f in results), results


MAPPING = "#curie_map:\n#  UMLS: http://identifiers.org/umls/\nsubject_id\tpredicate_id\tobject_id\tmapping_justification\tpredicate_modifier\n"


def test_a_medgen_id_is_no_cui(write: Write) -> None:
    row = "shiyi:substance-lvdou\tskos:closeMatch\tUMLS:CN12345\tsemapv:LexicalMatching\t\n"
    assert any("MedGen" in fault for fault in faults(write(mappings=MAPPING + row)))


def test_wrong_mapping_stays_in_file_only(write: Write) -> None:
    row = "shiyi:substance-lvdou\tskos:exactMatch\tUMLS:C0000001\tsemapv:LexicalMatching\t"
    assert len(load_starter(write(mappings=MAPPING + row + "\n")).mappings) == 1
    assert load_starter(write(mappings=MAPPING + row + "Not\n")).mappings == []


def test_bytes_that_are_no_utf8_refused_by_place(write: Write) -> None:
    folder = write()
    (folder / "claims" / "gb.tsv").write_bytes("绿豆".encode("gb18030"))
    assert any("claims/gb.tsv:1 is not UTF-8" in fault for fault in faults(folder))


@pytest.mark.parametrize("name", [field.name for field in fields(ConfidenceSettings)])
def test_each_weight_counts_for_its_evidence(name: str) -> None:
    kind = EvidenceKind.ROW if name == "row" else EvidenceKind.READ
    tier = Tier("textbook" if name == "row" else name.replace("_", "-"))
    source = Source("s", "书", "Books", tier)
    weights = ConfidenceSettings(), replace(ConfidenceSettings(), **{name: 0.1})
    assert len({default_confidence(source, kind, each).value for each in weights}) == 2
