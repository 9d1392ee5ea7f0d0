"""No text that somebody sent is joined into SPARQL: functions that build it are listed here."""

import ast
import re
from collections.abc import Iterator

from tests.support.places import ROOT

SOURCE = ROOT / "src" / "shiyi"

# where SPARQL is put together from pieces at all, and what those are: a function that is not here fails
WRITERS = {
    "answering/generation/text_to_sparql.py": ({"_declared", "_limited"}, "a model's query, for a worker; prefixes and numbers of ours"),
    "answering/sections/queries.py": ({"_classes", "_pattern", "_whole", "_year", "compile_list", "describe_query"}, "terms of the vocabulary, IRIs that parse, and numbers"),
    "cli/serve.py": ({""}, "the description of a parameter, for assistants"),
    "curation/queue.py": ({"Queue._name", "Queue._put", "Queue._where", "Queue.choices", "Queue.page", "Queue.update"}, "tables and columns of ours, for SQLite; every value is bound"),
    "publishing/void.py": ({"", "Counts.of_endpoint"}, "terms and words of ours"),
    "publishing/dumps.py": ({"write_parquet"}, "question marks, for SQLite"),
    "server/site/counts.py": ({""}, "a term of ours"),
    "server/site/search.py": ({"", "_values"}, "the form of a search; the asker's own variables, IRIs as terms, and numbers"),
    "answering/knowledge/updates.py": ({""}, "terms of ours"),
    "server/pages/browse.py": ({""}, "terms of ours"),
    "server/pages/resources.py": ({"_mark_cut"}, "a term, for a link"),
    "server/http/warmup.py": ({"_warm_up.query"}, "a number"),
    "sparql/queries/requests.py": ({"", "_nested"}, "a pattern that finds SERVICE; the triples of the asker's own EXISTS, in another order"),
    "sparql/sandbox/operations.py": ({""}, "patterns that read updates"),
    "sparql/store/oxigraph.py": ({"_operations", "_pattern", "_update"}, "terms"),
    "sparql/queries/paths.py": ({"path_query"}, "terms that are known, and numbers"),
    "sparql/queries/vocabulary_check.py": ({"patterns_of"}, "a pattern of the asker's own query, only to be parsed"),
    "sparql/remote/store.py": ({"RemoteStore._learn", "RemoteStore._match_query", "RemoteStore._whole", "RemoteStore.clear", "RemoteStore.graph_names", "RemoteStore.select", "ChangeRequests._removals", "ChangeRequests.within", "_managed", "_test", "RemoteStore._pages"}, "terms, and the setting that names the default graph; a whole query, and numbers; a variable; terms, and that setting"),
    "server/views/remedies.py": ({"faster", "with_prefixes"}, "the asker's own query, shown back, not run; prefixes of ours"),
    "publishing/tables.py": ({""}, "terms of ours"),
    "sparql/remote/pool.py": ({"RemotePool.dump"}, "a term"),
    "sparql/sandbox/pool.py": ({"Services.inline", "_values"}, "a block of the asker's own query, guarded, for who is allowed; terms that came back"),
    "sparql/store/visibility.py": ({""}, "a term of ours"),
    "sparql/sandbox/effects.py": ({"Template.__init__", "_block", "_check", "_remove", "_solutions",
    "graph_of"},
    "parts of a checked update, and quads that the engine read; one operation, only to be parsed"),
    "sparql/sandbox/replies.py": ({"past_limit"}, "what a refusal says"),
}  # fmt: skip
_SPARQL = re.compile(
    r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|WHERE|FILTER|VALUES|OPTIONAL|UNION|BIND|GRAPH|SERVICE|PREFIX"
    r"|LOAD|CLEAR|DROP|CREATE|MOVE|COPY|GROUP BY|ORDER BY|LIMIT|OFFSET)\b|\?[a-z]\w* \?|\{ *\?"
)


def pieces(node: ast.AST) -> list[str]:
    """Return what stands in the source of a text that is joined from pieces."""
    if isinstance(node, ast.JoinedStr) and is_joined(node):
        return [
            each.value
            for each in node.values
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    found: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        found = [node.left, node.right]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Mod):
        found = [node.value]
    elif isinstance(node, ast.Call) and is_joined(node) and isinstance(node.func, ast.Attribute):
        found = [node.func.value, *node.args]
    return [
        each.value
        for each in found
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
        return any(isinstance(each, ast.FormattedValue) for each in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"format", "join", "replace", "substitute", "format_map"}
    return False


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
def fault(name): raise ValueError(f"ASK is not {name}")
"""
    found = set(writers(ast.parse(text)))
    assert found == {"one", "two", "three", "four", "five", "six", "seven", "C.eight"}
