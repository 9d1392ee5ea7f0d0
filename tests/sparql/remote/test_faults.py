"""What a remote store may do wrong, and how each is named."""

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typing_extensions import override

from shiyi.errors import OutsideError, SettingError
from shiyi.settings import RemoteSettings
from shiyi.sparql.base.knowledge_base import check_reading
from shiyi.sparql.remote.store import RemoteStore
from tests.contracts import A
from tests.support.remote_servers import FAST, free_port
from tests.tables import from_table


def opened(address: str, remote: RemoteSettings = FAST) -> None:
    store = RemoteStore(address, remote)
    try:
        check_reading(store)
    finally:
        store.close()


def test_an_unreachable_store_is_named() -> None:
    with pytest.raises(OutsideError, match=r"cannot be reached.*start that store"):
        opened(f"http://127.0.0.1:{free_port()}/sparql", replace(FAST, retries=0))


def test_slow_store_is_named_and_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/sparql"
        with pytest.raises(OutsideError, match=r"did not answer within 0\.2 s, tried 2 times"):
            opened(address, replace(FAST, timeout=0.2))


@contextmanager
def answering(
    status: int, kind: str = "text/html", body: bytes = b"<p>Hello", **headers: str
) -> Iterator[tuple[str, list[str]]]:
    """A real HTTP server that says the same to everyone; the paths it was asked for."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/sparql", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


JSON = "application/sparql-results+json"


@from_table
def test_what_store_says_instead_of_answer_is_named(
    status: int, kind: str, body: bytes, headers: dict[str, str], text: str
) -> None:
    with answering(status, kind, body, **headers) as (address, seen):
        with pytest.raises(OutsideError, match=text):
            opened(address)
        assert len(seen) == (2 if status == 503 else 1)  # only what may pass is tried again


def test_results_that_end_too_soon_are_no_results() -> None:
    with answering(200, JSON, b'{"head":{"vars":["s"]},"results":{"bindings":[{') as (address, _):
        store = RemoteStore(address, FAST)
        with pytest.raises(OutsideError, match="did not send whole"):
            list(store.match(A))
        store.close()


def test_credentials_go_where_settings_say_and_not_shown() -> None:
    remote = replace(FAST, token="s3cret-token")  # noqa: S106 - of this test
    with answering(401) as (address, seen):
        with pytest.raises(OutsideError) as caught:
            opened(address, remote)
        assert seen == ["Bearer s3cret-token"]
    assert "s3cret" not in str(caught.value) + repr(remote)
    with pytest.raises(SettingError, match="credentials"):
        RemoteStore("http://user:s3cret@127.0.0.1/sparql")
    for wrong in ("ftp://127.0.0.1/x", "sparql", ""):
        with pytest.raises(SettingError, match="http"):
            RemoteStore(wrong)
    with pytest.raises(SettingError, match=r"remote\.profile"):
        RemoteStore("http://127.0.0.1/", replace(FAST, profile="rdf10"))


@from_table
def test_what_is_no_term_never_taken_for_one(term: dict[str, str]) -> None:
    values = {"head": {"vars": ["s", "g"]}, "results": {"bindings": [{"s": term, "g": term}]}}
    with answering(200, JSON, json.dumps(values).encode()) as (address, _):
        store = RemoteStore(address, FAST)
        with pytest.raises(OutsideError, match=r"no term|unknown kind"):
            list(store.select("SELECT ?s ?g { GRAPH ?g { ?s ?p ?o } }"))
        with pytest.raises(OutsideError, match=r"no term|unknown kind"):
            store.clear()  # which drops graphs by the names it was reported
        store.close()
