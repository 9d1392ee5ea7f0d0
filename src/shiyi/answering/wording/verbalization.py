"""Claims and findings as sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import (
    ADVERSE,
    INCOMPATIBLE,
    INTERACTION,
    PROFILE,
    TOXIC,
    Fact,
    Facts,
)
from shiyi.answering.knowledge.severity import forbids
from shiyi.answering.safety import Finding
from shiyi.errors import FormatError
from shiyi.model.answer import CitedEvidence
from shiyi.model.claim import EvidenceKind
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.lexicon import cues, sentences
from shiyi.ontology.terms import SHIYI

LANGUAGES: Final = ("zh", "en")
_TIERS: Final = (  # the most binding first
    "regulation", "pharmacopoeia", "standard", "textbook", "monograph", "review", "trial", "paper",
    "classic", "case-report", "webpage", "model", "inferred", "recalled",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verbalizer:
    """Writes facts as sentences of one language."""

    language: str
    facts: Facts
    evidences: Evidences

    def verbalize(self, key: str, /, **values: str) -> str:
        """Return a sentence of the catalogue."""
        return verbalize(self.language, key, **values)

    @property
    def stop(self) -> str:
        """Return the full stop of the language."""
        return self.verbalize("v_stop")

    @property
    def space(self) -> str:
        """Return what stands between two sentences."""
        return "" if self.language == "zh" else " "

    def class_name(self, name: str) -> str:
        """Return the name of a class of the vocabulary, or nothing where it has none here."""
        key = f"class_{name}"
        return self.verbalize(key) if key in sentences() else ""

    def join(self, items: Iterable[str], last: str = "and") -> str:
        """Join names as people do."""
        return join_names(self.language, items, last)

    def name(self, iri: str) -> str:
        """Return a concept's label."""
        return self.facts.label(iri, self.language)

    def words(self, fact: Fact) -> str:
        """Return the object of a fact in words: its label, or the text that it is."""
        return self.facts.words(fact, self.language)

    def inline_name(self, iri: str) -> str:
        """Return a label as it stands in the middle of an English sentence."""
        name = self.name(iri)
        patterns = self.facts.is_a(iri, SHIYI.Syndrome, SHIYI.Constitution)
        return f"the {name}" if patterns and self.language == "en" else name

    def inline_names(self, iris: Iterable[str], last: str = "and") -> str:
        """Join labels as they stand in the middle of a sentence."""
        return join_names(self.language, [self.inline_name(iri) for iri in iris], last)

    def names(self, iris: Iterable[str], last: str = "and") -> str:
        """Join the labels of some concepts."""
        return join_names(self.language, [self.name(iri) for iri in iris], last)

    def sources(self, facts: Iterable[Fact], limit: int = 1) -> str:
        """Name the sources of some facts, the most binding first, and how many more there are."""
        evidence: dict[str, CitedEvidence] = {}
        derived = False
        for fact in facts:
            derived = derived or fact.claim in self.evidences.facts.premises
            for each in self.evidences.of(fact.claim, self.language):
                evidence.setdefault(each.source, each)
        if not evidence:
            return ""
        ranked_evidence = sorted(evidence.values(), key=lambda e: (rank_of_tier(e.tier), e.source))
        opened_evidence = [each for each in ranked_evidence if each.is_opened] or ranked_evidence
        titles = [self._title(each) for each in opened_evidence[:limit]]
        if derived:
            titles.insert(0, self.verbalize("kind_inferred"))
        joined = ("；" if self.language == "zh" else "; ").join(titles)
        key = "f_source_more" if len(opened_evidence) > limit else "f_source"
        return self.verbalize(key, sources=joined, n=str(len(opened_evidence)))

    def _title(self, evidence: CitedEvidence) -> str:
        title = evidence.source.strip("《》")
        return self.verbalize(f"kind_{evidence.kind or 'predicted'}", source=title)

    def name_kinds(self, claims: Iterable[str]) -> str:
        """Return how some claims are known, the surest kind first."""
        kinds = {self.evidences.kind(claim) for claim in claims}
        ordered_kinds = (kind for kind in EvidenceKind if kind in kinds)
        return kind_words(self.language, ordered_kinds)

    def add_kind(self, text: str, claims: Iterable[str]) -> str:
        """Return with how it is known a sentence that does not say so yet, before its full stop.

        It is always stated that no curator has reviewed the claims of a source.
        """
        every = tuple(claims)
        parts = ["" if has_kind(self.language, text) else self.name_kinds(every)]
        if origins := dict.fromkeys(filter(None, map(self.evidences.origin, every))):
            named = self.names(origins)
            key = "f_unreviewed_alone" if named in text else "f_unreviewed"
            parts.append(self.verbalize(key, origin=named))
        if not any(parts):
            return text
        return self.annotate(
            text, ("；" if self.language == "zh" else "; ").join(filter(None, parts))
        )

    def annotate(self, text: str, note: str) -> str:
        """Return a sentence with a note in brackets before its full stop."""
        label = self.verbalize("f_source", sources=note)
        end = text[-1:] if text[-1:] in "。.！!" else ""
        return text.removesuffix(end) + label + end

    def note(self, fact: Fact) -> str:
        """Return the fullest short note of a claim's evidence in the answer's language."""
        notes = [
            value
            for evidence in self.evidences.of(fact.claim, self.language)
            for key, value in evidence.qualifiers
            if key == f"note_{self.language}"
        ]
        return max(notes, key=len, default="")

    def add_note(self, text: str, fact: Fact) -> str:
        """Add the note of a claim, as a sentence of its own."""
        note = self.note(fact)
        own = capital(finish(note, self.stop), self.language)
        return f"{text}{self.space}{own}" if note else text

    def state_finding(self, finding: Finding) -> str:
        """State one reason against a material, with its note, sources and kind of evidence."""
        text = self._state_source(finding)
        if not finding.facts:
            return capital(text, self.language) + self.stop
        sentence = capital(text + self.sources([finding.fact]) + self.stop, self.language)
        sentence = self.add_note(sentence, finding.fact)
        cases = [self.verbalize("f_case_report")] if self.mostly_cases(finding.fact) else []
        return self.space.join((sentence, *cases, *self.judgement_reasons(finding)))

    def judgement_reasons(self, finding: Finding) -> list[str]:
        """Return why a state is judged as the one warned of, or how two groups differ."""
        parts = []
        for fact in finding.facts:
            note = self.note(fact) if fact.predicate == SHIYI.judgedAs else ""
            if note:
                y = capital(self.name(fact.subject), self.language)
                parts.append(self.verbalize("f_judged", y=y, note=note))
        return parts + self._membership_notes(finding)

    def _membership_notes(self, finding: Finding) -> list[str]:
        """Return the note on why a thing is of its group, where another member is met."""
        facts = [f for f in finding.facts if f.predicate == SHIYI.hasFoodGroup]
        if not facts or self.facts.is_a(finding.against, SHIYI.FoodGroup, SHIYI.Condition):
            return []
        shared = self.facts.above(facts[0].object)
        their_facts = [
            f for f in self.facts.of(finding.against, SHIYI.hasFoodGroup) if f.object in shared
        ]
        notes = dict.fromkeys(filter(None, map(self.note, their_facts)))
        end = "。" if self.language == "zh" else "."
        return [capital(finish(note, end), self.language) for note in notes]

    def mostly_cases(self, fact: Fact) -> bool:
        """Return whether at least half of a claim's evidence are case reports."""
        tiers = [e.tier for e in self.evidences.of(fact.claim, self.language)]
        return bool(tiers) and 2 * tiers.count("case-report") >= len(tiers)

    def _state_source(self, finding: Finding) -> str:
        if not finding.facts or finding.fact.predicate not in (*_SPOKEN, SHIYI.aggravates):
            return self.state_exclusion(finding)
        subject, other = self._ends(finding.fact, finding)
        key = self._finding_key(finding)
        text = self.verbalize(key, x=subject, y=other, grade=self.grade(finding.fact))
        if subject != self.name(finding.material):
            made_of = any(f.predicate == SHIYI.hasIngredient for f in finding.facts)
            if made_of:
                text = (
                    self.verbalize("f_through_part", x=self.name(finding.material), part=subject)
                    + text
                )
        return text

    def state_exclusion(self, finding: Finding) -> str:
        """State that a thing is, or is of the same group as, what somebody does not eat."""
        names = {"x": self.name(finding.material), "y": self.inline_name(finding.against)}
        kind = "avoided" if finding.left_out else "allergy"
        member = next((f for f in finding.facts if f.predicate == SHIYI.hasFoodGroup), None)
        if member is None:
            same = finding.material == finding.against
            return self.verbalize(f"f_{'itself_' if same else ''}{kind}", **names)
        names["group"] = self.name(member.object)
        if any(f.predicate == SHIYI.excludesFoodGroup for f in finding.facts):
            kind = "diet" if finding.left_out else "diet_disease"
        elif self.facts.is_a(finding.against, SHIYI.FoodGroup):
            kind = f"group_{kind}"
        else:
            kind = f"kin_{kind}"
            names["group"] = self.name(self._shared_group(member.object, finding.against))
        text = self.verbalize(f"f_{kind}", **names | {"x": self.name(member.subject)})
        if member.subject != finding.material:
            part = names | {"part": self.name(member.subject)}
            text = self.verbalize("f_through_part", **part) + text
        return text

    def _shared_group(self, group: str, other: str) -> str:
        """Return the nearest group above that another thing is of as well: nuts and peanuts."""
        those = {f.object for f in self.facts.of(other, SHIYI.hasFoodGroup)}
        return next((broader for broader in self.facts.above(group) if broader in those), group)

    def grade(self, fact: Fact) -> str:
        """Return the source's own grade or rating, or our word for the relation."""
        if fact.predicate in INTERACTION:
            rating = self.evidences.rating(fact.claim)
            if self.language == "zh":
                rating = rating_text(self.language, rating)
            return self.verbalize("f_rating", rating=rating) if rating else ""
        if fact.predicate in INCOMPATIBLE:
            return self.facts.property_label(fact.predicate, self.language)
        own = self.evidences.grade(fact.claim)
        if own and self.language == "zh":
            return own if len(own) > 1 else f"{own}用"
        if fact.predicate == SHIYI.contraindicatedIn:
            return self.verbalize("g_contraindicated")
        if fact.predicate == SHIYI.unsuitableFood:
            return self.verbalize("g_unsuitable")
        return self.verbalize(self.grade_key(fact))

    def grade_key(self, fact: Fact) -> str:
        """Return the key of the words for a source's own grade of a caution."""
        own = self.evidences.grade(fact.claim)
        plain = "g_contraindicated" if forbids(own) else "g_caution"
        return next((key for key, words in cues("grades").items() if words.match(own)), plain)

    def quote(self, words: Iterable[str]) -> str:
        """Place words of the asker in quotation marks."""
        return ("、" if self.language == "zh" else ", ").join(f"“{word}”" for word in words)

    def profile(
        self, iri: str, *, only: Sequence[NamedNode] = PROFILE
    ) -> tuple[str, tuple[Fact, ...]]:
        """Write nature, flavour, channels and efficacy of a material, or ``only`` some of them."""
        parts: list[str] = []
        facts: list[Fact] = []
        for predicate in only:
            found = self.facts.of(iri, predicate)[: 3 if predicate == SHIYI.hasEfficacy else 6]
            if not found:
                continue
            facts += found
            if predicate == SHIYI.hasNature and len(found) > 1:
                values = self._disputed_values(found)
            else:
                values = self.names(f.object for f in found)
            parts.append(self.verbalize(f"property_{local_name(predicate.value)}", o=values))
        joined = ("，" if self.language == "zh" else "; ").join(parts)
        return (
            self.verbalize("p_recorded", s=self.name(iri), parts=joined) if parts else ""
        ), tuple(facts)

    def _disputed_values(self, facts: Iterable[Fact]) -> str:
        """Return the values that sources do not agree on."""
        return self.names(f.object for f in facts) + self.verbalize("p_conflict")

    def _ends(self, fact: Fact, finding: Finding) -> tuple[str, str]:
        if fact.predicate == SHIYI.unsuitableFood:
            return self.name(fact.object), self.inline_name(fact.subject)
        near = {
            finding.material,
            *self.facts.above(finding.material),
            *self.facts.below(finding.material),
        }
        parts = {f.object for f in self.facts.of(finding.material, SHIYI.hasIngredient)}
        flipped = fact.object in near | parts and fact.subject not in near | parts
        ends = (fact.object, fact.subject) if flipped else (fact.subject, fact.object)
        return self.name(ends[0]), self.inline_name(ends[1])

    def _finding_key(self, finding: Finding) -> str:
        predicate = finding.fact.predicate
        if predicate in INCOMPATIBLE:
            return "f_incompatible"
        if predicate in INTERACTION:
            return "f_interaction"
        if predicate == SHIYI.aggravates:
            return "f_aggravates"
        if predicate in ADVERSE:
            return "f_adverse"
        if predicate in TOXIC:
            return "f_toxic" if finding.severity == "contraindicated" else "f_toxic_food"
        return "f_contraindicated" if finding.severity == "contraindicated" else "f_caution"


_SPOKEN = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.unsuitableFood, SHIYI.derivedCaution,
    *INTERACTION, *INCOMPATIBLE, *ADVERSE, *TOXIC,
)  # fmt: skip


def finish(text: str, end: str) -> str:
    """End a text with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith(("。", ".", "！", "!", "？", "?")) else text + end


def verbalize(language: str, key: str, /, **values: str) -> str:
    """Return a sentence of the catalogue with its holes filled.

    >>> verbalize("en", "m_unlinked", word="xyz")
    '“xyz” was not recognised'
    """
    return sentences()[key][LANGUAGES.index(language)].format(**values)


def join_names(language: str, items: Iterable[str], last: str = "and") -> str:
    """Join names as people do; ``last`` stands before the last one in English.

    >>> join_names("en", ["lily", "lotus seed", "yam"], "or")
    'lily, lotus seed or yam'
    """
    names = list(dict.fromkeys(items))
    if language == "zh":
        return "、".join(names)
    if any("," in name for name in names):  # names that are lists themselves
        return "; ".join(names)
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def kind_words(language: str, kinds: Iterable[EvidenceKind]) -> str:
    """Return how something is known.

    >>> kind_words("en", [EvidenceKind.RECALLED])
    'common knowledge, not verified'
    """
    words = [verbalize(language, f"kind_{kind.value}_alone") for kind in kinds]
    return ("；" if language == "zh" else "; ").join(words)


def has_kind(language: str, text: str) -> bool:
    """Return whether a sentence says in brackets how it is known.

    >>> has_kind("en", "Goji (read in Bencao)."), has_kind("en", "Goji was read in a book.")
    (True, False)
    """
    return any(each in text for each in _kind_texts(language))


@cache
def _kind_texts(language: str) -> frozenset[str]:
    starts = ("（", "；", "，") if language == "zh" else ("(", "; ", ", ")
    values = [verbalize(language, f"kind_{kind.value}", source="\0") for kind in EvidenceKind]
    values += [verbalize(language, f"kind_{kind.value}_alone") for kind in EvidenceKind]
    return frozenset(start + value.split("\0")[0] for start in starts for value in values)


def rank_of_tier(name: str) -> int:
    """Order kinds of sources, the most binding first."""
    return _TIERS.index(name) if name in _TIERS else len(_TIERS)


def rating_text(language: str, rating: str) -> str:
    """Return a source's rating in words; one that is not known as it stands.

    >>> rating_text("en", "likely"), rating_text("en", "B")
    ('likely effective', 'B')
    """
    key = f"rating_{rating}"
    return verbalize(language, key) if key in sentences() else rating


def capital(text: str, language: str) -> str:
    """Begin an English sentence with a capital, after any markup.

    >>> capital("**goji** may", "en")
    '**Goji** may'
    """
    if language != "en":
        return text
    start = len(text) - len(text.lstrip("*- "))
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def check_language(language: str) -> str:
    """Refuse a language we do not write."""
    if language not in LANGUAGES:
        raise FormatError("language", language, LANGUAGES)
    return language
