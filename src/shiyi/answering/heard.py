"""Which concepts the words of a question are, and whose: the asker's, or of somebody told of beside."""

import re
from dataclasses import dataclass, replace
from typing import Final, Protocol

from shiyi.answering.alarms import is_alarm
from shiyi.answering.asked import outside_names
from shiyi.answering.described import as_described
from shiyi.answering.facts import Facts
from shiyi.answering.forms import forms_asked, prepared
from shiyi.answering.heads_once import collective, in_lists
from shiyi.answering.leaving_out import allergens as allergens_of
from shiyi.answering.measured import as_measured
from shiyi.answering.roles import MATERIAL
from shiyi.answering.whose import affirmed, in_time, of_asker, of_others
from shiyi.linking.normalise import fold, is_cjk
from shiyi.model.mention import Mention
from shiyi.ontology.terms import SHIYI

TAKEN: Final = (SHIYI.Drug, *MATERIAL, SHIYI.Organism, SHIYI.FoodGroup)
_PARTS: Final = frozenset({"Food", "MFHSubstance", "Meridian", "OrganismPart"})
_CLAUSE: Final = re.compile(r"[，,。.;；!！?？、]")
_APART, _NEAR, _TURNED = 24, 4, 0.8


class Linker(Protocol):
    """Finds the concepts a text mentions."""

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """List mentions in order."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The words of a question as concepts.

    ``linked`` are those that the question is about or that count for who is to eat; of them
    ``allergens`` are what somebody is allergic to. ``theirs`` and ``mine`` are of others, told beside.
    """

    mentions: tuple[Mention, ...]  # all, with words that are no concept of ours
    linked: tuple[Mention, ...]
    allergens: tuple[Mention, ...]
    theirs: tuple[Mention, ...]
    mine: tuple[Mention, ...]
    forms: tuple[str, ...]  # ways of preparing that are asked for
    made: tuple[tuple[str, str], ...]  # words such as 人参汤, and what they are read as


def hear(question: str, language: str, linker: Linker, facts: Facts) -> Heard:
    """Link the words, take what is said of them into account, and set apart what is of others."""
    mentions = _mentions(question, language, linker, facts)
    linked = [_as_medicine(m, facts) for m in mentions if m.iri]
    allergens = list(allergens_of(question, [m for m in linked if facts.is_a(m.iri, *TAKEN)]))
    linked = [m for m in linked if m in allergens or not _is_allergy(m, allergens)]
    theirs = of_others(linked, question, facts, allergens)
    mine = of_asker(linked, question, facts, allergens)
    linked = [m for m in linked if m not in (*theirs, *mine)]
    allergens = [m for m in allergens if m in linked]
    forms, spans = forms_asked(question, linked, facts)
    linked = [m for m in linked if (m.start, m.end) not in spans]
    made = prepared(question, linked, facts)
    return Heard(mentions, tuple(linked), tuple(allergens), theirs, mine, tuple(forms), made)


def _mentions(question: str, language: str, linker: Linker, facts: Facts) -> tuple[Mention, ...]:
    said = (m for m in linker.link(question, language) if not is_alarm(m.text))
    whole = outside_names(_relinked(tuple(said), question, linker), question)
    told = collective(in_lists(whole, question, linker.link), question, linker.link)
    described = as_measured(as_described(told, question, facts), question, facts)
    return in_time(affirmed(described, question), question, facts)


def _as_medicine(mention: Mention, facts: Facts) -> Mention:
    """Take a constituent for the medicine of that name, where it is no food or supplement."""
    if facts.is_a(mention.iri, SHIYI.Drug, *MATERIAL):
        return mention
    if not facts.is_a(mention.iri, SHIYI.ChemicalEntity):
        return mention
    if any(facts.is_a(iri, *MATERIAL) for iri in mention.alternatives):
        return mention
    drug = next((iri for iri in mention.alternatives if facts.is_a(iri, SHIYI.Drug)), "")
    return replace(mention, iri=drug) if drug else mention


def _relinked(mentions: tuple[Mention, ...], question: str, linker: Linker) -> tuple[Mention, ...]:
    """Link two words that stand apart or turned round: "my stomach is upset"."""
    found, skip = list[Mention](), set[int]()
    for place, mention in enumerate(mentions):
        if place in skip:
            continue
        partner = next(
            (i for i in range(place + 1, len(mentions)) if not mentions[i].iri), len(mentions)
        )
        joined = None
        apart = not mention.iri or mention.kind in _PARTS  # "stomach" alone is linked to a food
        if apart and partner < len(mentions):
            joined = _joined(mention, mentions[partner], question, linker)
        if joined:
            skip.add(partner)
        found.append(joined or mention)
    return tuple(found)


def _joined(one: Mention, other: Mention, question: str, linker: Linker) -> Mention | None:
    if other.start - one.end > _APART or _CLAUSE.search(question, one.end, other.start):
        return None
    gap = "" if is_cjk(one.text[0]) else " "
    for phrase in (f"{other.text}{gap}{one.text}", f"{one.text}{gap}{other.text}"):
        hits = linker.link(phrase)
        exact = len(hits) == 1 and "Threshold" not in hits[0].justification
        if exact and hits[0].iri and hits[0].text == phrase:
            span = question[one.start : other.end]
            return replace(hits[0], text=span, start=one.start, end=other.end, score=_TURNED)
    return None


def _is_allergy(mention: Mention, allergens: list[Mention]) -> bool:
    """Tell whether a mention is only the word "allergic" beside what it is about."""
    word = fold(mention.text).startswith(("过敏", "allerg"))
    return word and any(
        abs(mention.start - each.end) <= _NEAR or abs(each.start - mention.end) <= _NEAR
        for each in allergens
    )
