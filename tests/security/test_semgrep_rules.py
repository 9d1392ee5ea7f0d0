"""Our rules for semgrep find what they name, and nothing beside it; run by ``make supply``."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.tables import cases

RULES = ROOT / "tests" / "security" / "semgrep"
IDS = frozenset(
    re.findall(
        r"^  - id: (\S+)$", "".join(p.read_text("utf-8") for p in RULES.glob("*.yml")), re.MULTILINE
    )
)
# what each rule finds, and what looks like it and is sound
SAMPLES = cases("security", "semgrep_samples")


OPTIONS = "scan --metrics off --disable-version-check --no-git-ignore --json --config"


def semgrep() -> str:
    """Return the program; where ``make supply`` has not brought it, the test is left out."""
    path = ROOT / "build" / "supply" / "bin" / "semgrep"
    program = str(path) if path.exists() else shutil.which("semgrep")
    if program is None:
        pytest.skip("semgrep is not installed: make supply brings it")
    return program


def test_every_rule_has_samples_and_every_sample_rule() -> None:
    assert len(IDS) > 25
    assert {(rule, kind) for rule, kind, *_ in SAMPLES} == {
        (rule, kind) for rule in IDS for kind in ("wrong", "sound")
    }


def test_each_rule_finds_planted_fault_only(tmp_path: Path) -> None:
    wanted, program = set(), semgrep()
    home = tmp_path / "sample"
    home.mkdir()
    for at, (rule, kind, suffix, text) in enumerate(SAMPLES):
        name = f"{rule}-{kind}-{at}{suffix}"
        (home / name).write_text(text + "\n", "utf-8")
        if kind == "wrong":
            wanted.add((rule, name))
    process = subprocess.run(  # noqa: S603 - the program found above
        [program, *OPTIONS.split(), str(RULES), str(home)],
        check=False,
        capture_output=True,
        cwd=tmp_path,
    )
    output = json.loads(process.stdout)
    assert output["errors"] == []
    results = {
        (rule := item["check_id"].rpartition(".")[2], Path(item["path"]).name)
        for item in output["results"]
        if Path(item["path"]).name.startswith(item["check_id"].rpartition(".")[2])
    }
    assert wanted - results == set()
    assert results - wanted == set()
