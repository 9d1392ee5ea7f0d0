"""Named arrays in one safetensors file; notices of index files that are rebuilt.

Other programs read the file too; its metadata state the format and the release of the base.
"""

import json
import logging
import mmap
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from shiyi.columnar.strings import Array, Strings, Trie
from shiyi.errors import IndexMismatchError

_LENGTH: Final = 8  # bytes of the number that a safetensors file begins with
_TYPES: Final = {
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "I8": np.int8,
    "I32": np.int32, "I64": np.int64, "F16": np.float16, "F32": np.float32, "F64": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memmap:
    """An open file: ``about`` has its metadata, ``arrays`` lie in the file."""

    path: Path
    about: Mapping[str, str]
    arrays: Mapping[str, Array]

    @classmethod
    def open(cls, path: Path, **about: str) -> Self:
        """Map what :func:`write` wrote.

        Raise ``IndexMismatchError`` for none, a damaged one, or one not made for ``about``.
        """
        try:
            with path.open("rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            end = _LENGTH + int.from_bytes(whole[:_LENGTH], "little")
            header = json.loads(bytes(whole[_LENGTH:end]))
            metadata = header.pop("__metadata__", {})
            arrays = {name: _array(whole[end:], **item) for name, item in header.items()}
        except FileNotFoundError as fault:
            raise IndexMismatchError(f"there is no {path}: run `shiyi index`") from fault
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
            raise IndexMismatchError(f"{path} is damaged ({fault!r}): run `shiyi index`") from fault
        for name, wanted in about.items():
            if metadata.get(name) != wanted:
                raise IndexMismatchError(
                    f"{path} was made for {name} {metadata.get(name)}, and this is {wanted}: "
                    "run `shiyi index`"
                )
        return cls(path, metadata, arrays)

    def __getitem__(self, name: str) -> Array:
        """Return an array; ``IndexMismatchError`` where the file has none of that name."""
        try:
            return self.arrays[name]
        except KeyError:
            raise IndexMismatchError(f"{self.path} has no {name}: run `shiyi index`") from None

    def strings(self, name: str) -> Strings:
        """Return strings that were written by :meth:`Strings.arrays`."""
        try:
            return Strings.over(self.arrays, name)
        except KeyError as fault:
            raise IndexMismatchError(f"{self.path} has no {fault}: run `shiyi index`") from None

    def trie(self, name: str) -> Trie:
        """Return a trie that was written by :meth:`Trie.arrays`."""
        try:
            return Trie.over(self.arrays, name)
        except (IndexMismatchError, KeyError, ValueError) as fault:
            raise IndexMismatchError(
                f"{self.path} is damaged ({fault!r}): run `shiyi index`"
            ) from fault

    def words(self, name: str) -> tuple[str, ...]:
        """Return a few strings that stand in the metadata, as JSON."""
        return tuple(json.loads(self.about.get(name, "[]")))


def is_of_form(path: Path, form: str) -> bool:
    """Return whether there is a file of this form, which older versions wrote in others.

    Raise ``IndexMismatchError`` where it is damaged.
    """
    return path.is_file() and Memmap.open(path).about.get("format") == form


def write(path: Path, arrays: Mapping[str, Array], **about: str) -> Path:
    """Write arrays and metadata, whole or not at all, and on the disk on return."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, partial, about)
    partial.chmod(0o644)
    _sync(partial)
    partial.replace(path)
    _sync(path.parent)
    return path


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def words(values: Iterable[str]) -> str:
    """Write a few strings as :meth:`Memmap.words` reads them."""
    return json.dumps(list(values), ensure_ascii=False)


def _array(data: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    start, end = data_offsets
    if not 0 <= start <= end <= len(data):
        raise ValueError("the file is cut short")
    return np.frombuffer(data[start:end], _TYPES[dtype]).reshape(shape)


_LOG: Final = logging.getLogger("shiyi")
_SHORT, _EVERY = 2.0, 10.0  # seconds before the first message, and between two (Shiyi's)


@contextmanager
def log_rebuild(name: str, reason: object = "") -> Iterator[None]:
    """Log that an index is rebuilt, every few seconds and at the end, where that takes seconds."""
    began, event, logged = time.monotonic(), threading.Event(), threading.Event()

    def log() -> None:
        wait = _SHORT
        while not event.wait(wait):
            so_far = f", {time.monotonic() - began:.0f} s so far" if logged.is_set() else ""
            because = "" if logged.is_set() or not reason else f" ({reason})"
            _LOG.warning("rebuilding %s, for this process alone%s%s", name, because, so_far)
            logged.set()
            wait = _EVERY

    logger = threading.Thread(target=log, daemon=True)
    logger.start()
    try:
        yield
    finally:
        event.set()
        logger.join()
        if logged.is_set():
            _LOG.warning(
                "rebuilt %s in %.0f s; `shiyi index` writes what all can open",
                name,
                time.monotonic() - began,
            )
