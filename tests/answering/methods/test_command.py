"""Methods and replay as a person and a program reach them: the command, the API, the evaluation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.errors import UsageError
from shiyi.evaluation.bench import METHODS as READING
from shiyi.evaluation.bench import Request
from shiyi.evaluation.runner import evaluate
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.answering.methods.test_method import METHODS
from tests.cli.test_cli import shiyi
from tests.tables import from_table

QUESTION = "枸杞子的性味归经是什么？"


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    site = open_site(starter_kb, Settings(), read_only=True)
    yield create_app(site).test_client()
    site.close()


@pytest.mark.parametrize("method", METHODS)
def test_api_answers_by_every_method_and_again_alike(client: FlaskClient, method: str) -> None:
    result = client.post("/api/ask", json={"question": QUESTION, "method": method, "k": 5})
    assert result.status_code == 200, result.text
    answer: dict[str, Any] = result.get_json()
    assert answer["method"] == method
    assert answer["trace"]["asked"]["k"] == 5
    assert bool(answer["citations"]) == (method != "none")
    again = client.post("/api/ask/replay", json={"answer": answer})
    assert again.get_json()["replayed"] == {"same": True, "differences": []}


def test_the_api_makes_an_answer_again(client: FlaskClient) -> None:
    asked = {"question": QUESTION, "method": "layers", "profile": {"medicines": ["warfarin"]}}
    answer = client.post("/api/ask", json=asked).get_json()
    again = client.post("/api/ask/replay", json={"answer": answer})
    assert again.status_code == 200, again.text
    assert again.get_json()["replayed"] == {"same": True, "differences": []}
    wrongs: list[dict[str, Any]] = [{}, {"answer": 7}, {"answer": {}}]
    for wrong in (*wrongs, {"answer": {"trace": {"asked": {}}}}):
        assert client.post("/api/ask/replay", json=wrong).status_code == 400


def test_the_api_names_the_methods_it_has(client: FlaskClient) -> None:
    result = client.post("/api/ask", json={"question": QUESTION, "method": "oracle"})
    assert result.status_code == 400
    assert "neighbourhood" in result.text


def test_the_command_answers_and_replays_an_answer(starter_kb: Path, tmp_path: Path) -> None:
    process = shiyi("ask", QUESTION, "--method", "spot", "--json", kb=starter_kb)
    assert process.returncode == 0, process.stderr
    place = tmp_path / "answer.json"
    place.write_text(process.stdout, encoding="utf-8")
    again = shiyi("ask", "--replay", str(place), "--json", kb=starter_kb)
    assert again.returncode == 0, again.stdout[-2000:] + again.stderr
    assert json.loads(again.stdout)["replayed"] == {"same": True, "differences": []}
    forged = json.loads(process.stdout) | {"answer": "another"}
    place.write_text(json.dumps(forged), encoding="utf-8")
    other = shiyi("ask", "--replay", str(place), kb=starter_kb)
    assert other.returncode == 1
    assert "differs: answer" in other.stdout


@from_table
def test_wrong_call_gets_status_two_and_one_line(
    starter_kb: Path, words: tuple[str, ...], says: str
) -> None:
    process = shiyi(*words, kb=starter_kb)
    assert process.returncode == 2
    assert says in process.stderr
    assert "Traceback" not in process.stderr


@pytest.fixture(scope="module")
def base(starter_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(starter_kb) as opened:
        yield opened


@pytest.fixture
def choices(tmp_path: Path) -> Path:
    place = tmp_path / "choices.jsonl"
    asked = {"枸杞子的药性是？": "A 平 大寒 大热 凉", "与半夏相反的是？": "B 大枣 川乌 山药 莲子"}
    lines = [
        {"id": n, "question": q, "answer": a, "options": dict(zip("ABCD", of, strict=True))}
        for n, (q, (a, *of)) in enumerate(((q, o.split()) for q, o in asked.items()), 1)
    ]
    place.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return place


def test_every_method_of_answering_reads_questions() -> None:
    assert set(METHODS) <= set(READING)


@pytest.mark.parametrize("method", ["spot", "layers", "therapy", "chain"])
def test_a_method_chooses_by_what_it_retrieves(
    base: KnowledgeBase, choices: Path, method: str
) -> None:
    request = Request("mcq", str(choices), methods=(method,))
    [results] = evaluate(base, Settings(), request).to_json()
    assert results["n"] == 2
    assert results["metrics"]["accuracy"]["value"] > 0


def test_a_switch_that_changes_nothing_is_refused(base: KnowledgeBase, choices: Path) -> None:
    with pytest.raises(UsageError, match="does not change layers"):
        Request("mcq", str(choices), methods=("layers",), ablate=("beam-1",))
    once = Request("mcq", str(choices), methods=("spot",), ablate=("no-reflection", "keyword-only"))
    assert evaluate(base, Settings(), once).to_json()[0]["ablate"] == [
        "no-reflection",
        "keyword-only",
    ]
