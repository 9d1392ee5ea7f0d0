"""Phrases of advice that may harm: found in both languages, and not where they are denied."""

import pytest

from shiyi.answering.generation.dangers import dangers
from tests.tables import from_table

STOP, CURE = "advises to stop or change a medicine", "promises a cure"


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("吃了山楂就可以停用降压药。", STOP),
        ("You can halve the dose of metformin.", STOP),
        ("山药可以根治糖尿病。", CURE),
        ("This herb is completely safe.", "promises safety"),
        ("不用看医生，先喝几天姜汤。", "delays a doctor"),
        ("So you have diabetes.", "gives a diagnosis"),
        ("Give your baby honey water.", "advises a harmful practice"),
    ],
)
def test_advice_that_may_harm_is_found(sentence: str, reason: str) -> None:
    assert reason in dangers(sentence)


@from_table
def test_warning_is_no_danger(sentence: str) -> None:
    assert dangers(sentence) == ()


def test_names_of_medicines_are_read_as_medicines() -> None:
    assert dangers("Leave the Lipitor at home.") == ()
    assert dangers("You may leave your Lipitor at home.", ["Lipitor"]) == (STOP,)
