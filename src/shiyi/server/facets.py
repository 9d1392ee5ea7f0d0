"""Narrowing a class of concepts by what claims say of its members, with what each choice leaves."""

from collections.abc import Mapping
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
# a query, since going through every claim of a large base here would take seconds; a claim of many
# pieces of evidence is looked up once
_BACKED: Final = f"""SELECT DISTINCT ?thing ?tier WHERE {{
  {{ SELECT DISTINCT ?claim ?tier {{
    ?evidence {SHIYI.sourceTier} ?tier . ?claim {SHIYI.evidence} ?evidence }} }}
  ?claim {RDF.reifies} <<( ?thing ?relation ?value )>>
}}"""
_TIER, _TIERS = "tier", resource("scheme-tier")
FACETED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula"})

Held = Mapping[Term, AbstractSet[Term]]  # by value, the things that have it


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, and how many members would be left with it."""

    key: str
    thing: Thing
    left: int


@dataclass(frozen=True, slots=True)
class Facet:
    """One way to narrow: its name, its values, and the one chosen."""

    name: str
    choices: tuple[Choice, ...]
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A class with its facets, and the members that have every chosen value."""

    facets: tuple[Facet, ...]
    left: frozenset[Term]

    @property
    def narrowed(self) -> bool:
        """Tell whether anything was chosen."""
        return any(each.chosen for each in self.facets)


def holders(reader: Reader) -> Mapping[str, Held]:
    """Collect, by facet and value, what has it: one pass over each relation, one query for tiers."""
    made: dict[str, Held] = {}
    for name, (relation, kind, forward) in _FACETS.items():
        found: dict[Term, set[Term]] = {
            quad.subject: set() for quad in reader.store.match(None, RDF.type, kind, ACCEPTED)
        }
        for quad in reader.store.match(None, relation, None, ACCEPTED):
            value, thing = (quad.object, quad.subject) if forward else (quad.subject, quad.object)
            if value in found:
                found[value].add(thing)
        made[name] = found
    tiers: dict[Term, set[Term]] = {
        quad.subject: set() for quad in reader.store.match(None, SKOS.inScheme, _TIERS, ACCEPTED)
    }
    for row in reader.store.select(_BACKED):
        if row["tier"] in tiers:
            tiers[row["tier"]].add(row["thing"])
    return {**made, _TIER: tiers}


def narrowing(
    reader: Reader, name: str, said: Mapping[str, str], held: Mapping[str, Held]
) -> Narrowing:
    """Narrow a class by what ``said`` chooses; FormatError where it names a value there is not."""
    members = frozenset(
        quad.subject
        for quad in reader.store.match(None, RDF.type, NamedNode(VOCAB + name), ACCEPTED)
    )
    if name not in FACETED:
        return Narrowing((), members)
    chosen = {facet: _chosen(facet, values, said) for facet, values in held.items()}
    picked = {facet: held[facet][value] for facet, value in chosen.items() if value is not None}
    made = []
    for facet, values in held.items():
        others = members.intersection(
            *(having for which, having in picked.items() if which != facet)
        )
        choices = tuple(
            Choice(_key(value), reader.thing(value), len(others & values[value]))
            for value in sorted(values, key=_key)
        )
        made.append(Facet(facet, choices, said.get(facet, "")))
    return Narrowing(tuple(made), members.intersection(*picked.values()))


def things(reader: Reader, nodes: AbstractSet[Term]) -> list[Thing]:
    """Name nodes, in the order of their labels."""
    return sorted((reader.thing(node) for node in nodes), key=lambda thing: thing.label)


def _chosen(facet: str, values: Held, said: Mapping[str, str]) -> Term | None:
    key = said.get(facet, "")
    if not key:
        return None
    found = next((value for value in values if _key(value) == key), None)
    if found is None:
        raise FormatError(facet, key, sorted(map(_key, values)))
    return found


def _key(value: Term) -> str:
    return value.value.rpartition("/")[2] if isinstance(value, NamedNode) else ""
