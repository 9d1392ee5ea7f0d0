"""A whole base is read through, and what is damaged is reported."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import Quad
from shiyi.sparql.base.digests import note_digests
from shiyi.sparql.base.integrity import scrub
from shiyi.sparql.base.journal import index_of, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.base.writer import JOURNAL_FILE, last_applied
from tests.contracts import A, B, P
from tests.support.copies import copy_base


@pytest.fixture
def kb(small_kb: Path) -> Path:
    with KnowledgeBase.open(small_kb) as base:
        (base.folder / "index" / "labels.safetensors").write_text("{}" * 500)
        assert note_digests(base.folder) > 2
    with KnowledgeBase.open(small_kb, write=True) as base:
        for number in range(5):
            base.writer.write(
                [Quad(A, P, B)], [Quad(B, P, A)], key=f"k{number}", agent="me", reason="x"
            )
    return small_kb


def test_scrub_of_written_base_finds_no_damage(kb: Path) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        base.writer.write([Quad(B, P, A)], key="more", agent="me", reason="x")
        report = scrub(kb)
    assert (report.damages, report.records) == ([], 6)
    assert report.quads > 2000
    assert report.files > 2


@pytest.mark.parametrize("body", [b"", b"\x00" * 16, b"\xb1ANIFEST-000005\n", b"../../elsewhere\n"])
@pytest.mark.parametrize("where", ["", "store"])
def test_a_damaged_pointer_is_reported_and_never_followed(
    kb: Path, where: str, body: bytes
) -> None:
    home = next((kb / "generations").iterdir()) / where if where else kb
    sound = (home / "CURRENT").read_bytes()
    (home / "CURRENT").write_bytes(body)
    [message] = scrub(kb).damages
    assert str(kb) in message
    assert "shiyi build" in message
    with pytest.raises(KnowledgeBaseError):
        KnowledgeBase.open(kb)
    (home / "CURRENT").write_bytes(sound)
    assert scrub(kb).damages == []


def test_a_journal_that_lost_its_end_is_named(kb: Path) -> None:
    journal = kb / JOURNAL_FILE
    records = [record.to_bytes() for record in read_journal(journal)]
    index_of(journal).unlink(missing_ok=True)
    journal.write_bytes(b"".join(records[:3]))
    [message] = scrub(kb).damages
    assert "ends with record 3, the store has change 5" in message
    index_of(journal).write_bytes(b"no database")
    assert any("which is made again" in each for each in scrub(kb).damages)


def test_journal_replays_what_store_log_lost(kb: Path) -> None:
    chance, generation = random.Random(5), next((kb / "generations").iterdir())  # noqa: S311
    [log] = [path for path in (generation / "store").glob("*.log") if path.stat().st_size]
    sound, lost = log.read_bytes(), 0
    for _ in range(20):
        at = chance.randrange(len(sound))
        log.write_bytes(
            sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :]
        )
        copy = kb.with_name("copy")
        copy_base(kb, copy)
        with KnowledgeBase.open(copy) as reader:
            lost += last_applied(reader.store) < 5
        with KnowledgeBase.open(copy, write=True) as base:
            assert base.sequence == last_applied(base.store) == 5
            assert set(base.store.match(A)) == {Quad(A, P, B)}
        shutil.rmtree(copy)
    assert lost > 10
    log.write_bytes(sound)


def test_a_scrub_never_notes_a_digest(kb: Path) -> None:
    """A table that was damaged before anybody noted its digest must not come to look sound."""
    generation = next((kb / "generations").iterdir())
    digests = generation / "index" / "digests.json"
    noted = json.loads(digests.read_text("utf-8"))
    table = next(name for name in noted if name.endswith(".sst"))
    before = json.dumps({name: digest for name, digest in noted.items() if name != table})
    digests.write_text(before, "utf-8")
    os.utime(generation / table, (1, 1))
    report = scrub(kb)
    assert (report.unchecked, report.damages) == (1, [])
    assert digests.read_text("utf-8") == before


def test_blocks_without_digest_are_read_in_order(kb: Path) -> None:
    chance, generation = random.Random(7), next((kb / "generations").iterdir())  # noqa: S311
    (generation / "index" / "digests.json").write_text("{}", "utf-8")
    assert scrub(kb).damages == []
    large = [path for path in (generation / "store").glob("*.sst") if path.stat().st_size > 20_000]
    assert len(large) >= 4  # of an order each
    missed = []
    for table in large:
        sound = table.read_bytes()
        at = chance.randrange(len(sound) // 2)  # what follows the blocks has a checksum of its own
        table.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
        missed += [] if scrub(kb).damages else [table.name]
        table.write_bytes(sound)
    assert missed == []


def test_lost_index_is_reported_by_the_command(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--kb", str(kb), "doctor", "--scrub"]) == 0
    assert "nothing is damaged" in capsys.readouterr().out
    generation = next((kb / "generations").iterdir())
    shutil.move(generation / "index" / "labels.safetensors", kb / "elsewhere")
    assert main(["--kb", str(kb), "doctor", "--scrub", "--json"]) == 1
    assert "labels.safetensors is missing; run `shiyi index`" in capsys.readouterr().out
