"""Rate limits for each client network: wrong tokens, sign-ins and floods are refused with 429."""

import threading
import time
from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from cachetools import TTLCache
from werkzeug.exceptions import TooManyRequests

FAILURES: Final = 20  # wrong tokens from one network
SECONDS: Final = 60.0  # until that network may retry
_KEYS: Final = 20_000  # that one throttle remembers
_NETWORK_BITS: Final = 64  # of an IPv6 address, that one household or company has


@lru_cache(maxsize=4096)
def client_network(address: str | None) -> str:
    """Return what stands for one client: its IPv4 address, or its network of IPv6.

    >>> client_network("2001:db8:0:1:aaaa::1"), client_network("192.0.2.7"), client_network(None)
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
    network = IPv6Address(int(known) >> _NETWORK_BITS << _NETWORK_BITS)
    return f"{network}/{_NETWORK_BITS}"


class Throttle:
    """Counts what one client does, in memory, so that guessing and flooding are slow.

    The count of a key ends ``seconds`` after the last that was added.
    """

    def __init__(self, seconds: float, message: str = "") -> None:
        self._lock, self._seconds, self._message = threading.Lock(), seconds, message
        self._counts: TTLCache[Hashable, tuple[int, float]] = TTLCache(
            _KEYS, seconds, time.monotonic
        )

    def check(self, key: Hashable, limit: int) -> None:
        """Raise 429 where ``limit`` were added of that key."""
        with self._lock:
            count, last = self._counts.get(key, (0, 0.0))
        if count >= limit:
            wait = int(last + self._seconds - time.monotonic()) + 1
            text = self._message or f"too many wrong tries; wait {wait} seconds"
            raise TooManyRequests(text, retry_after=wait)

    def add(self, *keys: Hashable) -> None:
        """Count once for each key."""
        with self._lock:
            for key in keys:
                count = self._counts.get(key, (0, 0.0))[0]
                self._counts[key] = count + 1, time.monotonic()

    def forget(self, key: Hashable) -> None:
        """Reset the count of a key."""
        with self._lock:
            self._counts.pop(key, None)
