import csv
import io
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from shiyi.artefacts import artefact
from shiyi.errors import IndexMismatchError
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import LEXICAL, SEMANTIC, SIMILAR, Linker, write_index, write_mentions
from shiyi.model.answer import Mention
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.serialization import DEFAULT
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support.linkers import of_tables
from tests.support.places import DATA
from tests.tables import from_table

GOLD = DATA / "linking.tsv"


@pytest.fixture(scope="module")
def linker() -> Linker:
    return of_tables()


def ids(mentions: Sequence[Mention]) -> list[str]:
    return [mention.iri.rpartition("/")[2] for mention in mentions]


def linked(linker: Linker, text: str) -> list[str]:
    return [id_ for id_ in ids(linker.link(text)) if id_]


def gold() -> list[dict[str, str]]:
    with GOLD.open(encoding="utf-8") as lines:
        rows = csv.DictReader(
            (line for line in lines if not line.startswith("# ")),
            delimiter="\t",
            quoting=csv.QUOTE_NONE,
        )
        return list(rows)


def best(mentions: Sequence[Mention], start: int, end: int) -> str:
    """Return the concept of the linked mention that shares most with the span."""
    shared = [
        (min(mention.end, end) - max(mention.start, start), mention.iri.rpartition("/")[2])
        for mention in mentions
        if mention.iri and mention.start < end and mention.end > start
    ]
    return max(shared)[1] if shared else ""


def judged(linker: Linker, rows: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """List what is wrong among the known and the unlinkable mentions; right ones are empty."""
    results = defaultdict[str, list[str]](list)
    for row in rows:
        start, expected = int(row["start"]), set(filter(None, row["expected"].split("|")))
        count = best(linker.link(row["text"]), start, start + len(row["mention"]))
        good = count in expected if expected else not count
        fault = f"{row['text']}: {count or 'nothing'}, not {row['expected'] or 'nothing'}"
        results["known" if expected else "unknown"].append("" if good else fault)
    return results


def test_frozen_set_linked_as_well_as_it_was(linker: Linker) -> None:
    results = judged(linker, [row for row in gold() if not row["group"].startswith("blind")])
    assert results["known"].count("") >= 0.97 * len(results["known"]), results
    assert results["unknown"].count("") >= 0.93 * len(results["unknown"]), results


def test_mentions_fixed_before_results_are_linked(linker: Linker) -> None:
    results = judged(linker, [row for row in gold() if row["group"].startswith("blind")])
    assert results["known"].count("") >= 0.92 * len(results["known"]), results
    assert results["unknown"].count("") >= 0.82 * len(results["unknown"]), results


def test_fifth_of_six_hundred_mentions_are_unlinkable() -> None:
    rows = gold()
    assert len(rows) >= 600
    assert sum(not row["expected"] for row in rows) >= 0.2 * len(rows)


def test_the_right_concept_is_among_ten_candidates(linker: Linker) -> None:
    known = [row for row in gold() if row["expected"] and row["text"] == row["mention"]]
    results = [
        not set(row["expected"].split("|")).isdisjoint(ids(linker.candidates(row["mention"], 10)))
        for row in known
    ]
    assert sum(results) >= 0.98 * len(results)


@from_table
def test_name_is_not_linked_to_confusable_one(
    linker: Linker, text: str, is_: str, is_not: str
) -> None:
    results = linked(linker, text)
    assert is_ in results
    assert is_not not in results


@from_table
def test_unknown_neighbour_is_not_linked_to_known(linker: Linker, text: str) -> None:
    assert linked(linker, text) == []


@from_table
def test_lookalike_letters_are_normalized(linker: Linker, text: str) -> None:
    assert linked(linker, text) == ["substance-gouqizi"]


@from_table
def test_a_heading_noun_alone_is_no_concept(linker: Linker, head: str) -> None:
    assert linked(linker, head) == []


def test_two_classes_in_one_phrase_are_two_mentions(linker: Linker) -> None:
    results = linked(linker, "Antihypertensive and hypoglycemic drugs")
    assert results == ["drug-antihypertensives", "drug-antidiabetics"]


@from_table
def test_one_shared_character_gives_no_link(linker: Linker, text: str) -> None:
    assert linked(linker, text) == []


@from_table
def test_single_word_of_distant_phrase_is_unlinked(linker: Linker, text: str) -> None:
    guessed = [mention for mention in linker.link(text) if mention.justification == SEMANTIC]
    assert guessed == []


@pytest.mark.parametrize("text", ["date night", "heart of the city", "spring water", "sage advice"])
def test_name_refused_by_context_stays_refused(linker: Linker, text: str) -> None:
    assert not {"substance-dazao", "season-spring"} & set(linked(linker, text))
    assert all(mention.justification != SEMANTIC for mention in linker.link(text) if mention.iri)


@from_table
def test_short_name_equal_to_word_needs_capitals(
    linker: Linker, text: str, names: list[str]
) -> None:
    small = {"disease-ankylosing-spondylitis", "supplement-same", "supplement-magnesium"}
    assert [each for each in linked(linker, text) if each in small] == names


@from_table
def test_cold_is_illness_where_no_other_noun_follows(linker: Linker, text: str, ill: bool) -> None:
    assert ("disease-common-cold" in linked(linker, text)) == ill


def test_lily_food_is_not_lily_of_valley(linker: Linker) -> None:
    assert "substance-baihe" not in linked(linker, "lily of the valley")
    assert "substance-baihe" not in linked(linker, "Convallaria majalis")


def test_name_inside_unrelated_word_is_no_mention(linker: Linker) -> None:
    assert linker.link("很多人参加了") == ()
    assert linked(linker, "人参加黄芪") == ["substance-renshen", "substance-huangqi"]


@from_table
def test_a_question_links_alike_in_both_languages(linker: Linker, zh: str, en: str) -> None:
    assert set(linked(linker, zh)) == set(linked(linker, en))


@from_table
def test_what_is_stated_as_absent_is_marked(linker: Linker, text: str, absent: set[str]) -> None:
    values = {mention.iri.rpartition("/")[2] for mention in linker.link(text) if mention.negated}
    assert values <= absent
    assert bool(values) == bool(absent)


def test_what_is_not_known_is_mention_without_concept(linker: Linker) -> None:
    goji, unknown = linker.link("枸杞和克唑替尼能一起吃吗")
    assert goji.iri == resource("substance-gouqizi").value
    assert (unknown.text, unknown.iri, unknown.score) == ("克唑替尼", "", 0.0)


def test_a_link_says_how_it_was_found(linker: Linker) -> None:
    assert linker.link("warfarin")[0].justification == LEXICAL
    typo = linker.link("warfrin")[0]
    assert (typo.justification, typo.iri) == (SIMILAR, resource("drug-warfarin").value)
    assert 0.8 < typo.score < 1
    mention = linker.link("嗓子疼得厉害")[0]
    assert mention.score == 1.0 or mention.justification == SEMANTIC


@from_table
def test_homophone_is_linked_unless_it_cuts_words(
    linker: Linker, text: str, sounds: list[str]
) -> None:
    assert ids([m for m in linker.link(text) if m.justification == SIMILAR]) == sounds


def test_medicine_of_similar_spelling_is_not_linked() -> None:
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    body = tuple(label for label in index.labels if "prednisone" not in label.text.lower())
    linker = Linker(LabelIndex("r", index.concepts, body))
    assert "drug-prednisolone" not in linked(linker, "prednisone")


def test_a_span_is_of_the_original_text(linker: Linker) -> None:
    text = "🙂 我吃　當歸 and  Ｗarfarin"
    for mention in linker.link(text):
        assert text[mention.start : mention.end] == mention.text
    assert linked(linker, text) == ["substance-danggui", "drug-warfarin"]


def test_linked_mentions_are_a_mapping_set_of_sssom(linker: Linker) -> None:
    out = io.StringIO()
    text = 'goji\tand "lingzhi", warfrin and blorptide'
    assert write_mentions(linker.link(text), out) == 3
    lines = out.getvalue().splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert any(line.startswith("#mapping_set_id: ") for line in head)
    assert any(line.startswith("#license: ") for line in head)
    rows = list(csv.DictReader(lines[len(head) :], delimiter="\t"))
    assert [(row["subject_label"], row["predicate_id"]) for row in rows] == [
        ("goji", "skos:exactMatch"),
        ("lingzhi", "skos:closeMatch"),
        ("warfrin", "skos:closeMatch"),
    ]
    assert {row["object_id"].partition(":")[0] for row in rows} == {"shiyi"}
    assert all(row["mapping_justification"].startswith("semapv:") for row in rows)
    assert all(0 < float(row["confidence"]) <= 1 for row in rows)


def quads(kind: str = "枸杞子") -> list[Quad]:
    goji = resource("substance-gouqizi")
    return [
        Quad(goji, RDF.type, SHIYI.MFHSubstance, DEFAULT),
        Quad(goji, SKOS.prefLabel, Literal(kind, language="zh"), DEFAULT),
        Quad(goji, SKOS.prefLabel, Literal("goji berry", language="en"), DEFAULT),
        Quad(goji, SHIYI.umlsCui, Literal("C1"), DEFAULT),
    ]


def test_a_linker_opens_with_and_without_an_index(tmp_path: Path) -> None:
    store = OxigraphStore.in_memory()
    store.change(add=quads())
    (without,) = Linker.open(tmp_path, store, "r").link("枸杞子")
    write_index(tmp_path, store, "r")
    assert {path.name for path in (tmp_path / "index").iterdir()} == {
        "labels.safetensors",
        "names.safetensors",
        "vectors.safetensors",
    }
    (with_index,) = Linker.open(tmp_path, OxigraphStore.in_memory(), "r").link("枸杞子")
    assert without == with_index
    assert with_index.cui == "C1"


def test_names_follow_what_changed_after_the_index(tmp_path: Path) -> None:
    goji, mint = resource("substance-gouqizi"), resource("substance-bohe")
    store = OxigraphStore.in_memory()
    store.change(add=[*quads(), Quad(mint, RDF.type, SHIYI.Herb, DEFAULT)])
    alias = Quad(goji, SKOS.altLabel, Literal("西域红果", language="zh"), DEFAULT)
    named = Quad(mint, SKOS.prefLabel, Literal("薄荷", language="zh"), DEFAULT)
    before = Linker.open(tmp_path, store, "r")
    assert not any(mention.iri for mention in before.link("西域红果和薄荷"))

    store.change(add=[alias, named])
    now = before.amend(store, {goji.value}).amend(store, {mint.value})
    assert [mention.iri for mention in now.link("西域红果和薄荷") if mention.iri] == [
        goji.value,
        mint.value,
    ]
    assert now.link("枸杞子") == before.link("枸杞子")
    for typed, iri in (("西域", goji), ("xiyuhongguo", goji), ("goji", goji), ("薄荷", mint)):
        assert [completion.iri for completion in now.completer().complete(typed)] == [iri.value]
    assert [mention.iri for mention, _ in now.corrections("西域洪果")] == [goji.value]
    assert now.candidates("西域红果")[0].iri == goji.value

    store.change(remove=[alias, *quads()])
    gone = now.amend(store, {goji.value})
    assert [mention.iri for mention in gone.link("西域红果、枸杞子、薄荷") if mention.iri] == [
        mint.value
    ]
    assert not gone.completer().complete("goji")
    assert not gone.candidates("goji berry")


def test_an_index_of_another_release_is_not_opened(tmp_path: Path) -> None:
    store = OxigraphStore.in_memory()
    store.change(add=quads())
    write_index(tmp_path, store, "r")
    with pytest.raises(IndexMismatchError, match="shiyi index"):
        Linker.open(tmp_path, store, "other")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n", "\0", "🙂" * 50, "\ud800枸杞", "ɢоji", "\U000e0fff", "ﷺ", "…", "?" * 500,
        "a" * 5000, "的" * 5000, "(" * 500,
    ],
)  # fmt: skip
def test_any_text_is_taken(linker: Linker, text: str) -> None:
    for mention in linker.link(text):
        assert 0 <= mention.start < mention.end <= len(text)


def test_enormous_text_is_linked_up_to_most_mentions(linker: Linker) -> None:
    assert len(linker.link("枸杞和未知物甲乙丙，blorptide；" * 20_000)) == 40


@from_table
def test_linking_steps_grow_linearly_with_text(linker: Linker, piece: str) -> None:
    def steps(count: int) -> int:
        text, taken = piece * count, 0

        def count_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal taken
            taken += 1
            return count_line

        sys.settrace(count_line)
        try:
            linker.link(text)
        finally:
            sys.settrace(None)
        return taken

    linker.link(piece)
    assert steps(1000) <= 12 * steps(100) + 1000


def test_only_first_unknown_words_are_compared(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker.link("warfrin")
    names = linker._guesser.near
    spelt, asked = names.spelt, list[str]()

    def counted(text: str) -> tuple[tuple[str, float], ...]:
        asked.append(text)
        return spelt(text)

    monkeypatch.setattr(names, "spelt", counted)
    mentions = linker.link("blorp tide " * 10_000)
    assert len(asked) <= 1000
    assert 0 < len(mentions) <= 40
