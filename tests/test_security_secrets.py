"""A planted key is in no byte that leaves: not in logs, pages, the base or errors, whatever fails."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from typing_extensions import override

from shiyi.errors import ShiyiError
from shiyi.prompts.openai import model_from
from shiyi.server.app import create_app
from shiyi.server.opening import open_site
from shiyi.settings import ModelSettings, Settings
from tests.curation_base import build

CANARY = "sk-canary-4f1d0c3b9a77e6"
FAULTS = ("401 echo", "500 echo", "200 echo", "200 malformed", "302", "cut")


class _Echo(BaseHTTPRequestHandler):
    """An endpoint that says back every header it was sent, the key among them."""

    server: "Endpoint"

    @override
    def log_message(self, format: str, *args: object) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(self.headers.get("Authorization", ""))
        said = f"Incorrect API key provided: {self.headers.get('Authorization')}"
        fault = self.server.fault
        status = int(fault.split()[0]) if fault[0].isdigit() else 200
        body = json.dumps({"error": {"message": said, "code": "invalid_api_key"}})
        if fault == "200 echo":
            body = json.dumps({
                "id": "x", "object": "chat.completion", "created": 0, "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": said}}],
            })  # fmt: skip
        elif fault == "200 malformed":
            body = said
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


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Catch what every logger says; below INFO libraries trace whatever they are sent."""
    said, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(said), root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield said
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def test_a_model_error_never_repeats_the_key(endpoint: Endpoint) -> None:
    settings = ModelSettings(answer="m", timeout=5.0, retries=0)
    model = model_from(settings, {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": CANARY})
    assert model
    assert CANARY not in repr(model)
    told = ""
    for fault in FAULTS:
        endpoint.fault = fault
        with logged() as said:
            try:
                told += model.complete("hello").text if fault != "200 echo" else ""
            except ShiyiError as error:  # another kind would be a fault of its own
                import traceback

                told += "".join(traceback.format_exception_only(error))
        told += said.getvalue()
    assert CANARY not in told
    assert endpoint.seen[0] == f"Bearer {CANARY}"  # it was sent where it belongs


def test_no_page_log_or_file_holds_the_key(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": CANARY,
                        "SHIYI_CURATION_OIDC_SECRET": CANARY}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    from dataclasses import replace

    settings = replace(Settings(), models=ModelSettings(answer="m", timeout=3.0, retries=0))
    site = open_site(build(tmp_path / "kb"), settings)
    asked, bodies = 0, list[str]()
    try:
        client: FlaskClient = create_app(site, settings).test_client()
        with logged() as said:
            for fault in FAULTS:
                endpoint.fault = fault
                for path in ("/ask?q=枸杞+华法林", "/api/ask?q=goji+warfarin", "/api/ask/stream?q=goji", "/healthz",
                             "/metrics", "/", "/sparql?query=x", "/nothing", "/statistics"):  # fmt: skip
                    reply = client.get(path, headers={"Accept": "text/html"})
                    bodies.append(reply.text + str(reply.headers))
                    asked += 1
                reply = client.post("/api/ask/sparql", json={"question": "which foods suit yin?"})
                bodies.append(reply.text)
        written = said.getvalue()
    finally:
        site.close()
    assert asked > 40
    assert len(endpoint.seen) > len(FAULTS)
    # what a model says is dropped unless its claims bear it
    assert not [body for body in bodies if CANARY in body]
    assert CANARY not in written
    held = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert len(held) > 5
    assert not [each for each in held if CANARY.encode() in each.read_bytes()]


@pytest.mark.parametrize(
    "words", [["doctor"], ["doctor", "--json"], ["ask", "枸杞的性味？"], ["query", "SELECT"]]
)
def test_no_command_prints_the_key(endpoint: Endpoint, tmp_path: Path, words: list[str]) -> None:
    endpoint.fault = "401 echo"
    build(tmp_path / "kb")
    env = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": CANARY,
                        "SHIYI_MODELS_ANSWER": "m", "SHIYI_MODELS_RETRIES": "0"}  # fmt: skip
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(tmp_path / "kb"), *words],
        env=env, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout + done.stderr
    assert CANARY.encode() not in done.stdout + done.stderr
