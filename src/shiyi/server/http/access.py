"""Bearer tokens and scopes."""

import hashlib
import re
from typing import Final
from uuid import uuid4

from flask import Response, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import BadRequest, Forbidden, Unauthorized
from werkzeug.exceptions import NotImplemented as Unsupported

from shiyi.server.http.rate_limit import FAILURES, SECONDS, Throttle, client_network
from shiyi.server.site.site import Site
from shiyi.server.site.tokens import WRITING, Token, Tokens
from shiyi.sparql.updates.update import Author, Updater

_HEADER: Final = "Idempotency-Key"
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


class Authenticator:
    """Identifies clients by their bearer tokens, and what their scopes allow."""

    def __init__(self, site: Site) -> None:
        self._writing = site.writing
        self._failures = Throttle(SECONDS)

    def writer(self, reason: str) -> tuple[Updater, Author]:
        """Return the updater and the author of a change; raise 401, 403 or 429."""
        if (text := _bearer()) is None:
            raise Unauthorized(
                "reading is free; writing needs a Bearer token (`shiyi token add`)",
                www_authenticate=WWWAuthenticate("bearer", {"realm": "shiyi"}),
            )
        token = self._find_token(text)
        if WRITING.isdisjoint(token.scopes):
            raise Forbidden(f"token {token.name} does not have the scope write")
        if self._writing is not None and self._writing.remote:
            raise Unsupported(
                "this base lies in a remote store, where updates and uploads over HTTP are not "
                "implemented; use `shiyi ingest` or the curation pages"
            )
        if self._writing is None or self._writing.updater is None:
            raise Forbidden(
                "this server is read-only: it runs with --read-only, or was started before "
                "there was a token; restart it"
            )
        return self._writing.updater, Author(
            request_key(f"http:{token.name}") or f"http:{token.name}:{uuid4().hex}",
            token.name,
            reason,
            request_digest(),
            "maintain" in token.scopes,
        )

    def reader(self) -> tuple[str, bool]:
        """Return the client's name, and whether it may read restricted sources: writers may.

        Raise 401 for a wrong token, rather than answer with less than was asked for.
        """
        if (text := _bearer()) is None:
            return client_network(request.remote_addr), False
        token = self._find_token(text)
        return f"token {token.name}", not WRITING.isdisjoint(token.scopes)

    def _find_token(self, text: str) -> Token:
        return find_token(text, self._writing.tokens if self._writing else None, self._failures)


def find_token(text: str, tokens: Tokens | None, failures: Throttle) -> Token:
    """Return the token of a text; 401 for a wrong one, 429 after many of them from one network.

    A right one waits for nobody's wrong ones, since 256 random bits are not guessed.
    """
    if token := tokens.find(text) if tokens and text else None:
        return token
    network = client_network(request.remote_addr)
    failures.check(network, FAILURES)
    failures.add(network)
    challenge = WWWAuthenticate("bearer", {"realm": "shiyi", "error": "invalid_token"})
    raise Unauthorized("the token is unknown, revoked or expired", None, challenge)


def _bearer() -> str | None:
    """Return the token a request carries."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() or None if scheme.lower() == "bearer" else None


def mark_private(response: Response) -> None:
    """Keep a response that depends on the token out of shared caches."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")


def request_key(client: str) -> str:
    """Return the key that a client gives its request, empty for none; 400 for a malformed one."""
    key = request.headers.get(_HEADER)
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        raise BadRequest(f"{_HEADER} is 1 to 200 printable ASCII characters without a space")
    return f"{client}:{key}"


def request_digest() -> str:
    """Return the SHA-256 of a request under an idempotency key; else an empty text.

    Of a form with files their types and contents count, not the boundary, which is random.
    """
    if _HEADER not in request.headers:
        return ""
    digest = hashlib.sha256(f"{request.method} {request.full_path}".encode())
    body = request.get_data(cache=True)
    if request.mimetype != "multipart/form-data":
        parts = [(request.mimetype, body)]
    else:
        files = [item for _, item in request.files.items(multi=True)]
        parts = [(item.mimetype, item.read()) for item in files]
        for file in files:
            file.seek(0)
    for kind, content in parts:
        digest.update(f"\n{kind} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
