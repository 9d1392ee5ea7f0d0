"""Cases of parametrized tests, in tables that are readable without Python.

``tests/data/cases/PACKAGE.tsv`` has a section for each test: a line ``# test_name``, the names of
the columns, and a row for each case. A name may have a type after a colon; without one a cell is
text. Items of a ``set``, ``list`` or ``tuple`` are separated by ``|``.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest

from tests.support.places import DATA

CASES: Final = DATA / "cases"


def _items(cell: str) -> list[str]:
    return cell.split("|") if cell else []


_TYPES: Final[dict[str, Callable[[str], Any]]] = {
    "": str,
    "bool": {"yes": True, "no": False}.__getitem__,
    "int": int,
    "json": json.loads,
    "list": _items,
    "set": lambda cell: set(_items(cell)),
    "tuple": lambda cell: tuple(_items(cell)),
}


@cache
def sections(package: str) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """Return the columns and rows of every test of a package."""
    found = dict[str, tuple[list[str], list[list[Any]]]]()
    for section in (CASES / f"{package}.tsv").read_text("utf-8").split("# test_")[1:]:
        name, head, *lines = section.strip("\n").split("\n")
        columns = [column.partition(":")[::2] for column in head.split("\t")]
        rows = [
            [_TYPES[kind](cell) for (_, kind), cell in zip(columns, line.split("\t"), strict=True)]
            for line in lines
        ]
        assert rows, f"test_{name} has no cases"
        assert f"test_{name}" not in found, f"test_{name} has two sections"
        found[f"test_{name}"] = [column for column, _ in columns], rows
    return found


def from_table(function: Callable[..., None]) -> Callable[..., None]:
    """Parametrize a test with the section of its name."""
    package = function.__module__.split(".")[1]
    columns, rows = sections(package)[function.__name__]
    values = [pytest.param(*row) for row in rows]
    decorate: Callable[..., Callable[..., None]] = pytest.mark.parametrize(columns, values)
    return decorate(function)
