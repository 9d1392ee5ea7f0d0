from itertools import pairwise
from pathlib import Path

import pytest
from pypinyin import lazy_pinyin

from shiyi.answering.pipeline import Runtime
from shiyi.artefacts import artefact
from shiyi.columnar.mapped_file import Memmap, write
from shiyi.errors import IndexMismatchError
from shiyi.ingest.tables.starter import Starter
from shiyi.linking import linker as linker_module
from shiyi.linking.candidates import NearNames
from shiyi.linking.completion import Completer
from shiyi.linking.dictionary import BOTANICAL, OTHER, Dictionary, Sense
from shiyi.linking.labels import ALTERNATIVE, FILE, LATIN, PREFERRED, Concept, Label, LabelIndex
from shiyi.linking.linker import FILE as NAMES_FILE
from shiyi.linking.linker import Linker, open_names, write_names
from shiyi.linking.normalization import is_cjk, normalise, syllables
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, NamedNode, Quad, local_name
from shiyi.model.rdf import text as term_text
from shiyi.ontology.serialization import DEFAULT
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support.linkers import of_tables
from tests.support.questions import ask
from tests.tables import from_table

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


def test_english_name_whole_word_and_may_be_plural(dictionary: Dictionary) -> None:
    assert found(dictionary, "gingerbread") == []
    assert found(dictionary, "Goji berries!") == [("goji berries", "substance-gouqizi")]


def test_shorter_name_is_found_inside_longer_one(dictionary: Dictionary) -> None:
    assert found(dictionary, "ginger candyfloss") == [("ginger", "substance-shengjiang")]


def test_author_behind_latin_name_may_be_left_out(dictionary: Dictionary) -> None:
    assert found(dictionary, "Lycium barbarum")[0][1] == "substance-gouqizi"


def test_nature_or_channel_does_not_cut_word(dictionary: Dictionary) -> None:
    assert found(dictionary, "肺炎怎么办") == []
    assert found(dictionary, "我怕寒潮") == []
    assert found(dictionary, "I have a cold") == []


def test_nature_or_channel_is_found_in_context(dictionary: Dictionary) -> None:
    assert found(dictionary, "寒") == [("寒", "nature-cold")]
    assert [iri for _, iri in found(dictionary, "性寒，味甘，归肺经")] == [
        "nature-cold",
        "flavour-sweet",
        "meridian-lung",
    ]
    assert ("sweet", "flavour-sweet") in found(dictionary, "sweet in flavour")


def test_food_of_one_character_found_beside_eating_words(dictionary: Dictionary) -> None:
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


def test_labels_of_accepted_view_are_read_from_store() -> None:
    goji = resource("substance-gouqizi")
    store = OxigraphStore.in_memory()
    store.change(
        add=[
            Quad(goji, RDF.type, SHIYI.MFHSubstance, DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("枸杞子", language="zh"), DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("goji berry", language="en"), DEFAULT),
            Quad(goji, SKOS.altLabel, Literal("枸杞", language="zh"), DEFAULT),
            Quad(goji, SHIYI.latinName, Literal("Lycium barbarum L."), DEFAULT),
            Quad(goji, SKOS.closeMatch, NamedNode("http://identifiers.org/umls/C1088997"), DEFAULT),
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


def test_form_of_several_labels_keeps_best_sense(dictionary: Dictionary) -> None:
    senses = dictionary.exact("ginger")
    concepts = [dictionary.index.concepts[sense.concept].iri for sense in senses]
    assert len(set(concepts)) == len(senses) == 2
    assert [sense.rank for sense in senses] == [1, 1]  # both are alternative labels


def test_ending_of_unknown_medicine_is_not_class(tmp_path: Path) -> None:
    rows = "drug-mab\tDrugClass\t单克隆抗体\tmonoclonal antibodies\t单抗\t\n"
    (tmp_path / "a.tsv").write_text(HEADER + rows, encoding="utf-8")
    mabs = Dictionary(LabelIndex.from_tables(tmp_path))
    assert found(mabs, "打阿达木单抗") == []
    assert found(mabs, "单抗") == [("单抗", "drug-mab")]


def test_very_many_texts_are_read_as_one_is(dictionary: Dictionary, index: LabelIndex) -> None:
    hasty = Dictionary(index)
    hasty.build_automaton()
    for text in (
        "姜糖和生姜，肺热证",
        "ginger candies in autumn, gingerbread, ginger's",
        "gou qi zi gouqizi gou qi",
        "失眠 insomnia disorder 睡不着",
        "vitamins vitaminc lycium barbarum l.",
        "",
        "秋 寒 甘 fall",
    ):
        folded = normalise(text).text
        assert hasty.find(folded) == dictionary.find(folded)


@pytest.fixture(scope="module")
def linker() -> Linker:
    return of_tables()


@from_table
def test_everyday_name_is_known_whole_and_for_sure(linker: Linker, name: str, concept: str) -> None:
    (mention,) = linker.link(name)
    assert (mention.text, local_name(mention.iri or ""), mention.score) == (name, concept, 1.0)


@pytest.mark.parametrize("text", ["red", "juice", "black", "my dog", "up to date", "红花油"])
def test_name_inside_other_words_is_no_food(linker: Linker, text: str) -> None:
    assert [mention.iri for mention in linker.link(text) if mention.iri] == []


def test_food_named_after_another_is_not_that_other(linker: Linker) -> None:
    linked = {local_name(m.iri) for m in linker.link("吃人参果和佛手瓜") if m.iri}
    assert linked == {"substance-pepino", "substance-chayote"}


def test_favism_list_herbs_are_avoided_without_enzyme(starter: Starter) -> None:
    values = {
        (local_name(c.subject.value), local_name(term_text(c.object)))
        for c in starter.claims
        if local_name(c.predicate.value) == "cautionIn"
    }
    states = {
        "population-g6pd",
        "disease-favism",
        "disease-glucose-6-phosphate-dehydrogenase-deficiency",
    }
    for herb in ("huanglian", "jinyinhua", "niuhuang", "zhenzhu", "lameihua"):
        assert {state for subject, state in values if subject == f"substance-{herb}"} >= states


@from_table
def test_what_must_not_be_missed_is_stated(runtime: Runtime, question: str, severity: str) -> None:
    assert severity in {warning.severity for warning in ask(runtime, question).warnings}


TEXTS = (
    "我在吃华法林，枸纪子和当归能一起炖汤吗？", "Can I take gingko bilboa with prednisone?",
    "gouqizi 泡水，胃不舒服", "date night with st johns wort", "铃兰和莲子",
    "失眠多梦，吃点什么好？",
)  # fmt: skip


@pytest.fixture(scope="module")
def name_index() -> LabelIndex:
    return LabelIndex.from_tables(artefact("ontology/concepts"))


@pytest.fixture(scope="module")
def folder(name_index: LabelIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("names")
    name_index.save(home)
    write_names(name_index, home)
    return home


def test_opened_dictionary_links_as_built_one(name_index: LabelIndex, folder: Path) -> None:
    opened = LabelIndex.load(folder, name_index.release)
    assert opened == name_index
    memmap = open_names(folder, opened)
    assert memmap is not None
    before, after = Linker(name_index), Linker(opened, arrays=memmap)
    assert list(before.dictionary.forms) == list(after.dictionary.forms)
    for text in TEXTS:
        assert before.link(text) == after.link(text)
        assert before.candidates(text[:12]) == after.candidates(text[:12])
    near = NearNames(before.dictionary), NearNames(after.dictionary, memmap)
    for form in list(before.dictionary.forms)[::997]:
        assert near[0].similar(form, 7) == near[1].similar(form, 7)
    keys = Completer(name_index), Completer(opened, memmap)
    for prefix in ("gou", "枸", "warf", "gqz", "berry", "z", "龙", "no such thing"):
        assert keys[0].complete(prefix, 12) == keys[1].complete(prefix, 12)


def test_forms_made_by_other_rules_are_made_again(
    name_index: LabelIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linker_module, "_makers", lambda: "other rules")
    assert open_names(folder, name_index) is None
    other = LabelIndex("sha256:other", name_index.concepts, name_index.labels)
    monkeypatch.undo()
    assert open_names(folder, other) is None


def test_damaged_trie_is_refused_before_it_is_read(
    name_index: LabelIndex, folder: Path, tmp_path: Path
) -> None:
    memmap = Memmap.open(folder / NAMES_FILE)
    broken = memmap["form.trie"].copy()
    broken[len(broken) // 2] ^= 0xFF
    write(tmp_path / NAMES_FILE, {**memmap.arrays, "form.trie": broken}, **memmap.about)
    with pytest.raises(IndexMismatchError, match="damaged"):
        Dictionary(name_index, Memmap.open(tmp_path / NAMES_FILE))


def test_form_of_many_concepts_keeps_each_once() -> None:
    many = 20_000
    concepts = tuple(Concept(f"urn:{i}", "Food", "同名", "") for i in range(many))
    labels = tuple(Label("同名", "zh", i, PREFERRED) for i in range(many))
    dictionary = Dictionary(LabelIndex("many", concepts, labels))
    assert [sense.concept for sense in dictionary.senses("tongming")] == list(range(many))
    assert len(dictionary.senses("同名")) == many


def test_form_keeps_most_direct_label_of_each_concept() -> None:
    concepts = tuple(Concept(f"urn:{i}", "Food", "", "") for i in range(2))
    labels = (
        Label("goji (dried)", "en", 0, PREFERRED),
        Label("Goji", "en", 0, ALTERNATIVE),
        Label("gojis", "en", 0, ALTERNATIVE),
        Label("goji", "la", 1, LATIN),
    )
    senses = Dictionary(LabelIndex("direct", concepts, labels)).senses("goji")
    assert senses == (Sense(OTHER, 0, 1), Sense(BOTANICAL, 1, 3))


@pytest.mark.parametrize("at_once", [5, 1 << 15])
def test_most_alike_forms_those_that_share_most_grams(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiyi.linking.candidates._AT_ONCE", at_once)
    texts = (
        "goji",
        "gojii berry",
        "ginkgo",
        "banana ananas",
        "枸杞",
        "枸杞子枸杞",
        "维c片",
        "vitamin c",
        "𠀀𠀁",
    )
    labels = tuple(Label(text, "en", place, PREFERRED) for place, text in enumerate(texts))
    concepts = tuple(Concept(f"urn:{place}", "Food", "", "") for place in range(len(texts)))
    dictionary = Dictionary(LabelIndex("alike", concepts, labels))

    def grams(form: str) -> set[str]:
        if any("\u3400" <= character <= "\u9fff" or character > "\uffff" for character in form):
            return {*form, *map("".join, pairwise(form))}
        form = f"\2{form}\3"
        return {form[at : at + 3] for at in range(len(form) - 2)}

    names, forms = (
        NearNames(dictionary),
        [form for form in dictionary.forms if dictionary.senses(form)],
    )
    for text in forms:
        alike = {
            form: len(grams(form) & grams(text)) / len(grams(form) | grams(text)) for form in forms
        }
        expected = {form: pytest.approx(share) for form, share in alike.items() if share}
        assert dict(names.similar(text, len(forms) + 9)) == expected


def test_syllables_are_those_that_pypinyin_gives_of_whole(name_index: LabelIndex) -> None:
    chinese = [label.text for label in name_index.labels if label.language == "zh"][::3]
    for text in (*chinese, "银行行长重新长出", "𠀀藏红花㐀", "大便不通，便宜"):
        whole = "".join(filter(is_cjk, text))
        assert list(syllables(text)) == lazy_pinyin(whole, errors="ignore", v_to_u=False)
