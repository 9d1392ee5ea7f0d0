"""Real processes, each killed at a random moment of its work, and what stands afterwards."""

import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest.mock import patch

Say = Callable[[int], None]
READY, DONE = -1, -2
_PRELOADED = ("soak.stages", "soak.reading_stages", "openai")
PATIENCE = 120.0  # seconds for a process to begin, on a machine with much else to do


@dataclass(slots=True)
class DamageCount:
    """What a check found: numbers of acknowledged things lost, of torn and of doubled ones."""

    lost: int = 0
    torn: int = 0
    doubled: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work: ``prepare`` lays the folder out, ``work`` runs in the process that dies.

    ``work(folder, turn, say)`` says the number of each thing once it is safe. ``check(folder,
    turn, said)`` opens what is left, repairs it as the next start would, and counts what is wrong.
    A process is killed after at most so many ``words``, and so many ``seconds`` more.
    """

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[Path, int, Say], None]
    check: Callable[[Path, int, list[int]], DamageCount]
    seconds: float
    words: int = 3


@dataclass(slots=True)
class Outcome:
    """The row of one stage."""

    stage: str
    kills: int = 0
    finished: int = 0  # processes that were done before they could be killed
    acknowledged: int = 0
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    slowest_check: float = 0.0  # seconds until the base was open again and looked through
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return asdict(self)


def _run(work: Callable[[Path, int, Say], None], folder: Path, turn: int, pipe: Connection) -> None:
    pipe.send_bytes(b"%d" % READY)
    pipe.recv_bytes()
    try:
        work(folder, turn, lambda number: pipe.send_bytes(b"%d" % number))
        pipe.send_bytes(b"%d" % DONE)
    except OSError:  # a system call that was made to fail
        os._exit(os.EX_OSERR)
    signal.pause()  # so that it is killed in any case


class ForkServer:
    """Starts processes that have imported everything already, hence within milliseconds."""

    def __init__(self, *modules: str) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*_PRELOADED, *modules])
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))):
            forkserver.ensure_running()  # it looks for what it imports there alone

    def start(self, stage: Stage, folder: Path, turn: int) -> tuple[BaseProcess, Connection]:
        """Start the stage's work; return when it begins."""
        process, pipe = self.wait(stage, folder, turn)
        pipe.send_bytes(b"go")
        return process, pipe

    def wait(self, stage: Stage, folder: Path, turn: int) -> tuple[BaseProcess, Connection]:
        """Start a process that does the stage's work once something is sent to it."""
        own, theirs = self._context.Pipe()
        process = self._context.Process(target=_run, args=(stage.work, folder, turn, theirs))
        process.start()
        theirs.close()
        if not own.poll(PATIENCE) or int(own.recv_bytes()) != READY:
            process.kill()
            raise RuntimeError(f"{stage.name}: the process did not begin")
        return process, own

    def kill_process(
        self, stage: Stage, folder: Path, turn: int, words: int, after: float
    ) -> tuple[list[int], int]:
        """Kill a process some time after so many words; return what it had stated, and its status."""
        process, pipe = self.start(stage, folder, turn)
        found: list[int] = []
        while len(found) < words and pipe.poll(PATIENCE):
            found.append(int(pipe.recv_bytes()))
            if found[-1] == DONE:
                break
        time.sleep(after)
        process.kill()
        process.join()
        with suppress(EOFError, ConnectionResetError):  # it may not have read what was sent
            while True:
                found.append(int(pipe.recv_bytes()))
        pipe.close()
        return found, int(process.exitcode or 0)


def soak(stage: Stage, kills: int, seed: int, home: Path | None = None) -> Outcome:
    """Kill ``kills`` processes of a stage in the midst of their work, from the same seed alike.

    A process that was done before is run again and counts for nothing.
    """
    chance = random.Random(f"{seed} {stage.name}")  # noqa: S311 - moments, not secrets
    row, nursery, turn, longest = Outcome(stage.name), ForkServer(), 0, stage.seconds
    folder = Path(tempfile.mkdtemp(prefix=f"soak-{stage.name.replace(' ', '-')}-", dir=home))
    try:
        stage.prepare(folder)
        while row.kills < kills and turn < 20 * kills + 20:
            turn += 1
            words, after = chance.randrange(stage.words + 1), chance.uniform(0, longest)
            text, status = nursery.kill_process(stage, folder, turn, words, after)
            done = DONE in text
            text = [number for number in text if number >= 0]
            row.finished += done
            row.kills += not done
            row.acknowledged += len(text)
            if done:
                longest = max(longest * 0.9, 0.002)
            if status != -signal.SIGKILL:
                row.notes.append(f"turn {turn} ended by itself with {status}")
            start = time.perf_counter()
            found = stage.check(folder, turn, text)
            row.slowest_check = round(max(row.slowest_check, time.perf_counter() - start), 3)
            row.lost += found.lost
            row.torn += found.torn
            row.doubled += found.doubled
            row.notes += [f"turn {turn}: {note}" for note in found.notes]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return row
