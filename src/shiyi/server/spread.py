"""How confidence, tiers, checks and relations are spread over the claims of a base, in no language."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from shiyi.model.rdf import DefaultGraph, Term, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.sparql.store import QuadStore

_ACCEPTED = DefaultGraph()
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Spread:
    """Counts of claims by tenth of confidence and by property, and of evidence by tier and check."""

    confidence: tuple[int, ...]
    tiers: Mapping[str, int]
    checked: Mapping[str, int]
    relations: Mapping[str, int]

    @classmethod
    def of(cls, store: QuadStore) -> Self:
        """Count the accepted view: five seconds for each million of evidence."""
        steps = Counter(
            min(int(float(text(quad.object)) * _STEPS), _STEPS - 1)
            for quad in store.match(None, SHIYI.confidence, None, _ACCEPTED)
        )
        tier_of: dict[Term, str] = {
            quad.subject: local_name(text(quad.object)).removeprefix("tier-")
            for quad in store.match(None, SHIYI.sourceTier, None, _ACCEPTED)
        }
        cited = store.match(None, DCTERMS.source, None, _ACCEPTED)
        checks = store.match(None, SHIYI.checked, None, _ACCEPTED)
        said = store.match(None, RDF.reifies, None, _ACCEPTED)
        return cls(
            tuple(steps[n] for n in range(_STEPS)),
            dict(Counter(tier_of[quad.object] for quad in cited if quad.object in tier_of)),
            dict(Counter(text(quad.object) for quad in checks)),
            dict(Counter(text(q.object.predicate) for q in said if isinstance(q.object, Triple))),
        )

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Self:
        """Take what :meth:`to_json` gave; ``KeyError`` and its like where it is something else."""
        tiers, checked, relations = (
            {str(name): int(count) for name, count in said[key].items()}
            for key in ("tiers", "checked", "relations")
        )
        return cls(tuple(map(int, said["confidence"])), tiers, checked, relations)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON holds it."""
        return asdict(self)
