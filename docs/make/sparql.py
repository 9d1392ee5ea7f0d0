"""Write docs/reference/sparql.md: every named query with its question and the first rows of its result."""

import csv
import io
import sys
from pathlib import Path

from shiyi.errors import QueryLimitError
from shiyi.ontology.terms import PREFIXES
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.named import Query, query_names
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.sandbox.pool import QueryPool

ROOT = Path(__file__).parents[2]
ROWS, WIDTH = 3, 60  # shown of each result; characters of a cell
FIRST = (
    "facts-of-goji",
    "insomnia-constitution-food",
    "nature-conflicts",
    "catalogue-dishes-pregnancy",
)
HEAD = ROOT / "docs/tutorials/first-query.md"


def short(cell: str) -> str:
    """Write an IRI with its prefix, a long text by its beginning."""
    for prefix, base in PREFIXES.items():
        if cell.startswith(base) and len(cell) > len(base):
            cell = f"{prefix}:{cell[len(base) :]}"
            break
    cell = cell.replace("|", "\\|").replace("\n", " ")
    return cell if len(cell) <= WIDTH else cell[: WIDTH - 1] + "…"


def table(body: bytes, more: str) -> str:
    """Write the first rows of a CSV result as a table."""
    rows = list(csv.reader(io.StringIO(body.decode("utf-8"))))
    head, found = rows[0], rows[1:]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(short(cell) for cell in row) + " |" for row in found[:ROWS]]
    return "\n".join([*lines, "", more])


def section(pool: QueryPool, name: str) -> str:
    """Write one query: its question, its text, what it gives."""
    query = Query.named(name)
    text = "\n".join(query.text.splitlines()[1:]).strip()
    form = ResultFormat("csv", "ttl")
    try:
        result = pool.query(FreeQuery(query.text, form))
        found = table(result.body, f"{result.rows:,} rows in all.")
    except QueryLimitError as limit:
        result = pool.query(FreeQuery(f"{query.text}\nLIMIT {ROWS}", form))
        found = table(result.body, f"Without LIMIT it is refused: {limit}.")
    return (
        f"\n### {name}\n\n{query.question_en}  \n{query.question_zh}\n\n"
        f"```sparql\n{text}\n```\n\n{found}\n"
    )


def main() -> None:
    """Run each query on a knowledge base (default kb/) and write the page."""
    kb = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "kb"
    names = [name for name in query_names() if not name.startswith("qc/") and name not in FIRST]
    with KnowledgeBase.open(kb) as base, QueryPool(base, Settings().query) as pool:
        parts = [HEAD.read_text(encoding="utf-8").replace("RELEASE", base.release[:19])]
        parts += [section(pool, name) for name in (*FIRST, *names)]
    (ROOT / "docs/reference/sparql.md").write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
