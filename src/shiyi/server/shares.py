"""In a crowd nobody gets much more than an equal share of the server's time."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

_WINDOW: Final = 2.0  # seconds; this and the one before are looked at
_MUCH: Final = 1.5  # times an equal share
_LITTLE: Final = 0.5  # seconds of work that nobody is blamed for
_HOUSE: Final = 64  # bits of an IPv6 address that one household has


@lru_cache(maxsize=4096)
def household(address: str | None) -> str:
    """Give what stands for everybody at an address: itself, of IPv6 its network.

    >>> household("2001:db8:0:1:aaaa::1"), household("192.0.2.7"), household(None)
    ('2001:db8:0:1::/64', '192.0.2.7', '')
    """
    try:
        known = ip_address(address or "")
    except ValueError:
        return address or ""
    if not isinstance(known, IPv6Address):
        return str(known)
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    network = IPv6Address(int(known) >> _HOUSE << _HOUSE)
    return f"{network}/{_HOUSE}"


class Shares:
    """Adds up the seconds of work that each household caused lately."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._began = now()
        self._last, self._this = defaultdict[str, float](float), defaultdict[str, float](float)

    def took(self, who: str, seconds: float) -> None:
        """Note the work of one request."""
        with self._lock:
            self._turn_over()
            self._this[who] += seconds

    def greedy(self, who: str) -> bool:
        """Tell whether ``who`` had clearly more than an equal share of the last seconds."""
        with self._lock:
            self._turn_over()
            mine = self._last.get(who, 0.0) + self._this.get(who, 0.0)
            if mine <= _LITTLE:
                return False
            total = sum(self._last.values()) + sum(self._this.values())
            return mine > _MUCH * total / len(self._last.keys() | self._this.keys())

    def _turn_over(self) -> None:
        passed = self._now() - self._began
        if passed >= _WINDOW:
            self._last = self._this if passed < 2 * _WINDOW else defaultdict(float)
            self._this = defaultdict(float)
            self._began += passed // _WINDOW * _WINDOW
