"""Copies of a knowledge base for tests that write to it."""

import shutil
from pathlib import Path

SNAPSHOTS = "snapshots"  # of readers: they come and go at any time
LOCKS = {"lock", "LOCK"}


def copy_base(source: Path, target: Path) -> Path:
    """Copy a knowledge base that others may have open for reading; return the copy.

    Snapshots and locks belong to those readers, so they are left out, and so is what vanishes
    while it is copied. The target must not exist yet.
    """
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.name in LOCKS or path.name == SNAPSHOTS:
            continue
        if path.is_dir():
            copy_base(path, target / path.name)
        elif path.is_file():  # a socket is none
            try:
                shutil.copy2(path, target / path.name)
            except FileNotFoundError:
                (target / path.name).unlink(missing_ok=True)
    return target
