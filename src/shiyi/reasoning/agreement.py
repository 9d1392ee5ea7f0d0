"""How far raters agree beyond chance: Krippendorff's alpha.

Computed by coincidences, after K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).
Our own, since the package of that name is under the GPL.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: NDArray[np.float64], level: Level) -> float | None:
    """Give alpha of ``ratings``, one row a rater, one column a unit, NaN where nobody rated.

    1 is full agreement, 0 what chance gives, below 0 is disagreement. None where no unit has two
    ratings or all that are compared are equal: nothing can be said then.

    >>> both = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> krippendorff_alpha(both, "nominal")
    1.0
    """
    paired = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    values = np.unique(paired[~np.isnan(paired)])
    if len(values) < 2:
        return None
    counts = np.stack([(paired == value).sum(axis=0) for value in values], axis=1).astype(float)
    rated = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    coincidences = (pairs / (rated - 1)[:, None, None]).sum(axis=0)
    totals = coincidences.sum(axis=0)
    distance = _distance(values, totals, level)
    observed = float((coincidences * distance).sum())
    expected = float((np.outer(totals, totals) * distance).sum()) / (totals.sum() - 1)
    return float(1.0 - observed / expected)


def _distance(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    place = values
    if level == "ordinal":  # ranks: all below, and half of those that say the same
        place = np.cumsum(totals) - totals / 2
    return np.asarray((place[:, None] - place[None, :]) ** 2)
