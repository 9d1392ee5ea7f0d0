"""The page of dependencies lists what pyproject.toml declares."""

import re
import tomllib

from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (
    (ROOT / "docs/reference/dependencies.md")
    .read_text("utf-8")
    .partition("## Libraries that were not")[0]
)


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def rows() -> list[list[str]]:
    results = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if re.match(r"\| [a-z0-9-]+ \|", line)
    ]
    return [row for row in results if row[0] != "library"]


def test_base_dependencies_are_listed() -> None:
    declared = {name_of(item) for item in PROJECT["dependencies"]}
    assert len(declared) > 20
    assert {row[0] for row in rows() if len(row) == 3} == declared


def test_dependencies_of_extras_are_listed() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = {(name_of(item), f"`{extra}`") for extra in extras for item in extras[extra]}
    assert len(declared) > 5
    assert {(row[0], row[1]) for row in rows() if len(row) == 4} == declared


def test_every_row_has_a_purpose() -> None:
    assert [row for row in rows() if len(row[-1].split()) < 2] == []
