import string

from shiyi.answering.composer import compose
from shiyi.answering.parts import Part
from shiyi.answering.phrases import PHRASES, say
from shiyi.model.answer import SafetyWarning
from tests import kitchen


def holes(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_phrase_has_both_languages_with_the_same_holes() -> None:
    assert len(PHRASES) > 80
    for key, (zh, en) in PHRASES.items():
        assert zh, key
        assert en, key
        assert holes(zh) == holes(en), key


def test_no_phrase_calls_anything_safe_or_tells_to_stop() -> None:
    for zh, en in PHRASES.values():
        assert " safe" not in en.lower()
        assert "放心" not in zh
        assert "绝对" not in zh
        assert "安全" not in zh


def test_an_emergency_stands_above_the_answer_and_other_warnings_below() -> None:
    runtime = kitchen.runtime()
    part = Part()
    part.opening.add("opening")
    part.warnings += [SafetyWarning("caution", "careful"), SafetyWarning("emergency", "now")]
    text = compose(part, runtime.evidences, "en").text
    assert text.index("now") < text.index("Opening") < text.index("careful")


def test_a_sentence_said_once_is_not_said_again() -> None:
    runtime = kitchen.runtime()
    part = Part()
    part.opening.add("the same")
    part.section("h_caution").add("the same")
    composed = compose(part, runtime.evidences, "en")
    assert composed.text.count("The same") == 1
    assert say("en", "h_caution") not in composed.text
