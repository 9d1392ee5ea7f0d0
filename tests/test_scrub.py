"""A whole base is read through, and what is damaged is told."""

import os
import random
import shutil
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import Quad
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.scrub import note_digests, scrub
from shiyi.sparql.writer import applied_through
from tests.contracts import A, B, P


@pytest.fixture
def kb(small_kb: Path) -> Path:
    with KnowledgeBase.open(small_kb) as base:
        (base.folder / "index" / "labels.safetensors").write_text("{}" * 500)
        assert note_digests(base.folder) > 2
    with KnowledgeBase.open(small_kb, write=True) as base:
        for number in range(5):
            base.writer.write([Quad(A, P, B)], [Quad(B, P, A)], key=f"k{number}", who="me", why="x")
    return small_kb


def test_a_whole_base_has_no_damage_also_while_it_is_written_to(kb: Path) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        base.writer.write([Quad(B, P, A)], key="more", who="me", why="x")
        found = scrub(kb)
    assert (found.damages, found.records) == ([], 6)
    assert found.quads > 2000
    assert found.files > 2


def test_each_of_fifty_damages_to_a_live_base_is_told(kb: Path, tmp_path: Path) -> None:
    chance, found = random.Random(5), 0  # noqa: S311
    generation = next((kb / "generations").iterdir())
    for table in (generation / "store").glob("*.sst"):
        os.utime(table, (1, 1))
    assert scrub(kb).damages == []  # the tables that came since the build are noted now
    files = [*(generation / "store").glob("*.sst"), generation / "index" / "labels.safetensors",
             kb / "journal.nq"]  # fmt: skip
    assert len(files) > 3
    for number in range(50):
        path = files[number % len(files)]
        sound = path.read_bytes()
        at = chance.randrange(len(sound))
        path.write_bytes(
            sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :]
        )
        found += bool(scrub(kb).damages)
        path.write_bytes(sound)
    assert found == 50
    assert scrub(kb).damages == []


@pytest.mark.parametrize("said", [b"", b"\x00" * 16, b"\xb1ANIFEST-000005\n", b"../../elsewhere\n"])
@pytest.mark.parametrize("where", ["", "store"])
def test_a_damaged_pointer_is_told_and_never_followed(kb: Path, where: str, said: bytes) -> None:
    home = next((kb / "generations").iterdir()) / where if where else kb
    sound = (home / "CURRENT").read_bytes()
    (home / "CURRENT").write_bytes(said)
    [told] = scrub(kb).damages
    assert told.startswith("store: ")
    with pytest.raises(KnowledgeBaseError):
        KnowledgeBase.open(kb)
    (home / "CURRENT").write_bytes(sound)
    assert scrub(kb).damages == []


def test_what_a_damaged_log_of_the_store_loses_is_repeated_from_the_journal(kb: Path) -> None:
    chance, generation = random.Random(5), next((kb / "generations").iterdir())  # noqa: S311
    [log] = [each for each in (generation / "store").glob("*.log") if each.stat().st_size]
    sound, lost = log.read_bytes(), 0
    for _ in range(20):
        at = chance.randrange(len(sound))
        log.write_bytes(
            sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :]
        )
        copy = kb.with_name("copy")
        shutil.copytree(kb, copy)
        with KnowledgeBase.open(copy) as reader:
            lost += applied_through(reader.store) < 5
        with KnowledgeBase.open(copy, write=True) as base:
            assert base.sequence == applied_through(base.store) == 5
            assert set(base.store.match(A)) == {Quad(A, P, B)}
        shutil.rmtree(copy)
    assert lost > 10
    log.write_bytes(sound)


def test_a_lost_index_is_told_and_the_command_says_so(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--kb", str(kb), "doctor", "--scrub"]) == 0
    assert "nothing is damaged" in capsys.readouterr().out
    generation = next((kb / "generations").iterdir())
    shutil.move(generation / "index" / "labels.safetensors", kb / "elsewhere")
    assert main(["--kb", str(kb), "doctor", "--scrub", "--json"]) == 1
    assert "labels.safetensors is missing" in capsys.readouterr().out
