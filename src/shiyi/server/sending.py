"""An answer leaves in one piece, from the thread that made it.

waitress puts every answer in a buffer that its main thread looks at too. Where one thread sends,
the other finds bytes waiting and a lock that is taken, and turns round until it is free: four
fifths of the processor's time of a busy server (measured). Here the buffer is for what the socket
does not take at once.
"""

import threading
import time
from typing import Any, Final

from typing_extensions import override
from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, Task, WSGITask

_TAKEN = threading.local()
_JOINED: Final = 1 << 16  # bytes of a part that goes with the head; a longer one is not copied


class _HeadWithBody(Task):  # type: ignore[misc] # waitress has no types
    """Lets the head of an answer wait for the first part of its body."""

    @override
    def build_response_header(self) -> bytes:
        self.channel.head = super().build_response_header()
        return b""

    @override
    def finish(self) -> None:
        super().finish()
        self.channel.send_head()  # of an answer without a body


class _Answer(_HeadWithBody, WSGITask):  # type: ignore[misc]
    pass


class _Refusal(_HeadWithBody, ErrorTask):  # type: ignore[misc]
    pass


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection that sends at once what can be sent."""

    task_class, error_task_class = _Answer, _Refusal
    head = b""  # of an answer whose body has not begun
    asked = 0.0  # when its client last said something, on the steady clock

    @override
    def received(self, data: bytes) -> bool:
        """Take in what a client says."""
        self.asked = time.monotonic()
        return bool(super().received(data))

    @override
    def service(self) -> None:
        """Answer a request, from a thread."""
        _TAKEN.waited = time.monotonic() - self.asked
        super().service()

    @staticmethod
    def waited() -> float:
        """Give the seconds that the request of this thread waited for it."""
        return float(getattr(_TAKEN, "waited", 0.0))

    @override
    def write_soon(self, data: Any) -> int:
        """Send ``data`` after the head that waits, and keep what the client does not take yet."""
        asked = len(data)
        if asked:  # waitress writes a head before the body, and the one that waits is none yet
            if isinstance(data, bytes) and asked <= _JOINED:
                head, self.head = self.head, b""
                data = head + data
            else:
                self.send_head()
            self._send_or_keep(data)
        return asked

    def send_head(self) -> None:
        """Send the head that waits, if one does."""
        head, self.head = self.head, b""
        if head:
            self._send_or_keep(head)

    def _send_or_keep(self, data: Any) -> None:
        if isinstance(data, bytes):
            with self.outbuf_lock:
                if self.connected and not self.total_outbufs_len:
                    data = data[self._taken(data) :]
        if data:
            super().write_soon(data)

    def _taken(self, data: bytes) -> int:
        """Give how many bytes the socket takes; faults are left to who sends the rest."""
        try:
            return int(self.send(data, do_close=False))
        except OSError:
            return 0
