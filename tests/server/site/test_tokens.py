"""Who may write over HTTP: nobody, but holders of a token of that scope."""

import json
import stat
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from shiyi.cli import main
from shiyi.errors import FormatError, KnowledgeBaseError, UsageError
from shiyi.model.iris import GRAPH, ID, VOCAB
from shiyi.server.app import create_app
from shiyi.server.site.site import Site
from shiyi.server.site.tokens import FILE, Tokens
from shiyi.sparql.store.files import add_checksum, verify_checksum
from tests.support.sites import writable_site
from tests.tables import from_table

_NUMBERS = count()
PREFIXES = f"""PREFIX shiyi: <{VOCAB}> PREFIX id: <{ID}> PREFIX graph: <{GRAPH}>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
"""
INSERT = "INSERT DATA { <urn:a> <urn:p> 1 }"
UPDATE: dict[str, Any] = {"data": INSERT, "content_type": "application/sparql-update"}
WRITING = {"PUT", "POST", "DELETE", "PATCH"}
# routes of method POST that read: they answer anyone and change nothing
READING_POSTS = {
    "/sparql", "/api/ask", "/api/ask/replay", "/api/ask/sparql", "/api/ask/stream", "/api/audit",
    "/api/check", "/api/complete", "/api/frame", "/api/link", "/api/reconcile", "/audit", "/ask",
    "/check", "/constitution",
}  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, Site, str]]:
    with writable_site(tmp_path_factory.mktemp("tokens"), filled=True) as (site, secret):
        yield create_app(site), site, secret


@pytest.fixture
def client(opened: tuple[Flask, Site, str]) -> FlaskClient:
    return create_app(opened[1]).test_client()


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_token_stored_as_hash_that_only_owner_reads(tmp_path: Path) -> None:
    text = Tokens(tmp_path).add("curator", "write", 1)
    path = tmp_path / FILE
    assert len(text) > 43
    assert text not in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = Tokens(tmp_path).find(text)
    assert token is not None
    assert (token.name, token.scopes) == ("curator", ("write",))
    assert Tokens(tmp_path).find(text[:-1]) is None
    assert Tokens(tmp_path).find("\ud800") is None


def test_a_revoked_or_expired_token_is_worth_nothing(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    first, second = tokens.add("a", "write", 1), tokens.add("b", "write", 1)
    assert tokens.find(first)
    Tokens(tmp_path).revoke("a")  # by another process
    assert tokens.find(first) is None
    reply = json.loads(verify_checksum((tmp_path / FILE).read_bytes(), tmp_path / FILE))
    reply[0]["expires"] = "2020-01-01T00:00:00+00:00"
    (tmp_path / FILE).write_text(json.dumps(reply), encoding="utf-8")
    assert tokens.find(second) is None


@pytest.mark.parametrize(("old", "new"), [(b"# sha", b"# sha1"), (b"sha256 ", b"sha256 a")])
def test_a_damaged_seal_is_refused(old: bytes, new: bytes) -> None:
    written = add_checksum("[]\n").encode()
    assert verify_checksum(written, Path(FILE)) == b"[]\n"
    for damaged in (written.replace(old, new), written[:-9]):
        with pytest.raises(KnowledgeBaseError):
            verify_checksum(damaged, Path(FILE))


def test_bad_tokens_not_made_and_damage_reported(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("a", "write", 1)
    [token] = tokens.all()
    ends = datetime.fromisoformat(token.expires)
    assert (token.holds_at(ends - timedelta.resolution), token.holds_at(ends)) == (True, False)
    for name, scope, days, error in (
        ("a", "write", 1, UsageError),
        ("", "write", 1, UsageError),
        ("b\n", "write", 1, UsageError),
        ("b", "read", 1, FormatError),
        ("b", "write", 0, UsageError),
        ("b", "write", 3651, UsageError),
    ):
        with pytest.raises(error):
            tokens.add(name, scope, days)
    with pytest.raises(UsageError):
        tokens.revoke("nobody")
    (tmp_path / FILE).write_text("[{}]", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match="damaged"):
        tokens.all()
    with pytest.raises(KnowledgeBaseError, match="does not exist"):
        Tokens(tmp_path / "none").add("a", "write", 1)


def _ways(app: Flask) -> list[tuple[str, str]]:
    return [
        (rule.rule.replace("<path:name>", "x"), method)
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) & WRITING)
    ]


@pytest.mark.parametrize(
    "headers", [{}, bearer("wrong"), bearer(""), {"Authorization": "Basic eDp5"}, {"Cookie": "t=1"}]
)
def test_every_way_of_writing_is_closed_without_token(
    opened: tuple[Flask, Site, str], client: FlaskClient, headers: dict[str, str]
) -> None:
    app, site, _ = opened
    before, ways = site.version(), _ways(app)
    assert len(ways) >= 9
    for route, method in ways:
        reply = client.open(f"{route}?graph=urn:g", method=method, headers=headers, **UPDATE)
        if route in READING_POSTS and route != "/sparql":
            assert reply.status_code in {200, 400, 415}, (route, method)
        else:
            if reply.status_code == 405:  # what takes no update says so before it asks who it is
                assert route == "/sparql/rdf11"
                continue
            assert reply.status_code == 401, (route, method)
            assert reply.headers["WWW-Authenticate"].startswith("Bearer")
            assert reply.content_type == "application/problem+json"
    form = client.post("/sparql", data={"update": INSERT}, headers=headers)
    assert form.status_code == 401
    assert site.version() == before


def test_no_get_writes(opened: tuple[Flask, Site, str], client: FlaskClient) -> None:
    _, site, secret = opened
    before = site.version()
    for address in ("/sparql", "/rdf-graph-store"):
        for method in ("GET", "HEAD", "OPTIONS"):
            values = {"update": INSERT, "graph": "urn:g"}
            client.open(address, method=method, query_string=values, headers=bearer(secret))
    assert site.version() == before


def test_holder_writes_under_name_and_once_per_key(
    opened: tuple[Flask, Site, str], client: FlaskClient
) -> None:
    _, site, secret = opened
    before = site.version()
    headers = bearer(secret) | {"Idempotency-Key": "order-1"}
    for _ in range(2):
        assert client.post("/sparql", headers=headers, **UPDATE).status_code == 204
    assert site.version() == before + 1
    asked = client.get("/sparql", query_string={"query": "ASK { <urn:a> <urn:p> 1 }"})
    assert json.loads(asked.data)["boolean"] is True
    assert "Access-Control-Allow-Headers" not in asked.headers


def test_key_stands_for_one_request_and_well_formed(
    opened: tuple[Flask, Site, str], client: FlaskClient
) -> None:
    _, site, secret = opened
    headers = bearer(secret) | {"Idempotency-Key": "order-2"}
    other = {**UPDATE, "data": "INSERT DATA { <urn:a> <urn:p> 22 }"}
    assert client.post("/sparql", headers=headers, **other).status_code == 204
    before = site.version()
    reply = client.post("/sparql", headers=headers, **UPDATE)
    assert reply.status_code == 422
    assert reply.content_type == "application/problem+json"
    address = "/rdf-graph-store?graph=urn:h"
    turtle = {"data": "<urn:a> <urn:p> 22 .", "content_type": "text/turtle"}
    assert client.put(address, headers=headers, **turtle).status_code == 422
    for key in ("two words", "", "x" * 201, "é"):
        malformed = bearer(secret) | {"Idempotency-Key": key}
        assert client.post("/sparql", headers=malformed, **UPDATE).status_code == 400, key
        assert client.put(address, headers=malformed, **turtle).status_code == 400, key
    assert client.post("/sparql", headers=headers, **other).status_code == 204
    assert site.version() == before


def test_upload_of_form_is_same_for_any_boundary(
    opened: tuple[Flask, Site, str], client: FlaskClient
) -> None:
    _, site, secret = opened
    headers = bearer(secret) | {"Idempotency-Key": "form-1"}

    def upload(text: str) -> int:
        files = {"file": (BytesIO(text.encode()), "a.ttl", "text/turtle")}
        reply = client.post("/rdf-graph-store?graph=urn:form", data=files, headers=headers)
        return reply.status_code

    assert upload("<urn:a> <urn:p> 1 .") == 201
    before = site.version()
    assert upload("<urn:a> <urn:p> 1 .") == 204
    assert upload("<urn:a> <urn:p> 2 .") == 422
    assert site.version() == before


@from_table
def test_write_scope_cannot_change_answers(
    opened: tuple[Flask, Site, str], client: FlaskClient, text: str, status: int
) -> None:
    _, site, _ = opened
    assert site.writing
    name = f"writer-{next(_NUMBERS)}"
    headers = bearer(site.writing.tokens.add(name, "write", 1))
    before = site.version()
    reply = client.post("/sparql", data={"update": PREFIXES + text}, headers=headers)
    assert reply.status_code == status, reply.text
    if status == 403:
        assert reply.content_type == "application/problem+json"
        assert "scope maintain" in reply.get_json()["detail"]
        assert site.version() == before


def test_write_scope_uploads_to_own_graphs(
    opened: tuple[Flask, Site, str], client: FlaskClient
) -> None:
    _, site, secret = opened
    assert site.writing
    headers = bearer(site.writing.tokens.add("uploader", "write", 1))
    claim: dict[str, Any] = {
        "data": f"<urn:c> a <{VOCAB}Claim> ; <{VOCAB}status> <{VOCAB}accepted> .",
        "content_type": "text/turtle",
    }
    before = site.version()
    for method in ("PUT", "POST"):
        for place in ("default", f"graph={GRAPH}derived", f"graph={GRAPH}source/mine"):
            reply = client.open(
                f"/rdf-graph-store?{place}",
                method=method,
                headers=headers,
                data=claim["data"],
                content_type=claim["content_type"],
            )
            assert reply.status_code == 403, (method, place)
    assert client.delete("/rdf-graph-store?default", headers=headers).status_code == 403
    assert site.version() == before
    own = client.put("/rdf-graph-store?graph=urn:own", headers=headers, **claim)
    assert own.status_code == 201
    whole = client.post("/rdf-graph-store?default", headers=bearer(secret), **claim)
    assert whole.status_code == 204


def test_token_guesses_wait_and_valid_token_does_not(opened: tuple[Flask, Site, str]) -> None:
    client = create_app(opened[1]).test_client()
    results = [
        client.post(
            "/sparql",
            headers=bearer(f"guess-{i}"),
            environ_base={"REMOTE_ADDR": f"2001:db8:7:7::{i:x}"},
            **UPDATE,
        )
        for i in range(25)
    ]
    assert [item.status_code for item in results] == [401] * 20 + [429] * 5
    assert int(results[-1].headers["Retry-After"]) > 0
    for term in ("2001:db8:7:7::1", "2001:db8:7:8::1"):
        right = client.post(
            "/sparql", headers=bearer(opened[2]), environ_base={"REMOTE_ADDR": term}, **UPDATE
        )
        assert right.status_code == 204


def test_read_only_server_refuses_token_holders(opened: tuple[Flask, Site, str]) -> None:
    from dataclasses import replace

    from shiyi.server.site.site import WriteAccess

    _, site, secret = opened
    assert site.writing
    reading = create_app(replace(site, writing=WriteAccess(site.writing.tokens))).test_client()
    reply = reading.post("/sparql", headers=bearer(secret), **UPDATE)
    assert reply.status_code == 403
    assert "read-only" in reply.text


def test_the_command_adds_lists_and_revokes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--kb", str(tmp_path), "token"]
    assert main([*place, "add", "curator", "--expires", "7"]) == 0
    text = capsys.readouterr().out.strip()
    assert Tokens(tmp_path).find(text)
    assert main([*place, "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["name"] == "curator"
    assert text not in json.dumps(listed)
    assert main([*place, "add", "curator"]) == 2
    assert main([*place, "revoke", "curator"]) == 0
    assert Tokens(tmp_path).find(text) is None
    assert main([*place, "revoke", "curator"]) == 2


def test_the_api_description_locks_what_writes(client: FlaskClient) -> None:
    paths = json.loads(client.get("/api/openapi.json").data)["paths"]
    for verb in ("put", "post", "delete"):
        assert paths["/rdf-graph-store"][verb]["security"] == [{"token": []}]
    assert "security" not in paths["/rdf-graph-store"]["get"]
