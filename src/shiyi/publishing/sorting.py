"""Sorting more lines than fit into memory: runs on the disk, merged a stretch at a time."""

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import IO, Final

from shiyi.errors import KnowledgeBaseError

_RUN: Final = 1_000_000  # lines sorted at once; some two hundred megabytes
_STRETCH: Final = 1 << 22  # bytes read of each run at once


def sorted_once(
    blocks: Iterable[list[bytes]], run: int = _RUN, stretch: int = _STRETCH, distinct: bool = False
) -> Iterator[bytes]:
    r"""Yield the lines of all blocks in the order of their bytes, each once.

    Memory stays bounded by ``run`` lines, however many there are; the rest waits in files that are
    gone when they are closed. No line may hold a line feed or a carriage return. Where they are to be
    ``distinct``, one that comes twice is a :class:`KnowledgeBaseError`.

    >>> list(sorted_once([[b"b", b"a"], [b"c", b"a"]], run=2))
    [b'a', b'b', b'c']
    """
    files: list[IO[bytes]] = []
    held: list[bytes] = []
    try:
        for block in blocks:
            held += block
            if len(held) >= run:
                files.append(_kept(held))
                held = []
        if files:
            files.append(_kept(held))
        held.sort()
        last = b""
        for part in _merged(files, stretch) if files else [held]:
            once = dict.fromkeys(part)  # in their order
            again = last in once or len(once) < len(part)
            once.pop(last, None)
            if distinct and again:
                raise KnowledgeBaseError(
                    "a store gave a quad twice, so that another may be missing; export again, and run "
                    "`shiyi doctor` if it comes back"
                )
            yield from once
            last = part[-1] if part else last
    finally:
        for file in files:
            file.close()


def _kept(lines: list[bytes]) -> IO[bytes]:
    lines.sort()
    file = tempfile.TemporaryFile()  # noqa: SIM115 # closed by who asked
    lines.append(b"")
    file.write(b"\n".join(lines))
    file.seek(0)
    lines.clear()
    return file


def _merged(files: list[IO[bytes]], stretch: int) -> Iterator[list[bytes]]:
    """Yield sorted stretches, one behind the other.

    As far as the least of what every run has shown, all lines that small are known; sorting them
    is a merge in C, since what is sorted already is left as it is (Python's sort: Peters 2002).
    """
    shown: list[list[bytes]] = [[] for _ in files]
    while True:
        shown = [lines or _read(file, stretch) for lines, file in zip(shown, files, strict=True)]
        bounds = [lines[-1] for lines in shown if lines]
        if not bounds:
            return
        least = min(bounds)
        ready: list[bytes] = []
        for place, lines in enumerate(shown):
            cut = bisect_right(lines, least)
            ready += lines[:cut]
            shown[place] = lines[cut:]
        ready.sort()
        yield ready


def _read(file: IO[bytes], stretch: int) -> list[bytes]:
    read = file.read(stretch)
    if read and not read.endswith(b"\n"):
        read += file.readline()
    return read.splitlines()
