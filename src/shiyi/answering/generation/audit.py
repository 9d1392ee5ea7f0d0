"""Check anybody's text against the claims of a base, sentence by sentence, without a model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from shiyi.answering.generation.checker import Premise, Sentence, supporting, unverified
from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.premises import premise_of
from shiyi.answering.knowledge.facts import MATERIAL, Fact
from shiyi.answering.runtime import Runtime
from shiyi.errors import UsageError
from shiyi.linking.normalization import has_cjk
from shiyi.model.answer import Citation
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_ON_RECORD, DANGEROUS = "not_on_record", "dangerous"
VERDICTS: Final = (DANGEROUS, CONTRADICTED, SUPPORTED, NOT_ON_RECORD)

MAX_CHARS: Final = 20_000
_MAX_SENTENCES: Final = 300
_MAX_MENTIONS: Final = 8  # of one sentence
_SHOWN: Final = 6  # claims beside a sentence
_SENTENCE: Final = re.compile(r"[^。！？!?\n；;]*?(?:[。！？；;\n]|[.!?](?=\s|$)|$)")
_SIDES: Final = tuple(
    frozenset(resource(f"nature-{name}").value for name in side)
    for side in (("cold", "cool"), ("hot", "warm"))
)
_MEDICINES: Final = (SHIYI.Drug, SHIYI.DrugClass)
# what states a good of a thing, by the keys of ontology/lexicon/grounding.tsv
_GOOD: Final = ("opposed:harm", "relieves", "suitableFood")


@dataclass(frozen=True, slots=True)
class AuditedSentence:
    """A sentence with its verdict, the claims it was compared with, and the reasons."""

    text: str
    verdict: str
    claims: tuple[Citation, ...] = ()
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return text, verdict, claims and reasons."""
        return {
            "text": self.text,
            "verdict": self.verdict,
            "claims": [each.to_json() for each in self.claims],
            "reasons": list(self.reasons),
        }


def count_verdicts(sentences: Sequence[AuditedSentence]) -> dict[str, int]:
    """Return how many sentences got each verdict, the gravest first."""
    return {verdict: sum(s.verdict == verdict for s in sentences) for verdict in VERDICTS}


@dataclass(frozen=True)
class Auditor:
    """Audits texts against the accepted claims of a base."""

    runtime: Runtime

    def audit(self, text: str, language: str = "") -> tuple[AuditedSentence, ...]:
        """Return the verdict on each sentence of a text, in order.

        ``language`` of the labels of claims is ``zh`` or ``en``; by default that of the text.
        Raise :class:`UsageError` for an empty text or one of more than MAX_CHARS characters.
        """
        if not text.strip():
            raise UsageError("the text is empty; send at least one sentence")
        if len(text) > MAX_CHARS:
            raise UsageError(f"the text has {len(text)} characters; send at most {MAX_CHARS}")
        language = language or ("zh" if has_cjk(text) else "en")
        return tuple(self._verdict(each, language) for each in sentences_of(text))

    def _verdict(self, text: str, language: str) -> AuditedSentence:
        runtime, sentence = self.runtime, Sentence.of(text)
        mentions = [m for m in runtime.linker.link(text, language, guess=False) if m.iri]
        groups = [dict.fromkeys((m.iri, *m.alternatives[:3])) for m in mentions[:_MAX_MENTIONS]]
        things = tuple(dict.fromkeys(iri for group in groups for iri in group))
        facts = tuple(dict.fromkeys(self._between(groups)))
        cited = tuple(
            runtime.evidences.citation(number, fact, language)
            for number, fact in enumerate(facts, 1)
        )
        premises = [premise_of(each, runtime.names.of) for each in cited]
        shown = cited[:_SHOWN]
        if danger := self._dangers(sentence, things):
            return AuditedSentence(text, DANGEROUS, shown, danger)
        if support := supporting(sentence, premises):
            return AuditedSentence(text, SUPPORTED, tuple(cited[n] for n in support)[:_SHOWN])
        against = [n for n, premise in enumerate(premises) if is_contradicted(sentence, premise)]
        if against:
            is_grave = any(_is_grave(premises[n]) for n in against)
            claims = tuple(cited[n] for n in against)[:_SHOWN]
            if is_grave:
                return AuditedSentence(text, DANGEROUS, claims, ("allows what a claim forbids",))
            return AuditedSentence(text, CONTRADICTED, claims, ("states the opposite of a claim",))
        if others := tuple(self._other_natures(things)):
            natures = tuple(
                runtime.evidences.citation(number, fact, language)
                for number, fact in enumerate(others, 1)
            )
            reason = "states another nature than is recorded"
            return AuditedSentence(text, CONTRADICTED, natures[:_SHOWN], (reason,))
        if not mentions:
            reasons: Iterable[str] = ("names nothing that the base knows",)
        elif not premises:
            reasons = ("no claim joins the things it names",)
        else:
            reasons = dict.fromkeys(unverified(sentence, [each]) for each in premises[:3])
        return AuditedSentence(text, NOT_ON_RECORD, shown, tuple(reasons))

    def _between(self, groups: Sequence[dict[str, None]]) -> Iterator[Fact]:
        """Yield the claims that join two of the things a sentence names."""
        for one, other in combinations(groups, 2):
            for first in one:
                for second in other:
                    yield from self.runtime.facts.between(first, second)

    def _dangers(self, sentence: Sentence, things: Sequence[str]) -> tuple[str, ...]:
        """Return why following a sentence may harm, by its phrases and by what it names."""
        facts, names = self.runtime.facts, self.runtime.names
        medicines = [n for iri in things if facts.is_a(iri, *_MEDICINES) for n in names.of(iri)]
        found = dangers(sentence.units, medicines)
        materials = [iri for iri in things if facts.is_a(iri, *MATERIAL, *_MEDICINES)]
        if materials and sentence.has_dose():
            found += ("states a dose without a source",)
        is_advised = sentence.permits() or sentence.mentions("relieves")
        if is_advised and not sentence.has("class:guard"):
            toxic = any(facts.of(iri, SHIYI.hasToxicity) for iri in materials)
            found += ("advises a toxic material",) if toxic else ()
        return found

    def _other_natures(self, things: Sequence[str]) -> Iterator[Fact]:
        """Yield the recorded natures of a thing, where it is named beside one of another side."""
        facts = self.runtime.facts
        named = {self._side(iri) for iri in things if facts.is_a(iri, SHIYI.Nature)}
        materials = [iri for iri in things if facts.of(iri, SHIYI.hasNature)]
        if len(materials) != 1 or len(named) != 1:
            return
        recorded = facts.of(materials[0], SHIYI.hasNature)
        if named.isdisjoint(self._side(fact.object) for fact in recorded):
            yield from recorded

    def _side(self, nature: str) -> int:
        """Return 0 for a cooling nature, 1 for a warming one, else -1."""
        above = set(self.runtime.facts.above(nature))
        return next((n for n, side in enumerate(_SIDES) if side & above), -1)


def is_contradicted(sentence: Sentence, premise: Premise) -> bool:
    """Return whether a sentence that names both ends of a claim says the opposite.

    Of a claim about a harm it allows the thing or names a good of it, with no word that warns; of
    an effect that is not shown, or not for sure, it says that it is; of others, all of its words deny the claim.
    """
    key = premise.contrary()
    if sentence.mentions(key) and not unverified(sentence, [replace(premise, opposed=True)]):
        return True
    if premise.rating == "possible":
        key = "certain"
    keys = _GOOD if premise.is_safety else (key,) * (premise.is_doubtful or key == "certain")
    spans = [each for each in sentence.matches if any(e.key in keys and e.cue for e in each.entries)]
    warns = ("class:guard", "class:mild", "class:negation")
    if premise.is_safety:
        if sentence.permits() and not any(map(sentence.has, warns)):
            return True
        # a word that warns may stand within what allows: does not interact
        return any(
            not any(sentence.has(w, 0, s.start) or sentence.has(w, s.stop) for w in warns)
            for s in spans
        )
    return bool(spans) and not sentence.has("class:negation") and not sentence.mentions("doubts")


def _is_grave(premise: Premise) -> bool:
    return premise.is_safety and (
        premise.relation == "contraindicatedIn"
        or premise.rating == "major"
        or premise.severity == "contraindicated"
    )


def sentences_of(text: str) -> tuple[str, ...]:
    """Cut a text into sentences.

    >>> sentences_of("Goji is sweet. It is neutral! 1.5 g")
    ('Goji is sweet.', 'It is neutral!', '1.5 g')
    """
    found = (hit[0].strip() for hit in _SENTENCE.finditer(text))
    return tuple(each for each in found if any(map(str.isalnum, each)))[:_MAX_SENTENCES]
