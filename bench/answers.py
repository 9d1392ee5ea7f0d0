"""Compare the answers of two versions to the same 500 questions, by what differs.

`python bench/answers.py ask KB -o ANSWERS` asks the questions of bench/judged/answers.tsv, by the
version of Shiyi that is imported, and writes the answers as JSON.
`python bench/answers.py compare EARLIER LATER` prints how many differ in what, and which, and how
many are better, the same or worse, as the sheet judges each pair with what differs and why.
"""

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings

SHEET = Path(__file__).parent / "judged" / "answers.tsv"
GRAVITY = ("", "caution", "interaction", "contraindicated", "emergency")


def sheet() -> list[dict[str, str]]:
    """Return the rows of the sheet: a question, how both answers are judged, and what differs."""
    with SHEET.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def answers(kb: Path) -> dict[str, Any]:
    """Return what `POST /api/ask` answers to each question."""
    site = open_site(kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    results = {}
    for row in sheet():
        asked = {"question": row["question"], "lang": row["language"]}
        results[row["question"]] = client.post("/api/ask", json=asked).get_json()
    site.close()
    return results


def difference(earlier: dict[str, Any], later: dict[str, Any]) -> str:
    """Return the gravest difference of two answers to one question."""
    was, now = gravest(earlier), gravest(later)
    if was != now:
        return f"{'graver' if now > was else 'lighter'} warning"
    if recommended(earlier) != recommended(later):
        return "other recommendations"
    if earlier["abstained"] != later["abstained"]:
        return "abstains" if later["abstained"] else "no longer abstains"
    if cited(earlier) != cited(later):
        return "other claims"
    return "alike" if earlier["answer"] == later["answer"] else "other words"


def gravest(answer: dict[str, Any]) -> int:
    """Return the rank of the gravest warning, 0 for none."""
    return max((GRAVITY.index(item["severity"]) for item in answer["warnings"]), default=0)


def recommended(answer: dict[str, Any]) -> list[str]:
    """Return the labels of what is recommended."""
    return [item["label"] for item in answer["recommendations"]]


def cited(answer: dict[str, Any]) -> set[str]:
    """Return the claims that are cited."""
    return {item["claim"] for item in answer["citations"]}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("ask")
    one.add_argument("kb", type=Path)
    one.add_argument("-o", "--output", type=Path, required=True)
    one = commands.add_parser("compare")
    one.add_argument("earlier", type=Path)
    one.add_argument("later", type=Path)
    options = parser.parse_args()
    if options.command == "ask":
        written = json.dumps(answers(options.kb), ensure_ascii=False)
        options.output.write_text(written, encoding="utf-8")
        return
    earlier, later = (json.loads(p.read_text("utf-8")) for p in (options.earlier, options.later))
    results = defaultdict[str, list[str]](list)
    for question in earlier.keys() & later.keys():
        results[difference(earlier[question], later[question])].append(question)
    for verdict, count in Counter(row["better"] for row in sheet()).most_common():
        sys.stdout.write(f"{count}\tjudged {verdict}\n")
    for kind, asked in sorted(results.items(), key=lambda item: -len(item[1])):
        sys.stdout.write(f"{len(asked)}\t{kind}\n")
        if kind != "alike":
            sys.stdout.writelines(f"\t{question}\n" for question in sorted(asked))


if __name__ == "__main__":
    main()
