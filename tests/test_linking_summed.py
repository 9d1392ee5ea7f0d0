from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typing_extensions import override

from shiyi.errors import IndexMismatchError
from shiyi.linking import summed
from shiyi.linking.embedder import Embedder, Vectors, unit
from shiyi.linking.summed import Summed
from shiyi.model.mapped import Mapped, write

DRAW = np.random.default_rng(7)
TABLE = DRAW.normal(size=(400, 192)).astype(np.float32)
TEXTS = [" ".join(map(str, DRAW.integers(0, 400, DRAW.integers(1, 9)))) for _ in range(3000)]


class Adding(Embedder):
    """Adds the rows of the numbers in a text."""

    identity = "adding"

    @property
    @override
    def table(self) -> Vectors | None:
        return TABLE

    @override
    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        return [[int(each) for each in text.split()] for text in texts]

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        every = [[int(each) for each in text.split()] for text in texts]
        rows = [TABLE[numbers].sum(axis=0) if numbers else np.zeros(192) for numbers in every]
        return unit(np.array(rows, np.float32).reshape(-1, 192))


class Whole(Adding):
    """The same vectors, of which it is not said that they are sums."""

    table = None


@pytest.fixture(params=[Adding, Whole])
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    monkeypatch.setattr(summed, "_ROWS", 100)
    made: Embedder = request.param()
    return made


@pytest.mark.parametrize("texts", [
    TEXTS, [""] * 40, [*TEXTS[:5]] * 30, [*TEXTS[:50], "", " ".join(["7"] * 300)], TEXTS[:3], [],
], ids=["random", "of nothing", "repeated", "long", "three", "none"])  # fmt: skip
def test_a_search_finds_exactly_the_nearest(model: Embedder, texts: Sequence[str]) -> None:
    kept = Summed.of(model, [texts[:9], texts[9:]])
    asked = model.encode(TEXTS[-40:])
    every = np.clip(asked @ model.encode(texts).T, -1, 1)
    told = [place for place, text in enumerate(texts) if text]
    for near, cosines in zip(kept.nearest(asked, 10), every, strict=True):
        best = sorted(told, key=lambda place: (-cosines[place], place))[:10]
        assert [cosine for _, cosine in near if cosine][: len(best)] == pytest.approx(
            cosines[best].tolist(), abs=1e-5
        )
    for near, cosines in zip(kept.above(asked, 0.2), every, strict=True):
        assert {place for place, cosine in near if cosine > 0.20001} == {
            *np.flatnonzero(cosines > 0.20001).tolist()
        }
        assert all(cosine >= 0.2 for _, cosine in near)


def test_what_was_written_is_searched_where_it_lies(tmp_path: Path, model: Embedder) -> None:
    made = Summed.of(model, [TEXTS])
    path = write(tmp_path / "some.safetensors", made.arrays("some"))
    read = Summed.over(Mapped.open(path), "some", model)
    assert not read.sums.numbers.flags.owndata
    asked = model.encode(TEXTS[:3])
    assert read.nearest(asked, 5) == made.nearest(asked, 5)


def test_a_sum_takes_two_bytes_a_piece_and_three_more(tmp_path: Path) -> None:
    path = write(tmp_path / "some.safetensors", Summed.of(Adding(), [TEXTS]).arrays("some"))
    pieces = sum(len(text.split()) for text in TEXTS)
    assert path.stat().st_size < 2 * pieces + 3 * len(TEXTS) + 400


@pytest.mark.parametrize("wrong", [
    {"some.scale": np.ones(9, np.float16)}, {"some.counts": np.ones(3000, np.uint8)},
    {"some.numbers": np.zeros(4, np.uint16)},
])  # fmt: skip
def test_a_file_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, wrong: dict[str, np.ndarray]
) -> None:
    arrays = Summed.of(Adding(), [TEXTS]).arrays("some")
    path = write(tmp_path / "some.safetensors", arrays | wrong)
    with pytest.raises(IndexMismatchError, match="shiyi build"):
        Summed.over(Mapped.open(path), "some", Adding())


def test_a_piece_that_the_model_does_not_have_is_refused(tmp_path: Path) -> None:
    made = Summed.of(Adding(), [TEXTS])
    numbers = made.sums.numbers.copy()
    numbers[5] = 400
    path = write(tmp_path / "some.safetensors", made.arrays("some") | {"some.numbers": numbers})
    with pytest.raises(IndexMismatchError, match="damaged"):
        Summed.over(Mapped.open(path), "some", Adding())
