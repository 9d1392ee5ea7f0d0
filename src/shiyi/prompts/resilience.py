"""Retries, back-off and the circuit breaker."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.metrics import MODEL_CALLS
from shiyi.prompts.caching import Replies
from shiyi.prompts.chat import (
    ChatModel,
    Completing,
    Completion,
    Listener,
    parse_object,
    reply_aloud,
)
from shiyi.prompts.templates import Prompt
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from pydantic import BaseModel
    from tenacity import RetryCallState


Form = TypeVar("Form", bound="BaseModel")


@dataclass(slots=True)
class Usage:
    """The cost of asking; ``faults`` counts faults by kind, also those that a retry repaired."""

    calls: int = 0  # sent to the endpoint
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0  # of all calls added up
    faults: Counter[str] = field(default_factory=Counter)

    def cost(self, settings: ModelSettings) -> float:
        """Return the price of the tokens by ``models.price_prompt`` and ``price_completion``."""
        parts = (
            self.prompt_tokens * settings.price_prompt,
            self.completion_tokens * settings.price_completion,
        )
        return sum(parts) / 1_000_000


class Asker:
    """One model with retries; safe to share between threads.

    A reply is stored only if it has the form that was asked for. After ``models.breaker`` faults of
    the endpoint in a row every call is refused at once for ``models.wait_most`` seconds.
    """

    def __init__(
        self,
        model: Completing,
        replies: Replies,
        settings: ModelSettings,
        release: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model, self.release, self.usage = model, release, Usage()
        self._replies, self._settings, self._sleep = replies, settings, sleep
        self._turn = threading.Lock()
        self._failed, self._closed_until = 0, 0.0

    def ask(self, prompt: Prompt, form: type[Form], **values: str) -> Form:
        """Return the reply to a filled prompt as a checked value of ``form``.

        Raises :class:`OutsideError` where no attempt brought a reply of that form.
        """
        text = prompt.fill(**values)
        stored = self._replies.find(self.model.name, text, self.release)
        if stored is not None:
            with self._turn:
                self.usage.cached += 1
            return _read(stored.text, form)
        completion, read = self._retrying(lambda: self._once(text, form))
        self._replies.keep(self.model.name, prompt.version, text, completion, self.release)
        return read

    def _retrying(self, once: Callable[[], tuple[Completion, Form]]) -> tuple[Completion, Form]:
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        attempts = Retrying(
            retry=retry_if_exception_type((BusyError, ReplyError)),
            stop=stop_after_attempt(max(1, self._settings.attempts)),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        return attempts(once)

    def _wait(self, state: "RetryCallState") -> float:
        """Double the wait each time, with jitter; the endpoint's own Retry-After is the least."""
        fault = state.outcome.exception() if state.outcome else None
        if isinstance(fault, ReplyError):
            return 0.0  # the endpoint is well, and a wait would change nothing
        backing = self._settings.wait * 2.0 ** (state.attempt_number - 1)
        least = fault.after if isinstance(fault, BusyError) else 0.0
        jittered = backing * random.uniform(0.5, 1.0)  # noqa: S311 - spreads calls, guards nothing
        return min(max(jittered, least), self._settings.wait_most)

    def _once(self, text: str, form: type[Form]) -> tuple[Completion, Form]:
        self._check_breaker()
        started, completion = time.monotonic(), None
        try:
            completion = self.model.complete(text)
            read = _read(completion.text, form)
        except OutsideError as fault:
            self._count(started, completion, fault)  # what was malformed has cost its tokens too
            raise
        self._count(started, completion, None)
        return completion, read

    def _check_breaker(self) -> None:
        with self._turn:
            left = self._closed_until - time.monotonic()
        if left > 0:
            raise OutsideError(
                f"{self.model.name} failed {self._settings.breaker} times in a row; "
                f"it is not asked again for {left:.0f} s"
            )

    def _count(
        self, started: float, completion: Completion | None, fault: OutsideError | None
    ) -> None:
        with self._turn:
            usage = self.usage
            usage.calls += 1
            usage.seconds += time.monotonic() - started
            if completion:
                usage.prompt_tokens += completion.prompt_tokens
                usage.completion_tokens += completion.completion_tokens
            if fault:
                usage.faults[type(fault).__name__] += 1
            self._failed = self._failed + 1 if isinstance(fault, BusyError) else 0
            asks = fault.after if isinstance(fault, BusyError) else 0.0
            if self._failed >= self._settings.breaker or asks > self._settings.wait_most:
                self._failed = 0
                self._closed_until = time.monotonic() + self._settings.wait_most


def _read(text: str, form: type[Form]) -> Form:
    from pydantic import ValidationError

    payload: dict[str, Any] = parse_object(text)
    try:
        return form.model_validate(payload)
    except (ValidationError, RecursionError) as fault:
        where = ""
        if isinstance(fault, ValidationError):
            first = fault.errors(include_input=False, include_url=False)[0]
            where = f": {'.'.join(map(str, first['loc']))[:80]} {first['msg'][:120]}"
        raise ReplyError(f"the model's reply has not the form asked for{where}") from None


_WASTED: Final = 3.0  # seconds of failed calls in a row after which it is left alone (Shiyi's)
_REST: Final = 30.0  # seconds; then one call tries whether it is back (Shiyi's)
_PATIENCE: Final = (
    2.5  # seconds for one that has not answered lately, so that an answer takes 3 (Shiyi's)
)


@dataclass(slots=True)
class Breaker:
    """A circuit breaker: at most ``places`` calls at a time, and none while ``model`` is away.

    A refused caller gets :class:`BusyError` at once. A caller of a model that did not answer the
    last call, or was never called, gets it after 2.5 s, while the call goes on alone to learn
    whether the model is back. The answer is then composed of the claims alone, and threads are
    left for all that needs no model.
    """

    model: ChatModel
    places: int = 4
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _calls: set[object] = field(default_factory=set, repr=False)  # that go on
    _wasted: float = 0.0
    _left_alone: float = 0.0  # until this moment
    _answers: bool = False  # the last call that ended was answered
    _given_up: bool = False  # who made the call that goes on did not wait for it

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def reply(self, prompt: str) -> str:
        """Ask; raises what the model raises, and :class:`BusyError` without asking."""
        return self._ask(lambda _: self.model.reply(prompt), lambda _: None)

    def reply_aloud(self, prompt: str, listener: Listener) -> str:
        """Return the same, and pass it to ``listener`` as it grows."""
        return self._ask(partial(reply_aloud, self.model, prompt), listener)

    def _ask(self, ask: Callable[[Listener], str], listener: Listener) -> str:
        call = object()
        patience = self._begin(call)
        outcome: list[str | OutsideError] = []
        over = threading.Event()

        def tell(text: str) -> None:
            if not over.is_set():
                listener(text)

        def run() -> None:
            began = time.monotonic()
            try:
                outcome.append(ask(tell))
            except OutsideError as fault:
                outcome.append(fault)
            finally:
                reply = next(
                    iter(outcome), None
                )  # a malformed reply comes from a model that is there
                self._end(call, time.monotonic() - began, isinstance(reply, str | ReplyError))

        caller = threading.Thread(target=run, name="model", daemon=True)
        caller.start()
        caller.join(patience)
        over.set()
        if not outcome:
            with self._turn:
                self._given_up = call in self._calls
            raise BusyError(f"{self.name} gave no answer soon, and none before")
        [reply] = outcome
        if isinstance(reply, OutsideError):
            raise reply
        return reply

    def _begin(self, call: object) -> float | None:
        """Acquire a place; return the seconds to wait at most, None for the model's own limit."""
        now = time.monotonic()
        with self._turn:
            away = now < self._left_alone or self._given_up
            if away or len(self._calls) >= self.places:
                MODEL_CALLS.labels("not asked").inc()
                why = "is left alone" if away else "is asked by others"
                raise BusyError(f"{self.name} {why} for now")
            if self._wasted >= _WASTED:  # the others wait for how this one fares
                self._left_alone = now + _REST
            self._calls.add(call)
            return None if self._answers else _PATIENCE

    def _end(self, call: object, took: float, answered: bool) -> None:
        with self._turn:
            self._calls.remove(call)
            self._answers, self._given_up = answered, False
            self._wasted = 0.0 if answered else self._wasted + took
            self._left_alone = time.monotonic() + _REST if self._wasted >= _WASTED else 0.0
