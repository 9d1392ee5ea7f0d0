"""Confidence-weighted triples as arrays."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError, UsageError

Row = tuple[str, str, str, float]  # head, relation, tail, confidence in [0, 1]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Names:
    """Entities and relations by number, in alphabetical order."""

    entities: tuple[str, ...]
    relations: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """Return numbers to what ``rows`` name; raise ``UsageError`` for none."""
        if not rows:
            raise UsageError("an empty graph has nothing to learn from; give it triples")
        ends = {row[0] for row in rows} | {row[2] for row in rows}
        return cls(tuple(sorted(ends)), tuple(sorted({row[1] for row in rows})))

    def places(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the numbers of entities, then of relations."""
        both = (self.entities, self.relations)
        entities, relations = ({name: i for i, name in enumerate(row)} for row in both)
        return entities, relations


@dataclass(frozen=True, slots=True, eq=False)
class TripleArray:
    """Rows as numbers: ``triples`` has head, relation, tail in its columns."""

    triples: Longs
    confidence: Floats
    unknown: int = 0  # rows left out, since they name what was never seen

    @classmethod
    def of(cls, rows: Sequence[Row], names: Names) -> Self:
        """Write rows as numbers; those that name what ``names`` lacks are counted."""
        entity, relation = names.places()
        known = [
            (entity[h], relation[r], entity[t], check_confidence(s))
            for h, r, t, s in rows
            if h in entity and r in relation and t in entity
        ]
        triples = np.array([row[:3] for row in known], dtype=np.int64).reshape(-1, 3)
        values = np.array([row[3] for row in known], dtype=np.float32)
        return cls(triples, values, len(rows) - len(known))


def check_confidence(value: float) -> float:
    """Return the confidence; raise ``RangeError`` unless it is a number in [0, 1].

    >>> check_confidence(0.5)
    0.5
    """
    if not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise RangeError(f"a confidence is a number in [0, 1], not {value}")
    return value
