"""A source that changed, killed wherever it is brought up to date: the next run ends it."""

import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.ingest.concepts import concept_quads, read_concepts
from shiyi.ingest.starter import vocabulary_quads
from shiyi.ingest.tables import Faults
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase

JOURNAL = graph("journal")
ROWS = 36

# kills itself at the n-th change of the run: before the journal has it, once it has it, or once
# the store has it too
CHILD = """
import os, signal, sys
from shiyi.cli import main
from shiyi.ingest import forget, replacing
from shiyi.sparql.journal import Journal
from shiyi.sparql.oxigraph import OxigraphStore
forget._PART = replacing._PART = 100
when, number, seen = sys.argv[1], int(sys.argv[2]), 0
owner, name = {"before": (Journal, "append"), "between": (Journal, "append"),
               "after": (OxigraphStore, "change")}[when]
plain = getattr(owner, name)
def deadly(self, *given, **named):
    global seen
    if name == "change" and not self._path:
        return plain(self, *given, **named)
    seen += 1
    if seen == number and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = plain(self, *given, **named)
    if seen == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
setattr(owner, name, deadly)
sys.exit(main(sys.argv[3:]))
"""


def table(folder: Path, rows: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "D.csv").write_text("\n".join(["iDISK_ID,Name,CUI", *rows]) + "\n", "utf-8")
    return folder


def row(number: int, cui: int) -> str:
    return f"D{number:06d},medicine {number},C{cui:07d}"


def ingest(kb: Path, folder: Path) -> None:
    with redirect_stdout(StringIO()):
        assert main(["--kb", str(kb), "ingest", "idisk2", str(folder)]) == 0


def held(kb: Path) -> set[Quad]:
    with KnowledgeBase.open(kb, write=True) as base:  # finishes what the killed run began
        return {
            quad for quad in base.store.match() if quad.graph_name not in (JOURNAL, DefaultGraph())
        }


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a base that holds the older file."""
    kb = tmp_path_factory.mktemp("sweep") / "kb"
    quads = [*vocabulary_quads()]
    concepts = read_concepts(artefact("ontology/concepts"), Schema.load(), Faults())
    for concept in concepts.by_id.values():
        quads += concept_quads(concept, [], "")
    build_generation(kb, quads, {})
    ingest(kb, table(kb.parent / "old", [row(n, n) for n in range(ROWS)]))
    return kb


@pytest.fixture(scope="module")
def newer(before: Path) -> Path:
    """Give the newer file: a third of the rows gone, a third changed."""
    rows = [row(n, n if n % 3 else n + 1000) for n in range(ROWS) if n % 3 < 2]
    return table(before.parent / "new", rows)


@pytest.fixture(scope="module")
def undisturbed(before: Path, newer: Path) -> set[Quad]:
    """Give what a run that nobody kills leaves."""
    kb = before.parent / "undisturbed"
    copied(before, kb)
    ingest(kb, newer)
    return held(kb)


def copied(kb: Path, to: Path) -> None:
    subprocess.run(["cp", "-r", str(kb), str(to)], check=True)  # noqa: S603, S607


@pytest.mark.parametrize(
    ("when", "number"),
    [
        ("before", 1),
        ("before", 3),
        ("before", 6),
        ("between", 2),
        ("between", 4),
        ("between", 6),
        ("after", 3),
        ("after", 5),
    ],
)
def test_killed_while_it_takes_back_what_is_said_no_more_the_next_run_ends_it(
    before: Path, newer: Path, undisturbed: set[Quad], tmp_path: Path, when: str, number: int
) -> None:
    kb = tmp_path / "kb"
    copied(before, kb)
    killed = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", CHILD, when, str(number), "--kb", str(kb), "ingest", "idisk2",
         str(newer)], check=False, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "1"},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ingest(kb, newer)
    assert held(kb) == undisturbed


def test_what_the_newer_file_says_no_more_is_gone_and_the_rest_stands(
    before: Path, undisturbed: set[Quad], tmp_path: Path
) -> None:
    said = {str(quad) for quad in undisturbed}
    assert any("C0001003" in each for each in said)
    assert not any("C0000003>" in each for each in said)
    assert any("C0000004>" in each for each in said)
    assert not any("C0000005>" in each for each in said)
    kb = tmp_path / "kb"
    copied(before, kb)
    assert held(kb) != undisturbed
