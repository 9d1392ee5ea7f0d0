"""Few citations that stand for the others; nothing that warns is lost by it."""

import re

import pytest

from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.answering.wording.draft import Contribution, compose
from shiyi.answering.wording.verbalization import verbalize
from shiyi.model.answer import Answer, SafetyWarning
from shiyi.model.iris import VOCAB
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.terms import SHIYI
from tests.support import bases
from tests.support.questions import ask
from tests.tables import from_table

ADVICE = (
    "失眠多梦、手脚心热，吃点什么好？", "血压高喝什么茶好", "便秘吃什么好", "夏天喝什么饮料好",
    "What foods help with insomnia?", "What summer drinks would you recommend?",
    "咳嗽痰多吃什么", "胃不舒服，喝什么好？", "What is good for a cold?",
)  # fmt: skip
PAIRS = (
    ("失眠吃什么好？", "What foods help with insomnia?"),
    ("四君子汤适合谁", "Who is Si Jun Zi Tang for?"),
    ("绿豆的性味？", "What are the nature and flavour of mung bean?"),
)


def marks(answer: Answer) -> list[int]:
    return [int(n) for n in re.findall(r"\[(\d+)\]", answer.text)]


@pytest.mark.parametrize("question", ADVICE)
def test_advice_cites_few_claims_and_trace_holds_others(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    cited = {c.claim for c in answer.citations}
    assert len(set(marks(answer))) <= 26
    assert len(cited) <= 32
    assert not cited & set(answer.trace.more)
    assert answer.to_json()["trace"]["more_evidence"] == list(answer.trace.more)
    fields = {f.claim for facts in runtime.facts.by_subject.values() for f in facts}
    assert set(answer.trace.more) <= fields


@pytest.mark.parametrize("question", ADVICE)
def test_what_sentence_warning_or_recommendation_rests_on_cited(
    runtime: Runtime, question: str
) -> None:
    answer = ask(runtime, question)
    cited = {c.claim for c in answer.citations}
    assert {c for s in answer.sentences for c in s.claims} <= cited
    assert {c for w in answer.warnings for c in w.claims} <= cited
    assert all(r.claims and set(r.claims) <= cited for r in answer.recommendations)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_both_languages_cite_the_same_few(runtime: Runtime, one: str, other: str) -> None:
    zh, en = ask(runtime, one), ask(runtime, other)
    assert {c.claim for c in zh.citations} == {c.claim for c in en.citations}


def test_nature_that_sources_dispute_cited_for_each_side(runtime: Runtime) -> None:
    answer = ask(runtime, "绿豆的性味？")
    natures = [c for c in answer.citations if c.predicate.iri == f"{VOCAB}hasNature"]
    assert {"寒", "凉"} <= {c.object.label for c in natures}


def test_each_thing_of_list_to_avoid_is_cited(runtime: Runtime) -> None:
    answer = ask(runtime, "痛风不能吃什么")
    line = next(s for s in answer.sentences if "少用或不用" in s.text)
    assert len(line.claims) == line.text.count("、") + 1 > 5


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_its_warnings(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, "我在吃华法林，每天喝枸杞水可以吗？", method=method)
    citations = {c.claim: c for c in answer.citations}
    ends = {citations[c].object.iri.rpartition("/")[2] for w in answer.warnings for c in w.claims}
    assert "drug-warfarin" in ends


# what was read wrongly, stated wrongly or left out


def test_childs_fever_goes_to_doctor_and_nothing_suggested(runtime: Runtime) -> None:
    for question in ("孩子发烧吃什么好", "What can I give my child who has a fever?"):
        answer = ask(runtime, question)
        assert answer.recommendations == ()
        assert answer.follow_up
        assert "医生" in answer.sentences[0].text or "doctor" in answer.sentences[0].text
    reply = ask(runtime, "发烧吃什么好", profile=Profile(age=2.0))
    assert reply.recommendations == ()


def test_an_adults_fever_is_answered_as_before(runtime: Runtime) -> None:
    answer = ask(runtime, "发烧吃什么好")
    assert "孩子" not in answer.text
    assert answer.recommendations
    assert answer.follow_up


def test_principle_of_treatment_leads_to_foods_of_pattern(runtime: Runtime) -> None:
    answer = ask(runtime, "怎么健脾祛湿？")
    assert len(answer.recommendations) == 4
    assert "治法" in answer.text
    steps = [str(s) for path in answer.paths for s in path.relations]
    assert any(s.endswith("hasTreatmentPrinciple") for s in steps)


def test_pattern_leads_through_no_principle_to_another_pattern(runtime: Runtime) -> None:
    answer = ask(runtime, "脾虚湿盛证吃什么好")
    for path in answer.paths:
        assert [h.predicate for h in path.hops].count(f"{VOCAB}hasTreatmentPrinciple") == 0


@from_table
def test_loose_words_for_organ_are_enough_to_warn(
    runtime: Runtime, question: str, state: str
) -> None:
    answer = ask(runtime, question)
    citations = {c.claim: c for c in answer.citations}
    warned = {
        end.iri.rpartition("/")[2]
        for w in answer.warnings
        for c in w.claims
        for end in (citations[c].subject, citations[c].object)
    }
    assert state in warned


def test_organ_names_in_food_questions_are_no_disease(runtime: Runtime) -> None:
    mentions = ask(runtime, "猪腰子怎么做好吃").linked
    assert "disease-chronic-kidney-disease" not in {m.iri.rpartition("/")[2] for m in mentions}


def test_shown_path_ends_in_recommendation(runtime: Runtime) -> None:
    for question in ("血压高喝什么茶好", "What foods help with insomnia?"):
        answer = ask(runtime, question)
        shown = [path.hops[-1].end for path in answer.paths]
        assert shown[0] in {r.iri for r in answer.recommendations}
        assert {r.iri for r in answer.recommendations} <= set(shown)


# what is toxic, or excluded from food


@from_table
def test_what_is_toxic_is_stated_first(runtime: Runtime, question: str, severity: str) -> None:
    answer = ask(runtime, question)
    toxic = [w for w in answer.warnings if "毒" in w.text or "toxic" in w.text]
    assert severity in {w.severity for w in toxic}
    assert any("毒" in s.text or "toxic" in s.text for s in answer.sentences[:2])
    grounds = {c for w in answer.warnings if w.severity == severity for c in w.claims}
    facts = [fact for c in answer.sentences[0].claims for fact in runtime.facts.by_claim[c]]
    assert all(fact.claim in grounds or fact.predicate == SHIYI.guidance for fact in facts)
    assert answer.sentences[0].claims
    assert "除此之外没有查到" not in answer.text


def test_nothing_toxic_is_ever_recommended(runtime: Runtime) -> None:
    for question in ("咳嗽吃什么好", "便秘吃什么好", "喘促吃什么好", "What is good for a cough?"):
        for recommendation in ask(runtime, question).recommendations:
            assert not runtime.safety.poisons(recommendation.iri)


def test_no_phrase_says_safe_or_to_stop() -> None:
    for zh, en in sentences().values():
        assert " safe" not in en.lower()
        assert "放心" not in zh
        assert "绝对" not in zh
        assert "安全" not in zh


def test_emergency_stands_above_answer_and_other_warnings_below() -> None:
    runtime = bases.runtime()
    part = Contribution()
    part.opening.add("opening")
    part.warnings += [SafetyWarning("caution", "careful"), SafetyWarning("emergency", "now")]
    text = compose(part, runtime.evidences, "en").text
    assert text.index("now") < text.index("Opening") < text.index("careful")


def test_a_sentence_is_not_repeated() -> None:
    runtime = bases.runtime()
    part = Contribution()
    part.opening.add("the same")
    part.section("h_caution").add("the same")
    answer = compose(part, runtime.evidences, "en")
    assert answer.text.count("The same") == 1
    assert verbalize("en", "h_caution") not in answer.text
