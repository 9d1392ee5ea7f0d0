"""What a question says: its concepts by role, its intents, and the state the person is in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from shiyi.answering.ages import life_stages, stages_told
from shiyi.answering.alarms import emergency_signs, is_alarm, is_only_feared
from shiyi.answering.asked import outside_names
from shiyi.answering.cues import Intent, intents_of, names_medicine, refuses
from shiyi.answering.described import as_described
from shiyi.answering.facts import Facts
from shiyi.answering.forms import WINE, forms_asked, is_wine, prepared
from shiyi.answering.heads_once import collective, in_lists
from shiyi.answering.leaving_out import allergens as allergens_of
from shiyi.answering.leaving_out import not_eaten
from shiyi.answering.measured import as_measured
from shiyi.answering.roles import AILMENT, MATERIAL
from shiyi.answering.whose import affirmed, in_time, of_asker, of_others
from shiyi.linking.normalise import fold, is_cjk
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI


class Linker(Protocol):
    """Finds the concepts a text mentions."""

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """List mentions in order."""


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
    said = (m for m in linker.link(question, language) if not is_alarm(m.text))
    whole = outside_names(_relinked(tuple(said), question, linker), question)
    told = collective(in_lists(whole, question, linker.link), question, linker.link)
    described = as_measured(as_described(told, question, facts), question, facts)
    mentions = in_time(affirmed(described, question), question, facts)
    linked = [_as_medicine(m, facts) for m in mentions if m.iri]
    allergens = list(allergens_of(question, [m for m in linked if facts.is_a(m.iri, *_TAKEN)]))
    linked = [m for m in linked if m in allergens or not _is_allergy(m, allergens)]
    theirs = of_others(linked, question, facts, allergens)
    mine = of_asker(linked, question, facts, allergens)
    linked = [m for m in linked if m not in (*theirs, *mine)]
    allergens = [m for m in allergens if m in linked]
    forms, spans = forms_asked(question, linked, facts)
    linked = [m for m in linked if (m.start, m.end) not in spans]
    made = prepared(question, linked, facts)
    intents = set(intents_of(question))
    foods = [m for m in linked if facts.is_a(m.iri, *_TAKEN)]
    left_out = [m for m in not_eaten(question, foods) if m not in allergens]
    if Intent.ADVICE in intents or len(foods) > len(left_out) + len(allergens):
        allergens += left_out  # what is said of them is heeded; they are not what is asked about
    else:
        left_out = []
    if Intent.ADVICE not in intents_of(_without_names(question, linked, facts)):
        intents.discard(Intent.ADVICE)
    drugs = [m for m in linked if facts.is_a(m.iri, SHIYI.Drug) and m not in allergens]
    if Intent.STOP in intents and not (drugs or profile.medicines or names_medicine(question)):
        intents.discard(Intent.STOP)
    if any(refuses(question, m.text) for m in drugs):
        intents.add(Intent.STOP)
    sold_as = {} if Intent.STOP in intents else _preparations(drugs, linker, facts)
    taken = [
        m.iri for m in drugs
        if (not m.negated or Intent.STOP in intents) and m.iri not in sold_as
    ]  # fmt: skip

    def those(*classes: NamedNode, negated: bool = False) -> tuple[str, ...]:
        found = (m.iri for m in linked if m.negated == negated and facts.is_a(m.iri, *classes))
        return tuple(dict.fromkeys(found))

    ailments = tuple(x for x in those(*AILMENT) if not facts.is_a(x, SHIYI.EmergencySign))
    constitutions, populations = those(SHIYI.Constitution), those(SHIYI.Population)
    named = {m.iri for m in linked}
    meant = [sold_as.get(m.iri) or _materials(m, facts) for m in linked if m not in allergens]
    tea = _TEA in facts.labels and _names_tea(_without_drinks(question, linked, facts))
    congee = _RICE in facts.labels and _CONGEE.search(fold(_without_names(question, linked, facts)))
    wine = WINE in facts.labels and any(is_wine(word) for word, _ in made)
    groups = _groups(
        [*meant, [_TEA] if tea else [], [WINE] if wine else [], [_RICE] if congee else []]
    )
    materials = [iri for group in groups for iri in group]
    ages = stages_told(question, facts)
    if ages:
        loose = {m.iri for m in linked if fold(m.text) in _LOOSELY_YOUNG}
        loose -= {m.iri for m in linked if fold(m.text) not in _LOOSELY_YOUNG}
        populations = tuple(p for p in populations if p not in loose or p in ages)
    if ages and not set(ages).intersection(populations):
        populations = (*populations, ages[0])
    mentioned = (*ailments, *constitutions, *populations, *ages)
    person = _person(
        profile, linker, facts, mentioned, taken,
        [iri for m in allergens if m not in left_out for iri in _allergen(m, facts)],
    )  # fmt: skip
    own = (*(m.iri for m in left_out), *person.left_out)
    person = replace(person, left_out=tuple(dict.fromkeys(own)))
    known = {*materials, *taken, *ailments, *constitutions, *populations}
    seasons = those(SHIYI.Season)
    methods = tuple(dict.fromkeys((*forms, *those(SHIYI.Method))))
    aims = _aims(linked, facts)
    rules = those(SHIYI.Rule, SHIYI.RegulatoryStatus)
    emergencies = _emergencies(question, those(SHIYI.EmergencySign), linked, profile, facts)
    if Intent.METHOD in intents and not (materials or taken) and (ailments or constitutions):
        intents.add(Intent.ADVICE)  # how to eat with some trouble, not how to eat some food
    return Reading(
        question, language, mentions, frozenset(intents), ailments,
        absent=those(*AILMENT, SHIYI.Population, negated=True),
        constitutions=constitutions, populations=populations,
        materials=tuple(materials), groups=groups, drugs=tuple(dict.fromkeys(taken)),
        aims=aims, seasons=seasons, methods=methods, rules=rules, emergencies=emergencies,
        others=tuple(sorted(named - known - {*seasons, *methods, *rules, *emergencies, *aims})),
        person=person, profile=profile, theirs=tuple(dict.fromkeys(m.iri for m in theirs)),
        mine=tuple(dict.fromkeys(m.iri for m in mine)), made=made,
    )  # fmt: skip


def _aims(linked: list[Mention], facts: Facts) -> tuple[str, ...]:
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


def _without_names(question: str, linked: list[Mention], facts: Facts) -> str:
    """Blank out dishes and materials: a name such as 药膳 is no wish for one."""
    for m in linked:
        if facts.is_a(m.iri, *MATERIAL):
            question = question[: m.start] + "□" * (m.end - m.start) + question[m.end :]
    return question


def _without_drinks(question: str, linked: list[Mention], facts: Facts) -> str:
    """Blank out drinks made of what is named before: "liquorice tea" is no tea."""
    for m in linked:
        if facts.is_a(m.iri, *MATERIAL) and m.iri != _TEA and " tea" in m.text.lower():
            question = question[: m.start] + "□" * (m.end - m.start) + question[m.end :]
        elif facts.is_a(m.iri, *MATERIAL) and question[m.end :].lower().startswith(" tea"):
            question = question[: m.end] + " □□□" + question[m.end + 4 :]
    return question


_TEA: Final = resource("substance-cha").value
_RICE: Final = resource("dish-plain-congee").value
_CONGEE: Final = re.compile(  # congee itself is of rice; 什么粥 asks for any
    r"[喝吃煮](?:点|些|碗)?(?:白|稀)?粥(?=[吗么呢行好可会能,，。？?]|$)|\b(?:have|eat|plain|rice|some) (?:congee|rice porridge)\b(?! with)"
)
_TEA_ITSELF: Final = re.compile(
    r"(?:^|[吃喝用饮和与跟同把加点说做买])茶(?=[和与跟同吗能可适不会的，,。？?]|一起|$)"
    r"|\btea (?:and|with|together|interact\w*|suitable)\b"
    r"|\b(?:and|with|mix|add|combine|have|drink|is|in|of|use|take|buying) tea\b"
)


def _names_tea(question: str) -> bool:
    """Tell whether tea itself is asked about; the word alone is only the form of a drink.

    >>> _names_tea("人参和茶能一起吃吗"), _names_tea("失眠喝什么茶")
    (True, False)
    """
    return _TEA_ITSELF.search(fold(question)) is not None


def _emergencies(
    question: str, named: Iterable[str], linked: list[Mention], profile: Profile, facts: Facts
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


def _preparations(drugs: list[Mention], linker: Linker, facts: Facts) -> dict[str, list[str]]:
    """Tell what a preparation taken beside a medicine is made of: "iron pills" are iron."""
    found: dict[str, list[str]] = {}
    if len({m.iri for m in drugs}) < _PAIR:
        return found
    for mention in drugs:
        bare = _FORM.sub("", fold(mention.text)).strip()
        hits = linker.link(bare) if bare and bare != fold(mention.text) else ()
        whole = [m.iri for m in hits if len(m.text) == len(bare)]
        if len(whole) == 1 and facts.is_a(whole[0], *MATERIAL):
            found[mention.iri] = whole
    return found


_LOOSELY_YOUNG: Final = frozenset(
    {"宝宝", "小宝宝", "娃", "baby", "babies"}
)  # said of any small child
_TAKEN: Final = (SHIYI.Drug, *MATERIAL, SHIYI.Organism, SHIYI.FoodGroup)
_FORM: Final = re.compile(
    r"^(?:口服|补充?|oral )|(?:补充剂|制剂|剂|片|丸|胶囊|药|盐)$"
    r"| (?:preparations?|salts?|pills?|tablets?|capsules?|supplements?|medicines?)$"
)
_PAIR: Final = 2


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


_PARTS: Final = frozenset({"Food", "MFHSubstance", "Meridian", "OrganismPart"})
_CLAUSE: Final = re.compile(r"[，,。.;；!！?？、]")
_APART, _NEAR, _TURNED = 24, 4, 0.8


def _materials(mention: Mention, facts: Facts) -> list[str]:
    """List the materials a mention may mean: several where it names a species or is ambiguous.

    "Ginkgo biloba" is the seed, the leaf and the extract; each is checked.
    """
    also = [iri for iri in mention.alternatives if facts.is_a(iri, *MATERIAL)]
    if facts.is_a(mention.iri, SHIYI.ChemicalEntity) and not facts.is_a(mention.iri, SHIYI.Drug):
        return also[:4]  # what is sold under the name of its constituent
    if not facts.is_a(mention.iri, *MATERIAL, SHIYI.Organism):
        return []
    species = [f.object for f in facts.of(mention.iri, SHIYI.derivedFromOrganism)]
    species += [mention.iri] if facts.is_a(mention.iri, SHIYI.Organism) else []
    called = fold(mention.text)
    named = [s for s in species if called in map(fold, facts.labels.get(s, {}).values())]
    parts = [f.subject for s in named for f in facts.into(s, SHIYI.derivedFromOrganism)]
    own = [mention.iri] if facts.is_a(mention.iri, *MATERIAL) else []
    return list(dict.fromkeys([*own, *also, *parts]))[:4]


def _groups(found: Iterable[list[str]]) -> tuple[tuple[str, ...], ...]:
    """Keep each material once, with those that the same name may mean."""
    seen: set[str] = set()
    groups = []
    for meant in found:
        new = tuple(iri for iri in meant if iri not in seen)
        seen.update(new)
        if new:
            groups.append(new)
    return tuple(groups)


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
    allergies += linked(profile.allergies, *_TAKEN)
    avoids = linked(profile.avoids, *_TAKEN)
    prone = [resource("population-allergic").value] if allergies else []
    typed = [profile.constitution] if profile.constitution else []
    states = [*mentioned, *linked(profile.conditions, SHIYI.Condition)]
    states += [*linked(typed, SHIYI.Constitution), *prone]
    states += [resource(name).value for name in life_stages(profile)]
    states += [
        f.object for drug in drugs for near in facts.above(drug)
        for f in facts.of(near, SHIYI.judgedAs)
    ]  # fmt: skip
    return Person(
        tuple(dict.fromkeys(s for s in states if s in facts.labels)),
        tuple(dict.fromkeys(drugs)), tuple(dict.fromkeys(allergies)), tuple(unknown),
        tuple(dict.fromkeys(avoids)),
    )  # fmt: skip
