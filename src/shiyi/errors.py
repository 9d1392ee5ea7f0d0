"""The tree of errors that Shiyi raises on purpose.

ShiyiError
├── SettingError          the operator must change a setting
├── RangeError            a value is outside its definition
├── FormatError           a format, method or name is not offered
├── UsageError            a request cannot be understood
│   └── FormError         fields of a form or of a JSON request are at fault
├── TooLargeError         a request is too large
├── QueryError            a SPARQL query cannot be parsed, or is not allowed
│   ├── QueryRefusedError a query or update has what is never offered: SERVICE, LOAD
│   └── QueryLimitError   a query ran past its time, memory, rows or bytes
├── TableError            a knowledge table has faults
├── ConformanceError      data violate their shapes
├── StaleError            something changed since it was read
├── KeyReuseError         an idempotency key was used for another request
├── RightsError           an account lacks the right
├── KnowledgeBaseError    the knowledge base is missing, half-built, locked or damaged
├── IndexMismatchError    an index or model was made for something else
├── UnboundVariableError  a prompt or query lacks a value
├── MissingExtraError     an optional part is not installed
└── OutsideError          something outside (a model endpoint, a remote store) failed
    ├── BusyError         it is overloaded; a later attempt may succeed
    └── ReplyError        a model's reply is malformed
"""

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override


class ShiyiError(Exception):
    """Base of every error that this package raises on purpose: what, where and what to do."""


class SettingError(ShiyiError):
    """A setting is missing or malformed."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason

    @override
    def __str__(self) -> str:
        return f"setting {self.name}: {self.reason}"


class RangeError(ShiyiError, ValueError):
    """A value lies outside its definition."""


class FormatError(ShiyiError, ValueError):
    """A name is not in a closed list."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        self.what, self.name, self.known = what, name, tuple(known)

    @override
    def __str__(self) -> str:
        return f"{self.what} {self.name[:80]!r} is not among {', '.join(self.known)}"


class UsageError(ShiyiError, ValueError):
    """A request cannot be understood; the message says what to send instead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one field, in both languages; ``shape`` is the shape that says so."""

    field: str
    message_zh: str
    message_en: str
    shape: str = ""

    def message(self, language: str) -> str:
        """Return the message in ``zh`` or ``en``."""
        return self.message_zh if language == "zh" else self.message_en


class FormError(UsageError):
    """Fields of a form or of a JSON request are at fault; ``faults`` names each."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)

    @override
    def __str__(self) -> str:
        return "; ".join(f"{fault.field}: {fault.message_en}" for fault in self.faults)


class TooLargeError(ShiyiError, ValueError):
    """A request is too large."""

    def __init__(self, name: str, size: int, limit: int, unit: str = "characters") -> None:
        self.what, self.size, self.limit, self.unit = name, size, limit, unit

    @override
    def __str__(self) -> str:
        return (
            f"{self.what} has {self.size:,} {self.unit}; "
            f"at most {self.limit:,} are taken, so shorten it"
        )


class QueryError(ShiyiError, ValueError):
    """A SPARQL query cannot be parsed, or is not allowed."""


class QueryRefusedError(QueryError):
    """A query or update is well-formed as far as it was parsed, and has what is never offered."""


class QueryLimitError(QueryError):
    """A query exceeded a limit: time, memory, rows, bytes, busy or share."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class TableError(ShiyiError, ValueError):
    """Knowledge tables have faults; ``faults`` holds each as a sentence."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)

    @override
    def __str__(self) -> str:
        return f"{len(self.faults)} faults in the tables:\n" + "\n".join(self.faults)


class ConformanceError(ShiyiError):
    """Data violate their shapes; ``results`` holds each violation as a sentence."""

    def __init__(self, results: Sequence[str]) -> None:
        self.results = tuple(results)

    @override
    def __str__(self) -> str:
        return f"{len(self.results)} shape violations:\n" + "\n".join(self.results)


class StaleError(ShiyiError):
    """Something changed since it was read; nothing was written.

    ``things`` holds the IRIs of what changed: reload them before another attempt.
    """

    def __init__(self, things: Sequence[str], reason: str = "") -> None:
        self.things, self.reason = tuple(things), reason

    @override
    def __str__(self) -> str:
        reason = self.reason or "somebody changed this since you read it"
        return f"{reason}: {', '.join(self.things)}; nothing was written, so look again first"


class KeyReuseError(ShiyiError):
    """An idempotency key was used for another request before; nothing was written."""

    def __init__(self, when: str) -> None:
        super().__init__(
            f"this idempotency key was used for another request at {when}; "
            "nothing was written, so send the change under a new key"
        )


class RightsError(ShiyiError):
    """An account lacks a right; the message names the role that has it."""


class KnowledgeBaseError(ShiyiError):
    """The knowledge base at ``path`` cannot be used; the message says what to do."""


class IndexMismatchError(ShiyiError):
    """An index, model or checkpoint was made for another release or by another model."""


class UnboundVariableError(ShiyiError):
    """A prompt or query lacks a value for a variable."""

    def __init__(self, artefact: str, names: frozenset[str]) -> None:
        self.artefact, self.names = artefact, names

    @override
    def __str__(self) -> str:
        return f"{self.artefact} needs {', '.join(sorted(self.names))}"


class MissingExtraError(ShiyiError):
    """An optional part is not installed; the message is the command that installs it."""

    def __init__(self, name: str, extra: str) -> None:
        self.what, self.extra = name, extra

    @override
    def __str__(self) -> str:
        return f'{self.what} needs an extra: pip install "shiyi[{self.extra}]"'


class OutsideError(ShiyiError):
    """Something outside this process failed: a model endpoint, a remote store."""


class BusyError(OutsideError):
    """Something outside is overloaded; ``after`` is the time that it asks to wait."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after  # seconds


class ReplyError(OutsideError):
    """A model's reply is malformed: not what the prompt asked for."""
