"""Guessing a password is slow: an account and an address rest after too many wrong tries."""

import threading
import time
from collections import OrderedDict
from typing import Final

from werkzeug.exceptions import TooManyRequests

from shiyi.server.shares import household

TRIES: Final = 8  # wrong ones of one account, or from one address of eight times as many
MINUTES: Final = 15  # until another try is heard
_REMEMBERED: Final = 20_000


class Lockout:
    """Counts wrong tries by name and by address, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, name: str, address: str) -> None:
        """Raise 429 while the account or the address rests; right passwords are not heard then."""
        now = time.monotonic()
        with self._lock:
            for key, most in ((f"n {name}", TRIES), (f"a {household(address)}", 8 * TRIES)):
                count, last = self._wrong.get(key, (0, 0.0))
                wait = last + MINUTES * 60 - now
                if count >= most and wait > 0:
                    raise TooManyRequests(
                        f"too many wrong tries; wait {MINUTES} minutes", retry_after=int(wait) + 1
                    )

    def wrong(self, name: str, address: str) -> None:
        """Count one wrong try."""
        now = time.monotonic()
        with self._lock:
            for key in (f"n {name}", f"a {household(address)}"):
                count, last = self._wrong.pop(key, (0, 0.0))
                self._wrong[key] = (count + 1 if now - last < MINUTES * 60 else 1, now)
            while len(self._wrong) > _REMEMBERED:
                self._wrong.popitem(last=False)

    def right(self, name: str) -> None:
        """Forget the wrong tries of an account that signed in."""
        with self._lock:
            self._wrong.pop(f"n {name}", None)
