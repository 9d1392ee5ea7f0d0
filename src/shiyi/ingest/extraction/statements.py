"""Extracted statements to claims."""

import re
from dataclasses import dataclass
from typing import Final

from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.document import Passage
from shiyi.ingest.extraction.books.patterns import pattern
from shiyi.ingest.extraction.extractor import ExtractedStatement, Relations
from shiyi.ingest.extraction.replies import Statement
from shiyi.linking.labels import LabelIndex
from shiyi.linking.negation import is_contrary
from shiyi.linking.normalization import fold
from shiyi.model.claim import Polarity
from shiyi.model.rdf import Literal, NamedNode, Object

UNLINKED = "names nothing that the base knows"
NOT_VERBATIM = "the quote is not in the passage"
UNKNOWN_RELATION = "no relation of this graph"
NOT_CHOSEN = "not among the relations chosen for this passage"
WRONG_CLASS = "of a class the relation does not take"
NOT_THERE = "the name is not in the passage"
WITHDRAWN = "withdrawn"
ITSELF = "a thing is not related to itself"
OTHER_POLARITY = "the quote states the contrary"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no claim was made of a statement: the kind of reason, and the whole of it."""

    statement: Statement
    kind: str
    reason: str

    @property
    def is_repairable(self) -> bool:
        """Return whether a model may repair it; a name that nothing bears stays unlinked."""
        return self.kind not in {UNLINKED, WITHDRAWN}


class StatementReader:
    """Makes claims of statements, and says of the others why not."""

    def __init__(self, index: LabelIndex, relations: Relations) -> None:
        self.relations = relations
        self._lexicons = (Lexicon(index, "zh"), Lexicon(index, "en"), Lexicon(index, "la"))
        self._kind = {concept.iri: concept.kind for concept in index.concepts}

    def read(
        self, statement: Statement, passage: Passage, chosen: tuple[str, ...], language: str
    ) -> ExtractedStatement | Refusal:
        """Return the claim that ``statement`` makes, or the first thing that is wrong with it."""
        name = statement.relation
        if name not in self.relations.names:
            return Refusal(statement, UNKNOWN_RELATION, f"{name} is {UNKNOWN_RELATION}")
        if name not in chosen:
            return Refusal(statement, NOT_CHOSEN, f"{name} is {NOT_CHOSEN}")
        start = passage.text.find(statement.quote)
        if start < 0:
            return Refusal(statement, NOT_VERBATIM, f"{NOT_VERBATIM}: {statement.quote[:80]!r}")
        return self._read(statement, passage, start, language)

    def _read(
        self, statement: Statement, passage: Passage, start: int, language: str
    ) -> ExtractedStatement | Refusal:
        each = self.relations.schema.property(statement.relation)
        where = fold(" ".join((*passage.section.path, passage.text)))
        if fold(statement.subject) not in where:
            return Refusal(statement, NOT_THERE, f"{NOT_THERE}: {statement.subject!r}")
        if fold(statement.object) not in fold(statement.quote):
            return Refusal(statement, NOT_THERE, f"the quote does not hold {statement.object!r}")
        subject = self._link_name(statement.subject, each.domain, statement)
        if isinstance(subject, Refusal):
            return subject
        if not self.relations.schema.fits(self._kind[subject.value], each.domain):
            takes = f"{statement.relation} takes {' or '.join(sorted(each.domain))} as subject"
            reason = f"{statement.subject!r} is a {self._kind[subject.value]}; {takes}"
            return Refusal(statement, WRONG_CLASS, reason)
        value: Object | Refusal  # shapes check the class of what is not denied
        if each.is_text:
            value = Literal(statement.object, language=language)
        else:
            value = self._link_name(statement.object, each.range, statement)
        if isinstance(value, Refusal):
            return value
        if statement.negated and isinstance(value, NamedNode) and not self.is_a(value, each.range):
            return Refusal(statement, WRONG_CLASS, f"{statement.object!r} is {WRONG_CLASS}")
        quote, name = fold(statement.quote), fold(statement.object)
        contrary = not each.is_safety and is_contrary(quote, name)  # no model takes a warning back
        if contrary != statement.negated or (each.name in _HARMS and states_use_alone(quote, name)):
            return Refusal(statement, OTHER_POLARITY, f"{OTHER_POLARITY}: {statement.quote[:80]!r}")
        if value == subject:
            return Refusal(statement, ITSELF, f"{ITSELF}: {statement.subject!r}")
        return ExtractedStatement(
            subject,
            self.relations.node(statement.relation),
            value,
            start,
            start + len(statement.quote),
            Polarity.NEGATIVE if statement.negated else Polarity.POSITIVE,
            round(0.5 + statement.confidence / 2, 3),
        )

    def _link_name(
        self, name: str, classes: frozenset[str], statement: Statement
    ) -> NamedNode | Refusal:
        """Return the one thing of this name, of the classes a relation takes if there is one."""
        every = frozenset(self.relations.schema.parents)
        for group in (classes, every):
            if result := self.find(name, self.relations.kinds(group)):
                return result
        return Refusal(statement, UNLINKED, f"{name!r} {UNLINKED}")

    def find(self, name: str, kinds: tuple[str, ...]) -> NamedNode | None:
        """Return the one concept of a name in either language; None for none, or for several."""
        for lexicon in self._lexicons:
            if result := lexicon.find(name, _sort_kinds(kinds)):
                return result
        return None

    def is_a(self, concept: NamedNode, classes: frozenset[str]) -> bool:
        """Return whether a concept may stand where ``classes`` are asked for."""
        kind = self._kind.get(concept.value)
        return kind is not None and self.relations.schema.fits(kind, classes)


def states_use_alone(quote: str, name: str) -> bool:
    """Return whether each sentence with ``name`` of a folded quote states a use and no harm."""
    used, harmful = pattern("only-used").search, pattern("harmful").search
    clauses = [c for part in _SENTENCE.split(quote) if name in part for c in part.split(",")]
    return bool(clauses) and all(
        used(c) and not harmful(c.replace(name, "")) if name in c else used(c) or not harmful(c)
        for c in clauses
    )


_SENTENCE: Final = re.compile(r"[。;!?\n]|\.(?=\s|\Z)")  # of folded text
_HARMS: Final = frozenset({
    "contraindicatedIn", "cautionIn", "aggravates", "hasAdverseReaction", "hasAdverseEffectOn",
})  # fmt: skip
# where a name stands for several kinds of thing: foods before others, Chinese senses before Western
_FIRST = ("MFHSubstance", "Herb", "Food", "TCMDisease", "Symptom", "Syndrome", "Disease")


def _sort_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return (*(e for e in _FIRST if e in kinds), *(e for e in kinds if e not in _FIRST))
