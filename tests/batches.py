"""Numbered batches of quads, for processes that are killed while they write them."""

from collections import Counter

from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.sparql.store import QuadStore

BATCH = 20
P = NamedNode("https://example.org/batch")


def batch(number: int) -> list[Quad]:
    value = Literal(str(number))
    return [Quad(NamedNode(f"https://example.org/b{number}-{i}"), P, value) for i in range(BATCH)]


def base(number: int) -> list[Quad]:
    return [quad for i in range(number, number + 100) for quad in batch(i)]


def batches(store: QuadStore) -> Counter[int]:
    return Counter(int(text(quad.object)) for quad in store.match(predicate=P))
