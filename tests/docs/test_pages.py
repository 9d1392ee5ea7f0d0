"""What the pages of docs name is there: commands and options, settings, files, tests, links."""

import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
from typer.core import TyperCommand, TyperGroup

from shiyi.cli import VERBS, command
from shiyi.ingest.tables.starter import Starter
from shiyi.settings import Settings
from shiyi.sparql.queries.requests import MAX_DEPTH
from shiyi.sparql.queries.results import GRAPH_TYPES, SOLUTION_TYPES
from tests.support.places import ROOT

PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "tests/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "bench/tables").glob("*.md")),
]
SECTIONS = {name: keys for name, keys in asdict(Settings()).items() if isinstance(keys, dict)}
SETTINGS = {f"{name}.{key}" for name, keys in SECTIONS.items() for key in keys}
MADE = ("kb/", "bench/results")  # what a run makes


def options(command: TyperCommand | TyperGroup) -> set[str]:
    results = {name for param in command.params for name in param.opts}
    for item in getattr(command, "commands", {}).values():
        results |= options(item)
    return results


def of_verbs() -> dict[str, set[str]]:
    return {verb: options(command(verb)) | {"--kb"} for verb in VERBS}


def code(page: str) -> Iterator[str]:
    """Yield what stands in code: blocks line by line, and words between backticks."""
    for line in page.splitlines():
        if line.startswith("    "):
            yield line.strip()
        else:
            yield from re.findall(r"`([^`]+)`", line)


def commands(page: str) -> Iterator[str]:
    known = of_verbs()
    for text in code(page):
        for verb, rest in re.findall(r"(?:^|[;&|] *)shiyi (?:--kb \S+ )?([a-z]+)\b([^;&|]*)", text):
            if verb not in known:
                yield f"shiyi {verb}"
            else:
                yield from (
                    f"shiyi {verb} {item}"
                    for item in re.findall(r"--[a-z][a-z-]*", rest)
                    if item not in known[verb]
                )


def scripts(page: str) -> Iterator[str]:
    for name, rest in re.findall(r"python ((?:bench|docs/make)/\w+\.py)([^\n`|;]*)", page):
        if not (ROOT / name).exists():
            yield name
            continue
        text = (ROOT / name).read_text("utf-8")
        yield from (
            f"{name} {item}"
            for item in re.findall(r"--[a-z][a-z-]*", rest)
            if f'"{item}"' not in text
        )


def settings(page: str) -> Iterator[str]:
    sections = "|".join(SECTIONS)
    for name in re.findall(rf"`((?:{sections})\.[a-z_]+)`", page):
        if name not in SETTINGS and not name.endswith((".py", ".toml")):
            yield name


def files(page: str) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for name in re.findall(r"`make ([a-z-]+)", page):
        if not re.search(rf"^{name}:", makefile, re.MULTILINE):
            yield f"make {name}"
    for name in re.findall(r"`(test_\w+\.py)`", page):
        if not (ROOT / "tests" / name).exists():
            yield name
    for name in re.findall(r"`((?:tests|bench|src|server|docs|clients)/[\w./-]*)`", page):
        if not ((ROOT / name).exists() or name.startswith(MADE)):
            yield name


def rows(page: str) -> Iterator[str]:
    """Yield the rows of tables that have not as many cells as their head."""
    wide = 0
    for line in page.splitlines():
        cells = len(re.sub(r"\\\||`[^`]*`", "", line).split("|")) if line.startswith("|") else 0
        if cells and wide and cells != wide:
            yield line[:60]
        wide = wide or cells if cells else 0


def headings_of(page: str) -> list[tuple[str, str]]:
    """Return the mark and the anchor of each heading, which ``{#id}`` may state."""
    results = []
    for mark, words in re.findall(
        r"^(#+) (.*)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE
    ):
        match = re.search(r"\{#([\w-]+)\}$", words)
        plain = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        results.append((mark, match[1] if match else plain))
    return results


@pytest.mark.parametrize("look", [commands, scripts, settings, files, rows])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path, look: Callable[[str], Iterator[str]]) -> None:
    assert list(look(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for name, part in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text("utf-8")):
        if re.match(r"\w+:", name):
            continue
        if name.startswith("/"):  # a page of the server
            assert f"`{name}`" in (DOCS / "reference/web.md").read_text("utf-8"), name
            continue
        target = page.parent / name if name else page
        assert target.exists(), name
        if part and target.suffix == ".md":
            anchors = {each for _, each in headings_of(target.read_text("utf-8"))}
            assert part in anchors, f"{name}#{part}"


def test_what_is_misnamed_is_found() -> None:
    words = "`shiyi sevre`, `shiyi serve --porta 1`, `server.prot`, `make nothing`, `test_no.py`"
    page = f"{words}\n\n|a|b|\n|-|-|\n|1|"
    results = [each for look in (commands, settings, files, rows) for each in look(page)]
    assert results == [
        "shiyi sevre",
        "shiyi serve --porta",
        "server.prot",
        "make nothing",
        "test_no.py",
        "|1|",
    ]


DOCS = ROOT / "docs"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"make_{name}", DOCS / f"make/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def making() -> ModuleType:
    return script("knowledge")


@pytest.mark.slow
def test_calibration_is_measured_by_kind_of_evidence() -> None:
    calibration = script("calibration")
    found = calibration.points()
    assert set(found) >= {"read", "row", "recalled"}
    assert sum(map(len, found.values())) >= 300  # of the claims judged, those that still stand
    assert all(confidence < 0.5 for confidence, _ in found["recalled"])
    judged = [(0.45, True), (0.45, False), (0.95, True)]
    assert calibration.error(judged) == pytest.approx((2 * 0.05 + 0.05) / 3)
    dots = calibration.draw({"read": judged})
    assert dots.count("<circle") == 2


def test_the_page_states_the_counts_of_the_tables(making: ModuleType, starter: Starter) -> None:
    page = (ROOT / "bench/tables/knowledge.md").read_text("utf-8")
    for part in making.count_rows(starter):
        assert part.strip() in page, "run make docs with SHIYI_DATA"


def test_comparison_leaves_out_claims_that_come_from_table(making: ModuleType) -> None:
    values = {"寒": {"tcm-mkg-chp"}, "微寒": {"zhongyaoxue-7"}}
    assert making.book_values(values) == {"微寒"}
    assert making.book_values({"寒": {"tcm-mkg-chp"}}) == set()


def test_a_comparison_counts_agreement_and_each_side_alone(making: ModuleType) -> None:
    total = Counter[str]()
    making.count(total, {"甘", "淡"}, {"甘", "苦"})
    assert total == {
        "compared": 1,
        "same": 0,
        "overlapping": 1,
        "both": 1,
        "books only": 1,
        "table only": 1,
    }


def test_difference_is_explained_by_standing_claim(making: ModuleType) -> None:
    stands = making.explain_difference(set(), {"苦"}, {"苦": {"tcm-mkg-chp"}})
    assert "stands as a claim" in stands
    assert "not taken over" in making.explain_difference(set(), {"苦"}, {})
    assert "no 淡" in making.explain_difference({"淡"}, set(), {})


def test_spellings_of_a_medicine_meet(making: ModuleType) -> None:
    assert making.plain("Anticoagulants ") == making.plain("anticoagulant")
    assert making.plain("Beta-blockers") == making.plain("beta blocker")


SECURITY = (ROOT / "docs" / "SECURITY.md").read_text("utf-8")
TESTING = (ROOT / "docs/reference/testing.md").read_text("utf-8")
_NAMED = re.compile(r"`((?:tests/|bench/)?[\w/]+\.py|tests/[\w/]+/?)`")


def there(name: str) -> bool:
    return any((ROOT / folder / name).exists() for folder in ("", "tests", "server/deploy"))


def test_each_threat_names_a_test_that_is_there() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", SECURITY, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 27))
    for number, row in rows:
        named = _NAMED.findall(row)
        assert named, number
        assert [item for item in named if not there(item)] == [], number
        assert any("test" in item for item in named), number


def test_page_of_tests_names_files_that_are_there() -> None:
    named = _NAMED.findall(TESTING)
    assert len(named) > 25
    assert [item for item in named if not there(item)] == []


def test_every_test_of_security_is_on_a_page() -> None:
    values = {path.name for path in (ROOT / "tests" / "security").glob("test_*.py")}
    assert len(values) > 8
    assert {value for value in values if value not in SECURITY + TESTING} == set()


PAGE = (ROOT / "docs/reference/sparql.md").read_text(encoding="utf-8")


def test_each_format_and_limit_is_reported() -> None:
    written = PAGE.replace("\\|", "|")
    for name in (*SOLUTION_TYPES, *GRAPH_TYPES):
        assert f"|{name}" in written or f"={name}|" in written
    limits = Settings().query
    assert f"{limits.rows:,} rows, {limits.bytes // 1_000_000} MB" in PAGE
    assert f"{limits.timeout:g} s, " in PAGE
    assert f"{MAX_DEPTH} levels" in PAGE
    assert f"seconds, up to {limits.timeout_cap:g}" in PAGE
