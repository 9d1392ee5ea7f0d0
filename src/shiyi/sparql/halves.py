"""A large store written out by two processes at once, each a half of it."""

import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final, cast

import shiyi
from shiyi.errors import KnowledgeBaseError

_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from shiyi.sparql.half_dump import main; main(*sys.argv[2:])"
)
_READ: Final = 1 << 20  # bytes at a time


def lines_of_halves(folder: Path, quads: int) -> Iterator[bytes]:
    """Yield the lines of N-Quads of a store nobody writes to, very many at once, without the last feed.

    They are those of its own dump, in no order. Both halves come from one query, the one with LIMIT
    and the other with OFFSET; it has no order but that of the store's index, which stays while nobody
    writes. Raises :class:`KnowledgeBaseError` where they are not ``quads`` in all.
    """
    found = 0
    with ExitStack() as ending, selectors.DefaultSelector() as ready:
        running = []
        for half in ("first", "second"):
            process = _started(folder, half, quads // 2)
            ending.callback(_ended, process)
            running.append(process)
            ready.register(cast("IO[bytes]", process.stdout), selectors.EVENT_READ, bytearray())
        while ready.get_map():
            for key, _ in ready.select():
                held: bytearray = key.data
                read = cast("IO[bytes]", key.fileobj).read(_READ)
                held += read
                if not read:
                    ready.unregister(key.fileobj)
                if (cut := held.rfind(b"\n")) >= 0:
                    whole = bytes(held[:cut])
                    del held[: cut + 1]
                    found += whole.count(b"\n") + 1
                    yield whole
        if any(process.wait() for process in running) or found != quads:
            raise KnowledgeBaseError(
                f"the store in {folder} could not be written out: {found} of {quads} quads came; "
                "make room in memory, and run `shiyi doctor`"
            )


def _started(folder: Path, half: str, middle: int) -> subprocess.Popen[bytes]:
    root = str(Path(shiyi.__file__).parents[1])
    return subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-P", "-c", _PROGRAM, root, str(folder), half, str(middle)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
    )  # fmt: skip


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # nothing where it has ended; else nobody reads on
    process.wait()
    cast("IO[bytes]", process.stdout).close()
