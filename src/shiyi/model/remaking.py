"""Indexes that must be made anew while a base is opened: who waits is told for what, and how long."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LOG: Final = logging.getLogger("shiyi")
_SHORT, _EVERY = 2.0, 10.0  # seconds: what is not worth a word, and between two words (ours)


@contextmanager
def made_anew(what: str, why: object = "") -> Iterator[None]:
    """Say what is made anew, how it comes along and how long it took, where that takes seconds."""
    began, ended, told = time.monotonic(), threading.Event(), threading.Event()

    def tell() -> None:
        wait = _SHORT
        while not ended.wait(wait):
            so_far = f", {time.monotonic() - began:.0f} s so far" if told.is_set() else ""
            reason = "" if told.is_set() or not why else f" ({why})"
            _LOG.warning("making %s anew, for this process alone%s%s", what, reason, so_far)
            told.set()
            wait = _EVERY

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        if told.is_set():
            _LOG.warning(
                "made %s in %.0f s; `shiyi index` writes what all can open",
                what, time.monotonic() - began,
            )  # fmt: skip
