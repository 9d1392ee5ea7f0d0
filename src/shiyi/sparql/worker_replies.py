"""What a worker's reply, or its death, means to who asked: a result, or an error that says why not."""

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
from shiyi.sparql.results import GRAPH_TYPES, SOLUTION_TYPES, ResultFormat, StreamedResult
from shiyi.sparql.worker_process import Reply

_FAULTS: Final = {"query": QueryError, "refused": QueryRefusedError}  # by what the worker says


def seconds_of(settings: QuerySettings, timeout: float | None) -> float:
    """Give the time a query may take, in seconds: what was asked for, up to the cap."""
    if timeout is None:
        return settings.timeout
    if not timeout > 0:  # also refuses NaN
        raise UsageError("the timeout of a query is a number of seconds above 0")
    return min(timeout, settings.timeout_cap)


def result_of(reply: Reply, accepted: ResultFormat, settings: QuerySettings) -> StreamedResult:
    """Give the result that a reply holds; the spool is then the caller's to close.

    QueryError, QueryRefusedError, QueryLimitError or FormatError where it holds none.
    """
    said, body = reply
    if said["outcome"] == "whole":
        kind = str(said["kind"])
        media = (
            GRAPH_TYPES[accepted.graph] if kind == "graph" else SOLUTION_TYPES[accepted.solutions]
        )
        return StreamedResult(media, body, kind, int(said["rows"]))
    body.close()
    raise_if_refused(said, settings)
    if said["outcome"] == "format":
        graph = said["kind"] == "graph"
        raise FormatError(
            f"format of a {said['kind']} result",
            accepted.solutions or accepted.graph,
            tuple(GRAPH_TYPES if graph else SOLUTION_TYPES),
        )
    raise KnowledgeBaseError(f"the snapshot cannot be read: {said['message']}")


def raise_if_refused(said: Mapping[str, Any], settings: QuerySettings) -> None:
    """Raise QueryError, QueryRefusedError or QueryLimitError where a reply says one of them."""
    if said["outcome"] == "limit":
        raise past_limit(str(said["limit"]), settings)
    if said["outcome"] in _FAULTS:
        raise _FAULTS[said["outcome"]](str(said["message"]))


def past_limit(limit: str, settings: QuerySettings) -> QueryLimitError:
    """Say which bound of the settings a result went past."""
    allowed = {
        "rows": f"more than {settings.rows:,} rows",
        "bytes": f"more than {settings.bytes:,} bytes",
        "memory": f"more than {settings.memory_mib:,} MiB of memory",
    }[limit]
    return QueryLimitError(
        limit, f"the result needs {allowed}; ask for less, for example with LIMIT and OFFSET"
    )


def past_time(seconds: float) -> QueryLimitError:
    """Say that a query was stopped at its deadline."""
    return QueryLimitError(
        "time", f"the query ran longer than {seconds:g} s and was stopped; make it more selective"
    )


def death(status: int, seconds: float) -> QueryLimitError:
    """Say what killed the worker that had the query."""
    if status == -signal.SIGALRM:
        return past_time(seconds)
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return QueryLimitError(
        "memory", f"the query used up its memory or stack and was stopped ({name}); simplify it"
    )
