"""How often answers cite each claim, counted beside the store: what is used most is reviewed first."""

import json
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shiyi.sparql.durable import write_private

FILE: Final = "citations.json"
EVERY: Final = 200  # answers after which the counts are written down


class Citations:
    """Counts by claim; no question and nobody who asked is kept."""

    def __init__(self, kb: Path) -> None:
        self._path, self._lock = kb / FILE, threading.Lock()
        self.counts: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._answers = 0
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            self.counts.update({str(claim): int(count) for claim, count in said.items()})
        except (FileNotFoundError, ValueError, AttributeError):
            pass  # none yet, or cut off: counts begin anew

    def count(self, claims: Iterable[str]) -> None:
        """Count one answer that cites some claims."""
        with self._lock:
            cited = set(claims)
            self.counts.update(cited)
            self._unread.update(cited)
            self._answers += 1
            if self._answers % EVERY:
                return
        self.save()

    def fresh(self) -> Counter[str]:
        """Give what was counted since this was last asked."""
        with self._lock:
            found, self._unread = self._unread, Counter()
            return found

    def save(self) -> None:
        """Write the counts down."""
        with self._lock:
            counts = dict(self.counts)
        if counts:
            write_private(self._path, json.dumps(counts))
