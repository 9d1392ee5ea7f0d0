"""The chat-model port, and replies read as JSON objects and as pydantic forms."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from shiyi.errors import ReplyError

Form = TypeVar("Form", bound=BaseModel)
Listener = Callable[[str], None]  # takes the whole text so far, whenever it has grown
_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a model, and the tokens read and written for it (0: not reported)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(Protocol):
    """A chat model: one prompt, one reply."""

    @property
    def name(self) -> str:
        """Name the model, as answers show it and caches know it."""

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Return the reply; :class:`OutsideError` where it cannot be had in time.

        An endpoint that can is asked for the JSON schema of ``form``; the caller reads the reply.
        A ``listener`` is passed the text while it grows, or once where it comes whole.
        """


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
        raise ReplyError("the model's reply is not JSON") from fault
    if not isinstance(payload, dict):
        raise ReplyError("the model's reply is JSON, but not an object")
    return payload


def parse_form(reply: str, form: type[Form]) -> Form:
    """Read a reply as a value of ``form``; :class:`ReplyError` says where it is none."""
    payload = parse_object(reply)
    try:
        return form.model_validate(payload)
    except (ValidationError, RecursionError) as fault:
        where = ""
        if isinstance(fault, ValidationError):
            first = fault.errors(include_input=False, include_url=False)[0]
            where = f": {'.'.join(map(str, first['loc']))[:80]} {first['msg'][:120]}"
        raise ReplyError(f"the model's reply has not the form asked for{where}") from None


class GrowingList:
    """An incremental parser that yields the objects of one list of a JSON object.

    >>> growing = GrowingList("sentences")
    >>> (
    ...     growing.more('{"sentences": [{"text": "a"}, {"te'),
    ...     growing.more('{"sentences": [{"text": "a"}, {"text": "b"}'),
    ... )
    ([{'text': 'a'}], [{'text': 'b'}])
    """

    def __init__(self, key: str) -> None:
        self._opening = re.compile(rf'"{re.escape(key)}"\s*:\s*\[')
        self._at = -1

    def more(self, text: str) -> list[dict[str, Any]]:
        """Return the objects that became whole; ``text`` is all that was written so far."""
        if self._at < 0:
            match = self._opening.search(text)
            if match is None:
                return []
            self._at = match.end()
        results: list[dict[str, Any]] = []
        while True:
            while self._at < len(text) and text[self._at] in _BETWEEN:
                self._at += 1
            if text[self._at : self._at + 1] != "{":  # nothing yet, or no list of objects
                return results
            try:
                item, self._at = _DECODER.raw_decode(text, self._at)
            except (ValueError, RecursionError):
                return results
            results.append(item)
