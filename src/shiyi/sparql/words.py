"""What a node says under a predicate in one graph, as plain text."""

from shiyi.model.rdf import NamedNode, text
from shiyi.sparql.store import QuadStore


def words_of(
    store: QuadStore, node: NamedNode, predicate: NamedNode, graph: NamedNode
) -> tuple[str, ...]:
    """Give the text of every value, sorted."""
    return tuple(sorted(text(quad.object) for quad in store.match(node, predicate, None, graph)))


def word_of(store: QuadStore, node: NamedNode, predicate: NamedNode, graph: NamedNode) -> str:
    """Give the text of one value, empty where there is none."""
    return next((text(q.object) for q in store.match(node, predicate, None, graph)), "")
