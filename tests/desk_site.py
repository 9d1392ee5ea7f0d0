"""The desks over a small real base, over real HTTP, as people with a browser but no script use them."""

import re
import threading
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from waitress.server import create_server

from shiyi.curation.people import People
from shiyi.curation.roles import Role
from shiyi.model.rdf import Quad
from shiyi.server.app import create_app
from shiyi.server.opening import open_site
from shiyi.server.site import Site
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from tests import kitchen
from tests.stopping import stop

PASSWORD = "correct horse battery"  # noqa: S105 - of accounts that live for one test
PEOPLE = {"reader": Role.READER, "cont": Role.CONTRIBUTOR, "cura": Role.CURATOR,
          "second": Role.CURATOR, "chief": Role.EDITOR, "admin": Role.ADMINISTRATOR}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Desks:
    """A running server and the site behind it."""

    address: str
    site: Site

    def visitor(self, name: str = "") -> "Visitor":
        """Open a browser without scripts; signed in where a name is given."""
        made = Visitor(self.address)
        if name:
            page = made.get("/curate/sign-in")
            form = {"csrf": csrf_in(page.body), "name": name, "password": PASSWORD,
                    "next": "/curate/account"}  # fmt: skip
            assert made.post("/curate/sign-in", form).status == 200, name
        return made


@dataclass(frozen=True, slots=True)
class Page:
    """What came back, after redirections."""

    status: int
    body: str
    address: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Visitor:
    """One person's browser: cookies, forms, no scripts."""

    def __init__(self, address: str) -> None:
        self.address, self.cookies = address, CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str, accept: str = "text/html") -> Page:
        return self._open(urllib.request.Request(self.address + path, headers={"Accept": accept}))  # noqa: S310 - our own server

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Page:
        sent = urlencode(form).encode()
        said = {"Accept": "text/html", **headers}
        return self._open(urllib.request.Request(self.address + path, sent, said))  # noqa: S310 - our own server

    def submit(self, page: Page, path: str, **changed: str) -> Page:
        """Send a page's form for ``path`` back with some fields changed."""
        return self.post(path, fields_in(page.body, path) | changed)

    def _open(self, asked: urllib.request.Request) -> Page:
        try:
            with self._opener.open(asked, timeout=60) as reply:
                return Page(reply.status, reply.read().decode(), reply.url, dict(reply.headers))
        except HTTPError as fault:
            with fault:
                return Page(fault.code, fault.read().decode(), fault.url, dict(fault.headers))


def csrf_in(body: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', body)
    return found[1] if found else ""


def fields_in(body: str, path: str) -> dict[str, str]:
    """Read what the form that goes to ``path`` would send if nothing were changed."""
    forms = re.findall(r"<form\b[^>]*>.*?</form>", body, re.DOTALL)
    heads = [(each, each.partition(">")[0]) for each in forms]
    form = next(e for e, head in heads if f'action="{path}"' in head and 'method="post"' in head)
    found: dict[str, str] = {}
    for tag in re.findall(r"<input\b[^>]*>", form):
        kind, name = _attribute(tag, "type"), _attribute(tag, "name")
        if (name and kind not in {"radio", "checkbox", "file"}) or " checked" in tag:
            found[name] = _attribute(tag, "value")
    for name, text in re.findall(
        r'<textarea\b[^>]*\bname="([^"]+)"[^>]*>(.*?)</textarea>', form, re.DOTALL
    ):
        found[name] = unescape(text)
    for name, inside in re.findall(
        r'<select\b[^>]*\bname="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL
    ):
        options = re.findall(r"<option\b[^>]*>", inside)
        chosen = [each for each in options if " selected" in each] or options[:1]
        found[name] = _attribute(chosen[0], "value") if chosen else ""
    return found


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return unescape(found[1]) if found else ""


@contextmanager
def served(folder: Path, extra: Iterable[Quad] = (), **settings: Any) -> Iterator[Desks]:
    """Serve the kitchen's base, writable, with an account of every role."""
    kb = folder / "kb"
    quads = [*kitchen.quads(), *extra]
    build_generation(kb, quads, {"quads": len(quads)})
    people = People(kb)
    for name, role in PEOPLE.items():
        people.add(name, role, PASSWORD)
    with serving(kb, **settings) as desks:
        yield desks


@contextmanager
def serving(kb: Path, **settings: Any) -> Iterator[Desks]:
    """Serve a base that stands."""
    site = open_site(kb, replace(Settings(), kb=kb, **settings))
    server = create_server(create_app(site), map={}, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Desks(f"http://127.0.0.1:{server.effective_port}", site)
    finally:
        stop(server)
        thread.join(timeout=10)
        site.close()
