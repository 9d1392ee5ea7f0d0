"""Narrowing a class of concepts by what claims say of its members."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from shiyi.errors import FormatError
from shiyi.model.names import VOCAB, resource
from shiyi.model.rdf import NamedNode, Term
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.reading import ACCEPTED, Reader, Thing

# facet -> the relation, the class of its values, and whether the member is the subject
_FACETS: dict[str, tuple[NamedNode, NamedNode, bool]] = {
    "nature": (SHIYI.hasNature, SHIYI.Nature, True),
    "flavour": (SHIYI.hasFlavour, SHIYI.Flavour, True),
    "meridian": (SHIYI.hasMeridianTropism, SHIYI.Meridian, True),
    "constitution": (SHIYI.suitableFood, SHIYI.Constitution, False),
    "season": (SHIYI.suitableSeason, SHIYI.Season, True),
    "batch": (SHIYI.regulatoryStatus, SHIYI.RegulatoryStatus, True),
}
# a query, since going through every claim of a large base here would take seconds
_BACKED: Final = f"""SELECT DISTINCT ?thing ?tier WHERE {{
  ?evidence <{SHIYI.sourceTier.value}> ?tier .
  ?claim <{SHIYI.evidence.value}> ?evidence ; <{RDF.reifies.value}> ?said .
  BIND(SUBJECT(?said) AS ?thing)
}}"""
_TIER, _TIERS = "tier", resource("scheme-tier")
FACETED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula"})


@dataclass(frozen=True, slots=True)
class Facet:
    """One way to narrow: its name, its values, and the one chosen."""

    name: str
    values: tuple[tuple[str, Thing], ...]
    chosen: str = ""


def facets(reader: Reader, said: Mapping[str, str]) -> tuple[Facet, ...]:
    """Give every facet with its values; FormatError where ``said`` names a value there is not."""
    made = []
    kinds = {name: (RDF.type, kind) for name, (_, kind, _) in _FACETS.items()}
    for name, (relation, kind) in {**kinds, _TIER: (SKOS.inScheme, _TIERS)}.items():
        found = reader.store.match(None, relation, kind, ACCEPTED)
        things = sorted((reader.thing(quad.subject) for quad in found), key=lambda each: each.iri)
        values = {thing.iri.rpartition("/")[2]: thing for thing in things}
        chosen = said.get(name, "")
        if chosen and chosen not in values:
            raise FormatError(name, chosen, list(values))
        made.append(Facet(name, tuple(values.items()), chosen))
    return tuple(made)


Backed = Mapping[Term, AbstractSet[Term]]  # by tier, the subjects of the claims with such evidence


def narrowed(
    reader: Reader, name: str, chosen: tuple[Facet, ...], backed: Callable[[], Backed]
) -> list[Thing] | None:
    """List the members of a class that have every chosen value; None where nothing was chosen."""
    if not any(each.chosen for each in chosen):
        return None
    kind = NamedNode(VOCAB + name)
    left = {quad.subject for quad in reader.store.match(None, RDF.type, kind, ACCEPTED)}
    for each in (each for each in chosen if each.chosen):
        value = NamedNode(dict(each.values)[each.chosen].iri)
        if each.name == _TIER:
            left &= backed().get(value, frozenset())
            continue
        relation, _, forward = _FACETS[each.name]
        if forward:
            left &= {quad.subject for quad in reader.store.match(None, relation, value, ACCEPTED)}
        else:
            left &= {
                quad.object for quad in reader.store.match(value, relation, None, ACCEPTED)
                if isinstance(quad.object, NamedNode)
            }  # fmt: skip
    return sorted((reader.thing(node) for node in left), key=lambda thing: thing.label)


def backed_by(reader: Reader) -> Backed:
    """Collect, by tier of evidence, the subjects of the claims that have it."""
    found: dict[Term, set[Term]] = {}
    for row in reader.store.select(_BACKED):
        found.setdefault(row["tier"], set()).add(row["thing"])
    return found
