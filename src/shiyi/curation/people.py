"""The accounts of one base, in a file beside the store: argon2 hashes, roles, second factors."""

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shiyi.curation.roles import Role
from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.sparql.private_file import PrivateFile

FILE: Final = "people.json"
SHORTEST: Final = 10  # characters of a password
LONGEST: Final = 1024
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Person:
    """An account. ``epoch`` grows whenever what was signed in before must sign in again.

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
    used_code: int = 0  # the last 30-second step whose code was taken, so that none is taken twice


class People:
    """Accounts; what another process changes counts at once."""

    def __init__(self, kb: Path) -> None:
        self._path = kb / FILE
        self._file = PrivateFile[dict[str, Person]](self._path, self._read, {})

    def add(
        self, name: str, role: Role, password: str = "", *, subject: str = "", school: str = ""
    ) -> Person:
        """Make an account; ``UsageError`` for a name that is taken or malformed."""
        if not NAME.fullmatch(name):
            raise UsageError(
                "a name is 1 to 40 of a-z, 0-9, dot, dash and underscore, and begins with a letter "
                f"or digit; {name[:60]!r} is not"
            )
        if not (password or subject):
            raise UsageError("an account needs a password, or an identity elsewhere")
        made = Person(
            name, role, hash_of(password) if password else "", "", subject, school,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip

        def put(known: dict[str, Person]) -> None:
            if name in known:
                raise UsageError(f"there is an account {name!r}; choose another name")
            known[name] = made

        self._change(put)
        return made

    def set_role(self, name: str, role: Role) -> Person:
        """Give another role; whoever is signed in must sign in again."""
        return self._replaced(name, lambda each: replace(each, role=role, epoch=each.epoch + 1))

    def set_password(self, name: str, password: str) -> Person:
        """Give another password."""
        hashed = hash_of(password)
        return self._replaced(name, lambda each: replace(each, hashed=hashed, epoch=each.epoch + 1))

    def set_secret(self, name: str, secret: str) -> Person:
        """Ask for a second factor from now on, or no more where ``secret`` is empty."""
        return self._replaced(
            name, lambda each: replace(each, secret=secret, epoch=each.epoch + 1, used_code=0)
        )

    def set_active(self, name: str, active: bool) -> Person:
        """Close an account, which ends its sessions at once, or open it again."""
        return self._replaced(name, lambda each: replace(each, active=active, epoch=each.epoch + 1))

    def sign_out_everywhere(self, name: str) -> Person:
        """End all sessions of an account."""
        return self._replaced(name, lambda each: replace(each, epoch=each.epoch + 1))

    def use_code(self, name: str, step: int) -> bool:
        """Note that the code of a step was used; False where it or a later one was before."""
        used = True

        def put(known: dict[str, Person]) -> None:
            nonlocal used
            used = step > known[name].used_code
            if used:
                known[name] = replace(known[name], used_code=step)

        self._change(put)
        return used

    def find(self, name: str) -> Person | None:
        """Give the account of that name."""
        return self.all().get(name)

    def get(self, name: str) -> Person:
        """Give the account of that name; ``UsageError`` where there is none."""
        found = self.find(name)
        if found is None:
            raise UsageError(f"there is no account {name[:60]!r}; see `shiyi user list`")
        return found

    def by_subject(self, subject: str) -> Person | None:
        """Give the account that signs in as ``issuer subject``."""
        return next((each for each in self.all().values() if subject and each.subject == subject),
                    None)  # fmt: skip

    def all(self) -> dict[str, Person]:
        """Give the accounts by name."""
        return dict(self._file.get())

    def _replaced(self, name: str, make: Callable[[Person], Person]) -> Person:
        def put(known: dict[str, Person]) -> None:
            if name not in known:
                raise UsageError(f"there is no account {name[:60]!r}; see `shiyi user list`")
            known[name] = make(known[name])
            if not any(p.active and p.role is Role.ADMINISTRATOR for p in known.values()):
                raise UsageError("the last active administrator cannot go; make another first")

        self._change(put)
        return self.get(name)

    def _change(self, put: Callable[[dict[str, Person]], None]) -> None:
        with self._file.alone():
            known = self.all()
            put(known)
            self._file.put(json.dumps([asdict(each) for each in known.values()], indent=1))

    def _read(self, written: bytes) -> dict[str, Person]:
        try:
            made = [Person(**{**each, "role": Role(each["role"])}) for each in json.loads(written)]
        except (ValueError, TypeError, KeyError) as fault:
            raise KnowledgeBaseError(
                f"{self._path} is damaged ({fault}); restore it from a backup, or delete it and "
                "make the accounts again"
            ) from fault
        return {each.name: each for each in made}


def hash_of(password: str) -> str:
    """Hash a password with argon2id; ``UsageError`` for one that is too short or too long."""
    from argon2 import PasswordHasher

    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"a password has {SHORTEST} to {LONGEST} characters")
    if len(set(password)) < 4:
        raise UsageError("a password of so few different characters is guessed at once")
    return PasswordHasher().hash(_normal(password))


def matches(hashed: str, password: str) -> bool:
    """Tell whether a password fits a hash; as slow for a missing account, whose hash is empty."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        PasswordHasher().verify(hashed or _NOBODY, _normal(password)[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(hashed)


def code_step(secret: str, code: str, now: datetime) -> int | None:
    """Give the 30-second step a one-time code belongs to, now or one beside; None for a wrong one."""
    import pyotp

    totp, digits = pyotp.TOTP(secret), re.sub(r"\s", "", code)
    step = int(now.timestamp()) // totp.interval
    for near in (step, step - 1, step + 1):
        if len(digits) == totp.digits and pyotp.utils.strings_equal(
            digits, totp.generate_otp(near)
        ):
            return near
    return None


def _normal(password: str) -> str:
    return unicodedata.normalize("NFKC", password)  # the same however a keyboard composes it


# a hash of nothing anybody can type, so that a missing account takes as long
_NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$c2hpeWktbm8tYWNjb3VudA"
    "$PpPZNJ8DRe6Gx2Kp2yD1Rk0bqoPsq6YbdRL1RR3Rb3c"
)
