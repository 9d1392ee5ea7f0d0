"""An endpoint that fails, and a run that is killed: every passage is read, or waits with a reason."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.model.iris import graph
from shiyi.model.rdf import Quad, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.prompts.caching import ReplyStore
from shiyi.prompts.chat import Completion
from shiyi.prompts.resilience import Retrier
from shiyi.prompts.templates import Prompt
from shiyi.settings import ModelSettings
from tests.ingest.extraction.test_llm import KEY, PAGE, copied, of_type, page, read, value
from tests.support.bases import stored_quads
from tests.support.copies import copy_base
from tests.support.model_endpoints import good, serving
from tests.support.places import SHARED

__all__ = ["copied", "page"]  # fixtures
FAULT_SERVER = SHARED / "tools/llm_fault_server.py"
Copied = Callable[[str], Path]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, built: Path) -> set[Quad]:
    """What the base holds after a run with no fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    copy_base(built, folder / "kb")
    (folder / "notes.md").write_text(PAGE, "utf-8")
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        read(folder / "kb", folder / "notes.md", server, patch)
    return stored_quads(folder / "kb")


@pytest.mark.parametrize(
    "fault", ["429", "500", "truncated", "malformed", "other form", "cut", "slow"]
)
def test_fault_that_passes_is_mended_by_asking_again(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: set[Quad], fault: str
) -> None:
    kb = copied("kb")
    with serving(faults=[fault]) as server:
        report = read(kb, page, server, monkeypatch, timeout=1.0 if fault == "slow" else 10.0)
    assert report.waiting == {}
    assert sum(server.asked.values()) == 16  # five prompts, three passages, one asked again
    assert stored_quads(kb) == undisturbed


def test_refused_passage_waits_while_others_are_read(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: set[Quad]
) -> None:
    def refusing(name: str, title: str, passage: str) -> Any:
        return "no" if "山药" in title and name == "extract-claims" else good(name, title, passage)

    kb = copied("kb")
    with serving(refusing) as server:
        report = read(kb, page, server, monkeypatch)
        [reason] = report.waiting.values()
        assert "not JSON" in reason
        quads = stored_quads(kb)
        [waiting] = of_type(quads, SHIYI.ParkedPassage)
        assert value(quads, waiting, RDFS.comment) == reason
        passage = value(quads, waiting, PROV.wasDerivedFrom)
        assert not [
            q for q in quads if q.predicate == SHIYI.supportedByText and text(q.object) == passage
        ]
        again = read(kb, page, server, monkeypatch)
        assert again.waiting == report.waiting
        quads = stored_quads(kb)
        assert int(value(quads, waiting, RDF.value)) > 1  # tries are counted
    with serving() as server:
        assert read(kb, page, server, monkeypatch).waiting == {}
        assert server.asked["propose-relations"] == 0  # what went well is not asked again
    assert stored_quads(kb) == undisturbed


def test_fault_server_costs_no_fact_and_plants_none(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not FAULT_SERVER.is_file():
        pytest.skip("../shared/tools/llm_fault_server.py is not here")
    clean = _under_faults(copied("clean"), page, monkeypatch, 0.0)
    faulty = _under_faults(copied("faulty"), page, monkeypatch, 0.3)
    assert faulty == clean
    assert len(of_type(clean, SHIYI.Claim)) == 2


ONE = (
    '{"relations": ["hasNature"], "statements": [{"subject": "山楂", "relation": "hasNature", '
    '"object": "平", "quote": "性平", "confidence": 0.9}, {"subject": "山药", "relation": "hasNature", '
    '"object": "平", "quote": "性平", "confidence": 0.9}], "attributes": [], "repairs": [{"number": 1, '
    '"withdraw": true}, {"number": 2, "withdraw": true}], "summary": "性味。", "questions": [], "entities": []}'
)


def _under_faults(kb: Path, page: Path, monkeypatch: pytest.MonkeyPatch, rate: float) -> set[Quad]:
    port = _free_port()
    served = subprocess.Popen(  # noqa: S603 - our own interpreter
        [
            sys.executable,
            str(FAULT_SERVER),
            "--port",
            str(port),
            "--rate",
            str(rate),
            "--seed",
            "5",
            "--sleep",
            "3",
            "--good",
            ONE,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert served.stdout
        served.stdout.readline()
        server = _At(f"http://127.0.0.1:{port}/v1")
        for _ in range(12):
            report = read(kb, page, server, monkeypatch, timeout=1.5, attempts=4)  # type: ignore[arg-type]
            assert all(report.waiting.values())
            quads = stored_quads(kb)
            for node in of_type(quads, SHIYI.Evidence):
                quote = value(quads, node, SHIYI.quote)
                passage = next(
                    q.object
                    for q in quads
                    if q.subject == node and q.predicate == PROV.wasDerivedFrom
                )
                result = next(
                    text(q.object)
                    for q in quads
                    if q.subject == passage and q.predicate == RDF.value
                )
                assert quote in result
            assert KEY.encode() not in b"".join(
                path.read_bytes() for path in kb.rglob("*") if path.is_file()
            )
            if not report.waiting:
                return quads
        raise AssertionError("passages still wait after twelve runs")
    finally:
        served.kill()
        served.communicate()


class _At:
    def __init__(self, url: str) -> None:
        self.url = url


def _free_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("size", [1, 6_000, 14_000])
def test_killed_run_can_be_repeated(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: set[Quad], size: int
) -> None:
    kb = copied("kb")
    journal = kb / "journal.nq"
    with serving() as server:
        server.pause = 0.02
        env = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": KEY,
            "SHIYI_INGEST_BATCH": "2",
            "SHIYI_MODELS_EXTRACT": "scripted",
        }
        words = ["--kb", str(kb), "ingest", "text", str(page), "--extractor", "llm"]
        killed = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "shiyi", *words],
            env=os.environ | env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while killed.poll() is None and (not journal.exists() or journal.stat().st_size < size):
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        read(kb, page, server, monkeypatch)
    assert stored_quads(kb) == undisturbed


class Word(BaseModel):
    """The form of the replies below."""

    word: str


class Scripted:
    """A model that returns scripted replies, or raises scripted faults."""

    name = "scripted"

    def __init__(self, *message: str | OutsideError) -> None:
        self.messages, self.asked = list(message), 0

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: object = None
    ) -> Completion:
        self.asked += 1
        result = self.messages.pop(0)
        if isinstance(result, OutsideError):
            raise result
        return Completion(result, 7, 3)


def _asker(model: Scripted, waits: list[float], **chosen: Any) -> Retrier:
    settings = ModelSettings(**({"attempts": 3, "wait": 1.0, "wait_most": 60.0} | chosen))
    return Retrier(model, ReplyStore.in_memory(), settings, "a@1", waits.append)


def test_waits_double_and_retry_after_is_observed() -> None:
    waits: list[float] = []
    model = Scripted(BusyError("429"), BusyError("429", after=20.0), '{"word": "甘"}')
    assert _asker(model, waits).ask(Prompt("p", "x"), Word).word == "甘"
    assert 0.5 <= waits[0] <= 1.0
    assert waits[1] == 20.0


def test_malformed_reply_is_retried_and_counted() -> None:
    waits: list[float] = []
    asker = _asker(Scripted("{", '{"other": 1}', '{"word": "甘"}'), waits)
    asker.ask(Prompt("p", "x"), Word)
    assert waits == [0.0, 0.0]
    assert (asker.usage.calls, asker.usage.prompt_tokens) == (3, 21)
    assert asker.usage.faults == {"ReplyError": 2}
    assert asker.usage.cost(ModelSettings(price_prompt=2.0, price_completion=4.0)) == 7.8e-05


@pytest.mark.parametrize("fault", [OutsideError("refused"), ReplyError("cut")])
def test_unavailable_result_is_an_error_and_never_cached(fault: OutsideError) -> None:
    model = Scripted(*[fault] * 3, '{"word": "甘"}')
    asker = _asker(model, [])
    with pytest.raises(type(fault)):
        asker.ask(Prompt("p", "x"), Word)
    assert model.asked == (3 if isinstance(fault, ReplyError) else 1)
    assert asker.ask(Prompt("p", "y"), Word).word == "甘" if model.messages[0] != fault else True


def test_the_breaker_leaves_a_dead_endpoint_alone() -> None:
    model = Scripted(*[BusyError("500")] * 9)
    asker = _asker(model, [], breaker=4, attempts=3)
    for _ in range(5):
        with pytest.raises(OutsideError):
            asker.ask(Prompt("p", "x"), Word)
    assert model.asked == 4


def test_one_source_forgotten_keeps_the_replies_of_another() -> None:
    replies = ReplyStore.in_memory()
    for release in ("a@1", "b@1"):
        replies.keep("m", "p@1", "shared", Completion("{}"), release)
    replies.keep("m", "p@1", "own", Completion("{}"), "a@1")
    assert (replies.forget(["a@1"]), len(replies)) == (1, 1)
    assert replies.forget(["b@1"]) == 1


def test_no_more_calls_are_under_way_than_allowed(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        server.pause = 0.05
        read(copied("kb"), page, server, monkeypatch, concurrency=2)
        assert server.most == 2


def test_journal_of_run_never_holds_key(
    copied: Copied, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    with serving(faults=["401", "malformed"]) as server:
        read(kb, page, server, monkeypatch)
    for path in kb.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert graph("journal") not in {quad.graph_name for quad in stored_quads(kb)}
