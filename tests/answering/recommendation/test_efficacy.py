"""What is stated of a herb and a symptom that only a traditional efficacy joins: 润肺止咳 and cough."""

import pytest

from shiyi.answering.generation.rewriter import SentenceCheck
from shiyi.answering.knowledge.facts import EDIBLE
from shiyi.answering.pipeline import Runtime
from shiyi.answering.recommendation.candidates import Candidate, _drop_unsupported
from shiyi.answering.understanding.question import Question
from shiyi.model.answer import Answer
from shiyi.model.iris import resource
from shiyi.model.path import Hop, Path, Step
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask, read
from tests.tables import from_table

JOINS = ("没有直接的记载，只有传统功效", "nothing is recorded of them directly, only")
PROOF = ("不证明有效", "no proof that it works")


def joined(answer: Answer) -> list[str]:
    """Return the sentences that join by an efficacy."""
    return [
        sentence.text
        for sentence in answer.sentences
        if any(result in sentence.text for result in JOINS)
    ]


@from_table
def test_efficacy_for_symptom_cites_both_claims_without_proof(
    runtime: Runtime, question: str, efficacy: str, symptom: str
) -> None:
    answer = ask(runtime, question)
    (sentence,) = (s for s in answer.sentences if any(result in s.text for result in JOINS))
    assert any(result in sentence.text for result in PROOF)
    facts = [f for claim in sentence.claims for f in runtime.facts.by_claim[claim]]
    has = [f for f in facts if f.predicate == SHIYI.hasEfficacy]
    assert resource(efficacy).value in {f.object for f in has}
    aim = [f for f in facts if f.predicate == SHIYI.directedAt]
    assert (resource(efficacy).value, resource(symptom).value) in {
        (f.subject, f.object) for f in aim
    }
    assert not answer.recommendations


def test_several_symptoms_are_stated_in_one_sentence(runtime: Runtime) -> None:
    (sentence,) = joined(ask(runtime, "黄痰咳嗽，能吃平贝母吗"))
    assert "平贝母与痰黄黏稠、咳嗽" in sentence
    assert "所对的是痰多、咳嗽" in sentence


def test_paths_lead_from_symptom_through_efficacy_to_material(runtime: Runtime) -> None:
    way = (
        Step(SHIYI.directedAt.value, forward=False),
        Step(SHIYI.hasEfficacy.value, forward=False),
    )
    assert way in runtime.retriever.planner.plan("Symptom", EDIBLE, 3, 10)
    assert not any(
        way[1] in plan and plan != way
        for plan in runtime.retriever.planner.plan("Symptom", EDIBLE, 3, 10)
    )


def test_direct_record_ranks_above_efficacy_and_explains(runtime: Runtime) -> None:
    cough, effect, food = (
        resource(n).value for n in ("symptom-cough", "efficacy-zhike-cough", "x")
    )
    direct = Path((Hop(food, SHIYI.relieves.value, cough, "c1", 0.6, forward=False),), 0.5)
    through = Path(
        (
            Hop(effect, SHIYI.directedAt.value, cough, "c2", 0.98, forward=False),
            Hop(food, SHIYI.hasEfficacy.value, effect, "c3", 0.98, forward=False),
        ),
        0.9,
    )
    assert Candidate(food, (direct,)).support > Candidate(food, (through,)).support > 0
    assert Candidate(food, (through, direct)).reason() == (direct,)


@from_table
def test_model_may_not_make_use_of_it(runtime: Runtime, text: str, stands: bool) -> None:
    answer = ask(runtime, "平贝母能治咳嗽吗")
    [efficacy, symptom] = answer.citations[1:3]
    assert (efficacy.object.label, symptom.object.label) == ("润肺止咳", "咳嗽")
    check = SentenceCheck(answer.language, runtime.names)
    assert (check.fault(text, [efficacy]) == "") is stands
    assert check.fault(text, [symptom]) != ""


def test_efficacy_reserved_for_doctors_is_not_suggested(runtime: Runtime) -> None:
    facts = runtime.facts
    aims = [f for e in facts.members(SHIYI.Efficacy) for f in facts.of(e, SHIYI.directedAt)]
    assert len(aims) >= 60
    for fact in aims:
        assert not facts.of(fact.subject, SHIYI.hasRedFlag)
        assert not facts.is_a(fact.object, SHIYI.EmergencySign)


@from_table
def test_material_with_effect_is_suggested_with_its_claim(
    runtime: Runtime, question: str, effect: str
) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    for recommendation in answer.recommendations:
        facts = [f for claim in recommendation.claims for f in runtime.facts.by_claim[claim]]
        assert any(
            f.predicate == SHIYI.hasEfficacy and f.subject == recommendation.iri for f in facts
        )
    assert effect in answer.text
    assert "知识库里没有足够的记载" not in answer.text


@from_table
def test_nothing_is_suggested_before_a_doctor_is_seen(
    runtime: Runtime, method: str, question: str
) -> None:
    assert not ask(runtime, question, method=method).recommendations


def test_effects_for_doctors_have_red_flags_in_tables(runtime: Runtime) -> None:
    flagged = [
        iri
        for iri in runtime.facts.members(SHIYI.Efficacy)
        if runtime.facts.of(iri, SHIYI.hasRedFlag)
    ]
    assert len(flagged) >= 20
    assert any(runtime.facts.label(iri, "zh") == "止血" for iri in flagged)


def test_who_asks_for_an_effect_is_heeded(runtime: Runtime) -> None:
    free = {recommendation.iri for recommendation in ask(runtime, "吃什么安神").recommendations}
    answer = ask(runtime, "我对大枣过敏，吃什么安神")
    values = {recommendation.iri for recommendation in answer.recommendations}
    jujube = resource("substance-dazao").value
    parts = {f.object for iri in values for f in runtime.facts.of(iri, SHIYI.hasIngredient)}
    assert values != free
    assert jujube not in values | parts
    assert any("大枣" in warning.text for warning in answer.warnings)


def test_medicines_of_the_asker_are_heeded_too(runtime: Runtime) -> None:
    answer = ask(runtime, "吃什么补气", profile=Profile(medicines=("华法林",)))
    assert "人参" not in " ".join(recommendation.label for recommendation in answer.recommendations)


_RATED = SHIYI.isEffectiveFor.value


@pytest.fixture(scope="module")
def parsed(runtime: Runtime) -> Question:
    return read(runtime, "insomnia", "en")


def _ways(runtime: Runtime) -> tuple[Path, Path, Path]:
    """Return ways along an effect rated well, one found wanting, and what is nowhere rated."""
    facts = [f for row in runtime.facts.by_subject.values() for f in row]
    rated_facts = [f for f in facts if f.predicate.value == _RATED]
    supports = runtime.safety.evidences.supports
    chosen = (
        next(f for f in rated_facts if supports(f.claim)),
        next(f for f in rated_facts if not supports(f.claim)),
        next(f for f in facts if f.predicate == SHIYI.hasEfficacy),
    )
    first, second, third = (
        Path((Hop(f.subject, f.predicate.value, f.object, f.claim, 0.8),), 0.8) for f in chosen
    )
    return first, second, third


def test_supplement_needs_rated_effect_where_one_has_it(runtime: Runtime, parsed: Question) -> None:
    well, wanting, plain = _ways(runtime)
    question = read(runtime, "which supplement for insomnia")
    assert question.wants_supplement
    assert _drop_unsupported(question, (well, wanting, plain), runtime.safety) == [well]
    assert _drop_unsupported(question, (wanting, plain), runtime.safety) == [plain]


def test_other_wishes_are_answered_without_effect(runtime: Runtime, parsed: Question) -> None:
    well, wanting, plain = _ways(runtime)
    assert _drop_unsupported(parsed, (well, wanting, plain), runtime.safety) == [well, plain]


def test_of_sources_that_differ_most_careful_rating_counts(runtime: Runtime) -> None:
    evidences, facts = runtime.safety.evidences, runtime.facts
    kinds = {SHIYI.isEffectiveFor, SHIYI.interactsWith}
    derived = [claim for claim, found_facts in facts.by_claim.items() if found_facts[0].derived]
    claims = [
        claim for claim, found_facts in facts.by_claim.items() if found_facts[0].predicate in kinds
    ]
    claims += derived[::20]
    fields = {
        claim: {
            value
            for evidence in evidences.of(claim, "en")
            for name, value in evidence.qualifiers
            if name == "rating"
        }
        for claim in claims
    }
    gravest = [
        "major",
        "moderate",
        "minor",
        "ineffective",
        "insufficient",
        "possible",
        "likely",
        "effective",
    ]
    differing = [claim for claim, ratings in fields.items() if len(ratings) > 1]
    for claim, ratings in fields.items():
        assert evidences.rating(claim) == min(ratings, key=gravest.index, default="")
    assert len(differing) > 10
    assert len([field for field in fields.values() if field]) > 200
