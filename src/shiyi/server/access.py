"""Who may write: a Bearer token of scope ``write``; nobody else, and few may guess."""

import re
import threading
import time
from collections import OrderedDict
from typing import Final
from uuid import uuid4

from flask import Response, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, TooManyRequests, Unauthorized

from shiyi.server.shares import household
from shiyi.server.site import Site
from shiyi.server.tokens import Token
from shiyi.sparql.updates import Author, Updater

_GUESSES: Final = 20  # wrong tokens from one address
_SECONDS: Final = 60.0  # until that address may try again
_ADDRESSES: Final = 10_000  # remembered
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class Guesses:
    """Counts wrong tokens by address, of IPv6 by household, so that guessing is slow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, address: str | None) -> None:
        """Raise 429 where too many wrong tokens came from there."""
        with self._lock:
            count, last = self._wrong.get(household(address), (0, 0.0))
        wait = last + _SECONDS - time.monotonic()
        if count >= _GUESSES and wait > 0:
            raise TooManyRequests("too many wrong tokens; wait", retry_after=int(wait) + 1)

    def wrong(self, address: str | None) -> None:
        """Count one wrong token."""
        now, home = time.monotonic(), household(address)
        with self._lock:
            count, last = self._wrong.pop(home, (0, 0.0))
            self._wrong[home] = (count + 1 if now - last < _SECONDS else 1, now)
            while len(self._wrong) > _ADDRESSES:
                self._wrong.popitem(last=False)


class Door:
    """Lets writers in, and says who they are."""

    def __init__(self, site: Site) -> None:
        self._writing = site.writing
        self._guesses = Guesses()

    def writer(self, why: str) -> tuple[Updater, Author]:
        """Give what writes and who asks; 401, 403 or 429 for all who may not."""
        if (text := _bearer()) is None:
            raise Unauthorized(
                "reading is free; writing needs a Bearer token (`shiyi token add`)",
                www_authenticate=WWWAuthenticate("bearer", {"realm": "shiyi"}),
            )
        token = self._known(text)
        if "write" not in token.scopes:
            raise Forbidden(f"token {token.name} does not have the scope write")
        if self._writing is None or self._writing.updater is None:
            raise Forbidden(
                "this server takes no writes: it runs with --read-only, or was started before "
                "there was a token; restart it"
            )
        return self._writing.updater, Author(_key(token.name), token.name, why)

    def reader(self) -> tuple[str, bool]:
        """Give who asks, and whether they may see what stays inside: who may write may.

        401 for a token that is wrong, so that nobody takes a part for the whole.
        """
        if (text := _bearer()) is None:
            return household(request.remote_addr), False
        token = self._known(text)
        return f"token {token.name}", "write" in token.scopes

    def _known(self, text: str) -> Token:
        self._guesses.check(request.remote_addr)
        token = self._writing.tokens.find(text) if self._writing else None
        if token is None:
            self._guesses.wrong(request.remote_addr)
            challenge = WWWAuthenticate("bearer", {"realm": "shiyi", "error": "invalid_token"})
            raise Unauthorized("the token is unknown, revoked or expired", None, challenge)
        return token


def _bearer() -> str | None:
    """Give the token a request carries."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() or None if scheme.lower() == "bearer" else None


def keep_apart(response: Response) -> None:
    """Keep what only some may see out of caches that others share."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")


def _key(name: str) -> str:
    """Name the change: as the client did with Idempotency-Key, or by a fresh name."""
    said = request.headers.get("Idempotency-Key", "")
    return f"http:{name}:{said if _KEY.fullmatch(said) else uuid4().hex}"
