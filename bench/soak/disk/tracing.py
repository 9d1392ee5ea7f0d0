"""System calls of a stage's work: recorded by strace, or failed by it at a chosen call."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from shiyi.errors import ShiyiError
from soak.killing import PATIENCE, ForkServer, Say, Stage

ACKNOWLEDGED: Final = "said"  # the file beside the stage's folder where traced work acknowledges
CHANGING: Final = (
    "open", "openat", "creat", "close", "dup", "dup2", "dup3", "fcntl", "lseek", "write",
    "pwrite64", "writev", "sendfile", "copy_file_range", "truncate", "ftruncate", "fallocate",
    "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
    "unlinkat", "mkdir", "mkdirat", "rmdir",
)  # fmt: skip
_WHOLE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN = re.compile(r"(\d+) +(\w+\(.*) <unfinished \.\.\.>$")
_ENDED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)$")
_CLOSED = re.compile(r"close\((\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that succeeded: its arguments, with the texts apart, and its result."""

    name: str
    words: tuple[str, ...]
    texts: tuple[bytes, ...]
    result: int


class UnacknowledgedError(ShiyiError):
    """The fault hit the acknowledgement itself."""


class EnoughError(Exception):
    """The work has acknowledged as much as was wanted."""


def missing() -> str:
    """Return why nothing can be traced here; nothing where it can."""
    if shutil.which("strace") is None:
        return "there is no strace: apt-get install strace"
    done = subprocess.run(["strace", "-qq", "true"], capture_output=True, text=True, check=False)  # noqa: S607
    return f"strace may not trace here: {done.stderr}" if done.returncode else ""


def work_limited(
    work: Callable[[Path, int, Say], None], words: int, tries: int, folder: Path, turn: int, _: Say
) -> None:
    """Work until so much is acknowledged; after a fault take it up again, ``tries`` times in all."""
    left, noted = (
        words,
        os.open(folder.with_name(ACKNOWLEDGED), os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    )

    def say(number: int) -> None:
        nonlocal left
        try:
            os.write(noted, b"%d\n" % number)
        except OSError as fault:
            raise UnacknowledgedError(str(fault)) from fault
        left -= 1
        if not left:
            raise EnoughError

    for attempt in range(tries):
        try:
            work(folder, turn + attempt, say)
        except EnoughError:
            return
        except (ShiyiError, OSError) as fault:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            with suppress(OSError):
                report = f"{type(fault).__name__}: {fault}".replace("\n", " ")
                os.write(noted, f"{report}\n".encode())


def work_confined(
    work: Callable[[Path, int, Say], None], size: int, folder: Path, turn: int, say: Say
) -> None:
    """Work while no file may grow beyond ``size`` bytes, so that a write is short and the next fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if turn == 1:  # the first try
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    work(folder, turn, say)


def trace_stage(
    nursery: ForkServer, stage: Stage, folder: Path, options: Iterable[str], words: int, tries: int
) -> int | None:
    """Run the work of a stage, under strace where there are ``options`` for it.

    Return how its process ended, None where it worked to the end.
    """
    chosen = replace(stage, work=partial(work_limited, stage.work, words, tries))
    process, pipe = nursery.wait(chosen, folder, 1)
    command = ("strace", "-f", "-qq", "-p", str(process.pid), *options)
    tracer = subprocess.Popen(command if options else ("true",))  # noqa: S603 - of the system
    try:
        threads = Path(f"/proc/{process.pid}/task")
        while options and any(
            "TracerPid:\t0" in (each / "status").read_text() for each in threads.iterdir()
        ):
            assert tracer.poll() is None, "strace ended"
            time.sleep(0.002)
        pipe.send_bytes(b"go")
        assert pipe.poll(PATIENCE), f"{stage.name}: the work has no end"
        with suppress(EOFError):
            pipe.recv_bytes()
            return None
        process.join()
        return process.exitcode
    finally:
        process.kill()
        process.join()
        tracer.wait(PATIENCE)
        pipe.close()


def reports(folder: Path) -> tuple[list[int], list[str]]:
    """Return the numbers that were acknowledged, and the faults that were reported."""
    path = folder.with_name(ACKNOWLEDGED)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [int(each) for each in lines if each.isdigit()], [e for e in lines if not e.isdigit()]


def record_calls(nursery: ForkServer, stage: Stage, folder: Path, words: int) -> list[Call]:
    """Return what a stage's work calls to change files, from the first call to the last."""
    log = folder.with_name("calls")
    options = ("-xx", "-s", "1000000000", "-o", str(log), "-e", f"trace={','.join(CHANGING)}")
    assert trace_stage(nursery, stage, folder, options, words, 1) is None
    with log.open(encoding="ascii") as lines:
        return list(calls(lines))


def calls(lines: Iterable[str]) -> Iterator[Call]:
    """Parse the lines of strace; calls that failed are left out.

    A ``close`` that another thread's calls interrupt counts where it begins: the kernel may give its
    number to a file that is opened before the line of the ``close`` ends.
    """
    begun = dict[str, str]()
    for line in lines:
        if found := _BEGUN.match(line):
            begun[found[1]] = f"{found[1]} {found[2]}"
            if number := _CLOSED.match(found[2]):
                yield Call("close", (number[1],), (), 0)
                begun[found[1]] = ""
        else:
            if found := _ENDED.match(line):
                beginning = begun.pop(found[1])
                line = beginning + found[2] if beginning else ""
            if (found := _WHOLE.match(line)) and int(found[4]) >= 0:
                texts = (bytes.fromhex(each.replace("\\x", "")) for each in _TEXT.findall(found[3]))
                words = (each.strip() for each in _TEXT.sub('"', found[3]).split(","))
                yield Call(found[2], tuple(words), tuple(texts), int(found[4]))
