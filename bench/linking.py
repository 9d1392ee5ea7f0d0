"""How fast and how well mentions are linked: `python bench/linking.py [--strings N]`."""

import argparse
import csv
import json
import random
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import daachorse
import numpy as np

from shiyi.artefacts import artefact
from shiyi.linking.completion import Completer
from shiyi.linking.dictionary import Dictionary
from shiyi.linking.embedding.embedder import SentenceTransformersEmbedder, open_shipped
from shiyi.linking.embedding.index import LabelVectors
from shiyi.linking.labels import Concept, Label, LabelIndex
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import fold, normalise

GOLD = Path(__file__).parents[1] / "tests" / "data" / "linking.tsv"


def gold() -> list[dict[str, str]]:
    with GOLD.open(encoding="utf-8") as lines:
        results = (line for line in lines if not line.startswith("# "))
        return list(csv.DictReader(results, delimiter="\t", quoting=csv.QUOTE_NONE))


def time_call(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    value = call()
    return value, time.perf_counter() - started


def accuracy(
    link: Callable[[dict[str, str]], str], rows: Sequence[dict[str, str]] = ()
) -> dict[str, float]:
    right: dict[str, list[bool]] = defaultdict(list)
    for row in rows or gold():
        expected, text = set(filter(None, row["expected"].split("|"))), link(row)
        good = text in expected if expected else not text
        for name in (row["group"], "all known" if expected else "all unlinkable"):
            right[name].append(good)
    return {name: round(statistics.mean(group), 4) for name, group in right.items()}


def shiyi_linker(linker: Linker) -> Callable[[dict[str, str]], str]:
    def link(row: dict[str, str]) -> str:
        start = int(row["start"])
        end = start + len(row["mention"])
        shared = [
            (min(mention.end, end) - max(mention.start, start), mention.iri.rpartition("/")[2])
            for mention in linker.link(row["text"])
            if mention.iri and mention.start < end and mention.end > start
        ]
        return max(shared)[1] if shared else ""

    return link


def recall_at_ten(linker: Linker) -> float:
    """Return the share of known mentions whose concept is among the ten candidates."""
    results = []
    for row in gold():
        if expected := set(filter(None, row["expected"].split("|"))):
            values = {
                mention.iri.rpartition("/")[2] for mention in linker.candidates(row["mention"], 10)
            }
            results.append(bool(values & expected))
    return round(statistics.mean(results), 4)


def compare_model(
    name: str, linker: Linker, index: LabelIndex, vectors: LabelVectors
) -> dict[str, dict[str, float]]:
    """Compare with another sentence-transformers model, on the mentions in Latin script."""
    english = [label for label in index.labels if label.text.isascii()]
    part = LabelIndex(index.release, index.concepts, tuple(english))
    their_vectors = LabelVectors.of(part, SentenceTransformersEmbedder(name))
    systems = {
        "whole linker": shiyi_linker(linker),
        "shipped model, 0.75": embedding_alone(LabelVectors.of(part, vectors.embedder), part),
        **{
            f"{Path(name).name}, {least}": embedding_alone(their_vectors, part, least)
            for least in (0.75, 0.6)
        },
    }
    rows = [row for row in gold() if row["mention"].isascii()]
    return {title: accuracy(system, rows) for title, system in systems.items()}


def tfidf(index: LabelIndex, threshold: float) -> Callable[[dict[str, str]], str]:
    """Plain TF-IDF of character 1- to 3-grams with cosine, as a baseline."""
    texts = [fold(label.text) for label in index.labels]
    counts = [_grams(text) for text in texts]
    seen: dict[str, int] = defaultdict(int)
    for count in counts:
        for gram in count:
            seen[gram] += 1
    idf = {gram: np.log(len(texts) / n) for gram, n in seen.items()}
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, count in enumerate(counts):
        norm = sum((n * idf[gram]) ** 2 for gram, n in count.items()) ** 0.5 or 1.0
        for gram, n in count.items():
            postings[gram].append((place, n * idf[gram] / norm))

    def link(row: dict[str, str]) -> str:
        own = {
            gram: n * idf[gram] for gram, n in _grams(fold(row["mention"])).items() if gram in idf
        }
        norm = sum(value**2 for value in own.values()) ** 0.5 or 1.0
        scores: dict[int, float] = defaultdict(float)
        for gram, value in own.items():
            for place, weight in postings[gram]:
                scores[place] += weight * value / norm
        best = max(scores, key=lambda place: scores[place], default=-1)
        if best < 0 or scores[best] < threshold:
            return ""
        return index.concepts[index.labels[best].concept].iri.rpartition("/")[2]

    return link


def _grams(text: str) -> dict[str, int]:
    results: dict[str, int] = defaultdict(int)
    for size in (1, 2, 3):
        for place in range(len(text) - size + 1):
            results[text[place : place + size]] += 1
    return results


def embedding_alone(
    vectors: LabelVectors, index: LabelIndex, least: float = 0.75
) -> Callable[[dict[str, str]], str]:
    def link(row: dict[str, str]) -> str:
        ((place, score),) = vectors.search([row["mention"]], 1)[0]
        if score < least:
            return ""
        return index.concepts[index.labels[place].concept].iri.rpartition("/")[2]

    return link


def latency(call: Callable[[str], Any], texts: Sequence[str], rounds: int = 20) -> dict[str, float]:
    for text in texts:
        call(text)
    wall, cpu = [], []
    for _ in range(rounds):
        for text in texts:
            started, used = time.perf_counter(), time.process_time()
            call(text)
            wall.append((time.perf_counter() - started) * 1e3)
            cpu.append((time.process_time() - used) * 1e3)
    return {
        f"{name} {part} ms": round(sorted(taken)[int((len(taken) - 1) * share)], 3)
        for name, taken in (("wall", wall), ("cpu", cpu))
        for part, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    }


def synthetic(strings: int) -> tuple[LabelIndex, list[str]]:
    """Make up an index of as many names, and sentences of about 150 characters over it."""
    chance = random.Random(7)  # noqa: S311
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    names = {"".join(chance.choices(letters, k=chance.randint(3, 7))) for _ in range(strings)}
    # as of another language, since no pinyin is asked of what means nothing
    labels = [Label(name, "en", place, "preferred") for place, name in enumerate(sorted(names))]
    concepts = tuple(Concept(f"i:{place}", "Food", "", "") for place in range(len(labels)))
    sentences = []
    for _ in range(2000):
        parts = [chance.choice(labels).text for _ in range(3)]
        filler = ["".join(chance.choices(letters, k=45)) for _ in parts]
        sentences.append("，".join(part + more for part, more in zip(parts, filler, strict=True)))
    return LabelIndex("synthetic", concepts, tuple(labels)), sentences


def cpu_rate(call: Callable[[str], Any], texts: Sequence[str]) -> int:
    """Count the texts per second of processor time."""
    started = time.process_time()
    for text in texts:
        call(text)
    return round(len(texts) / (time.process_time() - started))


def memory() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def scale(strings: int) -> dict[str, float]:
    index, sentences = synthetic(strings)
    before, stored = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, memory()
    dictionary, build = time_call(lambda: Dictionary(index))
    slowly = cpu_rate(dictionary.find, sentences)
    _, hasten = time_call(dictionary.build_automaton)
    after, grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, memory() - stored
    bare = daachorse.CharwiseDoubleArrayAhoCorasick(list(dictionary.forms))
    return {
        "strings": len(index.labels),
        "build s": round(build, 2),
        "make automaton s": round(hasten, 2),
        "growth MB, peak of building": round((after - before) / 1024),
        "growth MB": round(grown),
        "fold sentences/cpu s": cpu_rate(normalise, sentences),
        "find by the trie sentences/cpu s": slowly,
        "find sentences/cpu s": cpu_rate(dictionary.find, sentences),
        "automaton alone sentences/cpu s": cpu_rate(bare.find_overlapping, sentences),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--model", help="a sentence-transformers model to compare with in English")
    options = parser.parse_args()
    index, reading = time_call(lambda: LabelIndex.from_tables(artefact("ontology/concepts")))
    model = open_shipped()
    if model is None:
        parser.error("no model is shipped; run `shiyi train embeddings`")
    vectors, embedding = time_call(lambda: LabelVectors.of(index, model))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index.save(folder)
        vectors.save(folder)
        size = sum(path.stat().st_size for path in folder.iterdir())
        read, loading = time_call(lambda: LabelIndex.load(folder, index.release))
        _, loading_vectors = time_call(lambda: LabelVectors.load(folder, read, model))
    linker, opening = time_call(lambda: Linker(index, vectors))
    completer, keys = time_call(lambda: Completer(index))
    texts = [row["text"] for row in gold()]
    prefixes = ["枸", "枸杞", "gou", "gqz", "g", "s", "high b", "阴", "xue"]
    measured = {
        "labels": len(index.labels),
        "concepts": len(index.concepts),
        "read tables s": round(reading, 2),
        "embed all labels s": round(embedding, 2),
        "index MB": round(size / 1e6, 2),
        "load labels s": round(loading, 3),
        "load vectors s": round(loading_vectors, 3),
        "make forms s": round(opening, 2),
        "make completion s": round(keys, 2),
        "link": latency(linker.link, texts, 3),
        "complete": latency(completer.complete, prefixes, 10),
        "candidates": latency(linker.candidates, texts[:60], 2),
        "resident MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "accuracy": {
            "shiyi": accuracy(shiyi_linker(linker)),
            "dictionary alone": accuracy(_dictionary_alone(linker)),
            "embedding alone, 0.75": accuracy(embedding_alone(vectors, index)),
            "TF-IDF 1-3-grams, 0.75": accuracy(tfidf(index, 0.75)),
            "TF-IDF 1-3-grams, 0.5": accuracy(tfidf(index, 0.5)),
        },
        "right concept among ten": recall_at_ten(linker),
        "English mentions": compare_model(options.model, linker, index, vectors)
        if options.model
        else {},
        "scale": scale(options.strings),
    }
    print(json.dumps(measured, ensure_ascii=False, indent=1))


def _dictionary_alone(linker: Linker) -> Callable[[dict[str, str]], str]:
    def link(row: dict[str, str]) -> str:
        text = fold(row["mention"])
        whole = [hit for hit in linker.dictionary.find(text) if hit.senses]
        if not whole:
            return ""
        longest = max(whole, key=lambda hit: hit.end - hit.start)
        return linker.index.concepts[longest.senses[0].concept].iri.rpartition("/")[2]

    return link


if __name__ == "__main__":
    main()
