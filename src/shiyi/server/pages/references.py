"""Pages of the reference that are made from what they describe: named queries, and modules."""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import shiyi
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.sparql.protocol import examples

_HOME: Final = Path(shiyi.__file__).parent
QUERIES: Final = "reference/queries.md"
_PYTHON: Final = "reference/python"
_LONG: Final = 90  # characters of a signature that are shown


def find_page(name: str) -> Callable[[], str] | None:
    """Return what writes a page of that name, or None for a page that is a file."""
    return _pages().get(name)


@cache
def _pages() -> Mapping[str, Callable[[], str]]:
    packages = {f"{_PYTHON}/{name}.md": _writer(name) for name in _packages()}
    return {QUERIES: queries, f"{_PYTHON}.md": python} | packages


def queries() -> str:
    """Write every named query with its question."""
    words, language = catalogue(), choose_language()
    lines = [f"# {words('docs.queries')}", "", words("docs.queries_lead"), ""]
    group = ""
    for example in examples():
        if example.group != group:
            group = example.group
            lines += [f"## {words(f'sparql.group_{group}')}", ""]
        question = example.question_zh if language == "zh" else example.question_en
        body = "\n".join(example.text.strip().split("\n")[1:])
        lines += [f"### {example.name}", "", question, "", f"```sparql\n{body}\n```", ""]
    return "\n".join(lines)


def python() -> str:
    """Write the list of packages, each with a link to its page."""
    words = catalogue()
    rows = [
        f"| [shiyi.{name}](python/{name}.md) | {_first(ast.parse(_source(_HOME / name)))} |"
        for name in _packages()
    ]
    head = [f"# {words('docs.python')}", "", words("docs.python_lead"), ""]
    columns = f"| {words('docs.package')} | {words('releases.what')} |"
    return "\n".join([*head, columns, "|---|---|", *rows])


def _packages() -> list[str]:
    return sorted(path.parent.name for path in _HOME.glob("*/__init__.py"))


def _source(path: Path) -> str:
    return (path / "__init__.py" if path.is_dir() else path).read_text("utf-8")


def _writer(package: str) -> Callable[[], str]:
    def write() -> str:
        modules = sorted((_HOME / package).rglob("*.py"))
        return "\n\n".join([f"# shiyi.{package}", *(_module(path) for path in modules)])

    return write


def _module(path: Path) -> str:
    name = ".".join(path.relative_to(_HOME.parent).with_suffix("").parts)
    tree = ast.parse(path.read_text("utf-8"))
    results = list(_public(tree))
    rows = ["", "| | |", "|---|---|", *results] if results else []
    return "\n".join([f"## {name.removesuffix('.__init__')}", "", _first(tree), *rows])


def _public(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield _row(f"class {node.name}", node)
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield _row(f"{node.name}.{_signature(part)}", part)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield _row(_signature(node), node)


def _row(text: str, node: ast.ClassDef | ast.FunctionDef) -> str:
    return f"| `{text.replace('|', chr(92) + '|')}` | {_first(node)} |"


def _signature(node: ast.FunctionDef) -> str:
    text = f"{node.name}({ast.unparse(node.args)})"
    text += f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _first(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    """Return the first paragraph of a docstring on one line, as a cell of a table."""
    first = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|").replace("``", "`")
