"""Asking a model many times: checked replies, back-off, a breaker, counts, and a cache."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.prompts.chat import Completing, Completion, parse_object
from shiyi.prompts.prompt import Prompt
from shiyi.prompts.replies import Replies
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from pydantic import BaseModel
    from tenacity import RetryCallState

Form = TypeVar("Form", bound="BaseModel")


@dataclass(slots=True)
class Usage:
    """What asking cost; ``faults`` counts what went wrong by kind, also where a retry mended it."""

    calls: int = 0  # sent to the endpoint
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0  # of all calls added up
    faults: Counter[str] = field(default_factory=Counter)

    def cost(self, settings: ModelSettings) -> float:
        """Give the price of the tokens by ``models.price_prompt`` and ``price_completion``."""
        parts = (
            self.prompt_tokens * settings.price_prompt,
            self.completion_tokens * settings.price_completion,
        )
        return sum(parts) / 1_000_000


class Asker:
    """Asks one model; safe to share between threads.

    A reply is kept only once it has the form that was asked for. After ``models.breaker`` faults of
    the endpoint in a row every call is refused at once for ``models.wait_most`` seconds.
    """

    def __init__(
        self, model: Completing, replies: Replies, settings: ModelSettings, release: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.model, self.release, self.usage = model, release, Usage()
        self._replies, self._settings, self._sleep = replies, settings, sleep
        self._turn = threading.Lock()
        self._failed, self._closed_until = 0, 0.0

    def ask(self, prompt: Prompt, form: type[Form], **said: str) -> Form:
        """Give the reply to a filled prompt as a checked value of ``form``.

        Raises :class:`OutsideError` where no attempt brought a reply of that form.
        """
        text = prompt.fill(**said)
        kept = self._replies.find(self.model.name, text, self.release)
        if kept is not None:
            with self._turn:
                self.usage.cached += 1
            return _read(kept.text, form)
        completion, read = self._retrying(lambda: self._once(text, form))
        self._replies.keep(self.model.name, prompt.version, text, completion, self.release)
        return read

    def _retrying(self, once: Callable[[], tuple[Completion, Form]]) -> tuple[Completion, Form]:
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        attempts = Retrying(
            retry=retry_if_exception_type((BusyError, ReplyError)),
            stop=stop_after_attempt(max(1, self._settings.attempts)),
            wait=self._wait, sleep=self._sleep, reraise=True,
        )  # fmt: skip
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

    said: dict[str, Any] = parse_object(text)
    try:
        return form.model_validate(said)
    except (ValidationError, RecursionError) as fault:
        where = ""
        if isinstance(fault, ValidationError):
            first = fault.errors(include_input=False, include_url=False)[0]
            where = f": {'.'.join(map(str, first['loc']))[:80]} {first['msg'][:120]}"
        raise ReplyError(f"the model's reply has not the form asked for{where}") from None
