"""Which of many names can be alike enough at all, told by their bytes: none that is, is lost."""

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

_PART = 50_000  # names looked at together
_BITS = 16


def hopeful(
    text: NDArray[np.uint8], ends: NDArray[np.int64], places: NDArray[np.int64],
    own: Collection[str], threshold: float,
) -> NDArray[np.int64]:  # fmt: skip
    """Keep the ``places`` whose names may have a Jaccard similarity of ``threshold`` with ``own``.

    Two sets as alike as that share at least that part of either; the 3-grams of a name that are
    among ``own`` are counted as often as they stand, and by hashes, so never too few. Where a gram
    of ``own`` is not of three ASCII characters, all places are kept.
    """
    if not all(len(gram) == 3 and gram.isascii() for gram in own):
        return places
    wanted = np.zeros(1 << _BITS, bool)
    wanted[_hashes(np.frombuffer("".join(own).encode(), np.uint8).reshape(-1, 3).T)] = True
    least = math.ceil(threshold * len(own) - 1e-9)
    parts = (places[at : at + _PART] for at in range(0, len(places), _PART))
    kept = [part[_shared(text, ends, part, wanted) >= least] for part in parts]
    return np.concatenate(kept) if kept else places


def _shared(
    text: NDArray[np.uint8], ends: NDArray[np.int64], places: NDArray[np.int64],
    wanted: NDArray[np.bool_],
) -> NDArray[np.int64]:  # fmt: skip
    stops = np.asarray(ends[places])
    starts = np.where(places > 0, ends[places - 1], 0)  # of place 0 the last end, not used
    grams = np.maximum(stops - starts - 2, 0)
    first = np.cumsum(grams) - grams
    at = np.arange(int(grams.sum())) + np.repeat(starts - first, grams)
    found = wanted[_hashes((text[at], text[at + 1], text[at + 2]))]
    counted = np.concatenate(([0], np.cumsum(found, dtype=np.int64)))
    shared: NDArray[np.int64] = counted[first + grams] - counted[first]
    return shared


def _hashes(three: Collection[NDArray[np.uint8]]) -> NDArray[np.uint32]:
    one, two, last = (each.astype(np.uint32) for each in three)
    mixed = (one << 16 | two << 8 | last) * np.uint32(2654435761)  # Knuth's multiplier
    return np.asarray(mixed >> np.uint32(32 - _BITS), np.uint32)
