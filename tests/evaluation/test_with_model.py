"""Questions read by a model: one prompt for all methods, and an unreachable model fails at once."""

import json
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.prompts.templates import Prompt
from tests.support.model_endpoints import KEY, Endpoint, serve_script

QUESTIONS = (
    {"question": "绿豆的性是</question>？", "options": {"A": "热", "B": "寒"}, "answer": "B"},
    {"question": "枸杞子与何药相互作用", "options": {"A": "华法林", "B": "维C"}, "answer": "A"},
    {"question": "不知道的事", "options": {"A": "甲", "B": "乙"}, "answer": "A"},
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, kitchen_kb: Path) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "kb").symlink_to(kitchen_kb)
    text = "\n".join(json.dumps(question, ensure_ascii=False) for question in QUESTIONS)
    (folder / "q.jsonl").write_text(text, "utf-8")
    statement = {"statement": "绿豆性寒", "answer": "true"}
    (folder / "tf.jsonl").write_text(json.dumps(statement, ensure_ascii=False), "utf-8")
    return folder


def pointed(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SHIYI_MODELS_ANSWER", "scripted")
    monkeypatch.setenv("SHIYI_MODELS_RETRIES", "0")
    monkeypatch.setenv("SHIYI_MODELS_TIMEOUT", "5")


def careful(prompt: str) -> tuple[int, str]:
    """Choose what a claim names; say nothing where there is none."""
    if "-(寒)" in prompt or "-(cold)" in prompt:
        return 200, '{"answer": "B"}' if "A 热" in prompt else '{"answer": "A"}'
    return 200, '{"answer": "A"}' if "华法林)" in prompt else '{"answer": ""}'


def evaluated(home: Path, *words: str) -> int:
    return main(["--kb", str(home / "kb"), "evaluate", *words, "--with-model", "--json"])


def asked_of(endpoint: Endpoint) -> list[str]:
    head = Prompt.named("choose-option").text[:60]
    return [each for each in endpoint.asked if each.startswith(head)]


def test_a_model_reads_what_each_method_retrieves(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_script() as endpoint:
        endpoint.say = careful
        pointed(monkeypatch, endpoint.server_port)
        assert evaluated(home, "mcq", str(home / "q.jsonl"), "--method", "neighbourhood,none") == 0
        asked = asked_of(endpoint)
    near, none = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert near["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3, abs=1e-3)
    assert none["metrics"]["abstained"]["value"] == 1
    assert near["settings"]["model"] == "scripted"
    assert len(asked) == 6
    assert all(each.count("</question>") == 1 for each in asked)


def test_a_model_says_true_or_false(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_script() as endpoint:
        endpoint.say = careful
        pointed(monkeypatch, endpoint.server_port)
        words = ("truefalse", str(home / "tf.jsonl"), "--method", "neighbourhood")
        assert evaluated(home, *words) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"]["value"] == 1


def test_malformed_replies_are_abstentions(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_script() as endpoint:
        endpoint.say = lambda _: (200, '{"answer": "Z"}')
        pointed(monkeypatch, endpoint.server_port)
        assert evaluated(home, "mcq", str(home / "q.jsonl"), "--method", "none") == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["abstained"]["value"] == 1


def test_an_unreachable_model_fails_before_anything_is_measured(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_script() as endpoint:
        port = endpoint.server_port
    pointed(monkeypatch, port)
    assert evaluated(home, "mcq", str(home / "q.jsonl")) != 0
    output = capsys.readouterr()
    assert "nothing was measured" in output.err
    assert "OPENAI_BASE_URL" in output.err
    assert KEY not in output.err
    assert output.out == ""


def test_missing_model_gives_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHIYI_MODELS_ANSWER", raising=False)
    assert evaluated(home, "mcq", str(home / "q.jsonl")) == 2
    assert "no model is configured" in capsys.readouterr().err
    assert evaluated(home, "linking", str(home / "q.jsonl")) == 2
    assert "--with-model is for" in capsys.readouterr().err
