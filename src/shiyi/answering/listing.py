"""Lists that are asked for: what to avoid in some state, and which things are of some quality."""

import re
from collections.abc import Collection, Iterable
from typing import Final

from shiyi.answering.cues import Intent
from shiyi.answering.draft import Piece
from shiyi.answering.facts import Fact
from shiyi.answering.held import against, states_against
from shiyi.answering.parts import Desk, Part, red_flags
from shiyi.answering.reading import Reading
from shiyi.answering.roles import MATERIAL
from shiyi.linking.normalise import fold
from shiyi.model.answer import SafetyWarning
from shiyi.model.names import resource
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

_WIDE: Final = frozenset(
    resource(f"foodgroup-{name}").value for name in ("fruit", "vegetable", "animal")
)
_MOST_STATES, _MOST_AVOIDED, _MOST_MEETING, _MOST_ALIKE = 5, 8, 16, 8
_QUALITIES: Final = (  # words for the nature of a thing that name no concept by themselves
    (r"温性|性温|温热|温补|\bwarming\b|\bwarm in nature\b", ("nature-warm", "nature-hot")),
    (r"热性|性热|\bhot in nature\b|\bheating\b", ("nature-hot",)),
    (r"凉性|性凉|寒凉|\bcooling\b|\bcool in nature\b", ("nature-cool", "nature-cold")),
    (r"寒性|性寒|\bcold in nature\b", ("nature-cold",)),
    (r"平性|性平|\bneutral\b", ("nature-neutral",)),
)
_BY: Final = ((SHIYI.Nature, SHIYI.hasNature), (SHIYI.Flavour, SHIYI.hasFlavour),
              (SHIYI.Meridian, SHIYI.hasMeridianTropism))  # fmt: skip


def is_met_by(reading: Reading) -> tuple[str, ...]:
    """List the states and medicines that something may have to be avoided in."""
    return tuple(dict.fromkeys((
        *reading.ailments, *reading.constitutions, *reading.populations, *reading.drugs,
    )))  # fmt: skip


def avoided(desk: Desk) -> Part:
    """Write what is recorded against in the states, and with the medicines, that were named.

    Where a group of foods is named (海鲜, nuts), only what belongs to it is listed, if anything does.
    """
    part, voice = Part(), desk.voice
    named = is_met_by(desk.reading)[:_MOST_STATES]
    concerned = dict.fromkeys((*named, *_judged_as(desk, named)))
    groups = {low for g in named_groups(desk) for low in desk.facts.below(g)}
    for state in concerned:
        drug = desk.facts.is_a(state, SHIYI.Drug)
        found = _meeting(desk, state) if drug else _ranked(desk, against(desk, state))
        found = [f for f in found if _is_of(desk, f.other(state), groups)] if groups else found
        if not found:
            if (
                state in named
                and not groups
                and not any(against(desk, s) for s in _judged_as(desk, [state]))
            ):
                part.missing.append(voice.say("m_avoid", x=voice.name(state)))
            continue
        facts = found[: _MOST_MEETING if drug else _MOST_AVOIDED]
        person = desk.facts.is_a(state, SHIYI.Population)
        key = "a_avoid_drug" if drug else "a_avoid_person" if person else "b_taboo"
        pieces = each_cited(desk, key, voice.the(state), [(f.other(state), f) for f in facts])
        part.section("h_held").item(*pieces)
        if rest := len(found) - len(facts):
            said = voice.say("a_more", x=voice.name(state), n=str(rest))
            part.section("h_caution").add(said)
        part.paths += [f.path(state) for f in facts[:2]]
    told = bool(part.sections)
    part.opening.add(voice.say("o_avoid" if told else "o_not_known", x=voice.names(named)))
    if told:
        part.section("h_caution").add(voice.say("s_avoid_rest"))
    red_flags(desk, desk.reading.ailments, part)
    return part


def _judged_as(desk: Desk, states: Iterable[str]) -> list[str]:
    """List what some states are judged as for safety: lupus as an autoimmune disease."""
    return [
        fact.object for state in states if not desk.facts.is_a(state, SHIYI.Drug)
        for near in desk.facts.above(state) for fact in desk.facts.of(near, SHIYI.judgedAs)
    ]  # fmt: skip


def of_group(desk: Desk) -> Part:
    """Write what is recorded against among the members of a group of foods that is asked about."""
    part, voice = avoided(desk), desk.voice
    part.opening.lines.clear()
    key = "o_group" if part.section("h_held").lines else "o_group_none"
    names = {"group": voice.names(named_groups(desk)), "y": voice.names(is_met_by(desk.reading))}
    part.opening.add(voice.say(key, **names))
    for fact in [f for line in part.section("h_held").lines for f in line.facts][:_MOST_AVOIDED]:
        thing = fact.object if fact.predicate == SHIYI.unsuitableFood else fact.subject
        if desk.facts.is_a(thing, *MATERIAL):
            for found in desk.safety.against_states(thing, is_met_by(desk.reading))[:1]:
                part.warn(desk, found, told=True)
    return part


def allergy(desk: Desk) -> Part:
    """Write what an allergy that was named leaves out, where nothing else is asked of any complaint."""
    part, voice = Part(), desk.voice
    allergens = desk.reading.person.allergies
    text = voice.say("o_allergy", y=voice.names(allergens))
    part.opening.add(text)
    part.told.add(text)
    part.warnings.append(SafetyWarning("contraindicated", text))
    things = [t for t in desk.facts.members(*MATERIAL) if t not in allergens]
    for allergen in allergens[:_MOST_STATES]:
        groups = {f.object for f in desk.facts.of(allergen, SHIYI.hasFoodGroup)} or {allergen}
        kept = {low for g in groups for low in desk.facts.below(g)} - _WIDE
        found = [
            (t, f) for t in things
            for f in (*desk.facts.of(t, SHIYI.hasFoodGroup), *desk.facts.of(t, SHIYI.hasIngredient))
            if f.object in kept or f.object == allergen
        ]  # fmt: skip
        if found:
            each = list({t: (t, f) for t, f in reversed(found)}.values())[::-1][:_MOST_AVOIDED]
            part.section("h_held").item(*each_cited(desk, "a_allergy", voice.name(allergen), each))
    part.section("h_caution").add(voice.say("s_labels"))
    red_flags(desk, [resource("disease-food-allergy").value], part)
    return part


def named_groups(desk: Desk) -> tuple[str, ...]:
    """List the groups of foods a question names."""
    return tuple(o for o in desk.reading.others if desk.facts.is_a(o, SHIYI.FoodGroup))


def _is_of(desk: Desk, thing: str, groups: Collection[str]) -> bool:
    kinds = desk.facts.above(thing)
    return any(f.object in groups for k in kinds for f in desk.facts.of(k, SHIYI.hasFoodGroup))


def each_cited(desk: Desk, key: str, sign: str, items: Iterable[tuple[str, Fact]]) -> list[Piece]:
    """Write a list of things that harm, each with the claim that says so."""
    voice = desk.voice
    before, _, after = voice.say(key, sign=sign, items="\0").partition("\0")
    mark = "、" if voice.language == "zh" else ", "
    said = [(voice.name(iri), fact) for iri, fact in items]
    pieces: list[Piece] = [
        ((mark if n else before) + name, (fact,)) for n, (name, fact) in enumerate(said)
    ]
    return [*pieces, (after, ())]


def _ranked(desk: Desk, found: Iterable[Fact]) -> list[Fact]:
    """Keep each thing once: what people eat first, then what is forbidden, then the surest.

    Of equally sure ones those come first that are warned of in the fewest states.
    """
    grave = (SHIYI.contraindicatedIn, SHIYI.unsuitableFood)

    def thing(fact: Fact) -> str:
        return fact.object if fact.predicate == SHIYI.unsuitableFood else fact.subject

    def place(fact: Fact) -> tuple[object, ...]:
        eaten = desk.facts.is_a(thing(fact), SHIYI.Food)
        sure, states = round(fact.confidence, 1), states_against(desk, thing(fact))
        sources = len(desk.evidences.sources(fact.claim))
        return not eaten, fact.predicate not in grave, -sure, states, -sources, fact.claim

    kept: dict[str, Fact] = {}
    for fact in sorted(found, key=place):
        kept.setdefault(thing(fact), fact)
    return list(kept.values())


def _meeting(desk: Desk, drug: str) -> list[Fact]:
    """List what interacts with a medicine or its classes, the gravest first."""
    every = [f for d in desk.facts.above(drug) for f in _ends(desk, d)]

    def weight(fact: Fact) -> tuple[int, float, str]:
        return desk.evidences.gravity(fact.claim), -fact.confidence, fact.claim

    kept: dict[str, Fact] = {}
    for fact in sorted(every, key=weight):
        thing = next(e for e in (fact.subject, fact.object) if desk.facts.is_a(e, *MATERIAL))
        if not any(k in kept for k in desk.facts.kin(thing)):  # the herb, or what is sold of it
            kept.setdefault(thing, fact)
    return list(kept.values())


def _ends(desk: Desk, drug: str) -> list[Fact]:
    met = (*desk.facts.of(drug, SHIYI.interactsWith), *desk.facts.into(drug, SHIYI.interactsWith))
    return [f for f in met if desk.facts.is_a(f.other(drug), *MATERIAL)]


def qualities(reading: Reading, desk: Desk) -> tuple[tuple[str, NamedNode], ...]:
    """List the natures, flavours and channels a question asks for things of, with their property."""
    if not reading.wants(Intent.ADVICE) or reading.materials or is_met_by(reading):
        return ()
    said = [resource(name).value for words, names in _QUALITIES
            if re.search(words, fold(reading.question)) for name in names]  # fmt: skip
    return tuple(
        (iri, predicate) for iri in dict.fromkeys((*said, *reading.others))
        for kind, predicate in _BY if desk.facts.is_a(iri, kind)
    )  # fmt: skip


_RICH: Final = re.compile(
    r"补(?=[\u4e00-\u9fff]{1,4}(?:吃|喝|的?食|靠|用|该|应|好))|补(?:铁|钙|锌|钾|碘|维|叶酸|蛋白)|缺(?!血|氧|乏力)|富含|含[^,，。？?]{0,8}(?:高|多|丰富|最)|(?:高|多|丰富)的"
    r"|\brich in\b|\b(?:high|higher|highest) in\b|\bsources? of\b|\bhigh[- ]\w+ foods?\b|\bcontain(?:s|ing)?\b|\bget (?:more |enough )?\w+ from\b|\bmore\b"
)
_FOODS: Final = re.compile(
    r"吃什么|吃些什么|吃啥|什么(?:食物|吃的|东西|水果|蔬菜)|哪些(?:食物|食品|水果|蔬菜|东西)|食物有|怎么补|靠吃|\b(?:what|which)\b[^.?!]{0,30}\b(?:foods?|eat|fruits?|vegetables?)\b|\bfoods?\b|\bfrom\b"
)


def nutrients(reading: Reading, desk: Desk) -> tuple[tuple[str, NamedNode], ...]:
    """List the nutrients that foods rich in them are asked for, with the property that says so.

    Iron is sold as a supplement under the same name: who asks what to eat for iron asks for food.
    """
    text = fold(reading.question)
    if not (_RICH.search(text) and _FOODS.search(text)):
        return ()
    named = {m.iri for m in reading.mentions if m.iri} | {
        a for m in reading.mentions for a in m.alternatives
    }
    labels = {fold(desk.facts.label(iri, "zh")) for iri in named}
    return tuple(
        (iri, SHIYI.hasNutrient) for iri in desk.facts.members(SHIYI.ChemicalEntity)
        if (iri in named or (label := fold(desk.facts.label(iri, "zh"))) in labels
            or re.search(f"[补缺含富]{label}", text))
        and desk.facts.into(iri, SHIYI.hasNutrient)
    )  # fmt: skip


def alike(desk: Desk, wanted: Iterable[tuple[str, NamedNode]]) -> Part:
    """Write which things are recorded to be of a nature, a flavour or a channel; foods first."""
    part, voice = Part(), desk.voice
    for quality, predicate in wanted:
        found = [
            f for f in desk.facts.into(quality, predicate) if desk.facts.is_a(f.subject, *MATERIAL)
        ]
        ranked = sorted(
            found,
            key=lambda f: (not desk.facts.is_a(f.subject, SHIYI.Food), -f.confidence, f.claim),
        )
        facts = list({f.subject: f for f in reversed(ranked)}.values())[::-1][:_MOST_ALIKE]
        if facts:
            said = voice.say(
                "a_alike", p=desk.facts.property_label(predicate, voice.language),
                q=voice.name(quality), items=voice.names(f.subject for f in facts),
                n=str(len({f.subject for f in found})),
            )  # fmt: skip
            part.section("h_facts").add(said, *facts)
            part.paths += [f.path(quality) for f in facts[:2]]
    if part.sections:
        part.opening.add(voice.say("o_alike"))
    return part
