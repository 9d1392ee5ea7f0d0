"""The sources of a base as a table: what each is, and under which terms it may be passed on."""

from shiyi.model.rdf import Literal, NamedNode, Term, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.publishing.tables import Table
from shiyi.sparql.store import QuadStore

_COLUMNS = (
    ("tier", SHIYI.sourceTier), ("year", DCTERMS.date), ("identifier", DCTERMS.identifier),
    ("licence", DCTERMS.license), ("lineage", SHIYI.lineage),
)  # fmt: skip


def source_table(store: QuadStore) -> Table:
    """Give one row for each source, in the order of their IRIs."""
    found = {text(quad.subject) for quad in store.match(None, RDF.type, SHIYI.Source)}
    rows = []
    for iri in sorted(found):
        node = NamedNode(iri)
        titles = {
            term.language: term.value
            for quad in store.match(node, RDFS.label)
            if isinstance(term := quad.object, Literal)
        }
        cells = [_first(store, node, predicate) for _, predicate in _COLUMNS]
        cells[0] = local_name(cells[0]).removeprefix("tier-")
        rows.append([iri, titles.get("zh", ""), titles.get("en", ""), *cells])
    header = ("iri", "title_zh", "title_en", *(name for name, _ in _COLUMNS))
    return Table("sources.csv", header, tuple(rows))


def _first(store: QuadStore, node: NamedNode, predicate: NamedNode) -> str:
    values: list[Term] = [quad.object for quad in store.match(node, predicate)]
    return min((text(each) for each in values), default="")
