"""Keyword indexes over the texts of a base: time, memory, and claims found; ``python bench/texts.py KB NAME``.

NAME is ``shiyi`` (what answers use) or ``bm25s`` where that package is installed. Each is to be run
in a process of its own, since memory is measured.
"""

import importlib
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.retrieval.library import Library
from shiyi.answering.retrieval.passages import Unit, units
from shiyi.linking.normalization import words
from shiyi.ontology.schema import Schema
from shiyi.sparql.base.knowledge_base import KnowledgeBase

Search = Callable[[str], list[str]]
ASKED, K = 400, 10


def main(kb: Path, name: str) -> None:
    with KnowledgeBase.open(kb) as base:
        facts = Facts.read(base.store, Schema.load())
        texts = list(units(base.store, facts))
    known_facts = {f.claim: f for row in facts.by_subject.values() for f in row if not f.derived}
    drawn = random.Random(1).sample([f for f in known_facts.values() if not f.language], ASKED)  # noqa: S311
    before, started = _peak(), time.perf_counter()
    search = INDEXES[name](texts)
    built, grown = time.perf_counter() - started, _peak() - before
    spent, hits = list[float](), 0
    for place, fact in enumerate(drawn):
        question = _question(facts, fact, "zh" if place % 2 else "en")
        started = time.perf_counter()
        found_facts = [known_facts[iri] for iri in search(question) if iri in known_facts]
        spent.append((time.perf_counter() - started) * 1000)
        asked = fact.subject, fact.predicate
        hits += any((f.subject, f.predicate) == asked for f in found_facts)
    print(
        json.dumps(
            {
                "index": name,
                "texts": len(texts),
                "build_seconds": round(built, 2),
                "memory_mb": grown // 1024,
                "p50_ms": round(statistics.median(spent), 2),
                "p95_ms": round(sorted(spent)[int(0.95 * ASKED)], 2),
                "hit@10": round(hits / ASKED, 3),
            }
        )
    )


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _question(facts: Facts, fact: Fact, language: str) -> str:
    name = facts.label(fact.subject, language)
    relation = facts.property_label(fact.predicate, language)
    return f"{name}的{relation}是什么？" if language == "zh" else f"{name} {relation} what?"


def _shiyi(texts: Sequence[Unit]) -> Search:
    library = Library.build(texts, "bench", None, Path(tempfile.mkdtemp()))
    return lambda question: [hit.unit.iri for hit in library.by_words(question, K)]


def _bm25s(texts: Sequence[Unit]) -> Search:
    return bm25_over([unit.text for unit in texts], [unit.iri for unit in texts])


def bm25_over(texts: Sequence[str], names: Sequence[str]) -> Search:
    """Index texts with the package bm25s; a search gives the names of the best."""
    made = importlib.import_module("bm25s").BM25()
    places: dict[str, int] = {}
    rows = [[places.setdefault(w, len(places)) for w in words(text)] for text in texts]
    made.index((rows, places), show_progress=False)

    def search(question: str) -> list[str]:
        asked = [places[w] for w in dict.fromkeys(words(question)) if w in places]
        if not asked:
            return []
        found, _ = made.retrieve([asked], k=K, show_progress=False)
        return [names[place] for place in found[0]]

    return search


INDEXES: dict[str, Callable[[Sequence[Unit]], Search]] = {
    "shiyi": _shiyi, "bm25s": _bm25s,
}  # fmt: skip

if __name__ == "__main__":
    kb, name = (*sys.argv[1:], "shiyi")[:2] if len(sys.argv) > 1 else ("kb", "shiyi")
    main(Path(kb), name)
