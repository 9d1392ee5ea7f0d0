"""Facts in words: names, sources, findings and chains, in the asker's language."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.answering.evidence import Evidences, forbids
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.phrases import (
    LANGUAGES,
    PROPERTY,
    RATINGS,
    capital,
    degree,
    listed,
    rank_of_tier,
    say,
)
from shiyi.answering.roles import ADVERSE, INCOMPATIBLE, INTERACTION, PROFILE, TOXIC
from shiyi.answering.safety import Finding
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI

# words that sources' own grades begin with, and how they are said in English: none milder than it is
_GRADES: Final = (
    (("避免", "勿", "不应", "avoid"), "g_unsuitable"),
    (("不宜", "不适宜"), "g_unfit"),
    (("不推荐", "不建议"), "g_discouraged"),
    (("限",), "g_limited"),
)


@dataclass(frozen=True, slots=True)
class Voice:
    """Says what facts say, in one language."""

    language: str
    facts: Facts
    evidences: Evidences

    def say(self, key: str, /, **values: str) -> str:
        """Give a sentence of the catalogue."""
        return say(self.language, key, **values)

    def name(self, iri: str) -> str:
        """Give a concept's label."""
        return self.facts.label(iri, self.language)

    def the(self, iri: str) -> str:
        """Give a label as it stands in the middle of an English sentence."""
        name = self.name(iri)
        patterns = self.facts.is_a(iri, SHIYI.Syndrome, SHIYI.Constitution)
        return f"the {name}" if patterns and self.language == "en" else name

    def these(self, iris: Iterable[str], last: str = "and") -> str:
        """Join labels as they stand in the middle of a sentence."""
        return listed(self.language, [self.the(iri) for iri in iris], last)

    def names(self, iris: Iterable[str], last: str = "and") -> str:
        """Join the labels of some concepts."""
        return listed(self.language, [self.name(iri) for iri in iris], last)

    def sources(self, facts: Iterable[Fact], most: int = 2) -> str:
        """Name the sources of some facts, the most binding first, and how many more there are."""
        seen: dict[str, str] = {}
        for fact in facts:
            for each in self.evidences.of(fact.claim, self.language):
                seen.setdefault(each.source, each.tier)
        if not seen:
            return ""
        ranked = sorted(seen, key=lambda name: (rank_of_tier(seen[name]), name))
        joined = ("；" if self.language == "zh" else "; ").join(map(self._title, ranked[:most]))
        key = "f_source_more" if len(ranked) > most else "f_source"
        return self.say(key, sources=joined, n=str(len(ranked)))

    def _title(self, source: str) -> str:
        if self.language == "en":
            return source
        return source if source.startswith("《") else f"《{source}》"

    def note(self, fact: Fact) -> str:
        """Give the fullest short note of a claim's evidence in the answer's language."""
        notes = [
            value for each in self.evidences.of(fact.claim, self.language)
            for key, value in each.qualifiers if key == f"note_{self.language}"
        ]  # fmt: skip
        return max(notes, key=len, default="")

    def warned(self, found: Finding) -> str:
        """Say one reason in a few words, with its source, without a full stop."""
        text = self._stated(found)
        return text + (self.sources([found.fact], 1) if found.facts else "")

    def reason(self, found: Finding) -> str:
        """Say one reason where the thing itself was just named."""
        if not found.facts or found.fact.predicate not in _SPOKEN:
            return self._kept_from(found, bare=True)
        subject, other = self._ends(found.fact, found)
        values = {"y": other, "grade": self.grade(found.fact)}
        key = (
            self._finding_key(found).replace("f_", "f_bare_").replace("caution", "contraindicated")
        )
        said = self.say(key, **values)
        if any(f.predicate == SHIYI.hasIngredient for f in found.facts):
            said = self.say("f_bare_part", part=subject, said=said)
        return said + self.sources([found.fact], 1)

    def finding(self, found: Finding) -> str:
        """Say one reason against a material, with its note, sources and kind of evidence."""
        end = "。" if self.language == "zh" else "."
        text = self._stated(found)
        if not found.facts:
            return capital(text, self.language) + end
        said = capital(text + self.sources([found.fact]) + end, self.language)
        space = "" if self.language == "zh" else " "
        if note := self.note(found.fact):
            said += space + capital(closed(note, end), self.language)
        if self.mostly_cases(found.fact):
            said += space + self.say("f_case_report")
        return said + "".join(space + each for each in self.judged(found))

    def judged(self, found: Finding) -> list[str]:
        """Say why a state is judged as the one that is warned of, or what two groups are apart."""
        said = []
        for fact in found.facts:
            note = self.note(fact) if fact.predicate == SHIYI.judgedAs else ""
            if note:
                y = capital(self.name(fact.subject), self.language)
                said.append(self.say("f_judged", y=y, note=note))
        return said + self._apart(found)

    def _apart(self, found: Finding) -> list[str]:
        """Say what is noted of why a thing is of its group, where another of the group is met."""
        mine = [f for f in found.facts if f.predicate == SHIYI.hasFoodGroup]
        if not mine or self.facts.is_a(found.against, SHIYI.FoodGroup, SHIYI.Condition):
            return []
        shared = self.facts.above(mine[0].object)
        theirs = [f for f in self.facts.of(found.against, SHIYI.hasFoodGroup) if f.object in shared]
        notes = dict.fromkeys(filter(None, map(self.note, theirs)))
        end = "。" if self.language == "zh" else "."
        return [capital(closed(note, end), self.language) for note in notes]

    def mostly_cases(self, fact: Fact) -> bool:
        """Tell whether at least half of a claim's evidence are case reports."""
        tiers = [e.tier for e in self.evidences.of(fact.claim, self.language)]
        return bool(tiers) and 2 * tiers.count("case-report") >= len(tiers)

    def _stated(self, found: Finding) -> str:
        if not found.facts or found.fact.predicate not in (*_SPOKEN, SHIYI.aggravates):
            return self._kept_from(found)
        subject, other = self._ends(found.fact, found)
        key = self._finding_key(found)
        text = self.say(key, x=subject, y=other, grade=self.grade(found.fact))
        if subject != self.name(found.material):
            made_of = any(f.predicate == SHIYI.hasIngredient for f in found.facts)
            if made_of:
                text = self.say("f_through_part", x=self.name(found.material), part=subject) + text
        return text

    def _kept_from(self, found: Finding, *, bare: bool = False) -> str:
        """Say that a thing is, or is of the same group as, what somebody does not eat."""
        names = {"x": self.name(found.material), "y": self.the(found.against)}
        kind = "avoided" if found.left_out else "allergy"
        member = next((f for f in found.facts if f.predicate == SHIYI.hasFoodGroup), None)
        if member is None:
            key = "f_bare" if bare else "f"
            same = found.material == found.against and not bare
            return self.say(f"{key}_{'itself_' if same else ''}{kind}", **names)
        names["group"] = self.name(member.object)
        if any(f.predicate == SHIYI.excludesFoodGroup for f in found.facts):
            kind = "diet" if found.left_out else "diet_disease"
        elif self.facts.is_a(found.against, SHIYI.FoodGroup):
            kind = f"group_{kind}"
        else:
            kind = f"kin_{kind}"
            names["group"] = self.name(self._shared(member.object, found.against))
        said = self.say(f"f_{kind}", **names | {"x": self.name(member.subject)})
        if member.subject != found.material:
            part = names | {"part": self.name(member.subject)}
            said = (self.say("f_through_part", **part) if not bare else "") + said
        return said

    def _shared(self, group: str, other: str) -> str:
        """Give the nearest group above that another thing is of as well: nuts and peanuts."""
        those = {f.object for f in self.facts.of(other, SHIYI.hasFoodGroup)}
        return next((each for each in self.facts.above(group) if each in those), group)

    def grade(self, fact: Fact) -> str:
        """Give the source's own grade or rating, or our word for the relation."""
        if fact.predicate in INTERACTION:
            rating = self.evidences.rating(fact.claim)
            if self.language == "zh":
                rating = RATINGS.get(rating, rating)
            return self.say("f_rating", rating=rating) if rating else ""
        if fact.predicate in INCOMPATIBLE:
            return self.facts.property_label(fact.predicate, self.language)
        own = self.evidences.grade(fact.claim)
        if own and self.language == "zh":
            return own if len(own) > 1 else f"{own}用"
        if fact.predicate == SHIYI.contraindicatedIn:
            return self.say("g_contraindicated")
        if fact.predicate == SHIYI.unsuitableFood:
            return self.say("g_unsuitable")
        plain = "g_contraindicated" if forbids(own) else "g_caution"
        return self.say(next((key for words, key in _GRADES if own.startswith(words)), plain))

    def quoted(self, words: Iterable[str]) -> str:
        """Put words of the asker in quotation marks."""
        return ("、" if self.language == "zh" else ", ").join(f"“{word}”" for word in words)

    def ways(self, paths: Sequence[Path]) -> str:
        """Write ways of two hops through one middle: start, middle, and all the ends."""
        first, ends = paths[0].hops[0], [path.hops[1] for path in paths]
        said = self.name(first.start) + self._arrow(first.predicate, first.forward)
        said += self.name(first.end) + degree(self.language, first.confidence)
        said += self._arrow(ends[0].predicate, ends[0].forward)
        said += self.names(hop.end for hop in ends)
        return said + degree(self.language, min(hop.confidence for hop in ends))

    def _arrow(self, predicate: str, forward: bool) -> str:
        relation = self.facts.property_label(NamedNode(predicate), self.language)
        return f" —{relation}→ " if forward else f" ←{relation}— "

    def chain(self, path: Path) -> str:
        """Write a path as names joined by arrows, each hop with its relation and confidence."""
        said = self.name(path.entities[0])
        for hop in path.hops:
            arrow = self._arrow(hop.predicate, hop.forward)
            said += f"{arrow}{self.name(hop.end)}{degree(self.language, hop.confidence)}"
        return said

    def profile(self, iri: str, *, only: NamedNode | None = None) -> tuple[str, tuple[Fact, ...]]:
        """Say nature, flavour, channels and efficacy of a material in a few words, or one of them."""
        parts: list[str] = []
        used: list[Fact] = []
        for predicate in (only,) if only else PROFILE:
            found = self.facts.of(iri, predicate)[: 3 if predicate == SHIYI.hasEfficacy else 6]
            if not found:
                continue
            used += found
            shape = PROPERTY[local_name(predicate.value)][LANGUAGES.index(self.language)]
            if predicate == SHIYI.hasNature and len(found) > 1:
                parts.append(shape.format(o=self._disputed(found)))
            else:
                parts.append(shape.format(o=self.names(f.object for f in found)))
        joined = ("，" if self.language == "zh" else "; ").join(parts)
        return (self.say("p_recorded", s=self.name(iri), parts=joined) if parts else ""), tuple(
            used
        )

    def _disputed(self, found: Iterable[Fact]) -> str:
        """Give each value with a source of its own."""
        said = [f"{self.name(f.object)}{self.sources([f], 1)}" for f in found]
        return ("、" if self.language == "zh" else ", ").join(said) + self.say("p_conflict")

    def _ends(self, fact: Fact, found: Finding) -> tuple[str, str]:
        if fact.predicate == SHIYI.unsuitableFood:
            return self.name(fact.object), self.the(fact.subject)
        near = {
            found.material,
            *self.facts.above(found.material),
            *self.facts.below(found.material),
        }
        parts = {f.object for f in self.facts.of(found.material, SHIYI.hasIngredient)}
        flipped = fact.object in near | parts and fact.subject not in near | parts
        ends = (fact.object, fact.subject) if flipped else (fact.subject, fact.object)
        return self.name(ends[0]), self.the(ends[1])

    def _finding_key(self, found: Finding) -> str:
        predicate = found.fact.predicate
        if predicate in INCOMPATIBLE:
            return "f_incompatible"
        if predicate in INTERACTION:
            return "f_interaction"
        if predicate == SHIYI.aggravates:
            return "f_aggravates"
        if predicate in ADVERSE:
            return "f_adverse"
        if predicate in TOXIC:
            return "f_toxic" if found.severity == "contraindicated" else "f_toxic_food"
        return "f_contraindicated" if found.severity == "contraindicated" else "f_caution"


_SPOKEN = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.unsuitableFood, SHIYI.derivedCaution,
    *INTERACTION, *INCOMPATIBLE, *ADVERSE, *TOXIC,
)  # fmt: skip


def closed(text: str, end: str) -> str:
    """End a text with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith(("。", ".", "！", "!", "？", "?")) else text + end
