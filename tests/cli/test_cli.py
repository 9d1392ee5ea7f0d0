"""The command as a person runs it: real processes, real exit statuses, one clear line on faults."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from shiyi.cli import VERBS, main
from shiyi.cli.ask import SentencePrinter
from shiyi.cli.serve import build_default_base
from shiyi.model.answer import Verdict
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode, Quad
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support import bases
from tests.support.sites import answer
from tests.tables import from_table


def shiyi(
    *words: str, kb: Path | None = None, stdin: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    place = ["--kb", str(kb)] if kb else []
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", *place, *words],
        input=stdin,
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | env,
        check=False,
    )


def test_a_question_gets_a_cited_answer_as_json(starter_kb: Path) -> None:
    process = shiyi("ask", "Can I take ginkgo biloba with warfarin?", "--json", kb=starter_kb)
    assert process.returncode == 0, process.stderr
    answer = json.loads(process.stdout)
    assert answer["language"] == "en"
    assert answer["citations"]
    assert any(w["severity"] == "interaction" for w in answer["warnings"])
    assert answer["release"].startswith("sha256:")


def test_profile_of_key_value_words_reaches_safety_check(starter_kb: Path) -> None:
    process = shiyi(
        "ask", "想喝点山楂薏米汤", "--profile", "pregnant=true", "--json", kb=starter_kb
    )
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["warnings"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["ask", ""], "question"),
        (["ask", "a" * 100_000], "100,000"),
        (["ask", "a\x07b"], "control"),
        (["ask", "睡不着", "--method", "magic"], "magic"),
        (["ask", "睡不着", "--profile", "age=old"], "profile.age"),
        (["ask", "睡不着", "--profile", "nothere.json"], "cannot be read"),
        (["query", "nothere.rq"], "cannot be read"),
        (["explain", "https://w3id.org/shiyi/id/claim/none"], "no claim"),
        (["export", "--format", "csv", "-o", "-"], "name a folder"),
    ],
)
def test_bad_input_gives_status_two_and_one_line(
    starter_kb: Path, words: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in starter_kb.iterdir() if path.name != "snapshots")
    assert main(["--kb", str(starter_kb), *words]) == 2
    shown = capsys.readouterr().err
    assert part in shown
    assert "Traceback" not in shown
    after = sorted(path.name for path in starter_kb.iterdir() if path.name != "snapshots")
    assert before == after


@from_table
def test_mistyped_command_gets_a_suggestion(words: list[str], part: str) -> None:
    process = shiyi(*words)
    assert process.returncode == 2
    assert part in process.stderr
    assert process.stderr.startswith("shiyi: ")
    assert process.stderr.count("\n") == 1


def test_help_groups_every_verb_and_version_is_printed() -> None:
    page = shiyi("--help", COLUMNS="100").stdout
    assert [verb for verb in VERBS if f"│ {verb} " not in page] == []
    assert [row.panel for row in VERBS.values() if f"─ {row.panel} ─" not in page] == []
    assert shiyi("--version").stdout.strip() == version("shiyi")


def test_the_shell_completes_verbs_and_choices() -> None:
    def complete(line: str, word: int) -> list[str]:
        process = shiyi(_SHIYI_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(word))
        return process.stdout.split()

    assert complete("shiyi re", 1) == ["reason", "review", "release", "restore"]
    assert complete("shiyi export --format t", 3) == ["trig", "ttl"]


def test_a_build_that_would_lose_changes_is_refused(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb, write=True) as kb:
        quads = [Quad(NamedNode("urn:a"), NamedNode("urn:p"), NamedNode("urn:b"))]
        kb.writer.write(quads, key="k", agent="me", reason="test")
    (small_kb / "journal.nq").unlink()
    process = shiyi("build", kb=small_kb)
    assert process.returncode == 2
    assert "1 acknowledged changes" in process.stderr
    assert "shiyi build --lose-changes" in process.stderr
    assert process.stderr.count("\n") == 1


def test_malformed_query_gets_status_two_with_its_place(starter_kb: Path) -> None:
    process = shiyi("query", "-", kb=starter_kb, stdin="SELECT ?s {\n ?s ?p }")
    assert process.returncode == 2
    assert "2" in process.stderr
    assert "Traceback" not in process.stderr


def test_an_update_is_refused(starter_kb: Path) -> None:
    process = shiyi("query", "-", kb=starter_kb, stdin="DROP ALL")
    assert process.returncode == 2


def test_a_query_prints_its_rows(starter_kb: Path) -> None:
    text = "SELECT (COUNT(*) AS ?n) { ?c a <https://w3id.org/shiyi/vocab#Claim> }"
    process = shiyi("query", "-", "--format", "csv", kb=starter_kb, stdin=text)
    assert process.returncode == 0, process.stderr
    assert int(process.stdout.split()[1]) >= 6000


def test_a_query_searches_as_over_http(starter_kb: Path) -> None:
    service = "SERVICE <https://w3id.org/shiyi/search> { ?c search:names '枸杞子' }"
    text = f"PREFIX search: <https://w3id.org/shiyi/search#> SELECT ?c {{ {service} }}"
    process = shiyi("query", "-", "--format", "csv", kb=starter_kb, stdin=text)
    assert (process.returncode, process.stdout.split()[1:]) == (0, [f"{ID}substance-gouqizi"]), (
        process.stderr
    )


def test_a_missing_base_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["ask", "睡不着"], ["doctor"], ["export", "-o", str(tmp_path / "x")]):
        assert main(["--kb", str(tmp_path / "none"), *verb]) in (1, 2)
        shown = "".join(capsys.readouterr())
        assert "shiyi build" in shown
        assert "Traceback" not in shown


def test_a_wrong_setting_is_named(starter_kb: Path) -> None:
    process = shiyi("ask", "睡不着", kb=starter_kb, SHIYI_PATHS_TOP_K="many")
    assert process.returncode == 2
    assert "SHIYI_PATHS_TOP_K" in process.stderr


def test_the_doctor_counts_what_the_base_holds(starter_kb: Path) -> None:
    process = shiyi("doctor", "--json", kb=starter_kb)
    assert process.returncode == 0, process.stdout
    report = json.loads(process.stdout)
    assert report["base"]["counts"]["claims"] >= 6000
    assert report["base"]["cui_coverage"]["Disease"]["with_cui"] > 0
    assert "workers" in report["base"]["queries"]
    assert report["base"]["free_mib"] > 0


def test_export_writes_n_quads_that_parse(tmp_path: Path) -> None:
    path = tmp_path / "all.nq"
    process = shiyi("export", "-o", str(path), kb=bases.build(tmp_path / "kb"))
    assert process.returncode == 0, process.stderr
    assert path.read_bytes().count(b"\n") > 100
    assert b"rdf-syntax-ns#subject" in path.read_bytes()  # RDF 1.1 unless asked otherwise


def test_explain_shows_sources_and_arithmetic(
    starter_kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = ["--kb", str(starter_kb)]
    assert main([*kb, "ask", "枸杞子能和华法林一起吃吗？", "--json"]) == 0
    claim = json.loads(capsys.readouterr().out)["citations"][0]["claim"]
    assert main([*kb, "explain", claim]) == 0
    assert "confidence" in capsys.readouterr().out


@from_table
def test_faulty_table_stops_build_and_leaves_old_base(
    tmp_path: Path, row: str, status: int, faults: list[str]
) -> None:
    tables = tmp_path / "tables"
    for name in ("sources", "concepts", "claims", "mappings"):
        (tables / name).mkdir(parents=True)
    (tables / "concepts" / "a.tsv").write_text(f"id\tclass\tzh\ten\n{row}\n", "utf-8")
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "CURRENT").write_text("old\n")
    process = shiyi("build", "--tables", str(tables), kb=kb)
    assert process.returncode == status
    assert all(fault in process.stderr for fault in faults)
    assert (kb / "CURRENT").read_text() == "old\n"
    assert not list(kb.glob("generations/*"))


def test_serve_builds_missing_default_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tmp_path / "tables"
    for name in ("sources", "concepts", "claims", "mappings"):
        (tables / name).mkdir(parents=True)
    (tables / "concepts" / "a.tsv").write_text(
        "id\tclass\tzh\ten\nsubstance-x\tFood\t甲\tx\n", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    build_default_base(Settings(kb=Path("named")), tables)
    assert not Path("named").exists()
    build_default_base(Settings(), tables)
    current = Path("kb/CURRENT").read_text()
    build_default_base(Settings(), tables)
    assert Path("kb/CURRENT").read_text() == current


def test_the_base_conforms_to_its_shapes(
    starter_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.ttl"
    wrong.write_text(
        "<https://example.org/x> a <https://w3id.org/shiyi/vocab#DSProduct> .", encoding="utf-8"
    )
    assert main(["--kb", str(starter_kb), "validate", str(wrong), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["violations"] == 1


@pytest.mark.parametrize("text", ["", "not turtle <", "<a> <b>"])
def test_file_that_cannot_be_validated_is_bad_input(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.ttl"
    path.write_text(text, encoding="utf-8")
    assert main(["validate", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@from_table
def test_an_answer_begins_with_its_verdict(
    capsys: pytest.CaptureFixture[str], language: str, first: str
) -> None:
    verdict = Verdict("do_not_combine", "Do not.", "major")
    made = answer("goji", language)
    citations = tuple(replace(citation, kind="recalled") for citation in made.citations)
    SentencePrinter().finish(replace(made, verdict=verdict, citations=citations))
    assert capsys.readouterr().out.splitlines()[0] == first
