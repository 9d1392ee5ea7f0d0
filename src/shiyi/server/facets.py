"""Narrowing a class of concepts by what claims say of its members."""

from collections.abc import Mapping
from dataclasses import dataclass

from shiyi.errors import FormatError
from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import RDF, SHIYI
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
    for name, (_, kind, _) in _FACETS.items():
        found = reader.store.match(None, RDF.type, kind, ACCEPTED)
        things = sorted((reader.thing(quad.subject) for quad in found), key=lambda each: each.iri)
        values = {thing.iri.rpartition("/")[2]: thing for thing in things}
        chosen = said.get(name, "")
        if chosen and chosen not in values:
            raise FormatError(name, chosen, list(values))
        made.append(Facet(name, tuple(values.items()), chosen))
    return tuple(made)


def narrowed(reader: Reader, name: str, chosen: tuple[Facet, ...]) -> list[Thing] | None:
    """List the members of a class that have every chosen value; None where nothing was chosen."""
    if not any(each.chosen for each in chosen):
        return None
    kind = NamedNode(VOCAB + name)
    left = {quad.subject for quad in reader.store.match(None, RDF.type, kind, ACCEPTED)}
    for each in (each for each in chosen if each.chosen):
        relation, _, forward = _FACETS[each.name]
        value = NamedNode(dict(each.values)[each.chosen].iri)
        if forward:
            left &= {quad.subject for quad in reader.store.match(None, relation, value, ACCEPTED)}
        else:
            left &= {
                quad.object for quad in reader.store.match(value, relation, None, ACCEPTED)
                if isinstance(quad.object, NamedNode)
            }  # fmt: skip
    return sorted((reader.thing(node) for node in left), key=lambda thing: thing.label)
