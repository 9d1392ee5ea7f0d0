"""Power cuts by model: what a disk may hold after a cut at any call of a stage's work.

A file holds what was synced and some of what was written later, in order, the last piece torn or
blank; a folder has the names that were synced and some of the later ones, in order.
"""

import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from soak.disk.tracing import ACKNOWLEDGED, Call, record_calls
from soak.killing import ForkServer, Stage

WORDS: Final = {"commit": 24, "tokens and accounts": 12, "index build": 3}  # else 6, acknowledged
_POLICIES = ("nothing", "nothing", "some", "some", "all")  # of what was not synced survives
_HERE = "AT_FDCWD"


@dataclass(slots=True)
class PowerCutReport:
    """How many cuts of one stage, what was acknowledged before them, and what was lost or torn."""

    stage: str
    cuts: int = 0
    calls: int = 0
    acknowledged: int = 0
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


@dataclass(slots=True)
class Node:
    """A file or a folder: its changes with the moment of each, and the moments of its syncs."""

    changes: list[tuple[int, Any]] = field(default_factory=list)
    syncs: list[int] = field(default_factory=list)
    names: dict[str, "Node"] | None = None  # of a folder, as they are now
    size: int = 0

    def after(self, moment: int, chance: random.Random, policy: str) -> tuple[list[Any], Any]:
        """Return the changes that survive a cut, and one that survives in part."""
        synced = max((each for each in self.syncs if each <= moment), default=-1)
        whole = [change for at, change in self.changes if at <= synced]
        loose = [change for at, change in self.changes if synced < at <= moment]
        count = {"nothing": 0, "all": len(loose)}.get(policy, chance.randint(0, len(loose)))
        part = loose[count] if policy == "some" and count < len(loose) else None
        return whole + loose[:count], part


@dataclass(slots=True)
class _OpenFile:
    node: Node
    at: int = 0
    appends: bool = False


class Disk:
    """The files beneath ``root`` as calls change them; ``acknowledged`` has moments and numbers."""

    def __init__(self, root: Path) -> None:
        self.root, self.moment, self.acknowledged = root, 0, list[tuple[int, int]]()
        self._inodes = dict[int, Node]()
        self._top = self._read(root)
        self._open = dict[int, _OpenFile]()
        self._acknowledged = Node()

    def _read(self, path: Path) -> Node:
        found = path.stat()
        if known := self._inodes.get(found.st_ino):
            return known
        node = self._inodes[found.st_ino] = Node(syncs=[0])
        if path.is_dir():
            node.names = {}
            for each in sorted(path.iterdir()):
                self._name(node, each.name, self._read(each))
        else:
            content = path.read_bytes()
            node.changes, node.size = [(0, (0, content))], len(content)
        return node

    def _name(self, folder: Node, name: str, node: Node | None, old: str = "") -> None:
        """Name a node, or remove a name; a renaming removes the ``old`` one with it."""
        assert folder.names is not None
        folder.changes.append((self.moment, (name, node, old)))
        for gone in {old, name} - {""}:
            folder.names.pop(gone, None)
        if node is not None:
            folder.names[name] = node

    def _place(self, start: str, path: bytes) -> tuple[Node, str] | None:
        """Return the folder and the name of a path; None outside the root."""
        text = Path(os.fsdecode(path))
        if text.is_absolute():
            if not text.is_relative_to(self.root):
                return None
            node, parts = self._top, text.relative_to(self.root).parts
        elif start != _HERE and int(start) in self._open:
            node, parts = self._open[int(start)].node, text.parts
        else:
            return None
        for part in parts[:-1]:
            assert node.names is not None
            node = node.names[part]
        return node, parts[-1] if parts else "."

    def call(self, call: Call) -> None:
        """Apply one call."""
        self.moment += 1
        name, words = call.name, call.words
        if name in {"open", "openat", "creat"}:
            self._apply_open(call)
        elif name in {"rename", "renameat", "renameat2", "link", "linkat"}:
            self._apply_link(call)
        elif name in {"unlink", "unlinkat", "rmdir", "mkdir", "mkdirat"}:
            place = self._place(words[0] if name.endswith("at") else _HERE, call.texts[0])
            if place is not None:
                made = Node(names={}) if name.startswith("mkdir") else None
                self._name(*place, made)
        elif words[0].isdigit() and int(words[0]) in self._open:
            self._apply_write(call, self._open[int(words[0])])

    def _apply_open(self, call: Call) -> None:
        self._open.pop(call.result, None)
        at = call.name == "openat"
        path, flags = Path(os.fsdecode(call.texts[0])), call.words[2 if at else 1]
        if path == self.root.with_name(ACKNOWLEDGED):
            self._open[call.result] = _OpenFile(self._acknowledged, appends=True)
            return
        place = self._place(call.words[0] if at else _HERE, call.texts[0])
        if place is None:
            return
        folder, name = place
        node = folder if name == "." else (folder.names or {}).get(name)
        if "O_TMPFILE" in flags:
            node = Node()
        elif node is None:
            node = Node()
            self._name(folder, name, node)
        elif "O_TRUNC" in flags:
            self._write(node, None, 0)
        self._open[call.result] = _OpenFile(node, appends="O_APPEND" in flags)

    def _apply_link(self, call: Call) -> None:
        at = "at" in call.name
        source = self._place(call.words[0] if at else _HERE, call.texts[0])
        target = self._place(call.words[2] if at else _HERE, call.texts[1])
        if source is None or target is None:
            return
        node = (source[0].names or {})[source[1]]
        if call.name.startswith("link"):
            self._name(*target, node)
        else:
            assert source[0] is target[0], "moved between folders"
            self._name(*target, node, source[1])

    def _apply_write(self, call: Call, file: _OpenFile) -> None:
        name, words, node = call.name, call.words, file.node
        if name == "close":
            del self._open[int(words[0])]
        elif name in {"dup", "dup2", "dup3"} or (name == "fcntl" and "F_DUPFD" in words[1]):
            self._open[call.result] = file
        elif name == "lseek":
            file.at = call.result
        elif name in {"fsync", "fdatasync"}:
            node.syncs.append(self.moment)
        elif name == "pwrite64":
            self._write(node, call.texts[0][: call.result], int(words[3]))
        elif name in {"ftruncate", "fallocate"}:
            self._apply_resize(name, words, node)
        elif name in {"write", "writev", "sendfile"}:
            self._apply_append(call, file)

    def _apply_resize(self, name: str, words: tuple[str, ...], node: Node) -> None:
        if name == "ftruncate":
            self._write(node, None, int(words[1]))
        elif words[1] == "0":
            self._write(node, None, max(node.size, int(words[2]) + int(words[3])))

    def _apply_append(self, call: Call, file: _OpenFile) -> None:
        content = b"".join(call.texts)[: call.result]
        if call.name == "sendfile":
            source = self._open[int(call.words[1])]
            found = re.findall(r"\d+", call.words[2])
            begin = int(found[0]) if found else source.at
            content = _content(source.node.changes)[begin : begin + call.result]
            source.at = begin + call.result
        elif file.node is self._acknowledged:
            self.acknowledged.append((self.moment, int(content)))
        start = file.node.size if file.appends else file.at
        self._write(file.node, content, start)
        file.at = start + call.result

    def _write(self, node: Node, content: bytes | None, at: int) -> None:
        """Write at an offset; no content means a new size."""
        node.size = at if content is None else max(node.size, at + len(content))
        node.changes.append((self.moment, (at, content)))

    def cut(self, moment: int, chance: random.Random, policy: str, target: Path) -> list[int]:
        """Lay out what survives a cut after a moment; return what was acknowledged before it."""
        self._lay_out(self._top, moment, chance, policy, target)
        return [number for at, number in self.acknowledged if at <= moment]

    def _lay_out(
        self, node: Node, moment: int, chance: random.Random, policy: str, path: Path
    ) -> None:
        changes, part = node.after(moment, chance, policy)
        if node.names is None:
            path.write_bytes(_content([(0, each) for each in changes], part, chance))
            return
        path.mkdir()
        names = dict[str, Node]()
        for name, child, old in changes:
            names.pop(old, None)
            names.pop(name, None)
            if child is not None:
                names[name] = child
        for name, child in names.items():
            self._lay_out(child, moment, chance, policy, path / name)


def _content(
    changes: list[tuple[int, Any]], part: Any = None, chance: random.Random | None = None
) -> bytes:
    """Return what a file holds after some changes, and after a ``part`` of another."""
    stored = bytearray()
    for _, (at, content) in changes:
        _put(stored, at, content)
    if part is not None and part[1] and chance:
        at, content = part
        count = chance.randint(0, len(content))
        blank = chance.random() < 0.3  # the size was on the disk, the content was not
        _put(stored, at, bytes(len(content)) if blank else content[:count])
    return bytes(stored)


def _put(stored: bytearray, at: int, content: bytes | None) -> None:
    if content is None:
        del stored[at:]
        stored.extend(bytes(at - len(stored)))
    else:
        stored.extend(bytes(max(0, at - len(stored))))
        stored[at : at + len(content)] = content


def power_cuts(stage: Stage, cuts: int, seed: int) -> PowerCutReport:
    """Record a stage's work once, then cut the power ``cuts`` times.

    First it is cut after each acknowledgement, where nothing but what was synced survives; of the
    other cuts a third come right after one.
    """
    chance, row = random.Random(f"{seed} power {stage.name}"), PowerCutReport(stage.name)  # noqa: S311
    memory = Path("/dev/shm")  # noqa: S108 - thousands of copies, none of them worth a disk
    home = Path(tempfile.mkdtemp(prefix="soak-power-", dir=memory if memory.is_dir() else None))
    try:
        folder = home / "work"
        folder.mkdir()
        stage.prepare(folder)
        start = Disk(folder)
        for each in record_calls(ForkServer(), stage, folder, WORDS.get(stage.name, 6)):
            start.call(each)
        row.calls = start.moment
        acknowledgements = [at for at, _ in start.acknowledged]
        moments = [(at, "nothing") for at in acknowledgements]
        while len(moments) < cuts:
            at = (
                chance.choice(acknowledgements)
                if chance.random() < 1 / 3
                else chance.randint(0, row.calls)
            )
            moments.append((at, chance.choice(_POLICIES)))
        for number, (at, policy) in enumerate(moments[:cuts]):
            shutil.rmtree(folder)
            text = start.cut(at, chance, policy, folder)
            row.cuts += 1
            row.acknowledged += len(text)
            _judge(stage, folder, text, row, f"cut {number} after call {at}, {policy} survives")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return row


def _judge(stage: Stage, folder: Path, items: list[int], row: PowerCutReport, where: str) -> None:
    check: Callable[..., Any] = stage.check
    try:
        found = check(folder, 1, items)
    except Exception as fault:  # noqa: BLE001 - whatever it is, the base does not open
        row.torn += 1
        row.notes.append(f"{where}: {type(fault).__name__} {fault}"[:300])
        return
    row.lost += found.lost
    row.torn += found.torn
    row.doubled += found.doubled
    if found.lost or found.torn or found.doubled:
        row.notes.append(f"{where}: {found}"[:300])
