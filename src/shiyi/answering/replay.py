"""An answer made again from its own trace, and what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shiyi.answering.pipeline import ask, settings_digest
from shiyi.answering.runtime import Runtime
from shiyi.errors import UsageError
from shiyi.model.answer import Answer
from shiyi.model.profile import Profile
from shiyi.prompts.recording import Recorded

_COMPARED: Final = (
    "method", "language", "model", "answer", "sentences", "citations", "paths", "linked",
    "recommendations", "warnings", "follow_up", "abstained", "missing",
)  # fmt: skip
_TRACED: Final = ("queries", "relation_paths", "rounds", "notes", "steps", "claims", "texts")


@dataclass(frozen=True, slots=True)
class Replayed:
    """The answer as it is made now, and the names of what is no longer the same."""

    answer: Answer
    differences: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the answer's object with what differs."""
        told = {"same": not self.differences, "differences": list(self.differences)}
        return self.answer.to_json() | {"replayed": told}


def replay(runtime: Runtime, said: Mapping[str, Any]) -> Replayed:
    """Ask again what an answer's JSON says was asked; a model's replies are taken from its trace.

    No model is asked. Another release or other settings are named among the differences. Raises
    ``UsageError`` for what is no answer with a trace.
    """
    trace = _mapping(said.get("trace"), "trace")
    asked = _mapping(trace.get("asked"), "trace.asked")
    question, method, language = asked.get("question"), said.get("method"), said.get("language")
    k = asked.get("k")
    if not (isinstance(question, str) and isinstance(method, str) and isinstance(language, str)):
        raise UsageError("an answer to replay has a question, a method and a language")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int)):
        raise UsageError("trace.asked.k is a whole number or null")
    exchanges = trace.get("exchanges") or []
    model = Recorded.from_json(str(said.get("model") or "recorded"), exchanges)
    answer = ask(
        runtime, question, method=method, language=language, k=k,
        profile=Profile.from_json(asked.get("profile") or {}),
        model=model if exchanges else None,
    )  # fmt: skip
    return Replayed(answer, tuple(_differences(runtime, answer.to_json(), said, trace, asked)))


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is missing: replay the JSON that `shiyi ask --json` printed")
    return value


def _differences(
    runtime: Runtime,
    now: Mapping[str, Any],
    said: Mapping[str, Any],
    trace: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> list[str]:
    found = []
    if said.get("release") != runtime.release:
        found.append(f"release: {said.get('release')} then, {runtime.release} now")
    if asked.get("settings") != settings_digest(runtime.settings):
        found.append("settings: others than then")
    found += [name for name in _COMPARED if now.get(name) != said.get(name)]
    found += [f"trace.{name}" for name in _TRACED if _own(now["trace"], name) != _own(trace, name)]
    return found


def _own(trace: Mapping[str, Any], name: str) -> Any:
    """Give a part of a trace; how a conversation read the question is said in ``asked`` too."""
    value = trace.get(name)
    if name != "notes" or not isinstance(value, list):
        return value
    return [each for each in value if not str(each).startswith("read as ")]
