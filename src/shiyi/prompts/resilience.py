"""A deadline and a circuit breaker around a model, and retries of malformed replies."""

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.metrics import MODEL_CALLS
from shiyi.prompts.caching import ReplyStore
from shiyi.prompts.chat import ChatModel, Completion, Form, Listener, parse_form
from shiyi.prompts.openai import open_model
from shiyi.prompts.templates import Prompt
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from tenacity import RetryCallState

_WASTED: Final = 3.0  # seconds of failed calls in a row after which it is left alone (Shiyi's)
_REST: Final = 30.0  # seconds; then one call tries whether it is back (Shiyi's)
PATIENCE: Final = 2.5  # seconds for one that has not answered lately (Shiyi's)


@dataclass(slots=True)
class CircuitBreaker:
    """A deadline of ``timeout`` seconds, at most ``places`` calls at a time, a circuit breaker.

    After failed calls in a row that took ``wasted`` seconds, or after ``failures`` of them, callers
    get :class:`BusyError` at once for ``rest`` seconds. With a ``patience`` (seconds), a caller of
    a model that did not answer the last call, or was never called, gets it after so long, while
    the call goes on alone to learn whether the model is back.
    """

    model: ChatModel
    timeout: float
    places: int = 4
    patience: float | None = None
    wasted: float = _WASTED
    failures: int | None = None
    rest: float = _REST
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _calls: set[object] = field(default_factory=set, repr=False)  # that go on
    _lost: float = 0.0  # seconds
    _failed: int = 0  # in a row
    _left_alone: float = 0.0  # until this moment
    _answers: bool = False  # the last call that ended was answered
    _given_up: bool = False  # the caller of the running call no longer waits

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Ask; raise what the model raises, and :class:`BusyError` without asking."""
        call = object()
        patience = self._begin(call)
        outcome: list[Completion | OutsideError] = []
        over = threading.Event()

        def tell(text: str) -> None:
            if listener is not None and not over.is_set():
                listener(text)

        def run() -> None:
            began = time.monotonic()
            try:
                outcome.append(self.model.complete(prompt, form, tell if listener else None))
            except OutsideError as fault:
                outcome.append(fault)
            finally:
                self._end(call, time.monotonic() - began, next(iter(outcome), None))

        # in a thread of its own, since a byte every half second defeats the timeouts of sockets
        caller = threading.Thread(target=run, name="model", daemon=True)
        caller.start()
        caller.join(min(patience, self.timeout))
        over.set()
        if not outcome:
            late = BusyError(f"{self.name} gave no answer in {min(patience, self.timeout):g} s")
            if patience >= self.timeout:
                self._end(call, self.timeout, late)
            with self._turn:
                self._given_up = call in self._calls
            raise late
        [reply] = outcome
        if isinstance(reply, OutsideError):
            raise reply
        return reply

    def _begin(self, call: object) -> float:
        """Acquire a place; return the seconds to wait at most."""
        now = time.monotonic()
        with self._turn:
            is_away = now < self._left_alone or (self._given_up and self.patience is not None)
            if is_away or len(self._calls) >= self.places:
                MODEL_CALLS.labels("not asked").inc()
                why = "is left alone after failures" if is_away else "is asked by others"
                raise BusyError(f"{self.name} {why} for now", math.inf)
            if self._trips():  # the others wait for how this one fares
                self._left_alone = now + self.rest
            self._calls.add(call)
            return math.inf if self._answers or self.patience is None else self.patience

    def _end(self, call: object, took: float, outcome: Completion | OutsideError | None) -> None:
        # a malformed reply comes from a model that is there
        is_answered = isinstance(outcome, Completion | ReplyError)
        asks = outcome.after if isinstance(outcome, BusyError) else 0.0
        with self._turn:
            if call not in self._calls:  # its deadline was over
                return
            self._calls.remove(call)
            self._answers, self._given_up = is_answered, False
            self._lost = 0.0 if is_answered else self._lost + took
            self._failed = self._failed + 1 if isinstance(outcome, BusyError) else 0
            rests = self._trips() or asks > self.rest
            self._left_alone = time.monotonic() + self.rest if rests else 0.0

    def _trips(self) -> bool:
        return self._lost >= self.wasted or (
            self.failures is not None and self._failed >= self.failures
        )


def open_breaker(settings: ModelSettings, env: Mapping[str, str]) -> CircuitBreaker | None:
    """Return the model that answers, with its deadline; None where the settings name none."""
    model = open_model(settings, env)
    return CircuitBreaker(model, settings.timeout) if model else None


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


class Retrier:
    """One model with retries; safe to share between threads.

    A reply is stored only if it has the form that was asked for. After ``models.breaker`` faults of
    the endpoint in a row every call is refused at once for ``models.wait_most`` seconds.
    """

    def __init__(
        self,
        model: ChatModel,
        replies: ReplyStore,
        settings: ModelSettings,
        release: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.release, self.usage = release, Usage()
        self.model = CircuitBreaker(
            model,
            settings.timeout,
            settings.concurrency,
            wasted=math.inf,
            failures=settings.breaker,
            rest=settings.wait_most,
        )
        self._replies, self._settings, self._sleep = replies, settings, sleep
        self._turn = threading.Lock()

    def ask(self, prompt: Prompt, form: type[Form], **values: str) -> Form:
        """Return the reply to a filled prompt as a checked value of ``form``.

        Raises :class:`OutsideError` where no attempt brought a reply of that form.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        text = prompt.fill(**values)
        stored = self._replies.find(self.model.name, text, self.release)
        if stored is not None:
            with self._turn:
                self.usage.cached += 1
            return parse_form(stored.text, form)
        attempts = Retrying(
            retry=retry_if_exception(self._may_recover),
            stop=stop_after_attempt(max(1, self._settings.attempts)),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        completion, read = attempts(lambda: self._attempt(text, form))
        self._replies.keep(self.model.name, prompt.version, text, completion, self.release)
        return read

    def _may_recover(self, fault: BaseException) -> bool:
        """Return whether a retry may help; not if the endpoint asks for a longer wait."""
        if isinstance(fault, BusyError):
            return fault.after <= self._settings.wait_most
        return isinstance(fault, ReplyError)

    def _wait(self, state: "RetryCallState") -> float:
        """Double the wait each time, with jitter; the endpoint's own Retry-After is the least."""
        fault = state.outcome.exception() if state.outcome else None
        if isinstance(fault, ReplyError):
            return 0.0  # the endpoint responds; waiting would not help
        backing = self._settings.wait * 2.0 ** (state.attempt_number - 1)
        least = fault.after if isinstance(fault, BusyError) else 0.0
        jittered = backing * random.uniform(0.5, 1.0)  # noqa: S311 - spreads calls, guards nothing
        return min(max(jittered, least), self._settings.wait_most)

    def _attempt(self, text: str, form: type[Form]) -> tuple[Completion, Form]:
        started, completion, faults = time.monotonic(), Completion(""), list[str]()
        try:
            completion = self.model.complete(text, form)
            return completion, parse_form(completion.text, form)
        except OutsideError as fault:
            faults.append(type(fault).__name__)
            raise
        finally:  # what was malformed has cost its tokens too
            with self._turn:
                usage = self.usage
                usage.calls += 1
                usage.seconds += time.monotonic() - started
                usage.prompt_tokens += completion.prompt_tokens
                usage.completion_tokens += completion.completion_tokens
                usage.faults.update(faults)
