"""Anybody's text held against the claims of the starter base."""

import json
import re
from pathlib import Path
from time import process_time

import pytest

from shiyi.answering.generation import audit, checker
from shiyi.answering.generation.audit import (
    CONTRADICTED,
    DANGEROUS,
    MAX_CHARS,
    NOT_ON_RECORD,
    SUPPORTED,
    Auditor,
    split_sentences,
)
from shiyi.answering.runtime import Runtime
from shiyi.cli import main
from shiyi.errors import UsageError
from shiyi.evaluation.tasks.sentences import read_rows
from shiyi.ontology.lexicon import rows
from shiyi.server.app import create_app
from shiyi.server.i18n import Catalogue
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from tests.support.places import DATA
from tests.tables import from_table


@pytest.fixture(scope="module")
def auditor(runtime: Runtime) -> Auditor:
    return Auditor(runtime)


@from_table
def test_sentence_gets_its_verdict(auditor: Auditor, sentence: str, verdict: str) -> None:
    [audited] = auditor.audit(sentence)
    assert audited.verdict == verdict, audited.reasons
    if verdict in (SUPPORTED, CONTRADICTED):
        assert audited.claims
    if verdict != SUPPORTED:
        assert audited.reasons


def test_sentence_read_with_what_those_before_about(auditor: Auditor) -> None:
    text = "枸杞子是一种果实。它味甘。"
    assert [sentence.verdict for sentence in auditor.audit(text)] == [NOT_ON_RECORD, SUPPORTED]
    assert auditor.audit("它味甘。")[0].verdict == NOT_ON_RECORD
    other = auditor.audit("Ginkgo is a tree. It does not interact with warfarin.")
    assert [sentence.verdict for sentence in other] == [NOT_ON_RECORD, CONTRADICTED]


def test_dose_with_a_source_is_no_danger(auditor: Auditor) -> None:
    verdicts = [
        auditor.audit(term)[0].verdict
        for term in ("每天服用枸杞子12克。", "药典规定，枸杞子每天服用12克。", "粥里加枸杞子12克。")
    ]
    assert verdicts == [DANGEROUS, NOT_ON_RECORD, NOT_ON_RECORD]


def test_text_is_cut_into_sentences() -> None:
    text = "Goji is sweet (neutral, too). 枸杞子性平！\n\n- 味甘；"
    assert split_sentences(text) == ("Goji is sweet (neutral, too).", "枸杞子性平！", "- 味甘；")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "山" * (MAX_CHARS + 1),
        "x" * 100_000,
        "甘。" * 501,
        "Имбирь тёплый.",
        "생강은 따뜻하다.",
    ],
)
def test_unreadable_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        split_sentences(text)


def test_hundred_sentences_take_less_than_a_second(auditor: Auditor) -> None:
    rows = read_rows(DATA / "sentences-tune.tsv")[:100]
    auditor.audit("枸杞子味甘。")
    started = process_time()
    assert len(list(auditor.verdicts(row["sentence"] for row in rows))) == 100
    assert process_time() - started < 2.0  # 1.0 on the machine of the docs; others are slower


def test_audit_is_served_as_json_and_as_page(starter_kb: Path) -> None:
    site = open_site(starter_kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    text = "Ginkgo does not interact with warfarin. 枸杞子味甘。 <b>It cures everything.</b>"
    try:
        reply = client.post("/api/audit", json={"text": text})
        assert reply.status_code == 200
        values = reply.get_json()
        verdicts = [value["verdict"] for value in values["sentences"]]
        assert verdicts == [CONTRADICTED, SUPPORTED, DANGEROUS]
        assert values["counts"][SUPPORTED] == 1
        assert client.post("/api/audit", json={"text": " "}).status_code == 400
        page = client.post("/audit?lang=en", data={"text": text})
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert "states the opposite of a claim" in page.text
        assert "<b>It cures" not in page.text
        link = re.search(r'href="(/audit\?result=[^"]+)"', page.text)
        assert link
        linked = client.get(link[1]).text
        assert linked.count('<li class="audit-') == 3
        assert "warfarin" in linked.lower()  # in the label of a claim
        assert "It cures" not in linked
        assert client.get("/audit?result=x.1").status_code == 400
        assert "<form" in client.get("/audit").text
    finally:
        site.close()


def test_examples_of_the_page_show_every_verdict(auditor: Auditor) -> None:
    for language in ("zh", "en"):
        texts = Catalogue.load(language)
        for name in ("chatbot", "leaflet", "article"):
            sentences = auditor.audit(texts(f"audit.example_{name}"), language)
            assert {SUPPORTED, DANGEROUS} <= {sentence.verdict for sentence in sentences}, sentences


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_reason_has_a_text(language: str) -> None:
    texts = Catalogue.load(language)
    modules = [Path(module.__file__ or "") for module in (audit, checker)]
    written = "".join(path.read_text("utf-8") for path in modules)
    faults = re.findall(
        r'(?:fault=|return |return fault or \(""[^"]+|, )"([a-z]+ [a-z ]+[a-z])', written
    )
    reasons = {*faults, *(reason for reason, _, _ in rows("dangers"))} - {"cites no claim"}
    assert len(reasons) > 18
    for reason in reasons:
        assert texts(f"audit.reason_{reason.replace(' ', '_')}")


def test_command_audits_a_file(
    starter_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("丹参与华法林没有相互作用。", "utf-8")
    place = ["--kb", str(starter_kb), "audit", str(tmp_path / "text.txt")]
    assert main([*place, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"][CONTRADICTED] == 1
    (tmp_path / "text.txt").write_text("枸杞子味甘。", "utf-8")
    assert main(place) == 0
    assert "supported: 枸杞子味甘。" in capsys.readouterr().out
