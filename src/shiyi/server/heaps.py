"""How a process of many threads asks the system for memory, and gives it back."""

import ctypes
import threading
import time
from typing import Final

_ARENAS: Final = -8  # M_ARENA_MAX of malloc.h
_OFTEN: Final = 60.0  # seconds


def share_memory() -> None:
    """Let threads share what one of them freed: glibc keeps a heap for each, and gives none back."""
    try:
        ctypes.CDLL(None).mallopt(_ARENAS, 2)
    except (AttributeError, OSError):  # another C library
        return


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
