"""A long result of a remote store, a page at a time."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shiyi.errors import OutsideError
from shiyi.sparql.remote_http import Dataset
from shiyi.sparql.remote_lowering import hoisted

Rows = list[Mapping[str, Any]]
Ask = Callable[[str, Dataset], Rows]  # sends a SELECT


def pages(ask: Ask, address: str, query: str, dataset: Dataset, page: int) -> Iterator[Rows]:
    """Yield the rows of a SELECT, ``page`` at a time, or at once where that is 0.

    OutsideError where the pages hold fewer or more rows than the store counts.
    """
    if not page:
        yield ask(query, dataset)
        return
    start = seen = 0
    while True:
        asked = f"SELECT * WHERE {{ {{ {query} }} }} LIMIT {page} OFFSET {start}"
        rows = ask(hoisted(query, asked), dataset)
        seen += len(rows)
        yield rows
        if len(rows) < page:
            break
        start += page
    if start:  # a page may have been cut by the store, or the data have changed meanwhile
        counted = f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {query} }} }}"
        rows = ask(hoisted(query, counted), dataset)
        check_read(address, seen, int(rows[0]["n"]["value"]))


def check_read(address: str, seen: int, held: int) -> None:
    """Raise OutsideError where a store gave another number of rows than it holds."""
    if held != seen:
        raise OutsideError(
            f"{address} gave {seen:,} of {held:,} rows: it cuts pages, or was changed meanwhile; "
            "lower remote.page and try again"
        )
