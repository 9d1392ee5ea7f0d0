"""No request leads the server to another address: a listening canary counts nobody."""

import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.server.site.site import Site
from shiyi.server.site.tokens import Tokens
from shiyi.settings import Settings
from tests.support.bases import build
from tests.support.processes import Canary

COUNT = int(os.environ.get("SHIYI_SSRF", "400" if os.environ.get("SHIYI_NIGHTLY") else "64"))
HOSTS = (
    "127.0.0.1:{0}", "localhost:{0}", "0.0.0.0:{0}", "2130706433:{0}", "0x7f000001:{0}",
    "127.1:{0}",
    "[::ffff:127.0.0.1]:{0}", "user:pass@127.0.0.1:{0}", "127.0.0.1:{0}#@evil.example",
    "169.254.169.254",
)  # fmt: skip
SCHEMES = ("http", "HTTP", "https", "ftp", "\\u0068ttp")
SHAPES = (
    "SELECT * {{ SERVICE <{0}> {{ ?s ?p ?o }} }}",
    "SELECT * {{ sErViCe SILENT <{0}> {{ ?s ?p ?o }} }}",
    "PREFIX e: <{0}> SELECT * {{ SERVICE e:x {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE#}}\n<{0}> {{ ?s ?p ?o }} }}",
    "SELECT * {{ BIND(<{0}> AS ?e) SERVICE ?e {{ ?s ?p ?o }} }}",
    "ASK {{ FILTER NOT EXISTS {{ SERVICE <{0}> {{ ?s ?p ?o }} }} }}",
    "SELECT * {{ {{ SELECT * {{ SERVICE <{0}> {{ ?s ?p ?o }} }} }} }}",
    "SELECT * FROM <{0}> {{ ?s ?p ?o }}",
    "SELECT * FROM NAMED <{0}> {{ GRAPH ?g {{ ?s ?p ?o }} }}", "DESCRIBE <{0}>", "LOAD <{0}>",
    "LOAD SILENT <{0}> INTO GRAPH <urn:g>",
    "BASE <{0}> SELECT * {{ SERVICE <x> {{ ?s ?p ?o }} }}",
    "INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{0}> {{ ?s ?p ?o }} }}",
)  # fmt: skip
PATHS = (
    "/id/", "/page/", "/data/", "/releases/", "/compare?ids=", "/vocab.", "/curate/oidc?issuer=",
    "/sparql?default-graph-uri=", "/sparql?query=ASK%7B%7D&named-graph-uri=",
)  # fmt: skip
UPLOADS = (
    ("application/ld+json", '{{"@context": "{0}", "@id": "urn:a", "urn:p": 1}}'),
    ("application/ld+json", '{{"@context": {{"@import": "{0}"}}, "@id": "urn:a"}}'),
    ("application/rdf+xml", '<!DOCTYPE r [<!ENTITY x SYSTEM "{0}">]><r>&x;</r>'),
    ("application/rdf+xml", '<!DOCTYPE r SYSTEM "{0}"><r/>'),
    ("text/turtle", "@base <{0}> . <> a <x> ; <http://www.w3.org/2002/07/owl#imports> <{0}> ."),
    ("application/trig", "<{0}> {{ <{0}> <http://www.w3.org/2002/07/owl#imports> <{0}> }}"),
)  # fmt: skip


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory, small_quads: object
) -> Iterator[tuple[Site, str]]:
    from shiyi.sparql.base.knowledge_base import build_generation

    kb = tmp_path_factory.mktemp("network") / "kb"
    build_generation(kb, small_quads, {})  # type: ignore[arg-type] # a fixture
    secret = Tokens(kb).add("writer", "write", 1)
    site = open_site(kb, Settings())
    yield site, secret
    site.close()


def addresses(port: int) -> list[str]:
    return [
        f"{scheme}://{host.format(port)}/x" for scheme, host in itertools.product(SCHEMES, HOSTS)
    ]


def variants(port: int) -> list[tuple[str, str]]:
    """Return shape and address, each shape with other addresses first."""
    every = addresses(port)
    pairs = [
        (shape, every[(number * 7 + at * 3) % len(every)])
        for number in range(len(every))
        for at, shape in enumerate(SHAPES)
    ]
    return list(dict.fromkeys(pairs))


def test_canary_is_reached_without_confinement(canary: Canary) -> None:
    with socket.create_connection(("127.0.0.1", canary.port)):
        pass
    for _ in range(50):
        if canary.visits:
            break
        threading.Event().wait(0.02)
    assert canary.visits == 1


def test_no_query_update_or_upload_makes_a_connection(
    opened: tuple[Site, str], canary: Canary
) -> None:
    site, secret = opened
    client: FlaskClient = create_app(site).test_client()
    before, sent, headers = len(list(site.store.match())), 0, {"Authorization": f"Bearer {secret}"}
    every = variants(canary.port)
    assert len(every) >= 400
    for shape, address in every[:COUNT]:
        text = shape.format(address)
        for result in ({"query": text}, {"update": text}):
            reply = client.post("/sparql", data=result, headers=headers)
            assert reply.status_code < 500 or reply.status_code in {503, 504}, (text, reply.text)
            sent += 1
    for (kind, text), address in itertools.product(UPLOADS, addresses(canary.port)[: COUNT // 8]):
        where = urlencode({"graph": address})
        reply = client.put(
            f"/rdf-graph-store?{where}",
            data=text.format(address),
            content_type=kind,
            headers=headers,
        )
        assert reply.status_code < 500, (kind, address, reply.text)
        client.get(f"/rdf-graph-store?{where}")
        client.delete(f"/rdf-graph-store?{where}", headers=headers)
        sent += 1
    for path in PATHS:
        for address in addresses(canary.port)[:5]:
            assert client.get(path + address).status_code < 500
            sent += 1
    assert sent > max(200, 2 * COUNT)
    assert canary.visits == 0
    assert len(list(site.store.match())) <= before + 1  # the writer's note


def test_no_prose_makes_a_connection(
    opened: tuple[Site, str], canary: Canary, tmp_path: Path
) -> None:
    client: FlaskClient = create_app(opened[0]).test_client()
    for address in addresses(canary.port)[:10]:
        for body in (
            {"question": f"read {address} and tell me"},
            {"question": "goji", "context": {"questions": [address]}},
        ):
            assert client.post("/api/ask", json=body).status_code in {200, 400, 413, 422, 503}
        assert client.post("/api/link", json={"text": address}).status_code == 200
    assert canary.visits == 0


COMMANDS = (
    ("ask", "Can I take goji with warfarin?"), ("link", "枸杞和华法林"), ("query", "{query}"),
     ("doctor",), ("doctor", "--scrub"),
    ("export", "-o", "{out}/all.nq"), ("index",), ("reason", "pagerank"), ("review", "queue"),
    ("token", "add", "me"), ("backup", "-o", "{out}/backup"), ("restore", "{out}/backup",
     "--check"),
)  # fmt: skip


def test_no_command_needs_a_network(tmp_path: Path) -> None:
    """Each runs, with its workers, in a network of its own that has no other machine in it."""
    alone = ["unshare", "--map-root-user", "--net", "--"]
    if shutil.which(alone[0]) is None or subprocess.run([*alone, "true"], check=False).returncode:  # noqa: S603 - a program of the system
        pytest.skip("there is no unshare, or it may not be used here")
    kb, query = build(tmp_path / "kb"), tmp_path / "one.rq"
    query.write_text("SELECT * { ?s ?p ?o } LIMIT 3", "utf-8")
    for words in COMMANDS:
        content = [word.format(query=query, out=tmp_path) for word in words]
        process = subprocess.run(  # noqa: S603 - our own interpreter
            [*alone, sys.executable, "-m", "shiyi", "--kb", str(kb), *content],
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, (content, process.stdout, process.stderr)
