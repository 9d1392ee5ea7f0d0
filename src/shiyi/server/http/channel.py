"""The connection of a client to waitress."""

from typing_extensions import override
from waitress.channel import HTTPChannel


class Channel(HTTPChannel):  # type: ignore[misc] # waitress has no types
    """A channel where the main loop waits for a thread that sends.

    The stock one only tries the lock and polls. That is a busy loop, which holds the lock of
    the interpreter while the thread needs it to go on, for 5 ms each time.
    """

    @override
    def _flush_some_if_lockable(self, do_close: bool = True) -> None:
        with self.outbuf_lock:
            super()._flush_some_if_lockable(do_close)
