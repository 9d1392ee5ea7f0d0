"""Evidence nodes as citations."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice
from typing import Final
from weakref import proxy

from shiyi.answering.knowledge.facts import BILINGUAL, Fact, Facts
from shiyi.answering.knowledge.severity import CAREFUL, forbids, gravity
from shiyi.model.answer import Citation, CitedEvidence, Labelled
from shiyi.model.claim import EvidenceKind
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, local_name, text
from shiyi.ontology.serialization import ABOUT, QUALIFIERS, ids_of
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.sparql.store.port import QuadStore

_DEFAULT = DefaultGraph()
_Place = NamedNode | DefaultGraph
# claims of which the evidence is cached (Shiyi's): as an answer cites it, and all of its quads
# for a moment, since an answer reads most claims in two languages
_CITED_CACHE: Final = 4096
_READ_CACHE: Final = 256
_AHEAD: Final = 1000  # claims read at once, and nodes that stay in memory
# what is read of claims, evidence and sources in turn, and what leads to the next
_STEPS: Final = (
    (SHIYI.evidence, SHIYI.evidence), (None, DCTERMS.source), (DCTERMS.date, None),
)  # fmt: skip
_RATED_CACHE: Final = 65_536  # claims with a cached rating: a hub has tens of thousands to rank
_SUREST: Final = (
    EvidenceKind.READ, EvidenceKind.ROW, EvidenceKind.INFERRED, EvidenceKind.RECALLED,
    EvidenceKind.PREDICTED,
)  # fmt: skip
_NAMES = {(term, language): name for name, (term, language) in QUALIFIERS.items()}


class Evidences:
    """Reads evidence when it is first cited; safe to share between threads.

    Claims that are ``assumed`` are read as accepted ones, in any graph. ``places``
    are graphs beside the accepted view that hold evidence of claims among the facts.
    """

    def __init__(
        self,
        store: QuadStore,
        facts: Facts,
        assumed: frozenset[str] = frozenset(),
        places: tuple[NamedNode, ...] = (),
    ) -> None:
        self.store, self.facts, self.assumed = store, facts, assumed
        self._read_from: tuple[_Place, ...] = (_DEFAULT, *places)
        self._ahead: dict[NamedNode, list[Quad]] = {}
        # a cache must not refer to its owner: each change makes another, and this one is freed
        cited, nodes, me = Evidences._cite_all, Evidences._nodes, proxy(self)
        self._cited = lru_cache(_CITED_CACHE)(partial(cited, me))
        self._known = lru_cache(_READ_CACHE)(partial(nodes, me))
        self._rating = lru_cache(_RATED_CACHE)(partial(Evidences._find_rating, me))
        self._guide = lru_cache(_RATED_CACHE)(partial(Evidences._find_guide, me))
        self._note = lru_cache(_RATED_CACHE)(partial(Evidences._find_note, me))

    def load(self, claims: Iterable[str]) -> None:
        """Read the evidence of claims ahead: few requests to a remote store for all of them."""
        every = (p for c in claims for p in self.facts.premises.get(c, (c,)))
        nodes = list(map(NamedNode, islice(every, _AHEAD)))
        if len(self._ahead) > _AHEAD:
            self._ahead = {}
        ahead = self._ahead
        for predicate, link in _STEPS:
            read: dict[NamedNode, list[Quad]] = {node: [] for node in nodes if node not in ahead}
            for quad in self.store.match_each(read, predicate):
                if isinstance(quad.subject, NamedNode):
                    read[quad.subject].append(quad)
            ahead.update(read)
            quads = (quad for node in nodes for quad in ahead[node] if quad.predicate == link)
            nodes = [quad.object for quad in quads if isinstance(quad.object, NamedNode)]

    def _match(
        self, node: NamedNode, predicate: NamedNode | None, place: _Place | None
    ) -> Iterator[Quad]:
        if (quads := self._ahead.get(node)) is None:
            return self.store.match(node, predicate, None, place)
        fits = (quad for quad in quads if predicate in (None, quad.predicate))
        return (quad for quad in fits if place in (None, quad.graph_name))

    def of(self, claim: str, language: str) -> tuple[CitedEvidence, ...]:
        """List the evidence of a claim, and of its premises where it was derived."""
        return self._cited(claim, language)

    def _cite_all(self, claim: str, language: str) -> tuple[CitedEvidence, ...]:
        sources = self.facts.premises.get(claim, (claim,))
        return tuple(self._cite(node, language) for each in sources for node in self._known(each))

    def find_withdrawn(self, claims: Collection[str]) -> set[str]:
        """Return the claims that the store no longer has as what they were read as."""
        stored = self.store.match_each(map(NamedNode, claims), SHIYI.status)
        current = {(text(quad.subject), quad.object) for quad in stored}
        status = {c: SHIYI.candidate if self.origin(c) else SHIYI.accepted for c in claims}
        return {c for c in status.keys() - self.assumed if (c, status[c]) not in current}

    def origin(self, claim: str) -> str:
        """Return the school or source that a claim is of, if no curator has accepted it."""
        return next((fact.origin for fact in self.facts.by_claim.get(claim, ())), "")

    def sources(self, claim: str) -> frozenset[str]:
        """Name the sources of a claim, or the works in which to look."""
        return frozenset(evidence.suggested or evidence.source for evidence in self.of(claim, "en"))

    def kind(self, claim: str) -> EvidenceKind:
        """Return how a claim is known: derived, or the surest kind of its evidence."""
        if claim in self.facts.premises:
            return EvidenceKind.INFERRED
        kinds = {evidence.kind for evidence in self.of(claim, "en")}
        return next((each for each in _SUREST if each in kinds), EvidenceKind.PREDICTED)

    def is_opened(self, claim: str) -> bool:
        """Return whether a claim rests on what was opened; a derived one, on nothing else."""
        premises = self.facts.premises.get(claim, (claim,))
        return all(any(e.is_opened for e in self._direct(premise)) for premise in premises)

    def _direct(self, claim: str) -> tuple[CitedEvidence, ...]:
        return tuple(self._cite(node, "en") for node in self._known(claim))

    def qualifier(self, claim: str, name: str) -> str:
        """Return the first value of a qualifier (``note_zh``, ``amount`` …) of a claim, or ""."""
        return next(self._values(claim, name), "")

    def _values(self, claim: str, name: str) -> Iterator[str]:
        for evidence in self.of(claim, "en"):
            yield from (value for key, value in evidence.qualifiers if key == name)

    def grade(self, claim: str) -> str:
        """Return a source's own grade of a caution, the gravest first, or ""."""
        return min(self._values(claim, "grade"), key=lambda grade: not forbids(grade), default="")

    def rating(self, claim: str) -> str:
        """Return the most careful rating of an interaction or effect of a claim, or ""."""
        return self._rating(claim)

    def note(self, claim: str) -> str:
        """Return the first Chinese note of a claim's evidence, or ""."""
        return self._note(claim)

    def guide(self, claim: str) -> tuple[str, str, tuple[str, ...]]:
        """Return topic and verdict of guidance, and the concepts that it is about."""
        return self._guide(claim)

    def gravity(self, claim: str) -> int:
        """Return the rank of an interaction's severity: 0 the gravest, 2 unrated, 3 minor."""
        return gravity(self.rating(claim))

    def supports(self, claim: str) -> bool:
        """Return whether a rated effect may recommend: not on insufficient evidence."""
        return self.rating(claim) not in {"insufficient", "ineffective"}

    def citation(self, number: int, fact: Fact, language: str) -> Citation:
        """Return the claim as the answer's JSON holds it."""
        facts = self.facts
        shown = None
        if fact.language not in ("", BILINGUAL):
            shown = Labelled(fact.object[:400], fact.object)
        predicate = Labelled(fact.predicate.value, facts.property_label(fact.predicate, language))
        return Citation(
            number,
            fact.claim,
            facts.concept(fact.subject, language),
            predicate,
            shown or facts.concept(fact.object, language),
            "positive" if fact.positive else "negative",
            fact.confidence,
            "candidate" if fact.origin else "accepted",
            self.of(fact.claim, language),
            self.kind(fact.claim).value,
            facts.label(fact.origin, language) if fact.origin else "",
        )

    def _nodes(self, claim: str) -> tuple[Mapping[NamedNode, list[Term]], ...]:
        return tuple(self._read(node, self._places(claim)) for node in self._links(claim))

    def _places(self, claim: str) -> tuple[_Place | None, ...]:
        return (None,) if claim in self.assumed else self._read_from

    def _links(self, claim: str) -> list[NamedNode]:
        links = {
            q.object
            for place in self._places(claim)
            for q in self._match(NamedNode(claim), SHIYI.evidence, place)
        }
        return sorted((term for term in links if isinstance(term, NamedNode)), key=text)

    def _find_rating(self, claim: str) -> str:
        values = set(map(text, self._values_of(claim, SHIYI.rating)))
        return next((rating for rating in CAREFUL if rating in values), "")

    def _find_note(self, claim: str) -> str:
        notes = self._values_of(claim, SHIYI.noteText)
        return next((n.value for n in notes if isinstance(n, Literal) and n.language == "zh"), "")

    def _find_guide(self, claim: str) -> tuple[str, str, tuple[str, ...]]:
        topic, verdict = (
            next(map(text, self._values_of(claim, name)), "")
            for name in (SHIYI.topic, SHIYI.verdict)
        )
        return topic, verdict, tuple(map(text, self._values_of(claim, SHIYI.about)))

    def _values_of(self, claim: str, predicate: NamedNode) -> Iterator[Term]:
        """Yield the values of one property of a claim's evidence, without reading the rest."""
        for premise in self.facts.premises.get(claim, (claim,)):
            for node in self._links(premise):
                values = [
                    quad.object
                    for place in self._places(claim)
                    for quad in self._match(node, predicate, place)
                ]
                yield from sorted(values, key=text)

    def _read(
        self, node: NamedNode, places: tuple[_Place | None, ...]
    ) -> Mapping[NamedNode, list[Term]]:
        values: dict[NamedNode, list[Term]] = {PROV.wasGeneratedBy: [node]}
        for place in places:
            for quad in self._match(node, None, place):
                values.setdefault(quad.predicate, []).append(quad.object)
        values[PROV.wasGeneratedBy] = [node]
        for source in values.get(DCTERMS.source, []):
            if isinstance(source, NamedNode):
                dates = self._match(source, DCTERMS.date, _DEFAULT)
                values[DCTERMS.date] = [quad.object for quad in dates]
        return values

    def _cite(self, values: Mapping[NamedNode, list[Term]], language: str) -> CitedEvidence:
        def one(predicate: NamedNode) -> str:
            return text(next(iter(values.get(predicate, [])), None))

        source, passage = one(DCTERMS.source), one(PROV.wasDerivedFrom)
        suggested = one(SHIYI.suggestedSource)
        return CitedEvidence(
            source=self.facts.label(source, language),
            tier=local_name(one(SHIYI.sourceTier)).removeprefix("tier-"),
            quote=one(SHIYI.quote),
            passage=passage if passage != source else "",
            iri=one(PROV.wasGeneratedBy),
            locator=one(SHIYI.sourceLocator),
            kind=local_name(one(SHIYI.evidenceKind)).lower() or EvidenceKind.RECALLED.value,
            suggested=self.facts.label(suggested, language) if suggested else "",
            year=one(DCTERMS.date),
            qualifiers=_qualifiers(values),
        )


def _qualifiers(values: Mapping[NamedNode, list[Term]]) -> tuple[tuple[str, str], ...]:
    about = values.get(SHIYI.about)
    results = [(ABOUT, ids_of(about))] if about else []
    for predicate, terms in values.items():
        for term in terms:
            if isinstance(term, Literal):
                name = _NAMES.get((predicate, term.language)) or _NAMES.get((predicate, None))
                if name:
                    results.append((name, term.value))
    return tuple(sorted(results))
