"""Write bench/tables/conformance.md from a run of the W3C suites through our own endpoint.

python docs/make/conformance.py KB runs them over a copy of KB too, which takes minutes more.
"""

import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
STOCK = {
    "sparql10-syntax": 198, "sparql10-eval": 267, "sparql11-query": 312, "sparql11-update": 157,
    "sparql11-results": 9, "sparql11-fed": 9, "sparql11-protocol": 34, "sparql11-gsp": 11,
    "sparql11-service-description": 3, "sparql12": 264,
}  # fmt: skip
HEAD = """# Conformance

Written by `python docs/make/conformance.py kb` from two runs of the W3C suites: over an empty base,
and over the starter base, emptied through the server before. `make test` does the former and
fails on any other failure, and on an unexpected pass. Queries, updates and the Graph Store Protocol
go through `/sparql` and `/rdf-graph-store` with tokens; each query runs in a confined worker, each
update is tried on a copy, written to the journal, then applied.
Engine: pyoxigraph {version}. Stock is `oxigraph serve` of the same version on the same tests.

| suite | passed | starter base | of | stock |
|---|---|---|---|---|
"""
STORED_BY_VALUE = """
## Literals

The engine stores numbers, booleans, dates and durations by value: `"01"^^xsd:integer`, `1.50` and
`"-3"^^xsd:negativeInteger` become `1`, `1.5` and `-3` of `xsd:integer`
(`tests/sparql/store/test_oxigraph.py` has the minimal case; [Literals](sparql.md#literals)).
The tests of this cause compare lexical forms: `"01"` and `"1"` are one literal to joins, FILTER,
DISTINCT and GROUP BY, and come back as `1`.
"""


def tool(name: str, *words: str) -> str:
    """Run one of the suites that need no server; return the line of its total."""
    w3c = importlib.import_module("tests.conformance.suites")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, str(w3c.TOOLS / name), str(w3c.ARCHIVE), *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    return done.stdout


def main() -> None:
    """Run the suites and write the page."""
    w3c = importlib.import_module("tests.conformance.suites")
    if gone := w3c.missing():
        sys.exit(gone)
    names = (*w3c.PROMISED, *w3c.OTHERS)
    reports = w3c.run_suites(names)
    filled = w3c.run_suites(names, Path(sys.argv[1])) if sys.argv[1:] else {}
    causes: dict[str, list[str]] = {}
    lines = [HEAD.format(version=importlib.metadata.version("pyoxigraph"))]
    known = w3c.expected()
    for name, stock in STOCK.items():
        each = reports[name]
        other = filled[name].passed if filled else "–"
        lines.append(f"| {name} | {each.passed} | {other} | {each.total} | {stock} |\n")
        for test, seen in each.failures.items():
            short = "/".join(test.rsplit("/", 2)[1:]).replace("manifest#", "")
            causes.setdefault(known.get(test, f"not explained: {seen}"), []).append(short)
    lines.append("\n## Every miss and its cause\n\n| cause | tests |\n|---|---|\n")
    for cause, tests in sorted(causes.items(), key=lambda item: -len(item[1])):
        lines.append(f"| {cause} | {', '.join(f'`{each}`' for each in sorted(tests))} |\n")
    lines.append(STORED_BY_VALUE)
    for title, text in (
        ("RDF syntaxes (uploads are parsed by the same parsers)", tool("rdf_parser_suite.py")),
        (
            "SHACL core and SPARQL",
            tool("shacl_suite.py", "--validator", "tests.conformance.suites:report_of"),
        ),
    ):
        lines.append(f"\n## {title}\n\n```\n{text.strip()}\n```\n")
    (ROOT / "bench/tables/conformance.md").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
