"""Fill the lists of queries and shapes in docs/reference/commands.md from the files themselves."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/commands.md"


def rows(folder: str) -> str:
    """List the queries of a folder as table rows."""
    lines = []
    for path in sorted((ROOT / folder).glob("*.rq")):
        question = path.read_text("utf-8").partition("\n")[0].removeprefix("#").strip()
        lines.append(f"| `{path.stem}` | {question.replace('|', '/')} |")
    return "\n".join(lines)


def between(text: str, start: str, end: str, body: str) -> str:
    """Place ``body`` after the line that begins the table and before ``end``."""
    pattern = re.compile(
        f"({re.escape(start)}\n\\|---\\|---\\|\n).*?(\n\n{re.escape(end)})", re.DOTALL
    )
    return pattern.sub(lambda found: found[1] + body + found[2], text)


def main() -> None:
    """Write the page again."""
    text = PAGE.read_text("utf-8")
    text = between(text, "| query | question |", "Quality queries", rows("sparql"))
    text = between(text, "| query | fault |", "## Shapes", rows("sparql/qc"))
    shapes = ", ".join(f"`{path.stem}`" for path in sorted((ROOT / "shapes").glob("*.ttl")))
    text = re.sub(r"(one file per class of node: ).*?(\. Messages)", rf"\g<1>{shapes}\g<2>", text)
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
