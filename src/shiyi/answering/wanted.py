"""What a question, once read, asks for: advice, a meeting of things, a list, or nothing of food."""

from typing import Final

from shiyi.answering.beyond import beyond_food, food_in
from shiyi.answering.cues import (
    Intent,
    asks_difference,
    asks_of_one,
    asks_to_take,
    intents_of,
    is_cue,
)
from shiyi.answering.listing import is_met_by
from shiyi.answering.phrases import plain
from shiyi.answering.reading import Reading


def only_beyond_food(reading: Reading) -> bool:
    """Tell whether nothing is asked that has to do with food, and no two things are to meet."""
    if not beyond_food(reading.question) or reading.wants(Intent.STOP):
        return False
    beside = reading.drugs or reading.ailments or reading.populations or len(reading.groups) > 1
    if reading.materials and beside:
        return False
    return not intents_of(food_in(reading.question)).intersection(_OF_FOOD)


_OF_FOOD: Final = frozenset({
    Intent.ADVICE, Intent.MAY, Intent.AVOID, Intent.DOSE, Intent.STOP, Intent.METHOD, Intent.DRINK,
    Intent.PROPERTY, Intent.CONSTITUTION, Intent.SUPPLEMENT,
})  # fmt: skip


def wants_advice(reading: Reading) -> bool:
    """Tell whether something to eat, drink or take is asked for, and there is a reason for it."""
    if only_beyond_food(reading):
        return False
    seeds = (*reading.ailments, *reading.constitutions, *reading.seasons, *reading.populations,
             *reading.aims)  # fmt: skip
    if reading.materials and asks_of_one(reading.question):
        return False
    if reading.wants(Intent.ADVICE):
        return bool(seeds) or bool(reading.person.states)
    if asks_difference(reading.question):
        return False
    named = reading.materials or (reading.wants(Intent.MAY) and unheard_of(reading))
    only = reading.wants(Intent.DRINK) or not reading.intents
    return only and bool(seeds) and not named


def unheard_of(reading: Reading) -> tuple[str, ...]:
    """List the words of a question that name something, but nothing the knowledge base holds."""
    unlinked = (m.text for m in reading.mentions if not m.iri and not is_cue(m.text))
    return tuple(word for word in map(plain, unlinked) if word)


def meets(reading: Reading) -> bool:
    """Tell whether a material of the question meets anything it may clash with."""
    return bool(
        reading.drugs or reading.ailments or reading.constitutions or reading.populations
        or reading.person.states or reading.person.drugs or reading.person.allergies
        or len(reading.materials) > 1
    )  # fmt: skip


def of_allergy_alone(reading: Reading) -> bool:
    """Tell whether an allergy is named and nothing that food is sought for or asked about."""
    said = {m.iri for m in reading.mentions}.intersection(reading.person.allergies)
    sought = (*reading.ailments, *reading.constitutions, *reading.aims, *reading.seasons,
              *reading.materials, *reading.rules, *reading.drugs)  # fmt: skip
    return bool(said) and not sought and not reading.wants(Intent.CONSTITUTION)


def asks_to_avoid(reading: Reading) -> bool:
    """Tell whether it is asked what to leave out in a state or with a medicine."""
    return reading.wants(Intent.AVOID) and not reading.materials and bool(is_met_by(reading))


def asks_of_unheard(reading: Reading) -> bool:
    """Tell whether it is asked if something nobody here has heard of may be had in a state."""
    if reading.materials or not reading.wants(Intent.MAY) or not is_met_by(reading):
        return False
    return bool(unheard_of(reading)) or asks_to_take(reading.question)
