"""A question, understood: its frame, resolved against the facts and the profile."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, MATERIAL, Facts
from shiyi.answering.understanding.conditions import BENEFIT
from shiyi.answering.understanding.frame import ALARMS, Focus, Frame
from shiyi.answering.understanding.patient import Person, build_person, life_stages
from shiyi.answering.understanding.reader.alarms import alarm_of, is_calm
from shiyi.linking.linker import Linker
from shiyi.model.answer import Mention
from shiyi.model.iris import ID, resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI
from shiyi.settings import UnderstandingSettings

_OFFERS: Final = ("advice", "list")  # "which teas clear heat" wishes for teas, and for a list
_FRAIL: Final = frozenset(  # whom germs in food harm more
    resource(f"population-{name}").value
    for name in ("elderly", "pregnant", "infant", "immunosuppressed")
)
_PROHIBITS, _ADVISES = "prohibit", "advise"  # slots
_ASKED: Final = ("asked_about", "eaten", "supplement")
_OF_FOOD: Final = frozenset({
    "advice", "avoid", "may", "dose", "how", "property", "constitution", "list", "compare",
    "stop_medicine", "evidence", "why", "regulation",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A frame with the concepts that it names, by what they are, and who is to eat."""

    frame: Frame
    asks: tuple[str, ...]  # what is answered, in this order; ``record`` where no ask is sure
    mentions: tuple[Mention, ...]
    ailments: tuple[str, ...]
    absent: tuple[str, ...]
    constitutions: tuple[str, ...]
    populations: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]  # the materials that one name may mean, together
    drugs: tuple[str, ...]
    aims: tuple[str, ...]  # principles of treatment and effects, such as 补气 and 安神
    others: tuple[str, ...]
    person: Person
    profile: Profile
    theirs: tuple[str, ...] = ()  # of somebody else, left out of account
    alarm: str = ""

    @property
    def question(self) -> str:
        """Return the question as it was asked."""
        return self.frame.text

    @property
    def language(self) -> str:
        """Return the language of the answer."""
        return self.frame.language

    @property
    def materials(self) -> tuple[str, ...]:
        """List all materials that the names may mean."""
        return tuple(iri for group in self.groups for iri in group)

    @property
    def seasons(self) -> tuple[str, ...]:
        """List the seasons named."""
        return self.frame.wanted.season

    @property
    def methods(self) -> tuple[str, ...]:
        """List the ways of preparing that are asked for."""
        return self.frame.wanted.form

    @property
    def wants_supplement(self) -> bool:
        """Return whether supplements are asked for, and no foods."""
        return self.frame.has_cue("supplement") or "DSIngredient" in self.frame.wanted.classes

    @property
    def emergencies(self) -> tuple[str, ...]:
        """List the signs of an emergency that are described."""
        return self.frame.signs

    @property
    def urgent(self) -> bool:
        """Return whether help is needed before anything else."""
        return bool(self.alarm)

    @property
    def slots(self) -> frozenset[str]:
        """Return the slots that the words fill, and those that follow from who is to eat."""
        age, who = self.frame.patient.age, self.frame.patient.who
        results = {*self.frame.slots}
        if who in {"self", "general"} and self.profile.pregnant:
            results.add("pregnancy")
        if age is not None and age < _NEWBORN:
            results.add("newborn")
        if _FEVER in self.ailments:
            results.add("feverish")
        if not _FRAIL.isdisjoint(self.person.states):
            results.add("frail")
        return frozenset(results)

    @property
    def states(self) -> tuple[str, ...]:
        """List the states and medicines named that something may have to be avoided in."""
        ailments = (*self.ailments, *self.constitutions, *self.populations, *self.drugs)
        return tuple(dict.fromkeys(ailments))

    @property
    def hazards(self) -> tuple[str, ...]:
        """List the states and medicines named, else those that the profile gives."""
        return self.states or tuple(dict.fromkeys((*self.person.states, *self.person.drugs)))

    @property
    def intake(self) -> tuple[tuple[str, ...], ...]:
        """List what is taken together: the things named, and medicines and supplements taken."""
        drugs = [d for d in self.person.drugs if d not in self.materials]
        return (*self.groups[:_MOST_THINGS], *((d,) for d in drugs))

    def asked_groups(self, facts: Facts) -> tuple[str, ...]:
        """List the groups of foods that are asked for (fruit, vegetables), not those left out."""
        out = {*self.person.left_out, *self.person.allergies}
        return tuple(o for o in self.others if facts.is_a(o, SHIYI.FoodGroup) and o not in out)

    @property
    def unknown(self) -> tuple[str, ...]:
        """List the words of a question that name something, but nothing that is known."""
        return tuple(
            sanitize_words(f.text) for f in self.frame.focus if not f.iri and sanitize_words(f.text)
        )

    def asks_of_unknown(self) -> bool:
        """Return whether the question is about a thing that is not known, and about no other.

        No advice on its complaint answers "Is X good for sleep?": it would seem to be of X.
        """
        is_of_one = self.frame.has_cue("yes-no") and not self.frame.has_cue("open-question")
        return bool(self.unknown) and not self.groups and is_of_one

    def wants(self, *asks: str) -> bool:
        """Return whether one of some asks is answered."""
        return not set(asks).isdisjoint(self.asks)

    def of_kind(self, facts: Facts, *classes: NamedNode) -> tuple[str, ...]:
        """List the other concepts named that are of some classes."""
        return tuple(o for o in self.others if facts.is_a(o, *classes))

    def meets_anything(self) -> bool:
        """Return whether a material of the question meets anything it may clash with."""
        person = self.person
        states = (*self.states, *person.states, *person.drugs, *person.allergies)
        return bool(states) or len(self.groups) > 1

    def is_only_beyond_food(self) -> bool:
        """Return whether nothing is asked that has to do with food."""
        if self.wants("out_of_scope", "chitchat"):
            return True
        if not self.frame.topics or self.wants("stop_medicine"):
            return False
        if not _NEVER_OF_FOOD.isdisjoint(self.frame.topics):
            return True
        if self.materials and (self.states or len(self.groups) > 1):
            return False
        sure = self.frame.ask in _OF_FOOD and self.frame.confidence >= _SURE
        return not (sure and self.frame.has_cue("taking"))

    def is_of_child(self, *, under_one: bool = False) -> bool:
        """Return whether a child is to eat; with ``under_one`` an infant."""
        states = {*self.populations, *self.person.states}
        return _INFANT in states if under_one else not CHILDREN.isdisjoint(states)

    def needs_plain_food(self) -> bool:
        """Return whether foods alone are suggested: to a child, in pregnancy, to bad kidneys."""
        return self.is_of_child() or not _DELICATE.isdisjoint((*self.states, *self.person.states))

    def is_feverish_child(self) -> bool:
        """Return whether it is about a child's fever, or an infant that loses water."""
        losing = self.is_of_child(under_one=True) and not _LOSING_WATER.isdisjoint(self.ailments)
        return losing or (_FEVER in self.ailments and self.is_of_child())

    def wants_advice(self) -> bool:
        """Return whether something to eat is asked for, and there is a reason for it."""
        seeds = (*self.ailments, *self.constitutions, *self.populations, *self.aims)
        reason = seeds or self.person.states or self.frame.wanted.season
        return self.wants("advice") and bool(reason) and not self.is_only_beyond_food()


_OF_MEDICINES: Final = ("may", "compare", "record", "property", "why", "how", "evidence")
_NEWBORN: Final = 0.25  # years
_MOST_THINGS: Final = 16  # of one question that are checked together
_SURE, _GROWN = 0.6, 18  # a probability; years
_STOPS: Final = 0.2  # probability of leaving out a medicine named, from which that is warned of
_MISREAD: Final = ("why", "clarification", "property", "how")  # for whether a thing may be had
_MINDED: Final = ("property", "how", "list", "clarification", "advice")  # for what to mind
_GOOD: Final = frozenset({BENEFIT, "hasEfficacy"})
_OF_BENEFIT: Final = _GOOD | {"suitableSeason", "hasFoodGroup"}
_NEVER_OF_FOOD: Final = frozenset({"abortion", "animals"})  # topics, beside any other ask
_FEVER: Final = resource("symptom-fever").value
_INFANT: Final = resource("population-infant").value
CHILDREN: Final = frozenset(
    resource(f"population-{name}").value for name in ("infant", "young-child", "child")
)
_WEAK_KIDNEYS: Final = ("disease-chronic-kidney-disease", "disease-kidney-failure")
_DELICATE: Final = frozenset(
    f"{ID}{kind}"
    for kind in ("population-pregnant", "population-lactating", *_WEAK_KIDNEYS)
)  # fmt: skip
_LOSING_WATER: Final = frozenset(
    resource(f"symptom-{name}").value for name in ("diarrhoea", "vomiting", "loose-stools")
)


def resolve(
    frame: Frame,
    mentions: tuple[Mention, ...],
    profile: Profile,
    linker: Linker,
    facts: Facts,
    settings: UnderstandingSettings,
) -> Question:
    """Sort what a frame names by role and kind, and add what the profile says."""
    profile = Profile() if _is_of_another(frame, profile) else profile
    own = [f for f in frame.focus if f.iri and f.role != "other_person"]
    live = [f for f in own if f.assertion != "denied"]
    stop = frame.ask == "stop_medicine"

    def kinds(of: Iterable[Focus], *classes: NamedNode) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.iri for f in of if facts.is_a(f.iri, *classes)))

    asked = [f for f in live if f.role in _ASKED and facts.is_a(f.iri, *MATERIAL)]
    drugs = [f.iri for f in own if f.role == "medicine" and (stop or f.assertion != "denied")]
    medicines = kinds((f for f in live if f.role == "asked_about"), SHIYI.Drug, SHIYI.DrugClass)
    all_drugs = list(dict.fromkeys((*drugs, *medicines)))
    if not asked and len(all_drugs) > 1 and frame.ask in _OF_MEDICINES:  # one beside the others
        asked, drugs = [next(f for f in own if f.iri == all_drugs[0])], all_drugs[1:]
    elif asked:  # "valerian and barbiturates": each is asked about, and they meet
        drugs = [iri for iri in all_drugs if iri not in {f.iri for f in asked}]
    ailments = tuple(
        x
        for x in kinds((f for f in live if f.role != "allergy"), *AILMENT)
        if not facts.is_a(x, SHIYI.EmergencySign)
    )
    constitutions = kinds(live, SHIYI.Constitution)
    populations, stages = _populations(frame, facts)
    allergens = [iri for f in own if f.role == "allergy" for iri in _allergen_concepts(f, facts)]
    left_out = [f.iri for f in own if f.role == "asked_about" and f.assertion == "denied"]
    mentioned = (*ailments, *constitutions, *populations, *stages)
    stated = Person(mentioned, tuple(drugs), tuple(allergens), (), tuple(left_out))
    person = build_person(profile, linker, facts, stated)
    absent = kinds((f for f in own if f.assertion == "denied"), *AILMENT)
    absent += tuple(s.iri for s in frame.patient.states if s.iri and s.assertion == "denied")
    aims = _aims(live, facts)
    groups = _each_once((f.iri, *(i for i in f.also if facts.is_a(i, *MATERIAL))) for f in asked)
    known = {*ailments, *constitutions, *drugs, *aims, *(i for group in groups for i in group)}
    known |= {*allergens, *left_out, *populations}
    known |= {*kinds((f for f in live if f.role == "topic"), *MATERIAL)}  # of a tale, a likeness
    question = Question(
        frame,
        (),
        mentions,
        ailments,
        absent,
        constitutions,
        populations,
        groups,
        tuple(dict.fromkeys(drugs)),
        aims,
        tuple(dict.fromkeys(f.iri for f in live if f.iri not in known)),
        person,
        profile,
        tuple(dict.fromkeys(f.iri for f in frame.focus if f.iri and f.role == "other_person")),
    )
    slots = question.slots
    read = "" if is_calm(slots) else frame.alarm_from(settings.alarm_from)
    alarm = frame.alarm or alarm_of(slots) or read or ("emergency" if frame.signs else "")
    return replace(question, alarm=alarm, asks=_settle(question, alarm, settings))


def _is_of_another(frame: Frame, profile: Profile) -> bool:
    """Return whether it is asked for somebody of quite another age than the profile states."""
    who, age = frame.patient.who, frame.patient.age
    if profile.age is None or who in {"self", "general"}:
        return False
    return who == "child" and profile.age >= _GROWN if age is None else abs(age - profile.age) > 5


def _settle(question: Question, alarm: str, settings: UnderstandingSettings) -> tuple[str, ...]:
    """Return what is answered."""
    frame = question.frame
    if alarm:
        return (alarm,)
    if frame.has_cue("miscarriage-cause") and not frame.topics:
        return ("avoid",)
    if frame.ask in ALARMS:
        frame = frame.with_ask(next((a.type for a in frame.asks if a.type not in ALARMS), "may"))
        question = replace(question, frame=frame)
    first = _first_ask(question)
    if frame.polarity != "both" and frame.probability("avoid") >= settings.avoid_from:
        first = "avoid"
    likely = frame.probability(*_OFFERS) >= settings.advice_from or first != frame.ask
    offered = likely and (_PROHIBITS not in frame.slots or _ADVISES in frame.slots)
    if first == "advice" and not offered:
        first = "record"
    elif first == frame.ask != "advice" and frame.confidence < settings.sure_from:
        first = "advice" if offered and not question.groups else "record"
    second: tuple[str, ...] = frame.second
    taken = question.drugs or (question.person.drugs and "stop" in frame.slots)
    if taken and frame.probability("stop_medicine") >= _STOPS:
        second = ("stop_medicine",)
    return (first, *(iri for iri in second if iri != first))


def _first_ask(question: Question) -> str:
    """Return what is asked first: as it was read, or as the things named and the signs say."""
    frame = question.frame
    named = (*question.groups, *question.ailments, *question.constitutions)
    first: str = "advice" if _is_wish(frame) else frame.ask
    if "compare" in frame.slots and frame.confidence < _SURE and len(named) > 1:
        first = "compare"
    if first == "stop_medicine" and question.groups:
        medicine = question.drugs or frame.has_cue("medicine")
        if not medicine and frame.has_cue("of-substitute"):
            first = "record"  # one food for another
        elif not medicine or frame.confidence < _SURE:
            first = "may"
    if not question.groups:
        return "advice" if first == "may" and _wishes_in_season(frame) else first
    if frame.has_cue("minds") and first in _MINDED and not named[len(question.groups) :]:
        return "avoid"
    if _asks_of_things(frame, first):
        return "may"
    beyond = first in ("out_of_scope", "chitchat") and not frame.topics
    return "record" if beyond and (frame.confidence < _SURE or _is_named(question)) else first


def _is_named(question: Question) -> bool:
    """Return whether a material is named by a name of its own, and not by a word near to it."""
    return any(
        m.iri in question.materials and "Semantic" not in m.justification for m in question.mentions
    )


def _asks_of_things(frame: Frame, ask: str) -> bool:
    """Return whether it is asked if the things named may be had, though it is read otherwise."""
    unsure = frame.confidence < _SURE
    if ask == "compare":
        return unsure and "compare" not in frame.slots and frame.has_cue("beside")
    answered = frame.has_cue("yes-no") and not frame.has_cue("open-question")
    permitted = ask == "constitution" and frame.has_cue("permission")
    return answered and (ask == "advice" or permitted or (unsure and ask in _MISREAD))


def _wishes_in_season(frame: Frame) -> bool:
    """Return whether something is asked for that suits a season: "what is nice in winter"."""
    unsure = frame.confidence < _SURE
    return bool(frame.wanted.season) and unsure and frame.has_cue("open-question")


def _is_wish(frame: Frame) -> bool:
    """Return whether a list is wanted of what is good for something, which is checked as advice."""
    names = {condition.property for condition in frame.conditions if condition.operator == "is"}
    every = len(names) == len({condition.property for condition in frame.conditions})
    listed = frame.ask == "list" and not frame.wanted.measure
    return listed and every and not _GOOD.isdisjoint(names) and names <= _OF_BENEFIT


def _populations(frame: Frame, facts: Facts) -> tuple[tuple[str, ...], list[str]]:
    """List the groups of people named, and those of the age."""
    named = [s.iri for s in frame.patient.states if s.iri and s.assertion in _PRESENT]
    age = frame.patient.age
    if age is None:
        age = next((years for cue, years in _LOOSELY if frame.has_cue(cue)), None)
    if age == 1:
        age = 0.9  # the first year may be meant
    stages = [ID + name for name in life_stages(Profile(age=age))]
    stages = [iri for iri in stages if iri in facts.labels]
    if stages and not set(stages).intersection(named):
        named.append(stages[0])
    return tuple(dict.fromkeys(named)), stages


_PRESENT: Final = frozenset({"affirmed", "planned", "uncertain"})
_LOOSELY: Final = (("infant", 0.5), ("toddler", 2.0))


def _aims(live: Sequence[Focus], facts: Facts) -> tuple[str, ...]:
    """List the principles and effects sought, but for those that need a doctor first."""
    results: list[str] = []
    for focus in live:
        meant = [
            x for x in (focus.iri, *focus.also) if facts.is_a(x, SHIYI.Therapy, SHIYI.Efficacy)
        ]
        if focus.iri in meant and not any(facts.of(x, SHIYI.hasRedFlag) for x in meant):
            results += meant  # against bleeding, fits, pus, collapse nothing is suggested
    return tuple(dict.fromkeys(results))


def _allergen_concepts(focus: Focus, facts: Facts) -> list[str]:
    """Return what an allergen is, and the group of foods that may bear the same name."""
    return [focus.iri, *(iri for iri in focus.also if facts.is_a(iri, SHIYI.FoodGroup))]


def _each_once(found: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Keep each material once, with those that the same name may mean."""
    seen: set[str] = set()
    groups = []
    for meant in found:
        new = tuple(dict.fromkeys(iri for iri in meant if iri not in seen))
        seen.update(new)
        if new:
            groups.append(new)
    return tuple(groups)


def sanitize_words(word: str) -> str:
    """Return words of a stranger without what could be read as markup, at most 40 characters.

    >>> sanitize_words("[x](http://e.org) **wow** <b>")
    'xhttp://e.org wow b'
    """
    text = "".join(c for c in word if c not in "[]()*_#<>|`~!\\\n\r")
    return " ".join(text.split())[:40]
