"""Who is slow to ask or to listen gives the place up to others; times are of the steady clock.

waitress reads requests without a thread, so slow clients only take places among the connections. It
lets silent ones go after two minutes by the clock on the wall, and one that sends a letter a minute
never. Here a request has to be whole in time, and sooner where places are short.
"""

import resource
import time
from dataclasses import dataclass
from typing import Any, Final

MOST: Final = 512  # connections; a quarter of the descriptors where those are fewer
_EVERY: Final = 0.5  # seconds between looks
CROWDED: Final = 0.75  # share of the places, beyond which patience is short


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a connection may take for each thing."""

    silent: float = 90.0  # before a request begins; a proxy keeps its connections for 60
    head: float = 10.0  # until the head of a request is whole
    body: float = 120.0  # until its body is
    listening: float = 30.0  # without taking anything of an answer


CALM, SHORT = Patience(), Patience(1.5, 1.5, 5.0, 5.0)


def places() -> int:
    """Give how many connections there may be, so that the store and workers find descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(8, min(MOST, soft // 4))


class Doorkeeper:
    """Looks through the connections of a waitress server now and then."""

    def __init__(self, server: Any) -> None:
        self._server, self._next = server, 0.0
        self._seen: dict[Any, tuple[object, float]] = {}
        self._readable = server.readable
        server.readable = self.readable  # asked before each wait for sockets

    def readable(self) -> bool:
        """Look through the connections where it is time; then answer as the server would."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self.look(now)
        return bool(self._readable())

    def look(self, now: float) -> int:
        """Let go who took too long at ``now``; give how many."""
        server, gone = self._server, 0
        channels = list(server.active_channels.values())
        crowded = len(channels) > CROWDED * server.adj.connection_limit
        allowed = SHORT if crowded else CALM
        seen: dict[Any, tuple[object, float]] = {}
        for channel in channels:
            state, most = _state(channel, allowed)
            before, since = self._seen.get(channel, (None, now))
            seen[channel] = state, since if before == state else now
            if now - seen[channel][1] > most:
                channel.will_close = True
                gone += 1
        self._seen = seen
        return gone


def _state(channel: Any, allowed: Patience) -> tuple[object, float]:
    """Say what a connection is at, equal as long as it is at the same, and how long it may be."""
    if channel.total_outbufs_len:
        return ("listening", channel.last_activity), allowed.listening
    if channel.requests:
        return "served", float("inf")
    asked = channel.request
    if asked is None:
        return ("silent", channel.last_activity), allowed.silent
    finished = bool(asked.headers_finished)
    return ("asking", asked, finished), allowed.body if finished else allowed.head
