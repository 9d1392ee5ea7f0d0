"""A worker's reply, or its death, as a result or an error."""

import signal
from collections.abc import Mapping
from typing import Any, Final

from shiyi.errors import (
    FormatError,
    KnowledgeBaseError,
    QueryError,
    QueryLimitError,
    QueryRefusedError,
    UsageError,
)
from shiyi.settings import QuerySettings
from shiyi.sparql.queries.results import GRAPH_TYPES, SOLUTION_TYPES, ResultFormat, StreamedResult
from shiyi.sparql.sandbox.process import Reply

_FAULTS: Final = {"query": QueryError, "refused": QueryRefusedError}  # by what the worker says


def clamp(settings: QuerySettings, timeout: float | None) -> float:
    """Return the time a query may take, in seconds: what was asked for, up to the cap."""
    if timeout is None:
        return settings.timeout
    if not timeout > 0:  # also refuses NaN
        raise UsageError("the timeout of a query is a number of seconds above 0")
    return min(timeout, settings.timeout_cap)


def unpack(reply: Reply, accepted: ResultFormat, settings: QuerySettings) -> StreamedResult:
    """Return the result that a reply holds; the spool is then the caller's to close.

    QueryError, QueryRefusedError, QueryLimitError or FormatError where it holds none.
    """
    header, body = reply
    if header["outcome"] == "whole":
        kind = str(header["kind"])
        media = (
            GRAPH_TYPES[accepted.graph] if kind == "graph" else SOLUTION_TYPES[accepted.solutions]
        )
        return StreamedResult(media, body, kind, int(header["rows"]))
    body.close()
    raise_if_refused(header, settings)
    if header["outcome"] == "format":
        graph = header["kind"] == "graph"
        raise FormatError(
            f"format of a {header['kind']} result",
            accepted.solutions or accepted.graph,
            tuple(GRAPH_TYPES if graph else SOLUTION_TYPES),
        )
    raise KnowledgeBaseError(f"the snapshot cannot be read: {header['message']}")


def raise_if_refused(header: Mapping[str, Any], settings: QuerySettings) -> None:
    """Raise QueryError, QueryRefusedError or QueryLimitError where a reply says one of them."""
    if header["outcome"] == "limit":
        raise limit_error(str(header["limit"]), settings)
    if header["outcome"] in _FAULTS:
        raise _FAULTS[header["outcome"]](str(header["message"]))


def limit_error(limit: str, settings: QuerySettings) -> QueryLimitError:
    """Return which bound of the settings a result went past."""
    allowed = {
        "rows": f"more than {settings.rows:,} rows",
        "bytes": f"more than {settings.bytes:,} bytes",
        "memory": f"more than {settings.memory_mib:,} MiB of memory",
    }[limit]
    return QueryLimitError(
        limit, f"the result needs {allowed}; ask for less, for example with LIMIT and OFFSET"
    )


def time_error(seconds: float) -> QueryLimitError:
    """State that a query was stopped at its deadline."""
    return QueryLimitError(
        "time", f"the query ran longer than {seconds:g} s and was stopped; make it more selective"
    )


def worker_failure(status: int, seconds: float) -> QueryLimitError:
    """Return what killed the worker that had the query."""
    if status == -signal.SIGALRM:
        return time_error(seconds)
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return QueryLimitError(
        "memory", f"the query used up its memory or stack and was stopped ({name}); simplify it"
    )
