"""Write bench/tables/performance.md from bench/results/figures.

`--check` says whether the page is the one that the figures make; nothing is measured here.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
FIGURES: Final = ROOT / "bench" / "results" / "figures"
PAGE: Final = ROOT / "bench/tables/performance.md"
Run = Mapping[str, Any]

HEAD: Final = """# Performance

Written by `make bench`: each benchmark runs alone in its small form (`python bench/run.py`), and
`docs/make/performance.py` makes this page from the results. `python bench/run.py --long` takes the
sizes of the papers. The larger graphs are synthetic, with a few hubs and many leaves. Processor
time is that of the work itself; wall-clock time includes other work on a shared machine.
"""
COLUMNS: Final = {  # of the tables that are made by hand: what is shown, and its name
    "hubs": (("relations", "relations"), ("concepts", "concepts"), ("hub_claims", "claims of the hub"),
             ("paths", "paths scored"), ("cpu_p50_ms", "median ms"), ("cpu_max_ms", "slowest ms"),
             ("ordinary_p50_ms", "ordinary node, median ms"), ("ordinary_p95_ms", "p95 ms"),
             ("three_hop_cpu_ms", "three hops, ms"), ("networkx_p50_ms", "networkx, median ms"),
             ("times_faster", "times faster")),
    "ask": (("size", "base"), ("claims", "relations"), ("concepts", "concepts"), ("n", "answers"),
            ("cpu_p50_ms", "median ms"), ("cpu_p95_ms", "p95 ms"), ("cpu_max_ms", "slowest ms"),
            ("p95_ms", "p95 on the clock"), ("peak_mib", "memory, MiB"), ("slowest", "slowest question")),
    "reasoning": (("claims", "claims"), ("confidence_seconds", "confidences, s"),
                  ("pagerank_seconds", "PageRank, s"), ("cpu_seconds", "processor, s"),
                  ("review_seconds", "PageRank after a review, s")),
}  # fmt: skip
TITLES: Final = {
    "hubs": (
        "Ranked paths",
        (
            "Relation paths of two hops from the largest hub: every path is scored, the ten "
            "best are returned, at most four through one middle concept; networkx gives the "
            "same ten scores from the same claims. Three hops are followed until one would "
            "look at 500,000 claims, then along the most confident claims."
        ),
    ),
    "ask": (
        "Whole answers without a model",
        (
            "Questions of several kinds, at the larger sizes also about hubs, warm, in one "
            "thread, with `fused`."
        ),
    ),
    "reasoning": ("Confidence and importance", "Over synthetic claims."),
    "loading": (
        "Loading",
        (
            "N-Quads into an empty folder by `oxigraph load`, and into an empty base with its"
            " journal."
        ),
    ),
    "validating": (
        "Validation",
        (
            "The accepted view against every shape, in parts as `shiyi validate` and a "
            "release do, and at once; the reports are the same."
        ),
    ),
    "methods": (
        "Answers by each method",
        "Questions of both languages on the starter base, with the mean number of citations.",
    ),
    "texts": ("Keyword index of the texts", "The index that answers use."),
    "linking": ("Linking", "From words to concepts, over the labels of the starter base."),
    "vectors": ("Nearest vectors", "Exact and HNSW; ten nearest of names made of real labels."),
    "umls": ("UMLS", "A synthetic Metathesaurus: reading, indexing, linking."),
    "ingest-tables": (
        "Tables to claims",
        (
            "A wide table in the form of iDISK 2.0, read by its mapping, validated and "
            "written with its journal."
        ),
    ),
    "build": ("The starter base from nothing", ""),
    "sparql": (
        "SPARQL",
        "Through confined workers, beside stock `oxigraph` where it is installed.",
    ),
    "beside": (
        "Alternatives",
        (
            "Stores with the same accepted view and the same queries; pySHACL with the same "
            "shapes over the same claims; other ways to find the claims that answer a "
            "question."
        ),
    ),
    "scaling": (
        "Costs of a statement",
        (
            "The starter base under several names, loaded; larger sizes are simulated "
            "([scaling.md](scaling.md))."
        ),
    ),
    "serving": ("The server", "Two clients at once, warm."),
}
GROWN: Final = (("hubs", "relations", "cpu_p50_ms", "ranked paths from the hub"),
                ("hubs", "relations", "ordinary_p50_ms", "ranked paths from an ordinary node"),
                ("hubs", "relations", "networkx_p50_ms", "ranked paths from the hub with networkx"),
                ("hubs", "relations", "peak_mib", "memory of that process"),
                ("ask", "claims", "cpu_p50_ms", "an answer, median"), ("ask", "claims", "cpu_p95_ms", "an answer, p95"),
                ("reasoning", "claims", "confidence_seconds", "confidences"),
                ("reasoning", "claims", "pagerank_seconds", "PageRank"))  # fmt: skip
TARGETS: Final[
    Mapping[str, Mapping[Any, int]]
] = {  # milliseconds aimed at: of the hub by relations, of an answer's p95 by base
    "hubs": {29_292: 50, 334_265: 300, 3_500_000: 1500},
    "ask": {"starter": 150, "yaoshi": 150, "idisk": 500},
}


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = parser.parse_args()
    runs = [json.loads(path.read_text("utf-8")) for path in sorted(FIGURES.glob("*.json"))]
    if not runs:
        sys.stderr.write("nothing was measured yet: run `make bench`\n")
        return 2
    page = make_page(runs)
    if text.check:
        return 0 if PAGE.is_file() and PAGE.read_text("utf-8") == page else 1
    PAGE.write_text(page, "utf-8")
    return 0


def make_page(runs: Sequence[Run]) -> str:
    """Return the page for some runs."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(
            run["name"].partition("-")[0] if run["name"].startswith("ask") else run["name"], []
        ).append(run)
    parts = [HEAD, state_conditions(runs)]
    names = (*(n for n in TITLES if n in groups), *(n for n in sorted(groups) if n not in TITLES))
    parts += [section(name, groups[name]) for name in names]
    parts.append(growth(groups))
    parts.append(limits(groups))
    return "\n".join(parts).rstrip() + "\n"


def state_conditions(runs: Sequence[Run]) -> str:
    """State on what, when and how quietly each was measured."""
    rows = [
        (
            r["name"],
            " ".join(map(str, r["arguments"])) or "–",
            r["date"],
            r["seconds"],
            r["cpu_seconds"],
            r.get("others", f"load {r['load_before']}"),
            "yes" if r["quiet"] else "**no**",
            "" if r["status"] == "ran" else r["status"],
        )
        for r in runs
    ]
    names = {tuple(r["machine"].values()) for r in runs}
    text = "; ".join(
        f"{c} cores ({p}), {m} GiB, {s}, Python {v}" for c, m, p, s, v in sorted(names)
    )
    heads = (
        "benchmark",
        "arguments",
        "day",
        "s",
        "processor s",
        "cores that others took",
        "quiet",
        "",
    )
    loud = (
        ""
        if all(r["quiet"] for r in runs)
        else (
            "\nRows marked **no** were measured beside other work: their processor time is an "
            "upper bound.\n"
        )
    )
    return f"Measured on: {text}.\n\n{table(heads, rows)}\n{loud}"


def section(name: str, runs: Sequence[Run]) -> str:
    """Return the table of one benchmark."""
    title, message = TITLES.get(name, (name, ""))
    loud = "" if all(r["quiet"] for r in runs) else " (not measured in quiet)"
    rows = [row for run in runs for row in run["rows"]]
    if name in COLUMNS:
        shown = [pair for pair in COLUMNS[name] if any(pair[0] in row for row in rows)]
        rows = sorted(
            rows, key=lambda row: float(row.get(shown[1][0] if name == "ask" else shown[0][0]) or 0)
        )
        body = table(
            [head for _, head in shown], [[row.get(key, "") for key, _ in shown] for row in rows]
        )
    elif rows:
        alike: dict[tuple[str, ...], list[Run]] = {}
        for row in rows:
            alike.setdefault(tuple(dict(flatten(row))), []).append(row)
        body = "\n".join(merge_tables(item) for item in alike.values())
    else:
        body = (
            "\n".join(
                f"    {line}"
                for run in runs
                for line in (run["printed"] or run["status"]).splitlines()
            )
            + "\n"
        )
    return f"## {title}{loud}\n\n{message}\n\n{body}" if message else f"## {title}{loud}\n\n{body}"


def merge_tables(rows: Sequence[Run]) -> str:
    """Return one table of rows with the same figures; of one row, one table per kind of part."""
    if len(rows) > 1:
        flat = [dict(flatten(row)) for row in rows]
        return table(tuple(flat[0]), [list(row.values()) for row in flat])
    (row,) = rows
    plain = [(key, value) for key, value in row.items() if not isinstance(value, dict | list)]
    parts = {key: value for key, value in row.items() if value and isinstance(value, dict)}
    deep = {
        key: value
        for key, value in parts.items()
        if any(isinstance(inner, dict) for inner in value.values())
    }
    shallow = {key: value for key, value in parts.items() if key not in deep}
    several = [(key, value) for key, value in row.items() if isinstance(value, list)]
    tables = [table(("figure", ""), plain)] if plain else []
    kinds: dict[tuple[str, ...], dict[str, Run]] = {}
    for key, value in shallow.items():
        kinds.setdefault(tuple(value), {})[key] = value
    tables += [
        table(("", *heads), [(key, *value.values()) for key, value in found.items()])
        for heads, found in kinds.items()
    ]
    tables += [cross_table(key, value) for key, value in deep.items()]
    tables += [merge_tables(list(map(dict, map(flatten, value)))) for _, value in several if value]
    return "\n".join(tables)


def cross_table(name: str, parts: Mapping[str, Run]) -> str:
    """Return a table with a row for each figure and a column for each part that holds it."""
    rows = dict.fromkeys(key for part in parts.values() for key in part)
    shown = [(row, *(part.get(row, "") for part in parts.values())) for row in rows]
    return table((name, *parts), shown)


def growth(groups: Mapping[str, Sequence[Run]]) -> str:
    """Fit cost = a · size^b over the sizes that were measured."""
    rows = []
    for name, size, cost, message in GROWN:
        found = sorted(
            {
                (float(row[size]), float(row[cost]))
                for run in groups.get(name, ())
                for row in run["rows"]
                if row.get(size) and row.get(cost)
            }
        )
        if len(found) > 1:
            rows.append(
                (
                    message,
                    " → ".join(f"{s:,.0f}" for s, _ in found),
                    " → ".join(cell(c) for _, c in found),
                    f"{exponent(found):.2f}",
                )
            )
    return (
        "## Growth of costs\n\nLeast squares of log cost on log size; 1 is linear. Two sizes give a slope, no "
        "fit.\n\n" + table(("what", "sizes", "cost", "exponent"), rows)
    )


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """Return b of cost = a · size^b.

    >>> round(exponent([(10, 100), (100, 10_000), (1000, 1_000_000)]), 6)
    2.0
    """
    logs = [(math.log(size), math.log(cost)) for size, cost in points]
    x, y = (sum(item) / len(logs) for item in zip(*logs, strict=True))
    return float(sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs))


def limits(groups: Mapping[str, Sequence[Run]]) -> str:
    """Keep what was measured against what is aimed at."""
    rows = []
    for run in groups.get("hubs", ()):
        for row in run["rows"]:
            aim = TARGETS["hubs"].get(row["relations"])
            if aim:
                rows.append(
                    (
                        f"ten best paths from the hub, {row['relations']:,} relations",
                        f"{aim} ms",
                        f"{row['cpu_max_ms']} ms",
                        "yes" if row["cpu_max_ms"] <= aim else "**no**",
                    )
                )
            if "times_faster" in row:
                rows.append(
                    (
                        f"beside networkx, {row['relations']:,} relations",
                        "5 times",
                        f"{row['times_faster']} times",
                        "yes" if row["times_faster"] >= 5 else "**no**",
                    )
                )
    for run in groups.get("ask", ()):
        for row in run["rows"]:
            aim = TARGETS["ask"].get(row["size"])
            if aim:
                rows.append(
                    (
                        f"an answer, p95, {row['claims']:,} relations",
                        f"{aim} ms",
                        f"{row['cpu_p95_ms']} ms",
                        "yes" if row["cpu_p95_ms"] <= aim else "**no**",
                    )
                )
    return (
        "## Where the limit lies\n\nProcessor time against what is aimed at on two cores.\n\n"
        + table(("what", "aim", "measured", "holds"), rows)
        + "\nMemory, not time, limits what one machine can hold (the peaks above include the store of "
        "the larger bases). [scaling.md](scaling.md) covers larger sizes.\n"
    )


def flatten(value: Any, name: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the figures of nested objects, each by its whole name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{name} {key}".strip())
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from flatten(inner, f"{name} {place + 1}")
    else:
        yield name, value


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell(item) for item in line) + " |" for line in lines) + "\n"


def cell(value: object) -> str:
    """Write one figure.

    >>> cell(1234567), cell(0.123456), cell(12.3456)
    ('1,234,567', '0.123', '12.3')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if value > 9999 else str(value)
    if isinstance(value, float):
        return (
            f"{value:,.0f}"
            if abs(value) >= 1000
            else f"{value:.1f}"
            if abs(value) >= 10
            else f"{value:.3g}"
        )
    return str(value).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
