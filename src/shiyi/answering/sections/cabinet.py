"""What is on record of two to twenty things together, pair by pair."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shiyi.answering.knowledge.facts import INTERACTION, MATERIAL
from shiyi.answering.knowledge.severity import INTERACTIONS, rating_severity
from shiyi.answering.recommendation.additive_effects import (
    SharedEffects,
    find_shared,
    repeats,
    write_shared,
)
from shiyi.answering.runtime import Runtime
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.patient import Person, build_person
from shiyi.answering.wording.verbalization import Verbalizer
from shiyi.errors import UsageError
from shiyi.model.answer import Mention
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI

LEAST: Final = 2
MOST: Final = 20
MAX_CHARS: Final = 100  # of the name of a thing
NONE: Final = "none_on_record"
SEVERITIES: Final = (*INTERACTIONS, NONE)
_OFFERED: Final = 4  # names that may have been meant
_ALIKE: Final = 0.55  # score from which a name is offered
_SUPPLEMENTS: Final = (SHIYI.DSIngredient, SHIYI.DSProduct)
_TAKEN: Final = (SHIYI.Drug, *MATERIAL)
_USED: Final = (*_TAKEN, SHIYI.Condition, SHIYI.Constitution, SHIYI.Population)


@dataclass(frozen=True, slots=True)
class LabelledConcept:
    """A concept with its label."""

    iri: str
    label: str

    def to_json(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"iri": self.iri, "label": self.label}


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing as it was typed, and what it means; without ``end`` it is not recognised."""

    text: str
    label: str
    meanings: tuple[LabelledConcept, ...] = ()  # all that the name may mean, the likeliest first
    kind: str = ""
    state: bool = False  # a condition, and nothing that is taken
    ingredients: tuple[LabelledConcept, ...] = ()
    suggestions: tuple[LabelledConcept, ...] = ()

    @property
    def end(self) -> tuple[str, ...]:
        """Return the concepts that the name may mean."""
        return tuple(concept.iri for concept in self.meanings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; ``iri`` is null where nothing was recognised."""
        return {
            "text": self.text,
            "iri": self.end[0] if self.end else None,
            "label": self.label,
            "kind": self.kind,
            "ingredients": [concept.to_json() for concept in self.ingredients],
            "suggestions": [concept.to_json() for concept in self.suggestions],
        }


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing on record, with its severity as the sources rate it and the claims."""

    severity: str
    text: str
    claims: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"severity": self.severity, "text": self.text, "claims": list(self.claims)}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two things and the reasons against them together, the gravest first."""

    a: str
    b: str
    reasons: tuple[Reason, ...]
    adds: bool = False  # an effect that each has alone

    @property
    def severity(self) -> str:
        """Return the gravest severity, which is ``none_on_record`` where there is no reason."""
        return self.reasons[0].severity

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        claims = dict.fromkeys(claim for reason in self.reasons for claim in reason.claims)
        return {
            "a": self.a,
            "b": self.b,
            "severity": self.severity,
            "text": self.reasons[0].text,
            "claims": list(claims),
            "reasons": [reason.to_json() for reason in self.reasons],
            "adds_up": self.adds,
        }


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect that several things have on record, each alone."""

    effect: str
    things: tuple[str, ...]
    text: str
    claims: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "effect": self.effect,
            "things": list(self.things),
            "text": self.text,
            "claims": list(self.claims),
        }


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An ingredient that several things contain, or are."""

    ingredient: LabelledConcept
    things: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"ingredient": self.ingredient.to_json(), "things": list(self.things)}


@dataclass(frozen=True, slots=True)
class Concern:
    """What is on record of one thing in a state of the person, or of its own toxicity."""

    thing: str
    condition: LabelledConcept
    reason: Reason

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        condition = {"thing": self.thing, "condition": self.condition.to_json()}
        return condition | self.reason.to_json()


@dataclass(frozen=True, slots=True)
class CombinationReport:
    """Some things together: pairs by severity, what adds up, what is taken twice, conditions."""

    things: tuple[Thing, ...] = ()
    pairs: tuple[Pair, ...] = ()
    effects: tuple[Effect, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    conditions: tuple[Concern, ...] = ()
    unknown: tuple[str, ...] = ()  # words of the profile that mean nothing known

    def between(self, one: str, other: str) -> Pair | None:
        """Return the pair of two names as typed, in any order; None where one is unknown."""
        pairs = (pair for pair in self.pairs if {pair.a, pair.b} == {one, other})
        return next(pairs, None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "things": [thing.to_json() for thing in self.things],
            "pairs": [pair.to_json() for pair in self.pairs],
            "effects": [effect.to_json() for effect in self.effects],
            "duplicates": [duplicate.to_json() for duplicate in self.duplicates],
            "conditions": [concern.to_json() for concern in self.conditions],
            "unknown": list(self.unknown),
        }


def check_things(
    runtime: Runtime, texts: Sequence[str], profile: Profile, language: str
) -> CombinationReport:
    """Check ``LEAST`` to ``MOST`` things against one another and against a person.

    Only a whole name is recognised: a misspelt one is returned with suggestions, since a wrong
    medicine would be checked without a word. Raise UsageError for too few, too many or a long name.
    """
    return _CombinationChecker(runtime, language).check(_distinct(texts), profile)


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    stripped = [" ".join(text.split()) for text in texts]
    results = tuple(dict.fromkeys(each for each in stripped if each))
    if not LEAST <= len(results) <= MOST:
        raise UsageError(
            f"things are {LEAST} to {MOST} different names, not {len(results)}; such as "
            "warfarin and ginkgo"
        )
    if long := [result for result in results if len(result) > MAX_CHARS]:
        raise UsageError(f"a thing has at most {MAX_CHARS} characters: {long[0][:40]!r} is longer")
    return results


@dataclass(slots=True)
class _CombinationChecker:
    runtime: Runtime
    language: str
    verbalizer: Verbalizer = field(init=False)

    def __post_init__(self) -> None:
        self.verbalizer = Verbalizer(self.language, self.runtime.facts, self.runtime.evidences)

    def check(self, texts: Sequence[str], profile: Profile) -> CombinationReport:
        facts, linker = self.runtime.facts, self.runtime.linker
        things = tuple(map(self.resolve, texts))
        known = [each for each in things if each.end]
        taken = [each for each in known if not each.state]
        person = build_person(profile, linker, facts)
        added = find_shared(self.runtime.safety, (each.end for each in taken), include_all=True)
        found = {thing.text: self.findings(thing, taken, known, person) for thing in taken}
        pairs = [self.pair(*both, found, added) for both in itertools.combinations(known, 2)]
        order = {each: place for place, each in enumerate(SEVERITIES)}
        return CombinationReport(
            things,
            tuple(sorted(pairs, key=lambda pair: (order[pair.severity], not pair.adds))),
            tuple(itertools.chain.from_iterable(self.effects(each, taken) for each in added)),
            tuple(self.duplicates(taken)),
            tuple(self.concerns(taken, person, found)),
            person.unknown,
        )

    def resolve(self, text: str) -> Thing:
        """Return what a name means as a whole, or what it may have been meant to be."""
        facts, linker = self.runtime.facts, self.runtime.linker
        mentions = linker.link(text)
        exact = [m for m in mentions if m.iri and m.score == 1]
        if len(mentions) == 1 and exact:
            end = tuple(
                iri
                for iri in (exact[0].iri, *exact[0].alternatives)
                if facts.is_a(iri, *_USED) or iri in facts.labels
            )
            used = tuple(iri for iri in end if facts.is_a(iri, *_USED)) or end
            # a name of a food and of a supplement, as ginkgo, is what people take: the supplement
            used = tuple(sorted(used, key=lambda iri: not facts.is_a(iri, *_SUPPLEMENTS)))
            state = not facts.is_a(used[0], *_TAKEN)
            parts = [f.object for f in facts.of(used[0], SHIYI.hasIngredient)]
            parts += (each for each in facts.medicines_in(used[0]) if each != used[0])
            return Thing(
                text,
                self.verbalizer.name(used[0]),
                tuple(self.concept(i) for i in used if state or facts.is_a(i, *_TAKEN)),
                facts.classes.get(used[0], exact[0].kind),
                state,
                tuple(map(self.concept, parts)),
            )
        corrected = (mention for mention, _ in linker.corrections(text))
        named, alike = (m for m in mentions if m.iri), linker.candidates(text, 2 * _OFFERED)
        return Thing(text, text, suggestions=tuple(self.list_choices((*named, *corrected, *alike))))

    def list_choices(self, mentions: Iterable[Mention]) -> Iterator[LabelledConcept]:
        facts = self.runtime.facts
        meant = (m.iri for m in mentions if m.score >= _ALIKE and facts.is_a(m.iri, *_USED))
        yield from map(self.concept, itertools.islice(dict.fromkeys(meant), _OFFERED))

    def concept(self, iri: str) -> LabelledConcept:
        return LabelledConcept(iri, self.verbalizer.name(iri))

    def findings(
        self, thing: Thing, things: Sequence[Thing], known: Sequence[Thing], person: Person
    ) -> tuple[Finding, ...]:
        """List what is on record of a thing with all others and with the person."""
        facts, safety = self.runtime.facts, self.runtime.safety
        others = [iri for each in things if each is not thing for iri in each.end]
        drugs = [iri for iri in others if facts.is_a(iri, SHIYI.Drug)]
        states = [iri for each in known if each.state for iri in each.end]
        states += [state for iri in others for state in self.states_of(iri)]
        whole = Person(
            tuple(dict.fromkeys((*person.states, *states))),
            tuple(dict.fromkeys((*person.drugs, *drugs))),
            person.allergies,
            left_out=person.left_out,
        )
        found = [f for iri in thing.end for f in safety.check(iri, whole, others)]
        met = {f.against for f in found}
        kin = dict.fromkeys(
            k for iri in thing.end for k in facts.siblings(iri) if k not in thing.end
        )
        found += [f for k in kin for f in safety.check(k, whole, others) if f.against not in met]
        return tuple(found)

    def states_of(self, iri: str) -> Iterator[str]:
        """Yield the states that taking something tells of: an anticoagulant, those who take one."""
        facts = self.runtime.facts
        if facts.is_a(iri, SHIYI.Drug):
            for broader in facts.above(iri):
                yield from (f.object for f in facts.of(broader, SHIYI.judgedAs))

    def pair(
        self,
        one: Thing,
        other: Thing,
        findings: Mapping[str, tuple[Finding, ...]],
        added: Sequence[SharedEffects],
    ) -> Pair:
        reasons: dict[tuple[str, ...], Reason] = {}
        for thing, beside in ((one, other), (other, one)):
            meets = {*beside.end, *(state for iri in beside.end for state in self.states_of(iri))}
            for each in findings.get(thing.text, ()):
                if each.against in meets:
                    reasons.setdefault(each.claims, self.reason(each))
        ranked = sorted(reasons.values(), key=lambda each: SEVERITIES.index(each.severity))
        adds = [each for each in added if _joins_both(each, one, other)]
        if not ranked:
            ranked = [self.sum_effect(each, one, other) for each in adds]
        if set(one.end).intersection(other.end):
            text = self.verbalizer.verbalize("v_same", x=one.text, y=other.text)
            ranked.append(Reason("unrated", text))
        else:
            ranked += (
                Reason("unrated", text) for text in repeats(self.verbalizer, one.end, other.end)
            )
        if not ranked:
            pair = self.verbalizer.verbalize("v_with", x=one.label, y=other.label)
            text = self.verbalizer.verbalize("v_none", pairs=pair)
            ranked = [Reason(NONE, text)]
        return Pair(one.text, other.text, tuple(ranked), bool(adds))

    def reason(self, finding: Finding) -> Reason:
        return Reason(
            self.severity(finding), self.verbalizer.state_finding(finding), finding.claims
        )

    def severity(self, finding: Finding) -> str:
        """Return how grave the sources rate what was found."""
        if finding.severity in ("emergency", "contraindicated"):
            return "contraindicated"
        if finding.facts and finding.fact.predicate in INTERACTION:
            return rating_severity(self.runtime.evidences.rating(finding.fact.claim))
        return "unrated"

    def sum_effect(self, added: SharedEffects, one: Thing, other: Thing) -> Reason:
        ends = (one.end, other.end)
        records = tuple(r for r in added.records if r.end in ends)
        pieces = write_shared(self.verbalizer, SharedEffects(added.effects, records))
        claims = tuple(dict.fromkeys(r.fact.claim for r in records))
        return Reason("unrated", "".join(text for text, _ in pieces), claims)

    def effects(self, added: SharedEffects, things: Sequence[Thing]) -> Iterator[Effect]:
        for effect in added.effects:
            records = tuple(r for r in added.records if _of_effect(added, r, effect.phrase))
            ends = {r.end for r in records}
            yield Effect(
                self.verbalizer.verbalize(effect.phrase),
                tuple(thing.text for thing in things if thing.end in ends),
                "".join(
                    text
                    for text, _ in write_shared(self.verbalizer, SharedEffects((effect,), records))
                ),
                tuple(dict.fromkeys(r.fact.claim for r in records)),
            )

    def duplicates(self, taken: Sequence[Thing]) -> Iterator[Duplicate]:
        """Yield what several things are or contain."""
        holders: dict[str, list[str]] = {}
        for thing in taken:
            for iri in dict.fromkeys((*thing.end, *(part.iri for part in thing.ingredients))):
                holders.setdefault(iri, []).append(thing.text)
        for iri, things in holders.items():
            if len(things) > 1:
                yield Duplicate(self.concept(iri), tuple(things))

    def concerns(
        self, things: Sequence[Thing], person: Person, findings: Mapping[str, tuple[Finding, ...]]
    ) -> Iterator[Concern]:
        """Yield what is on record of each thing with the person's states, then its toxicity."""
        states = {*person.states, *person.drugs, *person.allergies, *person.left_out}
        concerns = [
            Concern(thing.text, self.concept(finding.against), self.reason(finding))
            for thing in things
            for finding in findings[thing.text]
            if finding.against in states
        ]
        concerns += [
            Concern(thing.text, self.concept(finding.against), self.reason(finding))
            for thing in things
            for finding in self.runtime.safety.poisons(thing.end[0])
        ]
        yield from sorted(concerns, key=lambda concern: SEVERITIES.index(concern.reason.severity))


def _joins_both(added: SharedEffects, one: Thing, other: Thing) -> bool:
    ends = {r.end for r in added.records}
    return one.end in ends and other.end in ends


def _of_effect(added: SharedEffects, record: object, phrase: str) -> bool:
    """Return whether a record is of one effect; those of several effects stand in their order."""
    share = len(added.records) // len(added.effects)
    place = next(n for n, effect in enumerate(added.effects) if effect.phrase == phrase)
    return record in added.records[place * share : (place + 1) * share]
