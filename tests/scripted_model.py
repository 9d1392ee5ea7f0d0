"""A chat endpoint of the OpenAI protocol on loopback that says what a test scripts."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from typing_extensions import override

from shiyi.prompts.openai import OpenAIChatModel
from shiyi.settings import ModelSettings

KEY = "sk-canary-0123456789"
Say = Callable[[str], tuple[int, str]]


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-protocol server that says what the test scripts."""

    say: Say
    asked: list[str]
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        self.server.asked.append(prompt)
        status, text = self.server.say(prompt)
        said = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": text}}]}  # fmt: skip
        sent = json.dumps(said if status == 200 else {"error": {"message": f"bad key {KEY}"}})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the asker left at its deadline
            self.wfile.write(sent.encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@contextlib.contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint under way; set its ``say``."""
    server = Endpoint(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def chat(endpoint: Endpoint, timeout: float = 10.0) -> OpenAIChatModel:
    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    return OpenAIChatModel("scripted", url, KEY, ModelSettings(timeout=timeout, retries=0))
