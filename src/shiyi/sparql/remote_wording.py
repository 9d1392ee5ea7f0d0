"""Changes to a remote store as SPARQL updates, in either statement profile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.sparql.oxigraph import Graphs
from shiyi.sparql.remote_terms import by_graph, descriptions, outgoing_quad, written

Sized = Iterator[tuple[int, str]]  # an operation, and how many quads or nodes it names


@dataclass(frozen=True, slots=True)
class Wording:
    """How a store is told: ``lowered`` where it knows no triple terms, ``home`` its default graph's name."""

    lowered: bool
    home: str
    batch: int  # quads in one request

    def requests(
        self, removed: Sequence[Quad], graphs: Graphs, added: Sequence[Quad]
    ) -> Iterator[str]:
        """Yield the requests that make a change: one where it is small, and safe to repeat where not."""
        sizes = 0
        held: list[str] = []
        for size, text in (*self._removals(removed), *_managed(graphs), *self._additions(added)):
            if held and sizes + size > self.batch:
                yield " ;\n".join(held)
                sizes, held = 0, []
            sizes, held = sizes + size, [*held, text]
        if held:
            yield " ;\n".join(held)

    def within(self, graph: NamedNode | DefaultGraph, inner: str) -> str:
        """Give a pattern or a template in one graph."""
        if isinstance(graph, NamedNode):
            return f"GRAPH {graph} {{ {inner} }}"
        return f"GRAPH <{self.home}> {{ {inner} }}" if self.home else inner

    def _removals(self, quads: Sequence[Quad]) -> Sized:
        yield from self._data("DELETE", quads)
        if not self.lowered:
            return
        freed: dict[Any, set[Any]] = {}
        for quad in quads:
            for each in descriptions(quad):
                freed.setdefault(each.graph_name, set()).add(each.subject)
        for graph, nodes in freed.items():
            values = " ".join(sorted(map(str, nodes)))
            inner = f"VALUES ?t {{ {values} }} ?t ?q ?v"
            gone, kept = self.within(graph, "?t ?q ?v ."), "FILTER NOT EXISTS { ?c ?r ?t }"
            where = self.within(graph, f"{inner} {kept}")
            yield len(nodes), f"DELETE {{ {gone} }} WHERE {{ {where} }}"

    def _additions(self, quads: Sequence[Quad]) -> Sized:
        described = [each for quad in quads for each in descriptions(quad)] if self.lowered else []
        yield from self._data("INSERT", described)
        yield from self._data("INSERT", quads)

    def _data(self, verb: str, quads: Sequence[Quad]) -> Sized:
        quads = [outgoing_quad(quad, self.lowered) for quad in quads]
        # a request of its own for each graph: Virtuoso deletes no text with a language from several
        for graph, found in by_graph(quads).items():
            for at in range(0, len(found), self.batch):
                some = found[at : at + self.batch]
                lines = " ".join(
                    f"{each.subject} {each.predicate} {written(each.object)} ." for each in some
                )
                yield len(some), f"{verb} DATA {{ {self.within(graph, lines)} }}"


def _managed(graphs: Graphs) -> Sized:
    gone, come = graphs
    yield from ((1, f"DROP SILENT GRAPH {each}") for each in gone)
    yield from ((1, f"CREATE SILENT GRAPH {each}") for each in come)
