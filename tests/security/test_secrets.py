"""A planted key is in no byte that leaves: not in logs, pages, the base or errors, whatever fails."""

import io
import json
import logging
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from typing_extensions import override

from shiyi.curation.accounts import AccountStore, Role
from shiyi.errors import ShiyiError
from shiyi.prompts.openai import open_model
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.server.site.tokens import Tokens
from shiyi.settings import ModelSettings, Settings
from tests.support.bases import build
from tests.support.model_endpoints import completion
from tests.support.processes import command, serving
from tests.support.sites import PASSWORD, Visitor, csrf_in

CANARY = "sk-canary-4f1d0c3b9a77e6"
PATHS = (
    "/ask?q=枸杞+华法林", "/api/ask?q=goji+warfarin", "/api/ask/stream?q=goji", "/healthz",
    "/metrics",
    "/", "/sparql?query=x", "/nothing", "/statistics",
)  # fmt: skip
FAULTS = ("401 echo", "500 echo", "200 echo", "200 malformed", "302", "cut")


class _Echo(BaseHTTPRequestHandler):
    """An endpoint that says back every header it was sent, the key among them."""

    server: "Endpoint"

    @override
    def log_message(self, format: str, *args: object) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(self.headers.get("Authorization", ""))
        text = f"Incorrect API key provided: {self.headers.get('Authorization')}"
        fault = self.server.fault
        status = int(fault.split()[0]) if fault[0].isdigit() else 200
        body = json.dumps({"error": {"message": text, "code": "invalid_api_key"}})
        if fault == "200 echo":
            body = json.dumps(completion("m", {"content": text}))
        elif fault == "200 malformed":
            body = text
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.url}?key={CANARY}")
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", CANARY)
        self.send_header("Content-Length", str(len(body) + (50 if fault == "cut" else 0)))
        self.end_headers()
        self.wfile.write(body.encode())


class Endpoint(ThreadingHTTPServer):
    """The server of ``_Echo``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Echo)
        self.fault, self.seen = FAULTS[0], list[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def environment(endpoint: Endpoint) -> dict[str, str]:
    """Configure the endpoint as model, with the planted key in every place for a secret."""
    return {
        "OPENAI_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": CANARY,
        "SHIYI_MODELS_ANSWER": "m",
        "SHIYI_MODELS_RETRIES": "0",
        "SHIYI_CURATION_OIDC_SECRET": CANARY,
    }


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Catch what every logger says; below INFO libraries trace whatever they are sent."""
    text, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def test_a_model_error_never_repeats_the_key(endpoint: Endpoint) -> None:
    settings = ModelSettings(answer="m", timeout=5.0, retries=0)
    model = open_model(settings, {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": CANARY})
    assert model
    assert CANARY not in repr(model)
    content = ""
    for fault in FAULTS:
        endpoint.fault = fault
        with logged() as result:
            try:
                content += model.complete("hello").text if fault != "200 echo" else ""
            except ShiyiError as error:  # another kind would be a fault of its own
                import traceback

                content += "".join(traceback.format_exception_only(error))
        content += result.getvalue()
    assert CANARY not in content
    assert endpoint.seen[0] == f"Bearer {CANARY}"  # it was sent where it belongs


def test_no_page_log_or_file_holds_the_key(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(endpoint).items():
        monkeypatch.setenv(name, value)
    settings = replace(Settings(), models=ModelSettings(answer="m", timeout=3.0, retries=0))
    site = open_site(build(tmp_path / "kb"), settings)
    asked, bodies = 0, list[str]()
    try:
        client: FlaskClient = create_app(site, settings).test_client()
        with logged() as result:
            for fault in FAULTS:
                endpoint.fault = fault
                for path in PATHS:
                    reply = client.get(path, headers={"Accept": "text/html"})
                    bodies.append(reply.text + str(reply.headers))
                    asked += 1
                reply = client.post("/api/ask/sparql", json={"question": "which foods suit yin?"})
                bodies.append(reply.text)
        written = result.getvalue()
    finally:
        site.close()
    assert asked > 40
    assert len(endpoint.seen) > len(FAULTS)
    # what a model says is dropped unless its claims bear it
    assert not [body for body in bodies if CANARY in body]
    assert CANARY not in written
    paths = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert len(paths) > 5
    assert not [each for each in paths if CANARY.encode() in each.read_bytes()]


@pytest.mark.parametrize(
    "words", [["doctor"], ["doctor", "--json"], ["ask", "枸杞的性味？"], ["query", "SELECT"]]
)
def test_no_command_prints_the_key(endpoint: Endpoint, tmp_path: Path, words: list[str]) -> None:
    endpoint.fault = "401 echo"
    kb = build(tmp_path / "kb")
    address = endpoint.url.replace("//", f"//me:{CANARY}@") + f"?key={CANARY}"
    process = command(kb, *words, env=environment(endpoint) | {"OPENAI_BASE_URL": address})
    assert process.stdout + process.stderr
    assert CANARY not in process.stdout + process.stderr


PERSON = ("张三丰", "13800138000", "li.si@example.org", "fulan-8842")
QUESTION = f"我叫{PERSON[0]}，电话{PERSON[1]}，{PERSON[2]}，枸杞和华法林能一起吃吗？{PERSON[3]}"
FORWARDED = "203.0.113.77"
UPDATE = "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }"


def asked(address: str, path: str, data: bytes | None = None, **headers: str) -> int:
    request = urllib.request.Request(address + path, data, {"Accept": "*/*", **headers})  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 - our own server
            reply.read()
            return int(reply.status)
    except HTTPError as fault:
        with fault:
            return fault.code


@pytest.mark.parametrize("form", ["text", "json"])
def test_server_log_has_no_names_or_questions(
    endpoint: Endpoint, tmp_path: Path, form: str
) -> None:
    """Every request counts as slow here, so that each is logged; passwords and tokens are sent too."""
    endpoint.fault = "200 malformed"
    kb = build(tmp_path / "kb")
    AccountStore(kb).add("curator", Role.CURATOR, PASSWORD)
    write, guess, wrong = (
        Tokens(kb).add("writer", "write", 1),
        "shiyi_" + "g" * 43,
        "a wrong phrase",
    )
    env = environment(endpoint) | {
        "SHIYI_SERVER_LOG": form,
        "SHIYI_SERVER_SLOW": "0.000001",
        "SHIYI_QUERY_TIMEOUT": "2",
    }
    secrets, statuses = [CANARY, PASSWORD, wrong, write, guess], set()
    with serving(kb, env, tmp_path / "log") as (address, _):
        visitor = Visitor(address)
        page = visitor.get("/curate/sign-in")
        values = {"csrf": csrf_in(page.body), "name": "curator"}
        for secret in (wrong, PASSWORD):
            visitor.post("/curate/sign-in", values | {"password": secret})
        assert visitor.get("/curate/account").status == 200
        secrets += [values["csrf"], *(f"{cookie.value}" for cookie in visitor.cookies)]
        question, text = quote(QUESTION), f"SELECT * {{ ?s ?p '{QUESTION}' }} # {QUESTION}"
        for path in (
            f"/ask?q={question}",
            f"/api/ask?q={question}",
            f"/api/ask/stream?q={question}",
            f"/api/complete?q={question}",
            f"/concept-search?q={question}",
            f"/page/{question}",
            f"/id/{question}",
            f"/data/{question}",
            f"/{question}",
            f"/sparql?query={quote(text)}",
            f"/sparql?query={question}",
            f"/sparql?query={quote(text)}&default-graph-uri={question}",
            f"/rdf-graph-store?graph={question}",
        ):
            statuses.add(asked(address, path, None, **{"X-Forwarded-For": FORWARDED}))
        body = json.dumps(
            {"question": QUESTION, "text": QUESTION, "profile": {"conditions": [QUESTION]}}
        ).encode()
        for path in ("/api/ask", "/api/ask/sparql", "/api/ask/replay", "/api/link"):
            statuses.add(asked(address, path, body, **{"Content-Type": "application/json"}))
        for token in (write, guess):
            headers = {"Content-Type": "application/sparql-update", "User-Agent": PERSON[3]}
            headers["Authorization"] = f"Bearer {token}"
            statuses.add(asked(address, "/sparql", UPDATE.encode(), **headers))
        with urllib.request.urlopen(f"{address}/metrics", timeout=60) as reply:  # noqa: S310 - our own server
            seen = reply.read()
    log = (tmp_path / "log").read_bytes()
    assert {200, 204, 400, 401, 404} <= statuses
    assert log.count(b"slow request") > 20
    assert b"slow query" in log
    assert log.count(b"SHIYI_SERVER_PROXIES") == 1
    files = [each.read_bytes() for each in kb.rglob("*") if each.is_file()]
    for secret in (*secrets, *PERSON, FORWARDED):
        for way in {secret, quote(secret), json.dumps(secret)[1:-1]}:
            assert way.encode() not in log + seen, way
            assert not [1 for file in files if way.encode() in file], way
