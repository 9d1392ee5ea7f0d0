import random
import stat
import threading
from pathlib import Path

import pytest

from shiyi.curation.accounts import AccountStore, Audit, Role, matches
from shiyi.curation.bundles import public_key, signing_key
from shiyi.curation.queue import Citations
from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.model.rdf import Quad
from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.backups import LISTING, back_up, damages, read_listing, restore
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.files import lock_folder, replace_file
from shiyi.sparql.store.oxigraph import n_quads
from tests.contracts import A, B, C, P
from tests.support.copies import copy_base
from tests.support.sites import PASSWORD, open_desks


def stored(kb: Path) -> tuple[int, list[bytes]]:
    """Return the number of the last change, and every quad as sorted lines."""
    with KnowledgeBase.open(kb, write=True) as base:
        return base.sequence, sorted(n_quads(base.store.match()).splitlines())


def test_restored_base_holds_same_as_one_backed_up(small_kb: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
    back_up(small_kb, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    assert stored(tmp_path / "again") == stored(small_kb)
    assert stored(small_kb)[0] == 1


def test_restore_brings_back_accounts_and_tokens(tmp_path: Path) -> None:
    with open_desks(tmp_path / "desks") as desks:
        desks.client(Role.CURATOR)  # which the audit log tells of
        assert desks.curation.citations
        desks.curation.citations.count(["urn:claim"])
        desks.curation.citations.save()
        kb, write = desks.kb, desks.tokens["write"]
        public, message = public_key(signing_key(kb)), desks.curation.audit.last()
        back_up(kb, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    path = tmp_path / "again"
    assert matches(AccountStore(path).get(Role.CURATOR).hashed, PASSWORD)
    assert Tokens(path).find(write)
    assert Audit(path).last() == message != []
    assert public_key(signing_key(path)) == public
    assert Citations(path).counts["urn:claim"] == 1
    for name in ("people.json", "tokens.json", "audit.jsonl", "signing.key"):
        assert stat.S_IMODE((path / name).stat().st_mode) == 0o600
    left = {each.name for each in kb.iterdir()} - {each.name for each in path.iterdir()}
    computed = {"session.key", "queries.jsonl", "snapshots", "queue.cache"}
    assert left <= computed  # all else is wanted


def test_what_is_written_after_backup_not_in_it(small_kb: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
        back_up(small_kb, tmp_path / "backup")  # while the writer is open
        kb.writer.write([Quad(A, P, C)], key="k2", agent="me", reason="test")
    restore(tmp_path / "backup", tmp_path / "again")
    assert stored(tmp_path / "again")[0] == 1
    assert stored(small_kb)[0] == 2


def test_backup_is_consistent_under_writes(small_kb: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        stop = threading.Event()

        def keep_writing() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                pair = [Quad(A, P, B), Quad(B, P, A)]
                add, remove = (pair, []) if number % 2 else ([], pair)
                kb.writer.write(add, remove, key=f"k{number}", agent="me", reason="test")

        writer = threading.Thread(target=keep_writing)
        writer.start()
        for number in range(5):
            back_up(small_kb, tmp_path / f"backup-{number}")
        stop.set()
        writer.join()
    reached = []
    for number in range(5):
        restore(tmp_path / f"backup-{number}", tmp_path / f"again-{number}")
        with KnowledgeBase.open(tmp_path / f"again-{number}", write=True) as base:
            whole = {
                Quad(A, P, B) in set(base.store.match(A)),
                Quad(B, P, A) in set(base.store.match(B)),
            }
            assert whole == {base.sequence % 2 == 1}  # both quads or none
            reached.append(base.sequence)
    assert reached == sorted(reached)
    assert reached[-1] > 0


def test_each_of_fifty_damages_found_and_nothing_restored(small_kb: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    made = back_up(small_kb, backup)
    chance, result = random.Random(7), 0  # noqa: S311
    files = sorted(name for name in made.files if (backup / name).stat().st_size)
    for _ in range(50):
        path = backup / chance.choice(files)
        sound = path.read_bytes()
        at = chance.randrange(len(sound))
        path.write_bytes(
            sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :]
        )
        result += len(list(damages(backup, made))) == 1
        with pytest.raises(KnowledgeBaseError, match="is not what was backed up"):
            restore(backup, tmp_path / "again")
        path.write_bytes(sound)
    assert result == 50
    assert not (tmp_path / "again").exists()
    assert list(damages(backup, made)) == []


def test_a_missing_and_a_foreign_file_are_named(small_kb: Path, tmp_path: Path) -> None:
    backup = back_up(small_kb, tmp_path / "backup")
    (tmp_path / "backup" / "CURRENT").unlink()
    (tmp_path / "backup" / "more").write_text("x")
    results = list(damages(tmp_path / "backup", backup))
    assert results == ["CURRENT is missing", "more is not of this backup"]


@pytest.mark.parametrize("content", ["", "{", '{"release": 1}', "[]"])
def test_a_folder_that_is_no_backup_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / LISTING).write_text(content)
    with pytest.raises(KnowledgeBaseError, match="no whole backup"):
        read_listing(tmp_path)


def test_neither_backup_nor_restore_overwrites_anything(small_kb: Path, tmp_path: Path) -> None:
    back_up(small_kb, tmp_path / "backup")
    with pytest.raises(UsageError, match="there already"):
        back_up(small_kb, tmp_path / "backup")
    with pytest.raises(UsageError, match="not empty"):
        restore(tmp_path / "backup", small_kb)


def test_nothing_in_base_is_made_to_be_run(small_kb: Path, tmp_path: Path) -> None:
    replace_file(small_kb / "citations.json", b"{}")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        back_up(small_kb, tmp_path / "backup")
        snapshot = kb.take_snapshot()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert len(files) > 20
        assert [path for path in files if path.stat().st_mode & 0o111] == []
        snapshot.remove()


def test_what_killed_backup_left_goes_with_next_one(small_kb: Path, tmp_path: Path) -> None:
    for name, inside in (
        ("killed.part", "generations"),
        ("other.part", "thesis"),
        ("out.part", ""),
    ):
        (tmp_path / name / inside).mkdir(parents=True)
    (tmp_path / "running.part" / "generations").mkdir(parents=True)
    with lock_folder(tmp_path / "running.part"):
        back_up(small_kb, tmp_path / "out")
    assert {path.name for path in tmp_path.glob("*.part")} == {"other.part", "running.part"}
    assert list(damages(tmp_path / "out", read_listing(tmp_path / "out"))) == []


def test_base_is_copied_while_snapshots_come_and_go(shared_kb: Path, tmp_path: Path) -> None:
    source = copy_base(shared_kb, tmp_path / "source")
    (source / "snapshots").mkdir()
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            (source / "snapshots" / "reader").mkdir()
            (source / "fleeting").touch()
            (source / "fleeting").unlink()
            (source / "snapshots" / "reader").rmdir()

    readers = threading.Thread(target=come_and_go)
    readers.start()
    try:
        for number in range(10):
            with KnowledgeBase.open(copy_base(source, tmp_path / str(number))) as copy:
                assert len(copy.store) > 2000
    finally:
        stop.set()
        readers.join()
