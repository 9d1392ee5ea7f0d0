"""Free queries where the store is remote: passed on to its engine, bounded here, never updates."""

from typing import Any, Final, Self

from shiyi.errors import FormatError, OutsideError, QueryLimitError
from shiyi.model.rdf import NamedNode
from shiyi.settings import QuerySettings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.guard import check_query
from shiyi.sparql.remote import RemoteStore
from shiyi.sparql.results import (
    GRAPH_TYPES,
    SOLUTION_TYPES,
    QueryResult,
    ResultFormat,
    StreamedResult,
)
from shiyi.sparql.spool import Spool
from shiyi.sparql.worker_replies import past_limit, past_time, seconds_of
from shiyi.sparql.worker_rows import RowCounter

_NAMES: Final = {kind: name for name, kind in (*SOLUTION_TYPES.items(), *GRAPH_TYPES.items())}


class RemotePool:
    """Does what ``QueryPool`` does, with the remote engine in the place of workers.

    The engine's own limits protect it; SERVICE is refused here, and its query address takes no
    updates. It resolves relative IRIs against its own address, and shows all it holds as it is
    held: ``base``, ``profile`` and ``whole`` of a query say nothing to it.
    """

    network_blocked = False

    def __init__(self, store: RemoteStore, settings: QuerySettings) -> None:
        self._store, self._settings = store, settings

    def query(self, query: FreeQuery) -> QueryResult:
        """Give a result whole and in memory; errors as of :meth:`stream`."""
        made = self.stream(query)
        with made.body as body:
            return QueryResult(made.media_type, body.read(), made.kind, made.rows)

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Give a result at constant memory; errors as of ``QueryPool.stream``."""
        text, accepted = query.text, query.accept
        check_query(text, self._settings.max_query_bytes, network_blocked=False)
        seconds = seconds_of(self._settings, query.timeout)
        most = min(query.rows or self._settings.rows, self._settings.rows)
        wanted = [SOLUTION_TYPES[accepted.solutions]] if accepted.solutions else []
        wanted += [GRAPH_TYPES[accepted.graph]] if accepted.graph else []
        named = query.default_graphs, query.named_graphs
        dataset = named if any(named) else self._store.dataset(text)
        spool = Spool()
        try:
            media, count = self._taken(text, ", ".join(wanted), dataset, seconds, most, spool)
            if media not in wanted:
                raise FormatError("format of this result", media, wanted)
        except BaseException:
            spool.close()
            raise
        kind = "graph" if media in GRAPH_TYPES.values() else "solutions"
        return StreamedResult(media, spool, kind, count)

    def dump(
        self, graph: str, form: str, profile: str = "", whole: bool = False, asker: str = ""
    ) -> StreamedResult | None:
        """Give one whole graph, the empty name being the default graph; None where it is not."""
        where = f"GRAPH {NamedNode(graph)} {{ ?s ?p ?o }}" if graph else "?s ?p ?o"
        if graph and not self._store.endpoint.holds(f"ASK {{ {where} }}"):
            return None
        text = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {where} }}"
        return self.stream(FreeQuery(text, ResultFormat.of(form), profile=profile))

    def expire(self) -> None:
        """Do nothing: every query sees what the store holds."""

    def refresh(self) -> None:
        """Do nothing: every query sees what the store holds."""

    def close(self) -> None:
        """Do nothing: the store is closed by who opened it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _taken(
        self, text: str, accept: str, dataset: Any, seconds: float, most: int, spool: Spool
    ) -> tuple[str, int]:
        counter: RowCounter | None = None
        try:
            with self._store.endpoint.stream(text, accept, dataset, seconds) as reply:
                media = reply.headers.get("Content-Type", "").partition(";")[0].strip()
                if media in SOLUTION_TYPES.values():
                    counter = RowCounter(_NAMES[media])
                for part in reply.iter_bytes(1 << 18):
                    spool.add(part)
                    self._check(spool, counter, part, most)
        except TimeoutError:
            raise past_time(seconds) from None
        if media not in _NAMES:
            raise OutsideError(f"{self._store.endpoint.address} answered with {media or 'no type'}")
        return media, max(0, counter.rows) if counter else 0

    def _check(self, spool: Spool, counter: RowCounter | None, part: bytes, most: int) -> None:
        if spool.size > self._settings.bytes:
            raise past_limit("bytes", self._settings)
        if counter:
            counter.feed(part)
            if counter.rows > most:
                raise QueryLimitError(
                    "rows", f"the result has more than {most:,} rows; ask for less"
                )
