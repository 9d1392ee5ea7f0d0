"""The trained reader: its data, its weights, and what reading a question changes in an answer."""

import json
from collections import Counter
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np
import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.sections.terms import emergency_numbers
from shiyi.answering.understanding.frame import ASKS, Frame
from shiyi.answering.understanding.reader.model import SHIPPED, Reader, shipped_reader
from shiyi.answering.understanding.reader.training import train_reader, utterances
from shiyi.cli import main
from shiyi.columnar.mapped_file import Memmap
from shiyi.errors import UsageError
from shiyi.evaluation.tasks.frames import measure_frames
from shiyi.linking.normalization import QuestionText
from shiyi.model.answer import Answer
from shiyi.ontology.lexicon import rows, sentences
from shiyi.settings import Settings
from tests.support.questions import ask, frame_of
from tests.tables import from_table


@pytest.fixture(scope="module")
def reader() -> Reader:
    found = shipped_reader()
    assert found is not None
    return found


def test_utterances_cover_every_ask_by_families_of_wording() -> None:
    all_utterances = utterances()
    assert len(all_utterances) >= 3000
    counts = Counter(each.labels["ask"] for each in all_utterances)
    assert counts.keys() == set(ASKS)
    assert min(counts.values()) >= 50
    assert (
        len({each.id for each in all_utterances})
        == len(all_utterances)
        == len({each.text for each in all_utterances})
    )
    folds: dict[str, set[int]] = {}
    for utterance in all_utterances:
        folds.setdefault(utterance.family, set()).add(utterance.fold)
    assert all(len(fold) == 1 for fold in folds.values())
    assert {f for fold in folds.values() for f in fold} == set(range(5))


def test_the_reader_is_small_and_fast(reader: Reader) -> None:
    assert SHIPPED.stat().st_size < 1_000_000
    questions = [utterance.text for utterance in utterances()[::20]]
    spent = []
    for question in questions:
        started = thread_time()
        reader.read(question)
        spent.append(thread_time() - started)
    assert median(spent) < 0.004  # twice the bar, as the processor is shared with other tests


@pytest.mark.neural
def test_training_gives_the_weights_that_are_shipped(tmp_path: Path) -> None:
    path, measures = train_reader(tmp_path / "reader.safetensors")
    new, shipped = Memmap.open(path), Memmap.open(SHIPPED)
    assert new.about == shipped.about
    for name in shipped.arrays:
        assert np.allclose(new[name], shipped[name], atol=1, rtol=1e-2), name
    assert measures.accuracy["ask"] >= 0.78
    assert measures.alarm_recall >= 0.85
    assert measures.false_alarm <= 0.03
    assert measures.error <= 0.06


@from_table
def test_what_is_asked(reader: Reader, question: str, read: str) -> None:
    assert question not in {utterance.text.raw for utterance in utterances()}
    frame = reader.read(QuestionText.of(question))
    assert frame.ask == read
    assert sum(intent.p for intent in frame.asks) == pytest.approx(1, abs=1e-3)


@from_table
def test_past_or_denied_danger_gives_no_alarm(reader: Reader, question: str) -> None:
    limit = Settings().understanding.alarm_from
    assert not reader.read(QuestionText.of(question)).alarm_from(limit)


def test_who_and_in_what_state(runtime: Runtime) -> None:
    patient = frame_of(runtime, "孩子6岁便秘，吃什么好").patient
    assert (patient.who, patient.age) == ("child", 6.0)
    states = {
        s.label: s.assertion
        for s in frame_of(runtime, "我没怀孕，在喂奶，能喝咖啡吗").patient.states
    }
    assert states == {"pregnant": "denied", "breastfeeding": "affirmed"}


@from_table
def test_a_context_that_is_no_frame_is_refused(
    reader: Reader, change: dict[str, object], fault: str
) -> None:
    body = json.loads(json.dumps(reader.read(QuestionText.of("能吃桃子吗")).to_json()))
    assert Frame.from_json(body).ask == "may"
    with pytest.raises(UsageError, match=fault):
        Frame.from_json(body | change)


def test_frames_are_measured_and_printed(
    runtime: Runtime, starter_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "frames.tsv"
    heading = "id utterance previous_turn ask ask2 who focus states".replace(" ", "\t")
    rows = [heading, "a\t我不想活了\t\tself-harm\t\tself\t\t"]
    table.write_text("\n".join([*rows, "b\t谢谢你\t\tchitchat\t\tgeneral\t\t"]), "utf-8")
    (run,) = measure_frames(table, runtime).runs
    assert run.values["alarm_recall"] == [1.0]
    assert run.values["false_alarm"] == [0.0]
    assert run.values["ask_accuracy"] == [1.0, 1.0]
    table.write_text(rows[0] + "\nc\t你好\t\tcook\t\tself\t\t", "utf-8")
    with pytest.raises(UsageError, match="'cook' is no ask"):
        measure_frames(table, runtime)
    assert main(["--kb", str(starter_kb), "frame", "喝农药了", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ask"][0]["type"] == "emergency"


def _alarmed(answer: Answer) -> bool:
    return any(warning.severity == "emergency" for warning in answer.warnings)


@from_table
def test_an_alarm_comes_before_food(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert _alarmed(answer)
    assert not answer.recommendations


@from_table
def test_what_must_be_stated_first(
    runtime: Runtime, question: str, sentence: str, severity: str
) -> None:
    answer = ask(runtime, question)
    place = answer.language == "en"
    numbers = emergency_numbers(answer.language, "", question)
    texts = {key: sentences()[key][place] for _, key, *_ in rows("precautions")}
    known = {text.format(**numbers)[:-1]: key for key, text in texts.items()}
    unverified = " (common knowledge, not verified)." if place else "（行业常识，未核对）。"
    warnings = {w.text.removesuffix(unverified): w for w in answer.warnings}
    results = {known[text]: w.severity for text, w in warnings.items() if text in known}
    assert results == ({sentence: severity} if sentence else {})
    assert not sentence or answer.sentences[0].text.removesuffix(unverified) in known
