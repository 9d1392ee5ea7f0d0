"""Atomic, fsynced and private files."""

import fcntl
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Generic, TypeVar

from shiyi.errors import KnowledgeBaseError

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
CONTENTS: Final = "contents.txt"  # the names of files with checksums
_SEAL: Final = "# sha256 "
_CHECK: Final = '"check": "'  # the last key of a line
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\W*\Z")  # at the end of what has a checksum


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_tree(folder: Path) -> None:
    """Bring every file and folder beneath ``folder`` to the disk."""
    for path in list_files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for within, *_ in os.walk(folder, topdown=False, onerror=_raise):
        sync_folder(Path(within))


def list_files(folder: Path) -> Iterator[Path]:
    """Yield every file beneath a folder; OSError where a folder cannot be read."""
    for within, _, names in sorted(os.walk(folder, onerror=_raise)):
        yield from (Path(within) / name for name in sorted(names))


def _raise(fault: OSError) -> None:
    raise fault


def replace_file(path: Path, content: bytes, private: bool = False) -> None:
    """Replace the content of ``path`` atomically: readers see the old or the new, never a part.

    A ``private`` file is read by its owner alone.
    """
    written = path.with_name(f".{path.name}.new")
    written.unlink(missing_ok=True)
    opened = os.open(written, _NEW | os.O_EXCL, 0o600 if private else 0o666)
    with os.fdopen(opened, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
    sync_folder(path.parent)


def write_private(path: Path, content: str) -> None:
    """Write a text that only its owner reads, whole or not at all."""
    replace_file(path, content.encode(), private=True)


def write_checksummed(path: Path, content: str) -> None:
    """Write a private text with its checksum, and list it beside, so that its loss is seen."""
    _list(path)
    write_private(path, add_checksum(content))


def list_checksummed(folder: Path) -> tuple[Path, ...]:
    """Return the files with checksums that were ever written to a folder."""
    listing = folder / CONTENTS
    names = listing.read_text("utf-8", "replace").split() if listing.exists() else ()
    return tuple(folder / name for name in names)


def _list(path: Path) -> None:
    if path not in list_checksummed(path.parent):
        known = "".join(f"{each.name}\n" for each in list_checksummed(path.parent))
        replace_file(path.parent / CONTENTS, f"{known}{path.name}\n".encode())


def append_line(path: Path, payload: dict[str, str]) -> None:
    """Append a line of JSON with its checksum; it is on the disk on return, or not there at all."""
    line = json.dumps(payload, ensure_ascii=False)
    whole = f'{line[:-1]}, {_CHECK}{_checksum(line)}"}}\n'.encode("utf-8", "replace")
    with failures(path):
        if not path.exists():
            _list(path)
        opened = os.open(path, _NEW | os.O_APPEND, 0o600)
        try:
            size = os.fstat(opened).st_size
            try:
                write_all(opened, whole)
                os.fsync(opened)
                if not size:
                    sync_folder(path.parent)
            except OSError:
                os.ftruncate(opened, size)
                raise
        finally:
            os.close(opened)


def damaged_lines(path: Path) -> Iterator[int]:
    """Yield the numbers of lines that are not what :func:`append_line` wrote."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            start, mark, check = line.rpartition(f", {_CHECK}")
            if (mark or _DIGEST.search(line)) and check != f'{_checksum(start + "}")}"}}\n':
                yield number


def write_all(descriptor: int, content: bytes | memoryview) -> None:
    """Write all of it: a raw write may be short when the disk fills up."""
    left = memoryview(content)
    while len(left):
        left = left[os.write(descriptor, left) :]


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Raise a failure of the system as a :class:`KnowledgeBaseError` that names ``path``."""
    try:
        yield
    except OSError as fault:
        raise KnowledgeBaseError(
            f"{path} cannot be read or changed: {fault}; mend that, then try again"
        ) from fault


def add_checksum(text: str) -> str:
    r"""Return a text with its checksum in a last line.

    >>> verify_checksum(add_checksum("[]\n").encode(), Path("tokens.json"))
    b'[]\n'
    """
    return f"{text}{_SEAL}{_checksum(text)}\n"


def verify_checksum(content: bytes, path: Path) -> bytes:
    """Return what was sealed, or all of what an earlier release wrote without a checksum.

    Raise :class:`KnowledgeBaseError` where it is not what was written.
    """
    text, mark, check = content.rpartition(_SEAL.encode())
    has_seal = mark or _DIGEST.search(content.decode("ascii", "replace"))
    if has_seal and check != f"{_checksum(text)}\n".encode():
        raise KnowledgeBaseError(f"{path} is not what was written; restore it from a backup")
    return text if mark else content


def _checksum(content: str | bytes) -> str:
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


@contextmanager
def lock_folder(folder: Path, wait: bool = True) -> Iterator[None]:
    """Lock a folder exclusively; BlockingIOError where it is taken, without ``wait``."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(opened)


T = TypeVar("T")


class PrivateFile(Generic[T]):
    """The value that ``read`` makes of a file's bytes; ``none`` while there is no file.

    The file has a checksum. A failure of the system is a :class:`KnowledgeBaseError`.
    """

    def __init__(self, path: Path, read: Callable[[bytes], T], none: T) -> None:
        self._path, self._read, self._none = path, read, none
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known = none

    def get(self) -> T:
        """Return the value of the file as it is now; raise what ``read`` raises."""
        with self._lock, failures(self._path):
            try:
                results = self._path.stat()
            except FileNotFoundError:
                self._stamp, self._known = None, self._none
                return self._none
            stamp = (results.st_ino, results.st_mtime_ns, results.st_size)
            if stamp != self._stamp:
                content = verify_checksum(self._path.read_bytes(), self._path)
                self._known, self._stamp = self._read(content), stamp
            return self._known

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Exclude every other thread and process from changing the file."""
        if not self._path.parent.is_dir():
            raise KnowledgeBaseError(
                f"{self._path.parent} does not exist; make the base with `shiyi build`"
            )
        with failures(self._path), lock_folder(self._path.parent):
            yield

    def put(self, text: str) -> None:
        """Write the file whole, for its owner alone; call it within :meth:`alone`."""
        write_checksummed(self._path, text + "\n")
