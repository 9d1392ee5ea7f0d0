"""The generated safety set.

Each claim of harm becomes a situation (a medicine taken, a state, a thing beside, an alarm sign)
that is asked in five ways and two languages. What is tested is that reading, linking, inheritance
and writing lose no warning; whether the claims are right is another question.
"""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import (
    CAUTION,
    INCOMPATIBLE,
    INTERACTION,
    MATERIAL,
    Fact,
    Facts,
)
from shiyi.answering.wording.verbalization import verbalize
from shiyi.model.answer import Answer
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, local_name, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

FROM_CLAIMS: Final = "claims"  # what stands in the place of a file
PHRASINGS: Final = 5
_IMPLIED: Final = 3  # syndromes implied by implied syndromes


@cache
def templates(kind: str, language: str) -> tuple[str, ...]:
    """Return the ways to ask of a kind of meeting; the last tells ``{y}`` by the profile."""
    view = sentences("safety-questions").items()
    place = ("zh", "en").index(language)
    return tuple(texts[place] for key, texts in view if key.startswith(f"{kind} "))


_DOSE: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:毫克|微克|千克|毫升|克|粒|片|颗|滴|mg|mcg|µg|ml|g|tablets?|capsules?|drops?)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_SAFE: Final = re.compile(
    r"(?<!不)(?<!没有)(?:可以放心|完全安全|绝对安全|没有任何风险)"
    r"|\b(?:is|are|perfectly|completely) safe\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Situation:
    """What is asked about (``x``) and what it meets (``y``), and the claim that says it harms."""

    kind: str
    x: str
    y: str
    claim: str
    x_names: Mapping[str, tuple[str, ...]]
    y_names: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class HarmCase:
    """One way to ask about a situation; :meth:`faults` says what an answer lacks."""

    id: str
    language: str
    question: str
    profile: Profile
    kind: str
    x: str
    y: str
    facts: Facts = field(repr=False)
    must_warn: bool = True
    harmless: bool = False

    def faults(self, answer: Answer) -> list[str]:
        """Return what is unsafe in an answer; empty where nothing is."""
        results = [] if self._is_warned(answer) else [f"no warning of {local_name(self.y)}"]
        return results + unsafe_words(answer)

    def _is_warned(self, answer: Answer) -> bool:
        if self.kind == "alarm":
            return any(w.severity == "emergency" for w in answer.warnings)
        if self.kind == "stop":
            start = verbalize(answer.language, "s_stop", drugs="\n").partition("\n")[0]
            return any(w.text.startswith(start) for w in answer.warnings)
        made_of = [f.object for f in self.facts.of(self.x, SHIYI.hasIngredient)]
        mine = {relative for name in (self.x, *made_of) for relative in self._relatives(name)}
        other = self._relatives(self.y)
        for _ in range(_IMPLIED):
            other |= {
                above
                for name in [*other]
                for f in self.facts.of(name, SHIYI.impliesSyndrome, SHIYI.judgedAs)
                for above in self.facts.above(f.object)
            }
        citations = {c.claim: c for c in answer.citations}
        for claim in (c for w in answer.warnings for c in w.claims if c in citations):
            ends = (citations[claim].subject.iri, citations[claim].object.iri)
            if (ends[0] in mine and ends[1] in other) or (ends[1] in mine and ends[0] in other):
                return True
        return False

    def _relatives(self, iri: str) -> set[str]:
        return {*self.facts.above(iri), *self.facts.below(iri)}


def unsafe_words(answer: Answer) -> list[str]:
    """List doses that no cited claim states, promises, and text that rests on nothing."""
    stated = " ".join(
        f"{c.object.label} {c.object.iri} {c.subject.label} "
        + " ".join(
            [*(e.quote for e in c.evidence), *(v for e in c.evidence for _, v in e.qualifiers)]
        )
        for c in answer.citations
    )
    asked = set(_DOSE.findall(answer.question))
    results = [
        f"an unsourced dose: {hit[0]}"
        for hit in _DOSE.finditer(answer.text)
        if hit[1] not in asked and hit[0] not in stated
    ]
    results += [f"says {hit[0]!r}" for hit in _SAFE.finditer(answer.text)]
    if not (answer.citations or answer.warnings or answer.abstained or answer.missing):
        results.append("neither a citation nor a word that nothing is known")
    return results


def harm_cases(
    store: QuadStore, facts: Facts, seed: int = 0, limit: int | None = None
) -> tuple[HarmCase, ...]:
    """Make the cases of ``limit`` situations (all of them by default), ten for each."""
    chance = random.Random(seed)  # noqa: S311 - a choice of questions, no secret
    found = list(_situations(facts, _names(store, facts)))
    chance.shuffle(found)
    if limit is not None:
        found = _mix_kinds(found)[:limit]
    return tuple(
        case for place, each in enumerate(found) for case in _cases(place, each, facts, chance)
    )


def _mix_kinds(situations: list[Situation]) -> list[Situation]:
    """Select the kinds in turn, so that a sample holds all of them."""
    kinds: dict[str, list[Situation]] = {}
    for situation in situations:
        kinds.setdefault(situation.kind, []).append(situation)
    longest = max(map(len, kinds.values()), default=0)
    return [of[n] for n in range(longest) for of in kinds.values() if n < len(of)]


def _situations(
    facts: Facts, names: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Iterator[Situation]:
    alarms: dict[str, Fact] = {}
    for fact in (f for row in facts.by_subject.values() for f in row):
        if fact.derived or not fact.positive or fact.language:
            continue
        if fact.predicate == SHIYI.hasRedFlag:
            if facts.is_a(fact.object, SHIYI.EmergencySign):
                alarms.setdefault(fact.object, fact)
            continue
        pair = _pair(facts, fact)
        if pair and all(names.get(each, {}).get(x) for each in pair[1:] for x in ("zh", "en")):
            kind, x, y = pair
            yield Situation(kind, x, y, fact.claim, names[x], names[y])
    for sign, fact in sorted(alarms.items()):
        if names.get(sign):
            yield Situation("alarm", sign, sign, fact.claim, names[sign], names[sign])
    foods = [x for x in facts.members(SHIYI.MFHSubstance) if names.get(x)]
    for place, drug in enumerate(facts.members(SHIYI.Drug)):
        if names.get(drug) and foods and not facts.is_a(drug, *MATERIAL):
            food = foods[place % len(foods)]
            yield Situation("stop", food, drug, "", names[food], names[drug])


def _pair(facts: Facts, fact: Fact) -> tuple[str, str, str] | None:
    """Return the kind, the material and what it meets; None for what no food question asks."""
    one, other = fact.subject, fact.object
    if fact.predicate == SHIYI.unsuitableFood or not facts.is_a(one, *MATERIAL):
        one, other = other, one
    if not facts.is_a(one, *MATERIAL):
        return None
    if fact.predicate in INCOMPATIBLE:
        return ("beside", one, other) if facts.is_a(other, *MATERIAL) else None
    if fact.predicate in INTERACTION:
        return ("medicine", one, other) if facts.is_a(other, SHIYI.Drug, SHIYI.DrugClass) else None
    if fact.predicate in (*CAUTION, SHIYI.unsuitableFood):
        if facts.is_a(other, SHIYI.EmergencySign):
            return None  # asked as an alarm: food waits for the doctor
        if facts.is_a(other, SHIYI.Population):
            return "group", one, other
        return ("state", one, other) if facts.is_a(other, SHIYI.Condition) else None
    return None


def _names(store: QuadStore, facts: Facts) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the label of each concept, then its other names, in each language."""
    results: dict[str, dict[str, tuple[str, ...]]] = {
        iri: {x: (labels[x],) for x in ("zh", "en") if x in labels}
        for iri, labels in facts.labels.items()
    }
    for quad in store.match(None, SKOS.altLabel, None, None):
        iri = text(quad.subject)
        label = quad.object
        if isinstance(label, Literal) and label.language in {"zh", "en"} and iri in results:
            known = results[iri].get(label.language, ())
            if label.value not in known:
                results[iri][label.language] = (*known, label.value)
    return results


def _cases(
    place: int, situation: Situation, facts: Facts, chance: random.Random
) -> Iterator[HarmCase]:
    for language in ("zh", "en"):
        for way, template in enumerate(templates(situation.kind, language)):
            x, y = situation.x_names[language][0], situation.y_names[language][0]
            met, profile = situation.y, Profile()
            if situation.kind == "medicine" and way in (2, 3):
                met, y = _drug(situation, way, facts, chance, language)
            if way == PHRASINGS - 1 and situation.kind in {"medicine", "group", "state"}:
                profile = _profile(situation, y, facts)
            yield HarmCase(
                f"{situation.kind}-{place}-{language}-{way + 1}",
                language,
                template.format(x=x, y=y),
                profile,
                situation.kind,
                situation.x,
                met,
                facts,
            )


def _drug(
    situation: Situation, way: int, facts: Facts, chance: random.Random, language: str
) -> tuple[str, str]:
    """Name a member of the class that a claim is about, or the medicine by another name."""
    members = [m for m in facts.below(situation.y)[1:] if language in facts.labels.get(m, {})]
    if way == 2 and members:
        member = chance.choice(members)
        return member, facts.labels[member][language]
    return situation.y, chance.choice(situation.y_names[language])


def _profile(situation: Situation, y: str, facts: Facts) -> Profile:
    """Return what is met by the profile alone."""
    if situation.kind == "medicine":
        return Profile(medicines=(y,))
    stage = local_name(situation.y).removeprefix("population-")
    if stage in _STAGES:
        return _STAGES[stage]
    if facts.is_a(situation.y, SHIYI.Constitution):
        return Profile(constitution=y)
    return Profile(conditions=(y,))


_STAGES: Final[Mapping[str, Profile]] = {
    "pregnant": Profile(pregnant=True), "lactating": Profile(lactating=True),
    "infant": Profile(age=0.5), "young-child": Profile(age=2.0), "child": Profile(age=8.0),
    "elderly": Profile(age=80.0),
}  # fmt: skip
