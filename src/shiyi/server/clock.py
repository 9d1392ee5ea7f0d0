"""The time that rights end by: it never runs backwards while a process lives."""

import time
from typing import Final

SKEW: Final = 300.0  # seconds that another process' clock may be ahead

_BEGAN = time.time(), time.monotonic()


def now() -> float:
    """Give seconds since 1970; where the clock on the wall was turned back, those that went by.

    So a token or a session that has ended does not begin again. What was ahead of the time when
    this process began stays ahead until the next start.
    """
    wall, steady = _BEGAN
    return max(time.time(), wall + time.monotonic() - steady)
