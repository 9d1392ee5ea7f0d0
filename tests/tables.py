"""Cases of parametrized tests, in tables that are readable without Python.

``tests/data/cases/PACKAGE.tsv``, or ``other.tsv`` for a package of few tables, has a section for
each test: a line ``# test_name``, the names of the columns, and a row for each case. A name may
have a type after a colon; without one a cell is text. Items of a ``set``, ``list`` or ``tuple``
are separated by ``|``. A section of another name is data of several tests, read by :func:`cases`.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest

from shiyi import errors
from tests.support.places import DATA

CASES: Final = DATA / "cases"


def _items(cell: str) -> list[str]:
    return cell.split("|") if cell else []


_TYPES: Final[dict[str, Callable[[str], Any]]] = {
    "": str,
    "bool": {"yes": True, "no": False}.__getitem__,
    "bytes": str.encode,
    "error": lambda cell: getattr(errors, cell),
    "int": int,
    "json": json.loads,
    "list": _items,
    "set": lambda cell: set(_items(cell)),
    "tuple": lambda cell: tuple(_items(cell)),
}


@cache
def sections(package: str) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """Return the columns and rows of every section of a package."""
    results = dict[str, tuple[list[str], list[list[Any]]]]()
    path = CASES / f"{package}.tsv"
    text = (path if path.exists() else CASES / "other.tsv").read_text("utf-8")
    for section in re.split(r"^# (?=\w+$)", text, flags=re.MULTILINE)[1:]:
        name, head, *lines = section.strip("\n").split("\n")
        columns = [column.partition(":")[::2] for column in head.split("\t")]
        rows = [
            [_TYPES[kind](cell) for (_, kind), cell in zip(columns, line.split("\t"), strict=True)]
            for line in lines
        ]
        assert rows, f"{name} has no cases"
        assert name not in results, f"{name} has two sections"
        results[name] = [column for column, _ in columns], rows
    return results


def cases(package: str, name: str) -> list[list[Any]]:
    """Return the rows of a section that several tests read."""
    return sections(package)[name][1]


def from_table(function: Callable[..., None]) -> Callable[..., None]:
    """Parametrize a test with the section of its name."""
    package = function.__module__.split(".")[1]
    columns, rows = sections(package)[function.__name__]
    values = [pytest.param(*row) for row in rows]
    decorate: Callable[..., Callable[..., None]] = pytest.mark.parametrize(columns, values)
    return decorate(function)
