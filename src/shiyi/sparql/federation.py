"""SERVICE to endpoints the operator allows: asked by this process, since workers have no network.

SPARQL 1.1 Federated Query section 4: what a service answers to the pattern alone is joined with
the rest, so its solutions can stand in the query as VALUES before a worker sees it. Nothing of
this base is sent there but the pattern itself.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Final

from shiyi.errors import OutsideError, QueryLimitError, QueryRefusedError, ShiyiError
from shiyi.model.rdf import BlankNode, Term, Triple, canonical
from shiyi.settings import RemoteSettings
from shiyi.sparql.guard import bare_text, check_query
from shiyi.sparql.operations import NotSplitError, closed, prologue
from shiyi.sparql.remote_http import NO_DATASET, RESULTS, Endpoint
from shiyi.sparql.remote_terms import incoming

Solutions = tuple[list[str], list[Mapping[str, Term]]]  # the variables, and the rows

ROWS: Final = 10_000  # of one service; each becomes a line of the query
BYTES: Final = 5_000_000
_PART: Final = 1 << 16
_SERVICE: Final = re.compile(
    r"(?<![\w\u00b7:?$@.-])(?<!\\.)SERVICE\s*(?P<silent>SILENT\s*)?(?P<iri><[ ]*>)\s*(?=\{)",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"\w+")


class Services:
    """Puts what allowed endpoints answer into queries; ``allowed`` are their exact addresses."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._endpoints = {
            address: Endpoint(address, RemoteSettings(retries=0)) for address in allowed
        }

    def asked_in(self, text: str) -> bool:
        """Tell whether a query may name an endpoint that is allowed."""
        return bool(self._endpoints) and any(f"<{each}>" in text for each in self._endpoints)

    def inlined(self, text: str, seconds: float, max_bytes: int) -> str:
        """Give the query with solutions in the place of each SERVICE, its address given in full.

        QueryRefusedError for an address that is not allowed, QueryLimitError past ``seconds`` or
        some bounds, OutsideError where an endpoint fails and SILENT is not said.
        """
        bare, until = bare_text(text), time.monotonic() + seconds
        parts, end, head = [], 0, prologue(text, bare)
        for number, found in enumerate(_SERVICE.finditer(bare)):
            if found.start() < end:
                raise QueryRefusedError("SERVICE within SERVICE is not offered")
            address = text[found.start("iri") + 1 : found.end("iri") - 1]
            if address not in self._endpoints:
                known = ", ".join(sorted(self._endpoints))
                raise QueryRefusedError(f"SERVICE is offered to {known} only")
            try:
                last = closed(bare, found.end())
            except NotSplitError as fault:
                raise QueryRefusedError(f"SERVICE: {fault}") from fault
            block = text[found.end() : last]
            # the rest of it is checked as it stands, a SERVICE within too
            check_query(f"SELECT * WHERE {block}", max_bytes)
            parts.append(text[end : found.start()])
            try:
                found_there = self._answer(address, f"{head}\nSELECT * WHERE {block}", until)
                parts.append(f"{{ {_values(found_there, number)} }}")
            except ShiyiError:
                if found["silent"] is None:
                    raise
                parts.append("{ }")  # one solution without bindings, as the standard has it
            end = last
        return "".join([*parts, text[end:]])

    def close(self) -> None:
        """Let go of the connections."""
        for each in self._endpoints.values():
            each.close()

    def _answer(self, address: str, query: str, until: float) -> Solutions:
        left = until - time.monotonic()
        body = bytearray()
        try:
            if left <= 0:
                raise TimeoutError
            with self._endpoints[address].stream(query, RESULTS, NO_DATASET, left) as reply:
                for part in reply.iter_bytes(_PART):
                    body += part
                    if len(body) > BYTES:
                        raise QueryLimitError(
                            "bytes",
                            f"{address} answered more than {BYTES:,} bytes; ask it for less",
                        )
                    if time.monotonic() > until:
                        raise TimeoutError
        except TimeoutError:
            raise QueryLimitError("time", f"{address} did not answer in time") from None
        return solutions(address, bytes(body))


def solutions(address: str, body: bytes) -> Solutions:
    """Read SPARQL JSON results."""
    try:
        said = json.loads(body)
        names, rows = said["head"]["vars"], said["results"]["bindings"]
        if not all(isinstance(each, str) and _NAME.fullmatch(each) for each in names):
            raise ValueError("a name that is no variable")
        read: list[Mapping[str, Term]] = [
            {name: incoming(term) for name, term in row.items() if name in names}
            for row in rows[: ROWS + 1]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise OutsideError(f"{address} did not answer with SPARQL results: {fault}") from fault
    if len(read) > ROWS:
        raise QueryLimitError("rows", f"{address} answered more than {ROWS:,} rows")
    return names, read


def _values(found: Solutions, number: int) -> str:
    names, rows = found
    lines = (f"({' '.join(_written(row.get(each), number) for each in names)})" for row in rows)
    return f"VALUES ({' '.join(f'?{each}' for each in names)}) {{ {' '.join(lines)} }}"


def _written(term: Term | None, number: int) -> str:
    if term is None:
        return "UNDEF"
    if isinstance(term, BlankNode):  # no query can name it, but its likeness joins with itself
        return f"<urn:shiyi:service:{number}:{term.value}>"
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return f"<<( {' '.join(_written(part, number) for part in parts)} )>>"
    return canonical(term)
