"""What a user would pick instead, beside Shiyi's, in one run over one base.

python bench/beside.py [KB] [--only NAME,…] [--focus 300] [--asked 200]

Stores: the accepted view, loaded and asked the same three queries by Shiyi's snapshot, pyoxigraph
from nothing, and rdflib in memory. Validation: Shiyi's gate and pySHACL, with the same shapes over
the same claims. Retrieval: the claims that answer made questions, found by `fused`, by BM25 (bm25s)
over verbalised claims, and in the manner of LightRAG (nearest concepts and nearest relation
sentences by the shipped vectors, then one hop). Each runs in a process of its own, so its memory is its own.
"""

import argparse
import importlib
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyoxigraph
from texts import _question as question_on
from texts import bm25_over

from shiyi.answering.knowledge.facts import EDIBLE, Fact, Facts
from shiyi.answering.methods import RETRIEVE, Query
from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding.reading import parse_question
from shiyi.linking.embedding import embedder
from shiyi.linking.normalization import QuestionText
from shiyi.model.iris import VOCAB
from shiyi.model.profile import Profile
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.schema import Schema
from shiyi.settings import Settings
from shiyi.shapes.validation import shapes_graph, to_graph, validate
from shiyi.sparql.base.knowledge_base import KnowledgeBase

PREFIX: Final = f"PREFIX s: <{VOCAB}> PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
QUERIES: Final = {
    "one hop": "SELECT ?x ?name { ?x s:interactsWith <https://w3id.org/shiyi/id/drug-warfarin> ; skos:prefLabel ?name }",
    "two hops": "SELECT DISTINCT ?x ?z { ?x s:contraindicatedIn ?y . ?y s:hasManifestation ?z }",
    "counts": "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)",
}
ROUNDS, K = 15, 10


def peak_mib() -> int:
    """Return the most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def time_queries(ask: Callable[[str], Any]) -> dict[str, float | int]:
    """Ask each query, warm; return the median milliseconds and the rows."""
    results: dict[str, float | int] = {}
    for name, query in QUERIES.items():
        rows = sum(1 for _ in ask(PREFIX + query))
        spent = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for _ in ask(PREFIX + query):
                pass
            spent.append((time.perf_counter() - started) * 1000)
        results |= {f"{name}, ms": round(statistics.median(spent), 2), f"{name}, rows": rows}
    return results


def dump_accepted(base: Path) -> bytes:
    """Return the default graph as N-Triples, without what is stated of claims."""
    with KnowledgeBase.open(base) as opened:
        quads = opened.store.match(None, None, None, DefaultGraph())
        return "".join(
            f"{q.subject} {q.predicate} {q.object} .\n"
            for q in quads
            if not isinstance(q.object, pyoxigraph.Triple)
        ).encode()


def measure_store(base: Path, name: str) -> dict[str, Any]:
    """Load the accepted view into a store and ask it."""
    if name == "shiyi":
        started = time.perf_counter()
        with KnowledgeBase.open(base) as opened:
            loading = time.perf_counter() - started
            generation = base / "generations" / (base / "CURRENT").read_text("utf-8").strip()
            store = pyoxigraph.Store.read_only(str(generation / "store"))
            del opened
        answers = time_queries(store.query)
    elif name == "pyoxigraph":
        data, store = dump_accepted(base), pyoxigraph.Store()
        started = time.perf_counter()
        store.bulk_load(input=data, format=pyoxigraph.RdfFormat.N_TRIPLES)
        loading = time.perf_counter() - started
        answers = time_queries(store.query)
    else:
        graph = importlib.import_module("rdflib").Graph()
        data = dump_accepted(base)
        started = time.perf_counter()
        graph.parse(data=data, format="nt")
        loading = time.perf_counter() - started
        answers = time_queries(graph.query)
    return {
        "store": name,
        "to open or load, s": round(loading, 2),
        **answers,
        "peak MiB": peak_mib(),
    }


def measure_validation(base: Path, name: str, focus: int) -> dict[str, Any]:
    """Validate so many claims with all that describes them; both report the same results."""
    with KnowledgeBase.open(base) as opened:
        claims = islice(
            opened.store.match(None, None, pyoxigraph.NamedNode(VOCAB + "Claim"), None), focus
        )
        quads = [q for claim in claims for q in describe_claim(opened, claim.subject)]
    data, shapes = to_graph(quads), shapes_graph()
    started = time.perf_counter()
    if name == "shiyi":
        results = len(validate(data, shapes))
    else:
        conforms, report, _ = importlib.import_module("pyshacl").validate(data, shacl_graph=shapes)
        del conforms
        result = importlib.import_module("rdflib").namespace.SH.result
        results = sum(1 for _ in report.objects(None, result))
    seconds = time.perf_counter() - started
    return {
        "validation": name,
        "claims": focus,
        "triples": len(data),
        "results": results,
        "seconds": round(seconds, 2),
        "claims/s": round(focus / seconds),
        "peak MiB": peak_mib(),
    }


def describe_claim(base: KnowledgeBase, node: Any, depth: int = 1) -> Iterable[Any]:
    """Yield what is stated of a claim and of what it names."""
    for quad in base.store.match(node, None, None, None):
        yield quad
        if depth and isinstance(quad.object, pyoxigraph.NamedNode):
            yield from describe_claim(base, quad.object, depth - 1)


def measure_retrieval(base: Path, name: str, questions: int) -> dict[str, Any]:
    """Ask made questions on known claims; a hit is a claim of that subject and relation among ten."""
    with KnowledgeBase.open(base) as opened:
        facts = Facts.read(opened.store, Schema.load())
        known_facts = {
            f.claim: f
            for row in facts.by_subject.values()
            for f in row
            if not f.derived and not f.language
        }
        ordered_facts = sorted(known_facts.values(), key=lambda f: f.claim)
        drawn = random.Random(1).sample(ordered_facts, questions)  # noqa: S311
        started = time.perf_counter()
        search = RETRIEVERS[name](opened, facts, known_facts)
        building = time.perf_counter() - started
        spent, hits = [], 0
        for place, fact in enumerate(drawn):
            text = question_on(facts, fact, "zh" if place % 2 else "en")
            started = time.perf_counter()
            results = search(text)[:K]
            spent.append((time.perf_counter() - started) * 1000)
            hits += any(
                (known_facts[c].subject, known_facts[c].predicate) == (fact.subject, fact.predicate)
                for c in results
                if c in known_facts
            )
    return {
        "retrieval": name,
        "questions": questions,
        "to build, s": round(building, 2),
        "p50 ms": round(statistics.median(spent), 2),
        "p95 ms": round(sorted(spent)[int(0.95 * questions)], 2),
        "hit@10": round(hits / questions, 3),
        "peak MiB": peak_mib(),
    }


Known = dict[str, Fact]
Search = Callable[[str], Sequence[str]]


def fused_search(base: KnowledgeBase, facts: Facts, known: Known) -> Search:
    """Search as answers do."""
    runtime = Runtime.open(base, Settings())

    def search(text: str) -> list[str]:
        reading = parse_question(
            QuestionText.of(text),
            Profile(),
            runtime.linker,
            runtime.facts,
            runtime.settings.understanding,
        )
        query = Query(reading, (), EDIBLE, advice=False, k=K, least=0.0)
        return [fact.fact.claim for fact in RETRIEVE["fused"](query, runtime, None).claims]

    return search


def format_claim(facts: Facts, fact: Fact) -> str:
    """Write a claim as words of both languages."""
    return " ".join(
        name
        for language in ("zh", "en")
        for name in (
            facts.label(fact.subject, language),
            facts.property_label(fact.predicate, language),
            facts.label(fact.object, language),
        )
    )


def bm25s(base: KnowledgeBase, facts: Facts, known: Known) -> Search:
    """Search verbalised claims by BM25."""
    return bm25_over([format_claim(facts, fact) for fact in known.values()], list(known))


def lightrag(base: KnowledgeBase, facts: Facts, known: Known) -> Search:
    """Search by vectors of concepts (then their claims) and of relation sentences, in turn."""
    shipped = embedder.open_shipped()
    if shipped is None:
        sys.exit("no shipped vectors: run `shiyi train embeddings` first")
    claims = list(known)
    relations = shipped.encode([format_claim(facts, known[c]) for c in claims])
    around = defaultdict[str, list[str]](list)
    for claim, fact in known.items():
        around[fact.subject].append(claim)
        around[fact.object].append(claim)
    concepts = sorted(around)
    entities = shipped.encode([f"{facts.label(c, 'zh')} {facts.label(c, 'en')}" for c in concepts])

    def search(text: str) -> list[str]:
        row = shipped.encode([text])[0]
        found = (relations @ row).argsort()[::-1][: 2 * K].tolist()
        cosine = dict(zip(claims, (relations @ row).tolist(), strict=True))
        near = [concepts[i] for i in (entities @ row).argsort()[::-1][:3].tolist()]
        local = sorted({c for item in near for c in around[item]}, key=lambda c: -cosine[c])
        merged = [c for pair in zip(local, (claims[i] for i in found), strict=False) for c in pair]
        return list(dict.fromkeys(merged))

    return search


RETRIEVERS: Final[dict[str, Callable[[KnowledgeBase, Facts, Known], Search]]] = {
    "fused": fused_search, "bm25s": bm25s, "lightrag": lightrag,
}  # fmt: skip


def main() -> None:
    """Run each in a process of its own; print a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", type=Path, nargs="?", default=Path("kb"))
    parser.add_argument("--focus", type=int, default=300)
    parser.add_argument("--asked", type=int, default=200)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    result = parser.parse_args()
    if result.one:
        part, _, name = result.one.partition(":")
        results = (
            measure_store(result.kb, name)
            if part == "store"
            else measure_validation(result.kb, name, result.focus)
            if part == "validate"
            else measure_retrieval(result.kb, name, result.asked)
        )
        print(json.dumps(results, ensure_ascii=False))
        return
    for one in (
        "store:shiyi",
        "store:pyoxigraph",
        "store:rdflib",
        "validate:shiyi",
        "validate:pyshacl",
        *(f"retrieve:{name}" for name in RETRIEVERS),
    ):
        subprocess.run(  # noqa: S603 - this program
            [
                sys.executable,
                __file__,
                str(result.kb),
                "--one",
                one,
                "--focus",
                str(result.focus),
                "--asked",
                str(result.asked),
            ],
            check=True,
        )


if __name__ == "__main__":
    main()
