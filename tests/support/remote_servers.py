"""Real SPARQL servers for the tests, on loopback: `oxigraph serve` and Virtuoso."""

import random
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.settings import RemoteSettings

Server = tuple[str, RemoteSettings]
DEFAULT = "https://w3id.org/shiyi/graph/default"
FAST = RemoteSettings(timeout=20.0, retries=1)
_INI = """
[Database]
DatabaseFile = {home}/virtuoso.db
ErrorLogFile = {home}/virtuoso.log
LockFile = {home}/virtuoso.lck
TransactionFile = {home}/virtuoso.trx
xa_persistent_file = {home}/virtuoso.pxa
[TempDatabase]
DatabaseFile = {home}/virtuoso-temp.db
TransactionFile = {home}/virtuoso-temp.trx
[Parameters]
ServerPort = {sql}
ServerThreads = 10
NumberOfBuffers = {buffers}
DirsAllowed = {home}
[HTTPServer]
ServerPort = {http}
ServerThreads = 10
[SPARQL]
ResultSetMaxRows = {rows}
MaxQueryExecutionTime = 300
"""


def free_port() -> int:
    """Find a free port below the ephemeral ones: Virtuoso takes seconds to open its port."""
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as opened:
            try:
                opened.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")


def program(name: str) -> str:
    """Find a program beside this interpreter or on the path; skip the test without it."""
    import sys

    result = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not result:
        pytest.skip(f"{name} is not installed: {_HINTS[name]}")
    return result


_HINTS = {
    "oxigraph": "pip install oxigraph", "virtuoso-t": "apt install virtuoso-opensource",
    "isql-vt": "apt install virtuoso-opensource",
}  # fmt: skip


@contextmanager
def oxigraph(folder: Path, *, read_only: bool = False, union: bool = False) -> Iterator[Server]:
    """Serve an empty store with triple terms: its query address and the settings for it."""
    port, verb = free_port(), "serve-read-only" if read_only else "serve"
    command = [program("oxigraph"), verb, "--location", str(folder), "--bind", f"127.0.0.1:{port}"]
    command += ["--union-default-graph"] if union else []
    base = f"http://127.0.0.1:{port}"
    with _running(command, f"{base}/query", folder.parent):
        yield f"{base}/query", replace(FAST, update=f"{base}/update", graph_store=f"{base}/store")


@contextmanager
def virtuoso(folder: Path, rows: int = 1_000_000, buffers: int = 10_000) -> Iterator[Server]:
    """Serve an empty store of RDF 1.1, buffers of 8 KB: its query address and the settings."""
    server, isql = program("virtuoso-t"), program("isql-vt")
    sql, http = free_port(), free_port()
    folder.mkdir(parents=True)
    ini = folder / "virtuoso.ini"
    ini.write_text(
        _INI.format(home=folder, sql=sql, http=http, rows=rows, buffers=buffers), "utf-8"
    )
    base = f"http://127.0.0.1:{http}"
    command = [server, "+foreground", "+configfile", str(ini)]
    with _running(command, f"{base}/sparql?query=ASK%7B%7D", folder):
        grants = 'GRANT SPARQL_UPDATE TO "SPARQL"; '
        grants += "DB.DBA.RDF_DEFAULT_USER_PERMS_SET('nobody', 7);"
        subprocess.run(  # noqa: S603 - the program that came with the server
            [isql, f"127.0.0.1:{sql}", "dba", "dba", f"EXEC={grants}"],
            check=True,
            capture_output=True,
            timeout=60,
        )
        everyone_knows_it = "dba"
        yield (
            f"{base}/sparql",
            replace(
                FAST,
                update=f"{base}/sparql-auth",
                profile="rdf11",
                default_graph=DEFAULT,
                user="dba",
                password=everyone_knows_it,
                auth="digest",
                graph_parameter="graph-uri",
                batch=500,
                graph_store=f"{base}/sparql-graph-crud-auth",
                page=min(rows, 5000),
            ),
        )


@contextmanager
def _running(command: list[str], address: str, folder: Path) -> Iterator[None]:
    log = folder / "server.out"
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out)  # noqa: S603 - found above
        try:
            for _ in range(300):
                if server.poll() is not None:
                    raise RuntimeError(
                        f"{command[0]} ended: {log.read_text(errors='replace')[-800:]}"
                    )
                try:
                    urllib.request.urlopen(address, timeout=2).close()  # noqa: S310 - loopback
                except urllib.error.HTTPError as answer:
                    answer.close()
                    break
                except OSError:
                    time.sleep(0.1)
                else:
                    break
            else:
                raise RuntimeError(f"{command[0]} did not start")
            yield
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Serve an empty store by each engine in turn."""
    folder = tmp_path_factory.mktemp("server") / "store"
    with oxigraph(folder) if request.param == "oxigraph" else virtuoso(folder) as results:
        yield results
