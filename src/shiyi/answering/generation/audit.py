"""Check anybody's text against the claims of a base, sentence by sentence, without a model."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from shiyi.answering.generation.checker import fault_of, find_support
from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.premises import Premise, premise_of
from shiyi.answering.generation.vocabulary import Sentence
from shiyi.answering.knowledge.facts import MATERIAL, Fact
from shiyi.answering.runtime import Runtime
from shiyi.errors import UsageError
from shiyi.linking.normalization import has_cjk
from shiyi.model.answer import Citation
from shiyi.model.iris import ID, resource
from shiyi.ontology.terms import SHIYI

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_ON_RECORD, DANGEROUS = "not_on_record", "dangerous"
VERDICTS: Final = (DANGEROUS, CONTRADICTED, SUPPORTED, NOT_ON_RECORD)

MAX_CHARS: Final = 20_000
_MAX_SENTENCES: Final = 500
_MAX_MENTIONS: Final = 8  # of one sentence
_SHOWN: Final = 6  # claims beside a sentence
_LINKED: Final = 60  # claims in a link, of which browsers take 8,000 characters
_PART: Final = r"[dcsn](?:\.[0-9a-f]{32}){0,6}"
_CODE: Final = re.compile(f"{_PART}(?:~{_PART}){{0,{_MAX_SENTENCES - 1}}}")
_LAST_LATIN: Final = "\u024f"
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
    topic: tuple[str, ...] = ()  # what it is about: IRIs of one name

    def to_json(self) -> dict[str, Any]:
        """Return text, verdict, claims and reasons."""
        return {
            "text": self.text,
            "verdict": self.verdict,
            "claims": [citation.to_json() for citation in self.claims],
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
        Raise :class:`UsageError` for a text that :func:`split_sentences` refuses.
        """
        return tuple(self.verdicts(split_sentences(text), language))

    def verdicts(self, sentences: Iterable[str], language: str = "") -> Iterator[AuditedSentence]:
        """Yield the verdict on each sentence as soon as it is known.

        One that names nothing else that a claim joins is read as about what the last one was about.
        """
        topic: tuple[str, ...] = ()
        for each in sentences:
            sentence = self._verdict(each, language or ("zh" if has_cjk(each) else "en"), topic)
            topic = sentence.topic or topic
            yield sentence

    def audit_link(self, code: str, language: str) -> tuple[AuditedSentence, ...]:
        """Return what a link says of a text (:func:`link_code`): verdicts and claims, no words.

        Claims no longer accepted are left out. Raise :class:`UsageError` for another code.
        """
        if not _CODE.fullmatch(code):
            raise UsageError("result is not a link of this page; check the text again")
        by_claim, sentences = self.runtime.facts.by_claim, []
        for part in code.split("~"):
            letter, *names = part.split(".")
            verdict = next(each for each in VERDICTS if each[0] == letter)
            facts = (fact for name in names for fact in by_claim.get(f"{ID}claim/{name}", ())[:1])
            sentences.append(AuditedSentence("", verdict, self._cite(facts, language)))
        return tuple(sentences)

    def _cite(self, facts: Iterable[Fact], language: str) -> tuple[Citation, ...]:
        cite = self.runtime.evidences.citation
        return tuple(cite(number, fact, language) for number, fact in enumerate(facts, 1))

    def _verdict(self, text: str, language: str, topic: tuple[str, ...]) -> AuditedSentence:
        runtime, sentence = self.runtime, Sentence.of(text)
        mentions = [m for m in runtime.linker.link(text, language, guess=False) if m.iri]
        groups = [dict.fromkeys((m.iri, *m.alternatives[:3])) for m in mentions[:_MAX_MENTIONS]]
        facts = dict.fromkeys(self._claims_between(groups))
        if is_carried := bool(topic) and not facts:
            facts = dict.fromkeys(self._claims_between((dict.fromkeys(topic), *groups)))
        topics = [runtime.names.of(iri) for iri in topic] if is_carried else []
        citations = self._cite(facts, language)
        premises = [premise_of(citation, runtime.names.of) for citation in citations]
        about = next((tuple(group) for group in groups if self._is_material(*group)), topic)
        things = tuple(dict.fromkeys(iri for group in (about, *groups) for iri in group))

        def judge(verdict: str, claims: Iterable[Citation], *reasons: str) -> AuditedSentence:
            return AuditedSentence(text, verdict, tuple(claims)[:_SHOWN], reasons, about)

        if danger := self._dangers(sentence, things):
            return judge(DANGEROUS, citations, *danger)
        if support := find_support(sentence, premises, topics):
            return judge(SUPPORTED, (citations[n] for n in support))
        against = [n for n, p in enumerate(premises) if is_contradicted(sentence, p, topics)]
        if sentence.permits() and any(_is_grave(premises[n]) for n in against):
            return judge(DANGEROUS, (citations[n] for n in against), "allows what a claim forbids")
        if against:
            return judge(
                CONTRADICTED, (citations[n] for n in against), "states the opposite of a claim"
            )
        if other_citations := self._cite(self._other_natures(things), language):
            return judge(CONTRADICTED, other_citations, "states another nature than is recorded")
        if not mentions:
            return judge(NOT_ON_RECORD, (), "names nothing that the base knows")
        if not premises:
            return judge(NOT_ON_RECORD, (), "no claim joins the things it names")
        faults = dict.fromkeys(fault_of(sentence, [premise], topics) for premise in premises[:3])
        return judge(NOT_ON_RECORD, citations, *faults)

    def _is_material(self, *things: str) -> bool:
        return any(self.runtime.facts.is_a(iri, *MATERIAL, *_MEDICINES) for iri in things)

    def _claims_between(self, groups: Iterable[dict[str, None]]) -> Iterator[Fact]:
        """Yield the claims that join two of the things a sentence names."""
        for one, other in combinations(groups, 2):
            for first in one:
                for second in other:
                    yield from self.runtime.facts.between(first, second)

    def _dangers(self, sentence: Sentence, things: Sequence[str]) -> tuple[str, ...]:
        """Return why following a sentence may harm, by its phrases and by what it names."""
        facts, names = self.runtime.facts, self.runtime.names
        medicines = [n for iri in things if facts.is_a(iri, *_MEDICINES) for n in names.of(iri)]
        results = dangers(sentence.units, medicines)
        materials = [iri for iri in things if self._is_material(iri)]
        is_advice = sentence.has("class:using") and not sentence.mentions("class:authority")
        if materials and is_advice and sentence.has_dose():
            results += ("states a dose without a source",)
        is_advised = sentence.permits() or sentence.mentions("relieves")
        if is_advised and not sentence.has("class:guard"):
            toxic = any(facts.of(iri, SHIYI.hasToxicity) for iri in materials)
            results += ("advises a toxic material",) if toxic else ()
        return results

    def _other_natures(self, things: Sequence[str]) -> Iterator[Fact]:
        """Yield the recorded natures of a thing, where it is named beside one of another side."""
        facts = self.runtime.facts
        named = {self._side(iri) for iri in things if facts.is_a(iri, SHIYI.Nature)}
        materials = [iri for iri in things if facts.of(iri, SHIYI.hasNature)]
        if len(materials) != 1 or len(named) != 1:
            return
        recorded_facts = facts.of(materials[0], SHIYI.hasNature)
        if named.isdisjoint(self._side(fact.object) for fact in recorded_facts):
            yield from recorded_facts

    def _side(self, nature: str) -> int:
        """Return 0 for a cooling nature, 1 for a warming one, else -1."""
        above = set(self.runtime.facts.above(nature))
        return next((n for n, side in enumerate(_SIDES) if side & above), -1)


def is_contradicted(
    sentence: Sentence, premise: Premise, topics: Collection[frozenset[str]] = ()
) -> bool:
    """Return whether a sentence that names both ends of a claim says the opposite.

    Of a claim about a harm it allows the thing or names a good of it, with no word that warns; of
    an effect that is not shown, or not for sure, it says that it is. Of others, all of its words
    deny the claim.
    """
    key = premise.contrary()
    contrary = replace(premise, opposed=True)
    if sentence.mentions(key) and not fault_of(sentence, [contrary], topics):
        return True
    if premise.rating == "possible":
        key = "certain"
    keys = _GOOD if premise.is_safety else (key,) * (premise.is_doubtful or key == "certain")
    spans = [
        match for match in sentence.matches if any(e.key in keys and e.cue for e in match.entries)
    ]
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


def split_sentences(text: str) -> tuple[str, ...]:
    """Cut a text into sentences.

    Raise :class:`UsageError` for an empty text, one of too many characters or sentences, and one
    in another script than those of Chinese and English.

    >>> split_sentences("Goji is sweet. It is neutral! 1.5 g")
    ('Goji is sweet.', 'It is neutral!', '1.5 g')
    """
    if not text.strip():
        raise UsageError("the text is empty; send at least one sentence")
    if len(text) > MAX_CHARS:
        raise UsageError(f"the text has {len(text)} characters; send at most {MAX_CHARS}")
    letters = [character for character in text if character.isalpha()]
    if sum(c <= _LAST_LATIN or has_cjk(c) for c in letters) * 2 < len(letters):
        raise UsageError("the text is neither Chinese nor English")
    parts = (hit[0].strip() for hit in _SENTENCE.finditer(text))
    sentences = tuple(part for part in parts if any(map(str.isalnum, part)))
    if len(sentences) > _MAX_SENTENCES:
        raise UsageError(f"the text has {len(sentences)} sentences; send at most {_MAX_SENTENCES}")
    return sentences


def link_code(sentences: Iterable[AuditedSentence]) -> str:
    """Return verdicts and their claims as a link has them: without a word of the text."""
    left, parts = _LINKED, []
    for sentence in sentences:
        claims = [c.claim.rpartition("/")[2] for c in sentence.claims[: min(left, _SHOWN)]]
        left -= len(claims)
        parts.append(".".join((sentence.verdict[0], *claims)))
    return "~".join(parts)
