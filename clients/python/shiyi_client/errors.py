"""Errors of the client."""

from collections.abc import Mapping
from typing import Any, Final


class ShiyiClientError(Exception):
    """Base of every error of this client."""


class UnreachableError(ShiyiClientError):
    """No server answers at that address."""


class ServerError(ShiyiClientError):
    """The server answered with a fault: its status, and its problem document (RFC 9457)."""

    hint = ""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, dict(problem)
        detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
        super().__init__(f"{detail} ({self.hint})" if self.hint else detail)


class RefusedError(ServerError):
    """The request is malformed or not allowed."""


class QueryError(RefusedError):
    """A SPARQL query is wrong or exceeded a limit; ``line`` and ``column`` if known."""

    hint = "try the query at /sparql; docs/reference/sparql.md shows the shape of the data"

    @property
    def line(self) -> int | None:
        """Return the line of the mistake."""
        return self.problem.get("line")

    @property
    def column(self) -> int | None:
        """Return the column of the mistake."""
        return self.problem.get("column")


class NotFoundError(ServerError):
    """There is nothing of that name."""

    hint = "search() finds IRIs, releases() finds versions"


class GoneError(ServerError):
    """The resource was retracted."""

    hint = "earlier releases still hold it; see releases()"


class BusyError(ServerError):
    """The server is overloaded; ``retry_after`` in seconds."""

    hint = "wait and try again"
    retry_after: float = 5.0


_KINDS: Final[Mapping[int, type[ServerError]]] = {
    400: RefusedError, 401: RefusedError, 403: RefusedError, 404: NotFoundError, 406: RefusedError,
    410: GoneError, 413: RefusedError, 415: RefusedError, 422: RefusedError, 429: BusyError,
    451: RefusedError, 503: BusyError,
}  # fmt: skip


def error_of(status: int, problem: Mapping[str, Any], retry_after: str | None) -> ServerError:
    """Return the error for a status."""
    kind = str(problem.get("type", "")).rpartition("/")[2]
    if kind.startswith("query"):
        return QueryError(status, problem)
    fault = _KINDS.get(status, ServerError)(status, problem)
    if isinstance(fault, BusyError) and retry_after and retry_after.isdigit():
        fault.retry_after = float(retry_after)
    return fault
