"""The distribution, built through its sdist as an index would serve it, is whole."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.support.places import ROOT

SHIPPED = ("ontology", "shapes", "sparql", "prompts", "ingest", "server")
USE_IT = """
import sys; sys.path.insert(0, sys.argv[1])
from importlib.metadata import distributions
from shiyi.artefacts import artefact
assert artefact("shapes").is_dir() and sys.argv[1] in str(artefact("shapes"))
[found] = distributions(name="shiyi", path=[sys.argv[1]])
commands = list(found.entry_points)
assert commands
for command in commands:
    command.load()

from shiyi.cli import VERBS, command
for verb in VERBS:
    command(verb)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)  # noqa: S603 - our own build
    [built] = out.glob("*.whl")
    return built


def test_every_file_names_the_same_version() -> None:
    [version] = re.findall(
        r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    for name, pattern in (
        ("clients/python/pyproject.toml", r'^version = "(.+)"'),
        ("CITATION.cff", r"^version: (.+)"),
        ("codemeta.json", r'^  "version": "(.+)"'),
        ("ontology/shiyi.ttl", r'owl:versionInfo "(.+)"'),
    ):
        results = re.findall(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        assert results == [version], name
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_continuous_integration_runs_what_a_contributor_runs() -> None:
    flow = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text("utf-8"))
    commands = [item.get("run") for item in flow["jobs"]["check"]["steps"]]
    assert ".ci/run" in commands
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    target = container["postCreateCommand"].removeprefix("make ")
    assert f"\n{target}:" in (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.wheel
def test_the_wheel_carries_every_artefact(wheel: Path) -> None:
    tracked = [
        path
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    values = {f"shiyi/_artefacts/{path.relative_to(ROOT).as_posix()}" for path in tracked}
    assert len(values) > 50
    assert values <= set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.wheel
def test_description_on_index_has_links_that_lead_somewhere(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel)
    [name] = [each for each in files.namelist() if each.endswith(".dist-info/METADATA")]
    text = files.read(name).decode()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links), links
    assert "](https://w3id.org/shiyi/docs/screenshots/" in text


@pytest.mark.wheel
def test_every_command_of_the_wheel_loads(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    process = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-I", "-c", USE_IT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
