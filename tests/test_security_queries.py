"""No text that somebody sent is spliced into SPARQL: calls are read from the source, and named."""

import ast
import re
from collections.abc import Iterator
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


# where SPARQL is put together from pieces at all, and what those are: a function that is not here fails
WRITERS = {
    "answering/free_query.py": ({"_declared", "_limited"}, "a model's query, for a worker; prefixes and numbers of ours"),
    "publishing/description.py": ({"", "Counts.asked"}, "terms and words of ours"),
    "publishing/parquet.py": ({"write_parquet"}, "question marks, for SQLite"),
    "server/counting.py": ({""}, "a term of ours"),
    "server/facets.py": ({""}, "terms of ours"),
    "server/resources.py": ({"_say_cut"}, "a term, for a link"),
    "server/warming.py": ({"_ask"}, "a number"),
    "sparql/federation.py": ({"Services.inlined", "_values"}, "a block of the asker's own query, guarded, for who is allowed; terms that came back"),
    "sparql/guard.py": ({""}, "a pattern that finds SERVICE"),
    "sparql/half_dump.py": ({"main"}, "a number that the process beside counted"),
    "sparql/operations.py": ({""}, "patterns that read updates"),
    "sparql/oxigraph.py": ({"_operations", "_pattern", "_update"}, "terms"),
    "sparql/path_query.py": ({"path_query"}, "terms that are known, and numbers"),
    "sparql/patterns.py": ({"patterns_of"}, "a pattern of the asker's own query, only to be parsed"),
    "sparql/remote.py": ({f"RemoteStore.{name}" for name in (
        "_learn", "_match_query", "_whole", "clear", "graph_names", "has_graph", "holding", "select")}, "terms, and the setting that names the default graph"),
    "sparql/remote_lowering.py": ({"_test"}, "a variable"),
    "sparql/remote_pages.py": ({"pages"}, "a whole query, and numbers"),
    "sparql/remote_pool.py": ({"RemotePool.dump"}, "a term"),
    "sparql/remote_wording.py": ({"Wording._removals", "Wording.within", "_managed"}, "terms, and that setting"),
    "sparql/withheld.py": ({""}, "a term of ours"),
    "sparql/worker_patterns.py": ({"Template.__init__", "_block", "_remove", "_solutions", "graph_of"}, "parts of a checked update, and quads that the engine read"),
    "sparql/worker_planning.py": ({"_asked"}, "parts of a checked update"),
    "sparql/worker_replies.py": ({"past_limit"}, "what a refusal says"),
    "sparql/worker_updates.py": ({"_check"}, "one operation, only to be parsed"),
}  # fmt: skip
_SPARQL = re.compile(
    r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|WHERE|FILTER|VALUES|OPTIONAL|UNION|BIND|GRAPH|SERVICE|PREFIX"
    r"|LOAD|CLEAR|DROP|CREATE|MOVE|COPY|GROUP BY|ORDER BY|LIMIT|OFFSET)\b|\?[a-z]\w* \?|\{ *\?"
)


def pieces(node: ast.AST) -> list[str]:
    """Give what stands in the source of a text that is joined from pieces."""
    if isinstance(node, ast.JoinedStr) and spliced(node, {}):
        return [each.value for each in node.values
                if isinstance(each, ast.Constant) and isinstance(each.value, str)]  # fmt: skip
    found: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        found = [node.left, node.right]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Mod):
        found = [node.value]
    elif isinstance(node, ast.Call) and spliced(node, {}) and isinstance(node.func, ast.Attribute):
        found = [node.func.value, *node.args]
    return [each.value for each in found
            if isinstance(each, ast.Constant) and isinstance(each.value, str)]  # fmt: skip


def writers(node: ast.AST, within: str = "") -> Iterator[str]:
    """Name the functions that put SPARQL together; what stands outside of any is of the empty name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise):  # what a fault says is for people
            continue
        if any(map(_SPARQL.search, pieces(child))):
            yield within
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from writers(child, f"{within}.{child.name}".lstrip(".") if inside else within)  # type: ignore[attr-defined] # it has a name


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


def test_only_named_functions_put_sparql_together_at_all() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in writers(ast.parse(path.read_text("utf-8"))):
            found.setdefault(path.relative_to(SOURCE).as_posix(), set()).add(name)
    assert found == {path: names for path, (names, _) in WRITERS.items()}


def test_sparql_put_together_in_any_way_would_be_seen() -> None:
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
def told(name): raise ValueError(f"ASK is not {name}")
"""
    found = set(writers(ast.parse(text)))
    assert found == {"one", "two", "three", "four", "five", "six", "seven", "C.eight"}


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
