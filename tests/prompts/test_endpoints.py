"""Endpoints of several makers, each played by a server that refuses what that maker refuses."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from typing_extensions import override

from shiyi.cli import main
from shiyi.errors import MissingExtraError, OutsideError, SettingError
from shiyi.prompts.openai import Probe, open_model
from shiyi.settings import ModelSettings
from tests.support.model_endpoints import completion

KEY = "sk-canary-0123456789"
PROMPT = 'Reply with {"word": "…"}\n---\nWhich word?'


@dataclass(frozen=True)
class Maker:
    """What an endpoint takes: a path, headers and a query; ``refused``, by parameter, with words."""

    path: str = "/v1/chat/completions"
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    streams: bool = True
    status: int = 400


NEWEST = Maker(  # a reasoning model of the maker of the protocol
    headers={"Authorization": f"Bearer {KEY}"},
    refused={
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    },
)
AZURE = Maker(
    path="/openai/deployments/food/chat/completions",
    headers={"api-key": KEY, "Authorization": ""},
    query={"api-version": "2024-10-21"},
)
OLLAMA = Maker(streams=True)
VLLM = Maker(
    refused={
        "reasoning_effort": "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort')}]"
    }
)
OLDEST = Maker(  # a small server that knows one message and no format
    refused={
        "response_format": "",
        "system": "Conversation roles must alternate user/assistant: system role not supported",
    },
    streams=False,
    status=422,
)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    maker: Maker
    asked: list[dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    @override
    def log_message(self, format: str, *args: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        maker, address = self.server.maker, urlsplit(self.path)
        self.server.asked.append(body)
        given = set(body) | {item["role"] for item in body["messages"]}
        if address.path != maker.path or dict(parse_qs(address.query)) != {
            name: [value] for name, value in maker.query.items()
        }:
            return self._send(404, {"error": {"message": "no such path"}})
        if any(self.headers.get(name, "") != value for name, value in maker.headers.items()):
            return self._send(401, {"error": {"message": "who are you"}})
        for name, words in maker.refused.items():
            if name in given:
                return self._send(maker.status, {"error": {"message": words, "param": name}})
        text = json.dumps({"word": body.get("reasoning_effort", "ready")})
        if body.get("stream") and maker.streams:
            chunks = [
                {"choices": [{"index": 0, "delta": {"content": text[:5]}}]},
                {"choices": [{"index": 0, "delta": {"content": text[5:]}}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            ]
            events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
            return self._raw(200, "text/event-stream", f"{events}data: [DONE]\n\n".encode())
        return self._send(200, completion(body["model"], {"content": text}))

    def _send(self, status: int, value: Any) -> None:
        self._raw(status, "application/json", json.dumps(value).encode())

    def _raw(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def playing(maker: Maker) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Handler)
    server.maker, server.asked = maker, []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def settings_for(server: Server, **chosen: Any) -> ModelSettings:
    url = f"http://127.0.0.1:{server.server_port}{server.maker.path.removesuffix('/chat/completions')}"
    settings = ModelSettings(answer="food", answer_url=url, timeout=10.0)
    return replace(settings, **chosen)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("maker", "chosen", "env", "quirks"),
    [
        (NEWEST, {}, {"OPENAI_API_KEY": KEY}, {"max_completion_tokens", "no_temperature"}),
        (AZURE, {"headers": "api-key: $AZURE", "query": "api-version=2024-10-21"},
         {"AZURE": KEY}, set()),
        (OLLAMA, {}, {}, set()),
        (VLLM, {"reasoning_effort": "low"}, {}, {"no_effort"}),
        (OLDEST, {}, {}, {"json_object", "no_json", "no_system"}),
    ],
)  # fmt: skip
def test_each_maker_served_by_settings_and_learned_refusals(
    maker: Maker, chosen: dict[str, Any], env: dict[str, str], quirks: set[str], streamed: bool
) -> None:
    with playing(maker) as server:
        model = open_model(settings_for(server, **chosen), env)
        assert model is not None
        results: list[str] = []
        reply = model.complete(PROMPT, Probe, results.append if streamed else None)
        assert json.loads(reply.text) == {"word": "ready"}
        learned = quirks | ({"no_stream"} if streamed and not maker.streams else set())
        assert model.quirks == learned
        assert results[-1:] == ([reply.text] if streamed else [])
        tries = len(server.asked)
        model.complete(PROMPT, Probe, results.append if streamed else None)
        assert len(server.asked) == tries + 1  # what was learned holds
        last = server.asked[-1]
        assert ("response_format" in last) == ("no_json" not in quirks)
        assert next(item["role"] for item in last["messages"]) == (
            "user" if "no_system" in quirks else "system"
        )


@pytest.mark.parametrize("streamed", [False, True])
def test_named_models_are_asked_through_litellm(
    streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai import OpenAI

    def create(base_url: str, api_key: None, extra_headers: object, **request: Any) -> Any:
        assert api_key is None, "LiteLLM reads the keys of its makers"
        assert extra_headers == {"x-team": "food"}
        reaching = {name: request.pop(name) for name in ("timeout", "max_retries")}
        client = OpenAI(base_url=base_url, api_key=KEY, **reaching)
        return client.chat.completions.create(**request)

    module = ModuleType("litellm")
    module.__spec__ = ModuleSpec("litellm", None)
    module.completion = create  # type: ignore[attr-defined]
    with playing(NEWEST) as server:
        chosen = settings_for(server, answer="litellm/maker/food", headers="x-team: food")
        monkeypatch.setitem(sys.modules, "litellm", None)
        with pytest.raises(MissingExtraError, match=r"shiyi\[litellm\]"):
            open_model(chosen, {})
        monkeypatch.setitem(sys.modules, "litellm", module)
        model = open_model(chosen, {"OPENAI_API_KEY": "of another maker"})
        assert model is not None
        reply = model.complete(PROMPT, Probe, (lambda _: None) if streamed else None)
        assert json.loads(reply.text) == {"word": "ready"}
        assert model.quirks == {"max_completion_tokens", "no_temperature"}
        assert server.asked[-1]["model"] == "maker/food"


def test_schema_is_asked_for_where_there_is_form() -> None:
    with playing(OLLAMA) as server:
        model = open_model(settings_for(server), {})
        assert model is not None
        model.complete(PROMPT, Probe)
        model.complete(PROMPT)
    formats = [record["response_format"] for record in server.asked]
    assert formats[0]["json_schema"]["schema"] == Probe.model_json_schema()
    assert formats[1] == {"type": "json_object"}


def test_each_task_has_address_and_refusal() -> None:
    stubborn = Maker(refused={"user": "no"})
    with playing(OLLAMA) as one, playing(stubborn) as other:
        reads = settings_for(other).answer_url
        settings = settings_for(one, extract="reader", extract_url=reads)
        answers, extracts = open_model(settings, {}), open_model(settings, {}, "extract")
        assert answers is not None
        assert extracts is not None
        answers.complete(PROMPT)
        with pytest.raises(OutsideError, match="HTTP 400"):
            extracts.complete(PROMPT)
        assert one.asked[0]["model"] == "food"
        assert other.asked[0]["model"] == "reader"
        assert extracts.quirks == frozenset()  # what did not help is not learned


@pytest.mark.parametrize(
    "chosen", [{"quirks": "no_charm"}, {"headers": "api-key"}, {"headers": "api-key: $NOWHERE"}]
)
def test_unknown_quirk_or_empty_header_is_refused(chosen: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        open_model(ModelSettings(answer="m", **chosen), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("maker", [NEWEST, AZURE])
def test_doctor_says_what_a_model_wants(
    maker: Maker,
    starter_kb: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with playing(maker) as server:
        url = settings_for(server).answer_url
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("SHIYI_MODELS_ANSWER", "food")
        monkeypatch.setenv("SHIYI_MODELS_ANSWER_URL", url)
        command = ["--kb", os.fspath(starter_kb), "doctor", "--model"]
        is_served = maker is NEWEST
        assert main([*command, "--json"]) == (0 if is_served else 1)
        report = json.loads(capsys.readouterr().out)["answer"]
        assert (report["problem"] is None) == is_served
        assert report["quirks"] == (
            ["max_completion_tokens", "no_temperature"] if is_served else []
        )
        main(command)
        shown = capsys.readouterr().out
        assert ('quirks = "max_completion_tokens no_temperature"' in shown) == is_served
        assert KEY not in shown
