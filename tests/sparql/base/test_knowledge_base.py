import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Store

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, Literal, Quad
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.snapshots import Snapshot, _bring_all, remove_leftovers
from tests.contracts import A, B, C, P

SmallQuads = tuple[Quad, ...]


def test_built_base_is_opened_with_release_and_counts(
    small_kb: Path, small_quads: SmallQuads
) -> None:
    with KnowledgeBase.open(small_kb) as kb:
        assert len(kb.store) == len(small_quads)
        assert kb.release == kb.manifest["release"] == compute_release(small_quads)
        assert kb.manifest["counts"] == {"quads": len(small_quads)}
        assert kb.folder.parent == small_kb / "generations"


def test_release_id_ignores_order_and_blank_nodes() -> None:
    base = [Quad(A, P, B), Quad(A, P, C)]
    blank = Quad(A, P, BlankNode("x"))
    assert compute_release(base) == compute_release([*reversed(base), base[0], blank])
    assert compute_release(base) != compute_release(base[:1])
    assert compute_release(base).startswith("sha256:")


def test_a_missing_base_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="run `shiyi build`"):
        KnowledgeBase.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("current", ["", "gone\n", "../generations\n", ".\n"])
def test_base_without_generation_names_the_command(small_kb: Path, current: str) -> None:
    (small_kb / "CURRENT").write_text(current)
    for write in (False, True):
        with pytest.raises(KnowledgeBaseError, match="run `shiyi build`"):
            KnowledgeBase.open(small_kb, write=write)


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"release": 1}'])
def test_a_damaged_manifest_says_what_to_run(small_kb: Path, manifest: str) -> None:
    generation = (small_kb / "CURRENT").read_text().strip()
    (small_kb / "generations" / generation / "manifest.json").write_text(manifest)
    with pytest.raises(KnowledgeBaseError, match="run `shiyi build`"):
        KnowledgeBase.open(small_kb)


def test_reader_sees_acknowledged_writes(
    writable_kb: KnowledgeBase, small_quads: SmallQuads
) -> None:
    writable_kb.writer.write([Quad(A, P, B)], key="k1", agent="me", reason="test")
    with KnowledgeBase.open(writable_kb.path) as reader:
        writable_kb.writer.write([Quad(A, P, C)], key="k2", agent="me", reason="test")
        assert [quad.object for quad in reader.store.match(A)] == [B]
        assert len(reader.store) == len(small_quads) + 2  # the write and the journal's mark
        with pytest.raises(KnowledgeBaseError, match="write=True"):
            _ = reader.writer


def test_a_writer_opens_beside_readers(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb) as reader, KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
        assert list(reader.store.match(A)) == []
        assert list(kb.store.match(A)) == [Quad(A, P, B)]


def test_a_closed_reader_leaves_no_snapshot(small_kb: Path) -> None:
    KnowledgeBase.open(small_kb).close()
    assert list((small_kb / "snapshots").iterdir()) == []


def test_snapshots_of_ended_processes_are_removed(small_kb: Path) -> None:
    home = small_kb / "snapshots"
    with KnowledgeBase.open(small_kb) as reader:
        (home / "1-dead").mkdir()
        (home / "1-dead" / "000001.sst").write_bytes(b"x")
        (home / "1-dead.lock").touch()
        assert remove_leftovers(home) == 1
        assert len(reader.store) > 0
        assert len(list(home.iterdir())) == 2


def test_grown_file_is_copied_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr("shiyi.sparql.store.snapshots.os.link", link)
    folder, copy = tmp_path / "store", tmp_path / "copy"
    folder.mkdir()
    copy.mkdir()
    for term in (b"one", b"one two"):
        (folder / "000001.sst").write_bytes(term)
        assert not _bring_all(folder, copy)
        assert (copy / "000001.sst").read_bytes() == term


def test_a_snapshot_of_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(KnowledgeBaseError, match="cannot be read"):
        Snapshot.of_folder(tmp_path / "empty", tmp_path / "snapshots")
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_a_copy_that_fails_half_way_leaves_nothing(small_kb: Path) -> None:
    home = small_kb / "snapshots"
    with KnowledgeBase.open(small_kb) as kb:
        whole = kb.take_snapshot()
        before = sorted(home.iterdir())
        copy = whole.copy_to(home)
        assert sorted(path.name for path in copy.path.iterdir()) == sorted(
            path.name for path in whole.path.iterdir() if path.name != "LOCK"
        )
        copy.remove()
        (whole.path / "zz.sst").symlink_to(small_kb / "nowhere")
        (whole.path / "zz.log").symlink_to(small_kb / "nowhere")
        with pytest.raises(KnowledgeBaseError, match="no snapshot could be made"):
            whole.copy_to(home)
        assert sorted(home.iterdir()) == before
        whole.remove()


def test_new_generation_repeats_journal_on_new_base(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    build_generation(small_kb, [Quad(A, P, C)], {})
    with KnowledgeBase.open(small_kb, write=True) as kb:
        assert {quad.object for quad in kb.store.match(A)} == {B, C}
        assert kb.sequence == 1
        assert kb.release == compute_release([Quad(A, P, C)])


def _lose_journal(kb: Path) -> None:
    (kb / "journal.nq").unlink()


def _cut_journal(kb: Path) -> None:
    """Keep the first record whole, and a part of the second."""
    text = (kb / "journal.nq").read_bytes()
    (kb / "journal.nq").write_bytes(text[: text.index(b"\nC ") + 80])


def _lose_journal_and_name(kb: Path) -> None:
    (kb / "journal.nq").unlink()
    (kb / "CURRENT").unlink()


def _lose_journal_and_table(kb: Path) -> None:
    (kb / "journal.nq").unlink()
    for table in kb.glob("generations/*/store/*.sst"):
        table.unlink()


@pytest.mark.parametrize(
    "damage", [_lose_journal, _cut_journal, _lose_journal_and_name, _lose_journal_and_table]
)
def test_a_build_never_drops_acknowledged_changes_unasked(
    small_kb: Path, damage: Callable[[Path], None]
) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        for number in range(3):
            quads = [Quad(A, P, Literal(str(number)))]
            kb.writer.write(quads, key=f"k{number}", agent="me", reason="test")
    damage(small_kb)
    before = sorted(small_kb.glob("generations/*"))
    with pytest.raises(KnowledgeBaseError, match=r"nothing was built.*build --lose-changes"):
        build_generation(small_kb, [Quad(A, P, C)], {})
    assert sorted(small_kb.glob("generations/*")) == before
    build_generation(small_kb, [Quad(A, P, C)], {}, lose_changes=True)
    build_generation(small_kb, [Quad(A, P, C)], {})
    with KnowledgeBase.open(small_kb) as kb:
        assert Quad(A, P, C) in set(kb.store.match(A))


def test_whole_journal_is_enough_for_damaged_store(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
    for table in small_kb.glob("generations/*/store/*.sst"):
        table.unlink()
    build_generation(small_kb, [Quad(A, P, C)], {})
    with KnowledgeBase.open(small_kb) as kb:
        assert {quad.object for quad in kb.store.match(A)} == {B, C}


def test_what_prepare_makes_is_there_when_readers_come(small_kb: Path) -> None:
    old = (small_kb / "CURRENT").read_text()

    def prepare(store: OxigraphStore, folder: Path) -> None:
        store.change([Quad(C, P, A)])
        (folder / "index" / "labels").write_text("made from the store")
        assert (small_kb / "CURRENT").read_text() == old

    build_generation(small_kb, [Quad(A, P, B)], {}, prepare)
    with KnowledgeBase.open(small_kb) as kb:
        assert len(list(kb.store.match(C))) == 1
        assert (kb.folder / "index" / "labels").read_text() == "made from the store"


def test_build_has_every_blank_label_and_empty_graph(small_kb: Path) -> None:
    text = [Quad(A, P, BlankNode("x1")), *(Quad(A, P, Literal(str(n))) for n in range(300))]

    def prepare(store: OxigraphStore, _: Path) -> None:
        store.change([Quad(C, P, B, A)], text[:1], ((), (B,)))
        store.change([Quad(B, P, BlankNode("x2"))])

    build_generation(small_kb, text, {}, prepare)
    with KnowledgeBase.open(small_kb) as kb:
        assert set(kb.store.match()) == {*text[1:], Quad(C, P, B, A), Quad(B, P, BlankNode("x2"))}
        assert sorted(Store.read_only(str(kb.folder / "store")).named_graphs(), key=str) == [A, B]
        assert len(list(kb.folder.iterdir())) == 3  # store, index and manifest


def test_a_build_that_repeats_a_journal_is_packed(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        quads = [Quad(A, P, Literal(str(n))) for n in range(300)]
        kb.writer.write(quads, key="k", agent="me", reason="test")
    build_generation(small_kb, [Quad(A, P, B)], {})
    with KnowledgeBase.open(small_kb) as kb:
        assert len(list(kb.store.match(A, P))) == 301
        assert len(list(kb.folder.iterdir())) == 3  # store, index and manifest
        assert sum(log.stat().st_size for log in (kb.folder / "store").glob("*.log")) < 1000


def test_a_build_that_fails_leaves_the_old_base(small_kb: Path) -> None:
    def failing(*_: object) -> None:
        raise InterruptedError

    with KnowledgeBase.open(small_kb) as before, pytest.raises(InterruptedError):
        build_generation(small_kb, [Quad(A, P, B)], {}, failing)
    assert len(list((small_kb / "generations").iterdir())) == 1
    with KnowledgeBase.open(small_kb) as after:
        assert after.release == before.release
    build_generation(small_kb, [Quad(A, P, B)], {})
    assert len(list((small_kb / "generations").iterdir())) == 2


def test_previous_generation_remains_and_older_ones_go(small_kb: Path) -> None:
    names = [(small_kb / "CURRENT").read_text().strip()]
    for base in (B, C):
        build_generation(small_kb, [Quad(A, P, base)], {})
        names.append((small_kb / "CURRENT").read_text().strip())
    assert sorted(x.name for x in (small_kb / "generations").iterdir()) == sorted(names[1:])


def test_a_build_beside_a_writer_is_refused(writable_kb: KnowledgeBase) -> None:
    with pytest.raises(KnowledgeBaseError, match="shiyi serve"):
        build_generation(writable_kb.path, [Quad(A, P, B)], {})
    assert json.loads((writable_kb.folder / "manifest.json").read_text()) == writable_kb.manifest


def test_read_only_base_is_read_in_place(
    small_kb: Path, small_quads: SmallQuads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> Snapshot:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Snapshot, "_new", refuse)
    with KnowledgeBase.open(small_kb) as kb:
        assert len(kb.store) == len(small_quads)
        assert kb.take_snapshot().path == kb.folder / "store"
    with KnowledgeBase.open(small_kb) as kb:
        assert len(kb.store) == len(small_quads)


def test_full_disk_at_snapshot_leaves_nothing(
    small_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("shiyi.sparql.store.snapshots.shutil.copyfile", refuse)
        with pytest.raises(KnowledgeBaseError, match="make room"):
            KnowledgeBase.open(small_kb)
    assert list((small_kb / "snapshots").iterdir()) == []
    KnowledgeBase.open(small_kb).close()
