from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.linking.complete import Completer
from shiyi.linking.labels import LabelIndex


@pytest.fixture(scope="module")
def completer() -> Completer:
    return Completer(LabelIndex.from_tables(Path(artefact("ontology/concepts"))))


def first(completer: Completer, prefix: str, k: int = 5) -> list[str]:
    return [each.iri.rpartition("/")[2] for each in completer.complete(prefix, k)]


@pytest.mark.parametrize("prefix", ["枸杞", "枸杞子", "gouqi", "gou qi", "gqz", "goji", "Goji b"])
def test_goji_is_offered_for_characters_pinyin_initials_and_english(
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
