"""Power cut by model: what was not brought to the disk is gone, or a part of it is there."""

import os
import random
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.base.writer import JOURNAL_FILE, applied_through
from tests.resilience.soak.killing import Nursery, Say, Stage
from tests.resilience.soak.stages import expected
from tests.support.bases import batch, batches

_LOG = "synced"


@dataclass(slots=True)
class Cuts:
    """How many cuts, writes acknowledged before them, and what was lost or torn."""

    cuts: int = 0
    acknowledged: int = 0
    lost: int = 0
    torn: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


def write(folder: Path, turn: int, say: Say) -> None:
    """Write batches, and note how much of the journal each fsync brought to the disk."""
    journal, real = (folder / "kb" / JOURNAL_FILE).resolve(), os.fsync
    noted = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def fsync(descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        real(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").resolve() == journal:
            os.write(noted, b"%d\n" % size)

    os.fsync = fsync  # type: ignore[assignment] # of this process alone
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        while True:
            number = kb.sequence + 1
            kb.writer.write(batch(number), batch(number - 10), key=f"k{number}", who="w", why="s")
            say(number)


def cut(folder: Path, chance: random.Random) -> None:
    """Cut the journal back to what was synced or a little more, and the store's log anywhere.

    Oxigraph brings its tables to the disk, its log never. The journal's index is SQLite's, made
    again where it does not fit, so it is lost in every third cut.
    """
    kb = folder / "kb"
    synced = [int(line) for line in (folder / _LOG).read_text().split()] or [0]
    journal = kb / JOURNAL_FILE
    size = journal.stat().st_size
    least = min(synced[-1], size)
    os.truncate(journal, chance.choice((least, chance.randint(least, size))))
    store = next((kb / "generations").iterdir()) / "store"
    for log in sorted(store.glob("*.log"))[-1:]:
        os.truncate(log, chance.choice((0, chance.randint(0, log.stat().st_size))))
    if chance.random() < 1 / 3:
        for each in kb.glob(f"{JOURNAL_FILE}.index*"):
            each.unlink()


def power_cuts(cuts: int, seed: int, home: Path | None = None) -> Cuts:
    """Kill a writer and cut its files ``cuts`` times, on one base; count what is missing."""
    chance, nursery, row, last = random.Random(f"{seed} power"), Nursery(), Cuts(), 0  # noqa: S311
    folder = Path(tempfile.mkdtemp(prefix="soak-power-", dir=home))
    stage = Stage("power cut", lambda _: None, write, lambda *_: None, 0.2)  # type: ignore[arg-type] # only started
    try:
        build_generation(folder / "kb", [], {})
        for turn in range(cuts):
            (folder / _LOG).unlink(missing_ok=True)
            process, pipe = nursery.start(stage, folder, turn)
            said: list[int] = []
            until = time.monotonic() + 60
            wanted = chance.randrange(15, 40)
            while len(said) < wanted and time.monotonic() < until and pipe.poll(5):
                said.append(int(pipe.recv_bytes()))
            process.kill()
            process.join()
            with suppress(EOFError):
                while True:
                    said.append(int(pipe.recv_bytes()))
            pipe.close()
            cut(folder, chance)
            row.cuts += 1
            row.acknowledged += len(said)
            last = max([last, *said])
            with KnowledgeBase.open(folder / "kb", write=True) as kb:
                row.lost += max(0, last - kb.sequence)
                row.torn += batches(kb.store) != expected(kb.sequence)
                row.torn += applied_through(kb.store) != kb.sequence
                last = kb.sequence
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return row
