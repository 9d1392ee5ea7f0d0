"""Labels, statements, evidence in the reader's language."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from heapq import nsmallest
from typing import Final

from shiyi.answering.knowledge.facts import BILINGUAL, Fact, Facts
from shiyi.curation.editing.claims import passage_text
from shiyi.model.claim import confidence_value
from shiyi.model.iris import ID, VOCAB, graph
from shiyi.model.rdf import (
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Subject,
    Term,
    Triple,
    local_name,
    text,
)
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import ABOUT, QUALIFIERS
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.server.site.visibility import Claims
from shiyi.server.views.links import href, source_link
from shiyi.sparql.store.port import QuadStore

ACCEPTED = DefaultGraph()
DERIVED = graph("derived")
Graph = NamedNode | DefaultGraph
MOST: Final = 100  # claims of one relation that a page shows; then it says how many there are
REMEMBERED: Final = 20_000  # labels
_LONG: Final = 200  # characters; longer names are not cached, so that none fills the memory


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing on a page: its label and its link (empty: none)."""

    iri: str
    label: str
    href: str = ""
    other: str = ""  # the label in the other language, where it differs
    kind: str = ""  # local name of its class
    language: str = ""  # of a text

    @property
    def local(self) -> bool:
        """Return whether the link stays on this host."""
        return self.href.startswith("/")


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim about a concept, seen from that concept."""

    predicate: str  # local name
    subject: Thing
    object: Thing
    claim: str
    confidence: float
    forward: bool = True
    derived: bool = False
    negative: bool = False
    of: int = 0  # how many there are of this relation, where only the surest are read

    @property
    def other(self) -> Thing:
        """Return the other end of the claim."""
        return self.object if self.forward else self.subject


@dataclass(frozen=True, slots=True)
class SourceView:
    """A work that evidence cites."""

    iri: str
    title: str
    href: str
    tier: str
    year: str = ""
    identifier: str = ""
    link: str = ""
    licence: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """Where a claim was read, and how strongly that counts."""

    iri: str
    href: str
    source: SourceView
    confidence: float
    kind: str
    locator: str = ""
    quote: str = ""
    passage: Thing | None = None
    qualifiers: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    suggested: Thing | None = None  # the work in which to look, where none was opened


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as its page shows it."""

    iri: str
    subject: Thing
    predicate: Thing
    object: Thing
    polarity: str
    status: str
    confidence: float
    evidence: tuple[EvidenceView, ...]
    derived_by: str = ""
    premises: tuple[Thing, ...] = ()


# nodes of few properties, of which a page shows most
_DESCRIBED: Final = (
    *(f"{ID}{kind}" for kind in ("claim/", "evidence/", "change/", "source-")),
    VOCAB,
)
_AT_MOST: Final = 5_000  # of them in memory
_Description = dict[NamedNode, list[tuple[Term, Graph | BlankNode]]]


class Reader:
    """Reads one store in one language; caches labels, so drop it when the store changes."""

    def __init__(self, store: QuadStore, language: str, known: Claims | None = None) -> None:
        """Read ``store``; claims and labels from memory where they are ``known``."""
        self.store, self.language, self._known = store, language, known
        self._claims = known or Claims(cache(partial(Facts.read, store, Schema.load())))
        self._things: dict[Term, Thing] = {}
        self._described: dict[NamedNode, _Description] = {}

    def values(
        self, subject: Subject, predicate: NamedNode, graph: Graph | None = ACCEPTED
    ) -> Iterator[Term]:
        """Yield the objects of ``predicate``."""
        if isinstance(subject, NamedNode) and subject.value.startswith(_DESCRIBED):
            results = self._described.get(subject) or self.describe((subject,))[subject]
            return (t for t, place in results.get(predicate, ()) if graph is None or place == graph)
        return (quad.object for quad in self.store.match(subject, predicate, None, graph))

    def describe(self, nodes: Iterable[NamedNode]) -> dict[NamedNode, _Description]:
        """Return all that is recorded of nodes: one request to a remote store, not hundreds."""
        wanted, known = tuple(nodes), self._described
        read: dict[NamedNode, _Description] = {node: {} for node in wanted if node not in known}
        for quad in self.store.match_each(read) if read else ():
            if isinstance(quad.subject, NamedNode):
                place = quad.object, quad.graph_name
                read[quad.subject].setdefault(quad.predicate, []).append(place)
        known.update(read)
        if len(known) > _AT_MOST:
            self._described = {}
        return {node: known[node] for node in wanted}

    def value(self, subject: Subject, predicate: NamedNode, graph: Graph | None = ACCEPTED) -> str:
        """Return one value as text, the reader's language first, or nothing."""
        terms = list(self.values(subject, predicate, graph))
        local = [t for t in terms if isinstance(t, Literal) and t.language == self.language]
        return text((local or terms or [None])[0])

    def texts(
        self, subject: Subject, predicate: NamedNode, graph: Graph | None = ACCEPTED
    ) -> tuple[str, ...]:
        """List the values as texts: those in the reader's language, or all if there are none."""
        terms = list(self.values(subject, predicate, graph))
        local = [t for t in terms if isinstance(t, Literal) and t.language == self.language]
        return tuple(sorted(text(term) for term in local or terms))

    def labels(self, node: NamedNode) -> dict[str, str]:
        """Return preferred labels by language; those of texts are in other graphs too."""
        results: dict[str, str] = {}
        for where, predicate in (
            (ACCEPTED, SKOS.prefLabel),
            (ACCEPTED, RDFS.label),
            (None, RDFS.label),
            (None, SKOS.prefLabel),  # of terms that only a collection names
        ):
            if where is None and (results or not node.value.startswith(ID)):
                break
            for term in self.values(node, predicate, where):
                if isinstance(term, Literal):
                    results.setdefault(term.language or "", term.value)
        return results

    def thing(self, term: Term) -> Thing:
        """Name a term in the reader's language."""
        if (known := self._things.get(term)) is not None:
            return known
        made = self._name_term(term)
        if made.iri and len(made.iri) <= _LONG:
            if len(self._things) >= REMEMBERED:
                self._things.clear()
            self._things[term] = made
        return made

    def _name_term(self, term: Term) -> Thing:
        if not isinstance(term, NamedNode):
            language = term.language if isinstance(term, Literal) else ""
            return Thing("", text(term), language=language or "")
        claims = self._known
        if claims and (labels := claims.labels(term.value)):
            results, kind = labels, claims.kind(term.value)
        else:
            results, kinds = self.labels(term), self.kinds(term)
            kind = local_name(kinds[0].value) if kinds else ""
        label = results.get(self.language) or next(iter(results.values()), local_name(term.value))
        other = results.get("en" if self.language == "zh" else "zh", "")
        return Thing(term.value, label, href(term.value), other if other != label else "", kind)

    def kinds(self, node: NamedNode) -> list[NamedNode]:
        """List the classes of ``node`` in the Shiyi vocabulary."""
        return [
            term
            for term in self.values(node, RDF.type)
            if isinstance(term, NamedNode) and term.value.startswith(VOCAB)
        ]

    def statements(self, node: NamedNode) -> Iterator[Statement]:
        """Yield the accepted and the derived claims about ``node``, both ways."""
        by_relation: dict[tuple[NamedNode, bool, bool, bool], list[Fact]] = {}
        for forward, fact in self._claims.about(node.value):
            relation = fact.predicate, forward, fact.derived, fact.positive
            by_relation.setdefault(relation, []).append(fact)
        for (predicate, forward, derived, positive), facts in by_relation.items():
            many = len(facts) > MOST
            if many:
                facts = nsmallest(MOST, facts, key=lambda item: (-item.confidence, item.claim))
            for fact in facts:
                yield Statement(
                    local_name(predicate.value),
                    self.thing(NamedNode(fact.subject)),
                    self._end(fact),
                    fact.claim,
                    fact.confidence,
                    forward,
                    derived,
                    not positive,
                    len(by_relation[predicate, forward, derived, positive]) if many else 0,
                )

    def _end(self, fact: Fact) -> Thing:
        if fact.language in ("", BILINGUAL):
            return self.thing(NamedNode(fact.object))
        return Thing("", fact.object, language="" if fact.language == "und" else fact.language)

    def share(self, node: Subject, predicate: NamedNode, graph: Graph | None = None) -> float:
        """Return a number from 0 to 1; 0 where there is none."""
        result = map(confidence_value, self.values(node, predicate, graph))
        return next((each for each in result if each is not None), 0.0)

    def home_of_claim(self, claim: NamedNode) -> Graph | None:
        """Return the graph that holds the claim: the accepted view before any other."""
        results = self.describe((claim,))[claim].get(RDF.reifies, ())
        homes = [place for term, place in results if isinstance(term, Triple)]
        if not homes:
            return None
        home = ACCEPTED if ACCEPTED in homes else homes[0]
        return home if isinstance(home, NamedNode | DefaultGraph) else None

    def claim(self, claim: NamedNode, graph: Graph) -> ClaimView:
        """Read one claim with all its evidence."""
        triple = self._triple(claim, graph)
        evidence = sorted(self.grounds(claim, graph), key=lambda view: -view.confidence)
        premises = list(self.values(claim, PROV.wasDerivedFrom, graph))
        return ClaimView(
            claim.value,
            self.thing(triple.subject),
            self.thing(triple.predicate),
            self.thing(triple.object),
            local_name(self.value(claim, SHIYI.polarity, graph)) or "positive",
            local_name(self.value(claim, SHIYI.status, graph)),
            self.share(claim, SHIYI.confidence, graph),
            tuple(evidence),
            local_name(self.value(claim, SHIYI.derivedBy, graph)),
            tuple(self.premise(term) for term in premises),
        )

    def _triple(self, claim: NamedNode, home: Graph) -> Triple:
        values = self.values(claim, RDF.reifies, home)
        return next(term for term in values if isinstance(term, Triple))

    def load_grounds(self, claims: Iterable[str]) -> None:
        """Read what claims rest on beforehand: a few requests to a remote store for all of them."""
        nodes = [NamedNode(claim) for claim in claims]
        for predicate in (SHIYI.evidence, DCTERMS.source):
            read = self.describe(nodes).values()
            terms = [t for properties in read for t, _ in properties.get(predicate, ())]
            nodes = [term for term in terms if isinstance(term, NamedNode)]
        self.describe(node for node in nodes if node.value.startswith(_DESCRIBED))

    def grounds(self, claim: NamedNode, graph: Graph | None = None) -> Iterator[EvidenceView]:
        """Yield what a claim rests on in one graph, its own if none is named."""
        home = graph or self.home_of_claim(claim)
        for node in self.values(claim, SHIYI.evidence, home):
            if isinstance(node, NamedNode):
                yield self.evidence(node, home)

    def premise(self, term: Term) -> Thing:
        """Return a premise of a derived claim as text."""
        home = self.home_of_claim(term) if isinstance(term, NamedNode) else None
        if home is None or not isinstance(term, NamedNode):
            return self.thing(term)
        triple = self._triple(term, home)
        parts = (triple.subject, triple.predicate, triple.object)
        return Thing(term.value, " · ".join(self.thing(p).label for p in parts), href(term.value))

    def evidence(self, node: NamedNode, graph: Graph | None = ACCEPTED) -> EvidenceView:
        """Read one piece of evidence with its source."""
        source = next(self.values(node, DCTERMS.source, graph), None)
        notes = self.texts(node, SHIYI.noteText, graph)
        passages = [
            self.thing(term)
            for term in self.values(node, PROV.wasDerivedFrom, graph)
            if term != source
        ]
        return EvidenceView(
            node.value,
            href(node.value),
            self.source(source),
            self.share(node, SHIYI.extractionConfidence, graph),
            local_name(self.value(node, SHIYI.evidenceKind, graph)).lower(),
            self.value(node, SHIYI.sourceLocator, graph),
            self.value(node, SHIYI.quote, graph),
            passages[0] if passages else None,
            tuple(self._qualifiers(node, graph)),
            notes,
            next((self.thing(t) for t in self.values(node, SHIYI.suggestedSource, graph)), None),
        )

    def _qualifiers(self, node: NamedNode, graph: Graph | None) -> Iterable[tuple[str, str]]:
        for name, (written, language) in QUALIFIERS.items():
            value = self.value(node, written, graph)
            if name == ABOUT:
                value = ", ".join(self.thing(t).label for t in self.values(node, written, graph))
            if language is None and value:
                yield name, value

    def source(self, node: Term | None) -> SourceView:
        """Read a source."""
        if not isinstance(node, NamedNode):
            return SourceView("", "", "", "")
        # of a collection that was read, it is described in its own graph alone
        tier = local_name(self.value(node, SHIYI.sourceTier, None)).removeprefix("tier-")
        identifier = self.value(node, DCTERMS.identifier, None)
        return SourceView(
            node.value,
            self.thing(node).label,
            href(node.value),
            tier,
            self.value(node, DCTERMS.date, None),
            identifier,
            source_link(identifier),
            self.value(node, DCTERMS.license, None),
            self.value(node, RDFS.comment, None),
        )


AROUND: Final = 400  # characters shown on each side


@dataclass(frozen=True, slots=True)
class QuoteInContext:
    """A quote with what surrounds it; without its passage it stands alone."""

    before: str
    quote: str
    after: str


class Passages:
    """Finds the quotes of evidence in the passages of one store."""

    def __init__(self, store: QuadStore) -> None:
        self._store = store

    def __call__(self, evidence: EvidenceView) -> QuoteInContext:
        """Return the quote of some evidence in its passage; only what may be quoted has a quote."""
        words = passage_text(self._store, evidence.passage.iri) if evidence.passage else ""
        before, result, after = words.partition(evidence.quote) if evidence.quote else ("", "", "")
        if not result:
            return QuoteInContext("", evidence.quote, "")
        return QuoteInContext(
            ("…" if len(before) > AROUND else "") + before[-AROUND:],
            evidence.quote,
            after[:AROUND] + ("…" if len(after) > AROUND else ""),
        )
