"""What can go wrong, as a tree.

ShiyiError
├── SettingError          the operator must change a setting
├── RangeError            a value is outside its definition
├── FormatError           a format, method or name that we do not offer was asked for
├── UsageError            a request cannot be understood as it stands
├── TooLargeError         a request is larger than we take
├── QueryError            a SPARQL query cannot be parsed, or asks what we do not allow
│   ├── QueryRefusedError a query or update asks for what is never offered: SERVICE, LOAD
│   └── QueryLimitError   a query ran past its time, memory, rows or bytes
├── TableError            a knowledge table has faults
├── ConformanceError      data break their shapes
├── StaleError            what is to be changed is not as it was when it was read
├── RightsError           a person may not do what they ask
├── KnowledgeBaseError    the knowledge base is missing, half-built, locked or damaged
├── IndexMismatchError    an index or model was made for something else
├── UnboundVariableError  a prompt or query was not given all it asks for
├── MissingExtraError     an optional part is not installed
└── OutsideError          something outside (a model endpoint, a remote store) failed
    ├── BusyError         it may do better when asked again later
    └── ReplyError        a model's reply is malformed
"""

from collections.abc import Sequence

from typing_extensions import override


class ShiyiError(Exception):
    """Base of every error this package raises on purpose: what, where and what to do."""


class SettingError(ShiyiError):
    """A setting is missing or malformed."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why

    @override
    def __str__(self) -> str:
        return f"setting {self.name}: {self.why}"


class RangeError(ShiyiError, ValueError):
    """A value lies outside its definition."""


class FormatError(ShiyiError, ValueError):
    """A name outside a closed list was asked for."""

    def __init__(self, what: str, asked: str, known: Sequence[str]) -> None:
        self.what, self.asked, self.known = what, asked, tuple(known)

    @override
    def __str__(self) -> str:
        return f"{self.what} {self.asked[:80]!r} is not among {', '.join(self.known)}"


class UsageError(ShiyiError, ValueError):
    """A request cannot be understood as it stands; the message says what to send instead."""


class TooLargeError(ShiyiError, ValueError):
    """A request is larger than we take."""

    def __init__(self, what: str, size: int, limit: int, unit: str = "characters") -> None:
        self.what, self.size, self.limit, self.unit = what, size, limit, unit

    @override
    def __str__(self) -> str:
        return (
            f"{self.what} has {self.size:,} {self.unit}; "
            f"at most {self.limit:,} are taken, so shorten it"
        )


class QueryError(ShiyiError, ValueError):
    """A SPARQL query cannot be parsed, or asks for what we do not allow."""


class QueryRefusedError(QueryError):
    """A query or update is well-formed as far as we looked, and asks for what is never offered."""


class QueryLimitError(QueryError):
    """A query ran past a limit; ``limit`` is ``time``, ``memory``, ``rows``, ``bytes``, ``busy`` or ``share``."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class TableError(ShiyiError, ValueError):
    """Knowledge tables have faults; ``faults`` holds every one found, as sentences."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)

    @override
    def __str__(self) -> str:
        return f"{len(self.faults)} faults in the tables:\n" + "\n".join(self.faults)


class ConformanceError(ShiyiError):
    """Data break their shapes; ``results`` holds each violation as a sentence."""

    def __init__(self, results: Sequence[str]) -> None:
        self.results = tuple(results)

    @override
    def __str__(self) -> str:
        return f"{len(self.results)} shape violations:\n" + "\n".join(self.results)


class StaleError(ShiyiError):
    """What is to be changed is not as it was when it was read; nothing was written.

    ``things`` names what changed since, by IRI; read it again, and decide anew.
    """

    def __init__(self, things: Sequence[str], why: str = "") -> None:
        self.things, self.why = tuple(things), why

    @override
    def __str__(self) -> str:
        what = self.why or "somebody changed this since you read it"
        return (
            f"{what}: {', '.join(self.things)}; nothing was written, so look again and decide anew"
        )


class RightsError(ShiyiError):
    """A person may not do what they ask; the message names the role that may."""


class KnowledgeBaseError(ShiyiError):
    """The knowledge base at ``path`` cannot be used; the message says what to do."""


class IndexMismatchError(ShiyiError):
    """An index, model or checkpoint was made for another release or by another model."""


class UnboundVariableError(ShiyiError):
    """A prompt or query was not given all it asks for."""

    def __init__(self, artefact: str, names: frozenset[str]) -> None:
        self.artefact, self.names = artefact, names

    @override
    def __str__(self) -> str:
        return f"{self.artefact} needs {', '.join(sorted(self.names))}"


class MissingExtraError(ShiyiError):
    """An optional part is not installed; the message is the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra

    @override
    def __str__(self) -> str:
        return f'{self.what} needs an extra: pip install "shiyi[{self.extra}]"'


class OutsideError(ShiyiError):
    """Something outside this process failed: a model endpoint, a remote store."""


class BusyError(OutsideError):
    """Something outside is busy or broken for now; ``after`` is how long it asks one to wait."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after  # seconds


class ReplyError(OutsideError):
    """A model's reply is malformed: not what the prompt asked for."""
