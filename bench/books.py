"""Claims of the old books: how many, how fast, which to judge, which enter the starter base.

`python bench/books.py read BOOKS -o CLAIMS` reads a collection in one process into a file of claims
with their words, which stays on the machine, and prints counts and times.
`python bench/books.py draw CLAIMS --seed N --number 300` prints a sheet to be judged, with the words.
`python bench/books.py count [bench/judged/books.tsv]` prints the share that is right, by sample.
`python bench/books.py select CLAIMS` writes the pointers of the claims that enter the starter base.
"""

import argparse
import csv
import json
import math
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from witnesses import Admission, Witness, select

from shiyi.artefacts import artefact
from shiyi.errors import ShiyiError
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.books import books, read_books
from shiyi.ingest.documents.document import build_tree
from shiyi.ingest.extraction.books.extractor import EntryExtractor
from shiyi.ingest.tables.starter import load_starter
from shiyi.linking.labels import LabelIndex
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.settings import IngestSettings

SHEET = Path(__file__).parent / "judged" / "books.tsv"
VERDICTS = ("right", "doubtful", "wrong")
AROUND = 40  # characters on each side of a quote
KEY = ("subject", "predicate", "object", "polarity")


def read(path: Path, out: Path, only: str) -> dict[str, Any]:
    """Read every book; write a line of JSON for each claim."""
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    names = {concept.iri: concept.zh or concept.en for concept in index.concepts}
    extractor, settings = EntryExtractor(Lexicon(index)), IngestSettings()
    dataset, counts, relations = load_dataset("tcm-ancient-books"), Counter[str](), Counter[str]()
    unlinked, distinct = Counter[str](), set[tuple[str, ...]]()
    started, cpu = time.perf_counter(), time.process_time()
    with out.open("w", encoding="utf-8") as file:
        for book in read_books(path, dataset, settings.max_text_bytes):
            if isinstance(book, ShiyiError):
                raise book
            if only and book.name[:3] not in only.split(","):
                continue
            tree = build_tree(book, settings.passage_least, settings.passage_most)
            extractions = extractor.read(tree.passages, book, NamedNode("urn:g"))
            counts.update(books=1, characters=len(book.text), passages=len(tree.passages))
            for extraction in extractions:
                unlinked += extraction.unlinked
                names |= {
                    text(q.subject): text(q.object)
                    for q in extraction.quads
                    if isinstance(q.object, Literal)
                }
            for passage, extraction in zip(tree.passages, extractions, strict=True):
                for claim in extraction.found:
                    key = (
                        claim.subject.value,
                        local_name(claim.predicate.value),
                        text(claim.object),
                        claim.polarity.value,
                    )
                    first, last = claim.place or (passage.start, passage.end)
                    line = {
                        **dict(zip(KEY, key, strict=True)),
                        "names": (names.get(key[0], ""), names.get(key[2], key[2])),
                        "file": book.name,
                        "section": " / ".join(passage.section.path),
                        "start": first,
                        "end": last,
                        "sure": claim.sure,
                        "amount": dict(claim.qualifiers).get("amount", ""),
                        "before": book.text[max(0, first - AROUND) : first],
                        "quote": book.text[first:last],
                        "after": book.text[last : last + AROUND],
                    }
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    counts["claims"] += 1
                    if key not in distinct:
                        distinct.add(key)
                        relations[key[1]] += 1
    return {
        **counts,
        "distinct": len(distinct),
        "relations": dict(relations.most_common()),
        "unlinked": dict(unlinked.most_common()),
        "wall_seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def draw(path: Path, seed: int, number: int, kind: str) -> None:
    """Print distinct claims drawn at random, each with one of its places."""
    places: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines(path):
        recipe = "/old-recipe" in line["subject"]
        if kind == "all" or (kind == "recipe") == recipe:
            places[tuple(line[name] for name in KEY)].append(line)
    rng = random.Random(seed)  # noqa: S311
    heads = "number subject predicate object amount polarity book section quote context verdict why"
    print(*heads.split(), sep="\t")
    for at, key in enumerate(rng.sample(sorted(places), number), 1):
        line = rng.choice(places[key])
        shown = f"{line['before']}【{line['quote']}】{line['after']}"
        cells = (line["names"][0], line["predicate"], line["names"][1], line["amount"])
        where = line["polarity"], line["file"], line["section"]
        texts = ("".join(words.split()) for words in (line["quote"], shown))
        print(at, *cells, *where, *texts, "", "", sep="\t")


def count(path: Path) -> None:
    """Print the share that is right, with its 95 % interval (Wilson), by sample."""
    with path.open(encoding="utf-8", newline="") as file:
        sheet = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    samples: dict[str, Counter[str]] = defaultdict(Counter)
    for row in sheet:
        if row["verdict"] not in VERDICTS:
            raise SystemExit(f"{row['sample']} {row['number']}: no verdict {row['verdict']!r}")
        samples[row["sample"]][row["verdict"]] += 1
        samples[f"  {row['predicate']}, {row['sample']}"][row["verdict"]] += 1
    for name, some in samples.items():
        right, judged = some["right"], some.total()
        low, high = wilson(right, judged)
        print(f"{name}: {right} of {judged} right, {right / judged:.1%} ({low:.1%} to {high:.1%})")


def wilson(right: int, judged: int, z: float = 1.96) -> tuple[float, float]:
    share, more = right / judged, z * z / judged
    middle = (share + more / 2) / (1 + more)
    half = z * math.sqrt(share * (1 - share) / judged + more / (4 * judged)) / (1 + more)
    return middle - half, middle + half


def choose(path: Path) -> None:
    """Write the pointers of the claims that independent books bear out."""
    admission, names = Admission(load_starter(pointers=False)), ("subject", "predicate", "object")
    witnesses = (
        Witness(
            admission.key(*(local_name(line[name]) for name in names)),
            books()[line["file"]],
            *(line[name] for name in ("start", "end", "before", "quote", "after")),
        )
        for line in lines(path)
        if line["polarity"] == "positive" and "/old-" not in line["subject"] + line["object"]
    )
    print(dict(select(witnesses, admission)))


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("read")
    one.add_argument("books", type=Path)
    one.add_argument("-o", "--out", type=Path, required=True)
    one.add_argument("--only", default="", help="numbers of books, with commas")
    one = commands.add_parser("draw")
    one.add_argument("claims", type=Path)
    one.add_argument("--seed", type=int, required=True)
    one.add_argument("--number", type=int, default=300)
    one.add_argument("--kind", choices=("all", "entry", "recipe"), default="all")
    one = commands.add_parser("count")
    one.add_argument("sheet", nargs="?", type=Path, default=SHEET)
    one = commands.add_parser("select")
    one.add_argument("claims", type=Path)
    args = parser.parse_args()
    if args.command == "read":
        print(json.dumps(read(args.books, args.out, args.only), ensure_ascii=False, indent=1))
    elif args.command == "draw":
        draw(args.claims, args.seed, args.number, args.kind)
    elif args.command == "select":
        choose(args.claims)
    else:
        count(args.sheet)


if __name__ == "__main__":
    main()
