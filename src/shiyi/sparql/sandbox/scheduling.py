"""Fair scheduling of workers between clients.

Nobody says beforehand how long a query will take, so each begins alike. One that runs on past a
moment needs a seat, and there is one seat less than there are workers: some worker is always soon
free. The time of a client's long queries is charged to it and forgiven gradually. A client in debt
runs one query at a time, lets another wait, and never takes the last free worker.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from shiyi.errors import QueryLimitError

MOMENT: Final = 0.5  # seconds that any query may run without a seat
_ENDED: Final = 0.5  # seconds charged for a killed worker: about the cost of a new one
_MODEST: Final = 3.0  # seconds that an asker may owe and still count as modest
_MOST_OWED: Final = 60.0  # seconds; the debt of a client is capped here
_FORGIVEN: Final = 0.25  # seconds of debt in a second
_REMEMBERED: Final = 10_000  # askers

Thing = TypeVar("Thing")


@dataclass(slots=True)
class _Asker:
    """The running queries of one asker, and its debt since ``at``."""

    running: int = 0
    waiting: int = 0
    seats: int = 0
    owed: float = 0.0
    at: float = 0.0

    def debt(self, now: float) -> float:
        """Return the debt of the client, in seconds."""
        return max(0.0, self.owed - _FORGIVEN * (now - self.at))


@dataclass(eq=False, slots=True)
class _Ticket(Generic[Thing]):
    """One that waits; ``thing`` is what it got."""

    asker: _Asker
    number: int
    thing: Thing | None = None


class WorkerScheduler(Generic[Thing]):
    """A fair scheduler of workers; an asker is any text, the empty one stands for nobody."""

    def __init__(self, limit: int, now: Callable[[], float] = time.monotonic) -> None:
        """Schedule ``limit`` workers."""
        self._seats, self._alone = max(1, limit - 1), limit == 1
        self._now, self._changed = now, threading.Condition()
        self._free: list[Thing] = []
        self._line: list[_Ticket[Thing]] = []
        self._seated = self._number = 0
        self._askers: OrderedDict[str, _Asker] = OrderedDict()

    def release(self, thing: Thing) -> None:
        """Return a thing to the scheduler."""
        with self._changed:
            self._free.append(thing)
            self._share_out()

    def acquire(self, asker: str, seconds: float) -> Thing:
        """Wait for a thing; QueryLimitError where none came, or the asker waits for enough."""
        with self._changed:
            who = self._asker_of(asker)
            if asker and self._is_over_quota(who):
                if who.waiting:
                    raise _share_error()
                if self._waiting_much() >= self._seats:
                    raise busy()
            self._number += 1
            ticket: _Ticket[Thing] = _Ticket(who, self._number)
            self._line.append(ticket)
            who.waiting += 1
            self._share_out()
            self._changed.wait_for(lambda: ticket.thing is not None, seconds)
            who.waiting -= 1
            if ticket.thing is None:
                self._line.remove(ticket)
                raise busy()
            return ticket.thing

    def is_over_quota(self, asker: str) -> bool:
        """Return whether an asker's long queries took so much lately that others come first."""
        with self._changed:
            return bool(asker) and self._is_over_quota(self._asker_of(asker))

    def charge(self, asker: str, took: float, ended: bool) -> None:
        """Charge an asker for the seconds of a query, and for the worker that it ended."""
        with self._changed:
            who, now = self._asker_of(asker), self._now()
            who.running -= 1
            if asker and (took > MOMENT or ended):  # the empty asker owes nothing
                who.owed = min(_MOST_OWED, who.debt(now) + took + (_ENDED if ended else 0.0))
                who.at = now
            self._share_out()

    def acquire_long_slot(self, asker: str) -> None:
        """Acquire a seat for a long query; QueryLimitError where there is none for the asker."""
        with self._changed:
            who = self._asker_of(asker)
            if self._seated >= self._seats:
                raise QueryLimitError(
                    "busy",
                    "as many long queries run as may at once; try again later, or ask for less",
                )
            if asker and who.seats and who.seats >= self._seats // 2:
                raise _share_error()
            who.seats += 1
            self._seated += 1

    def release_long_slot(self, asker: str) -> None:
        """Release a seat for long queries."""
        with self._changed:
            self._asker_of(asker).seats -= 1
            self._seated -= 1

    def _share_out(self) -> None:
        """Assign free workers: fewest running queries first, then least debt, then arrival."""
        while self._free and self._line:
            now = self._now()
            able = [ticket for ticket in self._line if self._may(ticket.asker, now)]
            if not able:
                return
            first = min(able, key=lambda t: (t.asker.running, t.asker.debt(now), t.number))
            self._line.remove(first)
            first.thing = self._free.pop()
            first.asker.running += 1
            self._changed.notify_all()

    def _may(self, asker: _Asker, now: float) -> bool:
        if self._alone or asker.debt(now) <= _MODEST:
            return True
        return not asker.running and len(self._free) > 1

    def _is_over_quota(self, asker: _Asker) -> bool:
        return asker.debt(self._now()) > _MODEST

    def _waiting_much(self) -> int:
        return sum(self._is_over_quota(ticket.asker) for ticket in self._line)

    def _asker_of(self, asker: str) -> _Asker:
        who = self._askers.setdefault(asker, _Asker())
        self._askers.move_to_end(asker)
        if len(self._askers) > _REMEMBERED:
            for name, each in self._askers.items():  # the one not seen for longest
                if not (each.running or each.waiting):
                    del self._askers[name]
                    break
        return who


def busy() -> QueryLimitError:
    """State that no worker was free for most of a query's time."""
    return QueryLimitError("busy", "all query workers were busy for too long; try again later")


def _share_error() -> QueryLimitError:
    return QueryLimitError(
        "share", "your long queries take your share of the workers; wait until one is done"
    )
