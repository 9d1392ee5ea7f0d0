"""Draw claims of the `rules` extractor to be judged, and count what was judged.

`python bench/precision.py draw --kb KB --seed N --count 200` prints claims with their quotes;
`python bench/precision.py count [bench/judged/rules.tsv]` gives the share that is right.
"""

import argparse
import csv
import math
import random
from collections import Counter
from pathlib import Path

from shiyi.ingest.gate import CANDIDATES
from shiyi.linking.labels import LabelIndex
from shiyi.model.rdf import Literal, NamedNode, Term, local_name, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore

SHEET = Path(__file__).parent / "judged" / "rules.tsv"
VERDICTS = ("right", "doubtful", "wrong")


def draw(kb: Path, seed: int, count: int) -> None:
    """Print pieces of evidence drawn evenly: number, claim, source, section, quote, passage."""
    with KnowledgeBase.open(kb) as base:
        store = base.store
        index = LabelIndex.from_store(store, base.release)
        labels = {each.iri: each.zh or each.en for each in index.concepts}
        found = sorted(
            quad.subject.value
            for quad in store.match(None, SHIYI.quoteStart, None, CANDIDATES)
            if isinstance(quad.subject, NamedNode)
        )
        for number, iri in enumerate(random.Random(seed).sample(found, count), start=1):  # noqa: S311
            node = NamedNode(iri)
            [link] = store.match(None, SHIYI.evidence, node, CANDIDATES)
            said = [_one(store, link.subject, p) for p in (RDF.subject, RDF.predicate, RDF.object)]
            start = int(text(_one(store, node, SHIYI.quoteStart)))
            passage = text(_first(store, _one(store, node, PROV.wasDerivedFrom), RDF.value))
            source = _first(store, _one(store, node, DCTERMS.source), RDFS.label)
            names = [labels.get(text(t), local_name(text(t))) for t in said[:2]]
            names.append(_shown(said[2], labels))
            where = text(_one(store, node, SHIYI.sourceLocator))
            around = passage[max(0, start - 40) : start + 90].replace("\n", "⏎")
            quote = text(_one(store, node, SHIYI.quote)).replace("\n", "⏎")
            print(number, *names, text(source), where, quote, around, sep="\t")


def _shown(term: Term, labels: dict[str, str]) -> str:
    return term.value if isinstance(term, Literal) else labels.get(text(term), text(term))


def _one(store: QuadStore, subject: Term, predicate: NamedNode) -> Term:
    if not isinstance(subject, NamedNode):
        raise TypeError(subject)
    return next(iter(store.match(subject, predicate, None, CANDIDATES))).object


def _first(store: QuadStore, subject: Term, predicate: NamedNode) -> Term:
    if not isinstance(subject, NamedNode):
        raise TypeError(subject)
    return next(iter(store.match(subject, predicate, None, None))).object


def count(sheet: Path) -> None:
    """Print the share of right claims of each sample, with its 95 % interval (Wilson)."""
    samples: dict[str, Counter[str]] = {}
    with sheet.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["verdict"] not in VERDICTS:
                raise ValueError(row)
            samples.setdefault(row["sample"], Counter())[row["verdict"]] += 1
    for name, found in samples.items():
        total, right = sum(found.values()), found["right"]
        low, high = wilson(right, total)
        shares = ", ".join(f"{each} {found[each]}" for each in VERDICTS)
        print(
            f"{name}: {total} claims, {shares}; right {right / total:.1%} ({low:.1%} to {high:.1%})"
        )


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Give the 95 % interval of a share (Wilson 1927)."""
    share, square = right / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    root = math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    half = z * root / (1 + square / total)
    return middle - half, middle + half


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("draw", "count"))
    parser.add_argument("sheet", nargs="?", type=Path, default=SHEET)
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    args = parser.parse_args()
    if args.what == "draw":
        draw(args.kb, args.seed, args.count)
    else:
        count(args.sheet)


if __name__ == "__main__":
    main()
