"""What the store holds, in the reader's language: labels, statements, claims and their evidence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Final

from shiyi.answering.facts import Fact
from shiyi.model.names import ID, VOCAB, graph
from shiyi.model.rdf import (
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Subject,
    Term,
    Triple,
    local_name,
    text,
)  # fmt: skip
from shiyi.ontology.statements import QUALIFIERS
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.server.known import Known
from shiyi.server.links import href, source_link
from shiyi.sparql.store import QuadStore

ACCEPTED = DefaultGraph()
DERIVED = graph("derived")
Graph = NamedNode | DefaultGraph
MOST: Final = 100  # claims of one relation that a page shows; then it says how many there are
REMEMBERED: Final = 20_000  # labels
_LONG: Final = 200  # characters of a name that is not remembered: nobody fills the memory with such


@dataclass(frozen=True, slots=True)
class Thing:
    """Something a page names: its label, and where the label leads (empty: nowhere)."""

    iri: str
    label: str
    href: str = ""
    other: str = ""  # the label in the other language, where it differs
    kind: str = ""  # local name of its class
    language: str = ""  # of a text

    @property
    def local(self) -> bool:
        """Tell whether the link stays on this host."""
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
        """Give what stands at the far end."""
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
    checked: str
    locator: str = ""
    quote: str = ""
    passage: Thing | None = None
    qualifiers: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


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


class Reader:
    """Reads one store in one language; remembers labels, so drop it when the store changes."""

    def __init__(self, store: QuadStore, language: str, known: Known | None = None) -> None:
        """Read ``store``, or, what is held in memory anyway, from there."""
        self.store, self.language, self._known = store, language, known
        self._things: dict[Term, Thing] = {}

    def values(
        self, subject: Subject, predicate: NamedNode, where: Graph | None = ACCEPTED
    ) -> Iterator[Term]:
        """Yield the objects of ``predicate``."""
        return (quad.object for quad in self.store.match(subject, predicate, None, where))

    def said(self, subject: Subject, predicate: NamedNode, where: Graph | None = ACCEPTED) -> str:
        """Give one value as text, the reader's language first, or nothing."""
        found = list(self.values(subject, predicate, where))
        ours = [t for t in found if isinstance(t, Literal) and t.language == self.language]
        return text((ours or found or [None])[0])

    def texts(
        self, subject: Subject, predicate: NamedNode, where: Graph | None = ACCEPTED
    ) -> tuple[str, ...]:
        """List the values as texts: those in the reader's language, or all if there are none."""
        found = list(self.values(subject, predicate, where))
        ours = [t for t in found if isinstance(t, Literal) and t.language == self.language]
        return tuple(sorted(text(term) for term in ours or found))

    def labels(self, node: NamedNode) -> dict[str, str]:
        """Give the preferred label by language; of texts, which stand behind the accepted view too."""
        found: dict[str, str] = {}
        for where, predicate in (
            (ACCEPTED, SKOS.prefLabel),
            (ACCEPTED, RDFS.label),
            (None, RDFS.label),
        ):
            if where is None and (found or not node.value.startswith(ID)):
                break
            for term in self.values(node, predicate, where):
                if isinstance(term, Literal):
                    found.setdefault(term.language or "", term.value)
        return found

    def thing(self, term: Term) -> Thing:
        """Name a term in the reader's language."""
        if (known := self._things.get(term)) is not None:
            return known
        made = self._named(term)
        if made.iri and len(made.iri) <= _LONG:
            if len(self._things) >= REMEMBERED:
                self._things.clear()
            self._things[term] = made
        return made

    def _named(self, term: Term) -> Thing:
        if not isinstance(term, NamedNode):
            language = term.language if isinstance(term, Literal) else ""
            return Thing("", text(term), language=language or "")
        known = self._known
        if known and (held := known.labels(term.value)):
            found, kind = held, known.kind(term.value)
        else:
            found, kinds = self.labels(term), self.kinds(term)
            kind = local_name(kinds[0].value) if kinds else ""
        label = found.get(self.language) or next(iter(found.values()), local_name(term.value))
        other = found.get("en" if self.language == "zh" else "zh", "")
        return Thing(
            term.value, label, href(term.value), other if other != label else "", kind,
        )  # fmt: skip

    def kinds(self, node: NamedNode) -> list[NamedNode]:
        """List the classes of our vocabulary that ``node`` belongs to."""
        return [
            term for term in self.values(node, RDF.type)
            if isinstance(term, NamedNode) and term.value.startswith(VOCAB)
        ]  # fmt: skip

    def statements(self, node: NamedNode) -> Iterator[Statement]:
        """Yield the accepted and the derived claims about ``node``, both ways."""
        if self._known:
            yield from self._remembered(node, self._known)
            return
        for where in (ACCEPTED, DERIVED):
            for forward, quads in (
                (True, self.store.match(node, None, None, where)),
                (False, self.store.match(None, None, node, where)),
            ):
                for count, found in self._surest(quads, where):
                    for quad in found:
                        for made in self._statement(quad, where, forward=forward):
                            yield replace(made, of=count) if count else made
        yield from self._negatives(node)

    def _remembered(self, node: NamedNode, known: Known) -> Iterator[Statement]:
        by_relation: dict[tuple[NamedNode, bool, bool, bool], list[Fact]] = {}
        for forward, fact in known.about(node.value):
            relation = fact.predicate, forward, fact.derived, fact.positive
            by_relation.setdefault(relation, []).append(fact)
        for (predicate, forward, derived, positive), found in by_relation.items():
            many = len(found) > MOST
            if many:
                found = nsmallest(MOST, found, key=lambda each: (-each.confidence, each.claim))
            for fact in found:
                yield Statement(
                    local_name(predicate.value), self.thing(NamedNode(fact.subject)),
                    self._end(fact), fact.claim, fact.confidence, forward, derived,
                    not positive, len(by_relation[predicate, forward, derived, positive]) if many else 0,
                )  # fmt: skip

    def _end(self, fact: Fact) -> Thing:
        if not fact.language:
            return self.thing(NamedNode(fact.object))
        return Thing("", fact.object, language="" if fact.language == "und" else fact.language)

    def _surest(self, quads: Iterable[Quad], where: Graph) -> Iterator[tuple[int, list[Quad]]]:
        """Yield the quads of each relation; of very many, how many, and the surest."""
        by_relation: dict[NamedNode, list[Quad]] = {}
        for quad in quads:
            by_relation.setdefault(quad.predicate, []).append(quad)
        for found in by_relation.values():
            if len(found) <= MOST:
                yield 0, found
                continue
            rated = [(self._confidence(quad, where), at) for at, quad in enumerate(found)]
            best = sorted((-sure, at) for sure, at in rated if sure is not None)
            yield len(best) if len(best) > MOST else 0, [found[at] for _, at in best[:MOST]]

    def _confidence(self, quad: Quad, where: Graph) -> float | None:
        """Give how sure the claim of a quad is; None where no claim says it."""
        claim = self.reifier(Triple(quad.subject, quad.predicate, quad.object), where)
        return None if claim is None else self.number(claim, SHIYI.confidence, where)

    def _statement(self, quad: Quad, where: Graph, *, forward: bool) -> Iterator[Statement]:
        claim = self.reifier(Triple(quad.subject, quad.predicate, quad.object), where)
        if claim is not None:
            yield Statement(
                local_name(quad.predicate.value), self.thing(quad.subject), self.thing(quad.object),
                claim.value, self.number(claim, SHIYI.confidence, where), forward,
                derived=where == DERIVED,
            )  # fmt: skip

    def reifier(self, triple: Triple, where: Graph | None = None) -> NamedNode | None:
        """Give the claim that says ``triple``, if one does."""
        for quad in self.store.match(None, RDF.reifies, triple, where):
            if isinstance(quad.subject, NamedNode):
                return quad.subject
        return None

    def _negatives(self, node: NamedNode) -> Iterator[Statement]:
        for role, forward in ((RDF.subject, True), (RDF.object, False)):
            for quad in self.store.match(None, role, node, ACCEPTED):
                if isinstance(quad.subject, NamedNode):
                    view = self.claim(quad.subject, ACCEPTED)
                    yield Statement(
                        local_name(view.predicate.iri), view.subject, view.object, view.iri,
                        view.confidence, forward, negative=view.polarity == "negative",
                    )  # fmt: skip

    def number(self, node: Subject, predicate: NamedNode, where: Graph | None = None) -> float:
        """Give a decimal value; 0 where none is stated."""
        return next((float(text(term)) for term in self.values(node, predicate, where)), 0.0)

    def home_of_claim(self, claim: NamedNode) -> Graph | None:
        """Give the graph that holds the claim: the accepted view before any other."""
        homes = [quad.graph_name for quad in self.store.match(claim, RDF.reifies, None, None)]
        if not homes:
            return None
        home = ACCEPTED if ACCEPTED in homes else homes[0]
        return home if isinstance(home, NamedNode | DefaultGraph) else None

    def claim(self, claim: NamedNode, where: Graph) -> ClaimView:
        """Read one claim with all its evidence."""
        triple = next(self.values(claim, RDF.reifies, where))
        if not isinstance(triple, Triple):
            raise TypeError(f"{claim.value} reifies no triple")
        nodes = [n for n in self.values(claim, SHIYI.evidence, where) if isinstance(n, NamedNode)]
        evidence = sorted(
            (self.evidence(node, where) for node in nodes), key=lambda each: -each.confidence
        )
        premises = list(self.values(claim, PROV.wasDerivedFrom, where))
        return ClaimView(
            claim.value, self.thing(triple.subject), self.thing(triple.predicate),
            self.thing(triple.object),
            local_name(self.said(claim, SHIYI.polarity, where)) or "positive",
            local_name(self.said(claim, SHIYI.status, where)),
            self.number(claim, SHIYI.confidence, where), tuple(evidence),
            local_name(self.said(claim, SHIYI.derivedBy, where)),
            tuple(self.premise(term) for term in premises),
        )  # fmt: skip

    def premise(self, term: Term) -> Thing:
        """Name a premise of a derived claim by what it says."""
        home = self.home_of_claim(term) if isinstance(term, NamedNode) else None
        if home is None or not isinstance(term, NamedNode):
            return self.thing(term)
        triple = next(self.values(term, RDF.reifies, home))
        if not isinstance(triple, Triple):
            return self.thing(term)
        parts = (triple.subject, triple.predicate, triple.object)
        return Thing(term.value, " · ".join(self.thing(p).label for p in parts), href(term.value))

    def evidence(self, node: NamedNode, where: Graph | None = ACCEPTED) -> EvidenceView:
        """Read one piece of evidence with its source."""
        source = next(self.values(node, DCTERMS.source, where), None)
        notes = self.texts(node, SHIYI.noteText, where)
        passages = [
            self.thing(term) for term in self.values(node, PROV.wasDerivedFrom, where)
            if term != source
        ]  # fmt: skip
        return EvidenceView(
            node.value, href(node.value), self.source(source),
            self.number(node, SHIYI.extractionConfidence, where),
            self.said(node, SHIYI.checked, where), self.said(node, SHIYI.sourceLocator, where),
            self.said(node, SHIYI.quote, where), passages[0] if passages else None,
            tuple(self._qualifiers(node, where)), notes,
        )  # fmt: skip

    def _qualifiers(self, node: NamedNode, where: Graph | None) -> Iterable[tuple[str, str]]:
        for name, (written, language) in QUALIFIERS.items():
            if language is None and (value := self.said(node, written, where)):
                yield name, value

    def source(self, node: Term | None) -> SourceView:
        """Read a source."""
        if not isinstance(node, NamedNode):
            return SourceView("", "", "", "")
        tier = local_name(self.said(node, SHIYI.sourceTier)).removeprefix("tier-")
        identifier = self.said(node, DCTERMS.identifier)
        return SourceView(
            node.value, self.thing(node).label, href(node.value), tier,
            self.said(node, DCTERMS.date), identifier, source_link(identifier),
            self.said(node, DCTERMS.license), self.said(node, RDFS.comment),
        )  # fmt: skip
