"""How the claims and their evidence are distributed, counted once for each release."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode, Term, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.server.counting import CLASSES
from shiyi.server.reading import ACCEPTED, Reader
from shiyi.server.wording import Catalogue

Bars = tuple[tuple[str, int], ...]
_RELATIONS = 15


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts as labelled bars."""

    confidence: Bars
    tiers: Bars
    checked: Bars
    relations: Bars


def statistics(reader: Reader, words: Catalogue) -> Statistics:
    """Count the accepted view."""
    steps = Counter(
        min(int(float(text(quad.object)) * 10), 9)
        for quad in reader.store.match(None, SHIYI.confidence, None, ACCEPTED)
    )
    tier_of: dict[Term, str] = {
        quad.subject: local_name(text(quad.object)).removeprefix("tier-")
        for quad in reader.store.match(None, SHIYI.sourceTier, None, ACCEPTED)
    }
    cited = reader.store.match(None, DCTERMS.source, None, ACCEPTED)
    tiers = Counter(tier_of[quad.object] for quad in cited if quad.object in tier_of)
    checks = Counter(
        text(quad.object) for quad in reader.store.match(None, SHIYI.checked, None, ACCEPTED)
    )
    relations = Counter(
        quad.object.predicate
        for quad in reader.store.match(None, RDF.reifies, None, ACCEPTED)
        if isinstance(quad.object, Triple)
    )
    return Statistics(
        tuple(
            (f"{n / 10:.1f}–{(n + 1) / 10:.1f}", steps[n]) for n in range(min(steps, default=0), 10)
        ),
        _ranked((words.get(f"tier.{name}", name), count) for name, count in tiers.items()),
        _ranked((words.get(f"checked.{name}", name), count) for name, count in checks.items()),
        _ranked(
            (reader.thing(node).label, count) for node, count in relations.most_common(_RELATIONS)
        ),
    )


def classes(reader: Reader, counts: Mapping[str, int]) -> Bars:
    """Name the largest classes of concepts."""
    return _ranked(
        (reader.thing(NamedNode(VOCAB + name)).label, counts[name])
        for name in CLASSES if name in counts
    )[:_RELATIONS]  # fmt: skip


def _ranked(bars: Iterable[tuple[str, int]]) -> Bars:
    return tuple(sorted(bars, key=lambda each: -each[1]))
