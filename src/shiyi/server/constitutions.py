"""Which constitutions a person's signs may point to: candidates only, by the standard's formula."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.errors import UsageError
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode, Term
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.reading import ACCEPTED, Reader, Thing

ITEMS: Final = 5  # signs asked for each constitution; the standard's questionnaire has more
YES, TENDENCY = 40.0, 30.0  # of 100; ZYYXH/T 157-2009
_STEPS: Final = frozenset("12345")


@dataclass(frozen=True, slots=True)
class Items:
    """The signs asked for one constitution, those that tell it best first."""

    constitution: Thing
    signs: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """A transformed score from 0 to 100, and what it may mean: candidate, tendency or none."""

    constitution: Thing
    value: float
    verdict: str


def transformed(answers: list[int]) -> float:
    """Transform raw answers of 1 to 5: (sum - n) / (4 n) x 100.

    >>> transformed([1, 1]), transformed([5, 5]), transformed([3, 3])
    (0.0, 100.0, 50.0)
    """
    return (sum(answers) - len(answers)) / (len(answers) * 4) * 100


def items(reader: Reader) -> tuple[Items, ...]:
    """Choose the signs of each biased constitution, the rarest among constitutions first."""
    signs: dict[NamedNode, list[Term]] = {}
    for quad in reader.store.match(None, RDF.type, SHIYI.Constitution, ACCEPTED):
        if isinstance(quad.subject, NamedNode) and not quad.subject.value.endswith("-balanced"):
            said = reader.values(quad.subject, SHIYI.hasManifestation)
            signs[quad.subject] = [term for term in said if not _for_a_doctor(reader.thing(term))]
    shared = [term for found in signs.values() for term in found]
    made = []
    for node, found in sorted(signs.items(), key=lambda each: each[0].value):
        chosen = sorted(found, key=lambda term: (shared.count(term), reader.thing(term).iri))
        made.append(Items(reader.thing(node), tuple(map(reader.thing, chosen[:ITEMS]))))
    return tuple(each for each in made if each.signs)


def scores(asked: tuple[Items, ...], said: Mapping[str, str]) -> tuple[Score, ...]:
    """Score what was answered, highest first; a constitution with an unanswered sign has no score.

    Raises UsageError for an answer that is not 1 to 5.
    """
    made = []
    for group in asked:
        given = [said.get(field(sign), "") for sign in group.signs]
        if wrong := [each for each in given if each and each not in _STEPS]:
            raise UsageError(f"an answer is 1 to 5, not {wrong[0][:20]!r}")
        if all(given):
            value = transformed([int(each) for each in given])
            made.append(Score(group.constitution, value, _verdict(value)))
    return tuple(sorted(made, key=lambda each: -each.value))


def field(sign: Thing) -> str:
    """Name the form field of a sign."""
    return sign.iri.removeprefix(ID)


def _for_a_doctor(sign: Thing) -> bool:
    """Tell whether a sign is of the pulse or the tongue, which people cannot judge themselves."""
    return bool(set("脉舌苔") & set(sign.label + sign.other))


def _verdict(value: float) -> str:
    return "candidate" if value >= YES else "tendency" if value >= TENDENCY else "unlikely"
