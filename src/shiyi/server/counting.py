"""How much a knowledge base holds: counted with its indexes, or when it is first opened, and kept beside them."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

from typing_extensions import override

from shiyi.model.names import VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.description import Counts as Described
from shiyi.reasoning.swap import derivation
from shiyi.server.spread import Spread
from shiyi.sparql.durable import replace_file
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore
from shiyi.sparql.withheld import withheld
from shiyi.sparql.writer import applied_through

FILE: Final = "counts.json"
VOID_FILE: Final = "void.json"
SPREAD_FILE: Final = "spread.json"
_TOLD_APART: Final = 20_000_000  # quads up to which subjects and objects are told apart (ours)

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


def keep(base: KnowledgeBase) -> None:
    """Count what a base holds, for its pages and its VoID, so that no reader waits for it."""
    quads = _kept(base)["quads"]
    if withheld(base.store).nodes:  # those counts are of what all may see
        return

    def rows(query: str) -> Iterator[Mapping[str, str]]:
        return (
            {name: text(term) for name, term in row.items()} for row in base.store.select(query)
        )

    # telling equal ones apart takes memory for each; without, the description lacks three figures
    described = Described.asked(rows, distinct=quads <= _TOLD_APART)
    _write(base, VOID_FILE, described.to_json())
    _write(base, SPREAD_FILE, Spread.of(base.store).to_json())


def kept_description(base: KnowledgeBase) -> Described | None:
    """Give the counts of the accepted view that :func:`keep` kept, if nothing changed since."""
    with suppress(ValueError, KeyError, TypeError):
        if (said := _read(base, VOID_FILE)) is not None:
            return Described.of_json(said)
    return None


def kept_spread(base: KnowledgeBase) -> Spread | None:
    """Give how the accepted view is spread as :func:`keep` kept it, if nothing changed since."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        if (said := _read(base, SPREAD_FILE)) is not None:
            return Spread.of_json(said)
    return None


def _kept(base: KnowledgeBase) -> Mapping[str, int]:
    """Give the counts of an earlier opening of the same moment, else count and keep them."""
    if (said := _read(base, FILE)) is not None:
        return {str(name): int(count) for name, count in said.items()}
    counts = _queried(base.store)
    _write(base, FILE, counts)
    return counts


def _read(base: KnowledgeBase, name: str) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads((base.folder / "index" / name).read_bytes())
        if said["moment"] == _moment(base) and isinstance(said["counts"], dict):
            return said["counts"]
    return None


def _write(base: KnowledgeBase, name: str, counts: Mapping[str, object]) -> None:
    said = json.dumps({"moment": _moment(base), "counts": counts}).encode()
    with suppress(OSError):  # a folder one may only read, or a full disk
        replace_file(base.folder / "index" / name, said)


def _moment(base: KnowledgeBase) -> str:
    return f"{base.release} {applied_through(base.store)} {derivation(base.store)}"


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
