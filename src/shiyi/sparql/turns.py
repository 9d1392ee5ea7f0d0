"""Who gets a worker next: short queries soon, long ones in seats that are shared out.

Nobody says beforehand how long a query will take, so each begins alike. One that runs on past a
moment needs a seat, and there is one seat less than there are workers: some worker is always soon
free. What an asker's long queries take is held against it, and forgiven with time. Who owes much
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
_ENDED: Final = 0.5  # seconds held against who ends a worker: about what another costs
_MODEST: Final = 3.0  # seconds that an asker may owe and still count as modest
_MOST_OWED: Final = 60.0  # seconds; more is not held against anybody
_FORGIVEN: Final = 0.25  # seconds of debt in a second
_REMEMBERED: Final = 10_000  # askers

Held = TypeVar("Held")


@dataclass(slots=True)
class _Asker:
    """What one asker has under way, and owes since ``at``."""

    running: int = 0
    waiting: int = 0
    seats: int = 0
    owed: float = 0.0
    at: float = 0.0

    def owes(self, now: float) -> float:
        """Give the seconds held against the asker."""
        return max(0.0, self.owed - _FORGIVEN * (now - self.at))


@dataclass(eq=False, slots=True)
class _Ticket(Generic[Held]):
    """One that waits; ``held`` is what it got."""

    asker: _Asker
    number: int
    held: Held | None = None


class Turns(Generic[Held]):
    """Gives out the things put in; an asker is any text, the empty one being nobody in particular."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        """Share out ``most`` things."""
        self._seats, self._alone = max(1, most - 1), most == 1
        self._now, self._changed = now, threading.Condition()
        self._free: list[Held] = []
        self._line: list[_Ticket[Held]] = []
        self._seated = self._number = 0
        self._askers: OrderedDict[str, _Asker] = OrderedDict()

    def put(self, thing: Held) -> None:
        """Let a thing be taken."""
        with self._changed:
            self._free.append(thing)
            self._share_out()

    def take(self, asker: str, seconds: float) -> Held:
        """Wait for a thing; QueryLimitError where none came, or the asker waits for enough."""
        with self._changed:
            who = self._known(asker)
            if asker and self._owes_much(who):
                if who.waiting:
                    raise _shared()
                if self._waiting_much() >= self._seats:
                    raise busy()
            self._number += 1
            ticket: _Ticket[Held] = _Ticket(who, self._number)
            self._line.append(ticket)
            who.waiting += 1
            self._share_out()
            self._changed.wait_for(lambda: ticket.held is not None, seconds)
            who.waiting -= 1
            if ticket.held is None:
                self._line.remove(ticket)
                raise busy()
            return ticket.held

    def owes_much(self, asker: str) -> bool:
        """Tell whether an asker's long queries took so much lately that others come first."""
        with self._changed:
            return bool(asker) and self._owes_much(self._known(asker))

    def left(self, asker: str, took: float, ended: bool) -> None:
        """Note that an asker's query is over after some seconds, and whether it ended its worker."""
        with self._changed:
            who, now = self._known(asker), self._now()
            who.running -= 1
            if asker and (took > MOMENT or ended):  # nobody in particular owes nothing
                who.owed = min(_MOST_OWED, who.owes(now) + took + (_ENDED if ended else 0.0))
                who.at = now
            self._share_out()

    def sit(self, asker: str) -> None:
        """Take a seat for a long query; QueryLimitError where there is none for the asker."""
        with self._changed:
            who = self._known(asker)
            if self._seated >= self._seats:
                raise QueryLimitError(
                    "busy",
                    "as many long queries run as may at once; try again later, or ask for less",
                )
            if asker and who.seats and who.seats >= self._seats // 2:
                raise _shared()
            who.seats += 1
            self._seated += 1

    def rise(self, asker: str) -> None:
        """Give the seat back."""
        with self._changed:
            self._known(asker).seats -= 1
            self._seated -= 1

    def _share_out(self) -> None:
        """Give what is free to who runs least, owes least and came first."""
        while self._free and self._line:
            now = self._now()
            able = [each for each in self._line if self._may(each.asker, now)]
            if not able:
                return
            first = min(able, key=lambda t: (t.asker.running, t.asker.owes(now), t.number))
            self._line.remove(first)
            first.held = self._free.pop()
            first.asker.running += 1
            self._changed.notify_all()

    def _may(self, who: _Asker, now: float) -> bool:
        if self._alone or who.owes(now) <= _MODEST:
            return True
        return not who.running and len(self._free) > 1

    def _owes_much(self, who: _Asker) -> bool:
        return who.owes(self._now()) > _MODEST

    def _waiting_much(self) -> int:
        return sum(self._owes_much(ticket.asker) for ticket in self._line)

    def _known(self, asker: str) -> _Asker:
        who = self._askers.setdefault(asker, _Asker())
        self._askers.move_to_end(asker)
        if len(self._askers) > _REMEMBERED:
            for name, each in self._askers.items():  # the one not seen for longest
                if not (each.running or each.waiting):
                    del self._askers[name]
                    break
        return who


def busy() -> QueryLimitError:
    """Say that no worker was free for most of a query's time."""
    return QueryLimitError("busy", "all query workers were busy for too long; try again later")


def _shared() -> QueryLimitError:
    return QueryLimitError(
        "share", "your long queries take your share of the workers; wait until one is done"
    )
