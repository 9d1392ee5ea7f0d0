"""A chat endpoint of the OpenAI protocol on loopback: rule-based replies, planned faults."""

import contextlib
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from shiyi.artefacts import artefact
from shiyi.prompts.openai import OpenAIChatModel
from shiyi.prompts.resilience import CircuitBreaker
from shiyi.settings import ModelSettings


def completion(model: str, message: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    """Return the body of a reply with one choice."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
    }


def prompt_of(request: dict[str, Any]) -> str:
    """Return the messages of a request as one prompt."""
    return "\n---\n".join(item["content"] for item in request["messages"])


def _task(prompt: str) -> str:
    return prompt.partition("## Task\n\n")[2].partition("\n")[0][:40]


TASKS = {_task(path.read_text("utf-8")): path.stem for path in artefact("prompts").glob("*.md")}
Script = Callable[[str, str, str], Any]  # prompt's name, title, passage


def good(name: str, title: str, passage: str) -> Any:
    """Answer as a careful model would, for passages such as 味甘，性平。治头痛。"""
    subject = title.rpartition(" / ")[2]

    def text(relation: str, word: str, quote: str, kind: str) -> dict[str, Any]:
        return {
            "subject": subject,
            "subject_type": "Herb",
            "relation": relation,
            "object": word,
            "object_type": kind,
            "quote": quote,
            "confidence": 0.9,
            "description": quote,
        }

    if name == "propose-relations":
        return {"relations": ["hasNature", "hasFlavour", "treats"]}
    if name == "filter-relations":
        return {"relations": ["hasNature", "hasFlavour", "indicatedFor", "madeUp"]}
    if name == "extract-claims":
        results = [text("hasFlavour", m[1], m[0], "Flavour") for m in re.finditer("味(.)", passage)]
        results += [text("hasNature", m[1], m[0], "Nature") for m in re.finditer("性(.)", passage)]
        results += [
            text("indicatedFor", m[1], m[0], "Symptom") for m in re.finditer("治(..)", passage)
        ]
        return {"statements": results}
    if name == "extract-attributes":
        results = [
            text("consumptionMethod", m[0], m[0], "") for m in re.finditer("煮粥食", passage)
        ]
        return {"attributes": results}
    if name == "describe-passage":
        return {
            "summary": f"{subject}的性味。",
            "questions": [{"question": f"{subject}性味如何？", "answer": passage[:40]}],
            "entities": [{"name": subject, "type": "", "layer": "other", "description": "一味药"}],
        }
    return {"repairs": []}


class ModelServer(ThreadingHTTPServer):
    """``faults`` are served first, in order; ``script`` answers the rest."""

    daemon_threads = True

    def __init__(self, script: Script, faults: Iterable[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.faults, self.asked = script, deque(faults), Counter[str]()
        self.keys: set[str] = set()
        self.most, self._now, self._turn = 0, 0, threading.Lock()
        self.pause = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @contextmanager
    def counting(self, prompt: str) -> Iterator[tuple[str, str]]:
        """Accept one call: give the prompt's name and the fault it gets, if any."""
        name = TASKS.get(_task(prompt), "unknown")
        with self._turn:
            self.asked[name] += 1
            self._now += 1
            self.most = max(self.most, self._now)
            fault = self.faults.popleft() if self.faults else ""
        try:
            time.sleep(self.pause)
            yield name, fault
        finally:
            with self._turn:
                self._now -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    @override
    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.add(self.headers.get("Authorization", ""))
        prompt = prompt_of(text)
        with self.server.counting(prompt) as (name, fault), suppress(ConnectionError):
            passage = prompt.rpartition("<passage>\n")[2].partition("\n</passage>")[0]
            title = prompt.rpartition("<title>")[2].partition("</title>")[0]
            made = self.server.script(name, title, passage)
            content = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
            self._answer(fault, content)

    def _answer(self, fault: str, content: str) -> None:
        reason: str = "stop"
        refusal = None
        if fault == "429":
            return self._send(429, b"{}", {"Retry-After": "0"})
        if fault in {"500", "401"}:
            return self._send(int(fault), b"{}")
        if fault == "slow":
            time.sleep(1.5)
        elif fault == "truncated":
            content = content[: len(content) // 2]
        elif fault == "cut":
            reason = "length"
        elif fault == "malformed":
            content = "Here you are: everything is fine."
        elif fault == "other form":
            content = '{"facts": [{"subject": 1}]}'
        elif fault == "refused":
            content, refusal = "", "I cannot help with that."
        body = completion("scripted", {"content": content, "refusal": refusal}, reason)
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return self._send(200, json.dumps(body, ensure_ascii=False).encode())

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(script: Script = good, faults: Iterable[str] = ()) -> Iterator[ModelServer]:
    """Serve a script on a free port."""
    server = ModelServer(script, faults)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


KEY = "sk-canary-0123456789"
Say = Callable[[str], tuple[int, str]]


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-protocol server that says what the test scripts."""

    say: Say
    asked: list[str]
    keys: set[str]  # what authorised the requests
    extra: dict[str, Any]  # what messages hold besides
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = prompt_of(body)
        self.server.asked.append(prompt)
        status, text = self.server.say(prompt)
        self.server.keys.add(self.headers.get("Authorization", ""))
        result = completion(body["model"], {"content": text, **self.server.extra})
        sent = json.dumps(result if status == 200 else {"error": {"message": f"bad key {KEY}"}})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the asker left at its deadline
            self.wfile.write(sent.encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@contextlib.contextmanager
def serve_script() -> Iterator[Endpoint]:
    """An endpoint under way; set its ``say``."""
    server = Endpoint(("127.0.0.1", 0), Handler)
    server.asked, server.keys, server.extra = [], set(), {}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def adapter(endpoint: Endpoint, timeout: float = 10.0) -> OpenAIChatModel:
    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    model = OpenAIChatModel("scripted", url, KEY, ModelSettings(timeout=timeout, retries=0))
    model.open_client()  # imports take longer than the deadlines of tests
    return model


def chat(endpoint: Endpoint, timeout: float = 10.0) -> CircuitBreaker:
    return CircuitBreaker(adapter(endpoint, timeout), timeout)
