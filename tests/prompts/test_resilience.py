"""A model that falls silent keeps nobody waiting twice, and its readers keep only some threads."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.errors import BusyError, OutsideError
from shiyi.prompts.resilience import CircuitBreaker
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import ModelSettings, ServerSettings, Settings
from tests.support.bases import build
from tests.support.model_endpoints import Endpoint, adapter, chat, serve_script

QUESTION = {"question": "枸杞子是什么味道？"}


class Silent:
    """Says nothing until it is let; then a word that is no reply of any form."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, prompt: str) -> tuple[int, str]:
        self.go.wait(30)
        return 200, "word"


@pytest.fixture
def endpoint() -> Iterator[tuple[Endpoint, Silent]]:
    with serve_script() as made:
        made.say = silent = Silent()
        yield made, silent
        silent.go.set()


def asks(model: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(BusyError):
            model.complete("hello")


def test_silent_endpoint_is_probed_by_one_call(endpoint: tuple[Endpoint, Silent]) -> None:
    server, silent = endpoint
    model = CircuitBreaker(adapter(server, timeout=0.3), 0.3, wasted=0.2)
    asks(model, 10)
    assert len(server.asked) == 1
    model._left_alone = 0.0  # its rest is over
    asks(model, 10)
    assert len(server.asked) == 2
    silent.go.set()
    model._left_alone = 0.0
    assert [model.complete("hello").text for _ in range(3)] == ["word"] * 3
    assert len(server.asked) == 5


def test_only_responsive_endpoint_is_waited_for(endpoint: tuple[Endpoint, Silent]) -> None:
    server, silent = endpoint
    model = CircuitBreaker(adapter(server, timeout=30), 30, patience=0.2)
    asks(model, 9)  # one of them asks it, and is reported so long before its 30 s
    assert len(server.asked) == 1
    silent.go.set()  # it answers after all, too late for who asked
    until = time.monotonic() + 30
    while model._calls and time.monotonic() < until:
        time.sleep(0.01)
    silent.go.clear()
    threading.Timer(1.0, silent.go.set).start()
    results: list[str] = []
    assert model.complete("hello", listener=results.append).text == "word"  # five times as long
    assert results[-1:] == ["word"]


def test_short_faults_do_not_open_circuit(endpoint: tuple[Endpoint, Silent]) -> None:
    server, _ = endpoint
    model = chat(server)
    for result in ((500, ""), (200, ""), (401, "")):
        server.say = lambda prompt, result=result: result  # type: ignore[misc] # bound now
        with pytest.raises(OutsideError):
            model.complete("hello")
    server.say = lambda prompt: (200, "word")
    assert model.complete("hello").text == "word"
    assert len(server.asked) == 4


def test_claim_answers_do_not_wait_for_model(
    endpoint: tuple[Endpoint, Silent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, silent = endpoint
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    settings = replace(
        Settings(), models=ModelSettings(answer="m", retries=0), server=ServerSettings(threads=4)
    )
    site = open_site(build(tmp_path / "kb"), settings)
    app = create_app(site, settings)

    def ask() -> None:
        assert app.test_client().post("/api/ask", json=QUESTION).status_code == 200

    waiting = [threading.Thread(target=ask) for _ in range(2)]
    try:
        for thread in waiting:
            thread.start()
        until = time.monotonic() + 60
        while len(server.asked) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        for method in ("fused", "paths", "spot", "none"):
            result = app.test_client().post("/api/ask", json={**QUESTION, "method": method})
            assert result.get_json()["sentences"]
            assert result.get_json()["model"] is None
        assert len(server.asked) == 2
        assert 'kind="not asked"' in app.test_client().get("/metrics").text
    finally:
        silent.go.set()
        for thread in waiting:
            thread.join()
        site.close()
