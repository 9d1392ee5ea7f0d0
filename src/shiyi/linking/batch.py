"""Link many passages: JSON Lines in and out, in several processes, taken up where it stopped."""

import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from shiyi.errors import UsageError
from shiyi.linking.linker import Linker

PIECE = 200  # passages linked, written and marked as done together
_linker: Linker | None = None  # of this worker process


def link_passages(
    source: Path, out: Path, make: Callable[[], Linker], processes: int = 1, piece: int = PIECE
) -> int:
    """Link the passages of ``source`` into ``out``; count those that were linked now.

    A line of ``source`` is ``{"id": …, "text": …}``, one of ``out`` ``{"id", "mentions"}``, in the
    same order whatever the number of processes. ``OUT.done`` says how many lines of ``source`` are
    done and how long ``out`` then was: a run that was stopped goes on from there, and what it had
    half written is cut off. ``make`` opens the linker, once in each process, so it is a function
    of a module. Raises :class:`UsageError` at a line that is no passage.
    """
    if processes < 1 or piece < 1:
        raise UsageError("linking passages takes at least one process, and one passage a piece")
    done = out.with_name(out.name + ".done")
    finished, length = _resumed(done, out)
    linked = finished
    with source.open(encoding="utf-8") as lines, _workers(make, processes) as linking:
        rest = enumerate(islice(lines, finished, None), finished + 1)
        with out.open("r+b" if out.exists() else "wb") as file:
            file.truncate(length)
            file.seek(length)
            for answers in linking(_pieces(rest, piece, source)):
                file.writelines(f"{line}\n".encode() for line in answers)
                file.flush()
                linked += len(answers)
                _mark(done, linked, file.tell())
    return linked - finished


Piece = list[tuple[str, str]]


def _pieces(lines: Iterator[tuple[int, str]], size: int, source: Path) -> Iterator[Piece]:
    while piece := [_passage(line, number, source) for number, line in islice(lines, size)]:
        yield piece


def _passage(line: str, number: int, source: Path) -> tuple[str, str]:
    try:
        said = json.loads(line)
        passage = said["id"], said["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise UsageError(f"{source}:{number} is no passage with id and text ({fault!r})") from fault
    if not all(isinstance(each, str) for each in passage):
        raise UsageError(f"{source}:{number} has an id or a text that is no string")
    return passage


def _answers(linker: Linker, piece: Piece) -> list[str]:
    return [
        json.dumps(
            {"id": name, "mentions": [asdict(each) for each in linker.link(text)]},
            ensure_ascii=False,
        )
        for name, text in piece
    ]


@contextmanager
def _workers(
    make: Callable[[], Linker], processes: int
) -> Iterator[Callable[[Iterator[Piece]], Iterable[list[str]]]]:
    if processes == 1:
        linker = _hastened(make)
        yield lambda pieces: (_answers(linker, piece) for piece in pieces)
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    with ProcessPoolExecutor(processes, spawn, _open, (make,)) as pool:
        yield lambda pieces: _in_order(pool, pieces, 2 * processes)


def _in_order(
    pool: ProcessPoolExecutor, pieces: Iterator[Piece], ahead: int
) -> Iterator[list[str]]:
    """Yield the answers in the order of the pieces; no more than ``ahead`` are in memory."""
    waiting = [pool.submit(_work, piece) for piece in islice(pieces, ahead)]
    while waiting:
        yield waiting.pop(0).result()
        waiting += [pool.submit(_work, piece) for piece in islice(pieces, 1)]


def _open(make: Callable[[], Linker]) -> None:
    global _linker
    _linker = _hastened(make)


def _hastened(make: Callable[[], Linker]) -> Linker:
    linker = make()
    linker.dictionary.hasten()
    return linker


def _work(piece: Piece) -> list[str]:
    if _linker is None:
        raise RuntimeError("a worker was not opened")
    return _answers(_linker, piece)


def _resumed(done: Path, out: Path) -> tuple[int, int]:
    """Give how many lines are done and how long the output then was, in bytes."""
    if not done.exists():
        return 0, 0
    try:
        said = json.loads(done.read_text("utf-8"))
        finished, length = int(said["lines"]), int(said["bytes"])
    except (ValueError, KeyError, TypeError) as fault:
        raise UsageError(f"{done} is damaged ({fault!r}): remove it to begin again") from fault
    if not out.exists() or out.stat().st_size < length:
        raise UsageError(f"{out} is shorter than {done} says: remove {done.name} to begin again")
    return finished, length


def _mark(done: Path, lines: int, length: int) -> None:
    partial = done.with_name(done.name + ".part")
    partial.write_text(json.dumps({"lines": lines, "bytes": length}), encoding="utf-8")
    partial.replace(done)
