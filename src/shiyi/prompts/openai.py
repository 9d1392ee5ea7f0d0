"""Any endpoint that speaks the OpenAI chat protocol."""

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.model.tally import TALLY
from shiyi.prompts.chat import Completion, Heard
from shiyi.prompts.unfolding import StreamedCompletion
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
        """Give the model's text within ``settings.timeout`` seconds, dripping endpoints included.

        Raises :class:`OutsideError` for any fault of the endpoint, a cut reply or a refusal.
        """
        return self._asked(prompt, None)

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the same, and tell ``heard`` of the text as it grows, but not after the deadline.

        An endpoint that does not stream is heard when its reply is whole.
        """
        return self._asked(prompt, heard)

    def _asked(self, prompt: str, heard: Heard | None) -> str:
        client = self._client(self.settings.retries)
        try:
            return self._within(client, prompt, heard).text
        finally:
            client.close()

    def complete(self, prompt: str) -> Completion:
        """Give the text and what it cost in tokens; asked once, over a connection that is kept.

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
        """Let go of kept connections."""
        while self._idle:
            self._idle.pop().close()

    def _within(self, client: "OpenAI", prompt: str, heard: Heard | None = None) -> Completion:
        """Ask, and count how it ended, how long it took and what it cost."""
        began, ended = time.monotonic(), "fault"
        try:
            said = self._in_time(client, prompt, heard)
            ended = "answered"
        except OutsideError as fault:
            ended = type(fault).__name__
            raise
        finally:
            TALLY.add("model_calls", ended)
            TALLY.took("model_seconds", ended, time.monotonic() - began)
        for kind, tokens, price in (
            ("prompt", said.prompt_tokens, self.settings.price_prompt),
            ("completion", said.completion_tokens, self.settings.price_completion),
        ):
            TALLY.add("model_tokens", kind, tokens)
            TALLY.add("model_cost", kind, tokens * price / 1_000_000)
        return said

    def _in_time(self, client: "OpenAI", prompt: str, heard: Heard | None) -> Completion:
        outcome: list[Completion | OutsideError] = []
        over = threading.Event()

        def tell(text: str) -> None:
            if heard is not None and not over.is_set():
                heard(text)

        # a byte every half second defeats socket timeouts, so the whole call has a deadline
        caller = threading.Thread(
            target=lambda: outcome.append(self._ask(client, prompt, tell if heard else None)),
            daemon=True,
        )
        caller.start()
        caller.join(self.settings.timeout)
        over.set()
        if not outcome:
            raise BusyError(f"{self.name} gave no answer in {self.settings.timeout:g} s")
        [said] = outcome
        if isinstance(said, OutsideError):
            raise said
        return said

    def _client(self, retries: int) -> "OpenAI":
        from openai import DefaultHttpxClient, OpenAI

        return OpenAI(
            api_key=self.key or "none", base_url=self.base_url, timeout=self.settings.timeout,
            max_retries=retries, http_client=DefaultHttpxClient(follow_redirects=False),
            default_headers={"Accept-Encoding": "identity"},
        )  # fmt: skip

    def _ask(self, client: "OpenAI", prompt: str, heard: Heard | None) -> Completion | OutsideError:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            return self._read(self._said(client, prompt, heard))
        except OutsideError as fault:
            return fault
        # the message of any of these may echo the key: only its kind is passed on
        except APIStatusError as fault:
            status, said = fault.status_code, f"{self.name} failed: HTTP {fault.status_code}"
            if status in _BUSY or status >= 500:
                return BusyError(said, _seconds(fault.response.headers.get("retry-after")))
            return OutsideError(f"{said} ({type(fault).__name__})")
        except APIConnectionError as fault:
            return BusyError(f"{self.name} failed: {type(fault).__name__}")
        except (OpenAIError, _http_error(), ValueError, RuntimeError, OSError) as fault:
            return BusyError(f"{self.name} failed: {type(fault).__name__}")

    def _said(self, client: "OpenAI", prompt: str, heard: Heard | None) -> Any:
        """Read the reply a piece at a time, so that a huge or packed one is never in memory."""
        with client.chat.completions.with_streaming_response.create(
            model=self.name, messages=[{"role": "user", "content": prompt}], temperature=0,
            max_tokens=self.settings.max_tokens, response_format={"type": "json_object"},
            stream=heard is not None,
        ) as response:  # fmt: skip
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ReplyError(f"{self.name} packed its reply though it was asked not to")
            kind = response.headers.get("content-type", "")
            if heard and kind.startswith("text/event-stream"):
                return self._heard(self._blocks(response), heard)
            body = b"".join(self._blocks(response))
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            raise ReplyError(f"{self.name} gave what is no chat completion") from None
        if heard:
            heard(self._read(said).text)
        return said

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

    def _heard(self, blocks: Iterable[bytes], heard: Heard) -> Any:
        growing, length = StreamedCompletion(self.name), 0
        for block in blocks:
            growing.feed(block)
            if len(growing.text) > length and not self._echoes(growing.text):
                length = len(growing.text)
                heard(growing.text)
        return growing.whole()

    def _echoes(self, text: str) -> bool:
        return len(self.key) > 7 and self.key in text

    def _read(self, said: Any) -> Completion:
        try:
            choice = said["choices"][0]
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
        usage = said.get("usage")
        return Completion(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _http_error() -> type[Exception]:
    """Give the base error of the HTTP package under the client, which changed its name once."""
    from openai import DefaultHttpxClient

    package = DefaultHttpxClient.__bases__[0].__module__.partition(".")[0]
    return cast("type[Exception]", import_module(package).HTTPError)


def _count(usage: Any, name: str) -> int:
    said = usage.get(name) if isinstance(usage, dict) else None
    return said if isinstance(said, int) and said > 0 else 0


def _seconds(said: str | None) -> float:
    """Read Retry-After in seconds; a date, which few endpoints send, counts as nothing said."""
    try:
        return min(max(float(said or 0), 0.0), 86_400.0)
    except ValueError:
        return 0.0


def model_from(settings: ModelSettings, env: Mapping[str, str]) -> OpenAIChatModel | None:
    """Give the configured model, or None where ``models.answer`` names none."""
    return _named(settings.answer, settings, env)


def extraction_model_from(
    settings: ModelSettings, env: Mapping[str, str]
) -> OpenAIChatModel | None:
    """Give the model that reads texts: ``models.extract``, else the one that answers."""
    return _named(settings.extract or settings.answer, settings, env)


def _named(name: str, settings: ModelSettings, env: Mapping[str, str]) -> OpenAIChatModel | None:
    if not name:
        return None
    base_url, key = env.get("OPENAI_BASE_URL"), env.get("OPENAI_API_KEY", "")
    return OpenAIChatModel(name, base_url, key, settings)
