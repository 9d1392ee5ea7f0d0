"""Atomic, fsynced and private files."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from shiyi.errors import KnowledgeBaseError


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_tree(folder: Path) -> None:
    """Bring every file and folder beneath ``folder`` to the disk."""
    for within, _, names in os.walk(folder, topdown=False):
        for name in names:
            with (Path(within) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(within))


def replace_file(path: Path, content: bytes) -> None:
    """Return ``path`` new content at once: readers see the old or the new, never a part."""
    written = path.with_name(f".{path.name}.new")
    with written.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
    sync_folder(path.parent)


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    written = path.with_name(f".{path.name}.new")
    written.unlink(missing_ok=True)
    opened = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
    sync_folder(path.parent)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


T = TypeVar("T")


class PrivateFile(Generic[T]):
    """The value that ``read`` makes of a file's bytes; ``none`` while there is no file."""

    def __init__(self, path: Path, read: Callable[[bytes], T], none: T) -> None:
        self._path, self._read, self._none = path, read, none
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known = none

    def get(self) -> T:
        """Return the value of the file as it is now; raise what ``read`` raises."""
        with self._lock:
            try:
                found = self._path.stat()
            except FileNotFoundError:
                self._stamp, self._known = None, self._none
                return self._none
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                self._known, self._stamp = self._read(self._path.read_bytes()), stamp
            return self._known

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Exclude every other thread and process from changing the file."""
        if not self._path.parent.is_dir():
            raise KnowledgeBaseError(
                f"{self._path.parent} does not exist; make the base with `shiyi build`"
            )
        with alone_in(self._path.parent):
            yield

    def put(self, text: str) -> None:
        """Write the file whole, for its owner alone; call it within :meth:`alone`."""
        write_private(self._path, text + "\n")
