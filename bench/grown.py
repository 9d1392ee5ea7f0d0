"""The starter base grown to the size of iDISK 2.0, with hubs: for benchmarks, in memory alone."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from shiyi.answering.runtime import Runtime
from shiyi.linking import embedder
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.linking.vectors import LabelVectors
from shiyi.model.names import ID, VOCAB, content_hash
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import DefaultGraph, local_name, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import Projection, accepted_edges
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore, n_quads

RELATIONS, CONCEPTS = 334_265, 174_317  # of iDISK 2.0
# what the made-up claims say, and how often out of 30
SAID: Final = (
    ("DSIngredient", "interactsWith", "Drug", 6), ("DSIngredient", "isEffectiveFor", "Disease", 5),
    ("DSIngredient", "isEffectiveFor", "Symptom", 3), ("Food", "relieves", "Symptom", 3),
    ("Syndrome", "hasManifestation", "Symptom", 3), ("Syndrome", "suitableFood", "Food", 3),
    ("Constitution", "suitableFood", "Food", 1), ("Food", "contraindicatedIn", "Syndrome", 1),
    ("Symptom", "relatedConstitution", "Constitution", 1), ("MFHSubstance", "relieves", "Symptom", 2),
    ("DSIngredient", "contraindicatedIn", "Disease", 2),
)  # fmt: skip
SKEW: Final = 3.0  # a concept at rank share r is drawn with density r**(1/SKEW - 1)
_CHUNK: Final = 20_000


def grown(base: KnowledgeBase, settings: Settings, relations: int, concepts: int) -> Runtime:
    """Give a runtime over the base's quads and made-up claims, so many in all."""
    store = OxigraphStore.in_memory()
    kept, pools = list[str](), defaultdict[str, list[str]](list)
    quads = list(base.store.match(None, None, None, None))
    for start in range(0, len(quads), 200_000):
        store.load_n_quads(n_quads(quads[start : start + 200_000]))
    for quad in base.store.match(None, RDF.type, None, DefaultGraph()):
        name = text(quad.object)
        if name.startswith(VOCAB) and local_name(name) in Schema.load().parents:
            pools[local_name(name)].append(text(quad.subject))
    held = sum(1 for _ in accepted_edges(store))
    for lines in _made(pools, max(0, relations - held), max(0, concepts - _count(pools)), kept):
        store.load_n_quads("".join(lines).encode())
    index = LabelIndex.from_store(store, "grown")
    shipped = embedder.shipped()
    linker = Linker(index, LabelVectors.of(index, shipped) if shipped else None, settings.linking)
    return Runtime.over(store, linker, Projection.from_store(store, "grown"), settings)


def _count(pools: Mapping[str, list[str]]) -> int:
    inner = {"Claim", "Evidence", "Source", "Passage"}
    return len({each for kind in pools.keys() - inner for each in pools[kind]})


def _made(
    pools: Mapping[str, list[str]], claims: int, concepts: int, lines: list[str]
) -> Iterator[list[str]]:
    draw = random.Random(0)  # noqa: S311 - made-up claims, no secret
    kinds = [
        kind
        for kind in dict.fromkeys(k for s in SAID for k in (s[0], s[2]))
        if kind != "Constitution"
    ]
    ordered = {kind: sorted(pools[kind]) for kind in (*kinds, "Constitution")}
    for found in ordered.values():
        draw.shuffle(found)  # any concept of the base may become a hub
    for n in range(concepts):
        kind = kinds[n % len(kinds)]
        iri = f"{ID}made-{n}"
        ordered[kind].append(iri)
        lines += [
            f"<{iri}> <{RDF.type.value}> <{VOCAB}{kind}> .\n",
            f'<{iri}> <http://www.w3.org/2004/02/skos/core#prefLabel> "{_name(draw)} {n}"@en .\n',
            f'<{iri}> <http://www.w3.org/2004/02/skos/core#prefLabel> "造物{n}"@zh .\n',
        ]
        if len(lines) >= _CHUNK:
            yield lines
            lines.clear()
    source = f"{ID}source/made"
    lines.append(f'<{source}> <http://www.w3.org/2000/01/rdf-schema#label> "made up"@en .\n')
    node = f"{ID}evidence/made"
    lines.append(f"<{node}> <http://purl.org/dc/terms/source> <{source}> .\n")
    lines.append(f"<{node}> <{SHIYI.sourceTier.value}> <{VOCAB}tier-paper> .\n")
    ways = [said for *said, share in SAID for _ in range(share)]
    seen = set[tuple[str, str, str]]()
    while len(seen) < claims:
        first, predicate, last = draw.choice(ways)
        one, other = (_drawn(draw, ordered[kind]) for kind in (first, last))
        if (one, predicate, other) in seen or one == other:
            continue
        seen.add((one, predicate, other))
        lines += _claim(one, VOCAB + predicate, other, round(draw.uniform(0.4, 0.95), 3), node)
        if len(lines) >= _CHUNK:
            yield lines
            lines.clear()
    yield lines


def _drawn(draw: random.Random, pool: list[str]) -> str:
    return pool[int(len(pool) * draw.random() ** SKEW)]


def _name(draw: random.Random) -> str:
    return "".join(draw.choice("bcdfglmnprst") + draw.choice("aeiou") for _ in range(4))


def _claim(one: str, predicate: str, other: str, held: float, node: str) -> list[str]:
    claim = f"{ID}claim/{content_hash(one, predicate, other)}"
    xsd = "http://www.w3.org/2001/XMLSchema#decimal"
    return [
        f"<{one}> <{predicate}> <{other}> .\n",
        f"<{claim}> <{RDF.type.value}> <{SHIYI.Claim.value}> .\n",
        f"<{claim}> <{RDF.reifies.value}> <<( <{one}> <{predicate}> <{other}> )>> .\n",
        f"<{claim}> <{SHIYI.status.value}> <{SHIYI.accepted.value}> .\n",
        f"<{claim}> <{SHIYI.polarity.value}> <{SHIYI.positive.value}> .\n",
        f'<{claim}> <{SHIYI.confidence.value}> "{held}"^^<{xsd}> .\n',
        f"<{claim}> <{SHIYI.evidence.value}> <{node}> .\n",
    ]


def largest_hub(projection: Projection) -> str:
    """Give the concept with the most claims."""
    degree: dict[int, int] = defaultdict(int)
    for side in (projection.source, projection.target):
        for node in side.tolist():
            degree[node] += 1
    return projection.nodes[max(degree, key=lambda node: degree[node])]


def hub_paths(projection: Projection, hub: str, most: int = 10) -> list[RelationPath]:
    """List the relation paths of two hops with the most ways out of a concept."""
    steps = [Step(name, forward) for name in projection.predicates for forward in (True, False)]
    ends = {step: [hop.end for hop in projection.hops(hub, step)] for step in steps}
    ways: dict[RelationPath, int] = {}
    for first, found in ends.items():
        for second in steps:
            counted = sum(sum(1 for _ in projection.hops(end, second)) for end in found[:300])
            if counted:
                ways[first, second] = counted * max(1, len(found) // 300)
    return sorted(ways, key=lambda path: -ways[path])[:most]
