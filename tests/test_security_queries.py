"""No text that somebody sent is spliced into SPARQL: calls are read from the source, and named."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "shiyi"
CALLS = frozenset({"select", "ask", "construct", "query", "update", "FreeQuery"})

# builders whose parts are parsed terms written canonically, and never a text that somebody sent
BUILDERS = {
    ("publishing/description.py", "ask"): "counts that are written here, told apart by a switch",
    ("sparql/half_dump.py", "query"): "a number of quads, that the process beside counted",
    ("sparql/remote_pool.py", "FreeQuery"): "the name of a graph, as a parsed IRI",
    ("sparql/remote.py", "update"): "operations that terms were written into, one a line",
    ("sparql/worker_patterns.py", "update"): "quads that the engine itself read",
    ("sparql/worker_patterns.py", "query"): "the WHERE clause of a checked update, in the worker",
    ("sparql/worker_updates.py", "update"): "checks one operation's syntax in an empty store",
}


def spliced(node: ast.expr, names: dict[str, list[ast.expr]], depth: int = 0) -> bool:
    """Tell whether an expression joins texts, also through names of the same function."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(each, ast.FormattedValue) for each in node.values)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"format", "join", "replace", "substitute", "format_map"}
    if isinstance(node, ast.Name) and depth < 4:
        return any(spliced(each, names, depth + 1) for each in names.get(node.id, ()))
    if isinstance(node, ast.IfExp):
        return spliced(node.body, names, depth) or spliced(node.orelse, names, depth)
    return False


def called(call: ast.Call) -> str:
    """Name the function or the method of a call."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def calls(tree: ast.AST) -> list[tuple[ast.Call, dict[str, list[ast.expr]]]]:
    """Give each call that makes or asks a query, with the names of its function."""
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        names.setdefault(target.id, []).append(node.value)
        found += [
            (node, names) for node in ast.walk(function)
            if isinstance(node, ast.Call) and node.args and called(node) in CALLS
        ]  # fmt: skip
    return found


def joins(path: Path, tree: ast.AST) -> set[tuple[str, str]]:
    """Give file and method of each call whose first argument is joined from pieces."""
    name = path.relative_to(SOURCE).as_posix()
    return {
        (name, called(call)) for call, names in calls(tree) if spliced(call.args[0], names)
    }  # fmt: skip


def test_only_named_builders_join_texts_into_queries() -> None:
    found: set[tuple[str, str]] = set()
    looked = 0
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        looked += len(calls(tree))
        found |= {
            each for each in joins(path, tree)
            if each[1] != "update" or each[0].startswith("sparql/")  # elsewhere of sets and digests
        }  # fmt: skip
    assert looked > 25
    assert found <= set(BUILDERS), found - set(BUILDERS)
    assert set(BUILDERS) <= found, set(BUILDERS) - found  # an exception nobody needs goes


def test_a_spliced_query_would_be_seen() -> None:
    text = """
def bad(store, name):
    text = f"SELECT * {{ <{name}> ?p ?o }}"
    store.select(text)
def worse(store, name):
    return store.ask("ASK { <" + name + "> ?p ?o }")
def worst(pool, name):
    return pool.stream(FreeQuery("ASK { <" + name + "> ?p ?o }", whole=True))
def good(store, name):
    return store.select(Query.named("claims").text, s=name)
def fine(store):
    return store.select("SELECT * { ?s ?p ?o }")
"""
    found = [spliced(call.args[0], names) for call, names in calls(ast.parse(text))]
    assert found == [True, True, True, False, False]
