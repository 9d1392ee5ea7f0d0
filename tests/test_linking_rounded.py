import sys
from pathlib import Path

import numpy as np
import pytest

from shiyi.errors import IndexMismatchError
from shiyi.linking import rounded
from shiyi.linking.embedder import Vectors, unit
from shiyi.linking.rounded import Rounded
from shiyi.model.mapped import Mapped, write

ROWS = unit(np.random.default_rng(7).normal(size=(3000, 192)).astype(np.float32))


@pytest.fixture(params=["eight bits", "single precision"])
def multiplied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search with numkong, and as where it is not installed; in several blocks."""
    monkeypatch.setattr(rounded, "_ROWS", 700)
    if request.param == "single precision":
        monkeypatch.setitem(sys.modules, "numkong", None)
    else:
        pytest.importorskip("numkong")


@pytest.mark.usefixtures("multiplied")
@pytest.mark.parametrize("rows", [
    ROWS, np.zeros((40, 192), np.float32), np.repeat(ROWS[:5], 30, axis=0),
    np.concatenate([ROWS[:50], ROWS[:50] * np.float32(1e-12)]), ROWS[:3], ROWS[:0],
], ids=["random", "zeros", "repeated", "tiny", "three", "none"])  # fmt: skip
def test_a_search_finds_exactly_the_nearest_of_what_is_kept(rows: Vectors) -> None:
    kept = Rounded.of(rows)
    asked = ROWS[:40]
    every = np.clip(asked @ kept.some(slice(None)).T, -1, 1)
    for near, cosines in zip(kept.nearest(asked, 10), every, strict=True):
        assert len(near) == min(10, len(rows))
        best = sorted(range(len(rows)), key=lambda place: (-cosines[place], place))[:10]
        assert [cosine for _, cosine in near] == pytest.approx(cosines[best].tolist(), abs=1e-6)
    for near, cosines in zip(kept.above(asked, 0.2), every, strict=True):
        assert {place for place, cosine in near if cosine > 0.200001} == {
            *np.flatnonzero(cosines > 0.200001).tolist()
        }
        assert all(cosine >= 0.2 for _, cosine in near)


def test_rounding_moves_no_cosine_by_a_hundredth_of_what_tells_names_apart() -> None:
    kept = Rounded.of(ROWS).some(slice(None))
    assert float(np.abs(ROWS @ kept.T - ROWS @ ROWS.T).max()) < 0.003
    assert np.linalg.norm(kept, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_what_was_written_is_searched_where_it_lies(tmp_path: Path) -> None:
    path = write(tmp_path / "some.safetensors", Rounded.of(ROWS).arrays("some"))
    read = Rounded.over(Mapped.open(path), "some")
    assert not read.levels.flags.owndata
    assert read.nearest(ROWS[:3], 5) == Rounded.of(ROWS).nearest(ROWS[:3], 5)


def test_a_file_of_more_steps_than_vectors_is_refused(tmp_path: Path) -> None:
    arrays = Rounded.of(ROWS).arrays("some")
    path = write(tmp_path / "some.safetensors", arrays | {"some.steps": np.ones(9, np.float32)})
    with pytest.raises(IndexMismatchError, match="shiyi build"):
        Rounded.over(Mapped.open(path), "some")
