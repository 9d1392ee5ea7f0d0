"""The way back: a disk is lost but for last night's backup and the journal, and nothing is missing."""

import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tests.support.bases import BATCH, batch

from shiyi.sparql.base.backups import back_up, restore
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release
from shiyi.sparql.base.writer import JOURNAL_FILE

_CHANGES = 100  # before the backup, and as many after it


@dataclass(slots=True)
class Drill:
    """How much was stored, how long backup and way back took, and what was missing or other."""

    quads: int
    backup_seconds: float = 0.0
    back_seconds: float = 0.0  # restored, its bytes checked, the journal repeated, open to write
    lost: int = 0
    torn: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


def drill(quads: int, home: Path | None = None) -> Drill:
    """Back up, change more, lose the base, restore, repeat the journal; compare the hashes."""
    folder, row = Path(tempfile.mkdtemp(prefix="soak-drill-", dir=home)), Drill(quads)
    try:
        first = quads // BATCH
        build_generation(folder / "kb", chain.from_iterable(map(batch, range(first))), {})
        _change(folder / "kb", first)
        then, began = _state(folder / "kb"), time.monotonic()
        back_up(folder / "kb", folder / "backup")
        row.backup_seconds = round(time.monotonic() - began, 2)
        _change(folder / "kb", first)
        now = _state(folder / "kb")
        (folder / "kb" / JOURNAL_FILE).rename(folder / "journal")
        shutil.rmtree(folder / "kb")
        began = time.monotonic()
        restore(folder / "backup", folder / "kb")
        as_it_was = time.monotonic() - began
        row.torn += _state(folder / "kb") != then
        began = time.monotonic()
        shutil.copyfile(folder / "journal", folder / "kb" / JOURNAL_FILE)
        with KnowledgeBase.open(folder / "kb", write=True) as kb:
            row.back_seconds = round(as_it_was + time.monotonic() - began, 2)
            row.lost = now[0] - kb.sequence
        row.torn += _state(folder / "kb") != now
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return row


def _change(kb: Path, first: int) -> None:
    with KnowledgeBase.open(kb, write=True) as opened:
        for _ in range(_CHANGES):
            at = opened.sequence
            opened.writer.write(batch(first + at), batch(at), key=f"k{at}", agent="w", reason="s")


def _state(kb: Path) -> tuple[int, str]:
    with KnowledgeBase.open(kb, write=True) as opened:
        return opened.sequence, compute_release(opened.store.match())
