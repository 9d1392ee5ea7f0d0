"""API tokens and the monotonic expiry clock."""

import hashlib
import json
import re
import secrets
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from pathlib import Path
from typing import Final

from shiyi.errors import FormatError, KnowledgeBaseError, UsageError
from shiyi.sparql.store.files import PrivateFile

SKEW: Final = 300.0  # seconds that another process' clock may be ahead

_BEGAN = time.time(), time.monotonic()


def unix_time() -> float:
    """Return seconds since 1970; where the clock on the wall was turned back, those that went by.

    So an expired token or session does not become valid. What was ahead of the time when
    this process began stays ahead until the next start.
    """
    wall, steady = _BEGAN
    return max(time.time(), wall + time.monotonic() - steady)


WRITING: Final = frozenset({"write", "maintain"})
SCOPES: Final = ("write", "maintain", "review")
FILE: Final = "tokens.json"
_NAME = re.compile(r"[\w.@-]{1,60}")
_MAX_DAYS: Final = 3650
_PREFIX: Final = "shiyi_"  # so that secret scanners know one when they see it


@dataclass(frozen=True, slots=True)
class Token:
    """A permission; ``digest`` is the SHA-256 of 256 random bits, times are ISO 8601 in UTC."""

    name: str
    digest: str
    scopes: tuple[str, ...]
    created: str
    expires: str
    person: str = ""  # the account that a token of scope ``review`` acts for

    def holds_at(self, now: datetime) -> bool:
        """Return whether the token has not expired."""
        return now < datetime.fromisoformat(self.expires)


class Tokens:
    """The tokens of one knowledge base; what another process adds or revokes counts at once."""

    def __init__(self, kb: Path) -> None:
        self._path = kb / FILE
        self._file = PrivateFile[tuple[Token, ...]](self._path, self._read, ())

    def add(self, name: str, scope: str, days: int, person: str = "") -> str:
        """Add a token and return its text, of which only a hash is stored."""
        if not _NAME.fullmatch(name):
            raise UsageError("a token's name is 1 to 60 letters, digits, dots, dashes or @")
        if scope not in SCOPES:
            raise FormatError("scope", scope, SCOPES)
        if (scope == "review") != bool(person):
            raise UsageError("a token of scope review, and no other, names the person it acts for")
        if not 1 <= days <= _MAX_DAYS:
            raise UsageError(f"a token expires after 1 to {_MAX_DAYS} days")
        text, now = _PREFIX + secrets.token_urlsafe(32), datetime.now(UTC)
        token = Token(
            name,
            _digest(text),
            (scope,),
            now.isoformat(timespec="seconds"),
            (now + timedelta(days=days)).isoformat(timespec="seconds"),
            person,
        )
        with self._file.alone():
            tokens = self.all()
            if any(each.name == name for each in tokens):
                raise UsageError(f"there is a token {name!r}: revoke it, or choose another name")
            self._write((*tokens, token))
        return text

    def revoke(self, name: str) -> None:
        """Forget a token; UsageError where there is none of that name."""
        with self._file.alone():
            tokens = self.all()
            other_tokens = tuple(token for token in tokens if token.name != name)
            if len(other_tokens) == len(tokens):
                raise UsageError(f"there is no token {name!r}")
            self._write(other_tokens)

    def all(self) -> tuple[Token, ...]:
        """List the tokens."""
        return self._file.get()

    def find(self, text: str) -> Token | None:
        """Return the valid token of that text."""
        digest, now = _digest(text), datetime.fromtimestamp(unix_time(), UTC)
        # all are compared, so that the time taken tells nothing
        fitting = [token for token in self.all() if compare_digest(token.digest, digest)]
        return next((token for token in fitting if token.holds_at(now)), None)

    def _read(self, data: bytes) -> tuple[Token, ...]:
        try:
            tokens = [Token(**item) for item in json.loads(data)]
            for token in tokens:
                token.holds_at(datetime.now(UTC))
        except (ValueError, TypeError) as fault:
            raise KnowledgeBaseError(
                f"{self._path} is damaged ({fault}); delete it and add the tokens again"
            ) from fault
        return tuple(replace(each, scopes=tuple(each.scopes)) for each in tokens)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        text = json.dumps([asdict(token) for token in tokens], indent=1, ensure_ascii=False)
        self._file.put(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
