"""Counts and distributions, stored with the indexes."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Self

from typing_extensions import override

from shiyi.errors import KnowledgeBaseError
from shiyi.model.claim import confidence_value
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, Term, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI, SKOS
from shiyi.publishing.void import Counts as Described
from shiyi.reasoning.derivation import derivation
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.base.writer import last_applied
from shiyi.sparql.store.files import add_checksum, replace_file, verify_checksum
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

_ACCEPTED = DefaultGraph()
_STEPS = 10


@dataclass(frozen=True, slots=True)
class ClaimDistribution:
    """Counts of claims by confidence and property, and of evidence by tier and kind."""

    confidence: tuple[int, ...]
    tiers: Mapping[str, int]
    kinds: Mapping[str, int]
    relations: Mapping[str, int]

    @classmethod
    def of(cls, store: QuadStore) -> Self:
        """Count the accepted view: five seconds for each million of evidence."""
        steps = Counter(
            min(int(confidence * _STEPS), _STEPS - 1)
            for quad in store.match(None, SHIYI.confidence, None, _ACCEPTED)
            if (confidence := confidence_value(quad.object)) is not None
        )
        tier_of: dict[Term, str] = {
            quad.subject: local_name(text(quad.object)).removeprefix("tier-")
            for quad in store.match(None, SHIYI.sourceTier, None, _ACCEPTED)
        }
        quads = store.match(None, DCTERMS.source, None, _ACCEPTED)
        kinds = store.match(None, SHIYI.evidenceKind, None, _ACCEPTED)
        reified = store.match(None, RDF.reifies, None, _ACCEPTED)
        return cls(
            tuple(steps[n] for n in range(_STEPS)),
            dict(Counter(tier_of[quad.object] for quad in quads if quad.object in tier_of)),
            dict(Counter(local_name(text(quad.object)).lower() for quad in kinds)),
            dict(
                Counter(text(q.object.predicate) for q in reified if isinstance(q.object, Triple))
            ),
        )

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Parse the result of :meth:`to_json`; raise ``KeyError`` or the like for another value."""
        tiers, kinds, relations = (
            {str(name): int(count) for name, count in values[key].items()}
            for key in ("tiers", "kinds", "relations")
        )
        return cls(tuple(map(int, values["confidence"])), tiers, kinds, relations)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)


FILE: Final = "counts.json"
VOID_FILE: Final = "void.json"
SPREAD_FILE: Final = "spread.json"
_DISTINCT: Final = 20_000_000  # quads up to which subjects and objects are distinguished (Shiyi's)

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
            return cls(partial(count_base, view))
        return cls(partial(_load, base))

    @override
    def __getitem__(self, name: str) -> int:
        return self._counted.result()[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._counted.result())

    @override
    def __len__(self) -> int:
        return len(self._counted.result())


def store_counts(base: KnowledgeBase) -> None:
    """Count what a base holds, for its pages and its VoID, so that no reader waits for it."""
    quads = _load(base)["quads"]
    if find_restricted(base.store).nodes:  # those counts are of what all may see
        return

    def rows(query: str) -> Iterator[Mapping[str, str]]:
        return (
            {name: text(term) for name, term in row.items()} for row in base.store.select(query)
        )

    # telling equal ones apart takes memory for each; without, the description lacks three figures
    counts = Described.of_endpoint(rows, distinct=quads <= _DISTINCT)
    _write(base, VOID_FILE, counts.to_json())
    _write(base, SPREAD_FILE, ClaimDistribution.of(base.store).to_json())


def load_description(base: KnowledgeBase, earlier: bool = False) -> Described | None:
    """Return the stored counts of the accepted view, if nothing changed since.

    With ``earlier`` those of any moment of this release.
    """
    with suppress(ValueError, KeyError, TypeError):
        if (values := _read(base, VOID_FILE, earlier)) is not None:
            return Described.of_json(values)
    return None


def store_description(base: KnowledgeBase, count: Callable[[], Described]) -> Described:
    """Count the accepted view and store it, unless it changed while it was counted."""
    moment, counts = _moment(base), count()
    if moment == _moment(base):
        _write(base, VOID_FILE, counts.to_json())
    return counts


def load_spread(base: KnowledgeBase) -> ClaimDistribution | None:
    """Return the stored distribution of the accepted view, if nothing changed since."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        if (values := _read(base, SPREAD_FILE)) is not None:
            return ClaimDistribution.of_json(values)
    return None


def _load(base: KnowledgeBase) -> Mapping[str, int]:
    """Return the counts of an earlier opening of the same moment, else count and keep them."""
    if (values := _read(base, FILE)) is not None:
        return {str(name): int(count) for name, count in values.items()}
    counts = count_base(base.store)
    _write(base, FILE, counts)
    return counts


def _read(base: KnowledgeBase, name: str, earlier: bool = False) -> dict[str, Any] | None:
    path = base.folder / "index" / name
    with suppress(OSError, ValueError, KeyError, TypeError, KnowledgeBaseError):
        values = json.loads(verify_checksum(path.read_bytes(), path))
        now = _moment(base)
        if values["moment"] == now or (earlier and values["moment"].split()[0] == now.split()[0]):
            return dict(values["counts"])
    return None


def _write(base: KnowledgeBase, name: str, counts: Mapping[str, object]) -> None:
    values = add_checksum(json.dumps({"moment": _moment(base), "counts": counts}) + "\n").encode()
    with suppress(OSError):  # a folder one may only read, or a full disk
        replace_file(base.folder / "index" / name, values)


def _moment(base: KnowledgeBase) -> str:
    return f"{base.release} {last_applied(base.store)} {derivation(base.store)}"


def count_base(store: QuadStore) -> dict[str, int]:
    """Count quads, claims, evidence, sources, concepts, and concepts by class."""
    kinds = {row["kind"]: int(text(row["n"])) for row in store.select(_KINDS)}
    [concepts] = store.select(_CONCEPTS)
    counts = {
        "claims": kinds.get(SHIYI.Claim, 0),
        "evidence": kinds.get(SHIYI.Evidence, 0),
        "sources": kinds.get(SHIYI.Source, 0),
        "concepts": int(text(concepts["n"])),
        "quads": len(store),
    }
    classes = {name: kinds.get(NamedNode(VOCAB + name), 0) for name in CLASSES}
    return counts | {name: count for name, count in classes.items() if count}
