import numpy as np
import pytest

from shiyi.reasoning.agreement import Level, krippendorff_alpha

NONE = float("nan")
# the worked example of Krippendorff 2011: four observers, twelve units
OBSERVED = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
])  # fmt: skip


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_that_of_the_published_example(level: Level, published: float) -> None:
    assert krippendorff_alpha(OBSERVED, level) == pytest.approx(published, abs=5e-4)


def test_alpha_is_below_nothing_where_raters_contradict_each_other() -> None:
    alpha = krippendorff_alpha(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), "nominal")
    assert alpha is not None
    assert alpha < 0


@pytest.mark.parametrize("ratings", [[[1.0, NONE], [NONE, 2.0]], [[3.0, 3.0], [3.0, 3.0]], [[1.0]]])
def test_where_nothing_can_be_compared_there_is_no_alpha(ratings: list[list[float]]) -> None:
    assert krippendorff_alpha(np.array(ratings), "ordinal") is None
