"""What the server says of itself: one line for each thing worth a look, for people or for programs.

Who asks, and what, is never in it: of a request only its route, of a query its shape.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any, Final

from typing_extensions import override

from shiyi.errors import SettingError

FORMS: Final = ("text", "json")
# some begin a line of their own
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class _Lines(logging.Formatter):
    """Writes a record as one line of text, its facts behind it as ``name=value``; a trace below it."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {name}={value}" for name, value in _facts(record).items())
        told = f"{record.levelname} {record.name}: {record.getMessage()}{facts}"
        said = f"{_time(record)} {_UNPRINTABLE.sub(lambda mark: ascii(mark[0])[1:-1], told)}"
        return f"{said}\n{self.formatException(record.exc_info)}" if record.exc_info else said


class _Objects(logging.Formatter):
    """Writes a record as one line of JSON, a fault with its trace in it."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": _time(record), "level": record.levelname.lower(), "logger": record.name,
            "message": record.getMessage(), **_facts(record),
        }  # fmt: skip
        if record.exc_info:
            said["fault"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def speak(form: str) -> None:
    """Let all that is logged in this process go to standard error in a form of ``FORMS``."""
    if form not in FORMS:
        raise SettingError("server.log", f"is one of {', '.join(FORMS)}, not {form[:20]!r}")
    handler = logging.StreamHandler()
    handler.setFormatter(_Objects() if form == "json" else _Lines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("shiyi").setLevel(logging.INFO)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN}


def _time(record: logging.LogRecord) -> str:
    return f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
