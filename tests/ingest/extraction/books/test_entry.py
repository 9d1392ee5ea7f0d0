"""What the reader of old books finds in an entry, where it stands, and what it leaves alone."""

import csv
from pathlib import Path

import pytest

from shiyi.errors import UsageError
from shiyi.evaluation.tasks.reading import measure_reading
from shiyi.ingest.extraction.books.entry import read_entry
from shiyi.ingest.extraction.books.patterns import pattern
from shiyi.ingest.extraction.books.recipes import read_recipes
from shiyi.ontology.lexicon import rows as lexicon_rows
from tests.support.places import ROOT
from tests.tables import from_table

ENTRIES = ROOT / "tests/data/reading/entries.tsv"
HARM = {"contraindicatedIn", "cautionIn", "incompatibleWith"}
CORPUS = (
    '{"title": "样书", "text": "<篇名>山楂\\r\\n内容：味酸，温，无毒。主痢疾， \\r\\n腹痛。'
    '多食耗气。"}\n'
)
GOLD = (
    "book\tentry\tstart\tend\trelation\tobject\tpolarity\tquote\n"
    "样书\t山楂\t0\t{end}\thasFlavour\t酸\taffirmed\t味酸\n"
    "样书\t山楂\t0\t{end}\thasNature\t温\taffirmed\t温\n"
    "样书\t山楂\t0\t{end}\trelieves\t痢疾\taffirmed\t主痢疾\n"
    "样书\t山楂\t0\t{end}\trelieves\t腰痛\taffirmed\t腰痛\n"
)


def rows() -> list[dict[str, str]]:
    with ENTRIES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def shown(text: str, title: str = "") -> set[str]:
    return {f"{statement.relation}:{statement.object}" for statement in read_entry(text, title)}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_entries_of_each_manner_are_read(row: dict[str, str]) -> None:
    text = row["text"].replace("\\n", "\n")
    results = shown(text, row["title"])
    assert set(filter(None, row["states"].split("|"))) <= results
    assert not set(filter(None, row["not"].split("|"))) & results


EXAMPLES = [
    (name, part, matches)
    for name, _, good, bad in lexicon_rows("reading/patterns")
    for cell, matches in ((good, True), (bad, False))
    for part in cell.split("|")
    if part
]


@pytest.mark.parametrize(("name", "text", "matches"), EXAMPLES)
def test_patterns_match_their_examples_alone(name: str, text: str, matches: bool) -> None:
    assert bool(pattern(name).search(text)) is matches


@pytest.mark.parametrize("start", [0, 1000])
def test_spans_are_places_of_the_book(start: int) -> None:
    raw = "<篇名>山楂\r\n\r\n内容：味酸，温，无毒。主寒热积聚诸风冷气，下 \r\n痢，腹痛（煎服），止渴。多食损齿。"
    statements = read_entry(raw, "山楂", start)
    quotes = {
        statement.object: raw[statement.start - start : statement.end - start]
        for statement in statements
    }
    assert quotes["下痢"].split() == ["下", "痢"]
    assert quotes["止渴"] == "止渴"
    assert "多食" in quotes["多食"]


@from_table
def test_caution_never_becomes_a_benefit(text: str) -> None:
    assert not [statement for statement in read_entry(text) if statement.relation not in HARM]


@from_table
def test_what_is_stated_of_which_part(title: str, text: str, stated: str) -> None:
    """A case lists relation, object and part, + for what is done with another drug."""
    results = {
        f"{e.object}:{e.part}{'+' * e.combined}" for e in read_entry(text.replace("/", "\n"), title)
    }
    assert results == set(filter(None, stated.split()))


@from_table
def test_recipes_are_read_where_own_form_is_made(
    name: str, text: str, ingredients: str, uses: str
) -> None:
    raw = text.replace("/", "\n")
    recipes = list(read_recipes(raw, name, 0, len(raw)))
    assert [
        ingredient.name for recipe in recipes for ingredient in recipe.ingredients
    ] == ingredients.split()
    assert [use.words for recipe in recipes for use in recipe.uses] == uses.split()


def test_amounts_are_those_of_their_group() -> None:
    raw = "治虚劳。\n人参（二两六铢） 茯苓 \n（各一两） 甘草 黄芪（各半钱）\n上锉，水煎。"
    (recipe,) = read_recipes(raw, "补肾散", 0, len(raw))
    assert [ingredient.amount for ingredient in recipe.ingredients] == [
        "二两六铢",
        "一两",
        "半钱",
        "半钱",
    ]


def test_what_stands_far_behind_heading_is_not_read() -> None:
    far = "生川谷中，" * 40
    assert "relieves:腹痛" not in shown(f"味酸。{far}主腹痛。", "山楂")
    assert "relieves:腹痛" in shown(f"味酸。{far}【主治】主腹痛。", "山楂")
    assert "contraindicatedIn:孕妇" in shown(f"味酸。{far}孕妇忌服。", "山楂")


def test_reading_is_measured_on_annotated_entries(tmp_path: Path) -> None:
    corpus, gold = tmp_path / "books.jsonl", tmp_path / "gold.tsv"
    corpus.write_text(CORPUS, "utf-8")
    gold.write_text(GOLD.format(end=60), "utf-8")
    (run,) = measure_reading(gold, corpus).runs
    assert sum(run.values["recall"]) == 3
    assert len(run.values["recall"]) == 4
    assert run.values["precision_hasToxicity"] == [0.0]
    assert run.values["f1_hasNature"] == [1.0]


def test_lost_corpus_and_lost_book_are_named(tmp_path: Path) -> None:
    corpus, gold = tmp_path / "books.jsonl", tmp_path / "gold.tsv"
    gold.write_text(GOLD.format(end=60), "utf-8")
    with pytest.raises(UsageError, match="--corpus"):
        measure_reading(gold, corpus)
    corpus.write_text(CORPUS.replace("样书", "别书"), "utf-8")
    with pytest.raises(UsageError, match="样书"):
        measure_reading(gold, corpus)
    gold.write_text("book\tentry\nx\ty\n", "utf-8")
    with pytest.raises(UsageError, match="lacks the columns"):
        measure_reading(gold, corpus)
