"""Any OpenAI-compatible endpoint, or LiteLLM, asked with the parameters that it takes."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from string import Template
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2
from pydantic import BaseModel
from typing_extensions import override

from shiyi.errors import BusyError, MissingExtraError, OutsideError, ReplyError, SettingError
from shiyi.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from shiyi.prompts.chat import Completion, Listener
from shiyi.prompts.templates import split_prompt
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

_BUSY: Final = frozenset({408, 409, 425, 429})  # and everything from 500
_REFUSED: Final = frozenset({400, 422})  # may be a parameter that it does not take
# what an endpoint may want otherwise, with the words by which its refusal names it
QUIRKS: Final[Mapping[str, tuple[str, ...]]] = {
    "max_completion_tokens": ("max_tokens", "max_completion_tokens"),
    "no_temperature": ("temperature",), "no_effort": ("reasoning", "effort"),
    "json_object": ("response_format", "json_schema", "schema"),
    "no_json": ("response_format", "json", "grammar"), "no_system": ("system", "role"),
    "no_stream": ("stream",),
}  # fmt: skip
Quirks = frozenset[str]
LITELLM: Final = "litellm/"  # begins the names of models that LiteLLM asks


@dataclass(slots=True)
class OpenAIChatModel:
    """A model by name at ``base_url``; the key is never shown, logged or put in an error.

    ``quirks`` are the keys of :data:`QUIRKS` that hold for the endpoint. Where it refuses a
    request with a 400, the quirk that its message names, else the next one, is tried and stays.
    A name that begins with :data:`LITELLM` is asked through LiteLLM, which reads its makers' keys.
    """

    name: str
    base_url: str | None
    key: str = field(repr=False)
    settings: ModelSettings = field(default_factory=ModelSettings)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    quirks: Quirks = frozenset()
    _client: "OpenAI | None" = field(default=None, repr=False, compare=False)

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Return the reply, counted with how it ended, how long it took and what it cost.

        Raise :class:`BusyError` where a later retry may help, :class:`ReplyError` for a reply
        that is empty, cut off or not of the protocol, else :class:`OutsideError`.
        """
        began, name = time.monotonic(), "fault"
        try:
            reply = self._ask_adapted(prompt, form, listener)
            name = "answered"
        except OutsideError as fault:
            name = type(fault).__name__
            raise
        finally:
            MODEL_CALLS.labels(name).inc()
            MODEL_SECONDS.labels(name).observe(time.monotonic() - began)
        for kind, tokens, price in (
            ("prompt", reply.prompt_tokens, self.settings.price_prompt),
            ("completion", reply.completion_tokens, self.settings.price_completion),
        ):
            MODEL_TOKENS.labels(kind).inc(tokens)
            MODEL_COST.labels(kind).inc(tokens * price / 1_000_000)
        return reply

    def _ask_adapted(
        self, prompt: str, form: type[BaseModel] | None, listener: Listener | None
    ) -> Completion:
        """Ask, and repeat without the parameters that the endpoint refuses."""
        from openai import APIConnectionError, APIStatusError, OpenAIError

        quirks = self.quirks
        while True:
            try:
                completion, self.quirks = self._ask(prompt, form, listener, quirks)
                return completion
            # the message of any of these may echo the key: only its kind is passed on
            except APIStatusError as fault:
                learned = _learn_quirk(fault, quirks, is_streamed=listener is not None)
                if learned is None:
                    raise self._status_error(fault) from None
                quirks = learned
            except APIConnectionError as fault:
                raise BusyError(f"{self.name} failed: {type(fault).__name__}") from None
            except (AttributeError, TypeError, LookupError, ValueError, RecursionError):
                raise ReplyError(f"{self.name} gave what is no chat completion") from None
            except (OpenAIError, httpx2.HTTPError, RuntimeError, OSError) as fault:
                raise BusyError(f"{self.name} failed: {type(fault).__name__}") from None

    def _status_error(self, fault: "APIStatusError") -> OutsideError:
        status, message = fault.status_code, f"{self.name} failed: HTTP {fault.status_code}"
        if status in _BUSY or status >= 500:
            return BusyError(message, _seconds(fault.response.headers.get("retry-after")))
        return OutsideError(f"{message} ({type(fault).__name__})")

    def _ask(
        self, prompt: str, form: type[BaseModel] | None, listener: Listener | None, quirks: Quirks
    ) -> tuple[Completion, Quirks]:
        """Return the reply, and the quirks that hold then."""
        create = self._open_create()
        request: dict[str, Any] = _request(self.name, prompt, form, self.settings, quirks)
        if not self.key and self.headers and not self.name.startswith(LITELLM):
            from openai import Omit

            request["extra_headers"] = {"Authorization": Omit()}
        if listener is None or "no_stream" in quirks:
            reply = create(**request)
            choice = reply.choices[0]
            text, refusal = choice.message.content, getattr(choice.message, "refusal", None)
            completion = self._check_reply(text, refusal, choice.finish_reason, reply.usage)
            if listener is not None:
                listener(completion.text)
            return completion, quirks
        text, refusal, reason, usage = "", "", None, None
        with closing(create(stream=True, **request)) as chunks:
            for chunk in chunks:
                usage = getattr(chunk, "usage", None) or usage
                for choice in chunk.choices[:1]:
                    refusal += getattr(choice.delta, "refusal", None) or ""
                    reason = choice.finish_reason or reason
                    if (content := choice.delta.content or "") and not self._echoes(text + content):
                        listener(text + content)
                    text += content
        if not (text or refusal or reason):  # it does not stream: its reply came whole
            return self._ask(prompt, form, listener, quirks | {"no_stream"})
        if reason is None:
            raise ReplyError(f"{self.name} broke off in the middle of its reply")
        return self._check_reply(text, refusal, reason, usage), quirks

    def _open_create(self) -> Callable[..., Any]:
        if not self.name.startswith(LITELLM):
            return self.open_client().chat.completions.create
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
        import litellm

        litellm.suppress_debug_info = True  # it prints addresses beside an error
        where = {"base_url": self.base_url, "api_key": self.key or None}
        limits = {"timeout": self.settings.timeout, "max_retries": self.settings.retries}
        headers = dict(self.headers) or None
        return partial(litellm.completion, extra_headers=headers, **where, **limits)

    def open_client(self) -> "OpenAI":
        """Return the client, which is shared by all threads."""
        if self._client is None:
            from openai import DefaultHttpxClient, OpenAI

            transport = _BoundedTransport(self.settings.max_reply_bytes, self.settings.timeout)
            self._client = OpenAI(
                api_key=self.key or "none",
                base_url=self.base_url,
                timeout=self.settings.timeout,
                max_retries=self.settings.retries,
                http_client=DefaultHttpxClient(follow_redirects=False, transport=transport),
                default_headers={"Accept-Encoding": "identity", **self.headers},
                default_query=dict(httpx2.QueryParams(self.settings.query)),
            )
        return self._client

    def _echoes(self, text: str) -> bool:
        secrets = (self.key, *self.headers.values())
        return any(len(secret) > 7 and secret in text for secret in secrets)

    def _check_reply(self, text: object, refusal: object, reason: object, usage: Any) -> Completion:
        if refusal or reason == "content_filter":
            raise OutsideError(f"{self.name} gave an empty answer or refused")
        if not isinstance(text, str) or not text:
            raise ReplyError(f"{self.name} gave an empty answer or refused")
        if reason == "length":
            raise ReplyError(f"{self.name} was cut off at {self.settings.max_tokens} tokens")
        if self._echoes(text):
            raise ReplyError(f"{self.name} repeated its key")
        tokens = (getattr(usage, f"{kind}_tokens", 0) for kind in ("prompt", "completion"))
        counted = (token if isinstance(token, int) and token > 0 else 0 for token in tokens)
        return Completion(text, *counted)


def _request(
    name: str, prompt: str, form: type[BaseModel] | None, settings: ModelSettings, quirks: Quirks
) -> dict[str, Any]:
    """Return the body of a request in the parameters that the endpoint takes."""
    instructions, data = ("", prompt) if "no_system" in quirks else split_prompt(prompt)
    messages = [{"role": "system", "content": instructions}] if instructions else []
    request: dict[str, Any] = {
        "model": name.removeprefix(LITELLM),
        "messages": [*messages, {"role": "user", "content": data}],
        "max_completion_tokens"
        if "max_completion_tokens" in quirks
        else "max_tokens": settings.max_tokens,
    }
    if "no_temperature" not in quirks:
        request["temperature"] = settings.temperature
    if settings.reasoning_effort and "no_effort" not in quirks:
        request["reasoning_effort"] = settings.reasoning_effort
    if "no_json" not in quirks:
        request["response_format"] = {"type": "json_object"}
        if form is not None and "json_object" not in quirks:
            schema = {"name": form.__name__, "schema": form.model_json_schema()}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
    return request


def _learn_quirk(fault: "APIStatusError", quirks: Quirks, *, is_streamed: bool) -> Quirks | None:
    """Return the quirks after a refusal: the one that it names, else the next; None after all."""
    left = [name for name in QUIRKS if name not in quirks and (is_streamed or name != "no_stream")]
    if fault.status_code not in _REFUSED or not left:
        return None
    text = str(fault.body or fault.message).lower()
    named = (name for name in left if any(word in text for word in QUIRKS[name]))
    return quirks | {next(named, left[0])}


class _BoundedTransport(httpx2.HTTPTransport):
    """A transport that reads a reply up to a size and a moment, and none that is compressed."""

    def __init__(self, limit: int, seconds: float) -> None:
        # nothing stays open between calls, so that nobody has to close it
        super().__init__(limits=httpx2.Limits(max_keepalive_connections=0))
        self._most, self._seconds = limit, seconds

    @override
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise ReplyError("the endpoint packed its reply though it was asked not to")
        stream = cast("httpx2.SyncByteStream", response.stream)
        response.stream = _BoundedStream(stream, self._most, self._seconds)
        return response


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, limit: int, seconds: float) -> None:
        self._stream, self._most = stream, limit
        self._ends = time.monotonic() + seconds

    @override
    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for block in self._stream:
            read += len(block)
            if read > self._most:
                raise ReplyError(f"the endpoint gave more than {self._most:,} bytes")
            if time.monotonic() > self._ends:
                raise BusyError("the endpoint gave no answer in time")
            yield block

    @override
    def close(self) -> None:
        self._stream.close()


def _seconds(header: str | None) -> float:
    """Read Retry-After in seconds; a date, which few endpoints send, counts as none."""
    try:
        return min(max(float(header or 0), 0.0), 86_400.0)
    except ValueError:
        return 0.0


def open_model(
    settings: ModelSettings, env: Mapping[str, str], task: str = "answer"
) -> OpenAIChatModel | None:
    """Return the model of a task, ``answer`` or ``extract``; None where the settings name none.

    Where ``models.extract`` names none, the model that answers reads texts too. The address is
    ``models.answer_url`` or ``models.extract_url``, else OPENAI_BASE_URL, which is not for LiteLLM;
    ``models.headers`` may name variables of the environment, as ``$NAME``. Raise
    :class:`SettingError` for an unknown quirk or a header that is none, and
    :class:`MissingExtraError` for a model of LiteLLM without the extra ``litellm``.
    """
    if task == "extract" and not settings.extract:
        task = "answer"
    name, url = getattr(settings, task), getattr(settings, f"{task}_url")
    if not name:
        return None
    quirks = frozenset(settings.quirks.replace(",", " ").split())
    if unknown := quirks - QUIRKS.keys():
        raise SettingError("models.quirks", f"{min(unknown)} is none of {', '.join(QUIRKS)}")
    own = {} if name.startswith(LITELLM) else env
    if name.startswith(LITELLM) and not find_spec("litellm"):
        raise MissingExtraError(f"the model {name}", "litellm")
    base_url, key = url or own.get("OPENAI_BASE_URL"), own.get("OPENAI_API_KEY", "")
    return OpenAIChatModel(name, base_url, key, settings, _headers(settings.headers, env), quirks)


def _headers(text: str, env: Mapping[str, str]) -> dict[str, str]:
    """Read ``name: value; name: value``, with ``$NAME`` from the environment.

    >>> _headers("api-key: $KEY; x-team: food", {"KEY": "k"})
    {'api-key': 'k', 'x-team': 'food'}
    """
    results = dict[str, str]()
    for part in filter(str.strip, text.split(";")):
        name, colon, value = map(str.strip, part.partition(":"))
        filled = Template(value).safe_substitute(env)
        if not (name and colon and filled) or "$" in filled or not filled.isprintable():
            raise SettingError("models.headers", f"{name or part!r} is no header with a value")
        results[name] = filled
    return results


def describe_endpoint(model: OpenAIChatModel) -> dict[str, Any]:
    """Ask a model for one word and return what was found out; ``problem`` where it failed."""
    learner = replace(model, _client=None)
    report: dict[str, Any] = {"name": model.name, "problem": None}
    began = time.monotonic()
    try:
        learner.complete(_PROBE, Probe, lambda _: None)
    except OutsideError as fault:
        report["problem"] = str(fault)
    report["seconds"] = round(time.monotonic() - began, 2)
    return report | {"quirks": sorted(learner.quirks)}


_PROBE: Final = 'Reply with one JSON object: {"word": "ready"}\n---\nWhich word?'


class Probe(BaseModel):
    """The form of the reply that an endpoint is tried with."""

    word: str
