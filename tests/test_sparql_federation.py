"""Comunica asks us, directly and by its SERVICE; rdflib does in test_server_clients."""

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint import endpoint

REIFIES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
A, P = "https://example.org/a", "https://example.org/p"
HOME = Path(os.environ.get("COMUNICA_HOME", Path(__file__).parent))
INSTALLED = HOME / "node_modules" / "@comunica" / "query-sparql"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with endpoint(tmp_path_factory.mktemp("federation")) as (base, secret):
        asked = urllib.request.Request(  # noqa: S310 - loopback
            f"{base}/sparql", f'INSERT DATA {{ <{A}> <{P}> "甘"@zh, 3 . <urn:claim> <{REIFIES}> <<( <{A}> <{P}> 3 )>> }}'.encode(),
            {"Authorization": f"Bearer {secret}", "Content-Type": "application/sparql-update"},
        )  # fmt: skip
        urllib.request.urlopen(asked).close()  # noqa: S310 - loopback
        yield f"{base}/sparql"


def ask(sources: str, query: str) -> list[dict[str, str]]:
    """Ask Comunica; skip the test where it is not installed."""
    node = shutil.which("node")
    if not node or not INSTALLED.is_dir():
        pytest.skip(
            "Comunica is not here: npm install @comunica/query-sparql in a folder, "
            "and name it in COMUNICA_HOME"
        )
    done = subprocess.run(  # noqa: S603 - node, found above, with our own script
        [node, str(Path(__file__).parent / "comunica.mjs"), sources, query],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "COMUNICA_HOME": str(HOME)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-600:]
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_comunica_asks_us_directly(served: str) -> None:
    found = ask(f"sparql@{served}", f"SELECT ?o {{ <{A}> <{P}> ?o }}")
    assert {row["o"] for row in found} == {"甘", "3"}


def test_comunica_knows_us_for_an_endpoint_by_our_description(served: str) -> None:
    found = ask(served, f"SELECT ?o {{ <{A}> <{P}> ?o FILTER(isNumeric(?o)) }}")
    assert [row["o"] for row in found] == ["3"]


def test_comunica_joins_its_own_data_with_ours_by_service(served: str) -> None:
    query = f"SELECT ?o {{ ?s <urn:mine> 1 SERVICE <{served}> {{ ?s <{P}> ?o }} }}"
    assert {row["o"] for row in ask(f"data:<{A}> <urn:mine> 1 .", query)} == {"甘", "3"}


def test_comunica_asks_for_claims_in_rdf_11(served: str) -> None:
    reified = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#{}>"
    query = f"SELECT ?o {{ <urn:claim> {reified.format('subject')} <{A}> ; {reified.format('object')} ?o }}"
    assert [row["o"] for row in ask(f"sparql@{served}/rdf11", query)] == ["3"]
    assert ask(f"sparql@{served}", query) == []
