"""Cases: nobody's name passes the door; facets, classes, reasoning and layers are stored."""

import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiyi.answering.retrieval.casebook import Casebook, count_cases
from shiyi.errors import MissingExtraError, ShiyiError
from shiyi.ingest.cases import reading
from shiyi.ingest.cases.reading import deidentify
from shiyi.ingest.cases.records import read_records
from shiyi.linking import case_terms
from shiyi.model.iris import ID, graph
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.dumps import write_dump
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support.bases import Desk, desk
from tests.support.hostile import people
from tests.support.model_endpoints import serving
from tests.tables import from_table

JOURNAL = graph("journal")
SSSOM = "https://w3id.org/sssom/"
__all__ = ["desk"]  # the fixture
CHAIN = {  # written for this test, in the form of TCMEval-SDT
    "Medical Record ID": "病例7731",
    "Clinical Data": "女性，42岁。主诉：咳嗽5日，恶寒，不更衣3日。诊查：苔薄白，脉浮紧。",
    "Clinical Information": "咳嗽;恶寒;不更衣;脉浮紧",
    "TCM Pathogenesis reasoning": "恶寒:风寒外束;咳嗽:肺气失宣",
    "TCM Pathogenesis": "风寒外束;肺气失宣",
    "TCM Syndrome reasoning": "风寒外束:风寒袭肺证;肺气失宣:风寒袭肺证",
    "TCM Syndrome": "风寒袭肺证",
    "Options of TCM Syndrome": "A:风寒袭肺证;B:肝郁",
}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, content: str) -> Path:
        (tmp_path / name).write_text(content, "utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize("seed", [7, 2026])
def test_deidentification_removes_99_percent_of_names(seed: int) -> None:
    result = lost = 0
    for person in people(seed, 600):
        body = deidentify(person.text, {}, Counter())
        result += len(person.secrets)
        lost += sum(secret.strip(".") in body for secret in person.secrets)
    assert result > 3000
    assert lost / result <= 0.01


@from_table
def test_what_names_nobody_stays(message: str) -> None:
    removed: Counter[str] = Counter()
    assert deidentify(message, {}, removed) == message
    assert not removed


def test_no_identity_remains_in_any_output(
    desk: Desk, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    rows, secrets = [], set[str]()
    for number, person in enumerate(people(99, 40)):
        own = f"欧阳秘{'甲乙丙丁'[number % 4]}{number:03}"  # in a field of its own, and in the text
        rows.append(
            {
                "姓名": own,
                "手机": f"139{number:08}",
                "住址": f"密云县{number}号大院",
                "病案号": f"QZ{number:06}",
                "text": f"{person.text}{own}诉失眠。",
            }
        )
        secrets |= {own, f"139{number:08}", f"QZ{number:06}", f"密云县{number}号大院"}
        body = deidentify(person.text, {}, Counter())
        secrets |= {secret.strip(".") for secret in person.secrets if secret.strip(".") not in body}
    path = tmp_path / "患者欧阳秘名单.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    started = time.time() - 1
    report = desk.take(path)
    assert report.rows == 40
    store, out = OxigraphStore.in_memory(), io.BytesIO()
    store.change(add=desk.quads())
    write_dump(store, out, "nq", "rdf12", None)
    files = [
        each
        for each in desk.base.path.rglob("*")
        if each.is_file() and each.stat().st_mtime >= started
    ]
    assert {"journal.nq"} <= {file.name for file in files}
    capture = capfd.readouterr()
    result = json.dumps([report.to_json(), *report.lines()], ensure_ascii=False)
    result += capture.out + capture.err + caplog.text + "".join(map(str, desk.quads()))
    whole = b"\0".join((out.getvalue(), result.encode(), *(file.read_bytes() for file in files)))
    names = " ".join(
        label.text for label in desk.index.labels
    ).lower()  # brown rice is no Mrs Brown
    secrets = {secret for secret in secrets if len(secret) > 3 and secret.lower() not in names} | {
        "患者欧阳秘名单"
    }
    assert len(secrets) > 250
    assert [secret for secret in secrets if secret.encode() in whole] == []
    assert {"name", "phone", "id", "birth date", "address", "field name"} <= report.removed.keys()
    assert desk.forget(report)["cases"] == 40


def test_case_keeps_reasoning_and_words_refer_to_terms(
    desk: Desk, written: Callable[[str, str], Path]
) -> None:
    before = desk.quads()
    report = desk.take(written("a.json", json.dumps([CHAIN], ensure_ascii=False)))
    assert report.rows == 1
    assert report.removed["field id"] == 1
    base = desk.base
    store = base.store
    [case] = Casebook.read(store).cases
    assert (case.age_group, case.sex) == ("adult", "female")
    assert "7731" not in str(desk.quads() - before)
    assert ("恶寒", "风寒外束") in case.steps
    assert ("肺气失宣", "风寒袭肺证") in case.steps
    assert [
        text(NamedNode(each)).removeprefix(f"{ID}disease-gbt-").count("-") for each in case.filed
    ] == [0, 1]
    for each in case.filed:
        assert count_cases(store, each).cases == 1
    words = {word.text: word for word in case.words}
    assert words["咳嗽"].match == "exactMatch"
    # a veiled expression goes to the term a person chose for it
    [term] = store.match(None, SKOS.prefLabel, _zh("便秘"), DefaultGraph())
    assert words["不更衣"].concept == text(term.subject)
    assert count_cases(store, words["不更衣"].concept).cases == 1
    assert next(store.match(None, SHIYI.recordedIn, None, DefaultGraph()), None) is None
    quads = desk.quads()
    mappings = [q.subject for q in quads if q.object == NamedNode(f"{SSSOM}Mapping")]
    assert len(mappings) == sum(1 for word in words.values() if word.concept)
    for node in mappings:
        own = {q.predicate.value for q in quads if q.subject == node}
        assert {
            f"{SSSOM}{n}"
            for n in (
                "subject_id",
                "predicate_id",
                "object_id",
                "mapping_justification",
                "similarity_score",
            )
        } <= own
    journal = base.path / "journal.nq"
    assert "不更衣3日".encode() in journal.read_bytes()
    assert desk.forget(report)["cases"] == 1
    assert desk.quads() == before
    assert "不更衣3日".encode() not in journal.read_bytes()


def _zh(words: str) -> Any:
    return Literal(words, language="zh")


def test_name_found_in_one_field_goes_from_all(
    desk: Desk, written: Callable[[str, str], Path]
) -> None:
    case = {
        "text": "患者康慧珍，女，50岁。咳嗽。",
        "answer": "嘱康慧珍服药，风寒袭肺证。",
        "按语": "康慧珍之咳，风寒也。",
    }
    report = desk.take(written("n.json", json.dumps([case])))
    assert "康慧珍" not in "".join(map(str, desk.quads()))
    assert report.removed["name"] >= 2
    assert desk.forget(report)["cases"] == 1


class _Analyzer:
    """The part of Presidio that is used: it finds one name, which no pattern finds."""

    def __init__(self, *_: object, supported_languages: list[str] = []) -> None:  # noqa: B006
        self.languages = supported_languages

    def load(self) -> None:
        self.languages = ["loaded"]

    def load_predefined_recognizers(self, *, languages: list[str], nlp_engine: "_Analyzer") -> None:
        assert languages == self.languages == ["zh"]
        assert nlp_engine.languages == ["loaded"]

    def analyze(self, text: str, language: str, entities: list[str]) -> list[SimpleNamespace]:
        assert language == "zh"
        assert not {"LOCATION", "DATE_TIME"} & {*entities}, "may be findings"
        start = text.find("阿桂")
        found = SimpleNamespace(entity_type="PERSON", start=start, end=start + 2)
        return [found] if start >= 0 else []


def test_presidio_reads_cases_again(
    desk: Desk, written: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = replace(Settings().ingest, privacy="zh_core_web_lg")
    monkeypatch.setattr(desk.extracting, "settings", replace(Settings(), ingest=ingest))
    case = written("p.json", json.dumps([{"text": "女，50岁。咳嗽，阿桂代诉。"}]))
    for name in ("presidio_analyzer", "presidio_analyzer.nlp_engine"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"shiyi\[privacy\]"):
        desk.take(case)
    parts = {
        "AnalyzerEngine": _Analyzer,
        "RecognizerRegistry": _Analyzer,
        "SpacyNlpEngine": _Analyzer,
    }
    for name in ("presidio_analyzer", "presidio_analyzer.nlp_engine"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**parts))
    with pytest.raises(ShiyiError, match="zh_core_web_lg is not installed"):
        desk.take(case)
    monkeypatch.setattr(reading, "find_spec", lambda _: True)
    report = desk.take(case)
    assert "阿桂" not in "".join(map(str, desk.quads()))
    assert report.removed["name"] == 1
    desk.forget(report)


def test_the_starter_base_holds_no_case(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        for kind in (SHIYI.PatientCase, SHIYI.CaseMention, SHIYI.ReasoningChain):
            assert list(base.store.match(None, RDF.type, kind)) == []


def test_free_text_and_csv_are_cases_too(desk: Desk, written: Callable[[str, str], Path]) -> None:
    free = written(
        "b.txt", "男，8岁。发热，咳嗽，无汗。\n\n----\n\n女，70岁。失眠，健忘。既往史：高血压。\n"
    )
    report = desk.take(free)
    assert report.rows == 2
    table = written("c.csv", "性别,年龄,主诉,既往史\n女,66,心悸失眠,糖尿病\n")
    second = desk.take(table)
    base = desk.base
    cases = {case.text.splitlines()[0]: case for case in Casebook.read(base.store).cases}
    old = cases["心悸失眠"]
    assert (old.age_group, old.sex) == ("elder", "female")
    assert [each.endswith("diabetes-mellitus") for each in old.history] == [True]
    child = cases["男，8岁。发热，咳嗽，无汗。"]
    assert child.age_group == "child"
    assert "汗出" not in {word.text for word in child.words}
    for each in (report, second):
        assert desk.forget(each)["cases"] in {1, 2}


def _model(name: str, title: str, passage: str) -> Any:
    assert name == "read-case"
    return {
        "mentions": [
            {"words": "夜寐不安", "kind": "symptom"},
            {"words": "心血不足", "kind": "pathogenesis"},
            {"words": "不在文中", "kind": "symptom"},
        ],
        "steps": [{"from": "夜寐不安", "to": "心血不足"}, {"from": "夜寐不安", "to": "不在文中"}],
        "classes": ["A05", "A05.01"],
    }


def test_model_reads_case_and_invents_nothing(
    desk: Desk, written: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(
        "d.json",
        json.dumps([{"姓名": "欧阳密名", "text": "欧阳密名，女，30岁。夜寐不安，心血不足。"}]),
    )
    with serving(_model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        extracting = desk.with_model()
        report = desk.take(path, extracting)
        extracting.close()
    base = desk.base
    [case] = Casebook.read(base.store).cases
    assert case.steps == (("夜寐不安", "心血不足"),)
    assert "不在文中" not in {word.text for word in case.words}
    assert {each.rpartition("gbt-")[2] for each in case.filed} == {"a05", "a05-01"}
    assert "欧阳密名".encode() not in (desk.base.path / "replies.sqlite").read_bytes()
    assert desk.forget(report)["cases"] == 1


@from_table
def test_file_of_no_cases_is_refused_without_name(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ShiyiError, match=message) as fault:
        list(read_records(tmp_path / name, 10**6, Counter()))
    assert str(tmp_path) not in str(fault.value)


@from_table
def test_facets_are_read(message: str, group: str, sex: str) -> None:
    assert (case_terms.age_group(message), case_terms.patient_sex(message)) == (group, sex)
