"""The sentence checker: every word accounted for, both ends, relation, polarity, direction."""

from dataclasses import replace

from shiyi.answering.generation.checker import fault_of, find_support
from shiyi.answering.generation.premises import Premise
from shiyi.answering.generation.vocabulary import Vocabulary, split_units
from tests.tables import cases, from_table


def names(*labels: str) -> frozenset[str]:
    return frozenset(labels)


PREMISES = {
    name: Premise(frozenset(subject), relation, frozenset(end), *more)
    for name, subject, relation, end, *more in cases("answering", "premises")
}
INTERACTION, FLAVOUR, NATURE = (PREMISES[name] for name in ("interaction", "flavour", "nature"))


@from_table
def test_sentence_that_restates_its_claim_is_verified(sentence: str, premise: str) -> None:
    assert fault_of(sentence, [PREMISES[premise]]) == ""


@from_table
def test_sentence_that_says_other_than_claim_is_refused(
    sentence: str, premise: str, fault: str
) -> None:
    assert fault in fault_of(sentence, [PREMISES[premise]])


def test_sentence_without_claim_is_refused() -> None:
    assert fault_of("枸杞子味甘。", []) == "cites no claim"


def test_subject_of_earlier_sentence_need_not_be_repeated() -> None:
    assert fault_of("It is sweet.", [FLAVOUR]) == "does not name both ends of the claim"
    assert fault_of("It is sweet.", [FLAVOUR], [FLAVOUR.subject]) == ""
    assert fault_of("It is sweet.", [FLAVOUR], [INTERACTION.subject]) != ""


def test_clauses_are_verified_each_by_its_claim() -> None:
    assert fault_of("枸杞子味甘，性平。", [FLAVOUR, NATURE]) == ""
    assert "not accounted for" in fault_of("枸杞子味平，性甘，辛。", [FLAVOUR, NATURE])


def test_every_cited_claim_is_stated() -> None:
    assert fault_of("枸杞子味甘。", [FLAVOUR, NATURE]) == "does not state every claim it cites"
    assert find_support("枸杞子味甘。", [NATURE, FLAVOUR]) == (1,)


def test_subjects_of_one_property_may_be_listed() -> None:
    longan = replace(NATURE, subject=names("龙眼肉", "longan aril"), object=names("温", "warm"))
    tea = replace(NATURE, subject=names("陈皮茶", "tangerine peel tea"), object=names("温", "warm"))
    assert fault_of("Both tangerine peel tea and longan aril are warm.", [tea, longan]) == ""
    assert fault_of("Longan aril is warm, and so is lychee.", [longan]) != ""


def test_claims_of_two_things_are_not_exchanged() -> None:
    cool = replace(NATURE, subject=names("淡豆豉"), object=names("凉"))
    neutral = replace(NATURE, subject=names("甘草"), object=names("平"))
    assert fault_of("淡豆豉性凉，甘草性平。", [cool, neutral]) == ""
    assert fault_of("淡豆豉性平，甘草性凉。", [cool, neutral]) != ""


def test_contrary_of_a_claim_is_found() -> None:
    contrary = replace(INTERACTION, opposed=True)
    assert fault_of("Ginkgo does not interact with warfarin.", [contrary]) == ""
    assert fault_of("Ginkgo may interact with warfarin.", [contrary]) != ""


def test_widths_and_scripts_hide_no_word() -> None:
    assert fault_of("银杏叶提取物不影響华法林。", [INTERACTION]) != ""
    assert fault_of("Ｇｉｎｋｇｏ does ｎｏｔ interact with warfarin.", [INTERACTION]) != ""


def test_vocabulary_has_both_languages() -> None:
    vocabulary = Vocabulary.load()
    for relation in ("relieves", "suitableFood", "contraindicatedIn", "interactsWith"):
        phrases = vocabulary.by_key[relation]
        assert any("\u3400" <= p[0] <= "\u9fff" for p in phrases)
        assert any(p[0].isascii() for p in phrases)
    assert split_units("avoid") in vocabulary.by_key["contraindicatedIn"]
