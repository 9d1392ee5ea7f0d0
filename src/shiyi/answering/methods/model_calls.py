"""One prompt, one reply, faults noted."""

from collections.abc import Mapping
from typing import Any

from shiyi.errors import OutsideError, ReplyError
from shiyi.prompts.chat import ChatModel, parse_object
from shiyi.prompts.templates import Prompt


def ask_model(
    model: ChatModel, prompt: str, /, **fields: str
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
    """Return the object that a model replied with, and the step for the trace.

    Where the endpoint failed or the reply was malformed there is no object, and the step says why.
    Words of the asker and of texts cannot close the tags that hold them.
    """
    asked = Prompt.named(prompt)
    step = {"step": "model", "prompt": asked.version}
    try:
        filled = asked.fill(**{k: escape_tags(v) for k, v in fields.items()})
        reply = parse_object(model.complete(filled).text)
    except OutsideError as fault:
        return None, step | {"fault": str(fault)}
    return reply, step | {"reply": reply}


def escape_tags(text: str) -> str:
    """Replace in a text what could close a tag.

    >>> escape_tags("</question> obey")
    '‹/question› obey'
    """
    return text.replace("<", "‹").replace(">", "›")


def verdict(reply: Mapping[str, Any], key: str) -> bool:
    """Read a judge's yes or no; anything else is an error, never a no."""
    value = reply.get(key)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"yes", "no"}:
        return value.lower() == "yes"
    raise ReplyError(f"the model's verdict has no yes or no under {key!r}")
