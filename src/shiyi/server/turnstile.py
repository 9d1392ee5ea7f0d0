"""How many requests may wait, and for how long: others are told to come again, so that all recover soon.

First those whose address has had more than its share.
"""

from collections.abc import Callable
from typing import Final

from werkzeug.exceptions import ServiceUnavailable, TooManyRequests

from shiyi.server.metrics import Metrics
from shiyi.server.shares import Shares, household

_ALWAYS: Final = ("/healthz", "/metrics", "/static/")  # answered however many wait
_LATE: Final = 5.0  # seconds that a request may have waited for a thread (ours)
_TOLD: Final = {
    "share": (TooManyRequests, "you ask much while others wait; come again soon"),
    "queue": (ServiceUnavailable, "too many requests wait already; come again soon"),
    "late": (ServiceUnavailable, "this request waited too long; come again soon"),
}  # fmt: skip


class Turnstile:
    """Lets requests in, and notes what they took."""

    def __init__(self, metrics: Metrics, most: int) -> None:
        """Let ``most`` requests wait for a thread."""
        self._metrics, self._most, self._shares = metrics, most, Shares()
        self.waiting: Callable[[], int] = lambda: 0  # requests, at this moment
        self.waited: Callable[[], float] = lambda: 0.0  # seconds, of the request of this thread

    def _refuses(self, path: str, address: str | None) -> str:
        """Say why a request may not come in now; nothing where it may."""
        many, is_late = self.waiting(), self.waited() > _LATE
        if (not is_late and many <= self._most // 2) or path.startswith(_ALWAYS):
            return ""
        if is_late:
            return "late"
        if self._shares.greedy(household(address)):
            return "share"
        return "queue" if many > self._most else ""

    def check(self, path: str, address: str | None) -> None:
        """Raise 429 or 503 for a request that may not come in now."""
        if why := self._refuses(path, address):
            self._metrics.event("shed", why)
            kind, said = _TOLD[why]
            raise kind(said)

    def took(
        self, route: str, method: str, status: int, address: str | None, seconds: float
    ) -> None:
        """Count a request that was answered."""
        self._metrics.request(route, method, status, seconds)
        self._shares.took(household(address), seconds)
