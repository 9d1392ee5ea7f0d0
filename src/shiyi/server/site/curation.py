"""Accounts, audit log and changes of an open base."""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from shiyi.curation.accounts import AccountStore, Audit
from shiyi.curation.changes import Changes
from shiyi.curation.editing.validation import EditChecker
from shiyi.curation.queue import Citations
from shiyi.errors import KnowledgeBaseError
from shiyi.settings import CurationSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.files import write_private

KEY: Final = "session.key"
OIDC_SECRET: Final = "SHIYI_CURATION_OIDC_SECRET"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True)
class Curation:
    """What the desks work with; ``changes`` is None where the base is open for reading."""

    people: AccountStore
    audit: Audit
    secret: bytes = field(repr=False)  # signs the session cookies of this base
    changes: Changes | None = None
    settings: CurationSettings = field(default_factory=CurationSettings)
    oidc_secret: str = field(default="", repr=False)
    checker: EditChecker = field(default_factory=EditChecker)  # starts its process when first asked
    citations: Citations | None = None
    base: KnowledgeBase | None = None  # where it takes changes

    @classmethod
    def open(cls, base: KnowledgeBase, settings: Settings) -> Self:
        """Open beside a base; one that is only read leaves no file there."""
        changes = Changes(base.writer) if base.writes else None
        secret = session_key(base.path) if changes else secrets.token_bytes(32)
        return cls(
            AccountStore(base.path),
            Audit(base.path),
            secret,
            changes,
            settings.curation,
            os.environ.get(OIDC_SECRET, ""),
            citations=Citations(base.path),
            base=base if changes else None,
        )

    @property
    def oidc_name(self) -> str:
        """Name the place of the other accounts, where signing in with them is set up."""
        settings = self.settings
        return (settings.oidc_name or settings.oidc_issuer) if settings.oidc_issuer else ""

    @property
    def writable_changes(self) -> Changes:
        """Return what writes; ``KnowledgeBaseError`` where this server takes no changes."""
        if self.changes is None:
            raise KnowledgeBaseError(
                "this server takes no changes: it runs with --read-only, or was started before "
                "there was an account; restart it"
            )
        return self.changes


def session_key(kb: Path) -> bytes:
    """Return the key that signs session cookies, made once and read by its owner alone."""
    path = kb / KEY
    try:
        result = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        result = b""
    if len(result) < 32:
        result = secrets.token_bytes(32)
        write_private(path, result.hex() + "\n")
    return result
