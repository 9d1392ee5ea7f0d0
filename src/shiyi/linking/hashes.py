"""Many hashes put in order, each once, on the disk: memory stays the same however many come."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

_RUN = 4_000_000  # hashes in memory at a time: 32 MB (ours)
_PARTS = 64  # ranges of hashes that are put in order one after the other (ours)


class SortedHashes:
    """A file of 64-bit hashes in order, made by adding them in any order; whole once it is left.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some.bin"
    >>> with SortedHashes(path) as some:
    ...     some.add([3, 1])
    ...     some.add([3, 2])
    >>> np.fromfile(path, np.uint64).tolist()
    [1, 2, 3]
    """

    def __init__(self, path: Path, run: int = _RUN) -> None:
        self._path, self._most = path, run
        self._late: list[NDArray[np.uint64]] = []
        self._count = 0
        self._runs: list[Path] = []

    def add(self, hashes: Iterable[int]) -> None:
        """Take some."""
        self._late.append(np.fromiter(hashes, np.uint64))
        self._count += len(self._late[-1])
        if self._count >= self._most:
            self._put_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if kind is None:
            self._put_down()
            self._merge()
        for each in self._runs:
            each.unlink(missing_ok=True)

    def _put_down(self) -> None:
        if self._count:
            path = self._path.with_suffix(f".run{len(self._runs)}")
            self._runs.append(path)
            _distinct(np.concatenate(self._late)).tofile(path)
        self._late, self._count = [], 0

    def _merge(self) -> None:
        runs = [np.memmap(each, np.uint64, "r") for each in self._runs]
        edges = [np.uint64(part * ((1 << 64) // _PARTS)) for part in range(1, _PARTS)]
        cuts = [[0, *np.searchsorted(run, edges).tolist(), len(run)] for run in runs]
        with self._path.open("wb") as out:
            for part in range(_PARTS if runs else 0):
                pieces = [run[at[part] : at[part + 1]] for run, at in zip(runs, cuts, strict=True)]
                _distinct(np.concatenate(pieces)).tofile(out)


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Put in order, each once; np.unique goes by a table of hashes here, which is slower."""
    hashes.sort()
    first = np.ones(len(hashes), bool)
    first[1:] = hashes[1:] != hashes[:-1]
    return hashes[first]
