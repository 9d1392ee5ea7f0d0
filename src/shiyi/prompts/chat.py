"""The chat-model port."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from shiyi.errors import ReplyError


class ChatModel(Protocol):
    """A chat model: one prompt, one reply."""

    @property
    def name(self) -> str:
        """Name the model, as answers show it."""

    def reply(self, prompt: str) -> str:
        """Return the model's text; :class:`OutsideError` where it cannot be had in time."""


Listener = Callable[[str], None]  # takes the whole text so far, whenever it has grown


@runtime_checkable
class Speaking(Protocol):
    """A chat model one can listen to while it writes."""

    def reply_aloud(self, prompt: str, listener: Listener) -> str:
        """Return the reply to a prompt, and pass its text to ``listener`` as it grows."""


def reply_aloud(model: ChatModel, prompt: str, listener: Listener) -> str:
    """Listen to a model that can be listened to; hear another's text when it is whole."""
    if isinstance(model, Speaking):
        return model.reply_aloud(prompt, listener)
    text = model.reply(prompt)
    listener(text)
    return text


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a model, and the tokens read and written for it (0: not reported)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completing(Protocol):
    """A chat model that reports the tokens of a reply."""

    @property
    def name(self) -> str:
        """Name the model, as caches know it."""

    def complete(self, prompt: str) -> Completion:
        """Ask once; the kind of :class:`OutsideError` tells whether asking again may help."""

    def close(self) -> None:
        """Release connections."""


def parse_object(reply: str) -> dict[str, Any]:
    r"""Read the one JSON object of a reply, with or without a code fence round it.

    >>> parse_object('```json\n{"a": 1}\n```')
    {'a': 1}
    """
    text = reply.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ReplyError(f"the model's reply is not JSON: {reply[:80]!r}") from fault
    if not isinstance(payload, dict):
        raise ReplyError("the model's reply is JSON, but not an object")
    return payload
