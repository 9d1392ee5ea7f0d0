"""Backup and restore."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.sparql.base.digests import file_digest
from shiyi.sparql.base.knowledge_base import KnowledgeBase, current_generation
from shiyi.sparql.base.writer import JOURNAL_FILE
from shiyi.sparql.store.files import (
    CONTENTS,
    failures,
    list_files,
    lock_folder,
    replace_file,
    sync_folder,
    sync_tree,
)
from shiyi.sparql.store.snapshots import Snapshot

LISTING: Final = "backup.json"
# tokens, accounts, keys of bundles, and what answers cite
_BESIDE: Final = (
    "tokens.json", "people.json", "audit.jsonl", "signing.key", "citations.json", CONTENTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Backup:
    """The listing of a backup: the release of its base, its files with their SHA-256, its size."""

    release: str
    made: str
    files: dict[str, str]
    size: int


def back_up(kb: Path, out: Path) -> Backup:
    """Copy the base in ``kb`` to the new folder ``out``, also while a server writes to it.

    The journal is copied after the store, so it holds all that the store has; what it has more
    is repeated when the copy is opened. Raises :class:`UsageError` where ``out`` is there already,
    and :class:`KnowledgeBaseError` where the disk is full.
    """
    if out.exists():
        raise UsageError(f"{out} is there already; name a new folder for the backup")
    with _new_folder(out) as part:
        return _fill(kb, part)


def restore(backup: Path, kb: Path) -> Backup:
    """Make ``kb`` of a backup that is whole; ``kb`` must not be there, so nothing is overwritten.

    Raises :class:`KnowledgeBaseError` that names every file that differs from what was backed up.
    """
    if kb.exists() and any(kb.iterdir()):
        raise UsageError(f"{kb} is not empty; restore to a new folder, then let the server use it")
    made = read_listing(backup)
    with failures(backup):
        faults = list(damages(backup, made))
    if faults:
        raise KnowledgeBaseError(f"{backup} is damaged: " + "; ".join(faults))
    with _new_folder(kb) as part:
        omitted = shutil.ignore_patterns(LISTING)
        shutil.copytree(backup, part, ignore=omitted, dirs_exist_ok=True)
        sync_tree(part)
        if kb.exists():
            kb.rmdir()
    with KnowledgeBase.open(kb, write=True):  # repeats what the journal has more
        return made


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a locked folder that is renamed to ``path`` at the end; a kill leaves ``path.part``.

    What killed processes left beside it goes first.
    """
    home = path.absolute().parent
    part = home / f"{path.name}.part"
    with failures(path), ExitStack() as locks:
        for left in home.glob("*.part"):
            with suppress(BlockingIOError), lock_folder(left, wait=False):
                if left == part or (left / "generations").is_dir():
                    shutil.rmtree(left)
        part.mkdir()
        locks.enter_context(lock_folder(part))
        try:
            yield part
            part.rename(path)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        sync_folder(home)


def read_listing(backup: Path) -> Backup:
    """Read what a backup says of itself; raises :class:`KnowledgeBaseError` where it is none."""
    try:
        listing: dict[str, Any] = json.loads((backup / LISTING).read_text("utf-8"))
        return Backup(listing["release"], listing["made"], listing["files"], listing["size"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
        raise KnowledgeBaseError(f"{backup} is no whole backup: {fault}") from fault


def damages(backup: Path, made: Backup) -> Iterator[str]:
    """Yield a message for each file that is missing, changed or not part of the backup."""
    files = _files(backup).keys() - {LISTING}
    for name, digest in made.files.items():
        if name not in files:
            yield f"{name} is missing"
        elif file_digest(backup / name) != digest:
            yield f"{name} is not what was backed up"
    for name in sorted(files - made.files.keys()):
        yield f"{name} is not of this backup"


def _fill(kb: Path, part: Path) -> Backup:
    generation = current_generation(kb)
    copied = part / "generations" / generation.name
    copied.mkdir(parents=True)
    snapshot = Snapshot.of_folder(generation / "store", kb / "snapshots")
    try:
        shutil.copytree(snapshot.path, copied / "store")
    finally:
        snapshot.remove()
    shutil.copytree(generation / "index", copied / "index")
    shutil.copyfile(generation / "manifest.json", copied / "manifest.json")
    for name in (JOURNAL_FILE, *_BESIDE):
        if (kb / name).is_file():
            shutil.copy(kb / name, part / name)
    replace_file(part / "CURRENT", f"{generation.name}\n".encode())
    release = str(json.loads((copied / "manifest.json").read_text("utf-8"))["release"])
    files = _files(part)
    backup = Backup(
        release,
        datetime.now(UTC).isoformat(timespec="seconds"),
        {name: file_digest(path) for name, path in files.items()},
        sum(path.stat().st_size for path in files.values()),
    )
    replace_file(part / LISTING, (json.dumps(asdict(backup), indent=1) + "\n").encode())
    sync_tree(part)
    return backup


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in list_files(folder)}
