"""What a request may say, read strictly: each fault names its field."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from shiyi.answering.conversation import Context
from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.model.profile import Profile
from shiyi.server.wording import LANGUAGES

_LIST_FIELDS = ("medicines", "allergies", "conditions", "avoids")
_FLAGS = ("pregnant", "lactating")
_SEPARATORS = re.compile(r"[,，、;；\n]")
_CONTEXT_CHARS = 40_000
_MOST_DROPPED = 50
_ALLOWED_CONTROLS = frozenset("\t\n\r")


def text_field(name: str, value: object, limit: int) -> str:
    """Take a text that says something, is not too long and holds no control characters.

    >>> text_field("question", " what? ", 100)
    'what?'
    """
    if not isinstance(value, str):
        raise UsageError(f"{name} is missing: send it as a text")
    if len(value) > limit:
        raise TooLargeError(name, len(value), limit)
    if not value.strip():
        raise UsageError(f"{name} is empty: write what you want to know")
    for place, character in enumerate(value):
        category = unicodedata.category(character)
        if category in {"Cc", "Cs"} and character not in _ALLOWED_CONTROLS:
            raise UsageError(
                f"{name} holds a control character (U+{ord(character):04X}) at {place + 1}: remove it"
            )
    return value.strip()


def language_field(value: object) -> str | None:
    """Take ``zh``, ``en`` or nothing."""
    if value in (None, ""):
        return None
    if value not in LANGUAGES:
        raise FormatError("lang", str(value), LANGUAGES)
    return str(value)


def method_field(value: object, known: tuple[str, ...]) -> str:
    """Take a known method; the first where none is said."""
    if value in (None, ""):
        return known[0]
    if value not in known:
        raise FormatError("method", str(value), known)
    return str(value)


def count_field(name: str, value: object, low: int, high: int) -> int | None:
    """Take a whole number from ``low`` to ``high``, or nothing."""
    if value in (None, ""):
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"{name} is a whole number from {low} to {high}")
    return value


def context_field(value: object) -> Context | None:
    """Take the context an earlier answer gave, as an object or as its JSON; nothing where none is.

    >>> context_field('{"questions": ["枸杞的性味？"]}').questions
    ('枸杞的性味？',)
    """
    if value in (None, "", {}):
        return None
    if isinstance(value, str):
        if len(value) > _CONTEXT_CHARS:
            raise TooLargeError("context", len(value), _CONTEXT_CHARS)
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as fault:
            raise UsageError(f"context is not JSON: {fault}") from fault
    return Context.from_json(value)


def dropped_field(said: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Read what is no longer to be held of the asker: a field of the profile and a word.

    >>> dropped_field(["avoids:pork", "nonsense"])
    frozenset({('avoids', 'pork')})
    """
    pairs = (each.partition(":") for each in list(said)[:_MOST_DROPPED])
    return frozenset((key, value) for key, found, value in pairs if found)


def profile_of_form(form: Mapping[str, str]) -> Profile:
    """Read the profile fields of ``/ask``; lists are separated by commas.

    >>> from shiyi.server.inputs import profile_of_form
    >>> profile_of_form({"age": "34", "medicines": "华法林，aspirin"}).medicines
    ('华法林', 'aspirin')
    """
    said: dict[str, Any] = {}
    for name in ("sex", "constitution"):
        said[name] = form.get(name, "").strip()
    for name in _LIST_FIELDS:
        words = (word.strip() for word in _SEPARATORS.split(form.get(name, "")))
        said[name] = [word for word in words if word]
    for name in _FLAGS:
        value = form.get(name, "")
        said[name] = {"": None, "true": True, "false": False}.get(value, value)
    if age := form.get("age", "").strip():
        said["age"] = float(age) if re.fullmatch(r"[0-9]{1,3}(\.[0-9])?", age) else age
    return Profile.from_json(said)
