"""Work in the background has the lowest priority, can be stopped, and ends with its parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shiyi.sparql.sandbox.background import LOWEST, run_in_background

pytestmark = pytest.mark.slow


def note_priority(file: Path) -> None:
    file.write_text(str(os.nice(0)), encoding="ascii")


def work_in(folder: Path) -> None:
    """Work until stopped, and remove what was begun."""
    path = folder / "begun"
    path.touch()
    try:
        time.sleep(60)
    finally:
        path.unlink()
        (folder / "removed").touch()


def fail() -> None:
    sys.exit(3)


def wait_for(file: Path) -> None:
    for _ in range(600):
        if file.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"no {file.name}")


def test_it_runs_at_priority_and_reports_status(tmp_path: Path) -> None:
    for priority, wanted in ((LOWEST, LOWEST), (0, os.nice(0))):
        assert run_in_background(note_priority, tmp_path / "priority", priority=priority) == 0
        assert (tmp_path / "priority").read_text(encoding="ascii") == str(wanted)
    assert run_in_background(fail) == 3


def test_what_is_stopped_removes_what_it_began(tmp_path: Path) -> None:
    assert run_in_background(work_in, tmp_path, is_closed=(tmp_path / "begun").exists)
    assert [path.name for path in tmp_path.iterdir()] == ["removed"]


def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from shiyi.sparql.sandbox.background import run_in_background\n"
        "from tests.sparql.sandbox.test_background import work_in\n"
        "run_in_background(work_in, Path(sys.argv[1]))\n"
    )
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, cwd=root) as parent:  # noqa: S603 - our own program
        wait_for(tmp_path / "begun")
        parent.kill()
    wait_for(tmp_path / "removed")
    assert not (tmp_path / "begun").exists()
