"""One curated change as a value, and how it stands in the reviews graph (PROV-O)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.model.names import graph, resource
from shiyi.model.rdf import XSD_INTEGER, Literal, NamedNode, Object, Quad, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI
from shiyi.sparql.oxigraph import n_quads, parse_n_quads
from shiyi.sparql.store import QuadStore

REVIEWS = graph("reviews")
REJECTED = graph("rejected")
_LONGEST = 2000  # characters of an IRI
_XSD_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_OWN = frozenset({
    RDF.type, DCTERMS.type, DCTERMS.subject, PROV.wasAttributedTo, PROV.generatedAtTime, RDFS.comment,
    SHIYI.changeNumber, SHIYI.removedQuads, SHIYI.addedQuads, SHIYI.reverses,
})  # fmt: skip
Note = tuple[NamedNode, Object]


@dataclass(frozen=True, slots=True)
class Change:
    """What one person did at one moment: to which things, why, and the quads that went and came.

    ``number`` counts the changes of this base from 1; ``when`` is ISO 8601 in UTC; ``notes`` are
    further statements about the change, such as the agreement of a review; ``reverses`` is the
    IRI of the change it takes back, or empty.
    """

    iri: str
    number: int
    kind: str
    who: str
    when: str
    reason: str
    about: tuple[str, ...]
    removed: tuple[Quad, ...] = ()
    added: tuple[Quad, ...] = ()
    reverses: str = ""
    notes: tuple[Note, ...] = field(default=())

    def note(self, predicate: NamedNode) -> str:
        """Give what a note says, or nothing."""
        return next((text(value) for name, value in self.notes if name == predicate), "")


def named(iri: str) -> NamedNode:
    """Read the name of a thing that somebody sent; ``UsageError`` where it is no IRI.

    >>> named("https://e.org/a").value
    'https://e.org/a'
    """
    try:
        if len(iri) <= _LONGEST:
            return NamedNode(iri)
    except ValueError:
        pass
    raise UsageError(f"{iri[:100]!r} is no IRI; name a claim or a concept by its IRI")


def agent(name: str) -> NamedNode:
    """Name a person as PROV-O's agent."""
    return resource(f"agent/{name}")


def change_quads(change: Change) -> Iterator[Quad]:
    """Yield the change as a ``shiyi:Review`` in the reviews graph."""
    node, person = NamedNode(change.iri), agent(change.who)
    said: list[Note] = [
        (RDF.type, SHIYI.Review),
        (DCTERMS.type, Literal(change.kind)),
        (PROV.wasAttributedTo, person),
        (PROV.generatedAtTime, Literal(change.when, datatype=_XSD_TIME)),
        (RDFS.comment, Literal(change.reason)),
        (SHIYI.changeNumber, _number(change.number)),
        (SHIYI.removedQuads, Literal(_lines(change.removed))),
        (SHIYI.addedQuads, Literal(_lines(change.added))),
        *((DCTERMS.subject, NamedNode(each)) for each in change.about),
        *change.notes,
    ]
    if change.reverses:
        said.append((SHIYI.reverses, NamedNode(change.reverses)))
    for predicate, value in said:
        yield Quad(node, predicate, value, REVIEWS)
    yield Quad(person, RDF.type, PROV.Agent, REVIEWS)
    yield Quad(person, RDFS.label, Literal(change.who), REVIEWS)


def read_change(store: QuadStore, iri: str) -> Change | None:
    """Read one change back, or None where the reviews graph has none of that name."""
    said: dict[NamedNode, list[Object]] = {}
    for quad in store.match(NamedNode(iri), None, None, REVIEWS):
        if isinstance(quad.object, NamedNode | Literal):
            said.setdefault(quad.predicate, []).append(quad.object)
    if SHIYI.changeNumber not in said:
        return None
    try:
        return Change(
            iri, int(_one(said, SHIYI.changeNumber)), _one(said, DCTERMS.type),
            _one(said, PROV.wasAttributedTo).removeprefix(agent("").value),
            _one(said, PROV.generatedAtTime), _one(said, RDFS.comment),
            tuple(sorted(map(text, said.get(DCTERMS.subject, [])))),
            _quads(_one(said, SHIYI.removedQuads)), _quads(_one(said, SHIYI.addedQuads)),
            _one(said, SHIYI.reverses),
            tuple(
                (name, value)
                for name in sorted(said, key=text) if name not in _OWN
                for value in sorted(said[name], key=str)
            ),
        )  # fmt: skip
    except ValueError as fault:
        raise KnowledgeBaseError(f"the change {iri} cannot be read back: {fault}") from fault


def numbered(store: QuadStore, number: int) -> str:
    """Give the IRI of the change of that number, or nothing."""
    found = store.match(None, SHIYI.changeNumber, _number(number), REVIEWS)
    return next((text(quad.subject) for quad in found), "")


def last_number(store: QuadStore) -> int:
    """Give the number of the newest change, 0 for none."""
    found = store.match(None, SHIYI.changeNumber, None, REVIEWS)
    return max((int(text(quad.object)) for quad in found), default=0)


def _number(value: int) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _one(said: dict[NamedNode, list[Object]], predicate: NamedNode) -> str:
    return text(next(iter(said.get(predicate, [])), None))


def _lines(quads: Iterable[Quad]) -> str:
    return n_quads(sorted(quads, key=str)).decode()


def _quads(lines: str) -> tuple[Quad, ...]:
    return parse_n_quads(lines.encode())
