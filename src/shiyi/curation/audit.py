"""The audit log: who signed in, failed to, or changed an account, one JSON object a line."""

import json
import os
import threading
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

FILE: Final = "audit.jsonl"


class Audit:
    """Appends to ``audit.jsonl`` beside the store; what is written is on the disk at return."""

    def __init__(self, kb: Path) -> None:
        self.path, self._lock = kb / FILE, threading.Lock()

    def note(self, what: str, who: str, **said: str) -> None:
        """Append one event; ``said`` never holds a password, a code or a token."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"when": now, "what": what, "who": who, **said}, ensure_ascii=False)
        with self._lock:
            opened = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            try:
                os.write(opened, line.encode("utf-8", "replace") + b"\n")
                os.fsync(opened)
            finally:
                os.close(opened)

    def last(self, count: int = 200) -> list[dict[str, Any]]:
        """List the newest events, the newest first; a line that was cut off is left out."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", errors="replace") as file:
            lines = deque(file, maxlen=count)
        return [each for line in reversed(lines) if (each := _read(line))]


def _read(line: str) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
