"""Writing files so that a power cut finds them whole."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    """Give ``path`` new content at once: readers see the old or the new, never a part."""
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
    """Keep every other process that asks the same out of a folder meanwhile."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
