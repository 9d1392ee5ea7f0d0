"""Phrases of advice that may harm: found in both languages, and not where they are denied."""

from shiyi.answering.generation.dangers import dangers
from tests.tables import from_table


@from_table
def test_advice_that_may_harm_is_found(sentence: str, reason: str) -> None:
    assert reason in dangers(sentence)


@from_table
def test_warning_is_no_danger(sentence: str) -> None:
    assert dangers(sentence) == ()


def test_names_of_medicines_are_read_as_medicines() -> None:
    assert dangers("Leave the Lipitor at home.") == ()
    assert dangers("You may leave your Lipitor at home.", ["Lipitor"]) == (
        "advises to stop or change a medicine",
    )
