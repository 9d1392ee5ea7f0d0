"""Claims that no curator has accepted, laid over the facts of a base for one question.

They are those of a school (TCM-DiffRAG's personal graph) and those of loaded releases of products
(iDISK2.0-RAG). They are cited with their origin, may raise warnings, and recommend nothing.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from shiyi.answering.knowledge.facts import BILINGUAL, Fact, Facts, is_fact, language_of
from shiyi.answering.knowledge.updates import swap_claims
from shiyi.answering.retrieval.passages import CLAIM, PAIR, Unit, verbalize_claim
from shiyi.columnar.strings import PatchedMap
from shiyi.errors import FormatError
from shiyi.linking.linker import LEXICAL, Linker
from shiyi.linking.normalization import fold, normalise
from shiyi.model.answer import Mention
from shiyi.model.claim import confidence_value
from shiyi.model.iris import GRAPH, ID, VOCAB, graph
from shiyi.model.rdf import Literal, NamedNode, Term, local_name, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, text_value

CANDIDATES: Final = graph("candidates")
_SCHOOLS, _SOURCES = f"{GRAPH}schools/", f"{GRAPH}source/"
_MATCHES: Final = frozenset({SKOS.closeMatch, SKOS.exactMatch})
_MOST: Final = 400  # claims that are read of one concept of a release
_LONGEST: Final = 16  # words of a name, or characters of a Chinese one
_WORD: Final = re.compile(r"[a-z0-9'%.&+]*[a-z0-9%]|[^\x00-\u2fff]")


@dataclass(frozen=True, slots=True)
class Overlay:
    """Claims with the names of what they are about, and the graphs that hold their evidence.

    ``taught`` are the claims of a school that the base has accepted too.
    """

    facts: tuple[Fact, ...] = ()
    taught: frozenset[str] = frozenset()
    labels: Mapping[str, Mapping[str, str]] | None = None
    classes: Mapping[str, str] | None = None
    broader: Mapping[str, tuple[str, ...]] | None = None
    graphs: tuple[NamedNode, ...] = ()
    texts: tuple[Unit, ...] = ()

    def over(self, facts: Facts) -> Facts:
        """Return the facts with these claims, names and classes."""
        merged = swap_claims(facts, (), self.facts)
        return replace(
            merged,
            labels=PatchedMap(merged.labels, self.labels or {}),
            classes=PatchedMap(merged.classes, self.classes or {}),
            broader=PatchedMap(merged.broader, self.broader or {}),
        )


def schools(store: QuadStore) -> dict[str, str]:
    """Return the names of the schools that have a graph of their own, by IRI."""
    return {
        node.value: text_value(store, node, RDFS.label, place)
        for place in school_graphs(store)
        for quad in store.match(None, RDF.type, SHIYI.School, place)
        if isinstance(node := quad.subject, NamedNode)
    }


def school_graphs(store: QuadStore, school: str = "") -> tuple[NamedNode, ...]:
    """List the graphs of a school, or of all."""
    node = NamedNode(school) if school else None
    places = {quad.graph_name for quad in store.match(node, RDF.type, SHIYI.School)}
    named = (p for p in places if isinstance(p, NamedNode) and p.value.startswith(_SCHOOLS))
    return tuple(sorted(named, key=text))


def find_school(store: QuadStore, name: str) -> str:
    """Return the IRI of a school by its name, IRI or local name; raise ``FormatError``."""
    known = schools(store)
    for iri, label in known.items():
        if name in {label, iri, local_name(iri), local_name(iri).removeprefix("school-")}:
            return iri
    raise FormatError("school of this base", name, sorted(known.values()))


def overlay_of_school(store: QuadStore, school: str, facts: Facts) -> Overlay:
    """Read the claims and reasoning texts of a school."""
    graphs = school_graphs(store, school)
    all_facts = [
        fact
        for place in graphs
        for quad in store.match(None, RDF.type, SHIYI.Claim, place)
        if (fact := _fact(store, text(quad.subject), place, school))
    ]
    own = {fact.claim: fact for fact in all_facts if fact.claim not in facts.by_claim}
    taught = frozenset(fact.claim for fact in all_facts) - own.keys()
    names = _describe(store, own.values(), facts, graphs)
    labels = dict(names.labels or {})
    labels[school] = {"und": schools(store).get(school, local_name(school))}
    overlay = replace(names, facts=tuple(own.values()), taught=taught, labels=labels)
    return replace(overlay, texts=tuple(_texts(store, overlay, facts)))


def overlay_of_books(store: QuadStore, school: NamedNode, facts: Facts) -> Overlay:
    """Read the claims that the books of a school state, accepted or waiting for review."""
    places = {
        (claim.subject, claim.graph_name)
        for book in store.match(None, SHIYI.belongsToSchool, school, None)
        if isinstance(book.subject, NamedNode)
        for evidence in store.match(None, DCTERMS.source, book.subject, None)
        if isinstance(evidence.subject, NamedNode)
        for claim in store.match(None, SHIYI.evidence, evidence.subject, None)
    }
    own = {
        fact.claim: fact
        for claim, place in places
        if isinstance(place, NamedNode) and text(claim) not in facts.by_claim
        if (fact := _fact(store, text(claim), place, school.value))
    }
    taught = frozenset(text(claim) for claim, _ in places) & facts.by_claim.keys()
    graphs = tuple({place for _, place in places if isinstance(place, NamedNode)})
    return replace(
        _describe(store, own.values(), facts, graphs), facts=tuple(own.values()), taught=taught
    )


def _texts(store: QuadStore, overlay: Overlay, facts: Facts) -> Iterator[Unit]:
    """Yield the claims of a school as texts, then its reasoning with the claims that it uses."""
    over = overlay.over(facts)
    for fact in overlay.facts:
        quotes = (
            text(q.object)
            for place in overlay.graphs
            for e in store.match(NamedNode(fact.claim), SHIYI.evidence, None, place)
            if isinstance(e.object, NamedNode)
            for q in store.match(e.object, SHIYI.quote, None, place)
        )
        yield Unit.of(fact.claim, CLAIM, (verbalize_claim(over, fact), *quotes), (fact.claim,))
    for place in overlay.graphs:
        used: dict[str, list[str]] = defaultdict(list)
        for quad in store.match(None, SHIYI.reasonedIn, None, place):
            used[text(quad.object)].append(text(quad.subject))
        for quad in store.match(None, RDF.type, SHIYI.ReasoningText, place):
            if isinstance(node := quad.subject, NamedNode):
                origins = store.match(node, PROV.wasDerivedFrom, None, place)
                questions = [
                    text_value(store, q.object, RDFS.label, place)
                    for q in origins
                    if isinstance(q.object, NamedNode)
                ]
                parts = (*filter(None, questions), text_value(store, node, RDF.value, place))
                yield Unit.of(node.value, PAIR, parts, tuple(used[node.value]))


def overlay_of_releases(store: QuadStore, nodes: Collection[str], facts: Facts) -> Overlay:
    """Read what loaded releases say of some of their concepts, and of what those consist of.

    A concept that matches one of the base is narrower than it, so its cautions apply.
    """
    found_facts: dict[str, Fact] = {}
    broader: dict[str, tuple[str, ...]] = {}
    front, seen = list(nodes), set[str]()
    while front:
        node = front.pop()
        if node in seen:
            continue
        seen.add(node)
        for fact in _claims_at(store, node, beside=node in nodes):
            if fact.predicate in _MATCHES:
                if fact.subject == node and fact.object in facts.classes:
                    above = (fact.object, *_forms(facts, fact.object))
                    broader[node] = (*broader.get(node, ()), *above)
            elif fact.claim not in facts.by_claim:
                found_facts[fact.claim] = fact
                if fact.subject == node and fact.predicate == SHIYI.hasIngredient:
                    front.append(fact.object)
    named = _describe(store, found_facts.values(), facts, (CANDIDATES,), seen)
    return replace(named, facts=tuple(found_facts.values()), broader=broader)


def _forms(facts: Facts, iri: str) -> Iterator[str]:
    """Yield the herb of a supplement or the reverse, of one organism and one name."""
    organisms = {f.object for f in facts.of(iri, SHIYI.derivedFromOrganism)}
    for fact in (*facts.of(iri, SHIYI.confusedWith), *facts.inverse(iri, SHIYI.confusedWith)):
        other = fact.other(iri)
        names = sorted((facts.label(iri, "en"), facts.label(other, "en")), key=len)
        same = organisms & {f.object for f in facts.of(other, SHIYI.derivedFromOrganism)}
        if same and names[1].startswith(names[0]):  # leaf of ginkgo is no ginkgo seed
            yield other


def release_matches(store: QuadStore, iris: Iterable[str], facts: Facts) -> Iterator[str]:
    """Yield the concepts of loaded releases that match concepts of the base."""
    for each in {form for iri in iris for form in (iri, *_forms(facts, iri))}:
        for quad in store.match(None, RDF.object, NamedNode(each), CANDIDATES):
            fact = _fact(store, text(quad.subject), CANDIDATES, "")
            if fact and fact.predicate in _MATCHES:
                yield fact.subject


def _claims_at(store: QuadStore, node: str, *, beside: bool) -> Iterator[Fact]:
    """Yield the candidate claims about a concept, and ``beside`` them those that point to it."""
    count = 0
    for predicate in (RDF.subject, RDF.object) if beside else (RDF.subject,):
        for quad in store.match(None, predicate, NamedNode(node), CANDIDATES):
            if fact := _fact(store, text(quad.subject), CANDIDATES, ""):
                yield fact
                count += 1
            if count >= _MOST:
                return


def _fact(store: QuadStore, claim: str, place: NamedNode, origin: str) -> Fact | None:
    """Read a candidate; ``origin`` is by default the source of its first evidence."""
    values: dict[NamedNode, Term] = {}
    for quad in store.match(NamedNode(claim), None, None, place):
        values.setdefault(quad.predicate, quad.object)
    triple, confidence = values.get(RDF.reifies), confidence_value(values.get(SHIYI.confidence))
    if not is_fact(triple) or values.get(SHIYI.status) != SHIYI.candidate or confidence is None:
        return None
    if not origin and isinstance(evidence := values.get(SHIYI.evidence), NamedNode):
        origin = text_value(store, evidence, DCTERMS.source, place)
    object_ = triple.object
    return Fact(
        text(triple.subject),
        triple.predicate,
        text(object_),
        claim,
        confidence,
        values.get(SHIYI.polarity) != SHIYI.negative,
        language=language_of(object_),
        origin=origin,
    )


def _describe(
    store: QuadStore,
    found: Iterable[Fact],
    facts: Facts,
    graphs: tuple[NamedNode, ...],
    nodes: Collection[str] = (),
) -> Overlay:
    """Read how the ends and the sources of some claims are called, where the base does not say."""
    all_facts = list(found)
    ends = {end for f in all_facts for end in (f.subject, f.origin)}
    ends |= {f.object for f in all_facts if f.language in ("", BILINGUAL)}
    labels: dict[str, Mapping[str, str]] = {}
    classes: dict[str, str] = {}
    for iri in sorted({*ends, *nodes} - {""}):
        if iri in facts.labels:
            continue
        quads = list(store.match(NamedNode(iri), None, None, None))
        labels[iri] = {
            q.object.language or "und": q.object.value
            for q in quads
            if q.predicate in {RDFS.label, SKOS.prefLabel} and isinstance(q.object, Literal)
        }
        if kinds := [
            k
            for q in quads
            if (k := local_name(text(q.object)) if q.predicate == RDF.type else "")
            in facts.schema.parents
        ]:
            classes[iri] = max(kinds, key=lambda name: len(facts.schema.superclasses(name)))
    return Overlay((), frozenset(), labels, classes, {}, graphs)


def release_names(store: QuadStore) -> Mapping[str, tuple[str, ...]]:
    """Return the concepts of loaded releases by their folded names; often none."""
    results: dict[str, list[str]] = defaultdict(list)
    places = {
        quad.graph_name
        for quad in store.match(None, RDF.type, SHIYI.DSProduct, None)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_SOURCES)
    }
    for place in sorted(places, key=text):
        kinds = {
            q.subject
            for q in store.match(None, RDF.type, None, place)
            if text(q.object).startswith(VOCAB) and text(q.subject).startswith(ID)
        }
        for predicate in (SKOS.prefLabel, SKOS.altLabel):
            for quad in store.match(None, predicate, None, place):
                if quad.subject in kinds:
                    known = results[fold(text(quad.object))]
                    if text(quad.subject) not in known:
                        known.append(text(quad.subject))
    return {name: tuple(sorted(iris)) for name, iris in results.items()}


class ReleaseLinker(Linker):
    """A linker that also knows names of loaded releases, whole names only.

    A name of the base goes first unless a longer name of a release holds it.
    """

    def __init__(self, linker: Linker, names: Mapping[str, tuple[str, ...]], facts: Facts) -> None:
        """Add ``names`` to what ``linker`` links; ``facts`` say how their concepts are called."""
        self.__dict__.update(linker.__dict__)
        self._linker, self._whole, self._facts = linker, names, facts

    @override
    def link(
        self, text: str, language: str | None = None, *, guess: bool = True
    ) -> tuple[Mention, ...]:
        """Return the mentions of ``text`` in order, names of releases among them."""
        mentions = list(self._linker.link(text, language, guess=guess))
        for start, end, iris in windows(text, self._whole):
            overlapping = [m for m in mentions if m.start < end and start < m.end]
            if any(m.iri and m.end - m.start >= end - start for m in overlapping):
                continue
            best, *others = iris
            zh, en = (self._facts.label(best, language) for language in ("zh", "en"))
            kind, denied = self._facts.classes.get(best, ""), any(m.negated for m in overlapping)
            named = Mention(text[start:end], start, end, best, zh, en, "", kind, 1.0, LEXICAL)
            mention = replace(named, negated=denied, alternatives=tuple(others))
            mentions = [m for m in mentions if m not in overlapping] + [mention]
        return tuple(sorted(mentions, key=lambda each: each.start))


def windows(
    words: str, names: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield where a text has one of some names as whole words, the longest first.

    One word alone is a name where it is written with a capital: energy is also a word.

    >>> list(windows("What is in Calm Tea?", {"calm tea": ("x",), "tea": ("y",)}))
    [(11, 19, ('x',))]
    """
    folded = normalise(words)
    places = [match.span() for match in _WORD.finditer(folded.text)]
    taken: list[tuple[int, int]] = []
    for size in range(min(_LONGEST, len(places)), 0, -1):
        for first in range(len(places) - size + 1):
            start, end = places[first][0], places[first + size - 1][1]
            iris = names.get(folded.text[start:end])
            if iris and not any(a < end and start < b for a, b in taken):
                span = folded.span(start, end)
                if size > 1 or words[slice(*span)].lower() != words[slice(*span)]:
                    taken.append((start, end))
                    yield (*span, iris)
