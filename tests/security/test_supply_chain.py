"""What Shiyi stands on is pinned by hash, listed with its licence, and loads nothing that runs."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.places import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PINS = [  # a part may be there twice, for other versions of Python
    (canonicalize_name(name), version)
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\\n]+)", LOCK, re.MULTILINE)
]
_TRAP = """
import numpy, pathlib, sys
class Trap:
    def __reduce__(self):
        return (pathlib.Path.touch, (pathlib.Path(sys.argv[1]),))
held = numpy.array([Trap()], dtype=object)
numpy.savez(sys.argv[2], strings=held, vectors=held)
"""
OPTIONS = ("requirements", "--of", "JSON", "-o")
BASE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]


@pytest.mark.parametrize("text", BASE)
def test_each_base_dependency_is_pinned_within_its_bounds(text: str) -> None:
    wanted = Requirement(text)
    results = [version for name, version in PINS if name == canonicalize_name(wanted.name)]
    assert results
    assert all(Version(version) in wanted.specifier for version in results)


def test_every_pin_has_hashes_and_no_address() -> None:
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK)
    assert len(blocks) == len(PINS) > 40
    assert all("--hash=sha256:" in block for block in blocks)
    assert not re.search(r"://|--index|--extra-index|--find-links|--trusted", LOCK)


def test_every_pin_has_its_licence_on_the_page() -> None:
    page = (ROOT / "bench/tables/licences.md").read_text("utf-8")
    rows = re.findall(r"^\| ([A-Za-z0-9._-]+) \| ([0-9][^ |]*) \|", page, re.MULTILINE)
    assert [(canonicalize_name(name), version) for name, version in rows] == PINS
    assert "not stated" not in page


def test_nothing_is_read_that_could_run() -> None:
    """No pickle, marshal or shelve, no remote code, no numpy file of objects, no eval."""
    results, looked = [], 0
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            looked += 1
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                if names & {"pickle", "marshal", "shelve", "dill", "joblib"}:
                    results.append((path.name, node.lineno))
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                values = {keyword.arg: keyword.value for keyword in node.keywords}
                on = {
                    k for k, v in values.items() if isinstance(v, ast.Constant) and v.value is True
                }
                if (name in {"eval", "exec"} and isinstance(node.func, ast.Name)) or on & {
                    "trust_remote_code",
                    "allow_pickle",
                    "shell",
                }:
                    results.append((path.name, node.lineno))
    assert looked > 100_000
    assert results == []


def test_a_planted_pickle_does_not_run(tmp_path: Path) -> None:
    from shiyi.errors import ShiyiError
    from shiyi.linking.labels import LabelIndex

    trap = tmp_path / "ran"
    process = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", _TRAP, str(trap), str(tmp_path / "vectors.npz")],
        check=True,
        capture_output=True,
    )
    assert process.returncode == 0
    trap.unlink(missing_ok=True)
    import numpy

    with numpy.load(tmp_path / "vectors.npz") as stored, pytest.raises(ValueError, match="pickle"):
        stored["vectors"]
    (tmp_path / "labels.safetensors").write_bytes((tmp_path / "vectors.npz").read_bytes())
    with pytest.raises(ShiyiError):
        LabelIndex.load(tmp_path, "sha256:x")
    assert not trap.exists()


def test_the_lock_can_be_listed(tmp_path: Path) -> None:
    """`make supply` makes an SBOM of it; here, where the tool is installed."""
    pytest.importorskip("cyclonedx_py")
    out = tmp_path / "sbom.json"
    subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "cyclonedx_py", *OPTIONS, str(out), str(ROOT / "requirements.lock")],
        check=True,
        capture_output=True,
    )
    assert len(json.loads(out.read_text("utf-8"))["components"]) == len(PINS)
