"""Arrays and strings of an index as one file, mapped into memory: it opens at once, whatever its size.

The file is a safetensors file, so other programs read it too; its metadata say what it was made for.
"""

import json
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from shiyi.errors import IndexMismatchError
from shiyi.model.strings import Array, Strings
from shiyi.model.trie import Trie

_LENGTH: Final = 8  # bytes of the number that a safetensors file begins with
_TYPES: Final = {
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "I8": np.int8, "I32": np.int32, "I64": np.int64,
    "F16": np.float16, "F32": np.float32, "F64": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a file holds: ``about`` says what it was made for, ``arrays`` lie in the file."""

    path: Path
    about: Mapping[str, str]
    arrays: Mapping[str, Array]

    @classmethod
    def open(cls, path: Path, **about: str) -> Self:
        """Map what :func:`write` wrote.

        Raises ``IndexMismatchError`` where there is none, it is damaged, or was made for another
        than ``about`` says.
        """
        try:
            with path.open("rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            end = _LENGTH + int.from_bytes(whole[:_LENGTH], "little")
            said = json.loads(bytes(whole[_LENGTH:end]))
            noted = said.pop("__metadata__", {})
            arrays = {name: _array(whole[end:], **each) for name, each in said.items()}
        except FileNotFoundError as fault:
            raise IndexMismatchError(f"there is no {path}: run `shiyi build` again") from fault
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
            raise IndexMismatchError(
                f"{path} is damaged ({fault!r}): run `shiyi build` again"
            ) from fault
        for name, wanted in about.items():
            if noted.get(name) != wanted:
                raise IndexMismatchError(
                    f"{path} was made for {name} {noted.get(name)}, and this is {wanted}: "
                    "run `shiyi build` again"
                )
        return cls(path, noted, arrays)

    def __getitem__(self, name: str) -> Array:
        """Give an array; ``IndexMismatchError`` where the file has none of that name."""
        try:
            return self.arrays[name]
        except KeyError:
            raise IndexMismatchError(
                f"{self.path} has no {name}: run `shiyi build` again"
            ) from None

    def strings(self, name: str) -> Strings:
        """Give strings that were written by :meth:`Strings.arrays`."""
        try:
            return Strings.over(self.arrays, name)
        except KeyError as fault:
            raise IndexMismatchError(
                f"{self.path} has no {fault}: run `shiyi build` again"
            ) from None

    def trie(self, name: str) -> Trie:
        """Give a trie that was written by :meth:`Trie.arrays`."""
        try:
            return Trie.over(self.arrays, name)
        except (IndexMismatchError, KeyError, ValueError) as fault:
            raise IndexMismatchError(
                f"{self.path} is damaged ({fault!r}): run `shiyi build` again"
            ) from fault

    def words(self, name: str) -> tuple[str, ...]:
        """Give a few strings that stand in the metadata, as JSON."""
        return tuple(json.loads(self.about.get(name, "[]")))


def is_of_form(path: Path, form: str) -> bool:
    """Tell whether there is a file of this form, which older versions wrote in others.

    Raises ``IndexMismatchError`` where it is damaged.
    """
    return path.is_file() and Mapped.open(path).about.get("format") == form


def write(path: Path, arrays: Mapping[str, Array], **about: str) -> Path:
    """Write arrays and what they are made for, whole or not at all."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, partial, about)
    partial.chmod(0o644)
    return partial.replace(path)


def words(said: Iterable[str]) -> str:
    """Write a few strings as :meth:`Mapped.words` reads them."""
    return json.dumps(list(said), ensure_ascii=False)


def _array(data: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    start, end = data_offsets
    if not 0 <= start <= end <= len(data):
        raise ValueError("the file is cut short")
    return np.frombuffer(data[start:end], _TYPES[dtype]).reshape(shape)
