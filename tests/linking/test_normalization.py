import sys

from hypothesis import given
from hypothesis import strategies as st

from shiyi.linking.candidates import cuts_grammar, is_content, is_grammar
from shiyi.linking.dictionary import inflections, is_at_boundary
from shiyi.linking.normalization import (
    fold,
    has_cjk,
    is_cjk,
    join_latin,
    language_of,
    normalise,
    syllables,
)
from tests.tables import from_table


@from_table
def test_two_ways_of_writing_name_fold_to_one(written: str, folded: str) -> None:
    assert fold(written) == folded


def test_span_of_folded_text_leads_back_to_original() -> None:
    text = "吃 β-胡蘿蔔素  好吗"
    folded = normalise(text)
    start = folded.text.index("胡萝卜素")
    first, last = folded.span(start, start + 4)
    assert text[first:last] == "胡蘿蔔素"


def test_chinese_is_distinguished_from_other_scripts() -> None:
    assert [is_cjk(each) for each in "枸g。"] == [True, False, False]
    assert has_cjk("vc片")
    assert not has_cjk("goji")
    assert language_of("吃warfarin可以吃枸杞吗") == "zh"
    assert language_of("Can I eat goji (枸杞)?") == "en"


def test_words_of_questions_are_no_content() -> None:
    assert [is_grammar(term) for term in ("可以吃吗", "睡不踏实")] == [True, False]
    assert cuts_grammar("多久可以吃", 1, 3)
    assert not cuts_grammar("久壳可以吃", 0, 2)
    assert [is_content(term) for term in ("奥司他韦", "的", "药物")] == [True, False, False]


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_any_unicode_folds_to_traceable_text(text: str) -> None:
    folded = normalise(text)
    folded.text.encode()
    start, end = folded.span(0, len(folded.text))
    assert 0 <= start <= end <= max(len(text), 1)
    for place in range(len(folded.text)):
        first, last = folded.span(place, place + 1)
        assert 0 <= first < last <= len(text)


def test_every_character_of_unicode_has_a_fold() -> None:
    everything = "".join(map(chr, range(0, sys.maxunicode + 1, 7)))
    assert "\ud800" not in normalise(everything).text


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert normalise("a\ud800b").text == "a\ufffdb"


@from_table
def test_the_language_is_detected_by_the_characters(text: str, language: str) -> None:
    assert language_of(text) == language


def test_pinyin_has_no_tones_and_skips_other_scripts() -> None:
    assert syllables("维生素C") == ("wei", "sheng", "su")
    assert join_latin("Gou-Qi zi".lower()) == "gouqizi"


def test_word_is_not_found_in_middle_of_another() -> None:
    assert not is_at_boundary("gingerbread", 0, 6)
    assert not is_at_boundary("vitamin b12", 0, 10)
    assert is_at_boundary("吃vc片", 1, 3)


def test_words_that_only_look_plural_keep_their_s() -> None:
    assert list(inflections("asbestos")) == ["asbesto"]
    assert list(inflections("diabetes mellitus")) == []
    assert list(inflections("psoriasis")) == []
