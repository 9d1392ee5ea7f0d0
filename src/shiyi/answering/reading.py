"""What a question says: its concepts by role, its intents, and the state the person is in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from shiyi.answering.cues import Intent, intents_of, names_medicine, refuses, words
from shiyi.answering.facts import Facts
from shiyi.answering.roles import AILMENT, MATERIAL
from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

# what taking a medicine or having a disease makes of a person
_BELONGS: Final = (
    ("drug-anticoagulants", "population-anticoagulated"),
    ("drug-immunosuppressants", "population-immunosuppressed"),
    ("disease-diabetes", "population-diabetic"),
    ("population-diabetic", "disease-diabetes"),
)


class Linker(Protocol):
    """Finds the concepts a text mentions."""

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """List mentions in order."""


@dataclass(frozen=True, slots=True)
class Person:
    """The states that are certain, the medicines taken, and allergies, all as concepts.

    ``states`` are conditions of every kind; ``unknown`` are words of the profile that we could
    not link.
    """

    states: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A question, understood."""

    question: str
    language: str
    mentions: tuple[Mention, ...]
    intents: frozenset[Intent]
    ailments: tuple[str, ...]
    absent: tuple[str, ...]
    constitutions: tuple[str, ...]
    populations: tuple[str, ...]
    materials: tuple[str, ...]
    drugs: tuple[str, ...]
    seasons: tuple[str, ...]
    methods: tuple[str, ...]
    rules: tuple[str, ...]
    emergencies: tuple[str, ...]
    others: tuple[str, ...]
    person: Person

    def wants(self, *intents: Intent) -> bool:
        """Tell whether any of these is asked for."""
        return bool(self.intents.intersection(intents))


def read_question(
    question: str, language: str, profile: Profile, linker: Linker, facts: Facts
) -> Reading:
    """Link the words, sort the concepts by role and add what the profile says."""
    mentions = linker.link(question, language)
    linked = [m for m in mentions if m.iri]
    intents = set(intents_of(question))
    drugs = [m for m in linked if facts.is_a(m.iri, SHIYI.Drug)]
    if Intent.STOP in intents and not (drugs or profile.medicines or names_medicine(question)):
        intents.discard(Intent.STOP)
    if any(refuses(question, m.text) for m in drugs):
        intents.add(Intent.STOP)
    taken = [m.iri for m in drugs if not m.negated or Intent.STOP in intents]

    def those(*classes: NamedNode, negated: bool = False) -> tuple[str, ...]:
        found = (m.iri for m in linked if m.negated == negated and facts.is_a(m.iri, *classes))
        return tuple(dict.fromkeys(found))

    ailments = tuple(x for x in those(*AILMENT) if not facts.is_a(x, SHIYI.EmergencySign))
    constitutions, populations = those(SHIYI.Constitution), those(SHIYI.Population)
    named = {m.iri for m in linked}
    allergens = [m for m in linked if _is_allergen(question, m)]
    materials = [iri for m in linked if m not in allergens for iri in _materials(m, facts)]
    mentioned = (*ailments, *constitutions, *populations)
    person = _person(profile, linker, facts, mentioned, taken, [m.iri for m in allergens])
    known = {*materials, *taken, *ailments, *constitutions, *populations}
    seasons, methods = those(SHIYI.Season), those(SHIYI.Method)
    rules, emergencies = those(SHIYI.Rule, SHIYI.RegulatoryStatus), those(SHIYI.EmergencySign)
    return Reading(
        question, language, mentions, frozenset(intents), ailments,
        absent=those(*AILMENT, SHIYI.Population, negated=True),
        constitutions=constitutions, populations=populations,
        materials=tuple(dict.fromkeys(materials)), drugs=tuple(dict.fromkeys(taken)),
        seasons=seasons, methods=methods, rules=rules, emergencies=emergencies,
        others=tuple(sorted(named - known - {*seasons, *methods, *rules, *emergencies})),
        person=person,
    )  # fmt: skip


def _materials(mention: Mention, facts: Facts) -> list[str]:
    """Give the material a mention names, or those an organism's name may stand for."""
    if facts.is_a(mention.iri, *MATERIAL):
        return [mention.iri]
    if not facts.is_a(mention.iri, SHIYI.Organism):
        return []
    also = [iri for iri in getattr(mention, "others", ()) if facts.is_a(iri, *MATERIAL)]
    parts = [f.subject for f in facts.into(mention.iri, SHIYI.derivedFromOrganism)]
    return list(dict.fromkeys([*also, *parts]))[:4]


def _is_allergen(question: str, mention: Mention) -> bool:
    """Tell whether the words around a mention say that it brings on an allergy."""
    after = fold(question[mention.end : mention.end + 12])
    before = words(question[max(0, mention.start - 30) : mention.start])
    return after.startswith(("过敏", "allerg", "intoleran", "不耐受")) or any(
        before.endswith(f" {cue} ") for cue in ("allergic to", "allergy to", "intolerant to")
    )


def _person(
    profile: Profile,
    linker: Linker,
    facts: Facts,
    mentioned: Iterable[str],
    taken: Iterable[str],
    allergens: Iterable[str],
) -> Person:
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
    allergies = [*allergens]
    allergies += linked(profile.allergies, SHIYI.Drug, *MATERIAL, SHIYI.Organism)
    typed = [profile.constitution] if profile.constitution else []
    states = [*mentioned, *linked(profile.conditions, SHIYI.Condition)]
    states += linked(typed, SHIYI.Constitution)
    states += [resource(name).value for name in _life_stage(profile)]
    for name, belongs in _BELONGS:
        concept = resource(name).value
        if any(concept in facts.above(each) for each in (*states, *drugs)):
            states.append(resource(belongs).value)
    return Person(
        tuple(dict.fromkeys(s for s in states if s in facts.labels)),
        tuple(dict.fromkeys(drugs)), tuple(dict.fromkeys(allergies)), tuple(unknown),
    )  # fmt: skip


def _life_stage(profile: Profile) -> list[str]:
    stages = []
    if profile.pregnant:
        stages.append("population-pregnant")
    if profile.lactating:
        stages.append("population-lactating")
    if profile.allergies:
        stages.append("population-allergic")
    if profile.age is not None:
        for name, low, high in (
            ("infant", 0, 1), ("young-child", 0, 3), ("child", 0, 14), ("elderly", 65, 131),
        ):  # fmt: skip
            if low <= profile.age < high:
                stages.append(f"population-{name}")
    return stages
