"""How much a knowledge base holds, counted when it is first opened and kept beside its indexes."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, Self

from typing_extensions import override

from shiyi.model.names import VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.reasoning.swap import derivation
from shiyi.sparql.durable import replace_file
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import applied_through

FILE: Final = "counts.json"

_KINDS: Final = "SELECT ?kind (COUNT(*) AS ?n) { ?thing a ?kind } GROUP BY ?kind"
_CONCEPTS: Final = f"SELECT (COUNT(DISTINCT ?thing) AS ?n) {{ ?thing {SKOS.prefLabel} ?name }}"
# classes of concepts, in the order the browse page shows them
CLASSES: Final = (
    "MFHSubstance", "Food", "Herb", "Dish", "Formula", "Constitution", "Syndrome", "Symptom",
    "Disease", "TCMDisease", "DSIngredient", "DSProduct", "Drug", "DrugClass", "Population",
    "EmergencySign", "Efficacy", "Therapy", "Nature", "Flavour", "Meridian", "Season", "Method",
    "RegulatoryStatus", "Rule", "ChemicalEntity", "Organism", "OrganismPart", "CausalFactor",
    "TherapeuticClass", "SystemOrganClass", "ToxicityLevel", "FoodGroup",
)  # fmt: skip


class Counts(Mapping[str, int]):
    """What is counted while the rest is opened; who looks before that is done waits."""

    def __init__(self, count: Callable[[], Mapping[str, int]]) -> None:
        """Count with ``count``, apart."""
        with_one = ThreadPoolExecutor(1, "counting")
        self._counted = with_one.submit(count)
        with_one.shutdown(wait=False)

    @classmethod
    def of(cls, base: KnowledgeBase, view: QuadStore, whole: bool) -> Self:
        """Count what ``view`` shows of a base; ``whole`` tells that it is all the base holds."""
        if not whole:
            return cls(partial(counts_of, view))
        return cls(partial(_queried, view) if base.is_remote else partial(_kept, base))

    @override
    def __getitem__(self, name: str) -> int:
        return self._counted.result()[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._counted.result())

    @override
    def __len__(self) -> int:
        return len(self._counted.result())


def _kept(base: KnowledgeBase) -> Mapping[str, int]:
    """Give the counts of an earlier opening of the same moment, else count and keep them."""
    place = base.folder / "index" / FILE
    moment = f"{base.release} {applied_through(base.store)} {derivation(base.store)}"
    with suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads(place.read_bytes())
        if said["moment"] == moment:
            return {str(name): int(count) for name, count in said["counts"].items()}
    counts = _queried(base.store)
    with suppress(OSError):  # a folder one may only read, or a full disk
        replace_file(place, json.dumps({"moment": moment, "counts": counts}).encode())
    return counts


def _queried(store: QuadStore) -> dict[str, int]:
    kinds = {row["kind"]: int(text(row["n"])) for row in store.select(_KINDS)}
    [concepts] = store.select(_CONCEPTS)
    return _told(
        lambda kind: kinds.get(kind, 0), lambda: int(text(concepts["n"])), lambda: len(store)
    )


def counts_of(store: QuadStore) -> dict[str, int]:
    """Count quads, claims, evidence, sources, concepts, and the concepts of each class that has any."""

    def concepts() -> int:
        labelled = store.match(None, SKOS.prefLabel, None, DefaultGraph())
        return len({quad.subject for quad in labelled})

    return _told(lambda kind: instances(store, kind), concepts, lambda: len(store))


def _told(
    of: Callable[[NamedNode], int], concepts: Callable[[], int], quads: Callable[[], int]
) -> dict[str, int]:
    whole = {"claims": of(SHIYI.Claim), "evidence": of(SHIYI.Evidence), "sources": of(SHIYI.Source)}
    whole |= {"concepts": concepts(), "quads": quads()}
    classes = {name: of(NamedNode(VOCAB + name)) for name in CLASSES}
    return whole | {name: count for name, count in classes.items() if count}


def instances(store: QuadStore, kind: NamedNode) -> int:
    """Count what the accepted view types as ``kind``."""
    return sum(1 for _ in store.match(None, RDF.type, kind, DefaultGraph()))
