from collections.abc import Sequence

import numpy as np
import pytest
from typing_extensions import override

from shiyi.linking.embedder import Embedder, Vectors, unit
from shiyi.linking.vectors import LabelVectors

pytest.importorskip("usearch")

from shiyi.linking.approximate import ApproximateVectors

ROWS = unit(np.random.default_rng(7).normal(size=(3000, 32)).astype(np.float32))


class Listed(Embedder):
    """Gives the vector whose place a text spells."""

    @property
    @override
    def identity(self) -> str:
        return "listed"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        return ROWS[[int(text) for text in texts]]


def test_the_graph_finds_nearly_all_of_the_ten_nearest() -> None:
    exact = LabelVectors(ROWS, Listed(), "release")
    asked = [str(place) for place in range(0, 3000, 60)]
    right = found = 0
    for near, true in zip(
        ApproximateVectors.of(exact).search(asked, 10), exact.search(asked, 10), strict=True
    ):
        assert near[0][0] == true[0][0]
        assert near[0][1] == pytest.approx(1, abs=1e-6)
        right += len({place for place, _ in near} & {place for place, _ in true})
        found += 10
    assert right >= 0.98 * found


def test_no_text_is_near_nothing() -> None:
    assert ApproximateVectors.of(LabelVectors(ROWS, Listed(), "release")).search([], 10) == []
