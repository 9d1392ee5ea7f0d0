"""The question, understood."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, Facts
from shiyi.answering.understanding.attribution import foods_not_eaten
from shiyi.answering.understanding.frames.frame import Frame
from shiyi.answering.understanding.grounding import (
    TAKEN,
    GroundedQuestion,
    ground_question,
    material_groups,
    preparations,
    without_names,
)
from shiyi.answering.understanding.intents import (
    Intent,
    asks_difference,
    asks_of_one,
    asks_to_take,
    emergency_signs,
    intents_of,
    is_cue,
    is_only_feared,
    names_medicine,
    refuses,
    topics_beyond_food,
)
from shiyi.answering.understanding.person import Person, life_stages_in, person_of
from shiyi.answering.understanding.text import QuestionText
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import fold
from shiyi.model.iris import resource
from shiyi.model.mention import Mention
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import word_list
from shiyi.ontology.terms import SHIYI
from shiyi.settings import UnderstandingSettings


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, understood."""

    text: QuestionText
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
    theirs: tuple[
        str, ...
    ] = ()  # states, medicines, allergens of somebody else, reported beside it
    mine: tuple[str, ...] = ()  # the asker's own, where somebody else is to eat
    made: tuple[tuple[str, str], ...] = ()  # words such as 人参汤, and what they are read as
    topics: tuple[str, ...] = ()  # that are no matter of food
    asked_beside: frozenset[Intent] = frozenset()  # what the words beside such topics want
    alarm: str = ""  # emergency or self_harm, where the reader is sure of it
    advisable: bool = True  # unless the reader is sure that something else than advice is asked

    @property
    def question(self) -> str:
        """Return the question as it was asked."""
        return self.text.raw

    @property
    def language(self) -> str:
        """Return the language of the answer."""
        return self.text.language

    @property
    def urgent(self) -> bool:
        """Return whether help is needed before anything else."""
        return bool(self.emergencies or self.alarm)

    def wants(self, *intents: Intent) -> bool:
        """Return whether any of these is asked for."""
        return bool(self.intents.intersection(intents))


def parse_question(
    question: QuestionText, profile: Profile, linker: Linker, facts: Facts
) -> ParsedQuestion:
    """Link the words, sort the concepts by role and add what the profile says."""
    grounded = ground_question(question, linker, facts)
    linked, those = grounded.linked, partial(_of, grounded.linked, facts)
    left_out = _left_out(question, grounded, facts)
    asked_about = [m for m in linked if m not in (*grounded.allergens, *left_out)]
    drugs = [m for m in asked_about if facts.is_a(m.iri, SHIYI.Drug)]
    unnamed = without_names(question, linked, facts)
    intents = _intents(question, unnamed, drugs, profile)
    stops = Intent.STOP in intents
    sold_as = {} if stops else preparations(drugs, linker, facts)
    taken = [m.iri for m in drugs if (not m.negated or stops) and m.iri not in sold_as]
    groups = material_groups(question, unnamed, grounded, asked_about, sold_as, facts)
    materials = [iri for group in groups for iri in group]
    ailments = tuple(x for x in those(*AILMENT) if not facts.is_a(x, SHIYI.EmergencySign))
    constitutions, ages = those(SHIYI.Constitution), life_stages_in(question, facts)
    populations = _populations(those(SHIYI.Population), ages, linked)
    person = person_of(
        profile,
        linker,
        facts,
        (*ailments, *constitutions, *populations, *ages),
        taken,
        [iri for m in grounded.allergens for iri in _allergen(m, facts)],
        [m.iri for m in left_out],
    )
    seasons, rules = those(SHIYI.Season), those(SHIYI.Rule, SHIYI.RegulatoryStatus)
    methods = tuple(dict.fromkeys((*grounded.forms, *those(SHIYI.Method))))
    aims = _aims(linked, facts)
    emergencies = _emergencies(question, those(SHIYI.EmergencySign), linked, profile, facts)
    if Intent.METHOD in intents and not (materials or taken) and (ailments or constitutions):
        intents.add(Intent.ADVICE)  # how to eat with some trouble, not how to eat some food
    topics, rest = topics_beyond_food(question)
    others = {m.iri for m in linked}.difference(
        materials,
        taken,
        ailments,
        constitutions,
        populations,
        seasons,
        methods,
        rules,
        emergencies,
        aims,
    )
    return ParsedQuestion(
        question,
        grounded.mentions,
        frozenset(intents),
        ailments,
        absent=those(*AILMENT, SHIYI.Population, negated=True),
        constitutions=constitutions,
        populations=populations,
        materials=tuple(materials),
        groups=groups,
        drugs=tuple(dict.fromkeys(taken)),
        aims=aims,
        seasons=seasons,
        methods=methods,
        rules=rules,
        emergencies=emergencies,
        others=tuple(sorted(others)),
        person=person,
        profile=profile,
        theirs=tuple(dict.fromkeys(m.iri for m in grounded.theirs)),
        mine=tuple(dict.fromkeys(m.iri for m in grounded.mine)),
        made=grounded.made,
        topics=topics,
        asked_beside=intents_of(rest) if topics else frozenset(),
    )


_OFFERS: Final = ("advice", "list")  # "which teas clear heat" wishes for teas, and for a list
_PROHIBITS, _ADVISES = "prohibit", "advise"  # slots


def heed(parsed: ParsedQuestion, frame: Frame, settings: UnderstandingSettings) -> ParsedQuestion:
    """Return a question with what its frame adds: an alarm, and that no advice is asked for.

    What the rules found stays. Nothing is recommended unless advice is asked for with a
    probability of ``advice_from``, and none where a word forbids and none asks for advice.
    """
    if alarm := frame.alarm_from(settings.alarm_from):
        return replace(parsed, alarm=alarm, advisable=False)
    if frame.polarity != "both" and frame.probability("avoid") >= settings.avoid_from:
        intents = (parsed.intents - {Intent.ADVICE}) | {Intent.AVOID}
        return replace(parsed, intents=intents, advisable=False)
    forbids = _PROHIBITS in frame.slots and _ADVISES not in frame.slots
    offered = frame.probability(*_OFFERS) >= settings.advice_from and not forbids
    return parsed if offered else replace(parsed, advisable=False)


def _of(
    linked: Iterable[Mention], facts: Facts, *classes: NamedNode, negated: bool = False
) -> tuple[str, ...]:
    """List the concepts of some classes, or those of them that are denied, each once."""
    found = (m.iri for m in linked if m.negated == negated and facts.is_a(m.iri, *classes))
    return tuple(dict.fromkeys(found))


def _left_out(question: QuestionText, grounded: GroundedQuestion, facts: Facts) -> list[Mention]:
    """List what is stated not to be eaten, where something else is asked about, or advice."""
    foods = [m for m in grounded.linked if facts.is_a(m.iri, *TAKEN)]
    left_out = [m for m in foods_not_eaten(question, foods) if m not in grounded.allergens]
    others = len(foods) > len(left_out) + len(grounded.allergens)
    return left_out if others or Intent.ADVICE in intents_of(question) else []


def _intents(
    question: QuestionText, unnamed: QuestionText, drugs: Sequence[Mention], profile: Profile
) -> set[Intent]:
    """Find what is wanted by the cues of the question; names that hold a cue wish for nothing."""
    intents = set(intents_of(question))
    if Intent.ADVICE not in intents_of(unnamed):
        intents.discard(Intent.ADVICE)
    if not (drugs or profile.medicines or names_medicine(question)):
        intents.discard(Intent.STOP)
    if any(refuses(question, m.text) for m in drugs):
        intents.add(Intent.STOP)
    return intents


def _populations(
    named: tuple[str, ...], ages: Sequence[str], linked: Sequence[Mention]
) -> tuple[str, ...]:
    """List the groups of people named; a stated age outweighs a loose word for a child."""
    if not ages:
        return named
    young = frozenset().union(*word_list("words", "young"))
    exactly = {m.iri for m in linked if fold(m.text) not in young}
    loosely = {m.iri for m in linked} - exactly
    certain = tuple(p for p in named if p not in loosely or p in ages)
    return certain if set(ages).intersection(certain) else (*certain, ages[0])


def _aims(linked: Sequence[Mention], facts: Facts) -> tuple[str, ...]:
    """List the principles and effects sought, but for those that need a doctor first."""
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
    """Return what an allergen is, and the group of foods that may bear the same name."""
    groups = [iri for iri in mention.alternatives if facts.is_a(iri, SHIYI.FoodGroup)]
    return [mention.iri, *groups]


def _emergencies(
    question: QuestionText,
    named: Iterable[str],
    linked: Sequence[Mention],
    profile: Profile,
    facts: Facts,
) -> tuple[str, ...]:
    """List the emergency signs named, those a name may also mean, and those described."""
    also = [
        iri
        for m in linked
        if not (m.negated or "Threshold" in m.justification)
        for iri in m.alternatives
        if facts.is_a(iri, SHIYI.EmergencySign)
    ]
    named = (iri for iri in named if not is_only_feared(question, iri))
    signs = emergency_signs(question, pregnant=bool(profile.pregnant))
    described = [resource(sign).value for sign in signs]
    known = (each for each in described if facts.is_a(each, SHIYI.EmergencySign))
    return tuple(dict.fromkeys((*named, *also, *known)))


def is_only_beyond_food(parsed: ParsedQuestion) -> bool:
    """Return whether nothing is asked that has to do with food, and no two things are to meet."""
    if not parsed.topics or parsed.wants(Intent.STOP):
        return False
    beside = parsed.drugs or parsed.ailments or parsed.populations or len(parsed.groups) > 1
    if parsed.materials and beside:
        return False
    return not parsed.asked_beside.intersection(_OF_FOOD)


_OF_FOOD: Final = frozenset({
    Intent.ADVICE, Intent.MAY, Intent.AVOID, Intent.DOSE, Intent.STOP, Intent.METHOD, Intent.DRINK,
    Intent.PROPERTY, Intent.CONSTITUTION, Intent.SUPPLEMENT,
})  # fmt: skip


def wants_advice(parsed: ParsedQuestion) -> bool:
    """Return whether something to eat, drink or take is asked for, and there is a reason for it."""
    if is_only_beyond_food(parsed) or not parsed.advisable:
        return False
    seeds = (
        *parsed.ailments,
        *parsed.constitutions,
        *parsed.seasons,
        *parsed.populations,
        *parsed.aims,
    )
    if parsed.materials and asks_of_one(parsed.text):
        return False
    if parsed.wants(Intent.ADVICE):
        return bool(seeds) or bool(parsed.person.states)
    if asks_difference(parsed.text):
        return False
    named = parsed.materials or (parsed.wants(Intent.MAY) and unknown_words(parsed))
    only = parsed.wants(Intent.DRINK) or not parsed.intents
    return only and bool(seeds) and not named


def unknown_words(parsed: ParsedQuestion) -> tuple[str, ...]:
    """List the words of a question that name something, but nothing the knowledge base holds."""
    unlinked = (m.text for m in parsed.mentions if not m.iri and not is_cue(m.text))
    return tuple(word for word in map(plain, unlinked) if word)


def meets_anything(parsed: ParsedQuestion) -> bool:
    """Return whether a material of the question meets anything it may clash with."""
    return bool(
        parsed.drugs
        or parsed.ailments
        or parsed.constitutions
        or parsed.populations
        or parsed.person.states
        or parsed.person.drugs
        or parsed.person.allergies
        or len(parsed.materials) > 1
    )


def is_of_allergy_alone(parsed: ParsedQuestion) -> bool:
    """Return whether an allergy is named and nothing that food is sought for or asked about."""
    allergens = {m.iri for m in parsed.mentions}.intersection(parsed.person.allergies)
    sought = (
        *parsed.ailments,
        *parsed.constitutions,
        *parsed.aims,
        *parsed.seasons,
        *parsed.materials,
        *parsed.rules,
        *parsed.drugs,
    )
    return bool(allergens) and not sought and not parsed.wants(Intent.CONSTITUTION)


def asks_to_avoid(parsed: ParsedQuestion) -> bool:
    """Return whether it is asked what to leave out in a state or with a medicine."""
    return (
        parsed.wants(Intent.AVOID) and not parsed.materials and bool(states_and_medicines(parsed))
    )


def asks_of_unknown(parsed: ParsedQuestion) -> bool:
    """Return whether it is asked if something nobody here has known may be had in a state."""
    if parsed.materials or not parsed.wants(Intent.MAY) or not states_and_medicines(parsed):
        return False
    return bool(unknown_words(parsed)) or asks_to_take(parsed.text)


def states_and_medicines(parsed: ParsedQuestion) -> tuple[str, ...]:
    """List the states and medicines that something may have to be avoided in."""
    return tuple(
        dict.fromkeys((*parsed.ailments, *parsed.constitutions, *parsed.populations, *parsed.drugs))
    )


def plain(word: str) -> str:
    """Return words of a stranger without what could be read as markup, at most 40 characters.

    >>> plain("[x](http://e.org) **wow** <b>")
    'xhttp://e.org wow b'
    """
    text = "".join(c for c in word if c not in "[]()*_#<>|`~!\\\n\r")
    return " ".join(text.split())[:40]
