"""A trained embedding: the confidence of any triple."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import FormatError, IndexMismatchError, RangeError, UsageError
from shiyi.reasoning.embeddings.triples import Floats, Longs, Names

KINDS = ("ukge_logi", "ukge_rect", "passleaf_complex", "passleaf_rotate")
_ARRAYS, _ABOUT = "confidence.safetensors", "confidence.json"
_MARGIN = 6.0  # RotatE's gamma, the distance at which plausibility is 0


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Vectors of entities and relations, and the line ``w * g + b`` from plausibility on.

    >>> one = np.ones((2, 2), dtype=np.float32)
    >>> model = Model("ukge_rect", Names(("a", "b"), ("r",)), one, one[:1], 0.25, 0.1)
    >>> round(model.confidence("a", "r", "b"), 3)
    0.6
    """

    kind: str
    names: Names
    entities: Floats
    relations: Floats
    weight: float
    bias: float
    release: str = ""
    _entity: Mapping[str, int] = field(init=False, repr=False)
    _relation: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FormatError("embedding", self.kind, KINDS)
        numbers = (self.entities, self.relations, np.array([self.weight, self.bias]))
        if not all(bool(np.isfinite(number).all()) for number in numbers):
            raise RangeError("the embedding has NaN or infinity; train it again")
        entity, relation = self.names.places()
        object.__setattr__(self, "_entity", entity)
        object.__setattr__(self, "_relation", relation)

    def confidence(self, head: str, relation: str, tail: str) -> float:
        """Return the belief in one triple; raise ``UsageError`` for a name never trained on."""
        for what, name, known in (
            ("entity", head, self._entity),
            ("relation", relation, self._relation),
            ("entity", tail, self._entity),
        ):
            if name not in known:
                raise UsageError(f"the embedding has never seen the {what} {name}")
        row = (self._entity[head], self._relation[relation], self._entity[tail])
        return float(self.confidences(np.array([row], dtype=np.int64))[0])

    def knows(self, head: str, relation: str, tail: str) -> bool:
        """Return whether all three were trained on."""
        return head in self._entity and relation in self._relation and tail in self._entity

    def confidences(self, triples: Longs) -> Floats:
        """Return beliefs of numbered triples (head, relation, tail), one a row."""
        heads, relations = self.entities[triples[:, 0]], self.relations[triples[:, 1]]
        return self._confident(self._plausible(heads, relations, self.entities[triples[:, 2]]))

    def tails(self, head: int, relation: int) -> Floats:
        """Return the belief in every entity as the tail, by its number."""
        heads, relations = self.entities[head][None, :], self.relations[relation][None, :]
        return self._confident(self._plausible(heads, relations, self.entities))

    def _confident(self, plausible: Floats) -> Floats:
        value = self.weight * plausible + self.bias
        if self.kind == "ukge_rect":
            belief = np.clip(value, 0.0, 1.0)
        else:
            belief = 1.0 / (1.0 + np.exp(-np.clip(value, -60.0, 60.0)))
        return np.asarray(belief, dtype=np.float32)

    def _plausible(self, head: Floats, relation: Floats, tail: Floats) -> Floats:
        if self.kind.startswith("ukge"):
            return np.asarray((head * relation * tail).sum(axis=-1), dtype=np.float32)
        half = head.shape[-1] // 2
        turn = relation[:, :half] + 1j * relation[:, half:]
        one, other = head[:, :half] + 1j * head[:, half:], tail[:, :half] + 1j * tail[:, half:]
        if self.kind == "passleaf_complex":
            return np.asarray((one * turn * other.conj()).real.sum(axis=-1), dtype=np.float32)
        turn = np.exp(1j * relation[:, :half])
        distance = np.abs(one * turn - other).sum(axis=-1)
        return np.asarray(_MARGIN - distance, dtype=np.float32)

    def save(self, folder: Path) -> None:
        """Write vectors (safetensors) and names, stamped with the release."""
        from safetensors.numpy import save_file

        folder.mkdir(parents=True, exist_ok=True)
        line = np.array([self.weight, self.bias], dtype=np.float64)
        arrays: dict[str, NDArray[Any]] = {
            "entities": self.entities, "relations": self.relations, "line": line,
        }  # fmt: skip
        save_file(arrays, folder / _ARRAYS, {"release": self.release, "kind": self.kind})
        about = {
            "release": self.release, "kind": self.kind, "entities": self.names.entities,
            "relations": self.names.relations,
        }  # fmt: skip
        (folder / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, release: str) -> Self:
        """Read what :meth:`save` wrote; raise ``IndexMismatchError`` for another release."""
        from safetensors.numpy import load_file

        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            arrays = load_file(folder / _ARRAYS)
        except FileNotFoundError as fault:
            raise IndexMismatchError(
                f"{folder} holds no embedding; run shiyi train confidence"
            ) from fault
        if about["release"] != release:
            raise IndexMismatchError(
                f"the embedding in {folder} was trained on {about['release']}, not on {release}; "
                "run shiyi train confidence"
            )
        names = Names(tuple(about["entities"]), tuple(about["relations"]))
        weight, bias = arrays["line"].tolist()
        return cls(
            about["kind"], names, arrays["entities"], arrays["relations"], weight, bias, release
        )
