"""``shiyi user`` and ``shiyi review``: the desks without a browser."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from shiyi.cli import main
from shiyi.curation.accounts import AccountStore, matches
from tests.support.bases import COLD, INTERACTION, RELIEF, SWEETNESS, build
from tests.tables import from_table

PASSWORD = "correct horse battery"  # noqa: S105 - of test accounts


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("command") / "kb")


@pytest.fixture(scope="module")
def people(kb: Path) -> AccountStore:
    from shiyi.curation.accounts import Role

    store = AccountStore(kb)
    for name, role in (("li", Role.CURATOR), ("wang", Role.EDITOR), ("guest", Role.READER)):
        store.add(name, role, PASSWORD)
    store.add("root", Role.ADMINISTRATOR, PASSWORD)
    return store


@pytest.fixture
def run(kb: Path, people: AccountStore, capsys: pytest.CaptureFixture[str]) -> Any:
    def asked(*words: str, status: int = 0) -> Any:
        result = main(["--kb", str(kb), *words])
        out, err = capsys.readouterr()
        assert result == status, err
        if status:
            return err
        return json.loads(out) if "--json" in words else out

    return asked


def test_account_is_made_with_password_from_standard_input(
    run: Any, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long new password\n"))
    run("user", "add", "zhao", "--role", "contributor")
    assert matches(AccountStore(kb).get("zhao").hashed, "a long new password")
    run("user", "role", "zhao", "curator")
    run("user", "disable", "zhao")
    [row] = [item for item in run("user", "list", "--json") if item["name"] == "zhao"]
    assert (row["role"], row["active"]) == ("curator", False)
    assert "hashed" not in row


def test_no_account_is_made_without_a_password(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "there was none" in run("user", "add", "chen", status=2)


def test_review_is_made_shown_logged_and_taken_back(run: Any) -> None:
    iri = RELIEF.iri.value
    queue = run("review", "queue", "--status", "candidate", "--json")
    assert iri in [item["claim"] for item in queue["claims"]]
    made = run(
        "review", "accept", iri, "--as", "li", "--agreement", "0.5", "--reason", "x", "--json"
    )
    shown = run("review", "show", iri.partition("/id/")[2], "--json")
    assert (shown["status"], shown["confidence"]) == ("accepted", 0.6)
    assert [item["who"] for item in shown["reviews"]] == ["li"]
    run("review", "undo", str(made["number"]), "--as", "li")
    assert run("review", "show", iri, "--json")["status"] == "candidate"
    log = run("review", "log", iri, "--json")
    assert [(item["kind"], item["live"]) for item in log[:2]] == [("undo", True), ("accept", False)]


def test_only_an_editor_takes_back_what_another_did(run: Any) -> None:
    made = run("review", "reject", SWEETNESS.iri.value, "--as", "wang", "--json")
    assert "editor-in-chief" in run("review", "undo", str(made["number"]), "--as", "li", status=2)
    run("review", "undo", str(made["number"]), "--as", "wang")


@from_table
def test_what_cannot_be_refused_with_one_clear_line(
    run: Any, words: tuple[str, ...], says: str
) -> None:
    fault = run("review", *words, status=2)
    assert says in fault
    assert fault.count("\n") == 1


def test_edit_is_checked_and_comment_is_stored(run: Any) -> None:
    fault = run(
        "review", "edit", COLD.iri.value, "object=nonsense", "--as", "li", "--reason", "x", status=1
    )
    assert "nonsense" in fault
    run("review", "comment", INTERACTION.iri.value, "--as", "li", "--reason", "which dose? @wang")
    assert run("review", "log", INTERACTION.iri.value, "--json")[0]["kind"] == "comment"


def test_a_bundle_goes_out_and_comes_in_again(run: Any, tmp_path: Path) -> None:
    run("review", "skip", RELIEF.iri.value, "--as", "li")
    text = run("review", "export", "-o", str(tmp_path / "b.jsonl"), "--json")
    assert text["changes"] == len((tmp_path / "b.jsonl").read_bytes().splitlines()) - 2
    taken = run("review", "import", str(tmp_path / "b.jsonl"), "--as", "wang", "--json")
    assert (taken["made"], taken["known"]) == (0, text["changes"])
    assert "approve" in run("review", "import", str(tmp_path / "b.jsonl"), "--as", "li", status=2)


def test_first_administrator_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from shiyi.cli.serve import create_admin
    from shiyi.curation.accounts import Role
    from shiyi.errors import UsageError
    from shiyi.settings import Settings

    settings = replace(Settings(), kb=tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(UsageError, match="there was none"):
        create_admin("root", settings)
    monkeypatch.setattr("sys.stdin", io.StringIO("a long new password\n"))
    create_admin("root", settings)
    assert AccountStore(tmp_path).get("root").role is Role.ADMINISTRATOR
    with pytest.raises(UsageError, match="accounts already"):
        create_admin("other", settings)
