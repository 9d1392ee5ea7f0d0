"""A base grown with made-up claims to the size of a paper's, with hubs, in a folder that is stored.

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

import made_up
import numpy as np

from shiyi.answering.runtime import write_indexes
from shiyi.model.iris import VOCAB
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import DefaultGraph, Literal, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SKOS
from shiyi.reasoning.adjacency import Projection, load_edges
from shiyi.server.site.counts import store_counts
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore

SIZES: Final = {
    "yaoshi": (29_292, 24_984),
    "idisk": (334_265, 174_317),
    "double": (668_530, 348_634),  # twice that of iDISK
    "chain": (3_500_000, 1_200_000),
}
INDEXED: Final = "indexed"  # a file of this name tells that every index was written
_FORM: Final = 2  # of what is made up; a base made in another form is made again


def grow(kb: Path, relations: int, concepts: int, where: Path) -> Path:
    """Return a folder below ``where`` with the base ``kb`` and made-up claims, so many in all."""
    with KnowledgeBase.open(kb) as base:
        path = grown_path(base, relations, concepts, where)
        folder = path / "generations" / "grown"
        if not (path / "CURRENT").is_file():
            shutil.rmtree(path, ignore_errors=True)
            (folder / "index").mkdir(parents=True)
            loose = OxigraphStore.on_disk(folder / "store.part")
            with report_step("load"):
                for chunk in chunks(base, relations, concepts):
                    loose.load_n_quads(chunk)
                loose.flush()
            with report_step("pack"):
                loose.pack(folder / "store")
            loose.close()
            shutil.rmtree(folder / "store.part")
            _name(path, base, relations, concepts)
    if not (folder / INDEXED).is_file():  # else as an earlier run left it
        with report_step("index"), KnowledgeBase.open(path) as made:
            write_indexes(made, Settings())
            store_counts(made)
        (folder / INDEXED).touch()
    return path


def grown_path(base: KnowledgeBase, relations: int, concepts: int, where: Path) -> Path:
    """Return the folder that a base lies in, once it has grown."""
    release = base.release.removeprefix("sha256:")[:12]
    return where / f"{relations}-{concepts}-{_FORM}-{release}"


def adopt_base(
    loaded: Path, base: KnowledgeBase, relations: int, concepts: int, where: Path
) -> Path:
    """Accept a base into which :func:`chunks` were loaded for the grown one; its journal goes."""
    path = grown_path(base, relations, concepts, where)
    path.parent.mkdir(parents=True, exist_ok=True)
    loaded.rename(path)
    (made,) = (path / "generations").iterdir()
    made.rename(path / "generations" / "grown")
    for each in path.glob("journal.nq*"):
        each.unlink()
    _name(path, base, relations, concepts)
    return path


def _name(path: Path, base: KnowledgeBase, relations: int, concepts: int) -> None:
    release = json.dumps({"release": f"{base.release}+{relations}/{concepts}"})
    (path / "generations" / "grown" / "manifest.json").write_text(release, "utf-8")
    (path / "CURRENT.part").write_text("grown\n", "utf-8")
    (path / "CURRENT.part").rename(path / "CURRENT")


@contextmanager
def report_step(step: str) -> Iterator[None]:
    """State on the standard error how long a step took, and what memory was used at most so far."""
    started = time.perf_counter()
    yield
    print(
        json.dumps(
            {
                "step": step,
                "seconds": round(time.perf_counter() - started, 1),
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        ),
        file=sys.stderr,
        flush=True,
    )


def chunks(base: KnowledgeBase, relations: int, concepts: int) -> Iterator[bytes]:
    """Yield N-Quads: those of a base, then made-up ones up to so many relations and concepts."""
    written = io.BytesIO()
    if not isinstance(base.store, OxigraphStore):
        raise TypeError("the base must lie in a folder")
    base.store.dump(written)
    yield written.getvalue()
    edges = {(e.subject, local_name(e.predicate), e.object) for e in load_edges(base.store)}
    pools, known = pools_of(base.store)
    yield from made_up.concepts(pools, max(0, concepts - known))
    if relations > len(edges):
        yield from made_up.claims(pools, edges, relations - len(edges))


def pools_of(store: QuadStore) -> tuple[made_up.Pools, int]:
    """Return the concepts of a base that made-up claims may join, and count all its concepts."""
    pools, known = made_up.Pools(), set[str]()
    parents = Schema.load().parents.keys() - {"Claim", "Evidence", "Source", "Passage"}
    for quad in store.match(None, RDF.type, None, DefaultGraph()):
        kind, iri = local_name(text(quad.object)), text(quad.subject)
        if text(quad.object).startswith(VOCAB) and kind in parents:
            known.add(iri)
            if kind in pools.iris:
                pools.iris[kind].append(iri)
    draw = np.random.default_rng(0)
    for group in pools.iris.values():
        group.sort()
        draw.shuffle(group)  # any concept of the base may become a hub
    names: dict[str, dict[str, str]] = {iri: {} for kind in pools.iris.values() for iri in kind}
    for quad in store.match(None, SKOS.prefLabel, None, DefaultGraph()):
        if isinstance(quad.object, Literal) and text(quad.subject) in names:
            content = quad.object.value.replace("\\", " ").replace('"', " ")
            names[text(quad.subject)][quad.object.language or "en"] = content
    pools.names = {
        iri: (record.get("zh", "?"), record.get("en", "?")) for iri, record in names.items()
    }
    return pools, len(known)


def largest_hub(projection: Projection) -> str:
    """Return the concept with the most claims."""
    ends = np.concatenate((projection.source, projection.target))
    return projection.nodes[int(np.bincount(ends).argmax())]


def hub_paths(projection: Projection, hub: str, most: int = 10) -> list[RelationPath]:
    """List the relation paths of two hops with the most ways out of a concept."""
    steps = [Step(name, forward) for name in projection.predicates for forward in (True, False)]
    ends = {step: [hop.end for hop in projection.hops(hub, step)] for step in steps}
    ways: dict[RelationPath, int] = {}
    for first, results in ends.items():
        for second in steps:
            counted = sum(sum(1 for _ in projection.hops(end, second)) for end in results[:300])
            if counted:
                ways[first, second] = counted * max(1, len(results) // 300)
    return sorted(ways, key=lambda path: -ways[path])[:most]
