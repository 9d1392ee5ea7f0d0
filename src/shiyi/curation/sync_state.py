"""What the desks changed since the tables were built: the net effect of the journal, by subject."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.ingest.mappings import MAPPINGS
from shiyi.ingest.retired import RETIRED
from shiyi.model.names import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.journal import Record, read_journal
from shiyi.sparql.writer import JOURNAL_FILE

TABLED = (DefaultGraph(), RETIRED, MAPPINGS)  # the graphs that tables make
ONTO = "sync from tables"  # the kind of a change that brought tables in


@dataclass(slots=True)
class Touched:
    """The quads that the desks added and removed in the end, and the things they are about."""

    added: set[Quad] = field(default_factory=set)
    removed: set[Quad] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Touched":
        """Sum up the records of a journal; what came from the tables is none of the desks'."""
        made = cls()
        for record in records:
            from_tables = record.why.startswith(ONTO)
            for quads, ups, downs in (
                (record.removed, made.removed, made.added), (record.added, made.added, made.removed),
            ):  # fmt: skip
                for quad in quads:
                    if quad.graph_name in TABLED and isinstance(quad.subject, NamedNode):
                        downs.discard(quad)
                        if not from_tables:
                            ups.add(quad)
                            made.subjects.add(quad.subject.value)
        return made

    @classmethod
    def read(cls, kb: Path) -> "Touched":
        """Sum up the journal of a base."""
        return cls.of(read_journal(kb / JOURNAL_FILE))

    def named(self, kind: str) -> Iterator[str]:
        """Yield the touched IRIs whose name begins with ``kind``."""
        return (each for each in sorted(self.subjects) if each.startswith(f"{ID}{kind}"))

    def claims(self) -> set[str]:
        """Give the claims that were touched, themselves or by their evidence."""
        found = set(self.named("claim/"))
        for quad in self.added | self.removed:
            if quad.predicate == SHIYI.evidence:
                found.add(text(quad.subject))
        return found
