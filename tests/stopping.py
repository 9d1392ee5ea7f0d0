"""Ending a server that runs in a thread of the test."""

from contextlib import suppress
from typing import Any


def stop(server: Any) -> None:
    """Let a waitress server close itself in its own thread, which may be waiting in poll.

    If that thread was awake, it closes, and the pipe with it, before the byte that would wake it.
    """
    with suppress(OSError):
        server.trigger.pull_trigger(server.close)
