"""A model whose endpoint may fall silent, asked so that nobody waits for it long or twice."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.model.tally import TALLY
from shiyi.prompts.chat import ChatModel, Heard, reply_aloud

_WASTED: Final = 3.0  # seconds of failed calls in a row after which it is left alone (ours)
_REST: Final = 30.0  # seconds; then one call tries whether it is back (ours)
_PATIENCE: Final = (
    2.5  # seconds for one that has not answered lately, so that an answer takes 3 (ours)
)


@dataclass(slots=True)
class Breaker:
    """Asks ``model`` for at most ``places`` at a time, and leaves it alone while it is away.

    Whoever is not let through gets :class:`BusyError` at once, and whoever asks one that did not
    answer the last call, or none yet, after 2.5 s, while the call goes on to learn whether it does
    and nobody else is let through: the answer is composed of the claims alone, and threads are left
    for all that needs no model.
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

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the same, and tell ``heard`` of it as it grows."""
        return self._ask(partial(reply_aloud, self.model, prompt), heard)

    def _ask(self, ask: Callable[[Heard], str], heard: Heard) -> str:
        call = object()
        patience = self._begin(call)
        outcome: list[str | OutsideError] = []
        over = threading.Event()

        def tell(text: str) -> None:
            if not over.is_set():
                heard(text)

        def run() -> None:
            began = time.monotonic()
            try:
                outcome.append(ask(tell))
            except OutsideError as fault:
                outcome.append(fault)
            finally:
                said = next(iter(outcome), None)  # nonsense is said by one that is there
                self._end(call, time.monotonic() - began, isinstance(said, str | ReplyError))

        caller = threading.Thread(target=run, name="model", daemon=True)
        caller.start()
        caller.join(patience)
        over.set()
        if not outcome:
            with self._turn:
                self._given_up = call in self._calls
            raise BusyError(f"{self.name} gave no answer soon, and none before")
        [said] = outcome
        if isinstance(said, OutsideError):
            raise said
        return said

    def _begin(self, call: object) -> float | None:
        """Take a place; give the seconds that may be waited, None for as long as the model may take."""
        now = time.monotonic()
        with self._turn:
            away = now < self._left_alone or self._given_up
            if away or len(self._calls) >= self.places:
                TALLY.add("model_calls", "not asked")
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
