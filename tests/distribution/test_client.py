"""The Python client, its notebook and the curl recipes, against a running server."""

import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from shiyi_client import (
    NotFoundError,
    QueryError,
    RefusedError,
    Shiyi,
    ShiyiClientError,
    UnreachableError,
)

from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def address(starter_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from waitress.server import create_server

    from shiyi.publishing.release import ReleaseRequest, publish
    from tests.publishing.test_dumps import planted

    releases = tmp_path_factory.mktemp("releases")
    publish(
        planted(),
        releases,
        ReleaseRequest("1.0.0", "2026-11-21", "sha256:x", "https://w3id.org/shiyi/"),
    )
    settings = replace(Settings(), kb=starter_kb)
    settings = replace(settings, server=replace(settings.server, releases=str(releases)))
    site = open_site(starter_kb, settings, read_only=True)
    server = create_server(create_app(site), map={}, host="127.0.0.1", port=0, threads=4)

    def run() -> None:
        with suppress(OSError):  # the socket is closed below while it is waited on
            server.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()
        thread.join(10)
        site.close()


def test_question_is_answered_with_typed_citations_and_warnings(address: str) -> None:
    answer = Shiyi(address).ask("枸杞子和华法林可以一起吃吗？", profile={"medicines": ["warfarin"]})
    assert not answer.abstained
    assert answer.warnings[0].claims
    assert 0 < answer.citations[0].confidence <= 1
    assert answer.release == Shiyi(address).health()["release"]


def test_what_is_found_can_be_looked_at_closer(address: str) -> None:
    server = Shiyi(address)
    goji = next(item for item in server.search("枸杞") if item.label_zh == "枸杞子")
    claims = server.claims(goji.iri, "hasNature")
    assert claims
    assert [claim.confidence for claim in claims] == sorted(
        (c.confidence for c in claims), reverse=True
    )
    whole = server.claim(claims[0].iri)
    assert (whole.subject, whole.object) == (goji.iri, claims[0].object)
    assert whole.evidence
    assert "skos:prefLabel" in server.describe(goji.iri)
    [mention] = [item for item in server.link("我吃枸杞子") if item.iri]
    assert mention.iri == goji.iri


def test_rows_have_numbers_and_mistakes_have_lines(address: str) -> None:
    server = Shiyi(address)
    assert server.query('SELECT (1 AS ?i) (0.5 AS ?d) ("x" AS ?t) {}') == [
        {"i": 1, "d": 0.5, "t": "x"}
    ]
    assert server.query("ASK {}") == [{"boolean": True}]
    with pytest.raises(QueryError) as caught:
        server.query("SELECT * {\n ?s ?p }")
    assert caught.value.line == 2
    with pytest.raises(RefusedError):
        server.claims("https://example.org/x> ?p ?o } #")


def test_errors_say_what_to_do(address: str) -> None:
    server = Shiyi(address)
    with pytest.raises(NotFoundError, match=r"search\(\)"):
        server.describe("https://w3id.org/shiyi/id/nothing")
    with pytest.raises(ShiyiClientError, match="is no claim"):
        server.claim("https://w3id.org/shiyi/id/tier-textbook")
    with pytest.raises(RefusedError):
        server.ask("")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(UnreachableError, match="shiyi serve"):
        Shiyi(f"http://127.0.0.1:{port}").health()


def test_a_release_is_downloaded_and_checked(address: str, tmp_path: Path) -> None:
    server = Shiyi(address)
    assert [release.version for release in server.releases()] == ["1.0.0"]
    got = server.download("shiyi.nq.gz", tmp_path)
    assert got.read_bytes()[:2] == b"\x1f\x8b"
    with pytest.raises(ShiyiClientError, match=r"has no nothing; it has .*shiyi\.nq\.gz"):
        server.download("nothing", tmp_path)
    assert list(tmp_path.iterdir()) == [got]


def test_the_notebook_runs(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIYI_URL", address)
    notebook = json.loads((ROOT / "clients/python/shiyi.ipynb").read_text("utf-8"))
    cells = ["".join(item["source"]) for item in notebook["cells"] if item["cell_type"] == "code"]
    assert len(cells) >= 5
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "shiyi.ipynb", "exec"), names)  # noqa: S102 # our own notebook


def test_every_curl_recipe_works(address: str, tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    page = (ROOT / "docs/how-to/clients.md").read_text("utf-8")
    recipes = [text for text in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "curl" in text]
    assert len(recipes) >= 10
    for recipe in recipes:
        command = recipe.replace("http://127.0.0.1:8000", address).replace(
            "curl ", "curl --fail-with-body --retry 8 "
        )
        process = subprocess.run(  # noqa: S603 # the page's own recipes
            ["/bin/sh", "-e", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, f"{recipe}\n{process.stdout[:500]}\n{process.stderr[-500:]}"
