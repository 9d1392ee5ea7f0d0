"""What every writer of an answer needs, and what it hands back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.draft import Section
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.reading import Reading
from shiyi.answering.safety import Finding, Safety
from shiyi.answering.thermal import Differential
from shiyi.answering.voice import Voice
from shiyi.model.answer import Recommendation, SafetyWarning
from shiyi.model.names import resource
from shiyi.model.path import Path
from shiyi.ontology.terms import SHIYI

# what to watch when such a medicine or disease is in play; general safety sentences
_WATCH: Final = (
    ("drug-vka", "s_inr"), ("drug-antithrombotics", "s_bleeding"),
    ("drug-antidiabetics", "s_glucose"), ("disease-diabetes", "s_glucose"),
    ("population-diabetic", "s_glucose"), ("drug-cns-depressants", "s_sedation"),
    ("drug-antihypertensives", "s_pressure"), ("disease-hypertension", "s_pressure"),
)  # fmt: skip
_KINDS: Final = ((SHIYI.Dish, "dish"), (SHIYI.Food, "food"), (SHIYI.DSIngredient, "supplement"))


@dataclass(frozen=True, slots=True)
class Desk:
    """A question with everything at hand to answer it."""

    reading: Reading
    facts: Facts
    evidences: Evidences
    safety: Safety
    voice: Voice
    differential: Differential

    def kind(self, iri: str) -> str:
        """Give food, dish, herb or supplement."""
        return next((kind for known, kind in _KINDS if self.facts.is_a(iri, known)), "herb")

    def watch(self, *concepts: str) -> list[str]:
        """Give the general sentences that belong to some medicines or diseases."""
        near = {each for concept in concepts for each in self.facts.above(concept)}
        keys = dict.fromkeys(key for name, key in _WATCH if resource(name).value in near)
        return [self.voice.say(key) for key in keys]

    def warning(self, found: Finding) -> SafetyWarning:
        """Turn a finding into a warning."""
        return SafetyWarning(found.severity, self.voice.finding(found), found.claims)


@dataclass(slots=True)
class Part:
    """What one writer contributes."""

    opening: Section = field(default_factory=lambda: Section(""))
    sections: list[Section] = field(default_factory=list)
    warnings: list[SafetyWarning] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)  # of the warnings, by claim
    recommendations: list[Recommendation] = field(default_factory=list)
    follow_up: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    def section(self, heading: str) -> Section:
        """Give the section under ``heading``, new at the end if there is none."""
        for known in self.sections:
            if known.heading == heading:
                return known
        self.sections.append(Section(heading))
        return self.sections[-1]

    def warn(self, desk: Desk, found: Finding) -> None:
        """Add a finding as a warning, once."""
        made = desk.warning(found)
        if made.text not in {w.text for w in self.warnings}:
            self.warnings.append(made)
            self.facts |= {f.claim: f for f in found.facts}

    def note(self, *facts: Fact) -> None:
        """Keep facts that a warning cites."""
        self.facts |= {f.claim: f for f in facts}

    def take(self, other: "Part") -> None:
        """Append what another writer contributed."""
        self.opening.lines += other.opening.lines
        for section in other.sections:
            self.section(section.heading).lines += section.lines
        self.warnings += [w for w in other.warnings if w not in self.warnings]
        self.facts |= other.facts
        self.recommendations += other.recommendations
        for mine, theirs in ((self.follow_up, other.follow_up), (self.missing, other.missing)):
            mine += [each for each in theirs if each not in mine]
        self.paths += other.paths


def question_texts(desk: Desk, concepts: Iterable[str], part: Part) -> None:
    """Ask what decides the answer: the questions recorded for some symptoms or syndromes."""
    section = part.section("h_ask")
    for concept in concepts:
        for fact in desk.facts.texts(concept, SHIYI.questionText, desk.voice.language)[:2]:
            if fact.object not in part.follow_up:
                part.follow_up.append(fact.object)
                section.add(fact.object, fact)


def red_flags(desk: Desk, concepts: Iterable[str], part: Part) -> None:
    """Say which signs need a doctor."""
    found: list[Fact] = []
    for concept in concepts:
        for near in desk.facts.above(concept):
            found += desk.facts.of(near, SHIYI.hasRedFlag)
    if found:
        kept = list({f.object: f for f in found}.values())
        text = desk.voice.say("s_redflag", signs=desk.voice.names(f.object for f in kept))
        part.section("h_doctor").add(text, *kept)


def checks(desk: Desk, concepts: Iterable[str], part: Part) -> None:
    """Say what a doctor should rule out."""
    for concept in concepts:
        found = desk.facts.of(concept, SHIYI.warrantsCheckFor)[:5]
        if found:
            text = desk.voice.say(
                "c_check", sign=desk.voice.name(concept),
                diseases=desk.voice.names(f.object for f in found),
            )  # fmt: skip
            part.section("h_check").add(text, *found)
