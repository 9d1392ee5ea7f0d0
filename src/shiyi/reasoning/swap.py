"""The derived graph by sections, each swapped for a new one in one transaction."""

import secrets
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from shiyi.errors import FormatError, UsageError
from shiyi.model.rdf import Literal, Quad, text
from shiyi.ontology.terms import DCTERMS, SHIYI
from shiyi.reasoning.entailment import ENTAILED
from shiyi.reasoning.inheritance import DERIVED
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import JOURNAL

SECTIONS: Final = ("rules", "pagerank", "confidence", "complete", "entailed")
PARTS: Final = (
    SHIYI.textPart, SHIYI.entityPart, SHIYI.relationPart, SHIYI.pathPart, SHIYI.fusedConfidence,
)  # fmt: skip


def swap(store: QuadStore, new: Iterable[Quad], sections: Collection[str]) -> int:
    """Put ``new`` in the place of the named sections of what is derived; give how many it has.

    The old stay until all of the new are made: a fault while making them changes nothing.
    Raises ``FormatError`` for a section that does not exist, ``UsageError`` for a quad of
    another graph.
    """
    for name in sections:
        if name not in SECTIONS:
            raise FormatError("section", name, SECTIONS)
    made = tuple(new)
    if any(quad.graph_name not in (DERIVED, ENTAILED) for quad in made):
        raise UsageError("what is derived stands in graph:derived and graph:entailed alone")
    going = {quad for quad, section in held(store) if section in sections}
    coming = set(made)
    going |= set(_notes(store))
    coming.add(Quad(DERIVED, DCTERMS.identifier, Literal(secrets.token_hex(8)), JOURNAL))
    store.change(add=list(coming - going), remove=list(going - coming))
    return len(made)


def derivation(store: QuadStore) -> str:
    """Give the note of what was derived last; nothing where that was at the build."""
    return " ".join(sorted(text(quad.object) for quad in _notes(store)))


def _notes(store: QuadStore) -> Iterator[Quad]:
    return store.match(DERIVED, DCTERMS.identifier, None, JOURNAL)


def held(store: QuadStore) -> Iterator[tuple[Quad, str]]:
    """Yield the quads of graph:derived and graph:entailed, each with its section."""
    for quad in store.match(None, None, None, ENTAILED):
        yield quad, "entailed"
    predicted = {quad.subject for quad in store.match(None, SHIYI.status, SHIYI.predicted, DERIVED)}
    for quad in store.match(None, None, None, DERIVED):
        if quad.predicate == SHIYI.pageRank:
            yield quad, "pagerank"
        elif quad.predicate in PARTS:
            yield quad, "confidence"
        else:
            yield quad, "complete" if quad.subject in predicted else "rules"
