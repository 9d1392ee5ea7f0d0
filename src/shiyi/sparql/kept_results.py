"""Results of queries that were asked before, kept while the base stays as it is."""

import re
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.results import QueryResult, StreamedResult
from shiyi.sparql.spool import Spool

LARGEST: Final = 1 << 16  # bytes of one kept result
_BESIDE: Final = 600  # bytes that one takes beside its body and its texts (measured)
_CHANGING: Final = re.compile(r"\b(?:NOW|RAND|UUID|STRUUID|BNODE)\s*\(|\\u", re.IGNORECASE)


class KeptResults:
    """Keeps short results up to ``most`` bytes in all, the least recently asked for goes first.

    Each is of a ``state`` of the base, so a change makes all that was kept unreachable. A query
    that may give something else each time is not kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held, self._lock = most, 0, threading.Lock()
        self._results: OrderedDict[tuple[Hashable, FreeQuery], tuple[int, QueryResult]] = (
            OrderedDict()
        )

    def find(self, state: Hashable, query: FreeQuery) -> StreamedResult | None:
        """Give a kept result anew."""
        key = state, query
        with self._lock:
            found = self._results.get(key)
            if found is None:
                return None
            self._results.move_to_end(key)
        _, whole = found
        spool = Spool()
        spool.add(whole.body)
        return StreamedResult(whole.media_type, spool, whole.kind, whole.rows)

    def keep(self, state: Hashable, query: FreeQuery, made: StreamedResult) -> None:
        """Keep a result if it is short and the query always gives the same."""
        if made.body.size > min(LARGEST, self._most) or _CHANGING.search(query.text):
            return
        whole = QueryResult(made.media_type, made.body.read(), made.kind, made.rows)
        key, size = (state, query), len(whole.body) + query.size + _BESIDE
        with self._lock:
            if key in self._results or size > self._most:
                return
            self._results[key] = size, whole
            self._held += size
            while self._held > self._most:
                _, (gone, _) = self._results.popitem(last=False)
                self._held -= gone
