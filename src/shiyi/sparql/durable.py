"""Writing files so that a power cut finds them whole."""

import os
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
