"""What the processes of a server take of memory, and whether that grows.

Anonymous memory is what a process has for itself: its heap, native or Python's. Mapped memory are the
files of the base that it reads through the system's cache, which takes them back when it needs room;
it grows until all has been read, and is counted apart.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import psutil

_MIB: Final = 1024  # KiB
_NORMAL: Final = 1.96  # standard errors of 95 %


@dataclass(frozen=True, slots=True)
class Footprint:
    """MiB of anonymous and of mapped memory by kind of process, and the descriptors of all servers."""

    anonymous: dict[str, float]
    mapped: float
    descriptors: int

    @property
    def server(self) -> float:
        """Return the anonymous memory of what answers; query workers are replaced all the time."""
        return sum(size for kind, size in self.anonymous.items() if kind != "workers")

    def figures(self) -> dict[str, float]:
        """Return whole MiB, and descriptors."""
        kinds = {f"{kind}_mib": round(size, 1) for kind, size in self.anonymous.items()}
        return {**kinds, "mapped_mib": round(self.mapped), "descriptors": self.descriptors}


def footprint(writer: psutil.Process, readers: Sequence[psutil.Process]) -> Footprint:
    """Return the sizes of the process that writes, those that read, and all their workers."""
    found = Footprint({"writer": 0.0, "readers": 0.0, "workers": 0.0}, 0.0, 0)
    anonymous, mapped, descriptors = found.anonymous, 0.0, 0
    for top, kind in ((writer, "writer"), *((reader, "readers") for reader in readers)):
        for process in (top, *top.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                works = (
                    "shiyi.sparql.sandbox.worker" in process.cmdline()
                )  # one may just be replaced
                own, files = _sizes(process.pid)
                anonymous["workers" if works else kind] += own
                mapped += files
                descriptors += 0 if works else process.num_fds()
    return Footprint(anonymous, mapped, descriptors)


def _sizes(pid: int) -> tuple[float, float]:
    """Return the resident MiB of a process: anonymous, and of files; ProcessLookupError where it is gone."""
    with open(f"/proc/{pid}/status", encoding="ascii") as text:  # noqa: PTH123 - no file of a folder
        values = dict(line.split(":", 1) for line in text if line.startswith("Rss"))
    size = {name: int(value.split()[0]) / _MIB for name, value in values.items()}
    if not size:  # it has just ended
        raise ProcessLookupError
    return size["RssAnon"], size["RssFile"] + size["RssShmem"]


@dataclass(frozen=True, slots=True)
class Growth:
    """How fast something grew, by a straight line, and how sure that is."""

    per_hour: float
    error: float  # of 95 %

    @property
    def figures(self) -> dict[str, float]:
        """Return the slope and the ends of its interval."""
        return {
            "mib_per_hour": round(self.per_hour, 1),
            "from": round(self.per_hour - self.error, 1),
            "to": round(self.per_hour + self.error, 1),
        }


def growth(seconds: Sequence[float], sizes: Sequence[float]) -> Growth:
    """Fit a line by least squares; what follows each other is alike and counts for less.

    The residuals' autocorrelation r at lag one leaves n(1 - r)/(1 + r) independent values of n
    (Santer et al. 2000, J. Geophys. Res. 105, 7337). ValueError of fewer than three values.
    """
    many = len(sizes)
    if many < 3:
        raise ValueError("a slope needs three values")
    middle, level = sum(seconds) / many, sum(sizes) / many
    spread = sum((at - middle) ** 2 for at in seconds)
    slope = sum((at - middle) * size for at, size in zip(seconds, sizes, strict=True)) / spread
    left = [size - level - slope * (at - middle) for at, size in zip(seconds, sizes, strict=True)]
    squares = sum(each * each for each in left)
    alike = sum(one * other for one, other in pairwise(left)) / squares if squares else 0.0
    alike = min(max(alike, 0.0), 0.99)
    free = max(many * (1 - alike) / (1 + alike), 3.0) - 2
    return Growth(slope * 3600, _NORMAL * math.sqrt(squares / free / spread) * 3600)


def grown(seconds: Sequence[float], sizes: Sequence[float], since: float = 300.0) -> float | None:
    """Return the share by which a size rose after ``since``: the mean of the last tenth over a tenth from then.

    None where the run was hardly longer than that.
    """
    rest = [size for at, size in zip(seconds, sizes, strict=True) if at >= since]
    tenth = len(rest) // 10
    if not tenth:
        return None
    return _mean(rest[-tenth:]) / _mean(rest[:tenth]) - 1


def _mean(sizes: Iterable[float]) -> float:
    sizes = list(sizes)
    return sum(sizes) / len(sizes)
