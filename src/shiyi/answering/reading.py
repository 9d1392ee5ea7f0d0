"""What a question says: its concepts by role, its intents, and the state the person is in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from shiyi.answering.ages import stages_told
from shiyi.answering.alarms import emergency_signs, is_only_feared
from shiyi.answering.cues import Intent, intents_of, names_medicine, refuses
from shiyi.answering.facts import Facts
from shiyi.answering.heard import TAKEN, Heard, Linker, hear
from shiyi.answering.leaving_out import not_eaten
from shiyi.answering.named_materials import material_groups, preparations, without_names
from shiyi.answering.person import Person, person_of
from shiyi.answering.roles import AILMENT
from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

# said of any small child
_LOOSELY_YOUNG: Final = frozenset({"宝宝", "小宝宝", "娃", "baby", "babies"})


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
    groups: tuple[tuple[str, ...], ...]  # the materials that one name may mean, together
    drugs: tuple[str, ...]
    seasons: tuple[str, ...]
    methods: tuple[str, ...]
    rules: tuple[str, ...]
    emergencies: tuple[str, ...]
    aims: tuple[str, ...]  # principles of treatment and effects, such as 补气 and 安神
    others: tuple[str, ...]
    person: Person
    profile: Profile
    theirs: tuple[str, ...] = ()  # states, medicines, allergens of somebody else, told beside it
    mine: tuple[str, ...] = ()  # the asker's own, where somebody else is to eat
    made: tuple[tuple[str, str], ...] = ()  # words such as 人参汤, and what they are read as

    def wants(self, *intents: Intent) -> bool:
        """Tell whether any of these is asked for."""
        return bool(self.intents.intersection(intents))


def read_question(
    question: str, language: str, profile: Profile, linker: Linker, facts: Facts
) -> Reading:
    """Link the words, sort the concepts by role and add what the profile says."""
    heard = hear(question, language, linker, facts)
    linked, those = heard.linked, partial(_of, heard.linked, facts)
    left_out = _left_out(question, heard, facts)
    asked_about = [m for m in linked if m not in (*heard.allergens, *left_out)]
    drugs = [m for m in asked_about if facts.is_a(m.iri, SHIYI.Drug)]
    intents = _intents(question, linked, drugs, profile, facts)
    stops = Intent.STOP in intents
    sold_as = {} if stops else preparations(drugs, linker, facts)
    taken = [m.iri for m in drugs if (not m.negated or stops) and m.iri not in sold_as]
    groups = material_groups(question, heard, asked_about, sold_as, facts)
    materials = [iri for group in groups for iri in group]
    ailments = tuple(x for x in those(*AILMENT) if not facts.is_a(x, SHIYI.EmergencySign))
    constitutions, ages = those(SHIYI.Constitution), stages_told(question, facts)
    populations = _populations(those(SHIYI.Population), ages, linked)
    person = person_of(
        profile, linker, facts, (*ailments, *constitutions, *populations, *ages), taken,
        [iri for m in heard.allergens for iri in _allergen(m, facts)], [m.iri for m in left_out],
    )  # fmt: skip
    seasons, rules = those(SHIYI.Season), those(SHIYI.Rule, SHIYI.RegulatoryStatus)
    methods = tuple(dict.fromkeys((*heard.forms, *those(SHIYI.Method))))
    aims = _aims(linked, facts)
    emergencies = _emergencies(question, those(SHIYI.EmergencySign), linked, profile, facts)
    if Intent.METHOD in intents and not (materials or taken) and (ailments or constitutions):
        intents.add(Intent.ADVICE)  # how to eat with some trouble, not how to eat some food
    others = {m.iri for m in linked}.difference(
        materials, taken, ailments, constitutions, populations, seasons, methods, rules, emergencies, aims
    )  # fmt: skip
    return Reading(
        question, language, heard.mentions, frozenset(intents), ailments,
        absent=those(*AILMENT, SHIYI.Population, negated=True),
        constitutions=constitutions, populations=populations,
        materials=tuple(materials), groups=groups, drugs=tuple(dict.fromkeys(taken)),
        aims=aims, seasons=seasons, methods=methods, rules=rules, emergencies=emergencies,
        others=tuple(sorted(others)), person=person, profile=profile,
        theirs=tuple(dict.fromkeys(m.iri for m in heard.theirs)),
        mine=tuple(dict.fromkeys(m.iri for m in heard.mine)), made=heard.made,
    )  # fmt: skip


def _of(
    linked: Iterable[Mention], facts: Facts, *classes: NamedNode, negated: bool = False
) -> tuple[str, ...]:
    """List the concepts of some classes, or those of them that are denied, each once."""
    found = (m.iri for m in linked if m.negated == negated and facts.is_a(m.iri, *classes))
    return tuple(dict.fromkeys(found))


def _left_out(question: str, heard: Heard, facts: Facts) -> list[Mention]:
    """List what is said not to be eaten, where something else is asked about, or advice."""
    foods = [m for m in heard.linked if facts.is_a(m.iri, *TAKEN)]
    left_out = [m for m in not_eaten(question, foods) if m not in heard.allergens]
    others = len(foods) > len(left_out) + len(heard.allergens)
    return left_out if others or Intent.ADVICE in intents_of(question) else []


def _intents(
    question: str,
    linked: Sequence[Mention],
    drugs: Sequence[Mention],
    profile: Profile,
    facts: Facts,
) -> set[Intent]:
    """Find what is wanted by the cues of the question; names that hold a cue wish for nothing."""
    intents = set(intents_of(question))
    if Intent.ADVICE not in intents_of(without_names(question, linked, facts)):
        intents.discard(Intent.ADVICE)
    if not (drugs or profile.medicines or names_medicine(question)):
        intents.discard(Intent.STOP)
    if any(refuses(question, m.text) for m in drugs):
        intents.add(Intent.STOP)
    return intents


def _populations(
    named: tuple[str, ...], ages: Sequence[str], linked: Sequence[Mention]
) -> tuple[str, ...]:
    """List the groups of people named; an age that is told says more than a loose word for a child."""
    if not ages:
        return named
    exactly = {m.iri for m in linked if fold(m.text) not in _LOOSELY_YOUNG}
    loosely = {m.iri for m in linked} - exactly
    kept = tuple(p for p in named if p not in loosely or p in ages)
    return kept if set(ages).intersection(kept) else (*kept, ages[0])


def _aims(linked: Sequence[Mention], facts: Facts) -> tuple[str, ...]:
    """List the principles and effects sought: 清热 is either; none that a doctor has to see to first."""
    found: list[str] = []
    for m in linked:
        meant = [
            x for x in (m.iri, *m.alternatives) if facts.is_a(x, SHIYI.Therapy, SHIYI.Efficacy)
        ]
        sought = m.iri in meant and not m.negated
        if sought and not any(facts.of(x, SHIYI.hasRedFlag) for x in meant):
            found += meant  # against bleeding, fits, pus, collapse nothing is suggested
    return tuple(dict.fromkeys(found))


def _allergen(mention: Mention, facts: Facts) -> list[str]:
    """Give what an allergen is, and the group of foods that may bear the same name."""
    groups = [iri for iri in mention.alternatives if facts.is_a(iri, SHIYI.FoodGroup)]
    return [mention.iri, *groups]


def _emergencies(
    question: str, named: Iterable[str], linked: Sequence[Mention], profile: Profile, facts: Facts
) -> tuple[str, ...]:
    """List the emergency signs named, those a name may also mean, and those described."""
    also = [
        iri for m in linked if not (m.negated or "Threshold" in m.justification)
        for iri in m.alternatives if facts.is_a(iri, SHIYI.EmergencySign)
    ]  # fmt: skip
    named = (iri for iri in named if not is_only_feared(question, iri))
    signs = emergency_signs(question, pregnant=bool(profile.pregnant))
    described = [resource(sign).value for sign in signs]
    known = (each for each in described if facts.is_a(each, SHIYI.EmergencySign))
    return tuple(dict.fromkeys((*named, *also, *known)))
