"""Any OpenAI-compatible endpoint."""

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from shiyi.prompts.chat import Completion, Listener
from shiyi.prompts.streaming import StreamedCompletion
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

_BUSY: Final = frozenset({408, 409, 425, 429})  # and everything from 500


@dataclass(frozen=True, slots=True)
class OpenAIChatModel:
    """A model by name at ``base_url``; the key is never shown, logged or put in an error."""

    name: str
    base_url: str | None
    key: str = field(repr=False)
    settings: ModelSettings = field(default_factory=ModelSettings)
    _idle: deque["OpenAI"] = field(default_factory=deque, repr=False, compare=False)

    def reply(self, prompt: str) -> str:
        """Return the model's text within ``settings.timeout`` seconds, dripping endpoints included.

        Raises :class:`OutsideError` for any fault of the endpoint, a cut reply or a refusal.
        """
        return self._complete(prompt, None)

    def reply_aloud(self, prompt: str, listener: Listener) -> str:
        """Return the reply, and pass its text to ``listener`` as it grows, until the deadline.

        An endpoint that does not stream is recognized when its reply is whole.
        """
        return self._complete(prompt, listener)

    def _complete(self, prompt: str, listener: Listener | None) -> str:
        client = self._client(self.settings.retries)
        try:
            return self._within(client, prompt, listener).text
        finally:
            client.close()

    def complete(self, prompt: str) -> Completion:
        """Return the text and what it cost in tokens; asked once, over a connection that is stored.

        Raises :class:`BusyError` where asking again later may help, :class:`ReplyError` for a reply
        that is empty, cut off or not of the protocol, else :class:`OutsideError`.
        """
        try:
            client = self._idle.pop()
        except IndexError:
            client = self._client(0)
        try:
            completion = self._within(client, prompt)
        except OutsideError:
            client.close()  # a call past its deadline may still be under way on it
            raise
        self._idle.append(client)
        return completion

    def close(self) -> None:
        """Release stored connections."""
        while self._idle:
            self._idle.pop().close()

    def _within(
        self, client: "OpenAI", prompt: str, listener: Listener | None = None
    ) -> Completion:
        """Ask, and count how it ended, how long it took and what it cost."""
        began, ended = time.monotonic(), "fault"
        try:
            reply = self._in_time(client, prompt, listener)
            ended = "answered"
        except OutsideError as fault:
            ended = type(fault).__name__
            raise
        finally:
            MODEL_CALLS.labels(ended).inc()
            MODEL_SECONDS.labels(ended).observe(time.monotonic() - began)
        for kind, tokens, price in (
            ("prompt", reply.prompt_tokens, self.settings.price_prompt),
            ("completion", reply.completion_tokens, self.settings.price_completion),
        ):
            MODEL_TOKENS.labels(kind).inc(tokens)
            MODEL_COST.labels(kind).inc(tokens * price / 1_000_000)
        return reply

    def _in_time(self, client: "OpenAI", prompt: str, listener: Listener | None) -> Completion:
        outcome: list[Completion | OutsideError] = []
        over = threading.Event()

        def tell(text: str) -> None:
            if listener is not None and not over.is_set():
                listener(text)

        # a byte every half second defeats socket timeouts, so the whole call has a deadline
        caller = threading.Thread(
            target=lambda: outcome.append(self._ask(client, prompt, tell if listener else None)),
            daemon=True,
        )
        caller.start()
        caller.join(self.settings.timeout)
        over.set()
        if not outcome:
            raise BusyError(f"{self.name} gave no answer in {self.settings.timeout:g} s")
        [reply] = outcome
        if isinstance(reply, OutsideError):
            raise reply
        return reply

    def _client(self, retries: int) -> "OpenAI":
        from openai import DefaultHttpxClient, OpenAI

        return OpenAI(
            api_key=self.key or "none",
            base_url=self.base_url,
            timeout=self.settings.timeout,
            max_retries=retries,
            http_client=DefaultHttpxClient(follow_redirects=False),
            default_headers={"Accept-Encoding": "identity"},
        )

    def _ask(
        self, client: "OpenAI", prompt: str, listener: Listener | None
    ) -> Completion | OutsideError:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            return self._read(self._request(client, prompt, listener))
        except OutsideError as fault:
            return fault
        # the message of any of these may echo the key: only its kind is passed on
        except APIStatusError as fault:
            status, message = fault.status_code, f"{self.name} failed: HTTP {fault.status_code}"
            if status in _BUSY or status >= 500:
                return BusyError(message, _seconds(fault.response.headers.get("retry-after")))
            return OutsideError(f"{message} ({type(fault).__name__})")
        except APIConnectionError as fault:
            return BusyError(f"{self.name} failed: {type(fault).__name__}")
        except (OpenAIError, _http_error(), ValueError, RuntimeError, OSError) as fault:
            return BusyError(f"{self.name} failed: {type(fault).__name__}")

    def _request(self, client: "OpenAI", prompt: str, listener: Listener | None) -> Any:
        """Read the reply a piece at a time, so that a huge or packed one is never in memory."""
        with client.chat.completions.with_streaming_response.create(
            model=self.name,
            messages=[{"role": "user", "content": prompt}],
            temperature=0,
            max_tokens=self.settings.max_tokens,
            response_format={"type": "json_object"},
            stream=listener is not None,
        ) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ReplyError(f"{self.name} packed its reply though it was asked not to")
            kind = response.headers.get("content-type", "")
            if listener and kind.startswith("text/event-stream"):
                return self._streamed(self._blocks(response), listener)
            body = b"".join(self._blocks(response))
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            raise ReplyError(f"{self.name} gave what is no chat completion") from None
        if listener:
            listener(self._read(reply).text)
        return reply

    def _blocks(self, response: "APIResponse[Any]") -> Iterator[bytes]:
        ends, limit = time.monotonic() + self.settings.timeout, self.settings.max_reply_bytes
        read = 0
        for block in response.iter_bytes():
            read += len(block)
            if read > limit:
                raise ReplyError(f"{self.name} gave more than {limit:,} bytes")
            if time.monotonic() > ends:
                raise BusyError(f"{self.name} gave no answer in {self.settings.timeout:g} s")
            yield block

    def _streamed(self, blocks: Iterable[bytes], listener: Listener) -> Any:
        growing, length = StreamedCompletion(self.name), 0
        for block in blocks:
            growing.feed(block)
            if len(growing.text) > length and not self._echoes(growing.text):
                length = len(growing.text)
                listener(growing.text)
        return growing.whole()

    def _echoes(self, text: str) -> bool:
        return len(self.key) > 7 and self.key in text

    def _read(self, reply: Any) -> Completion:
        try:
            choice = reply["choices"][0]
            text, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ReplyError(
                f"{self.name} gave what is no chat completion, or an empty one"
            ) from None
        if refusal or choice.get("finish_reason") == "content_filter":
            raise OutsideError(f"{self.name} gave an empty answer or refused")
        if not isinstance(text, str) or not text:
            raise ReplyError(f"{self.name} gave an empty answer or refused")
        if choice.get("finish_reason") == "length":
            raise ReplyError(f"{self.name} was cut off at {self.settings.max_tokens} tokens")
        if self._echoes(text):
            raise ReplyError(f"{self.name} repeated its key")
        usage = reply.get("usage")
        return Completion(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _http_error() -> type[Exception]:
    """Return the base error of the HTTP package under the client, which changed its name once."""
    from openai import DefaultHttpxClient

    package = DefaultHttpxClient.__bases__[0].__module__.partition(".")[0]
    return cast("type[Exception]", import_module(package).HTTPError)


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count > 0 else 0


def _seconds(header: str | None) -> float:
    """Read Retry-After in seconds; a date, which few endpoints send, counts as none."""
    try:
        return min(max(float(header or 0), 0.0), 86_400.0)
    except ValueError:
        return 0.0


def model_from(settings: ModelSettings, env: Mapping[str, str]) -> OpenAIChatModel | None:
    """Return the configured model, or None where ``models.answer`` names none."""
    return _named(settings.answer, settings, env)


def extraction_model_from(
    settings: ModelSettings, env: Mapping[str, str]
) -> OpenAIChatModel | None:
    """Return the model that reads texts: ``models.extract``, else the one that answers."""
    return _named(settings.extract or settings.answer, settings, env)


def _named(name: str, settings: ModelSettings, env: Mapping[str, str]) -> OpenAIChatModel | None:
    if not name:
        return None
    base_url, key = env.get("OPENAI_BASE_URL"), env.get("OPENAI_API_KEY", "")
    return OpenAIChatModel(name, base_url, key, settings)
