import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from shiyi.server.app import create_app
from shiyi.server.opening import open_site
from shiyi.settings import ServerSettings, Settings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "server" / "deploy"
ASK = "/sparql?query=ASK%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D"


def get(address: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(address, timeout=20) as response:  # noqa: S310
        return response.status, response.read()


@pytest.fixture(scope="module")
def readers(shared_kb: Path) -> Iterator[tuple[str, int]]:
    with gunicorn(shared_kb) as served:
        yield served


@contextmanager
def gunicorn(kb: Path) -> Iterator[tuple[str, int]]:
    """Serve ``kb`` from two processes; give the address and the number of the first process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "gunicorn", "-c", str(DEPLOY / "gunicorn.py")], cwd=ROOT,
        env={**os.environ, "SHIYI_KB": str(kb), "SHIYI_BIND": f"127.0.0.1:{port}"},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                if get(f"{address}{ASK}")[0] == 200:
                    break
            except (OSError, urllib.error.URLError):
                time.sleep(0.2)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(60)


def children(pid: int) -> set[int]:
    said = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return {int(each) for each in said.split()}


def test_who_asks_does_not_say_where_pages_lie(readers: tuple[str, int]) -> None:
    line = http.client.HTTPConnection(readers[0].removeprefix("http://"), timeout=20)
    line.request("GET", "/elsewhere/browse", headers={"SCRIPT_NAME": "/elsewhere"})
    assert line.getresponse().status == 404
    line.close()


def test_readers_are_started_anew_without_losing_a_request(
    readers: tuple[str, int], shared_kb: Path
) -> None:
    address, pid = readers
    before, failures, served = children(pid), list[str](), 0
    assert len(before) == 2
    stop = threading.Event()

    def keep_asking() -> None:
        nonlocal served
        while not stop.is_set():
            try:
                served += get(f"{address}{ASK}")[0] == 200
            except (OSError, urllib.error.URLError) as fault:
                failures.append(str(fault))
            time.sleep(0.01)

    asker = threading.Thread(target=keep_asking)
    asker.start()
    os.kill(pid, signal.SIGHUP)
    for _ in range(300):
        if len(after := children(pid)) == 2 and not after & before:
            break
        time.sleep(0.1)
    stop.set()
    asker.join()
    assert not children(pid) & before
    assert failures == []
    assert served >= 2
    rows = get(f"{address}{ASK}")[1]
    assert json.loads(rows)["boolean"] is True
    kept = {int(each.name.partition("-")[0]) for each in (shared_kb / "snapshots").iterdir()}
    assert children(pid) <= kept
    assert not before & kept  # else a whole generation stays on the disk


def test_a_connection_that_is_kept_is_ended_in_the_end_and_said_to_be(
    readers: tuple[str, int],
) -> None:
    """Else those of a proxy gather at one of the processes."""
    host, _, port = readers[0].removeprefix("http://").partition(":")
    line = http.client.HTTPConnection(host, int(port), timeout=20)
    said = list[str | None]()
    while (
        "close" not in said and len(said) < 5000
    ):  # each ends it with a chance of one in a hundred
        line.request("GET", "/healthz")
        reply = line.getresponse()
        reply.read()
        said.append(reply.headers["Connection"])
    line.close()
    assert said[-1] == "close"
    assert set(said[:-1]) <= {"keep-alive"}


def line_to(readers: tuple[str, int]) -> socket.socket:
    host, _, port = readers[0].removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def read(line: socket.socket, until: bytes) -> bytes:
    said = b""
    while until not in said and (part := line.recv(65536)):
        said += part
    return said


def test_requests_that_come_together_are_answered_in_turn(readers: tuple[str, int]) -> None:
    """Unless an answer before the last ends the line, as one in a hundred does."""
    ask, said = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n", b""
    told = (b'"boolean"', b'"completions"', b"HTTP/1.1 404")
    for _ in range(20):
        with line_to(readers) as line:
            line.sendall(
                b"".join(ask % each for each in (ASK.encode(), b"/api/complete?q=q", b"/none"))
            )
            said = read(line, told[-1])
        if told[-1] in said:
            break
    places = [said.index(each) for each in told]
    assert places == sorted(places)


def test_a_head_has_no_body_and_a_body_may_be_waited_for(readers: tuple[str, int]) -> None:
    with line_to(readers) as line:
        line.sendall(b"HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        head, _, body = read(line, b"never").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert int(re.findall(rb"Content-Length: (\d+)", head)[0]) > 0
        assert body == b""
    with line_to(readers) as line:
        asked = b'{"text": "gou"}'
        line.sendall(
            b"POST /api/link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(asked)
        )
        assert read(line, b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        line.sendall(asked)
        assert read(line, b"mentions").startswith(b"HTTP/1.1 200")


def test_who_is_told_to_go_and_stays_keeps_nobody_waiting(readers: tuple[str, int]) -> None:
    with ExitStack() as kept:
        for _ in range(40):  # more than there are threads
            line = kept.enter_context(line_to(readers))
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert b"Connection: close" in read(line, b"\r\n\r\n")
        for _ in range(20):
            assert get(f"{readers[0]}{ASK}")[0] == 200


def test_who_says_nothing_or_half_a_head_holds_no_thread(readers: tuple[str, int]) -> None:
    begun = f"GET {ASK} HTTP/1.1\r\nHost: a\r\nX-Slow: ".encode()
    with ExitStack() as kept:
        slow = [kept.enter_context(line_to(readers)) for _ in range(60)]
        for line in slow[::2]:
            line.sendall(begun)
        for _ in range(20):
            assert get(f"{readers[0]}{ASK}")[0] == 200
        for line in slow[1::2]:
            line.sendall(begun)
        for line in slow:
            line.settimeout(0.05)
            with pytest.raises(TimeoutError):
                line.recv(1)
            line.settimeout(20)
            line.sendall(b"1\r\n\r\n")
            assert read(line, b"\r\n\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(("proxies", "believed"), [(0, False), (1, True)])
def test_a_proxy_is_believed_only_where_settings_say_there_is_one(
    small_kb: Path, proxies: int, believed: bool
) -> None:
    settings = replace(Settings(), server=ServerSettings(proxies=proxies))
    site = open_site(small_kb, settings)
    try:
        client = create_app(site, settings).test_client()
        told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
        page = client.get("/curate/sign-in", headers=told)
        assert page.status_code == 200
        cookies = " ".join(page.headers.getlist("Set-Cookie"))
        assert "shiyi_session=" in cookies
        assert ("Secure" in cookies) is believed
    finally:
        site.close()


def test_the_image_copies_files_that_are_there_and_runs_as_nobody_in_particular() -> None:
    said = (DEPLOY / "Dockerfile").read_text("utf-8")
    copied = [line.split()[1:-1] for line in said.splitlines() if line.startswith("COPY ")]
    sources = [name for each in copied for name in each if not name.startswith(("--", "/opt"))]
    let_in = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
              if line.startswith("!")}  # fmt: skip
    assert sources
    assert all((ROOT / name).exists() for name in sources)
    assert {name.partition("/")[0] for name in sources} - {"."} <= let_in
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert {
        *wheel["targets"]["wheel"]["force-include"],
        "src",
        "pyproject.toml",
        "README.md",
    } <= let_in
    assert not {"kb", "build", ".venv", ".git", "bench", "tests"} & let_in
    assert "--require-hashes" in said
    assert re.search(r"^USER \d+$", said, re.MULTILINE)
    assert "HEALTHCHECK" in said


def test_every_service_of_ours_is_read_only_and_without_capabilities() -> None:
    said = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    ours = [each for each in said["services"].values() if each.get("image") == "shiyi"]
    assert len(ours) == 2
    for each in ours:
        assert each["read_only"]
        assert each["cap_drop"] == ["ALL"]
        assert (DEPLOY / each["build"]["context"] / each["build"]["dockerfile"]).exists()
        assert each["mem_limit"]


def test_the_proxy_sends_whoever_writes_to_the_process_that_writes() -> None:
    said = (DEPLOY / "nginx.conf").read_text("utf-8")
    rules = re.findall(r'^\s*"(~[^"]+)"\s+(\w+);', said, re.MULTILINE)
    assert len(rules) == 3

    def where(method: str, path: str) -> str:
        matching = (to for rule, to in rules if re.match(rule[1:], f"{method}:{path}"))
        return next(matching, "readers")

    assert where("GET", "/ask") == where("POST", "/api/ask") == "readers"
    assert where("GET", "/curate/queue") == where("POST", "/curate/claim") == "writer"
    assert where("PUT", "/rdf-graph-store") == where("POST", "/sparql") == "writer"
    assert "proxy_set_header Host $http_host;" in said  # $host leaves the port out of addresses
