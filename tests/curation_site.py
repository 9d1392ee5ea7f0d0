"""The real server over the small base of claims, with one account for each role."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from shiyi.curation.people import People
from shiyi.curation.roles import Role
from shiyi.server.app import create_app
from shiyi.server.curators import Curation
from shiyi.server.site import Site
from shiyi.server.tokens import FILE, Tokens
from shiyi.settings import Settings
from tests.curation_base import build

PASSWORD = "correct horse battery"  # noqa: S105 - of test accounts
HTML = {"Accept": "text/html"}


@dataclass(frozen=True)
class Desks:
    """An open server and ways to ask it as somebody."""

    app: Flask
    kb: Path
    tokens: dict[str, str]

    @property
    def site(self) -> Site:
        found: Site = self.app.extensions["shiyi"]
        return found

    @property
    def curation(self) -> Curation:
        assert self.site.curation
        return self.site.curation

    def cookie(self, name: str, csrf: str = "token") -> str:
        """Sign a session as the server would after a sign-in."""
        person = self.curation.people.get(name)
        import time

        said = {"who": name, "epoch": person.epoch, "since": int(time.time()), "csrf": csrf}
        interface: Any = self.app.session_interface
        return f"shiyi_session={interface.get_signing_serializer(self.app).dumps(said)}"

    def client(self, name: str = "") -> FlaskClient:
        """Give a client, signed in where a name is given."""
        client = self.app.test_client()
        if name:
            self.sign_in(client, name)
        return client

    def sign_in(self, client: FlaskClient, name: str, **more: str) -> Any:
        form = client.get("/curate/sign-in", headers=HTML)
        said = {"name": name, "password": PASSWORD, "csrf": token_of(form.text), **more}
        return client.post("/curate/sign-in", data=said, headers=HTML)


def token_of(page: str) -> str:
    """Read the token against forged forms from a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page[:500]
    return found[1]


def _spent(kb: Path, tokens: Tokens) -> dict[str, str]:
    """Make tokens of either scope that were revoked, or have expired."""
    found = {
        f"{end} {scope}": tokens.add(f"{end}-{scope}", scope, 1, person)
        for end in ("revoked", "expired")
        for scope, person in (("write", ""), ("review", Role.CURATOR))
    }
    for scope in ("write", "review"):
        tokens.revoke(f"revoked-{scope}")
    held = json.loads((kb / FILE).read_text("utf-8"))
    for each in held:
        if each["name"].startswith("expired"):
            each["expires"] = "2020-01-01T00:00:00+00:00"
    (kb / FILE).write_text(json.dumps(held), "utf-8")
    return found


@contextmanager
def open_desks(folder: Path, settings: Settings | None = None) -> Iterator[Desks]:
    """Open the server; people are called after their roles."""
    kb = build(folder / "kb")
    people, tokens = People(kb), Tokens(kb)
    first = people.add(Role.ADMINISTRATOR, Role.ADMINISTRATOR, PASSWORD)
    for role in Role:
        if role is not Role.ADMINISTRATOR:
            people.add(role, role, PASSWORD)
    known = {
        "write": tokens.add("writer", "write", 1),
        "review": tokens.add("reviewer", "review", 1, Role.CURATOR),
        "review-admin": tokens.add("high", "review", 1, first.name),
        "review-reader": tokens.add("low", "review", 1, Role.READER),
        "unknown": "shiyi_" + "x" * 43,
        **_spent(kb, tokens),
    }
    app = create_app(kb, settings)
    try:
        yield Desks(app, kb, known)
    finally:
        app.extensions["shiyi"].close()
