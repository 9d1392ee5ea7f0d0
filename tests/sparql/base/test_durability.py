"""What is renamed into place is on the disk before it, and its folder after it (fsync(2), rename(2))."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.model.rdf import Quad
from shiyi.sparql.base.backups import back_up, restore
from shiyi.sparql.base.knowledge_base import build_generation
from shiyi.sparql.store.files import replace_file, write_private
from tests.contracts import A, B, P

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


class Disk:
    """Follows fsync and rename in this process; ``faults`` names what a power cut could lose."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: dict[int, Stamp] = {}
        self.waiting: set[Path] = set()  # folders with a new name that is not on the disk
        self.faults: list[str] = []
        self.renamed = 0
        fsync, rename = os.fsync, Path.rename

        def followed(descriptor: int) -> None:
            fsync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            self.synced[path.stat().st_ino] = stamp(path)
            self.waiting.discard(path)

        def renaming(source: Path, target: Path) -> Path:
            if "snapshots" not in target.parts:  # these do not outlive their process
                self._check(source)
                if target.name == "CURRENT" and target.parent.suffix != ".part":
                    self._check(target.parent / "generations")  # of which it names one
                self.waiting.add(target.parent.resolve())
                self.renamed += 1
            return rename(source, target)

        monkeypatch.setattr(os, "fsync", followed)
        monkeypatch.setattr(Path, "rename", renaming)
        monkeypatch.setattr(Path, "replace", renaming)

    def _check(self, path: Path) -> None:
        for each in _within(path):
            if self.synced.get(each.stat().st_ino) != stamp(each):
                self.faults.append(f"{each} is not on the disk when {path.name} is renamed")


def _within(path: Path) -> Iterator[Path]:
    yield from (each for each in path.rglob("*")) if path.is_dir() else iter((path,))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_base_is_on_the_disk_before_it_is_named(disk: Disk, tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", (Quad(A, P, B),), {"quads": 1})
    assert disk.renamed
    assert (disk.faults, disk.waiting) == ([], set())


def test_a_backup_and_a_restored_base_are_on_the_disk(
    small_kb: Path, tmp_path: Path, disk: Disk
) -> None:
    back_up(small_kb, tmp_path / "backup")
    assert disk.renamed
    assert (disk.faults, disk.waiting) == ([], set())
    restore(tmp_path / "backup", tmp_path / "again")
    assert (disk.faults, disk.waiting) == ([], set())


def test_a_file_is_on_the_disk_before_it_replaces_another(disk: Disk, tmp_path: Path) -> None:
    replace_file(tmp_path / "one", b"one")
    write_private(tmp_path / "tokens.json", "{}")
    assert disk.renamed == 2
    assert (disk.faults, disk.waiting) == ([], set())
