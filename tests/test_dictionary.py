from pathlib import Path

import pytest

from shiyi.errors import IndexMismatchError
from shiyi.linking.dictionary import Dictionary
from shiyi.linking.labels import FILE, LabelIndex
from shiyi.linking.normalise import normalise
from shiyi.model.names import resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.statements import DEFAULT
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.oxigraph import OxigraphStore

HEADER = "id\tclass\tzh\ten\talt_zh\talt_en\tpinyin\tlatin\tnotation\tbroader\n"
ROWS = """\
substance-gouqizi\tMFHSubstance\t枸杞子\tgoji berry\t枸杞\tgoji|wolfberry\t\tLycium barbarum L.
substance-shengjiang\tMFHSubstance\t生姜\tfresh ginger\t姜\tginger
substance-jiangtang\tFood\t姜糖\tginger candy
symptom-insomnia\tSymptom\t失眠\tinsomnia\t睡不着
disease-insomnia\tDisease\t失眠症\tinsomnia disorder\t失眠\tinsomnia
syndrome-lung-heat\tSyndrome\t肺热证\tlung heat pattern
nature-cold\tNature\t寒\tcold
flavour-sweet\tFlavour\t甘\tsweet
meridian-lung\tMeridian\t肺\tlung
supplement-ginger\tDSIngredient\t姜补充剂\tginger supplement\t\tginger
season-autumn\tSeason\t秋季\tautumn\t秋\tfall
constitution-qi-deficiency\tConstitution\t气虚质\tqi-deficiency constitution\t气虚\tqi deficiency
syndrome-qi-deficiency\tSyndrome\t气虚证\tqi deficiency pattern\t气虚\tqi deficiency
class-vitamin\tTherapeuticClass\t维生素\tvitamin
"""


@pytest.fixture
def index(tmp_path: Path) -> LabelIndex:
    (tmp_path / "a.tsv").write_text(HEADER + ROWS, encoding="utf-8")
    return LabelIndex.from_tables(tmp_path)


@pytest.fixture
def dictionary(index: LabelIndex) -> Dictionary:
    return Dictionary(index)


def found(dictionary: Dictionary, text: str) -> list[tuple[str, str]]:
    folded = normalise(text).text
    concepts = dictionary.index.concepts
    return [
        (folded[hit.start : hit.end], concepts[hit.senses[0].concept].iri.rpartition("/")[2])
        for hit in dictionary.find(folded)
    ]


def test_the_longest_name_wins(dictionary: Dictionary) -> None:
    assert found(dictionary, "吃枸杞子") == [("枸杞子", "substance-gouqizi")]


def test_an_english_name_is_a_whole_word_and_may_be_plural(dictionary: Dictionary) -> None:
    assert found(dictionary, "gingerbread") == []
    assert found(dictionary, "Goji berries!") == [("goji berries", "substance-gouqizi")]


def test_a_shorter_name_is_found_where_the_longer_one_ends_in_a_word(
    dictionary: Dictionary,
) -> None:
    assert found(dictionary, "ginger candyfloss") == [("ginger", "substance-shengjiang")]


def test_an_author_behind_a_latin_name_may_be_left_out(dictionary: Dictionary) -> None:
    assert found(dictionary, "Lycium barbarum")[0][1] == "substance-gouqizi"


def test_a_nature_or_channel_takes_no_character_out_of_a_word(dictionary: Dictionary) -> None:
    assert found(dictionary, "肺炎怎么办") == []
    assert found(dictionary, "我怕寒潮") == []
    assert found(dictionary, "I have a cold") == []


def test_a_nature_or_channel_is_found_alone_or_where_natures_are_spoken_of(
    dictionary: Dictionary,
) -> None:
    assert found(dictionary, "寒") == [("寒", "nature-cold")]
    assert [iri for _, iri in found(dictionary, "性寒，味甘，归肺经")] == [
        "nature-cold",
        "flavour-sweet",
        "meridian-lung",
    ]
    assert ("sweet", "flavour-sweet") in found(dictionary, "sweet in flavour")


def test_a_food_of_one_character_is_found_beside_eating_words(dictionary: Dictionary) -> None:
    assert found(dictionary, "高血压吃姜好吗") == [("姜", "substance-shengjiang")]
    assert found(dictionary, "姜大夫您好") == []


def test_fall_is_a_season_in_the_fall_only(dictionary: Dictionary) -> None:
    assert found(dictionary, "what to eat in fall")[0][1] == "season-autumn"
    assert found(dictionary, "I fall often") == []


def test_a_heading_noun_names_nothing(dictionary: Dictionary) -> None:
    assert found(dictionary, "vitamin") == []


def test_an_ambiguous_name_keeps_its_other_meanings(dictionary: Dictionary) -> None:
    (hit,) = dictionary.find("失眠")
    iris = [dictionary.index.concepts[sense.concept].iri for sense in hit.senses]
    assert [iri.rpartition("/")[2] for iri in iris] == ["symptom-insomnia", "disease-insomnia"]


def test_words_around_an_ambiguous_name_decide(dictionary: Dictionary) -> None:
    assert found(dictionary, "气虚体质的人")[0][1] == "constitution-qi-deficiency"
    assert found(dictionary, "辨证为气虚")[0][1] == "syndrome-qi-deficiency"
    assert found(dictionary, "ginger supplement")[0][1] == "supplement-ginger"


def test_a_pattern_is_found_without_the_word_pattern(dictionary: Dictionary) -> None:
    assert found(dictionary, "肺热")[0][1] == "syndrome-lung-heat"


def test_an_index_reads_back_as_it_was_written(index: LabelIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    assert LabelIndex.load(tmp_path / "index", index.release) == index


def test_an_index_of_another_release_is_refused(index: LabelIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    with pytest.raises(IndexMismatchError, match="release tables"):
        LabelIndex.load(tmp_path / "index", "sha256:other")


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b'{"format": 1, "release": "r"'])
def test_a_damaged_index_is_refused_with_its_path(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    with pytest.raises(IndexMismatchError, match=r"labels\.safetensors"):
        LabelIndex.load(tmp_path, "r")


def test_the_labels_of_the_accepted_view_are_read_from_a_store() -> None:
    goji = resource("substance-gouqizi")
    store = OxigraphStore.in_memory()
    store.change(
        add=[
            Quad(goji, RDF.type, SHIYI.MFHSubstance, DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("枸杞子", language="zh"), DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("goji berry", language="en"), DEFAULT),
            Quad(goji, SKOS.altLabel, Literal("枸杞", language="zh"), DEFAULT),
            Quad(goji, SHIYI.latinName, Literal("Lycium barbarum L."), DEFAULT),
            Quad(
                goji,
                SKOS.closeMatch,
                NamedNode("http://identifiers.org/umls/C1088997"),
                DEFAULT,
            ),
            Quad(resource("source-x"), RDF.type, SHIYI.Source, DEFAULT),
            Quad(resource("source-x"), SKOS.prefLabel, Literal("书", language="zh"), DEFAULT),
        ]
    )
    index = LabelIndex.from_store(store, "sha256:r")
    (concept,) = index.concepts
    assert (concept.zh, concept.en, concept.kind) == ("枸杞子", "goji berry", "MFHSubstance")
    assert concept.cui == "", "a species close to a plant part is not the part's own CUI"
    assert {label.text for label in index.labels} == {
        "枸杞子",
        "goji berry",
        "枸杞",
        "Lycium barbarum L.",
    }


def test_a_form_of_several_labels_keeps_one_sense_a_concept_the_most_direct(
    dictionary: Dictionary,
) -> None:
    senses = dictionary.exact("ginger")
    concepts = [dictionary.index.concepts[each.concept].iri for each in senses]
    assert len(set(concepts)) == len(senses) == 2
    assert [each.rank for each in senses] == [1, 1]  # both are alternative labels


def test_the_ending_of_an_unknown_medicine_is_not_the_class(tmp_path: Path) -> None:
    rows = "drug-mab\tDrugClass\t单克隆抗体\tmonoclonal antibodies\t单抗\t\n"
    (tmp_path / "a.tsv").write_text(HEADER + rows, encoding="utf-8")
    mabs = Dictionary(LabelIndex.from_tables(tmp_path))
    assert found(mabs, "打阿达木单抗") == []
    assert found(mabs, "单抗") == [("单抗", "drug-mab")]


def test_very_many_texts_are_read_as_one_is(dictionary: Dictionary, index: LabelIndex) -> None:
    hasty = Dictionary(index)
    hasty.hasten()
    for text in (
        "姜糖和生姜，肺热证", "ginger candies in autumn, gingerbread, ginger's", "gou qi zi gouqizi gou qi",
        "失眠 insomnia disorder 睡不着", "vitamins vitaminc lycium barbarum l.", "", "秋 寒 甘 fall",
    ):  # fmt: skip
        folded = normalise(text).text
        assert hasty.find(folded) == dictionary.find(folded)
