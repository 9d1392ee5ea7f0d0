"""Tokens: who may write over HTTP, kept as hashes beside the knowledge base."""

import hashlib
import json
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from pathlib import Path
from typing import Final

from shiyi.errors import FormatError, KnowledgeBaseError, UsageError
from shiyi.server import clock
from shiyi.sparql.durable import alone_in, write_private

SCOPES: Final = ("write", "review")
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
    person: str = ""  # whose account a token of scope ``review`` acts for

    def holds_at(self, now: datetime) -> bool:
        """Tell whether the token has not expired."""
        return now < datetime.fromisoformat(self.expires)


class Tokens:
    """The tokens of one knowledge base; what another process adds or revokes counts at once."""

    def __init__(self, kb: Path) -> None:
        self._path, self._lock = kb / FILE, threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known: tuple[Token, ...] = ()

    def add(self, name: str, scope: str, days: int, person: str = "") -> str:
        """Make a token and give its text, which is kept nowhere."""
        if not _NAME.fullmatch(name):
            raise UsageError("a token's name is 1 to 60 letters, digits, dots, dashes or @")
        if scope not in SCOPES:
            raise FormatError("scope", scope, SCOPES)
        if (scope == "review") != bool(person):
            raise UsageError("a token of scope review, and no other, names the person it acts for")
        if not 1 <= days <= _MAX_DAYS:
            raise UsageError(f"a token expires after 1 to {_MAX_DAYS} days")
        text, now = _PREFIX + secrets.token_urlsafe(32), datetime.now(UTC)
        made = Token(
            name, _digest(text), (scope,), now.isoformat(timespec="seconds"),
            (now + timedelta(days=days)).isoformat(timespec="seconds"), person,
        )  # fmt: skip
        with self._alone():
            known = self.all()
            if any(each.name == name for each in known):
                raise UsageError(f"there is a token {name!r}: revoke it, or choose another name")
            self._write((*known, made))
        return text

    def revoke(self, name: str) -> None:
        """Forget a token; UsageError where there is none of that name."""
        with self._alone():
            known = self.all()
            kept = tuple(each for each in known if each.name != name)
            if len(kept) == len(known):
                raise UsageError(f"there is no token {name!r}")
            self._write(kept)

    def all(self) -> tuple[Token, ...]:
        """List the tokens."""
        with self._lock:
            try:
                found = self._path.stat()
            except FileNotFoundError:
                self._stamp, self._known = None, ()
                return ()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp:
                self._known, self._stamp = self._read(), stamp
            return self._known

    def find(self, text: str) -> Token | None:
        """Give the valid token of that text."""
        digest, now = _digest(text), datetime.fromtimestamp(clock.now(), UTC)
        # all are compared, so that the time taken tells nothing
        fitting = [each for each in self.all() if compare_digest(each.digest, digest)]
        return next((each for each in fitting if each.holds_at(now)), None)

    def _read(self) -> tuple[Token, ...]:
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            made = [Token(**each) for each in said]
            for each in made:
                each.holds_at(datetime.now(UTC))
        except (ValueError, TypeError) as fault:
            raise KnowledgeBaseError(
                f"{self._path} is damaged ({fault}); delete it and add the tokens again"
            ) from fault
        return tuple(replace(each, scopes=tuple(each.scopes)) for each in made)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        text = json.dumps([asdict(each) for each in tokens], indent=1, ensure_ascii=False)
        write_private(self._path, text + "\n")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from changing the file meanwhile."""
        if not self._path.parent.is_dir():
            raise KnowledgeBaseError(f"{self._path.parent} does not exist; run `shiyi build`")
        with alone_in(self._path.parent):
            yield


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
