"""Counter-examples for prompts, and passages to be retried."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from shiyi.ingest.documents.document import Passage
from shiyi.model.iris import content_hash, graph, resource
from shiyi.model.rdf import XSD_INTEGER, Literal, NamedNode, Quad, Term, Triple, local_name, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

REJECTED = graph("rejected")
MOST = 8  # counter-examples in one prompt (Shiyi's)
_LOOKED_AT = 2000
_SHORT = 160  # characters of a quote or a reason


@dataclass(frozen=True, slots=True)
class Lesson:
    """A statement that was read in a text, and why a curator refused it."""

    subject: str
    relation: str
    object: str
    quote: str
    reason: str

    def prompt_line(self) -> str:
        """Write the counter-example as one line of a prompt."""
        quote = f" in “{self.quote}”" if self.quote else ""
        return f"- {self.subject} {self.relation} {self.object}{quote}: refused. {self.reason}"


def list_lessons(store: QuadStore, limit: int = MOST) -> tuple[Lesson, ...]:
    """List statements refused with a reason: one for each reason first, shortest quotes first."""
    results = sorted(
        islice(_refusals(store), _LOOKED_AT), key=lambda each: (len(each.quote), each.prompt_line())
    )
    by_reason: dict[tuple[str, str], Lesson] = {}
    for lesson in results:
        by_reason.setdefault((lesson.relation, lesson.reason), lesson)
    lessons = list(by_reason.values())
    return tuple((*lessons, *(result for result in results if result not in lessons))[:limit])


def lessons_section(results: tuple[Lesson, ...]) -> str:
    """Write the section of a prompt; nothing where nothing was refused.

    >>> lessons_section(())
    ''
    """
    if not results:
        return ""
    lines = "\n".join(lesson.prompt_line() for lesson in results)
    return (
        "\n## Refused by curators\n\n"
        f"Do not make statements of these kinds again. They are data.\n\n{lines}\n"
    )


def _refusals(store: QuadStore) -> Iterator[Lesson]:
    for quad in store.match(None, SHIYI.status, SHIYI.rejected, REJECTED):
        claim = quad.subject
        if not isinstance(claim, NamedNode):
            continue
        reasons = [
            q.object.value
            for q in store.match(claim, RDFS.comment, None, REJECTED)
            if isinstance(q.object, Literal) and not q.object.language
        ]
        triples = [q.object for q in store.match(claim, RDF.reifies, None, REJECTED)]
        if reasons and triples and isinstance(triples[0], Triple):
            triple = triples[0]
            yield Lesson(
                _name(store, triple.subject),
                local_name(triple.predicate.value),
                _name(store, triple.object),
                _one_line(_quote(store, claim)),
                _one_line(reasons[0]),
            )


def _quote(store: QuadStore, claim: NamedNode) -> str:
    for evidence in store.match(claim, SHIYI.evidence, None, REJECTED):
        if isinstance(evidence.object, NamedNode):
            for quad in store.match(evidence.object, SHIYI.quote, None, REJECTED):
                return text(quad.object)
    return ""


def _name(store: QuadStore, term: Term) -> str:
    if not isinstance(term, NamedNode):
        return _one_line(text(term))
    labels = {
        q.object.language: q.object.value
        for q in store.match(term, SKOS.prefLabel)
        if isinstance(q.object, Literal)
    }
    return labels.get("zh") or labels.get("en") or local_name(term.value)


def _one_line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


_REASON = 300  # characters of a reason that are stored


def parked_quads(passage: Passage, reason: str, place: NamedNode, tries: int) -> Iterator[Quad]:
    """Yield that a passage waits, why, and how often it was tried."""
    node = _node(passage)
    yield Quad(node, RDF.type, SHIYI.ParkedPassage, place)
    yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
    yield Quad(node, RDFS.comment, Literal(reason[:_REASON]), place)
    yield Quad(node, RDF.value, Literal(str(tries), datatype=XSD_INTEGER), place)


def load_parked(
    store: QuadStore, passages: Iterable[Passage], place: NamedNode
) -> dict[str, list[Quad]]:
    """Return what a store holds of those passages that wait, by the passage's IRI."""
    results = {each.iri: list(store.match(_node(each), None, None, place)) for each in passages}
    return {iri: quads for iri, quads in results.items() if quads}


def count_tries(quads: Sequence[Quad]) -> int:
    """Return how often a parked passage was tried."""
    values = [
        q.object.value for q in quads if q.predicate == RDF.value and isinstance(q.object, Literal)
    ]
    return max(map(int, values), default=0)


def _node(passage: Passage) -> NamedNode:
    return resource(f"parked/{content_hash(passage.iri)}")
