"""Draw claims of the `rules` extractor to be judged, and count what was judged.

`python bench/precision.py draw BOOKS --seed N --each 17` prints so many claims of each relation with
quote and passage; `python bench/precision.py count [bench/judged/rules.tsv]` gives the share that is
right, by sample and relation.
"""

import argparse
import csv
import math
import random
from collections import Counter, defaultdict
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import ShiyiError
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.document import Document, Passage, tree_of
from shiyi.ingest.documents.files import read_books
from shiyi.ingest.extraction.extractor import ExtractedStatement
from shiyi.ingest.extraction.rules import RulesExtractor, relation_of
from shiyi.linking.labels import LabelIndex
from shiyi.model.rdf import Literal, NamedNode
from shiyi.settings import IngestSettings

SHEET = Path(__file__).parent / "judged" / "rules.tsv"
Read = tuple[ExtractedStatement, Passage, Document]
VERDICTS = ("right", "doubtful", "wrong")


def draw(books: Path, seed: int, each: int) -> None:
    """Print claims drawn evenly from each relation: number, claim, source, section, quote, passage."""
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    names = {concept.iri: concept.zh or concept.en for concept in index.concepts}
    found = _read(books, RulesExtractor(Lexicon(index)))
    print("#", *(f"{relation} {len(some)}" for relation, some in sorted(found.items())))
    rng, number = random.Random(seed), 0  # noqa: S311
    for relation, some in sorted(found.items()):
        for claim, passage, document in rng.sample(some, min(each, len(some))):
            number += 1
            around = passage.text[max(0, claim.start - 40) : claim.start + 90]
            said = (names.get(claim.subject.value, ""), relation, _shown(claim.object, names))
            where = document.source.title_zh, " / ".join(passage.section.path)
            texts = passage.text[claim.start : claim.end], around
            print(number, *said, *where, *(text.replace("\n", "⏎") for text in texts), sep="\t")


def _read(books: Path, rules: RulesExtractor) -> dict[str, list[Read]]:
    settings, dataset = IngestSettings(), load_dataset("tcm-ancient-books")
    found: dict[str, list[Read]] = defaultdict(list)
    for book in read_books(books, dataset, settings.max_text_bytes):
        if isinstance(book, ShiyiError):
            raise book
        for passage in tree_of(book, settings.passage_least, settings.passage_most).passages:
            for claim in rules.extract(passage, book.source).found:
                found[relation_of(claim)].append((claim, passage, book))
    return found


def _shown(said: NamedNode | Literal, names: dict[str, str]) -> str:
    return said.value if isinstance(said, Literal) else names.get(said.value, said.value)


def count(sheet: Path) -> None:
    """Print the share of right claims of each sample and relation, with 95 % intervals (Wilson)."""
    samples: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    with sheet.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["verdict"] not in VERDICTS:
                raise ValueError(row)
            samples[row["sample"]][row["predicate"]][row["verdict"]] += 1
    for name, by_relation in samples.items():
        print(_line(name, sum(by_relation.values(), Counter())))
        for relation, found in sorted(by_relation.items()):
            print(_line(f"  {relation}", found))


def _line(name: str, found: Counter[str]) -> str:
    total, right = sum(found.values()), found["right"]
    low, high = wilson(right, total)
    shares = ", ".join(f"{each} {found[each]}" for each in VERDICTS)
    return f"{name}: {total} claims, {shares}; right {right / total:.1%} ({low:.1%} to {high:.1%})"


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    share, square = right / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    root = math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    half = z * root / (1 + square / total)
    return middle - half, middle + half


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("draw", "count"))
    parser.add_argument("path", nargs="?", type=Path, default=SHEET, help="books, or judged claims")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=17, help="claims of each relation")
    args = parser.parse_args()
    if args.what == "draw":
        draw(args.path, args.seed, args.each)
    else:
        count(args.path)


if __name__ == "__main__":
    main()
