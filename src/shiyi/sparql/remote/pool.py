"""Free queries that a remote engine answers in the place of workers."""

from typing import IO, Any, Final, Self, cast

from shiyi.errors import FormatError, OutsideError, QueryLimitError, QueryRefusedError
from shiyi.model.rdf import NamedNode, parse_stream, write_rdf
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import PREFIXES
from shiyi.settings import QuerySettings
from shiyi.sparql.queries.requests import SPEAKS_12, FreeQuery, check_query
from shiyi.sparql.queries.results import (
    GRAPH_TYPES,
    SOLUTION_TYPES,
    QueryResult,
    ResultFormat,
    Spool,
    StreamedResult,
)
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.sandbox.framing import RowCounter
from shiyi.sparql.sandbox.replies import clamp, limit_error, time_error

_NAMES: Final = {kind: name for name, kind in (*SOLUTION_TYPES.items(), *GRAPH_TYPES.items())}


class RemotePool:
    """A ``QueryPool`` with the remote engine in the place of workers.

    The engine's own limits protect it; SERVICE is refused here, and its query address takes no
    updates. It resolves relative IRIs against its own address, and shows all it holds as it is
    stored: ``base``, ``profile`` and ``whole`` of a query say nothing to it. Patterns with triple
    terms are written for a store without them as those of Shiyi's own queries are.
    """

    network_blocked = False

    def __init__(self, store: RemoteStore, settings: QuerySettings) -> None:
        self._store, self._settings = store, settings

    def query(self, query: FreeQuery) -> QueryResult:
        """Return a result whole and in memory; errors as of :meth:`stream`."""
        result = self.stream(query)
        with result.body as body:
            return QueryResult(result.media_type, body.read(), result.kind, result.rows)

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Return a result at constant memory; errors as of ``QueryPool.stream``."""
        text, accepted = query.text, query.accept
        check_query(text, self._settings.max_query_bytes, network_blocked=False)
        if query.profile == "rdf11" and not SPEAKS_12.search(text):
            raise QueryRefusedError(
                "the view of the base as RDF 1.1 is not offered over a remote store; ask for "
                "claims by rdf:reifies, and for graphs in RDF 1.1 by Accept"
            )
        text = self._store.adapt_query(text)
        seconds = clamp(self._settings, query.timeout)
        most = min(query.rows or self._settings.rows, self._settings.rows)
        wanted = [SOLUTION_TYPES[accepted.solutions]] if accepted.solutions else []
        wanted += [GRAPH_TYPES[accepted.graph]] if accepted.graph else []
        named = query.default_graphs, query.named_graphs
        dataset = named if any(named) else self._store.dataset(text)
        spool = Spool()
        try:
            media, count = self._fetch_result(
                text, ", ".join(wanted), dataset, seconds, most, spool
            )
            if media not in wanted:
                raise FormatError("format of this result", media, wanted)
        except BaseException:
            spool.close()
            raise
        kind = "graph" if media in GRAPH_TYPES.values() else "solutions"
        lowers = query.lowers_graphs or query.profile == "rdf11"
        if kind == "graph" and lowers and accepted.graph in _WITH_TERMS:
            spool = _lower_graph(spool, accepted.graph)
        return StreamedResult(media, spool, kind, count)

    def dump(
        self, graph: str, form: str, profile: str = "", whole: bool = False, asker: str = ""
    ) -> StreamedResult | None:
        """Return one whole graph, the empty name being the default graph; None where it is not."""
        where = f"GRAPH {NamedNode(graph)} {{ ?s ?p ?o }}" if graph else "?s ?p ?o"
        if graph and not self._store.endpoint.holds(f"ASK {{ {where} }}"):
            return None
        text = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {where} }}"
        lowers = profile == "rdf11"
        return self.stream(FreeQuery(text, ResultFormat.of(form), lowers_graphs=lowers))

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

    def _fetch_result(
        self, text: str, accept: str, dataset: Any, seconds: float, limit: int, spool: Spool
    ) -> tuple[str, int]:
        counter: RowCounter | None = None
        try:
            with self._store.endpoint.stream(text, accept, dataset, seconds) as reply:
                media = reply.headers.get("Content-Type", "").partition(";")[0].strip()
                if media in SOLUTION_TYPES.values():
                    counter = RowCounter(_NAMES[media])
                for part in reply.iter_bytes(1 << 18):
                    spool.add(part)
                    self._check(spool, counter, part, limit)
        except TimeoutError:
            raise time_error(seconds) from None
        if media not in _NAMES:
            raise OutsideError(f"{self._store.endpoint.address} answered with {media or 'no type'}")
        return media, max(0, counter.rows) if counter else 0

    def _check(self, spool: Spool, counter: RowCounter | None, part: bytes, limit: int) -> None:
        if spool.size > self._settings.bytes:
            raise limit_error("bytes", self._settings)
        if counter:
            counter.feed(part)
            if counter.rows > limit:
                raise QueryLimitError(
                    "rows", f"the result has more than {limit:,} rows; ask for less"
                )


_WITH_TERMS: Final = frozenset({"ttl", "nt", "nq", "trig"})  # formats that may have triple terms


def _lower_graph(spool: Spool, form: str) -> Spool:
    """Return a graph of a remote engine without triple terms, at constant memory."""
    made = Spool()
    with spool, spool.open() as file:
        statements = to_rdf11(parse_stream(file, form, "the reply"))
        if form in _ONE_GRAPH:
            triples = (quad.triple for quad in statements)
            write_rdf(triples, form, cast("IO[bytes]", made), dict(PREFIXES))
        else:
            write_rdf(statements, form, cast("IO[bytes]", made), dict(PREFIXES))
    return made


_ONE_GRAPH: Final = frozenset({"ttl", "nt"})
