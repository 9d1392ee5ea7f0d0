"""Facts in words: names, sources, findings and chains, in the asker's language."""

from collections.abc import Iterable
from dataclasses import dataclass

from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.phrases import LANGUAGES, PROPERTY, RATINGS, degree, listed, say, tier
from shiyi.answering.roles import INCOMPATIBLE, INTERACTION, PROFILE
from shiyi.answering.safety import Finding
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI


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

    def names(self, iris: Iterable[str]) -> str:
        """Join the labels of some concepts."""
        return listed(self.language, [self.name(iri) for iri in iris])

    def sources(self, facts: Iterable[Fact]) -> str:
        """Name the sources of some facts with their kind, or nothing."""
        seen: dict[str, str] = {}
        for fact in facts:
            for each in self.evidences.of(fact.claim, self.language):
                title = f"《{each.source}》" if self.language == "zh" else each.source
                place = "，" if self.language == "zh" else ", "
                seen.setdefault(each.source, f"{title}{place}{tier(self.language, each.tier)}")
        joined = ("；" if self.language == "zh" else "; ").join(seen.values())
        return self.say("f_source", sources=joined) if joined else ""

    def note(self, fact: Fact) -> str:
        """Give the short note of a claim's evidence in the answer's language."""
        return self.evidences.qualifier(fact.claim, f"note_{self.language}")

    def finding(self, found: Finding) -> str:
        """Say one reason against a material, with its note, sources and kind of evidence."""
        if not found.facts or found.fact.predicate not in (*_SPOKEN, SHIYI.aggravates):
            key = "f_allergen" if found.material == found.against else "f_allergy"
            return self.say(key, x=self.name(found.material), y=self.name(found.against))
        fact = found.fact
        subject, other = self._ends(fact, found)
        text = self.say(self._finding_key(found), x=subject, y=other, grade=self.grade(fact))
        if subject != self.name(found.material):
            made_of = any(f.predicate == SHIYI.hasIngredient for f in found.facts)
            if made_of:
                text = self.say("f_through_part", x=self.name(found.material), part=subject) + text
        parts = [text.rstrip("。."), self.sources([fact])]
        end = "。" if self.language == "zh" else "."
        said = "".join(parts) + end
        note = self.note(fact)
        space = "" if self.language == "zh" else " "
        if note:
            said += space + _closed(note, end)
        tiers = [e.tier for e in self.evidences.of(fact.claim, self.language)]
        if 2 * tiers.count("case-report") > len(tiers):
            said += space + self.say("f_case_report")
        return said

    def grade(self, fact: Fact) -> str:
        """Give the source's own grade or rating, or our word for the relation."""
        if fact.predicate in INTERACTION:
            rating = self.evidences.qualifier(fact.claim, "rating")
            if self.language == "zh":
                rating = RATINGS.get(rating, rating)
            return self.say("f_rating", rating=rating) if rating else ""
        if fact.predicate in INCOMPATIBLE:
            return self.facts.property_label(fact.predicate, self.language)
        own = self.evidences.qualifier(fact.claim, "grade")
        if own and self.language == "zh":
            return own if len(own) > 1 else f"{own}用"
        key = {
            SHIYI.contraindicatedIn: "g_contraindicated", SHIYI.unsuitableFood: "g_unsuitable",
        }.get(fact.predicate, "g_caution")  # fmt: skip
        return self.say(key)

    def chain(self, path: Path) -> str:
        """Write a path as names joined by arrows, each hop with its relation and confidence."""
        said = self.name(path.entities[0])
        for hop in path.hops:
            relation = self.facts.property_label(NamedNode(hop.predicate), self.language)
            arrow = f" —{relation}→ " if hop.forward else f" ←{relation}— "
            said += f"{arrow}{self.name(hop.end)}{degree(self.language, hop.confidence)}"
        return said

    def profile(self, iri: str) -> tuple[str, tuple[Fact, ...]]:
        """Say nature, flavour, channels and efficacy of a material in one sentence."""
        parts: list[str] = []
        used: list[Fact] = []
        for predicate in PROFILE:
            found = self.facts.of(iri, predicate)[: 3 if predicate == SHIYI.hasEfficacy else 6]
            if not found:
                continue
            used += found
            objects = listed(self.language, [self.name(f.object) for f in found])
            shape = PROPERTY[local_name(predicate.value)][LANGUAGES.index(self.language)]
            text = shape.format(o=objects)
            if predicate == SHIYI.hasNature and len(found) > 1:
                text += self.say("p_conflict")
            parts.append(text)
        joined = ("，" if self.language == "zh" else "; ").join(parts)
        if not parts:
            return "", ()
        sources = self.sources(f for f in used if f.predicate == SHIYI.hasNature)
        text = self.say("p_recorded", s=self.name(iri), parts=joined + sources)
        return text, tuple(used)

    def _ends(self, fact: Fact, found: Finding) -> tuple[str, str]:
        if fact.predicate == SHIYI.unsuitableFood:
            return self.name(fact.object), self.name(fact.subject)
        near = {
            found.material,
            *self.facts.above(found.material),
            *self.facts.below(found.material),
        }
        parts = {f.object for f in self.facts.of(found.material, SHIYI.hasIngredient)}
        flipped = fact.object in near | parts and fact.subject not in near | parts
        ends = (fact.object, fact.subject) if flipped else (fact.subject, fact.object)
        return self.name(ends[0]), self.name(ends[1])

    def _finding_key(self, found: Finding) -> str:
        predicate = found.fact.predicate
        if predicate in INCOMPATIBLE:
            return "f_incompatible"
        if predicate in INTERACTION:
            return "f_interaction"
        if predicate == SHIYI.aggravates:
            return "f_aggravates"
        return "f_contraindicated" if found.severity == "contraindicated" else "f_caution"


_SPOKEN = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.unsuitableFood, SHIYI.derivedCaution,
    *INTERACTION, *INCOMPATIBLE,
)  # fmt: skip


def _closed(text: str, end: str) -> str:
    return text if text.endswith(("。", ".", "！", "!", "？", "?")) else text + end
