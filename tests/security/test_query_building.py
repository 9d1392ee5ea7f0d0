"""No text that somebody sent is joined into SPARQL: functions that build it are listed here."""

import ast
import re
from collections.abc import Iterator

from tests.support.places import ROOT
from tests.tables import cases

SOURCE = ROOT / "src" / "shiyi"

# where SPARQL is put together from pieces at all, and what those are: a function that is not here fails
WRITERS = {module: set(names) for module, names, _ in cases("security", "query_writers")}
_SPARQL = re.compile(
    r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|WHERE|FILTER|VALUES|OPTIONAL|UNION|BIND|GRAPH|SERVICE|PREFIX"
    r"|LOAD|CLEAR|DROP|CREATE|MOVE|COPY|GROUP BY|ORDER BY|LIMIT|OFFSET)\b|\?[a-z]\w* \?|\{ *\?"
)


def pieces(node: ast.AST) -> list[str]:
    """Return what stands in the source of a text that is joined from pieces."""
    if isinstance(node, ast.JoinedStr) and is_joined(node):
        return [
            value.value
            for value in node.values
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        ]
    exprs: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        exprs = [node.left, node.right]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Mod):
        exprs = [node.value]
    elif isinstance(node, ast.Call) and is_joined(node) and isinstance(node.func, ast.Attribute):
        exprs = [node.func.value, *node.args]
    return [
        each.value
        for each in exprs
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def writers(node: ast.AST, within: str = "") -> Iterator[str]:
    """Name the functions that put SPARQL together; what stands outside of any is of the empty name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise):  # what a fault says is for people
            continue
        if any(map(_SPARQL.search, pieces(child))):
            yield within
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from writers(child, f"{within}.{child.name}".lstrip(".") if inside else within)  # type: ignore[attr-defined] # it has a name


def is_joined(node: ast.expr) -> bool:
    """Return whether an expression joins texts."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(value, ast.FormattedValue) for value in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"format", "join", "replace", "substitute", "format_map"}
    return False


def test_only_named_functions_put_sparql_together_at_all() -> None:
    results: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in writers(ast.parse(path.read_text("utf-8"))):
            results.setdefault(path.relative_to(SOURCE).as_posix(), set()).add(name)
    assert results == WRITERS


def test_any_construction_of_sparql_is_found() -> None:
    text = """
def one(store, name): return run(f"SELECT * {{ <{name}> ?p ?o }}")
def two(name): return "ASK { <%s> ?p ?o }" % name
def three(name): return "DESCRIBE <" + name + ">"
def four(name): return "DROP GRAPH <{}>".format(name)
def five(name):
    text = "SELECT * { ?s ?p ?o "
    text += "FILTER(?o = '" + name + "') }"
    return text
def six(names): return " UNION ".join(names)
def seven(name): return "SELECT * { @ ?p ?o }".replace("@", name)
class C:
    def eight(self, name): return template.format("VALUES ?s { ", name)
def fine(): return "SELECT * { ?s ?p ?o }"
def fault(name): raise ValueError(f"ASK is not {name}")
"""
    results = set(writers(ast.parse(text)))
    assert results == {"one", "two", "three", "four", "five", "six", "seven", "C.eight"}
