"""What was said to a model and what it said, kept so that an answer can be made again without it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiyi.errors import OutsideError, UsageError
from shiyi.prompts.chat import ChatModel, Heard, reply_aloud

_MOST, _LONGEST = 200, 400_000  # exchanges, and characters of one


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt with its reply, or with the fault that came instead."""

    prompt: str
    reply: str | None = None
    fault: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the exchange as a trace holds it."""
        return {"prompt": self.prompt, "reply": self.reply, "fault": self.fault or None}


@dataclass(slots=True)
class Recorder:
    """Asks a model and keeps what was said on both sides."""

    model: ChatModel
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def reply(self, prompt: str) -> str:
        """Give the model's text; a fault is kept and raised again."""
        return self._kept(prompt, self.model.reply)

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the same, and tell ``heard`` of it as it grows."""
        return self._kept(prompt, lambda said: reply_aloud(self.model, said, heard))

    def _kept(self, prompt: str, ask: Callable[[str], str]) -> str:
        try:
            text = ask(prompt)
        except OutsideError as fault:
            self.exchanges.append(Exchange(prompt, fault=str(fault)))
            raise
        self.exchanges.append(Exchange(prompt, text))
        return text


@dataclass(frozen=True, slots=True)
class Recorded:
    """Says again what was recorded; asks nobody."""

    name: str
    exchanges: Mapping[str, Exchange]

    @classmethod
    def from_json(cls, name: str, said: object) -> "Recorded":
        """Read the exchanges of a trace; complain of what is none."""
        if not isinstance(said, Sequence) or isinstance(said, str) or len(said) > _MOST:
            raise UsageError(f"the trace's exchanges are a list of at most {_MOST}")
        return cls(name, {each.prompt: each for each in map(_exchange, said)})

    def reply(self, prompt: str) -> str:
        """Give the recorded text for a prompt; a prompt never said is a fault."""
        known = self.exchanges.get(prompt)
        if known is None:
            raise OutsideError(f"{self.name} was never asked this, so there is no reply to replay")
        if known.reply is None:
            raise OutsideError(known.fault)
        return known.reply


def _exchange(said: object) -> Exchange:
    if isinstance(said, Mapping):
        prompt, reply, fault = said.get("prompt"), said.get("reply"), said.get("fault")
        texts = [each for each in (prompt, reply, fault) if each is not None]
        whole = all(isinstance(each, str) and len(each) <= _LONGEST for each in texts)
        if whole and prompt and (reply is None) != (fault is None):
            return Exchange(str(prompt), reply, str(fault or ""))
    raise UsageError("an exchange of the trace has a prompt and either a reply or a fault")
