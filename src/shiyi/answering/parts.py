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
    ("drug-antidiabetics", "s_glucose"), ("disease-diabetes-mellitus", "s_glucose"),
    ("population-diabetic", "s_glucose"), ("drug-cns-depressants", "s_sedation"),
    ("drug-antihypertensives", "s_pressure"), ("disease-hypertensive-disorder", "s_pressure"),
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
    told: set[str] = field(default_factory=set)  # warnings that a line of the text gives already
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

    def warn(self, desk: Desk, found: Finding, *, told: bool = False) -> None:
        """Add a finding as a warning, once; ``told`` where a line of the text says it."""
        made = desk.warning(found)
        if told:
            self.told.add(made.text)
        if made.text not in {w.text for w in self.warnings}:
            self.warnings.append(made)
            self.facts |= {f.claim: f for f in found.stated}

    def note(self, *facts: Fact) -> None:
        """Keep facts that a warning cites."""
        self.facts |= {f.claim: f for f in facts}

    def take(self, other: "Part") -> None:
        """Append what another writer contributed."""
        self.opening.lines += other.opening.lines
        for section in other.sections:
            self.section(section.heading).lines += section.lines
        self.warnings += [w for w in other.warnings if w not in self.warnings]
        self.told |= other.told
        self.facts |= other.facts
        self.recommendations += other.recommendations
        for mine, theirs in ((self.follow_up, other.follow_up), (self.missing, other.missing)):
            mine += [each for each in theirs if each not in mine]
        self.paths += other.paths


def question_texts(desk: Desk, concepts: Iterable[str], part: Part) -> None:
    """Ask what decides the answer: the questions recorded for some symptoms or syndromes."""
    section = part.section("h_ask")
    for concept in concepts:
        for told in desk.facts.told(concept, SHIYI.questionText, desk.voice.language)[:1]:
            if told[0].object not in part.follow_up and len(part.follow_up) < _MOST_ASKED:
                part.follow_up.append(told[0].object)
                section.add(told[0].object)  # a question states nothing to be cited


def red_flags(desk: Desk, concepts: Iterable[str], part: Part, *, persist: bool = False) -> None:
    """Say which signs need a doctor, and with ``persist`` that lasting trouble does too."""
    found: list[Fact] = []
    for concept in concepts:
        for near in desk.facts.above(concept):
            found += desk.facts.of(near, SHIYI.hasRedFlag)
    kept = list({f.object: f for f in found}.values())[:_MOST_FLAGS]
    if kept:
        signs = desk.voice.names((f.object for f in kept), "or")
        key = "s_redflag_persist" if persist else "s_redflag"
        part.section("h_doctor").add(desk.voice.say(key, signs=signs), *kept)
    elif persist:
        part.section("h_doctor").add(desk.voice.say("s_persist"))


def checks(desk: Desk, concepts: Iterable[str], part: Part) -> None:
    """Say what a doctor should rule out, in one line for what shares the same list."""
    signs: dict[tuple[str, ...], list[str]] = {}
    grounds: dict[tuple[str, ...], list[Fact]] = {}
    for concept in concepts:
        found = desk.facts.of(concept, SHIYI.warrantsCheckFor)[:_MOST_CHECKS]
        key = tuple(sorted(f.object for f in found))
        if found:
            signs.setdefault(key, []).append(concept)
            grounds.setdefault(key, []).extend(found)
    for key, meant in list(signs.items())[:2]:
        facts = grounds[key]
        text = desk.voice.say(
            "c_check", sign=desk.voice.names(meant),
            diseases=desk.voice.names((f.object for f in facts), "or"),
        )  # fmt: skip
        part.section("h_doctor").add(text, *facts)


_MOST_ASKED, _MOST_FLAGS, _MOST_CHECKS = 3, 6, 3
