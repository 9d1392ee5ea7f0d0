import csv
from pathlib import Path

import pytest

from shiyi.answering.runtime import Runtime
from shiyi.artefacts import artefact
from shiyi.linking.completion import Completer, ForgivingCompleter
from shiyi.linking.labels import LabelIndex
from shiyi.model.iris import resource
from tests.support.places import DATA


@pytest.fixture(scope="module")
def completer() -> Completer:
    return Completer(LabelIndex.from_tables(Path(artefact("ontology/concepts"))))


def first(completer: Completer, prefix: str, k: int = 5) -> list[str]:
    return [completion.iri.rpartition("/")[2] for completion in completer.complete(prefix, k)]


@pytest.mark.parametrize("prefix", ["枸杞", "枸杞子", "gouqi", "gou qi", "gqz", "goji", "Goji b"])
def test_goji_offered_for_characters_pinyin_initials_and_english(
    completer: Completer, prefix: str
) -> None:
    assert "substance-gouqizi" in first(completer, prefix)


def test_a_word_inside_an_english_label_completes_too(completer: Completer) -> None:
    assert "population-pregnant" in first(completer, "pregnant wom")


def test_a_concept_is_offered_once(completer: Completer) -> None:
    offered = first(completer, "姜", 20)
    assert len(offered) == len(set(offered)) > 1


@pytest.mark.parametrize("prefix", ["", "   ", "🙂", "qqqqqq", "\ud800"])
def test_nothing_is_offered_for_what_begins_no_label(completer: Completer, prefix: str) -> None:
    assert completer.complete(prefix) == ()


def test_no_more_are_offered_than_asked_for(completer: Completer) -> None:
    assert len(completer.complete("s", 3)) == 3
    assert completer.complete("s", 0) == ()


@pytest.fixture(scope="module")
def forgiving(runtime: Runtime) -> ForgivingCompleter:
    linker = runtime.linker
    completer = Completer(linker.index, linker.made)
    return ForgivingCompleter(completer, linker.candidates, linker.corrections)


def test_mistyped_names_find_their_concept(forgiving: ForgivingCompleter) -> None:
    with (DATA / "typos.tsv").open(encoding="utf-8", newline="") as file:
        rows = [group for group in csv.reader(file, delimiter="\t") if not group[0].startswith("#")]
    missed = [
        typed
        for typed, concept, _, most in rows[1:]
        if resource(concept).value
        not in {completion.iri for completion in forgiving.complete(typed, int(most))}
    ]
    assert len(rows) > 80
    assert missed == []


def test_only_what_is_alike_is_marked_as_guess(forgiving: ForgivingCompleter) -> None:
    assert not any(completion.approximate for completion in forgiving.complete("warf"))
    assert all(completion.approximate for completion in forgiving.complete("wafarin"))
    assert [completion.label_en for completion in forgiving.complete("wafarin")] == ["warfarin"]


@pytest.mark.parametrize("text", ["xqzptw", "12345", "🙂"])
def test_nothing_is_guessed_from_nonsense(forgiving: ForgivingCompleter, text: str) -> None:
    assert forgiving.complete(text) == ()


@pytest.mark.parametrize("other", ["chlorpropamide", "hydroxyzine", "misoprostol", "vinblastine"])
def test_unknown_medicine_is_not_corrected_to_another(runtime: Runtime, other: str) -> None:
    assert [mention.iri for mention in runtime.linker.link(other)] == [""]
