"""A SPARQL 1.1 Protocol client."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from shiyi.errors import OutsideError, QueryError, SettingError
from shiyi.settings import RemoteSettings

if TYPE_CHECKING:
    from httpx2 import Auth, Response

Dataset = tuple[tuple[str, ...], tuple[str, ...]]  # default graphs and named ones
NO_DATASET: Final[Dataset] = ((), ())  # the store's own
RESULTS: Final = "application/sparql-results+json"
_PASSING: Final = frozenset({429, 502, 503, 504})  # statuses worth another try
_PAUSE: Final = 0.2  # seconds before the second try, doubled for each further one
_MESSAGE: Final = 300  # characters of the server's own words
_VIRTUOSO: Final = "__ASK_RETVAL"
_CUT: Final = "the remote store cut its result"


class Endpoint:
    """One remote SPARQL service: where it is asked, updated and loaded, and as whom."""

    def __init__(self, address: str, settings: RemoteSettings) -> None:
        from httpx2 import Client, Limits

        self.address, self.settings = _check_address("store", address), settings
        self.update_address = _check_address("remote.update", settings.update or address)
        self.graph_store = _check_address("remote.graph_store", settings.graph_store, optional=True)
        # a redirection would carry credentials to an address nobody chose
        self._client: Client = Client(
            auth=_auth(settings),
            timeout=settings.timeout,
            follow_redirects=False,
            limits=Limits(max_connections=16),
            headers={"User-Agent": "shiyi"},
        )

    def ask(self, query: str, accept: str = RESULTS, dataset: Dataset = NO_DATASET) -> bytes:
        """Return the body of the reply to a query; QueryError where the store refuses it."""
        reply = self._send(
            "query", self.address, data=_fields(query, dataset), headers={"Accept": accept}
        )
        kind = reply.headers.get("Content-Type", "").partition(";")[0]
        if "html" in kind:
            raise OutsideError(
                f"{self.address} answers a query with {kind}: it is no SPARQL endpoint; "
                "correct the setting store"
            )
        return reply.content

    def solutions(self, query: str, dataset: Dataset = NO_DATASET) -> list[Mapping[str, Any]]:
        """Return the rows of a SELECT, as SPARQL JSON has them."""
        body = self.ask(query, dataset=dataset)
        try:
            return list(json.loads(body)["results"]["bindings"])
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            # Oxigraph tells of a time limit by breaking off in the middle
            raise OutsideError(
                f"{self.address} did not send whole SPARQL results in JSON: {fault}; its time "
                "limit may have been reached, or it is another kind of service"
            ) from fault

    def holds(self, query: str) -> bool:
        """Return whether an ASK holds."""
        try:
            payload = json.loads(self.ask(query))
            if "boolean" in payload:
                return bool(payload["boolean"])
            rows = payload["results"]["bindings"]  # as Virtuoso 7.2 has it
            return any(str(row[_VIRTUOSO]["value"]) in {"1", "true"} for row in rows)
        except (ValueError, KeyError, TypeError) as fault:
            raise OutsideError(
                f"{self.address} does not answer ASK in SPARQL JSON: it is no SPARQL endpoint; "
                "correct the setting store"
            ) from fault

    @contextmanager
    def stream(
        self, query: str, accept: str, dataset: Dataset, seconds: float
    ) -> Iterator["Response"]:
        """Yield the answer to a query while it comes; TimeoutError after ``seconds`` of silence."""
        from httpx2 import HTTPError, TimeoutException

        try:
            with self._client.stream(
                "POST",
                self.address,
                data=_fields(query, dataset),
                headers={"Accept": accept},
                timeout=seconds,
            ) as reply:
                if reply.status_code != 200:
                    reply.read()
                self._accept("query", self.address, reply)
                yield reply
        except TimeoutException as fault:
            raise TimeoutError from fault
        except HTTPError as fault:
            raise OutsideError(_unreachable(self.address, fault, self.settings)) from fault

    def update(self, text: str) -> None:
        """Do an update; it may be sent twice, so it holds DATA and management alone."""
        self._send(
            "update",
            self.update_address,
            content=text.encode(),
            headers={"Content-Type": "application/sparql-update; charset=utf-8"},
        )

    def load(self, graph: str, triples: bytes) -> None:
        """Add N-Triples to a graph by the Graph Store Protocol; the empty name is the default."""
        name = self.settings.graph_parameter
        self._send(
            "upload",
            self.graph_store,
            method="POST",
            content=triples,
            params={name: graph} if graph else {"default": ""},
            headers={"Content-Type": "application/n-triples"},
        )

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def _send(self, name: str, address: str, method: str = "POST", **parts: Any) -> "Response":
        from httpx2 import HTTPError

        for number in reversed(range(self.settings.retries + 1)):
            try:
                reply = self._client.request(method, address, **parts)
            except HTTPError as fault:
                if not number:
                    raise OutsideError(_unreachable(address, fault, self.settings)) from fault
            else:
                if reply.status_code not in _PASSING or not number:
                    return self._accept(name, address, reply)
            time.sleep(_PAUSE * 2 ** (self.settings.retries - number))
        raise AssertionError("unreachable")

    def _accept(self, name: str, address: str, reply: "Response") -> "Response":
        status, words = (
            reply.status_code,
            " ".join(reply.text.split())[:_MESSAGE] if reply.status_code >= 300 else "",
        )
        if status == 200 and name == "query":
            rows = reply.headers.get("X-SPARQL-MaxRows", "")
            # a full page says so too, and pages are counted
            if rows and not 0 < self.settings.page <= int(rows):
                raise OutsideError(f"{_CUT} after {rows} rows; set remote.page below that")
            if state := reply.headers.get("X-SQL-State"):
                raise OutsideError(f"{_CUT} ({state}); raise its time limit")
        if status in {200, 201, 204}:
            return reply
        if status == 206:
            raise OutsideError(f"{_CUT}: {address} answered 206; raise its limits")
        if status in {301, 302, 303, 307, 308}:
            there = reply.headers.get("Location", "elsewhere")
            raise OutsideError(f"{address} leads to {there}; put that address into the settings")
        if status == 401:
            raise OutsideError(
                f"{address} wants to know who asks: set remote.user and SHIYI_REMOTE_PASSWORD "
                f"(remote.auth is {self.settings.auth}), or SHIYI_REMOTE_TOKEN"
            )
        if name != "query" and status in {403, 404, 405, 415, 501}:
            raise OutsideError(
                f"{address} takes no {name} ({status} {words}): it is read-only, so that only "
                "reading (`shiyi serve --read-only`) goes on, or remote.update and "
                "remote.graph_store name the wrong address"
            )
        if status == 400 and name != "upload":
            raise QueryError(f"the remote store refuses the {name}: {words}")
        raise OutsideError(f"{address} answered {status} to a {name}: {words}")


def _fields(query: str, dataset: Dataset) -> dict[str, str | list[str]]:
    default, named = dataset
    fields: dict[str, str | list[str]] = {"query": query}
    if default or named:
        fields |= {"default-graph-uri": list(default), "named-graph-uri": list(named)}
    return fields


def _unreachable(address: str, fault: Exception, settings: RemoteSettings) -> str:
    from httpx2 import TimeoutException

    if isinstance(fault, TimeoutException):
        return (
            f"{address} did not answer within {settings.timeout:g} s, tried "
            f"{settings.retries + 1} times; raise remote.timeout, or see why it is slow"
        )
    why = str(fault) or type(fault).__name__
    return f"{address} cannot be reached ({why}); start that store or correct the setting store"


def _auth(settings: RemoteSettings) -> "Auth | None":
    from httpx2 import BasicAuth, DigestAuth, FunctionAuth, Request

    if settings.token:

        def bearer(request: Request) -> Request:
            request.headers["Authorization"] = f"Bearer {settings.token}"
            return request

        return FunctionAuth(bearer)
    if not settings.user:
        return None
    kinds: dict[str, type[BasicAuth | DigestAuth]] = {"basic": BasicAuth, "digest": DigestAuth}
    if settings.auth not in kinds:
        raise SettingError("remote.auth", f"is basic or digest, not {settings.auth[:20]!r}")
    return kinds[settings.auth](settings.user, settings.password)


def _check_address(name: str, address: str, *, optional: bool = False) -> str:
    if optional and not address:
        return ""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingError(name, f"is an http or https address, not {address[:80]!r}")
    if parts.username or parts.password:
        raise SettingError(
            name,
            "holds credentials; use remote.user and SHIYI_REMOTE_PASSWORD, which are not shown",
        )
    return address
