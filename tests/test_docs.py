"""What the pages of docs name is there: commands and options, settings, files, tests, links."""

import argparse
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest

from shiyi.cli import VERBS
from shiyi.settings import Settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SECTIONS = {name: keys for name, keys in asdict(Settings()).items() if isinstance(keys, dict)}
SETTINGS = {f"{name}.{key}" for name, keys in SECTIONS.items() for key in keys}
MADE = ("kb/", "bench/results")  # what a run makes


def options(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            found.update(*map(options, action.choices.values()))
    return found


def of_verbs() -> dict[str, set[str]]:
    known = {}
    for verb in VERBS:
        parser = argparse.ArgumentParser()
        import_module(f"shiyi.cli.{verb}").configure(parser)
        known[verb] = options(parser) | {"--kb"}
    return known


def code(page: str) -> Iterator[str]:
    """Give what stands in code: blocks line by line, and words between backticks."""
    for line in page.splitlines():
        if line.startswith("    "):
            yield line.strip()
        else:
            yield from re.findall(r"`([^`]+)`", line)


def commands(page: str) -> Iterator[str]:
    known = of_verbs()
    for said in code(page):
        for verb, rest in re.findall(r"(?:^|[;&|] *)shiyi (?:--kb \S+ )?([a-z]+)\b([^;&|]*)", said):
            if verb not in known:
                yield f"shiyi {verb}"
            else:
                yield from (f"shiyi {verb} {each}" for each in re.findall(r"--[a-z][a-z-]*", rest)
                            if each not in known[verb])  # fmt: skip


def scripts(page: str) -> Iterator[str]:
    for name, rest in re.findall(r"python ((?:bench|docs)/\w+\.py)([^\n`|;]*)", page):
        if not (ROOT / name).exists():
            yield name
            continue
        text = (ROOT / name).read_text("utf-8")
        yield from (f"{name} {each}" for each in re.findall(r"--[a-z][a-z-]*", rest)
                    if f'"{each}"' not in text)  # fmt: skip


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
    """Give the rows of tables that have not as many cells as their head."""
    wide = 0
    for line in page.splitlines():
        cells = len(re.sub(r"\\\||`[^`]*`", "", line).split("|")) if line.startswith("|") else 0
        if cells and wide and cells != wide:
            yield line[:60]
        wide = wide or cells if cells else 0


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("look", [commands, scripts, settings, files, rows])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path, look: Callable[[str], Iterator[str]]) -> None:
    assert list(look(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for name, part in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text("utf-8")):
        if re.match(r"\w+:", name):
            continue
        target = page.parent / name if name else page
        assert target.exists(), name
        if part and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert part in map(anchor, headings), f"{name}#{part}"


def test_what_is_misnamed_is_found() -> None:
    page = "`shiyi sevre`, `shiyi serve --porta 1`, `server.prot`, `make nothing`, `test_no.py`\n\n|a|b|\n|-|-|\n|1|"
    found = [each for look in (commands, settings, files, rows) for each in look(page)]
    assert found == ["shiyi sevre", "shiyi serve --porta", "server.prot", "make nothing", "test_no.py", "|1|"]  # fmt: skip
