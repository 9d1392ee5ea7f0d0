import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.errors import RangeError, UsageError
from shiyi.reasoning.reviews import Review, Standing, Vote, agreement, moved

UNIT = st.floats(0.0, 1.0)
AGREED = st.floats(-1.0, 1.0)
VOTES = st.lists(
    st.builds(Vote, st.sampled_from("abcd"), st.sampled_from("xyz"), UNIT), min_size=1, max_size=5
).map(tuple)
CHANGES = st.lists(
    st.one_of(
        st.builds(Review, st.sampled_from(["li", "wang", "zhao"]), AGREED), st.sampled_from("abcd")
    ),
    max_size=8,
)


def changed(standing: Standing, change: Review | str) -> Standing:
    return standing.reviewed(change) if isinstance(change, Review) else standing.retract(change)


@given(UNIT, AGREED)
def test_a_confidence_stays_in_its_range_under_any_review(held: float, agreed: float) -> None:
    assert 0.0 <= moved(held, agreed) <= 1.0


@given(UNIT)
def test_full_agreement_is_one_denial_nought_and_doubt_changes_nothing(held: float) -> None:
    assert (moved(held, 1.0), moved(held, -1.0), moved(held, 0.0)) == (1.0, 0.0, held)


def test_the_formula_is_the_published_one() -> None:
    assert moved(0.6, 0.5) == pytest.approx(0.5 * 0.6 + 0.5 * 0.75)
    assert moved(0.6, -0.5) == pytest.approx(0.5 * 0.6 + 0.5 * 0.25)


@given(VOTES, CHANGES)
def test_step_by_step_gives_what_recomputing_everything_gives(
    votes: tuple[Vote, ...], changes: list[Review | str]
) -> None:
    step = Standing(votes)
    for change in changes:
        step = changed(step, change)
    reviews = {each.reviewer: each for each in changes if isinstance(each, Review)}
    gone = frozenset(each for each in changes if isinstance(each, str))
    assert step.confidence == Standing(votes, reviews, gone).confidence


@given(VOTES, CHANGES, AGREED)
def test_undoing_a_review_or_a_retraction_restores_the_confidence_exactly(
    votes: tuple[Vote, ...], changes: list[Review | str], agreed: float
) -> None:
    before = Standing(votes)
    for change in changes:
        before = changed(before, change)
    assert before.reviewed(Review("new", agreed)).without("new").confidence == before.confidence
    still = before.restore("a")
    assert still.retract("a").restore("a").confidence == still.confidence


@given(st.lists(AGREED, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_reviewers_does_not_matter(agreed: list[float], chance: random.Random) -> None:
    reviews = [Review(str(i), each) for i, each in enumerate(agreed)]
    mixed = reviews[:]
    chance.shuffle(mixed)
    assert agreement(reviews) == agreement(mixed)


def test_a_retracted_source_counts_for_half_and_others_stay() -> None:
    both = Standing((Vote("a", "a", 0.8), Vote("b", "b", 0.5)))
    assert both.confidence == 0.9
    assert both.retract("a").confidence == pytest.approx(1 - 0.6 * 0.5)
    assert Standing((Vote("a", "a", 0.8),)).retract("a").confidence == pytest.approx(0.4)


def test_a_second_review_by_the_same_person_takes_the_place_of_the_first() -> None:
    one = Standing((Vote("a", "a", 0.8),)).reviewed(Review("li", -1.0)).reviewed(Review("li", 1.0))
    assert one.confidence == 1.0


@pytest.mark.parametrize("wrong", [float("nan"), 1.1, -2.0])
def test_an_agreement_that_is_no_number_in_its_range_is_refused(wrong: float) -> None:
    with pytest.raises(RangeError, match="agreement"):
        Review("li", wrong)
    with pytest.raises(RangeError, match="agreement"):
        moved(0.5, wrong)


def test_taking_back_what_nobody_said_is_refused() -> None:
    with pytest.raises(UsageError, match="wang has not reviewed"):
        Standing((Vote("a", "a", 0.8),)).without("wang")
