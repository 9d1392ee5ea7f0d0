"""Check anybody's text against the claims of a base, sentence by sentence, without a model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from shiyi.answering.generation.checker import supporting, unverified
from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.premises import premise_of
from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.knowledge.names import Names
from shiyi.errors import UsageError
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import has_cjk
from shiyi.model.answer import Citation

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_ON_RECORD, DANGEROUS = "not_on_record", "dangerous"
VERDICTS: Final = (DANGEROUS, CONTRADICTED, SUPPORTED, NOT_ON_RECORD)

MAX_CHARS: Final = 20_000
_MAX_SENTENCES: Final = 300
_MAX_MENTIONS: Final = 8  # of one sentence
_SHOWN: Final = 6  # claims beside a sentence
_SENTENCE: Final = re.compile(r"[^。！？!?\n；;]*?(?:[。！？；;\n]|[.!?](?=\s|$)|$)")


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

    facts: Facts
    evidences: Evidences
    linker: Linker
    names: Names

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

    def _verdict(self, sentence: str, language: str) -> AuditedSentence:
        mentions = [m for m in self.linker.link(sentence, language) if m.iri][:_MAX_MENTIONS]
        groups = [dict.fromkeys((m.iri, *m.alternatives[:3])) for m in mentions]
        facts = tuple(dict.fromkeys(self._between(groups)))
        citations = tuple(
            self.evidences.citation(number, fact, language) for number, fact in enumerate(facts, 1)
        )
        found = tuple((each, premise_of(each, self.names.of)) for each in citations)
        shown = citations[:_SHOWN]
        if danger := dangers(sentence):
            return AuditedSentence(sentence, DANGEROUS, shown, danger)
        premises = [premise for _, premise in found]
        if support := supporting(sentence, premises):
            supported = tuple(citations[place] for place in support)
            return AuditedSentence(sentence, SUPPORTED, supported[:_SHOWN])
        against = tuple(
            cited
            for cited, premise in found
            if not unverified(sentence, [replace(premise, opposed=True)])
        )
        if against:
            reason = "states the opposite of a claim"
            return AuditedSentence(sentence, CONTRADICTED, against[:_SHOWN], (reason,))
        if not mentions:
            reasons: tuple[str, ...] = ("names nothing that the base knows",)
        elif not found:
            reasons = ("no claim joins the things it names",)
        else:
            faults = (unverified(sentence, [premise]) for premise in premises)
            reasons = tuple(dict.fromkeys(faults))[:3]
        return AuditedSentence(sentence, NOT_ON_RECORD, shown, reasons)

    def _between(self, groups: Sequence[dict[str, None]]) -> Iterator[Fact]:
        """Yield the claims that join two of the things a sentence names."""
        for one, other in combinations(groups, 2):
            for first in one:
                for second in other:
                    yield from self.facts.between(first, second)


def sentences_of(text: str) -> tuple[str, ...]:
    """Cut a text into sentences.

    >>> sentences_of("Goji is sweet. It is neutral! 1.5 g")
    ('Goji is sweet.', 'It is neutral!', '1.5 g')
    """
    found = (hit[0].strip() for hit in _SENTENCE.finditer(text))
    return tuple(each for each in found if any(map(str.isalnum, each)))[:_MAX_SENTENCES]
