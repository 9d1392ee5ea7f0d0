"""What was answered is answered again, before anything else looks at the request.

Only what is the same for all who ask alike until the base changes, which whoever answers says by
:func:`lasts`. It is counted and dressed as any other; the word for scripts is made anew. However many
wait, it is given: to tell who asks to come again would take thirty times as long.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Response, g, request

from shiyi.model.tally import TALLY
from shiyi.server.policy import POLICY, new_word, policy
from shiyi.server.turnstile import Turnstile

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MOST: Final = 24 << 20  # bytes of all answers
_LARGEST: Final = 1 << 18  # bytes of one
_BESIDE: Final = 2500  # bytes that one takes beside its body, its head above all
_ALIKE: Final = (  # with where it came to, which an answer's addresses may name
    "PATH_INFO", "QUERY_STRING", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING", "HTTP_ACCEPT_LANGUAGE",
    "HTTP_COOKIE", "HTTP_HOST", "SCRIPT_NAME", "wsgi.url_scheme",
)  # fmt: skip
_OTHERWISE: Final = (
    "HTTP_AUTHORIZATION", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE",
    "HTTP_RANGE",
)  # fmt: skip
_COOKIES: Final = frozenset({"", "lang=zh", "lang=en"})
_OF_EACH: Final = frozenset({POLICY, "Server-Timing", "Date"})
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    version: int
    route: str
    is_page: bool
    head: tuple[tuple[str, str], ...]
    body: bytes


class Again:
    """Stands before an application."""

    def __init__(
        self, app: "WSGIApplication", turnstile: Turnstile, version: Callable[[], int]
    ) -> None:  # fmt: skip
        """Keep answers as long as ``version`` says the same."""
        self._app, self._turnstile, self._version = app, turnstile, version
        self.held, self._lock = 0, threading.Lock()
        self._answers: OrderedDict[Key, _Answer] = OrderedDict()

    def __call__(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        """Answer as before, or let the application answer."""
        began, key = time.perf_counter(), _key(environ)
        found = self._find(key) if key else None
        if found is None:
            return self._app(environ, start)
        TALLY.add("cache_hits", "answers")
        seconds = time.perf_counter() - began
        head = [
            *found.head,
            (POLICY, policy(new_word() if found.is_page else "")),
            ("Server-Timing", f"app;dur={seconds * 1000:.1f}"),
        ]
        start("200 OK", head)
        self._turnstile.took(found.route, "GET", 200, environ.get("REMOTE_ADDR"), seconds)
        return (found.body,)

    def keep(self, response: Response) -> None:
        """Keep the answer to this request, if it will be the same for who asks alike."""
        version, key = g.get("lasts"), _key(request.environ)
        if version is None or key is None or response.status_code != 200 or response.is_streamed:
            return
        head = tuple(
            (name, value) for name, value in response.get_wsgi_headers(request.environ)
            if name not in _OF_EACH
        )  # fmt: skip
        rule = request.url_rule.rule if request.url_rule else ""
        is_page = response.mimetype == "text/html"
        made = _Answer(version, rule, is_page, head, response.get_data())
        if len(made.body) > _LARGEST:
            return
        with self._lock:
            self._drop(key)
            self._answers[key] = made
            self.held += _size(key, made)
            while self.held > MOST:
                self._drop(next(iter(self._answers)))

    def _find(self, key: Key) -> _Answer | None:
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                return None
            if found.version != self._version():
                self._drop(key)
                return None
            self._answers.move_to_end(key)
            return found

    def _drop(self, key: Key) -> None:
        if gone := self._answers.pop(key, None):
            self.held -= _size(key, gone)


def lasts(version: int) -> None:
    """Say of the answer to this request that who asks alike gets the same, at this version of the base."""
    g.lasts = version


def _key(environ: "WSGIEnvironment") -> Key | None:
    """Give what those who ask alike have in common; None where that says too little."""
    if environ["REQUEST_METHOD"] != "GET" or environ.get("HTTP_COOKIE", "") not in _COOKIES:
        return None
    if any(name in environ for name in _OTHERWISE):
        return None
    return tuple([environ.get(name, "") for name in _ALIKE])


def _size(key: Key, answer: _Answer) -> int:
    return len(answer.body) + sum(map(len, key)) + _BESIDE
