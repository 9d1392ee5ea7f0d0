"""What earlier releases wrote opens in this one: bases, journals, backups, accounts and tokens.

``tests/data/releases/VERSION.tar.xz`` has a base of that release with five changes and a review,
its backup, and ``expected.json``: what both contained.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from shiyi.curation.accounts import AccountStore, Audit, Role, matches
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions
from shiyi.model.rdf import Quad
from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.backups import back_up, restore
from shiyi.sparql.base.integrity import scrub
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release
from shiyi.sparql.store.visibility import FORMER_NOTES
from tests.contracts import A, B, P
from tests.support.places import DATA
from tests.support.sites import PASSWORD

RELEASES = sorted((DATA / "releases").glob("*.tar.xz"))


@pytest.fixture(params=RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def expected(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "expected.json").read_text("utf-8"))
    return results


def test_every_release_has_its_sample() -> None:
    assert [path.name for path in RELEASES] == ["0.1.0.tar.xz"]


@pytest.mark.parametrize("source", ["kb", "backup"])
def test_base_of_earlier_release_opens_complete(folder: Path, source: str) -> None:
    kb, had = folder / "kb", expected(folder)
    if source == "backup":
        kb = folder / "again"
        restore(folder / "backup", kb)
    assert scrub(kb).damages == []
    with KnowledgeBase.open(kb) as base:
        assert base.release == had["release"]
    with KnowledgeBase.open(kb, write=True) as base:
        assert (base.sequence, compute_release(base.store.match())) == (
            had["sequence"],
            had["quads"],
        )
        assert not any(base.store.match(None, None, None, FORMER_NOTES))
        assert base.writer.write((), key="k2", agent="me", reason="again") == 2
        reviews = Decisions(Changes(base.writer)).reviews(had["reviewed"])
        assert [change.reason for change in reviews] == ["as the book has it"]
        assert base.writer.write([Quad(A, P, B)], key="new", agent="me", reason="more") == 6
        assert base.writer.undo(6, agent="me", reason="enough") == 7
        assert not any(base.store.match(A, P, B))
    people = AccountStore(kb)
    assert matches(people.get("ben").hashed, PASSWORD)
    people.add("new", Role.ADMINISTRATOR, PASSWORD)
    assert Tokens(kb).find(had["token"])
    Tokens(kb).add("new", "write", 1)
    Audit(kb).note("signed out", "ben")
    assert [record["what"] for record in Audit(kb).last()] == ["signed out", "signed in"]
    assert scrub(kb).damages == []
    back_up(kb, folder / "new backup")
    restore(folder / "new backup", folder / "restored")
    assert Tokens(folder / "restored").find(had["token"])


def test_journal_of_earlier_release_repeated_on_new_build(folder: Path) -> None:
    kb, had = folder / "kb", expected(folder)
    with KnowledgeBase.open(kb, write=True) as base:
        before = {quad for quad in base.store.match() if quad.subject in {A, B}}
    build_generation(kb, (), {})
    with KnowledgeBase.open(kb, write=True) as base:
        assert base.sequence == had["sequence"]
        assert {quad for quad in base.store.match() if quad.subject in {A, B}} == before
