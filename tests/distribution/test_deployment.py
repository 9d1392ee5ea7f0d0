"""Several processes behind nginx, as ``server/deploy`` has it; the container and its services."""

import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from shiyi.answering.runtime import write_indexes
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import ServerSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases
from tests.support.places import ROOT

DEPLOY = ROOT / "server" / "deploy"
ASK = "/sparql?query=ASK%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D"
MAIN = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; {user}
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  include {folder}/shiyi.conf;
}}
"""


@dataclass(slots=True)
class Deployment:
    """nginx, and the two readers behind it."""

    kb: Path
    folder: Path
    port: int
    tls_port: int
    ports: tuple[int, int]
    readers: list[subprocess.Popen[bytes]]

    def start_reader(self, number: int) -> None:
        """Start ``shiyi serve --read-only``; return when it answers."""
        port = self.ports[number]
        environment = {
            "SHIYI_KB": str(self.kb), "SHIYI_SERVER_PROXIES": "1", "SHIYI_QUERY_WORKERS": "1",
            "PROMETHEUS_MULTIPROC_DIR": str(self.folder / "metrics"),
            "PYTHONHASHSEED": str(number + 1),  # 1 and 2 order a set of two names in two ways
        }  # fmt: skip
        command = [sys.executable, "-m", "shiyi", "serve", "--port", str(port), "--read-only"]
        self.readers[number:] = [
            subprocess.Popen(  # noqa: S603 - our own program
                command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.DEVNULL
            ),
            *self.readers[number + 1 :],
        ]
        wait_for(port, ASK)

    def stop_reader(self, number: int) -> None:
        self.readers[number].send_signal(signal.SIGTERM)
        self.readers[number].wait(30)


def get(
    port: int, path: str, source: str = "127.0.0.1", **headers: str
) -> tuple[int, bytes, Message]:
    """Return status, body and headers of one request."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(source, 0))
    try:
        line.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        reply = line.getresponse()
        return reply.status, reply.read(), reply.headers
    finally:
        line.close()


def wait_for(port: int, path: str) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            if get(port, path)[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"nothing answers at port {port}")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [int(each.getsockname()[1]) for each in sockets]


def start_proxy(
    folder: Path, port: int, tls_port: int, ports: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start nginx, as it is deployed, before the readers at two ports."""
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("no nginx: apt-get install nginx-light")
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    for name, here in (
        ("reader-1:8000", f"127.0.0.1:{ports[0]}"),
        ("reader-2:8000", f"127.0.0.1:{ports[1]}"),
        ("writer:8000", f"127.0.0.1:{ports[0]}"),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("/var/cache/nginx/shiyi", str(folder / "cache")),
        ("/etc/nginx/tls/*.conf", str(folder / "tls.conf")),
    ):
        assert name in text
        text = text.replace(name, here)
    tls = (DEPLOY / "tls.conf").read_text("utf-8").replace("/etc/nginx/tls", str(folder))
    (folder / "tls.conf").write_text(tls.replace("listen 443", f"listen 127.0.0.1:{tls_port}"))
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    made_by = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject)
    files = ("-keyout", folder / "key.pem", "-out", folder / "full.pem")
    subprocess.run((*made_by, *files), check=True, capture_output=True)  # noqa: S603
    (folder / "shiyi.conf").write_text(text, "utf-8")
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=user), "utf-8")
    return subprocess.Popen([nginx, "-c", str(folder / "nginx.conf")])  # noqa: S603


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("nginx")
    port, tls_port, *ports = free_ports(4)
    proxy = start_proxy(folder, port, tls_port, ports)
    (folder / "metrics").mkdir()
    build_generation(folder / "kb", bases.kitchen_quads(), {})
    with KnowledgeBase.open(folder / "kb") as base:
        write_indexes(base, Settings())
    made = Deployment(folder / "kb", folder, port, tls_port, (ports[0], ports[1]), [])
    try:
        for number in range(2):
            made.start_reader(number)
        wait_for(port, ASK)
        yield made
    finally:
        for process in (proxy, *made.readers):
            process.terminate()
        for process in (proxy, *made.readers):
            process.wait(30)


def concepts(port: int) -> list[str]:
    query = quote("SELECT ?c {?c a <https://w3id.org/shiyi/vocab#MFHSubstance>}", safe="")
    text = get(port, f"/sparql?format=csv&query={query}")[1].decode()
    return [iri.rpartition("/id/")[2] for iri in text.split()[1:]]


def addresses() -> Iterator[str]:
    """Yield loopback addresses in turn, so that no one is over its rate."""
    while True:
        for number in range(2, 200):
            yield f"127.0.3.{number}"


def test_page_is_compressed_and_cached_by_its_etag(deployment: Deployment) -> None:
    path = f"/page/{concepts(deployment.ports[0])[0]}"
    headers = {"Accept_Encoding": "gzip", "Accept_Language": "en"}
    status, body, first = get(deployment.port, path, **headers)
    assert (status, first["Content-Encoding"], first["X-Cache"]) == (200, "gzip", "MISS")
    assert len(body) * 2 < len(get(deployment.port, path, Accept_Language="en")[1])
    assert get(deployment.port, path, **headers)[2]["X-Cache"] == "HIT"
    assert get(deployment.port, path, Accept_Language="zh")[2]["X-Cache"] == "MISS"
    assert get(deployment.port, path, If_None_Match=first["ETag"], **headers)[0] == 304


def test_page_in_named_language_is_cached(deployment: Deployment) -> None:
    path = f"/page/{concepts(deployment.ports[0])[0]}?lang=zh"
    replies = [get(deployment.port, path)[2] for _ in range(2)]
    assert [each["X-Cache"] for each in replies] == ["MISS", "HIT"]
    assert all(each["Set-Cookie"].startswith("lang=zh; ") for each in replies)


class _CookieSetter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.send_header("Set-Cookie", self.headers["X-Cookie"])
        self.end_headers()


def test_response_that_sets_another_cookie_is_not_cached(tmp_path: Path) -> None:
    language = (
        "lang=en; Expires=Sun, 3 Jan 2027 0:0:0 GMT; Max-Age=9; HttpOnly; Path=/; SameSite=Lax"
    )
    cookies = (language, "shiyi_session=1; Path=/", f"{language}, shiyi_session=1", "lang=1")
    port, tls_port = free_ports(2)
    with HTTPServer(("127.0.0.1", 0), _CookieSetter) as reader:
        threading.Thread(target=reader.serve_forever, daemon=True).start()
        proxy = start_proxy(tmp_path, port, tls_port, [reader.server_port] * 2)
        try:
            for path, cookie in zip(map("/page/{}".format, range(4)), cookies, strict=True):
                wait_for(port, "/")
                seen = [get(port, path, X_Cookie=cookie)[2]["X-Cache"] for _ in range(2)]
                assert seen == ["MISS", "HIT" if cookie == language else "MISS"]
        finally:
            proxy.terminate()
            proxy.wait(30)
            reader.shutdown()


def test_one_of_the_readers_makes_a_page(deployment: Deployment) -> None:
    def made() -> float:
        text = get(deployment.ports[0], "/metrics")[1].decode()
        match = re.search(r'shiyi_cache_misses_total\{.*kind="pages".*\} ([\d.]+)', text)
        return float(match[1]) if match else 0.0

    path, before = f"/page/{concepts(deployment.ports[0])[2]}?lang=en&n=0", -1.0
    while (now := made()) != before:  # the readers make their slow pages first, while idle
        before = now
        time.sleep(4)
    for _ in range(6):  # the proxy asks a reader each time
        assert get(deployment.port, path, Authorization="Bearer x")[0] == 200
    assert made() == before + 1


def test_hsts_is_sent_over_tls_only(deployment: Deployment) -> None:
    context = ssl.create_default_context(cafile=deployment.folder / "full.pem")
    for path in (ASK, "/healthz", f"/page/{concepts(deployment.ports[0])[0]}"):
        forwarded = get(deployment.port, path, X_Forwarded_Proto="https")[2]
        line = http.client.HTTPSConnection(
            "127.0.0.1", deployment.tls_port, timeout=30, context=context
        )
        line.request("GET", path)
        direct = line.getresponse()
        assert direct.status == 200
        for secure in (forwarded, direct.headers):
            assert int(secure["Strict-Transport-Security"].removeprefix("max-age=")) >= 31_536_000
        line.close()
        assert "Strict-Transport-Security" not in get(deployment.port, path)[2]


def test_what_depends_on_a_token_is_not_cached(deployment: Deployment) -> None:
    path = f"/data/{concepts(deployment.ports[0])[1]}.ttl"
    for _ in range(2):
        assert get(deployment.port, path, Authorization="Bearer x")[2]["X-Cache"] == "BYPASS"


def test_slow_clients_keep_nobody_waiting(deployment: Deployment) -> None:
    """40 send half a head, 20 half a body; 40 ask for pages and read nothing; 400 requests pass."""
    names, sources = concepts(deployment.ports[0]), addresses()
    half = f"GET {ASK} HTTP/1.1\r\nHost: a\r\nX-Slow: ".encode()
    body = b"POST /api/link HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{"
    deaf = b"".join(f"GET /page/{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for name in names[:30])
    with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
        for block in [half] * 40 + [body] * 20 + [deaf] * 40:
            line = socket.create_connection(
                ("127.0.0.1", deployment.port), 20, source_address=(next(sources), 0)
            )
            stack.enter_context(line).sendall(block)
        paths = [f"/page/{names[n % len(names)]}?n={n}" for n in range(200)] + [ASK] * 200
        began = time.monotonic()
        replies = pool.map(lambda path: get(deployment.port, path, next(sources))[0], paths)
        assert set(replies) == {200}
        assert time.monotonic() - began < 120
    assert {get(port, "/healthz")[0] for port in deployment.ports} == {200}


def test_readers_are_restarted_without_losing_a_request(deployment: Deployment) -> None:
    sources, stop = addresses(), threading.Event()

    def ask() -> list[int]:
        results = list[int]()
        while not stop.is_set():
            results.append(get(deployment.port, ASK, next(sources))[0])
        return results

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        for number in range(2):
            deployment.stop_reader(number)
            deployment.start_reader(number)
        stop.set()
    assert set(asking.result()) == {200}
    assert len(asking.result()) > 10


def test_address_over_rate_429_and_others_not(deployment: Deployment) -> None:
    with ThreadPoolExecutor(8) as pool:
        flood = list(
            pool.map(lambda _: get(deployment.port, "/healthz", "127.0.4.1")[0], range(150))
        )
    assert set(flood) == {200, 429}
    assert get(deployment.port, "/healthz", "127.0.4.2")[0] == 200


def test_the_readers_are_counted_together(deployment: Deployment) -> None:
    for port in deployment.ports:
        get(port, "/favicon.ico")
    counts = set()
    for port in deployment.ports:
        text = get(port, "/metrics")[1].decode()
        match = re.search(r'shiyi_requests_total\{.*route="/favicon.ico".*\} ([\d.]+)', text)
        assert match
        counts.add(float(match[1]))
    assert counts == {2.0}
    assert get(deployment.port, "/metrics")[0] == 403


@pytest.mark.parametrize(("proxies", "believed"), [(0, False), (1, True)])
def test_proxy_headers_are_trusted_by_setting_only(
    small_kb: Path, proxies: int, believed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(Settings(), server=ServerSettings(proxies=proxies))
    site = open_site(small_kb, settings)
    try:
        client = create_app(site, settings).test_client()
        values = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
        assert client.get("/robots.txt", headers=values).status_code == 200
        page = client.get("/curate/sign-in", headers=values)
        assert page.status_code == 200
        assert caplog.text.count("SHIYI_SERVER_PROXIES") == (0 if believed else 1)
        cookies = " ".join(page.headers.getlist("Set-Cookie"))
        assert "shiyi_session=" in cookies
        assert ("Secure" in cookies) is believed
    finally:
        site.close()


def test_image_copies_existing_files_and_runs_unprivileged() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    sources = [name for group in copied for name in group if not name.startswith(("--", "/opt"))]
    let_in = {
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
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
    assert "--require-hashes" in text
    assert re.search(r"^USER \d+$", text, re.MULTILINE)
    assert "HEALTHCHECK" in text


def test_every_service_is_read_only_without_capabilities() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    services = [item for item in compose["services"].values() if item.get("image") == "shiyi"]
    assert len(services) == 3
    published = [item["ports"] for item in compose["services"].values() if "ports" in item]
    assert published == [["443:443"]]  # nothing without TLS
    for service in services:
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
        assert service["mem_limit"]


def test_the_proxy_sends_writes_to_the_writer() -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    rules = re.findall(r'^\s*"(~[^"]+)"\s+(\w+);', text, re.MULTILINE)
    assert len(rules) == 3

    def where(method: str, path: str) -> str:
        matching = (to for rule, to in rules if re.match(rule[1:], f"{method}:{path}"))
        return next(matching, "readers")

    assert where("GET", "/ask") == where("POST", "/api/ask") == "readers"
    assert where("GET", "/curate/queue") == where("POST", "/curate/claim") == "writer"
    assert where("PUT", "/rdf-graph-store") == where("POST", "/sparql") == "writer"
    assert "proxy_set_header Host $http_host;" in text  # $host leaves the port out of addresses
