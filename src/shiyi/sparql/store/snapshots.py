"""Hard-linked read-only copies of a store."""

import errno
import fcntl
import logging
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.sparql.store.files import lock_folder
from shiyi.sparql.store.oxigraph import REPAIR, OxigraphStore

_TRIES = 20  # a writer may delete a file between two links; then it is listed twice
_PAUSE = 0.05  # seconds
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNLINKABLE = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_CHANGING = "*.log"  # which a writer appends to; other files of a store never change
_KINDS = (_CHANGING, "*.sst", "*.blob")
_LOG: Final = logging.getLogger("shiyi")


@dataclass(slots=True)
class Snapshot:
    """A folder ``path`` that Oxigraph opens read-only; it never changes.

    Its lock is stored as long as its owner lives, so leftovers of dead owners are distinguished.
    """

    path: Path
    _lock_path: Path | None
    _lock: int

    @classmethod
    def of_store(cls, store: OxigraphStore, home: Path) -> Self:
        """Copy a store that this process has open."""
        snapshot = cls._new(home)
        try:
            store.backup(snapshot.path)
        except OSError as fault:
            snapshot.remove()
            raise _snapshot_error(home, fault) from fault
        return snapshot

    @classmethod
    def of_folder(cls, folder: Path, home: Path) -> Self:
        """Copy a store that another process may be writing to, without disturbing it.

        Where ``home`` is read-only, so is the store, and the snapshot is the folder itself.
        """
        try:
            snapshot = cls._new(home)
        except OSError as fault:
            if fault.errno in _UNWRITABLE:
                return cls(folder, None, -1)
            raise
        for number in reversed(range(_TRIES)):
            try:
                return snapshot._fill(folder)
            except (KnowledgeBaseError, OSError, ValueError) as fault:  # a name that is no text
                shutil.rmtree(snapshot.path, ignore_errors=True)
                if isinstance(fault, OSError) and fault.errno in _FULL:
                    snapshot.remove()
                    raise _snapshot_error(home, fault) from fault
                if not number:
                    snapshot.remove()
                    raise KnowledgeBaseError(
                        f"{folder} cannot be read: {fault}; {REPAIR}"
                    ) from fault
                time.sleep(_PAUSE)
        raise AssertionError("unreachable")

    @classmethod
    def to_fill(cls, home: Path) -> Self:
        """Return a place for a copy that someone else makes."""
        return cls._new(home)

    def copy_to(self, home: Path) -> Self:
        """Copy this snapshot; return it itself where no copy can be made."""
        if self.is_original:
            return type(self)(self.path, None, -1)
        copy = self._new(home)
        try:
            _copy_frozen(self.path, copy.path)
        except OSError as fault:
            copy.remove()
            raise _snapshot_error(home, fault) from fault
        return copy

    def _fill(self, folder: Path) -> Self:
        _copy_store(folder, self.path)
        OxigraphStore.read_only(self.path).close()  # opens only if every file came along
        return self

    @classmethod
    def _new(cls, home: Path) -> Self:
        home.mkdir(exist_ok=True)
        remove_leftovers(home)
        own = home / f"{os.getpid()}-{secrets.token_hex(6)}"
        with lock_folder(home):
            lock = os.open(own.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX)
        return cls(own, own.with_suffix(".lock"), lock)

    @property
    def is_original(self) -> bool:
        """Return whether this is no copy, since none could be made."""
        return self._lock_path is None

    def remove(self) -> None:
        """Delete the copy; twice does no harm."""
        if self._lock < 0 or self._lock_path is None:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = -1


def _copy_store(folder: Path, copy: Path) -> None:
    """Copy a RocksDB while another process may write; the copy opens as one of its moments.

    Tables never change, so links will do: those made before the manifest is copied cover what it
    names and a compaction may delete, those made after cover what came since. A log grows, so it is
    copied, and after the manifest: no table may be newer than the log. It is linked before, so that
    it is not deleted. ``Store.backup`` of a store opened read-only would leave out the log.
    """
    copy.mkdir()
    linked = _bring_all(folder, copy)
    manifest = (folder / "CURRENT").read_text(encoding="ascii").strip()
    for name in (manifest, "CURRENT", "IDENTITY", *(p.name for p in folder.glob("OPTIONS-*"))):
        shutil.copyfile(folder / name, copy / name)
    linked = _bring_all(folder, copy) and linked
    for log in copy.glob(_CHANGING):
        frozen = log.with_suffix(".copy")
        shutil.copyfile(log if linked else folder / log.name, frozen)
        frozen.replace(log)
    if (folder / "CURRENT").read_text(encoding="ascii").strip() != manifest:
        raise FileNotFoundError("the store was reopened while it was copied")


def _copy_frozen(folder: Path, copy: Path) -> None:
    """Copy a snapshot; its files never change."""
    copy.mkdir()
    for file in folder.iterdir():
        if file.suffix in {".sst", ".blob"}:  # nobody writes to these, in the copy neither
            _link_or_copy(file, copy / file.name)
        elif file.is_dir():
            shutil.copytree(file, copy / file.name)
        elif file.name != "LOCK":
            shutil.copyfile(file, copy / file.name)


def _snapshot_error(home: Path, fault: OSError) -> KnowledgeBaseError:
    room = "; make room there" if fault.errno in _FULL else ""
    return KnowledgeBaseError(f"no snapshot could be made in {home}: {fault}{room}")


def _bring_all(folder: Path, copy: Path) -> bool:
    """Bring what is not in the copy yet, or has grown since; return whether all were links."""
    linked = True
    for kind in _KINDS:
        for file in folder.glob(kind):
            if not _is_there(file, copy / file.name):
                linked = _link_or_copy(file, copy / file.name) and linked
    return linked


def _is_there(file: Path, target: Path) -> bool:
    if not target.exists():
        return False
    return target.samefile(file) or target.stat().st_size == file.stat().st_size


def _link_or_copy(file: Path, target: Path) -> bool:
    """Link a file, or copy it where there are no links; return whether it is a link."""
    try:
        os.link(file, target)
    except FileExistsError:  # an earlier copy that is shorter
        pass
    except OSError as fault:
        if fault.errno not in _UNLINKABLE:
            raise
        _warn_once(target.parent.parent, str(fault.strerror))
    else:
        return True
    shutil.copyfile(file, target)
    return False


@cache
def _warn_once(home: Path, reason: str) -> None:
    """State once what is slower and larger than it need be."""
    _LOG.warning(
        "no file of the store can be linked to %s (%s): each snapshot is a whole copy; "
        "let both lie on one file system that has hard links",
        home,
        reason,
    )


def remove_leftovers(home: Path) -> int:
    """Delete the snapshots of owners that have died; return how many."""
    gone = 0
    with lock_folder(home):
        for lock in home.glob("*.lock"):
            gone += _remove_if_left(lock)
        for half in home.glob("*.tmp"):  # a backup of Oxigraph that was killed
            if not half.with_suffix(".lock").exists():
                shutil.rmtree(half, ignore_errors=True)
    return gone


def _remove_if_left(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
