"""A model whose endpoint may fall silent, asked so that nobody waits for it twice."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from shiyi.errors import BusyError, OutsideError, ReplyError
from shiyi.model.tally import TALLY
from shiyi.prompts.chat import ChatModel, Heard, reply_aloud

_WASTED: Final = 3.0  # seconds of failed calls in a row after which it is left alone (ours)
_REST: Final = 30.0  # seconds; then one call tries whether it is back (ours)


@dataclass(slots=True)
class Breaker:
    """Asks ``model`` for at most ``places`` at a time, and leaves it alone while it is away.

    Whoever is not let through gets :class:`BusyError` at once, so that the answer is composed of
    the claims alone, and threads are left for all that needs no model.
    """

    model: ChatModel
    places: int = 4
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _asking: int = 0
    _wasted: float = 0.0
    _left_alone: float = 0.0  # until this moment

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def reply(self, prompt: str) -> str:
        """Ask; raises what the model raises, and :class:`BusyError` without asking."""
        with self._asked():
            return self.model.reply(prompt)

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the same, and tell ``heard`` of it as it grows."""
        with self._asked():
            return reply_aloud(self.model, prompt, heard)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        began, wasted = self._begin(), 0.0
        try:
            yield
        except OutsideError as fault:
            if not isinstance(fault, ReplyError):  # else it is there, and says nonsense
                wasted = time.monotonic() - began
            raise
        finally:
            self._end(wasted)

    def _begin(self) -> float:
        now = time.monotonic()
        with self._turn:
            if now < self._left_alone or self._asking >= self.places:
                TALLY.add("model_calls", "not asked")
                why = "is left alone" if now < self._left_alone else "is asked by others"
                raise BusyError(f"{self.name} {why} for now")
            if self._wasted >= _WASTED:  # the others wait for how this one fares
                self._left_alone = now + _REST
            self._asking += 1
        return now

    def _end(self, wasted: float) -> None:
        with self._turn:
            self._asking -= 1
            self._wasted = self._wasted + wasted if wasted else 0.0
            self._left_alone = time.monotonic() + _REST if self._wasted >= _WASTED else 0.0
