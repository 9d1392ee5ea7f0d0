"""Much at once: journal first, the store in a thread of its own, and nothing lost on the way."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.model.rdf import BlankNode, Literal, Quad
from shiyi.sparql.base import writer as writing
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.contracts import GRAPH, A, B, P
from tests.support.places import ROOT

SAID = [Quad(A, P, Literal(f'第{n}\n"句\\', language="zh"), GRAPH) for n in range(50)]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_BULK", 2)


def load(base: KnowledgeBase, quads: list[Quad], key: str) -> int:
    return base.writer.load(quads, key=key, agent="test", reason="test")


def stored(base: KnowledgeBase) -> set[Quad]:
    return set(base.store.match(graph=GRAPH))


def test_what_is_loaded_in_journal_and_in_store(writable_kb: KnowledgeBase) -> None:
    first = [load(writable_kb, SAID[n : n + 10], f"part {n}") for n in range(0, 50, 10)]
    writable_kb.writer.wait()
    assert stored(writable_kb) == set(SAID)
    assert first == [1, 2, 3, 4, 5]
    assert writable_kb.writer.sequence == 5
    assert load(writable_kb, SAID, "part 0") == 1  # a key that is known changes nothing
    assert [q for record in writable_kb.writer.journal.records() for q in record.added] == SAID


def test_change_past_bound_goes_to_store_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_MOST", 10)
    began, go, told = (threading.Event() for _ in range(3))
    loaded = list[tuple[int, bytes]]()

    def take(sequence: int, written: bytes) -> None:
        began.set()
        assert (go if sequence == 1 else told).wait(10)
        loaded.append((sequence, written))

    loader, given = writing.Loader(take), [(1, b"a"), (2, b"bb"), (3, b"c" * 20)]
    assert loader.submit(*given[0])
    assert began.wait(60)
    assert all(loader.submit(*row) for row in given[1:])
    go.set()
    assert loader.wait(through=1)
    told.set()
    assert loader.wait()
    loader.close()
    assert loaded == given


def test_a_write_waits_for_what_was_loaded_before(writable_kb: KnowledgeBase) -> None:
    load(writable_kb, SAID, "much")
    writable_kb.writer.write((), SAID[:1], key="less", agent="test", reason="test")
    assert stored(writable_kb) == set(SAID[1:])


def test_a_load_that_the_store_refused_is_mended(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, failed = OxigraphStore.load_n_quads, list[int]()

    def failing_once(store: OxigraphStore, written: bytes) -> None:
        if not failed:
            failed.append(1)
            raise KnowledgeBaseError("the disk is full")
        plain(store, written)

    monkeypatch.setattr(OxigraphStore, "load_n_quads", failing_once)
    load(writable_kb, SAID[:20], "one")
    load(writable_kb, SAID[20:], "two")
    writable_kb.writer.wait()
    assert failed
    assert stored(writable_kb) == set(SAID)
    assert writable_kb.writer.sequence == 2


CHILD = """
import os, signal, sys
from pathlib import Path
from shiyi.sparql.base import writer as writing
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.sparql.base.test_loading import SAID, load
writing._BULK, plain, calls = 2, OxigraphStore.load_n_quads, []
def deadly(store, written):
    calls.append(1)
    if len(calls) == 2 and sys.argv[2] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    plain(store, written)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
OxigraphStore.load_n_quads = deadly
base = KnowledgeBase.open(Path(sys.argv[1]), write=True)
for at in range(0, 50, 10):
    load(base, SAID[at : at + 10], f"part {at}")
    if not at:
        base.writer.wait()  # so that the second part goes to the store by itself
base.writer.wait()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_load_is_finished_at_next_opening(small_kb: Path, moment: str) -> None:
    killed = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", CHILD, str(small_kb), moment], check=False, cwd=ROOT
    )
    assert killed.returncode == -signal.SIGKILL
    with KnowledgeBase.open(small_kb, write=True) as base:
        sequence = base.writer.sequence
        assert 2 <= sequence <= 5  # the journal goes ahead of the store
        assert stored(base) == set(SAID[: sequence * 10])
        for at in range(0, 50, 10):
            load(base, SAID[at : at + 10], f"part {at}")
        base.writer.wait()
        assert stored(base) == set(SAID)


def test_blank_nodes_and_few_quads_written_at_once(writable_kb: KnowledgeBase) -> None:
    blank = [Quad(BlankNode("x"), P, B, GRAPH), Quad(A, P, BlankNode("x"), GRAPH)]
    load(writable_kb, blank, "blank")
    load(writable_kb, SAID[:1], "few")
    assert stored(writable_kb) == {*blank, SAID[0]}  # the label is the same in both


def test_what_has_no_form_is_refused_before_journal(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "n_quads", lambda quads: b'<urn:a> <urn:b> "other\\n" .\n' * 50)
    with pytest.raises(UsageError, match="not the same"):
        load(writable_kb, SAID, "wrong")
    assert writable_kb.writer.journal.sequence == 0


def test_waiting_changes_are_loaded_in_order(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, parts = OxigraphStore.load_n_quads, list[int]()
    event, open_gate = threading.Event(), threading.Event()

    def slow(store: OxigraphStore, written: bytes) -> None:
        event.set()
        open_gate.wait(10)
        parts.append(written.count(b"\n"))
        plain(store, written)

    monkeypatch.setattr(OxigraphStore, "load_n_quads", slow)
    numbers = [load(writable_kb, SAID[:10], "part 0")]
    assert event.wait(10)  # the others come while the store is busy with the first
    numbers += [load(writable_kb, SAID[at : at + 10], f"part {at}") for at in range(10, 50, 10)]
    assert writable_kb.writer.journal.sequence == 5  # all of it is safe before the store has any
    open_gate.set()
    writable_kb.writer.wait(through=numbers[0])
    assert set(SAID[:10]) <= stored(writable_kb)
    writable_kb.writer.wait()
    assert parts == [10, 40]
    assert stored(writable_kb) == set(SAID)


def test_lines_are_quads_that_were_written_already(writable_kb: KnowledgeBase) -> None:
    lines = [f"{quad} .\n" for quad in SAID]
    writable_kb.writer.load(SAID[:5], lines=lines, key="lines", agent="test", reason="test")
    writable_kb.writer.wait()
    assert stored(writable_kb) == set(SAID)
    [record] = writable_kb.writer.journal.records()
    assert set(record.added) == set(SAID)
    wrong = ['<urn:a> <urn:p> "\\u0041" .\n'] * 3  # says A, which is written otherwise
    with pytest.raises(UsageError, match="not the same"):
        writable_kb.writer.load((), lines=wrong, key="wrong", agent="test", reason="test")
    assert writable_kb.writer.journal.sequence == 1
