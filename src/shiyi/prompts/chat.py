"""What a chat model can do for us, whoever makes it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from shiyi.errors import ReplyError


class ChatModel(Protocol):
    """Answers one text with one text."""

    @property
    def name(self) -> str:
        """Name the model, as answers show it."""

    def reply(self, prompt: str) -> str:
        """Give the model's text; :class:`OutsideError` where it cannot be had in time."""


Heard = Callable[[str], None]  # takes all that was written so far, whenever there is more


@runtime_checkable
class Speaking(Protocol):
    """A chat model one can listen to while it writes."""

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the model's text as ``ChatModel.reply`` does; ``heard`` is told of it as it grows."""


def reply_aloud(model: ChatModel, prompt: str, heard: Heard) -> str:
    """Listen to a model that can be listened to; hear another's text when it is whole."""
    if isinstance(model, Speaking):
        return model.reply_aloud(prompt, heard)
    text = model.reply(prompt)
    heard(text)
    return text


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said, and how many tokens were read and written for it (0: not told)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completing(Protocol):
    """Answers one text with one text, and says what it cost."""

    @property
    def name(self) -> str:
        """Name the model, as caches know it."""

    def complete(self, prompt: str) -> Completion:
        """Ask once; the kind of :class:`OutsideError` tells whether asking again may help."""

    def close(self) -> None:
        """Let go of connections."""


def parse_object(reply: str) -> dict[str, Any]:
    r"""Read the one JSON object of a reply, with or without a code fence round it.

    >>> parse_object('```json\n{"a": 1}\n```')
    {'a': 1}
    """
    text = reply.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ReplyError(f"the model's reply is not JSON: {reply[:80]!r}") from fault
    if not isinstance(said, dict):
        raise ReplyError("the model's reply is JSON, but not an object")
    return said
