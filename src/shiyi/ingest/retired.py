"""Concepts that were merged or taken back: their IRIs go on saying where they went, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shiyi.ingest.concepts import Concepts
from shiyi.ingest.tables import Faults, check_columns, read_tables
from shiyi.model.names import graph, resource
from shiyi.model.rdf import XSD_BOOLEAN, Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS, OWL, RDFS, SKOS

COLUMNS = ("id", "zh", "en", "replaced_by", "reason")
RETIRED = graph("retired")


@dataclass(frozen=True, slots=True)
class Retired:
    """A concept that stands no more; ``replaced_by`` is the id of what took its place, or empty."""

    id: str
    zh: str
    en: str
    replaced_by: str = ""
    reason: str = ""

    @property
    def iri(self) -> NamedNode:
        """Name the concept."""
        return resource(self.id)


def read_retired(folder: Path, concepts: Concepts, faults: Faults) -> list[Retired]:
    """Read every table of ``folder``, which may be absent; an id in use is a fault."""
    found: dict[str, Retired] = {}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "zh", "en"), COLUMNS, rows, faults)
        for row in rows:
            each = Retired(*(row.get(name) for name in COLUMNS))
            if each.id in concepts.by_id:
                faults.add(row.at("id"), f"{each.id} was retired, but stands among the concepts")
            if each.id in found:
                faults.add(row.at("id"), f"{each.id} is retired twice")
            found[each.id] = each
            if each.replaced_by and each.replaced_by not in concepts.by_id:
                faults.unknown(row.at("replaced_by"), "concept", each.replaced_by, concepts.by_id)
    return list(found.values())


def retired_quads(each: Retired) -> Iterator[Quad]:
    """Yield the tombstone: names, reason, and where it went."""
    node = each.iri
    yield Quad(node, OWL.deprecated, Literal("true", datatype=XSD_BOOLEAN), RETIRED)
    for label, language in ((each.zh, "zh"), (each.en, "en")):
        if label:
            yield Quad(node, SKOS.prefLabel, Literal(label, language=language), RETIRED)
    if each.reason:
        yield Quad(node, RDFS.comment, Literal(each.reason), RETIRED)
    if each.replaced_by:
        yield Quad(node, DCTERMS.isReplacedBy, resource(each.replaced_by), RETIRED)
