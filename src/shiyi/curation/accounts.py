"""Accounts, roles and the audit log."""

import json
import re
import threading
import unicodedata
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from shiyi.errors import FormatError, KnowledgeBaseError, RightsError, UsageError
from shiyi.sparql.base.integrity import AUDIT_FILE
from shiyi.sparql.store.files import PrivateFile, append_line


class Role(StrEnum):
    """The role of an account, the least first."""

    READER = "reader"
    CONTRIBUTOR = "contributor"
    CURATOR = "curator"
    EDITOR = "editor-in-chief"
    ADMINISTRATOR = "administrator"

    @classmethod
    def from_name(cls, name: str) -> "Role":
        """Return the role of a name; ``FormatError`` for another."""
        try:
            return cls(name)
        except ValueError:
            raise FormatError("role", name, tuple(cls)) from None


class Right(StrEnum):
    """A right that a route or command needs."""

    OPEN = "open"  # anyone, signed in or not
    READ = "read"  # see the desks
    COMMENT = "comment"  # comment on a claim, propose a change
    REVIEW = "review"  # accept and reject claims and mappings
    EDIT = "edit"  # change claims, mappings and concepts
    APPROVE = "approve"  # approve proposals, undo what others did, assign, import
    ADMIN = "admin"  # accounts, roles and the audit log


LEAST: Final = {
    Right.READ: Role.READER, Right.COMMENT: Role.CONTRIBUTOR, Right.REVIEW: Role.CURATOR,
    Right.EDIT: Role.CURATOR, Right.APPROVE: Role.EDITOR, Right.ADMIN: Role.ADMINISTRATOR,
}  # fmt: skip
_ORDER: Final = tuple(Role)


def has_right(role: Role | None, right: Right) -> bool:
    """Return whether a role has a right; ``None`` is somebody who is not signed in.

    >>> (
    ...     has_right(Role.CURATOR, Right.REVIEW),
    ...     has_right(Role.CURATOR, Right.APPROVE),
    ...     has_right(None, Right.READ),
    ... )
    (True, False, False)
    """
    if right is Right.OPEN:
        return True
    return role is not None and _ORDER.index(role) >= _ORDER.index(LEAST[right])


def require(role: Role | None, right: Right) -> None:
    """Raise ``RightsError`` where a role lacks a right."""
    if not has_right(role, right):
        raise RightsError(f"the right to {right} needs the role {LEAST[right]} or a higher one")


FILE: Final = "people.json"
SHORTEST: Final = 10  # characters of a password
LONGEST: Final = 1024
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Account:
    """An account. ``epoch`` grows when earlier sessions must end.

    ``hashed`` is empty for somebody who signs in through OpenID Connect alone (``subject`` is
    then ``issuer subject``); ``secret`` is the TOTP key, empty without a second factor.
    """

    name: str
    role: Role
    hashed: str = ""
    secret: str = ""
    subject: str = ""
    school: str = ""
    active: bool = True
    epoch: int = 0
    created: str = ""
    used_code: int = 0  # the last 30-second step of an accepted code: none is accepted twice


class AccountStore:
    """Accounts; what another process changes counts at once."""

    def __init__(self, kb: Path) -> None:
        self._path = kb / FILE
        self._file = PrivateFile[dict[str, Account]](self._path, self._read, {})

    def add(
        self, name: str, role: Role, password: str = "", *, subject: str = "", school: str = ""
    ) -> Account:
        """Make an account; ``UsageError`` for a name that is taken or malformed."""
        if not NAME.fullmatch(name):
            raise UsageError(
                "a name is 1 to 40 of a-z, 0-9, dot, dash and underscore, and begins with a letter "
                f"or digit; {name[:60]!r} is not"
            )
        if not (password or subject):
            raise UsageError("an account needs a password, or an identity elsewhere")
        account = Account(
            name,
            role,
            hash_password(password) if password else "",
            "",
            subject,
            school,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

        def put(known: dict[str, Account]) -> None:
            if name in known:
                raise UsageError(f"there is an account {name!r}; choose another name")
            known[name] = account

        self._change(put)
        return account

    def set_role(self, name: str, role: Role) -> Account:
        """Set the role; open sessions end."""
        return self._replace(name, lambda each: replace(each, role=role, epoch=each.epoch + 1))

    def set_password(self, name: str, password: str) -> Account:
        """Set the password; open sessions end."""
        hashed = hash_password(password)
        return self._replace(name, lambda each: replace(each, hashed=hashed, epoch=each.epoch + 1))

    def set_secret(self, name: str, secret: str) -> Account:
        """Require a second factor, or none where ``secret`` is empty."""
        return self._replace(
            name, lambda each: replace(each, secret=secret, epoch=each.epoch + 1, used_code=0)
        )

    def set_active(self, name: str, active: bool) -> Account:
        """Close an account, which ends its sessions at once, or reopen it."""
        return self._replace(name, lambda each: replace(each, active=active, epoch=each.epoch + 1))

    def sign_out_everywhere(self, name: str) -> Account:
        """End all sessions of an account."""
        return self._replace(name, lambda account: replace(account, epoch=account.epoch + 1))

    def use_code(self, name: str, step: int) -> bool:
        """Note that the code of a step was used; False where it or a later one was before."""
        used = True

        def put(known: dict[str, Account]) -> None:
            nonlocal used
            used = step > known[name].used_code
            if used:
                known[name] = replace(known[name], used_code=step)

        self._change(put)
        return used

    def find(self, name: str) -> Account | None:
        """Return the account of that name."""
        return self.all().get(name)

    def get(self, name: str) -> Account:
        """Return the account of that name; ``UsageError`` where there is none."""
        result = self.find(name)
        if result is None:
            raise UsageError(f"there is no account {name[:60]!r}; see `shiyi user list`")
        return result

    def by_subject(self, subject: str) -> Account | None:
        """Return the account that signs in as ``issuer subject``."""
        return next(
            (each for each in self.all().values() if subject and each.subject == subject), None
        )

    def all(self) -> dict[str, Account]:
        """Return the accounts by name."""
        return dict(self._file.get())

    def _replace(self, name: str, make: Callable[[Account], Account]) -> Account:
        def put(known: dict[str, Account]) -> None:
            if name not in known:
                raise UsageError(f"there is no account {name[:60]!r}; see `shiyi user list`")
            known[name] = make(known[name])
            if not any(p.active and p.role is Role.ADMINISTRATOR for p in known.values()):
                raise UsageError("the last active administrator cannot go; make another first")

        self._change(put)
        return self.get(name)

    def _change(self, put: Callable[[dict[str, Account]], None]) -> None:
        with self._file.alone():
            accounts = self.all()
            put(accounts)
            self._file.put(json.dumps([asdict(account) for account in accounts.values()], indent=1))

    def _read(self, data: bytes) -> dict[str, Account]:
        try:
            accounts = [
                Account(**{**item, "role": Role(item["role"])}) for item in json.loads(data)
            ]
        except (ValueError, TypeError, KeyError) as fault:
            raise KnowledgeBaseError(
                f"{self._path} is damaged ({fault}); restore it from a backup, or delete it and "
                "make the accounts again"
            ) from fault
        return {account.name: account for account in accounts}


def hash_password(password: str) -> str:
    """Hash a password with argon2id; ``UsageError`` for one that is too short or too long."""
    from argon2 import PasswordHasher

    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"a password has {SHORTEST} to {LONGEST} characters")
    if len(set(password)) < 4:
        raise UsageError("a password of so few different characters is guessed at once")
    return PasswordHasher().hash(_normal(password))


def matches(hashed: str, password: str) -> bool:
    """Return whether a password fits a hash; as slow for the empty hash of a missing account."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        PasswordHasher().verify(hashed or _NOBODY, _normal(password)[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(hashed)


def code_step(secret: str, code: str, now: datetime) -> int | None:
    """Return the 30-second step of a one-time code, now or next to now; None for a wrong code."""
    import pyotp

    totp, digits = pyotp.TOTP(secret), re.sub(r"\s", "", code)
    step = int(now.timestamp()) // totp.interval
    for candidates in (step, step - 1, step + 1):
        if len(digits) == totp.digits and pyotp.utils.strings_equal(
            digits, totp.generate_otp(candidates)
        ):
            return candidates
    return None


def _normal(password: str) -> str:
    return unicodedata.normalize("NFKC", password)  # the same however a keyboard composes it


# a hash of nothing anybody can type, so that a missing account takes as long
_NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$c2hpeWktbm8tYWNjb3VudA"
    "$PpPZNJ8DRe6Gx2Kp2yD1Rk0bqoPsq6YbdRL1RR3Rb3c"
)


class Audit:
    """Appends to ``audit.jsonl`` beside the store; what is written is on the disk at return."""

    def __init__(self, kb: Path) -> None:
        self.path, self._lock = kb / AUDIT_FILE, threading.Lock()

    def note(self, name: str, agent: str, **details: str) -> None:
        """Append one event; ``details`` never include a password, a code or a token."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock:
            append_line(self.path, {"when": now, "what": name, "who": agent, **details})

    def last(self, count: int = 200) -> list[dict[str, Any]]:
        """List the newest events, the newest first; a line that was cut off is left out."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", errors="replace") as file:
            lines = deque(file, maxlen=count)
        return [record for line in reversed(lines) if (record := _read(line))]


def _read(line: str) -> dict[str, Any] | None:
    try:
        payload = json.loads(line)
    except ValueError:
        return None
    if not isinstance(payload, dict):
        return None
    payload.pop("check", None)
    return payload
