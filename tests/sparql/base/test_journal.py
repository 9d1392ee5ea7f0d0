import sqlite3
from pathlib import Path

import pytest

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import Literal, Quad, Triple
from shiyi.ontology.terms import RDF
from shiyi.sparql.base import journal as journal_index
from shiyi.sparql.base.journal import Entry, Journal, JournalIndex, Record, _headers, read_journal
from tests.contracts import CLAIM, GRAPH, A, B, P


def record(sequence: int) -> Record:
    return Record(
        sequence,
        f"key-{sequence}",
        "curator 张",
        "因为\nit was read",
        "2025-01-01T00:00:00.000+00:00",
        (Quad(A, P, B, GRAPH),),
        (
            Quad(A, P, Literal(f"第{sequence}\nC 行", language="zh")),
            Quad(CLAIM, RDF.reifies, Triple(A, P, B)),
        ),
    )


def journal_of(path: Path, records: int) -> Path:
    journal = Journal.open(path)
    for sequence in range(1, records + 1):
        journal.append(record(sequence))
    journal.close()
    return path


def test_records_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", 3)
    assert list(read_journal(path)) == [record(1), record(2), record(3)]


def test_an_absent_journal_has_no_records(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "j")) == []
    assert not (tmp_path / "j").exists()


def test_keys_are_known_after_opening_again(tmp_path: Path) -> None:
    journal = Journal.open(journal_of(tmp_path / "j", 2))
    assert (journal.find("key-2"), journal.find("key-3"), journal.sequence) == (2, None, 2)
    assert journal.notice == ""
    assert [each.sequence for each in journal.records(after=1)] == [2]
    journal.close()


def test_power_cut_in_last_record_leaves_others(tmp_path: Path) -> None:
    whole = journal_of(tmp_path / "whole", 2).read_bytes()
    first = len(record(1).to_bytes())
    cut = tmp_path / "cut"
    for size in range(first, len(whole)):
        cut.write_bytes(whole[:size])
        journal = Journal.open(cut)
        assert journal.sequence == 1
        assert bool(journal.notice) == (size > first)
        if size % 16 == 0:  # each append waits for the disk
            journal.append(record(2))
        journal.close()
        assert cut.read_bytes() in {whole[:first], whole}
    assert size == len(whole) - 1


def test_a_damaged_byte_anywhere_is_a_loud_error(tmp_path: Path) -> None:
    whole = journal_of(tmp_path / "whole", 3).read_bytes()
    first = len(record(1).to_bytes())
    damaged, seen = tmp_path / "damaged", 0
    for place in range(0, first + len(record(2).to_bytes()), 7):
        broken = bytearray(whole)
        broken[place] ^= 0x01
        damaged.write_bytes(broken)
        with pytest.raises(KnowledgeBaseError, match=r"damaged|backup"):
            Journal.open(damaged)
        assert damaged.read_bytes() == broken  # nothing is cut off a journal we do not understand
        seen += 1
    assert seen > 100


def test_a_missing_record_is_a_loud_error(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(record(1).to_bytes() + record(3).to_bytes())
    with pytest.raises(KnowledgeBaseError, match="number 3 stands where 2 belongs"):
        Journal.open(tmp_path / "j")


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_index, "TAIL", 3)


def index_of(path: Path) -> Path:
    return path.with_name(path.name + ".index")


@pytest.mark.usefixtures("_short")
def test_a_long_journal_is_opened_from_its_checkpoint(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", 8)
    index = JournalIndex.open(path)
    assert index.last.sequence == 6
    assert [entry.sequence for entry in _headers(path, index.last)] == [7, 8]
    index.close()
    journal = Journal.open(path)
    assert [journal.find(f"key-{number}") for number in range(10)] == [None, *range(1, 9), None]
    for after in range(9):
        assert [each.sequence for each in journal.records(after)] == list(range(after + 1, 9))
    journal.append(record(9))
    assert journal.find("key-9") == 9
    journal.close()
    for after in range(9):
        assert list(read_journal(path, after)) == [record(n) for n in range(after + 1, 10)]


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("fault", ["gone", "garbage", "ahead", "other", "future"])
def test_index_that_does_not_fit_is_made_again(tmp_path: Path, fault: str) -> None:
    path = journal_of(tmp_path / "j", 7)
    index, retained = index_of(path), 7
    if fault == "gone":
        index.unlink()
    elif fault == "garbage":
        index.write_bytes(b"no database " * 500)
    elif fault == "ahead":  # the journal came back from a backup
        retained = 2
        path.write_bytes(b"".join(record(number).to_bytes() for number in (1, 2)))
    elif fault == "other":
        with sqlite3.connect(index) as base:
            base.execute("UPDATE record SET digest = 'x' WHERE sequence = 6")
        base.close()
    else:
        with sqlite3.connect(index) as base:
            base.execute("PRAGMA user_version = 99")
        base.close()
    journal = Journal.open(path)
    assert journal.sequence == retained
    assert [journal.find(f"key-{number}") for number in (1, retained)] == [1, retained]
    journal.close()


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(("version", "wanted"), [(1, 5), (2, None)])
def test_an_index_is_used_where_it_fits(tmp_path: Path, version: int, wanted: int | None) -> None:
    path = journal_of(tmp_path / "j", 8)
    with sqlite3.connect(index_of(path)) as base:
        base.execute("UPDATE record SET key = 'renamed' WHERE sequence = 5")
        base.execute(f"PRAGMA user_version = {version}")
    base.close()
    journal = Journal.open(path)
    assert journal.find("renamed") == wanted
    journal.close()


@pytest.mark.usefixtures("_short")
def test_record_has_checksum_and_refused_journal_is_closed(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", 8)
    journal = Journal.open(path)
    journal.append(record(9))
    digests = [record(number).to_bytes()[-65:-1].decode() for number in (6, 8, 9)]
    assert [journal.digest(number) for number in (6, 8, 9)] == digests
    journal.close()
    path.write_bytes(path.read_bytes() + record(11).to_bytes())
    with pytest.raises(KnowledgeBaseError, match="number 11") as refused:
        Journal.open(path)
    assert index_of(path) not in {each.resolve() for each in Path("/proc/self/fd").iterdir()}
    assert refused.value.__cause__


def test_the_index_is_written_after_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_index, "TAIL_BYTES", 15)
    index = JournalIndex(index_of(tmp_path / "j"), None, Entry())
    for number in range(1, 4):
        index.add(Entry(number, f"key-{number}", number * 10, "d"))
    assert index._entries == [Entry(3, "key-3", 30, "d")]
    index.close()


@pytest.mark.usefixtures("_short")
def test_power_cut_after_checkpoint_cuts_last_record_only(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", 5)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    journal = Journal.open(path)
    assert (journal.sequence, journal.find("key-5"), journal.find("key-4")) == (4, None, 4)
    assert "cut off" in journal.notice
    journal.append(record(5))
    journal.close()
    assert path.read_bytes() == whole


@pytest.mark.usefixtures("_short")
def test_unwritable_index_stops_nothing(tmp_path: Path) -> None:
    index_of(tmp_path / "j").mkdir()
    index = JournalIndex(index_of(tmp_path / "j"), None, Entry())
    for number in range(1, 9):
        index.add(Entry(number, f"key-{number}", number * 10, "d"))
    assert index.find("key-1") == 1
    assert index.last.sequence == 8
