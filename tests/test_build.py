"""Building a base: what describes it, and its second process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import shiyi
from shiyi.build import _second_process, add_description
from shiyi.errors import OutsideError
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import RDF, RDFS, SHIYI


def test_what_two_rows_state_is_counted_once() -> None:
    school, graph = NamedNode("https://e.org/school"), DefaultGraph()
    quads = [
        Quad(school, RDF.type, SHIYI.School, graph),
        Quad(school, RDFS.label, Literal("school", language="en"), graph),
    ]
    assert add_description(quads * 2) == add_description(quads)


@pytest.mark.slow
def test_killed_build_process_gives_an_error() -> None:
    with pytest.raises(OutsideError, match="is memory short"), _second_process() as executor:
        executor.submit(os._exit, 1).result()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["kill", "terminate"])
def test_second_process_ends_with_a_killed_build(way: str) -> None:
    program = (
        "import os, time; from shiyi.build import _second_process\n"
        "with _second_process() as executor: "
        "print(executor.submit(os.getpid).result(), flush=True); time.sleep(60)"
    )
    with subprocess.Popen((sys.executable, "-c", program), stdout=subprocess.PIPE) as build:  # noqa: S603 - our own program
        second = int(build.stdout.readline() if build.stdout else 0)
        getattr(build, way)()
    until = time.monotonic() + 30
    while (path := Path(f"/proc/{second}")).exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not path.exists()


def test_process_pools_are_opened_at_one_place() -> None:
    files = Path(shiyi.__file__).parent.rglob("*.py")
    opened = [file.name for file in files if "ProcessPoolExecutor(" in file.read_text("utf-8")]
    assert opened == ["background.py"]
