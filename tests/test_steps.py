import random

import numpy as np
import pytest

from shiyi.model.steps import Steps


@pytest.mark.parametrize("at_once", [1, 700, 1 << 22])
def test_numbers_come_back_in_their_groups_however_far_apart(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiyi.model.steps._AT_ONCE", at_once)
    chance = random.Random(0)  # noqa: S311 - no secret
    groups = [
        sorted(chance.choices(range(most), k=chance.choice([0, 1, 3, 500])))
        for most in [600, 20_000, 400_000, 200_000_000] * 15
    ]
    groups += [[0], [0, 1, 128, 129, 16_513], [(1 << 28) - 2], []]
    steps = Steps.over(Steps.of(groups).arrays("x"), "x")
    assert [steps.under(each).tolist() for each in range(len(groups))] == groups
    some = [5, 3, 3, 60, 63, 0, 62]
    assert steps.among(np.array(some)).tolist() == [n for each in some for n in groups[each]]
    assert steps.among(np.array([], int)).tolist() == []


def test_a_short_step_takes_a_byte() -> None:
    arrays = Steps.of([range(0, 8000, 8)]).arrays("x")
    assert sum(each.nbytes for each in arrays.values()) == 1000 + 2
