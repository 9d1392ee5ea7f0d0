"""Who is to eat: states, medicines, allergies, and foods that are not eaten."""

from collections.abc import Iterable
from dataclasses import dataclass

from shiyi.answering.ages import life_stages
from shiyi.answering.facts import Facts
from shiyi.answering.heard import TAKEN, Linker
from shiyi.answering.roles import MATERIAL
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI


@dataclass(frozen=True, slots=True)
class Person:
    """The states that are certain, the medicines taken, allergies and foods not eaten, as concepts.

    ``states`` are conditions of every kind, diets among them; ``left_out`` are foods and groups
    of foods; ``unknown`` are words of the profile that we could not link.
    """

    states: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def person_of(
    profile: Profile,
    linker: Linker,
    facts: Facts,
    mentioned: Iterable[str],
    taken: Iterable[str],
    allergens: Iterable[str],
    left_out: Iterable[str],
) -> Person:
    """Put together what the words and the profile say of who is to eat.

    ``mentioned`` are states, ``taken`` medicines, ``left_out`` foods not eaten, all named in the question.
    """
    unknown: list[str] = []

    def linked(said: Iterable[str], *classes: NamedNode) -> list[str]:
        found: list[str] = []
        for word in said:
            hits = [m.iri for m in linker.link(word) if m.iri and facts.is_a(m.iri, *classes)]
            found += hits
            if not hits:
                unknown.append(word)
        return found

    drugs = [*taken, *linked(profile.medicines, SHIYI.Drug, *MATERIAL)]
    allergies = [*allergens, *linked(profile.allergies, *TAKEN)]
    avoids = linked(profile.avoids, *TAKEN)
    prone = [resource("population-allergic").value] if allergies else []
    states = [*mentioned, *linked(profile.conditions, SHIYI.Condition)]
    states += linked(filter(None, [profile.constitution]), SHIYI.Constitution)
    states += [*prone, *(resource(name).value for name in life_stages(profile))]
    states += [
        f.object for drug in drugs for near in facts.above(drug)
        for f in facts.of(near, SHIYI.judgedAs)
    ]  # fmt: skip
    return Person(
        tuple(dict.fromkeys(s for s in states if s in facts.labels)),
        tuple(dict.fromkeys(drugs)), tuple(dict.fromkeys(allergies)), tuple(unknown),
        tuple(dict.fromkeys([*left_out, *avoids])),
    )  # fmt: skip
