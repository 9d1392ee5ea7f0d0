"""Where a claim was read: evidence nodes as an answer cites them."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Final
from weakref import proxy

from shiyi.answering.facts import Fact, Facts
from shiyi.model.answer import Citation, CitedEvidence, Named
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Term, local_name, text
from shiyi.ontology.statements import QUALIFIERS
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.sparql.store import QuadStore

_DEFAULT = DefaultGraph()
# claims whose evidence stays as it was read last (ours): as an answer cites it, and all of its quads
# for a moment, since an answer reads most claims in two languages
_CITED_KEPT: Final = 4096
_READ_KEPT: Final = 256
_RATED_KEPT: Final = 65_536  # claims whose rating stays: a hub has tens of thousands to rank
# where sources differ the most careful one counts: graver interactions, effects that are not borne out
_CAREFUL: Final = (
    "major", "moderate", "minor", "ineffective", "insufficient", "possible", "likely", "effective",
)  # fmt: skip
_GRAVITY: Final = ("major", "moderate", "", "minor")  # of interactions; unrated ones may be grave
_FORBIDS: Final = ("忌", "禁", "避免", "勿", "不应", "contraindicat", "avoid", "prohibit")
_NAMES = {(term, language): name for name, (term, language) in QUALIFIERS.items()}


class Evidences:
    """Reads evidence when it is first cited; safe to share between threads."""

    def __init__(self, store: QuadStore, facts: Facts) -> None:
        self.store, self.facts = store, facts
        # what is kept must not hold its keeper: each change makes another, and this one goes at once
        cited, nodes, rated, me = (
            Evidences._all_cited, Evidences._nodes, Evidences._rated, proxy(self),
        )  # fmt: skip
        self._said = lru_cache(_CITED_KEPT)(partial(cited, me))
        self._known = lru_cache(_READ_KEPT)(partial(nodes, me))
        self._rating = lru_cache(_RATED_KEPT)(partial(rated, me))

    def of(self, claim: str, language: str) -> tuple[CitedEvidence, ...]:
        """List the evidence of a claim, and of its premises where it was derived."""
        return self._said(claim, language)

    def _all_cited(self, claim: str, language: str) -> tuple[CitedEvidence, ...]:
        sources = self.facts.premises.get(claim, (claim,))
        return tuple(self._cited(node, language) for each in sources for node in self._known(each))

    def stands(self, claim: str) -> bool:
        """Tell whether the store still holds a claim as accepted."""
        found = self.store.match(NamedNode(claim), SHIYI.status, SHIYI.accepted, None)
        return next(iter(found), None) is not None

    def sources(self, claim: str) -> frozenset[str]:
        """Name the sources of a claim."""
        return frozenset(each.source for each in self.of(claim, "en"))

    def qualifier(self, claim: str, name: str) -> str:
        """Give the first value of a qualifier (``note_zh``, ``amount`` …) of a claim, or ""."""
        return next(self._values(claim, name), "")

    def _values(self, claim: str, name: str) -> Iterator[str]:
        for each in self.of(claim, "en"):
            yield from (value for key, value in each.qualifiers if key == name)

    def grade(self, claim: str) -> str:
        """Give a source's own grade of a caution, one that forbids before milder ones of others, or ""."""
        return min(self._values(claim, "grade"), key=lambda grade: not forbids(grade), default="")

    def rating(self, claim: str) -> str:
        """Give the most careful rating of interaction or effectiveness that a source gives a claim, or ""."""
        return self._rating(claim)

    def gravity(self, claim: str) -> int:
        """Give how grave an interaction is rated: 0 the gravest, 3 a minor one, which comes after unrated ones."""
        rating = self.rating(claim)
        return _GRAVITY.index(rating) if rating in _GRAVITY else len(_GRAVITY)

    def supports(self, claim: str) -> bool:
        """Tell whether a rated effect may recommend: not if evidence is insufficient or against."""
        return self.rating(claim) not in {"insufficient", "ineffective"}

    def citation(self, number: int, fact: Fact, language: str) -> Citation:
        """Give the claim as the answer's JSON holds it."""
        facts = self.facts
        shown = Named(fact.object[:400], fact.object) if fact.language else None
        predicate = Named(fact.predicate.value, facts.property_label(fact.predicate, language))
        return Citation(
            number, fact.claim, facts.named(fact.subject, language), predicate,
            shown or facts.named(fact.object, language),
            "positive" if fact.positive else "negative", fact.confidence, "accepted",
            self.of(fact.claim, language),
        )  # fmt: skip

    def _nodes(self, claim: str) -> tuple[Mapping[NamedNode, list[Term]], ...]:
        return tuple(self._read(node) for node in self._links(claim))

    def _links(self, claim: str) -> list[NamedNode]:
        links = self.store.match(NamedNode(claim), SHIYI.evidence, None, _DEFAULT)
        return sorted((q.object for q in links if isinstance(q.object, NamedNode)), key=text)

    def _rated(self, claim: str) -> str:
        nodes = (n for each in self.facts.premises.get(claim, (claim,)) for n in self._links(each))
        said = {
            text(q.object) for n in nodes for q in self.store.match(n, SHIYI.rating, None, _DEFAULT)
        }
        return next((rating for rating in _CAREFUL if rating in said), "")

    def _read(self, node: NamedNode) -> Mapping[NamedNode, list[Term]]:
        said: dict[NamedNode, list[Term]] = {PROV.wasGeneratedBy: [node]}
        for quad in self.store.match(node, None, None, _DEFAULT):
            said.setdefault(quad.predicate, []).append(quad.object)
        said[PROV.wasGeneratedBy] = [node]
        for source in said.get(DCTERMS.source, []):
            if isinstance(source, NamedNode):
                dates = self.store.match(source, DCTERMS.date, None, _DEFAULT)
                said[DCTERMS.date] = [quad.object for quad in dates]
        return said

    def _cited(self, said: Mapping[NamedNode, list[Term]], language: str) -> CitedEvidence:
        def one(predicate: NamedNode) -> str:
            return text(next(iter(said.get(predicate, [])), None))

        source, passage = one(DCTERMS.source), one(PROV.wasDerivedFrom)
        return CitedEvidence(
            source=self.facts.label(source, language),
            tier=local_name(one(SHIYI.sourceTier)).removeprefix("tier-"),
            quote=one(SHIYI.quote),
            passage=passage if passage != source else "",
            iri=one(PROV.wasGeneratedBy),
            locator=one(SHIYI.sourceLocator),
            checked=one(SHIYI.checked),
            year=one(DCTERMS.date),
            qualifiers=_qualifiers(said),
        )


def forbids(grade: str) -> bool:
    """Tell whether a source's own grade of a caution forbids.

    >>> [forbids(grade) for grade in ("忌用", "避免", "慎用", "不推荐")]
    [True, True, False, False]
    """
    return any(word in grade.lower() for word in _FORBIDS)


def _qualifiers(said: Mapping[NamedNode, list[Term]]) -> tuple[tuple[str, str], ...]:
    found = []
    for predicate, terms in said.items():
        for term in terms:
            if isinstance(term, Literal):
                name = _NAMES.get((predicate, term.language)) or _NAMES.get((predicate, None))
                if name:
                    found.append((name, term.value))
    return tuple(sorted(found))
