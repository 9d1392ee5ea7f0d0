"""What the rules read in an entry, and what they leave alone."""

from collections.abc import Iterator

import pytest

from shiyi.artefacts import artefact
from shiyi.ingest.datasets.lexicon import Lexicon, is_alias_of
from shiyi.ingest.documents.document import Document, Passage, Section
from shiyi.ingest.extraction.books.extractor import EntryExtractor, strip_title
from shiyi.ingest.extraction.extractor import Extraction
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Source, Tier
from shiyi.model.iris import ID
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.ontology.terms import SHIYI, SKOS
from tests.tables import from_table

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
LABELS = {concept.iri: concept.zh for concept in INDEX.concepts}
NAMES = {
    concept.iri: {label.text for label in INDEX.labels if INDEX.concepts[label.concept] is concept}
    for concept in INDEX.concepts
    if concept.kind in {"MFHSubstance", "Herb", "Food", "Formula", "Dish"}
}
RULES = EntryExtractor(Lexicon(INDEX))
CLASSIC = Source("c", "本草", "Classic", Tier.CLASSIC)


def extract(
    entry: str, title: str = "甘草", first: bool = True, by: Source = CLASSIC
) -> Extraction:
    section = Section("https://e.org/s", ("书", title))
    passage = Passage("https://e.org/p", section, 0, len(entry), entry, first)
    document = Document("x.txt", by, "zh", entry)
    (extraction,) = RULES.read([passage], document, NamedNode("urn:g"))
    return extraction


def read(entry: str, title: str = "甘草", first: bool = True) -> set[tuple[str, str]]:
    """Return relations with today's names of their objects, stated of the title itself."""
    statements = extract(entry, title, first).found
    for statement in statements:
        assert 0 <= statement.start < statement.end <= len(entry)
    return {
        (local_name(each.predicate.value), LABELS.get(text(each.object), text(each.object)))
        for each in statements
        if not text(each.object).startswith(f"{ID}old-")
        and title in NAMES.get(each.subject.value, ())
    }


def _of(relation: str, *words: str) -> Iterator[tuple[str, str]]:
    yield from ((relation, word) for word in words)


@from_table
def test_nature_flavour_and_toxicity_are_read(
    entry: str, nature: str, flavours: str, toxicity: str
) -> None:
    expected = {*_of("hasNature", nature), *_of("hasFlavour", *flavours)}
    expected |= set(_of("hasToxicity", toxicity)) if toxicity else set()
    results = read(entry)
    assert {
        row for row in results if row[0] in {"hasNature", "hasFlavour", "hasToxicity"}
    } == expected


@from_table
def test_statements_on_other_parts_are_ignored(entry: str) -> None:
    assert not [row for row in read(entry) if row[0].startswith("has")]


@from_table
def test_channels_are_read_where_a_channel_is_named(entry: str, channels: set[str]) -> None:
    assert {word for relation, word in read(entry) if relation == "hasMeridianTropism"} == channels


def test_uses_are_conditions_or_efficacies_known_by_name() -> None:
    results = read("味甘，平，无毒。主消食健胃，治头痛，某名之病，咳嗽。")
    assert ("hasEfficacy", "消食健胃") in results
    assert {word for relation, word in results if relation == "indicatedFor"} == {"头痛", "咳嗽"}


def test_list_ends_where_it_turns_to_warning() -> None:
    results = read("主头痛，多食令人咳嗽，腹痛。")
    assert {word for relation, word in results if relation == "indicatedFor"} == {"头痛"}


def test_incompatible_materials_are_read_with_their_verbs() -> None:
    results = read("味甘，平。（术为之使，恶远志，反大戟、芫花、甘遂、海藻。）")
    assert {w for r, w in results if r == "opposes"} >= {"甘遂", "海藻"}
    assert {w for r, w in results if r == "incompatibleWith"} == {"远志"}
    assert not [row for row in read("恶寒，畏风，反胃。") if row[0] != "hasNature"]


@from_table
def test_cautions_respect_negation(entry: str, expected: list[str] | None) -> None:
    results = {row for row in read(entry) if row[0] in {"contraindicatedIn", "cautionIn"}}
    assert results == ({tuple(expected)} if expected else set())


def test_alias_is_read_unless_damaged_or_taken() -> None:
    results = read("一名蜜样草，一名人参，一名 草，一名水 。")
    assert {word for relation, word in results if relation == "altLabel"} == {"蜜样草"}


def test_entry_without_a_material_as_title_gives_nothing() -> None:
    assert read("味甘，平，无毒。", title="序") == set()
    assert read("味甘，平，无毒。", first=False) == set()


def test_of_a_formula_only_its_use_is_read() -> None:
    assert {relation for relation, _ in read("治头痛，咳嗽。味甘，平。", title="四物汤")} == {
        "indicatedFor"
    }


def test_unknown_name_of_old_book_becomes_term() -> None:
    extraction = extract("味甘，平。主风毒攻注。")
    (claim,) = (
        statement for statement in extraction.found if statement.predicate == SHIYI.indicatedFor
    )
    assert extraction.classes[text(claim.object)] == "Symptom"
    labels = {q.subject: q.object for q in extraction.quads if q.predicate == SKOS.prefLabel}
    assert labels[NamedNode(text(claim.object))] == Literal("风毒攻注", language="zh")
    assert not [e for e in extract("主某名之病。").found if e.predicate == SHIYI.indicatedFor]


@pytest.mark.parametrize("title", ["芍药", "枸杞", "通草", "淡竹叶", "豆蔻", "鱼", "黄酒"])
def test_ambiguous_title_is_ignored(title: str) -> None:
    assert not read("味甘，平，无毒。主头痛。一名某草。", title)


def test_a_later_work_is_taken_at_its_word() -> None:
    book = Source("t", "书", "Textbook", Tier.TEXTBOOK)
    assert extract("味苦，平。", "芍药", by=book).found


def test_additions_to_channel_drugs_do_not_enter_channel() -> None:
    assert not {e for e in read("味辛，温。使心药入脾胃药中。") if e[0] == "hasMeridianTropism"}


def test_name_within_remark_is_no_name_of_material() -> None:
    assert not {e for e in read("味苦，寒。皮白乃是蚤休，俗名重台也。") if e[0] == "altLabel"}


@from_table
def test_alias_wider_or_narrower_than_concept_left_alone(entry: str, left: str) -> None:
    results = read(entry)
    assert ("indicatedFor", "头痛") in results
    assert left not in {word for _, word in results}


@from_table
def test_statement_of_unknown_subject_is_ignored(entry: str, relation: str) -> None:
    results = read(entry, "火麻仁")
    assert ("indicatedFor", "头痛") in results
    assert relation not in {each for each, _ in results}


def test_verb_before_lost_character_still_changes_verb() -> None:
    results = read("畏人参，恶苦 、款冬。", "麦门冬")
    assert results == {("fears", "人参"), ("incompatibleWith", "款冬花")}


def test_recipe_with_one_character_title_is_ignored() -> None:
    assert read("治头痛。桂心 川芎（各一两）上二味，酒浸。", "酒") == set()


def test_titles_brackets_and_verbs_are_taken_off() -> None:
    titles = ("１.玉屑", "百合（附）", "地黄〈微寒〉")
    assert [strip_title(title) for title in titles] == ["玉屑", "百合", "地黄"]


@from_table
def test_alias_stands_for_condition_that_says_no_more(word: str, name: str, same: bool) -> None:
    assert is_alias_of(word, name) is same
