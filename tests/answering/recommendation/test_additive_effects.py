"""Effects that add to each other, recorded of each thing alone: melatonin and valerian both sedate."""

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.recommendation.additive_effects import (
    EFFECTS,
    Record,
    _is_unstated,
    effect_of,
    find_shared,
    list_effects,
)
from shiyi.answering.safety import Safety
from shiyi.answering.understanding.patient import Person
from shiyi.model.answer import Answer
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from tests.support.questions import ask
from tests.tables import from_table

_ADDS = ("同用时作用可能相加", "taken together, this may add up")


def _adding(answer: Answer) -> list[str]:
    return [w.text for w in answer.warnings if any(word in w.text for word in _ADDS)]


@from_table
def test_two_things_with_same_effect_warn_together(
    runtime: Runtime, question: str, effect: str
) -> None:
    answer = ask(runtime, question)
    text = _adding(answer)
    assert text
    assert effect in text[0]
    assert answer.abstained is False


@from_table
def test_warning_of_shared_effect_cites_both_claims(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    [warning] = [w for w in answer.warnings if w.text in _adding(answer)]
    facts = [f for claim in warning.claims for f in runtime.facts.by_claim[claim]]
    assert {f.subject.rpartition("-")[2] for f in facts} == {"melatonin", "valerian"}
    assert warning.severity == "caution"
    assert "不是同用的记载" in warning.text or "not of them together" in warning.text
    assert {f.claim for f in facts} <= {c.claim for c in answer.citations}


@from_table
def test_meals_and_vague_records_give_no_warning(runtime: Runtime, question: str) -> None:
    assert not _adding(ask(runtime, question))


@from_table
def test_recorded_pair_is_stated_and_not_derived(
    runtime: Runtime, question: str, text: str
) -> None:
    answer = ask(runtime, question)
    assert not _adding(answer)
    assert text in {w.severity for w in answer.warnings}


@from_table
def test_medicine_of_which_only_effect_recorded_heeded(
    runtime: Runtime, question: str, effect: str
) -> None:
    answer = ask(runtime, question)
    recorded = any(w.severity == "interaction" for w in answer.warnings)
    assert recorded or any(effect in text for text in _adding(answer))


def test_nothing_suggested_that_adds_to_what_is_taken(runtime: Runtime) -> None:
    alone = ask(runtime, "失眠吃什么")
    beside = ask(runtime, "睡前在吃褪黑素，失眠还能吃什么")
    by_profile = ask(runtime, "失眠吃什么", profile=Profile(medicines=("褪黑素",)))
    seed = "酸枣仁"
    assert any(seed in r.label for r in alone.recommendations)
    for answer in (beside, by_profile):
        assert answer.recommendations
        assert not any(seed in r.label for r in answer.recommendations)


_OF = {each.phrase.removeprefix("e_"): each for each in EFFECTS}
_MINOR, _SURE, _MAJOR = -1, 1, 2


def _of(thing: str, weight: int = _SURE, end: str = "") -> Record:
    """Return a record of a thing that the question names as ``end``."""
    ends = tuple(resource(part).value for part in (end or thing).split())
    return Record(resource(thing).value, None, ends, weight)  # type: ignore[arg-type] # the claim is not looked at


@pytest.mark.parametrize(
    ("effect", "one", "other", "unsaid"),
    [
        ("sedation", _of("substance-gouqizi"), _of("substance-shanzha"), False),  # a meal
        ("sedation", _of("substance-gouqizi", _MAJOR), _of("substance-shanzha"), True),
        ("bleeding", _of("substance-gouqizi", _MAJOR), _of("substance-shanzha"), False),
        ("sugar", _of("drug-warfarin"), _of("drug-metformin"), False),  # a prescription
        ("sedation", _of("supplement-melatonin"), _of("supplement-valerian"), True),
        ("sedation", _of("supplement-melatonin", end="supplement-melatonin supplement-valerian"),
         _of("supplement-valerian"), False),  # one name may mean both
        ("bleeding", _of("supplement-st-johns-wort"), _of("drug-warfarin"), False),
        ("bleeding", _of("drug-warfarin"), _of("supplement-st-johns-wort"), False),
        ("bleeding", _of("supplement-st-johns-wort", end="substance-shanyao"), _of("drug-warfarin"),
         False),  # recorded of what the name stands for
        ("bleeding", _of("substance-shanyao"), _of("drug-warfarin"), True),
        ("bleeding", _of("supplement-pelargonium"), _of("drug-warfarin"), False),  # none was found
        ("bleeding", _of("drug-warfarin"), _of("supplement-pelargonium"), False),
    ],
)  # fmt: skip
def test_customary_combinations_are_not_derived_as_dangers(
    runtime: Runtime, effect: str, one: Record, other: Record, unsaid: bool
) -> None:
    assert _is_unstated(runtime.safety, _OF[effect], one, other) is unsaid


def test_negative_finding_or_record_of_pair_decides_alone(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    safety, bleeding = runtime.safety, _OF["bleeding"]
    warfarin = resource("drug-warfarin").value
    findings = safety.check(resource("supplement-st-johns-wort").value, Person(drugs=(warfarin,)))
    assert any(f.against == warfarin for f in findings)
    shanyao, pelargonium = _of("substance-shanyao"), _of("supplement-pelargonium")
    monkeypatch.setattr(Safety, "check", lambda *_: ())
    assert _is_unstated(safety, bleeding, shanyao, _of("drug-warfarin"))
    assert not _is_unstated(safety, bleeding, pelargonium, _of("drug-warfarin"))
    monkeypatch.setattr(Safety, "check", lambda *_: findings)
    assert not _is_unstated(
        safety, bleeding, shanyao, _of("drug-warfarin", end="supplement-valerian")
    )


def test_minor_effect_adds_up_with_major_one_only(runtime: Runtime) -> None:
    danshen, policosanol = (
        (resource(name).value,) for name in ("substance-danshen", "supplement-policosanol")
    )
    things = [list_effects(runtime.safety, row[0]) for row in (danshen, policosanol)]
    assert all(effect_of(runtime.safety, _OF["bleeding"], thing) for thing in things)
    assert find_shared(runtime.safety, (danshen, policosanol)) == ()
