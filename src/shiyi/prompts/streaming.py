"""Incremental parsing of a streamed reply."""

import json
import re
from typing import Any, Final

from shiyi.errors import OutsideError, ReplyError

_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = " \t\r\n,"


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
            opened = self._opening.search(text)
            if opened is None:
                return []
            self._at = opened.end()
        found: list[dict[str, Any]] = []
        while True:
            while self._at < len(text) and text[self._at] in _BETWEEN:
                self._at += 1
            if text[self._at : self._at + 1] != "{":  # nothing yet, or no list of objects
                return found
            try:
                each, self._at = _DECODER.raw_decode(text, self._at)
            except (ValueError, RecursionError):
                return found
            found.append(each)


class StreamedCompletion:
    """A chat completion assembled from its server-sent events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self._refusal = ""
        self._finish: str | None = None
        self._usage: object = None
        self._ended = False
        self._rest = b""

    def feed(self, block: bytes) -> None:
        """Select the next bytes; complain of what is no event of the protocol."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._take(line[5:].strip())

    def whole(self) -> dict[str, Any]:
        """Return what an endpoint that does not stream would have sent."""
        self.feed(b"\n")
        if not (self._ended or self._finish):
            raise ReplyError(f"{self.name} broke off in the middle of its reply")
        payload = {"content": self.text, "refusal": self._refusal or None}
        choice = {"message": payload, "finish_reason": self._finish}
        return {"choices": [choice], "usage": self._usage}

    def _take(self, payload: bytes) -> None:
        if payload == b"[DONE]":
            self._ended = True
            return
        try:
            chunk = json.loads(payload)
            if chunk.get("error"):
                raise OutsideError(f"{self.name} failed in the middle of its reply")
            self._usage = chunk.get("usage") or self._usage
            for choice in chunk.get("choices", ())[:1]:
                delta = choice.get("delta") or {}
                self.text += delta.get("content") or ""
                self._refusal += delta.get("refusal") or ""
                self._finish = choice.get("finish_reason") or self._finish
        except (ValueError, RecursionError, TypeError, AttributeError):
            raise ReplyError(f"{self.name} gave what is no chunk of a chat completion") from None
