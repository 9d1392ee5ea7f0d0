import errno
import json
import threading
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.errors import KnowledgeBaseError, StaleError, UsageError
from shiyi.model.rdf import XSD_INTEGER, Literal, Quad, text
from shiyi.sparql.base.journal import Journal, Record, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.base.writer import apply, last_applied
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.visibility import FORMER_NOTES
from tests.contracts import A, B, C, P


def test_write_is_in_store_and_in_journal(writable_kb: KnowledgeBase) -> None:
    number = writable_kb.writer.write(
        [Quad(A, P, B)], key="k", agent="张医生", reason="read in the source"
    )
    assert number == writable_kb.sequence == 1
    assert list(writable_kb.store.match(A)) == [Quad(A, P, B)]
    (record,) = read_journal(writable_kb.path / "journal.nq")
    assert (record.key, record.who, record.why) == ("k", "张医生", "read in the source")
    assert record.when.endswith("+00:00")


def test_the_same_key_twice_changes_nothing(writable_kb: KnowledgeBase) -> None:
    first = writable_kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    again = writable_kb.writer.write(
        [Quad(A, P, C)], [Quad(A, P, B)], key="k", agent="me", reason="test"
    )
    assert first == again
    assert list(writable_kb.store.match(A)) == [Quad(A, P, B)]


def test_a_key_is_known_after_a_restart(small_kb: Path) -> None:
    for _ in range(2):
        with KnowledgeBase.open(small_kb, write=True) as kb:
            assert kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test") == 1


@pytest.mark.parametrize("missing", ["key", "who", "why"])
def test_change_without_key_author_or_reason_is_refused(
    writable_kb: KnowledgeBase, missing: str
) -> None:
    key, who, why = ("" if name == missing else "said" for name in ("key", "who", "why"))
    with pytest.raises(UsageError):
        writable_kb.writer.write([Quad(A, P, B)], key=key, agent=who, reason=why)
    assert writable_kb.sequence == 0


def test_a_killed_write_is_replayed_on_start(
    small_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
        with monkeypatch.context() as patched:  # the journal has it, the store never gets it
            patched.setattr("shiyi.sparql.base.writer.apply", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                kb.writer.write(
                    [Quad(A, P, C)], [Quad(A, P, B)], key="k2", agent="me", reason="test"
                )
        assert last_applied(kb.store) == 1
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert list(kb.store.match(A)) == [Quad(A, P, C)]
        assert kb.sequence == 2


def test_notes_of_earlier_releases_are_left_out(small_kb: Path) -> None:
    """Earlier releases noted lexical forms in a graph of their own, through the journal."""
    note = Quad(A, P, Literal("1", datatype=XSD_INTEGER), FORMER_NOTES)
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.store.change([note])  # as an earlier release left the store
        kb.writer.write([Quad(A, P, B), note], key="k", agent="me", reason="test")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert list(kb.store.match(A)) == [Quad(A, P, B)]
    build_generation(small_kb, [], {})  # repeats the journal
    with KnowledgeBase.open(small_kb) as kb:
        assert list(kb.store.match(A)) == [Quad(A, P, B)]


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_second_writer_error_names_the_first(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        with pytest.raises(KnowledgeBaseError, match=r"process \d+ writes"):
            KnowledgeBase.open(small_kb, write=True)
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert kb.sequence == 1


def test_no_update_of_four_threads_is_lost(writable_kb: KnowledgeBase) -> None:
    writer = writable_kb.writer

    def count_up(name: int) -> None:
        for i in range(100):
            with writer.turn() as store:
                before = list(store.match(A, P))
                value = max((int(text(q.object)) for q in before), default=0) + 1
                after = Quad(A, P, Literal(str(value), datatype=XSD_INTEGER))
                writer.write([after], before, key=f"{name}-{i}", agent="me", reason="count")

    threads = [threading.Thread(target=count_up, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text(quad.object) for quad in writable_kb.store.match(A, P)] == ["400"]
    assert writable_kb.sequence == 400


def test_full_disk_refuses_write_and_loses_nothing(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    writable_kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
    with monkeypatch.context() as patched:
        patched.setattr("shiyi.sparql.base.journal.os.fsync", _disk_full)
        with pytest.raises(KnowledgeBaseError, match="make room"):
            writable_kb.writer.write([Quad(A, P, C)], key="k2", agent="me", reason="test")
    assert list(writable_kb.store.match(A)) == [Quad(A, P, B)]
    assert writable_kb.writer.write([Quad(A, P, C)], key="k2", agent="me", reason="test") == 2


def _disk_full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_failed_store_is_reopened_and_takes_change(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [1]

    def failing_once(store: OxigraphStore, record: Record) -> None:
        if failures:
            failures.pop()
            raise KnowledgeBaseError("disk full")
        apply(store, record)

    monkeypatch.setattr("shiyi.sparql.base.writer.apply", failing_once)
    assert writable_kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test") == 1
    assert list(writable_kb.store.match(A)) == [Quad(A, P, B)]


def test_change_that_store_missed_is_made_before_next(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("shiyi.sparql.base.writer.apply", _refused)
        with pytest.raises(KnowledgeBaseError):
            writable_kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
    assert writable_kb.writer.write([Quad(A, P, C)], key="k2", agent="me", reason="test") == 2
    assert {quad.object for quad in writable_kb.store.match(A)} == {B, C}


def _refused(*_: object, **__: object) -> None:
    raise KnowledgeBaseError("disk full")


def test_a_lost_journal_is_not_passed_over(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    (small_kb / "journal.nq").unlink()
    with pytest.raises(KnowledgeBaseError, match="restore the journal"):
        KnowledgeBase.open(small_kb, write=True)
    Journal.open(small_kb / "journal.nq").close()


def test_what_killed_bulk_loads_left_swept_at_start(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb) as kb:
        store = kb.folder / "store"
    (store / "bulk-1.sst").write_bytes(b"x")
    (store / "LOG.old.1").write_bytes(b"x")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert len(kb.store) > 0
    assert not (store / "bulk-1.sst").exists()
    assert not (store / "LOG.old.1").exists()


NASTY = [
    "",
    "\x00",
    "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
    "C " + "0" * 64,
    "\r\nA <x>",
    "\\u0041",
    "𬜬",
]


def test_line_ends_survive_journal_and_restart(small_kb: Path) -> None:
    quads = [Quad(A, P, Literal(each)) for each in NASTY]
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write(quads, key="\u2028\n", agent="\x85", reason="\r")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert kb.writer.write([], key="\u2028\n", agent="me", reason="again") == 1
        assert {quad.object for quad in kb.store.match(A)} == {quad.object for quad in quads}
        kb.writer.write([], quads, key="k2", agent="me", reason="test")
        assert list(kb.store.match(A)) == []


def test_unreadable_record_never_enters_journal(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("shiyi.sparql.base.writer.n_quads", lambda _: b"not a quad\n")
        with pytest.raises(UsageError, match="nothing was written"):
            writable_kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    assert writable_kb.writer.journal.sequence == 0
    assert writable_kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test") == 1


def test_record_taken_back_as_new_one_and_once(writable_kb: KnowledgeBase) -> None:
    writer, before = writable_kb.writer, set(writable_kb.store.match())
    writer.write([Quad(A, P, B)], key="first", agent="me", reason="test")
    second = writer.write([Quad(A, P, C)], [Quad(A, P, B)], key="second", agent="me", reason="test")
    third = writer.undo(second, agent="operator", reason="a mistake")
    assert list(writable_kb.store.match(A)) == [Quad(A, P, B)]
    assert writer.undo(second, agent="operator", reason="a mistake") == third
    assert writer.undo(third, agent="operator", reason="no mistake") == third + 1  # taken up again
    assert list(writable_kb.store.match(A)) == [Quad(A, P, C)]
    *_, last = read_journal(writable_kb.path / "journal.nq")
    assert (last.who, last.why, last.added) == ("operator", "no mistake", (Quad(A, P, C),))
    writer.undo(third + 1, agent="operator", reason="all of it")
    writer.write((), [Quad(A, P, B)], key="last", agent="me", reason="test")
    applied = "appliedThrough"
    assert {q for q in writable_kb.store.match() if applied not in q.predicate.value} == {
        q for q in before if applied not in q.predicate.value
    }


def test_record_is_not_taken_back_over_later_one(writable_kb: KnowledgeBase) -> None:
    writer = writable_kb.writer
    first = writer.write([Quad(A, P, B)], key="first", agent="me", reason="test")
    writer.write([Quad(A, P, C)], [Quad(A, P, B)], key="second", agent="me", reason="test")
    with pytest.raises(StaleError, match="record 2"):
        writer.undo(first, agent="operator", reason="a mistake")
    for absent in (0, -1, 3):
        with pytest.raises(UsageError, match="1 to 2"):
            writer.undo(absent, agent="operator", reason="a mistake")
    assert writer.sequence == 2


def test_an_operator_takes_a_record_back(
    small_kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    command = ["--kb", str(small_kb), "undo", "1", "--why", "a mistake", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == {"undone": 1, "record": 2}
    assert main([*command[:3], "9", *command[4:]]) == 2
    assert "1 to 2" in capsys.readouterr().err
    with KnowledgeBase.open(small_kb) as kb:
        assert not list(kb.store.match(A))


def test_second_writer_is_refused_and_leaves_nothing_open(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True):
        opened = set(Path("/proc/self/fd").iterdir())
        with pytest.raises(KnowledgeBaseError, match="writes to"):
            KnowledgeBase.open(small_kb, write=True)
        assert set(Path("/proc/self/fd").iterdir()) == opened


def test_erase_removes_forgotten_records_only(small_kb: Path) -> None:
    words, literal = Literal("words of a patient"), Literal("words of others")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        [built] = kb.store.match(None, None, Literal("枸杞子", language="zh"))
        writer = kb.writer
        writer.write(
            [Quad(A, P, words), Quad(A, P, literal)], key="k1", agent="ingest", reason="x@1"
        )
        quads = [Quad(A, P, words), Quad(A, P, literal), built]
        writer.write((), quads, key="k2", agent="shiyi forget", reason="x@1")
        writer.write([Quad(A, P, literal)], key="k3", agent="ingest", reason="y@1")
        writer.write([built], key="k4", agent="ingest", reason="x@1")
        writer.write((), [built], key="k5", agent="shiyi forget", reason="x@1")
        assert writer.erase("shiyi forget", "y@1") == 0
        assert writer.erase("shiyi forget", "x@1") == 2
        assert writer.write((), key="k2", agent="me", reason="again") == 2
        assert writer.write([Quad(B, P, A)], key="k6", agent="me", reason="more") == 6
        before = set(kb.store.match())
    assert words.value.encode() not in (small_kb / "journal.nq").read_bytes()
    assert literal.value.encode() in (small_kb / "journal.nq").read_bytes()
    build_generation(small_kb, [built], {})  # which the record of the removal takes away again
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert built not in set(kb.store.match())
        assert {q for q in before if q.subject in {A, B}} == {
            *kb.store.match(A),
            *kb.store.match(B),
        }


def test_large_change_is_split_and_resumed(small_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiyi.sparql.base.writer.UNFLUSHED", 3)
    quads = [Quad(A, P, Literal(str(number))) for number in range(10)]
    plain, calls = OxigraphStore.change, list[int]()

    def failing(store: OxigraphStore, add: tuple[Quad, ...] = (), *more: object) -> None:
        calls.append(len(tuple(add)))
        if len(calls) == 2:
            raise KnowledgeBaseError("the disk is full")
        plain(store, add, *more)  # type: ignore[arg-type] # as it was called

    with KnowledgeBase.open(small_kb, write=True) as kb:
        monkeypatch.setattr(OxigraphStore, "change", failing)
        kb.writer.write(quads, key="k", agent="me", reason="test")
        assert max(calls) == 3
        assert {*kb.store.match(A)} == {*quads}
        kb.writer.write((), quads, key="l", agent="me", reason="test")
        assert not list(kb.store.match(A))
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert (kb.sequence, list(kb.store.match(A))) == (2, [])
