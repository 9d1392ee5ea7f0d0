"""How a process of many threads asks the system for memory, and gives it back."""

import ctypes
import gc
import threading
import time
from typing import Final

_ARENAS: Final = -8  # M_ARENA_MAX of malloc.h
_FRESH: Final = (10_000, 20, 20)  # objects, and turns, until Python looks for rings (below)
_OFTEN: Final = 60.0  # seconds


def share_memory() -> None:
    """Let threads share what one of them freed: glibc keeps a heap for each, and gives none back."""
    try:
        ctypes.CDLL(None).mallopt(_ARENAS, 2)
    except (AttributeError, OSError):  # another C library
        return


def settle() -> None:
    """Look for rings of what is new only, and not after each 700 objects.

    To make a page or an answer takes thousands of objects, hardly any in rings; looking for those took
    a sixth of the time of a page (measured). What was opened stays: going through the millions of
    facts would stop an answer for a second.
    """
    gc.freeze()
    gc.set_threshold(*_FRESH)


def give_back(often: float = _OFTEN) -> threading.Thread | None:
    """Give the system the pages of the heap that nobody uses, every so often, from a thread.

    Pages and results of all sizes are kept and let go for as long as a server runs; glibc returns
    only what is free at the end of its heap. None where there is another C library.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None

    def trimmed() -> None:
        while True:
            time.sleep(often)
            trim(0)

    thread = threading.Thread(target=trimmed, name="give-back", daemon=True)
    thread.start()
    return thread
