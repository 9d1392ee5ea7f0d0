"""A small file of secrets beside a store: read again only when it changed, written alone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from shiyi.errors import KnowledgeBaseError
from shiyi.sparql.durable import alone_in, write_private

T = TypeVar("T")


class PrivateFile(Generic[T]):
    """What ``read`` makes of a file's bytes; ``none`` while there is no file."""

    def __init__(self, path: Path, read: Callable[[bytes], T], none: T) -> None:
        self._path, self._read, self._none = path, read, none
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known = none

    def get(self) -> T:
        """Give what the file holds now, whoever wrote it; raises what ``read`` raises."""
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
        """Keep every other thread and process from changing the file meanwhile."""
        if not self._path.parent.is_dir():
            raise KnowledgeBaseError(f"{self._path.parent} does not exist; run `shiyi build`")
        with alone_in(self._path.parent):
            yield

    def put(self, text: str) -> None:
        """Write the file whole, for its owner alone; call it within :meth:`alone`."""
        write_private(self._path, text + "\n")
