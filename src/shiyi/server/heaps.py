"""How a process of many threads asks the system for memory."""

import ctypes
from typing import Final

_ARENAS: Final = -8  # M_ARENA_MAX of malloc.h


def share_memory() -> None:
    """Let threads share what one of them freed: glibc keeps a heap for each, and gives none back."""
    try:
        ctypes.CDLL(None).mallopt(_ARENAS, 2)
    except (AttributeError, OSError):  # another C library
        return
