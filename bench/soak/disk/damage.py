"""Each file of a base lost, and single bits flipped in all of them: found, mended or refused."""

import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.copies import copy_base

from shiyi.curation.accounts import AccountStore, Audit, Role
from shiyi.curation.bundles import public_key, signing_key
from shiyi.errors import ShiyiError
from shiyi.server.site.counts import load_description, load_spread
from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.integrity import scrub
from shiyi.sparql.base.knowledge_base import KnowledgeBase, compute_release
from soak.stages import indexed_kitchen

# caches and what has no content of its own; a lock and what readers have are made again
_OMITTED: Final = {"lock", "LOCK"}
_COMMANDS: Final = ("shiyi build", "shiyi index", "shiyi restore", "a backup", "delete ")


@dataclass(slots=True)
class DamageReport:
    """Files lost and bits flipped, how each was met, and what passed unseen."""

    files: int = 0
    bits: int = 0
    found: int = 0  # named by a scrub, with what to do
    refused: int = 0  # not found, but the base does not open, and the message says what to do
    harmless: int = 0  # the base opens with all that it had
    unseen: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self) | {"faults": self.unseen}


def _state(kb: Path) -> tuple[object, ...]:
    """Return all that was acknowledged, as the next start has it."""
    with KnowledgeBase.open(kb, write=True) as base:
        again = base.writer.write((), key="k3", agent="w", reason="s")  # a retry changes nothing
        quads = base.sequence, again, compute_release(base.store.match())
        counted = load_spread(base), load_description(base)
    beside = Tokens(kb).all(), AccountStore(kb).all(), len(Audit(kb).last())
    return (*quads, *beside, public_key(signing_key(kb)), *counted)


def _prepare(kb: Path) -> None:
    indexed_kitchen(kb)
    Tokens(kb).add("token", "write", 1)
    AccountStore(kb).add("person", Role.ADMINISTRATOR, subject="elsewhere 1")
    signing_key(kb)
    for number in range(5):
        Audit(kb).note("signed in", f"person {number}")
    _state(kb)


def damage(bits: int, seed: int) -> DamageReport:
    """Lose each file of a base, then flip ``bits`` single bits over all files, one at a time."""
    chance, row = random.Random(f"{seed} damage"), DamageReport()  # noqa: S311 - places, not secrets
    home = Path(tempfile.mkdtemp(prefix="soak-damage-"))
    try:
        sound, kb = home / "sound", home / "kb"
        _prepare(sound)
        wanted = _state(sound)
        assert not scrub(sound).damages, scrub(sound).damages
        files = [
            each.relative_to(sound)
            for each in sorted(sound.rglob("*"))
            if each.is_file() and each.name not in _OMITTED and "snapshots" not in each.parts
        ]
        for name in files:
            row.files += 1
            _judge(kb, sound, name, Path.unlink, wanted, row)
        weights = [(sound / name).stat().st_size for name in files]
        for number in range(bits):
            # half of the bits by the size of the files, half in any of them
            [name] = chance.choices(files, weights if number % 2 else None)
            if weights[files.index(name)]:
                row.bits += 1
                _judge(kb, sound, name, lambda path: _flip(path, chance), wanted, row)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return row


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _judge(
    kb: Path,
    sound: Path,
    name: Path,
    harm: Callable[[Path], None],
    wanted: tuple[object, ...],
    row: DamageReport,
) -> None:
    shutil.rmtree(kb, ignore_errors=True)
    copy_base(sound, kb)
    harm(kb / name)
    damages = scrub(kb).damages
    if damages:
        row.found += 1
        if not any(each in text for text in damages for each in _COMMANDS):
            row.unseen += 1
            row.notes.append(f"{name}: no command is named: {damages}"[:300])
        return
    try:
        state = _state(kb)
    except ShiyiError as fault:
        row.refused += 1
        if not any(each in str(fault) for each in _COMMANDS):
            row.unseen += 1
            row.notes.append(f"{name}: no command is named: {fault}"[:300])
        return
    same = state[:-2] == wanted[:-2] and all(
        now in {None, then} for now, then in zip(state[-2:], wanted[-2:], strict=True)
    )
    row.harmless += same
    if not same:
        row.unseen += 1
        row.notes.append(f"{name}: unseen, and {state} is not {wanted}"[:600])
