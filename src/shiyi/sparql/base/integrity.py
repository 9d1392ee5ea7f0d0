"""Checksums of a whole base."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Term
from shiyi.sparql.base.digests import DIGESTS, digest_of, read_digests, tables
from shiyi.sparql.base.journal import read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, current_generation
from shiyi.sparql.base.writer import JOURNAL_FILE
from shiyi.sparql.store.port import QuadStore

_Graph = DefaultGraph | NamedNode


@dataclass(slots=True)
class Scrubbed:
    """The report of a scrub: how much was read, and what is damaged.

    Of ``unchecked`` tables no digest is noted: what their blocks hold was checked by reading them.
    """

    quads: int = 0
    records: int = 0
    files: int = 0
    unchecked: int = 0
    damages: list[str] = field(default_factory=list)


def scrub(kb: Path) -> Scrubbed:
    """Read every quad, every journal record and every file with a noted digest; write nothing.

    Where a table has no digest, quads are read in all orders in which the store has them. Works
    beside a server that writes. A table that has been compacted away since is no damage.
    """
    found = Scrubbed()
    try:
        generation = current_generation(kb)
        with suppress(ValueError):  # a damaged list is named below
            noted = read_digests(generation)
            found.unchecked = sum(each not in noted for each in tables(generation))
        with KnowledgeBase.open(kb) as base:
            found.quads = _count(base.store.match())
            if found.unchecked:
                _read_orders(base.store)
    except (KnowledgeBaseError, OSError, RuntimeError) as fault:
        found.damages.append(f"store: {fault}")
        return found
    try:
        for _ in read_journal(kb / JOURNAL_FILE):
            found.records += 1
    except KnowledgeBaseError as fault:
        found.damages.append(f"journal: {fault}")
    try:
        noted = read_digests(generation)
    except ValueError as fault:
        found.damages.append(f"{generation / 'index' / DIGESTS} is damaged: {fault}")
        return found
    for path, digest in noted.items():
        if not path.exists():
            if path.suffix != ".sst":
                found.damages.append(f"{path.name} is missing; run `shiyi build`")
            continue
        found.files += 1
        if digest_of(path) != digest:
            found.damages.append(f"{path} is not what was written; restore it from a backup")
    return found


def _read_orders(store: QuadStore) -> None:
    """Read all nine orders of Oxigraph: each block of a table that is read has its checksum."""
    predicates: dict[_Graph | None, dict[NamedNode, None]] = defaultdict(dict)
    subject: NamedNode | BlankNode | None = None
    for quad in store.match():  # dspo, gspo
        place = quad.graph_name
        if isinstance(place, DefaultGraph):
            predicates[place][quad.predicate] = None
            continue
        predicates[None][quad.predicate] = None
        if isinstance(place, NamedNode):
            predicates[place][quad.predicate] = None
        if quad.subject != subject and isinstance(quad.subject, NamedNode | BlankNode):
            subject = quad.subject
            _count(store.match(subject))  # spog
    for graph, names in predicates.items():
        for name in names:
            last: Term | None = None
            for quad in store.match(None, name, None, graph):  # dpos, gpos, posg
                if quad.object != last:
                    last = quad.object
                    _count(store.match(None, None, last, graph))  # dosp, gosp, ospg


def _count(quads: Iterable[Quad]) -> int:
    return sum(1 for _ in quads)
