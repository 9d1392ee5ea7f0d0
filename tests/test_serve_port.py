"""Which port `shiyi serve` listens at: the command itself, in a process of its own."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from shiyi.sparql.generations import build_generation
from tests import kitchen


def has_ipv6() -> bool:
    """Tell whether this machine has a loopback address of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


WITH_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, quads = tmp_path_factory.mktemp("port") / "kb", list(kitchen.quads())
    build_generation(made, quads, {"quads": len(quads)})
    return made


@contextmanager
def said(kb: Path, *more: str, **env: str) -> Iterator[str]:
    """Start the command; give the line that says where it listens."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", *more],
        stderr=subprocess.PIPE, text=True, env=os.environ | env,
    )  # fmt: skip
    assert process.stderr
    try:
        yield next(line for line in process.stderr if "http://" in line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize(
    ("more", "env"),
    [
        (["--port", "0"], {}), (["--port", "0"], {"SHIYI_SERVER_LOG": "json"}),
        ([], {"SHIYI_SERVER_PORT": "0"}), (["--port", "0"], {"SHIYI_SERVER_PORT": "1"}),
        pytest.param(["--port", "0", "--host", "::1"], {}, marks=WITH_IPV6),
    ],
)  # fmt: skip
def test_port_0_is_a_free_one_that_the_log_says(
    kb: Path, more: list[str], env: Mapping[str, str]
) -> None:
    with said(kb, *more, **env) as line:
        if env.get("SHIYI_SERVER_LOG"):
            line = json.loads(line)["message"]
        found = re.search(r"http://(\[::1\]|127\.0\.0\.1):([0-9]+)$", line.strip())
        assert found
        assert int(found[2]) not in {0, 8000}
        with urllib.request.urlopen(f"{found[0]}/healthz", timeout=20) as reply:  # noqa: S310 - it is http
            assert reply.status == 200


def test_a_number_that_is_no_port_is_told_and_not_a_fault(kb: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port", "70000"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "server.port" in done.stderr
    assert "Traceback" not in done.stderr
