"""Checksums of a whole base."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Term
from shiyi.sparql.base.digests import DIGESTS, file_digest, read_digests, tables
from shiyi.sparql.base.journal import index_fits, index_of, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, current_generation
from shiyi.sparql.base.writer import JOURNAL_FILE, last_applied
from shiyi.sparql.store.files import damaged_lines, list_checksummed, verify_checksum
from shiyi.sparql.store.oxigraph import REPAIR
from shiyi.sparql.store.port import QuadStore

AUDIT_FILE: Final = "audit.jsonl"  # a line for each event, with its checksum
_AGAIN: Final = "run `shiyi index`"
_RESTORE: Final = "restore it from a backup"
_Graph = DefaultGraph | NamedNode


@dataclass(slots=True)
class ScrubReport:
    """The report of a scrub: how much was read, and what is damaged.

    Of ``unchecked`` tables no digest is noted: what their blocks hold was checked by reading them.
    """

    quads: int = 0
    records: int = 0
    files: int = 0
    unchecked: int = 0
    damages: list[str] = field(default_factory=list)


def scrub(kb: Path) -> ScrubReport:
    """Read every quad, record and file that has a checksum; write nothing.

    Where a table has no digest, quads are read in all orders in which the store has them. Works
    beside a server that writes. A table that has been compacted away since is no damage.
    """
    report = ScrubReport()
    applied = _scrub_store(kb, report)
    _scrub_journal(kb / JOURNAL_FILE, applied, report)
    for path in list_checksummed(kb):
        _scrub_beside(path, report)
    return report


def _scrub_store(kb: Path, report: ScrubReport) -> int:
    """Scrub the current generation; return the number of the last change that its store has."""
    applied = 0
    with _note_damage(report):
        generation = current_generation(kb)
        digests: dict[Path, str] = {}
        try:
            digests = read_digests(generation)
        except ValueError as fault:
            report.damages.append(
                f"{generation / 'index' / DIGESTS} is damaged ({fault}); {_AGAIN}"
            )
        for path, digest in digests.items():
            is_table = path.suffix == ".sst"
            advice = _AGAIN if path.parent.name == "index" else REPAIR
            if path.exists():
                report.files += 1
                if file_digest(path) != digest:
                    report.damages.append(f"{path} is not what was written; {advice}")
            elif not is_table:
                report.damages.append(f"{path} is missing; {advice}")
        report.unchecked = sum(table not in digests for table in tables(generation))
        with KnowledgeBase.open(kb) as base:
            report.quads = _count(base.store.match())
            if report.unchecked:
                _read_orders(base.store)
            applied = last_applied(base.store)
    return applied


def _scrub_beside(path: Path, report: ScrubReport) -> None:
    if not path.exists():
        report.damages.append(f"{path} is missing; {_RESTORE}")
        return
    report.files += 1
    if path.name == AUDIT_FILE:
        for number in damaged_lines(path):
            report.damages.append(f"{path}: line {number} is not what was written; {_RESTORE}")
        return
    with _note_damage(report):
        verify_checksum(path.read_bytes(), path)


def _scrub_journal(path: Path, applied: int, report: ScrubReport) -> None:
    with _note_damage(report):
        for _ in read_journal(path):
            report.records += 1
        if report.records < applied:
            report.damages.append(
                f"{path} ends with record {report.records}, the store has change {applied}; "
                "restore the journal from a backup"
            )
        if not index_fits(path):
            report.damages.append(
                f"the index of {path} is damaged; delete {index_of(path)}, which is made again"
            )


@contextmanager
def _note_damage(report: ScrubReport) -> Iterator[None]:
    """Note what cannot be read as a damage, and go on with what is beside it."""
    try:
        yield
    except (KnowledgeBaseError, OSError, RuntimeError) as fault:
        report.damages.append(str(fault))


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
