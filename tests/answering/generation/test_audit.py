"""Anybody's text held against the claims of the starter base."""

import json
from pathlib import Path

import pytest

from shiyi.answering.generation.audit import (
    CONTRADICTED,
    DANGEROUS,
    MAX_CHARS,
    NOT_ON_RECORD,
    SUPPORTED,
    Auditor,
    sentences_of,
)
from shiyi.answering.generation.dangers import dangers
from shiyi.answering.runtime import Runtime
from shiyi.cli import main
from shiyi.errors import UsageError
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings


@pytest.fixture(scope="module")
def auditor(runtime: Runtime) -> Auditor:
    return Auditor(runtime)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Ginkgo leaf extract may interact with warfarin.", SUPPORTED),
        ("Ginkgo does not interact with warfarin.", CONTRADICTED),
        ("You can stop warfarin if you take ginkgo.", DANGEROUS),
        ("枸杞子味甘，性平。", SUPPORTED),
        ("菊花性微寒，归肺、肝经。", SUPPORTED),
        ("藜芦不宜与人参同用。", SUPPORTED),
        ("藜芦和人参可以一起用。", CONTRADICTED),
        ("婴儿可以吃蜂蜜。", CONTRADICTED),
        ("螃蟹和柿子不能一起吃。", CONTRADICTED),
        ("绿豆性热。", NOT_ON_RECORD),
        ("The weather is fine today.", NOT_ON_RECORD),
        ("山药可以治愈糖尿病。", DANGEROUS),
    ],
)
def test_sentence_gets_its_verdict(auditor: Auditor, sentence: str, verdict: str) -> None:
    [audited] = auditor.audit(sentence)
    assert audited.verdict == verdict, audited.reasons
    if verdict in (SUPPORTED, CONTRADICTED):
        assert audited.claims
    if verdict != SUPPORTED:
        assert audited.reasons


def test_text_is_cut_into_sentences() -> None:
    text = "Goji is sweet (neutral, too). 枸杞子性平！\n\n- 味甘；"
    assert sentences_of(text) == ("Goji is sweet (neutral, too).", "枸杞子性平！", "- 味甘；")


def test_warning_not_to_stop_is_no_danger() -> None:
    assert dangers("Never stop your medicine without asking a doctor.") == ()
    assert dangers("不要自行停用降压药。") == ()
    assert dangers("吃了山楂就可以停用降压药。") != ()


@pytest.mark.parametrize("text", ["", " \n ", "山" * (MAX_CHARS + 1)])
def test_empty_and_long_texts_are_refused(auditor: Auditor, text: str) -> None:
    with pytest.raises(UsageError):
        auditor.audit(text)


def test_audit_is_served_as_json_and_as_a_page(starter_kb: Path) -> None:
    site = open_site(starter_kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    text = "Ginkgo does not interact with warfarin. 枸杞子味甘。"
    try:
        reply = client.post("/api/audit", json={"text": text})
        assert reply.status_code == 200
        values = reply.get_json()
        assert [each["verdict"] for each in values["sentences"]] == [CONTRADICTED, SUPPORTED]
        assert values["counts"][SUPPORTED] == 1
        assert client.post("/api/audit", json={"text": " "}).status_code == 400
        page = client.post("/audit?lang=en", data={"text": text})
        assert page.status_code == 200
        assert "states the opposite of a claim" in page.text
        assert "<form" in client.get("/audit").text
    finally:
        site.close()


def test_command_audits_a_file(
    starter_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("丹参和华法林可以放心一起吃。", "utf-8")
    place = ["--kb", str(starter_kb), "audit", str(tmp_path / "text.txt")]
    assert main([*place, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"][CONTRADICTED] == 1
    (tmp_path / "text.txt").write_text("枸杞子味甘。", "utf-8")
    assert main(place) == 0
    assert "supported: 枸杞子味甘。" in capsys.readouterr().out
