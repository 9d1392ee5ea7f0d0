"""A base grown with made-up claims to the size of a paper's, with hubs, in a folder that is kept.

``grown(kb, relations, concepts, where)`` builds it once, some minutes at the size of iDISK 2.0: quads
are written as N-Quads and loaded in bulk, then indexed as ``shiyi build`` indexes. Later runs open it.
"""

import io
import json
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from shiyi.answering.runtime import write_indexes
from shiyi.model.names import ID, VOCAB, content_hash
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import DefaultGraph, local_name, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import Projection, accepted_edges
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore

SIZES: Final = {
    "yaoshi": (29_292, 24_984),
    "idisk": (334_265, 174_317),
    "chain": (3_500_000, 1_200_000),
}
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
INDEXED: Final = "indexed"  # a file of this name tells that every index was written
_SOURCES, _CHUNK = 40, 100_000  # claims written and loaded at once
_DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"


def grown(kb: Path, relations: int, concepts: int, where: Path) -> Path:
    """Give a folder below ``where`` with the base ``kb`` and made-up claims, so many in all."""
    with KnowledgeBase.open(kb) as base:
        release = f"{base.release}+{relations}/{concepts}"
        path = where / f"{relations}-{concepts}-{base.release.removeprefix('sha256:')[:12]}"
        folder = path / "generations" / "grown"
        if not (path / "CURRENT").is_file():
            shutil.rmtree(path, ignore_errors=True)
            (folder / "index").mkdir(parents=True)
            loose = OxigraphStore.on_disk(folder / "store.part")
            with told("load"):
                _fill(loose, base, relations, concepts)
            with told("pack"):
                loose.pack(folder / "store")
            loose.close()
            shutil.rmtree(folder / "store.part")
            (folder / "manifest.json").write_text(json.dumps({"release": release}), "utf-8")
            (path / "CURRENT.part").write_text("grown\n", "utf-8")
            (path / "CURRENT.part").rename(path / "CURRENT")
    if not (folder / INDEXED).is_file():  # else as an earlier run left it
        with told("index"), KnowledgeBase.open(path) as made:
            write_indexes(made, Settings())
        (folder / INDEXED).touch()
    return path


@contextmanager
def told(step: str) -> Iterator[None]:
    """Say on the standard error how long a step took, and what memory was used at most so far."""
    started = time.perf_counter()
    yield
    print(json.dumps({
        "step": step, "seconds": round(time.perf_counter() - started, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }), file=sys.stderr, flush=True)  # fmt: skip


def _fill(store: OxigraphStore, base: KnowledgeBase, relations: int, concepts: int) -> None:
    written = io.BytesIO()
    if not isinstance(base.store, OxigraphStore):
        raise TypeError("the base must lie in a folder")
    base.store.dump(written)
    store.load_n_quads(written.getvalue())
    pools: dict[str, list[str]] = {kind: [] for said in SAID for kind in (said[0], said[2])}
    known = set[str]()
    parents = Schema.load().parents.keys() - {"Claim", "Evidence", "Source", "Passage"}
    for quad in base.store.match(None, RDF.type, None, DefaultGraph()):
        kind, iri = local_name(text(quad.object)), text(quad.subject)
        if text(quad.object).startswith(VOCAB) and kind in parents:
            known.add(iri)
            if kind in pools:
                pools[kind].append(iri)
    edges = {(e.subject, e.predicate, e.object) for e in accepted_edges(base.store)}
    draw = np.random.default_rng(0)
    for found in pools.values():
        found.sort()
        draw.shuffle(found)  # any concept of the base may become a hub
    for chunk in _named(pools, max(0, concepts - len(known)), draw):
        store.load_n_quads(chunk)
    for chunk in _claims(pools, edges, max(0, relations - len(edges)), draw):
        store.load_n_quads(chunk)
    store.flush()


def _named(pools: dict[str, list[str]], count: int, draw: np.random.Generator) -> Iterator[bytes]:
    """Add concepts with a name in either language to the pools, constitutions aside."""
    kinds = [kind for kind in pools if kind != "Constitution"]
    label = "http://www.w3.org/2004/02/skos/core#prefLabel"
    syllables = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
    written = "青白赤黄紫乌金银铁石山水木草花叶根皮子果仁藤枝芽心耳角骨云雨风雪霜露星月日春夏秋冬东南西北上下大小长圆龙虎牛马羊鹿鹤雀蝉"
    for start in range(0, count, _CHUNK):
        lines = []
        many = min(_CHUNK, count - start)
        said = draw.integers(0, len(syllables), (many, 4)).tolist()
        read = draw.integers(0, len(written), (many, 5)).tolist()
        for n, (parts, signs) in enumerate(zip(said, read, strict=True), start):
            kind, iri = kinds[n % len(kinds)], f"{ID}made-{n}"
            pools[kind].append(iri)
            name = "".join(syllables[each] for each in parts)
            signed = "".join(written[each] for each in signs)  # of a sound few others share
            lines.append(
                f"<{iri}> <{RDF.type.value}> <{VOCAB}{kind}> .\n"
                f'<{iri}> <{label}> "{name} {n}"@en .\n<{iri}> <{label}> "{signed}"@zh .\n'
            )
        yield "".join(lines).encode()


def _claims(
    pools: dict[str, list[str]],
    known: set[tuple[str, str, str]],
    count: int,
    draw: np.random.Generator,
) -> Iterator[bytes]:
    """Write claims between skewed ends, none twice and none that the base holds."""
    yield _sources()
    share = np.array([each[3] for each in SAID])
    kinds = [(pools[a], f"{VOCAB}{name}", pools[b]) for a, name, b, _ in SAID]
    sizes = np.array([[len(a), len(b)] for a, _, b in kinds])
    seen, made, lines = set(known), 0, list[str]()
    while made < count:
        way = draw.choice(len(SAID), _CHUNK, p=share / share.sum())
        ends = (sizes[way] * draw.random((_CHUNK, 2)) ** SKEW).astype(np.int64)
        held = np.round(draw.uniform(0.4, 0.95, _CHUNK), 3)
        for which, (i, j), sure in zip(way.tolist(), ends.tolist(), held.tolist(), strict=True):
            first, predicate, last = kinds[which]
            said = first[i], predicate, last[j]
            if said in seen or said[0] == said[2] or made == count:
                continue
            seen.add(said)
            lines.append(_claim(*said, sure, made % _SOURCES))
            made += 1
        yield "".join(lines).encode()
        lines.clear()


def _sources() -> bytes:
    return "".join(
        f'<{ID}source/made-{n}> <http://www.w3.org/2000/01/rdf-schema#label> "made up {n}"@en .\n'
        f"<{ID}evidence/made-{n}> <http://purl.org/dc/terms/source> <{ID}source/made-{n}> .\n"
        f"<{ID}evidence/made-{n}> <{SHIYI.sourceTier.value}> <{VOCAB}tier-paper> .\n"
        for n in range(_SOURCES)
    ).encode()


def _claim(one: str, predicate: str, other: str, held: float, source: int) -> str:
    claim = f"{ID}claim/{content_hash(one, predicate, other)}"
    return (
        f"<{one}> <{predicate}> <{other}> .\n"
        f"<{claim}> <{RDF.type.value}> <{SHIYI.Claim.value}> .\n"
        f"<{claim}> <{RDF.reifies.value}> <<( <{one}> <{predicate}> <{other}> )>> .\n"
        f"<{claim}> <{SHIYI.status.value}> <{SHIYI.accepted.value}> .\n"
        f"<{claim}> <{SHIYI.polarity.value}> <{SHIYI.positive.value}> .\n"
        f'<{claim}> <{SHIYI.confidence.value}> "{held}"^^<{_DECIMAL}> .\n'
        f"<{claim}> <{SHIYI.evidence.value}> <{ID}evidence/made-{source}> .\n"
    )


def largest_hub(projection: Projection) -> str:
    """Give the concept with the most claims."""
    ends = np.concatenate((projection.source, projection.target))
    return projection.nodes[int(np.bincount(ends).argmax())]


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
