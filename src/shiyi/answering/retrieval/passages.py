"""Claims, definitions and passages as text units."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, match_own

CLAIM: Final = "claim"
DEFINITION: Final = "definition"
PASSAGE: Final = "passage"
SUMMARY: Final = "summary"
PAIR: Final = "pair"  # of question and answer
_DEFAULT: Final = DefaultGraph()
_LONGEST: Final = 2000  # characters of one text; what is longer is cut for the index alone
_DEEPEST: Final = 8  # titles above a passage


@dataclass(frozen=True, slots=True)
class Unit:
    """A text and the claims it bears: subject, predicate, object and text (TOSRR's SPO-T).

    ``iri`` is the claim, the concept defined, or the passage, also where the text is a summary of
    it or a question it answers; ``section`` is the titles above it. ``parts`` are what the text is
    put together of, with spaces, where many texts share them.
    """

    iri: str
    kind: str
    text: str
    claims: tuple[str, ...] = ()
    section: str = ""
    parts: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        iri: str,
        kind: str,
        parts: Iterable[str],
        claims: tuple[str, ...] = (),
        section: str = "",
    ) -> Self:
        """Assemble a text, cut where it is too long."""
        pieces, left = list[str](), _LONGEST
        for part in parts:
            if left > 0:
                pieces.append(part[:left])
                left -= len(part) + 1
        return cls(iri, kind, " ".join(pieces), claims, section, tuple(pieces))


def units(store: QuadStore, facts: Facts) -> Iterator[Unit]:
    """Yield every accepted claim, every definition and every passage of a base.

    Derived claims are left out: they repeat their premises.
    """
    notes = _notes(store)
    for row in facts.by_subject.values():
        for fact in row:
            if not fact.derived:
                parts = (*_parts(facts, fact), *notes.get(fact.claim, ()))
                yield Unit.of(fact.claim, CLAIM, parts, (fact.claim,))
    for quad in match_own(store, None, SKOS.definition, None, _DEFAULT):
        iri = text(quad.subject)
        if isinstance(quad.object, Literal) and iri in facts.classes:
            yield Unit.of(iri, DEFINITION, (*facts.labels.get(iri, {}).values(), quad.object.value))
    yield from _passages(store)


def unit_of(store: QuadStore, facts: Facts, fact: Fact) -> tuple[Unit, tuple[str, ...]]:
    """Return the text of one claim, as :func:`units` yields it, and the passages it was read in."""
    nodes = [q.object for q in store.match(NamedNode(fact.claim), SHIYI.evidence, None, _DEFAULT)]
    quads = [
        q
        for node in nodes
        if isinstance(node, NamedNode)
        for q in store.match(node, None, None, _DEFAULT)
    ]
    notes = [
        text(q.object) for p in (SHIYI.quote, SHIYI.noteText) for q in quads if q.predicate == p
    ]
    read = [text(q.object) for q in quads if q.predicate == PROV.wasDerivedFrom]
    parts = (*_parts(facts, fact), *dict.fromkeys(notes))
    return Unit.of(fact.claim, CLAIM, parts, (fact.claim,)), tuple(read)


def verbalize_claim(facts: Facts, fact: Fact) -> str:
    """Write a claim in both languages, subject, predicate and object.

    A text is written in its own language only.
    """
    return " ".join(_parts(facts, fact))


def _parts(facts: Facts, fact: Fact) -> Iterator[str]:
    for each in (fact.language,) if fact.language in {"zh", "en"} else ("zh", "en"):
        yield facts.label(fact.subject, each)
        yield facts.property_label(fact.predicate, each)
        yield facts.words(fact, each)


def _notes(store: QuadStore) -> Mapping[str, tuple[str, ...]]:
    """Return the quotes and notes of the evidence of each claim."""
    texts, once = dict[str, tuple[str, ...]](), dict[str, str]()
    for predicate in (SHIYI.quote, SHIYI.noteText):
        for quad in match_own(store, None, predicate, None, _DEFAULT):
            node, note = text(quad.subject), text(quad.object)
            texts[node] = (*texts.get(node, ()), once.setdefault(note, note))
    results = dict[str, tuple[str, ...]]()
    for quad in match_own(store, None, SHIYI.evidence, None, _DEFAULT):
        if notes := texts.get(text(quad.object)):
            claim = text(quad.subject)
            known = results.get(claim, ())
            results[claim] = (*known, *(each for each in notes if each not in known))
    return results


def _passages(store: QuadStore) -> Iterator[Unit]:
    """Yield passages with the titles above them and the accepted claims read in them."""
    passages = {q.subject for q in match_own(store, None, RDF.type, SHIYI.Passage, None)}
    if not passages:
        return
    bearing: dict[str, list[str]] = defaultdict(list)
    read = {
        text(q.subject): text(q.object)
        for q in match_own(store, None, PROV.wasDerivedFrom, None, _DEFAULT)
        if q.object in passages
    }
    for quad in match_own(store, None, SHIYI.evidence, None, _DEFAULT):
        if place := read.get(text(quad.object)):
            bearing[place].append(text(quad.subject))
    leaves: dict[str, tuple[tuple[str, ...], str]] = {}
    for passage in passages:
        if not isinstance(passage, NamedNode):
            continue
        claims = tuple(dict.fromkeys(bearing.get(passage.value, ())))
        leaves[passage.value] = leaf = claims, _titles(store, passage)
        for quad in store.match(passage, RDF.value, None, None):
            yield Unit(passage.value, PASSAGE, text(quad.object)[:_LONGEST], *leaf)
    for kind, written in ((SHIYI.PassageSummary, SUMMARY), (SHIYI.QuestionAnswer, PAIR)):
        for made in match_own(store, None, RDF.type, kind, None):
            if isinstance(made.subject, NamedNode):
                yield from _made_of(store, made.subject, written, leaves)


def _made_of(
    store: QuadStore, node: NamedNode, kind: str, leaves: Mapping[str, tuple[tuple[str, ...], str]]
) -> Iterator[Unit]:
    """Yield a summary or a pair under the passage it was made of, which is what is cited."""
    own = list(store.match(node, None, None, None))
    texts = [
        q.object for p in (RDFS.label, RDF.value, SHIYI.answerText) for q in own if q.predicate == p
    ]
    for quad in own:
        place = text(quad.object)
        if quad.predicate == PROV.wasDerivedFrom and place in leaves and texts:
            yield Unit(place, kind, " ".join(map(text, texts))[:_LONGEST], *leaves[place])


def _titles(store: QuadStore, node: NamedNode) -> str:
    """Return the titles from the book down to the leaf."""
    results: list[str] = []
    for _ in range(_DEEPEST):
        above = next((q.object for q in store.match(node, SHIYI.partOfSection, None, None)), None)
        if not isinstance(above, NamedNode):
            break
        results += [text(q.object) for q in store.match(above, RDFS.label, None, None)][:1]
        node = above
    return " > ".join(reversed(results))
