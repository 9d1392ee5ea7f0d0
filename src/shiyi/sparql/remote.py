"""The remote store: any SPARQL endpoint over HTTP, in two statement profiles."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from shiyi.errors import OutsideError, SettingError
from shiyi.model import names
from shiyi.model.names import GRAPH
from shiyi.model.rdf import (
    DefaultGraph,
    NamedNode,
    Quad,
    Subject,
    Term,
    Triple,
    serialize,
)
from shiyi.settings import RemoteSettings
from shiyi.sparql.guard import bare_text
from shiyi.sparql.oxigraph import NO_GRAPHS, Graphs, OxigraphStore, parse_n_quads
from shiyi.sparql.remote_http import NO_DATASET, Dataset, Endpoint
from shiyi.sparql.remote_lowering import lowered_query
from shiyi.sparql.remote_pages import Ask, check_read, pages
from shiyi.sparql.remote_terms import (
    OWN_GRAPHS,
    PARTS,
    TRIPLE,
    by_graph,
    descriptions,
    incoming,
    is_triple_name,
    outgoing,
    outgoing_quad,
    written,
)
from shiyi.sparql.remote_wording import Wording
from shiyi.sparql.store import Solution, WritableStore

PROFILES: Final = ("rdf12", "rdf11")
_ASKED: Final = 200  # triple terms described in one query
_REMEMBERED: Final = 200_000  # triple terms
_LOADED: Final = 50_000  # quads uploaded at a time
_VARIABLES: Final = ("s", "p", "o", "g")
NOTE: Final = names.graph("remote")  # says which release the store holds; no data
_NOT_NOTE: Final = f"?g != {NOTE}"
_NOT_OWN: Final = " && ".join(
    (_NOT_NOTE, *(f'!STRSTARTS(STR(?g), "{each}")' for each in OWN_GRAPHS))
)
_GRAPH: Final = re.compile(r"\bGRAPH\b", re.IGNORECASE)
NO_GRAPH: Final = "urn:shiyi:none"  # a data set of no named graphs has to name one


class RemoteStore(WritableStore):
    """A quad store that another process or another machine holds.

    Each change is sent as one request up to ``remote.batch`` quads; larger ones are several, safe
    to repeat. What fails outside is an OutsideError that says what to do.
    """

    def __init__(self, address: str, settings: RemoteSettings | None = None) -> None:
        self.settings = settings or RemoteSettings()
        if self.settings.profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise SettingError("remote.profile", f"is one of {known}")
        self.endpoint = Endpoint(address, self.settings)
        self._lowered = self.settings.profile == "rdf11"
        self._home = self.settings.default_graph
        self._terms: dict[NamedNode, Triple] = {}
        self._graphs: tuple[str, ...] | None = None  # names, until the next change
        self._turn = threading.RLock()
        self._parser = OxigraphStore.in_memory()
        self._wording = Wording(self._lowered, self._home, max(1, self.settings.batch))

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        self._parser.select(query, **bound)  # complains with line and column, whoever answers
        text = lowered_query(query) if self._lowered else query
        if bound:
            values = " ".join(written(outgoing(term, self._lowered)) for term in bound.values())
            names = " ".join(f"?{name}" for name in bound)
            text = f"{text}\nVALUES ({names}) {{ ({values}) }}"
        for rows in self._pages(text, self.dataset(query)):
            yield from self._read(rows)

    def solutions(self, query: str, dataset: Dataset, ask: Ask) -> Iterator[Solution]:
        """Answer a SELECT over some graphs, each page by ``ask``; none of ours is the store's."""
        text = lowered_query(query) if self._lowered else query
        for rows in self._pages(text, dataset, ask):
            yield from self._read(rows)

    def holding(self, quads: Iterable[Quad]) -> set[Quad]:
        """Give those quads that the store holds."""
        found: set[Quad] = set()
        for graph, wanted in by_graph(quads).items():
            some = set(wanted)
            pairs = sorted({
                f"({outgoing(q.subject, self._lowered)} {q.predicate})" for q in some
            })  # fmt: skip
            for at in range(0, len(pairs), _ASKED):
                pattern = self._wording.within(
                    graph, f"VALUES (?s ?p) {{ {' '.join(pairs[at : at + _ASKED])} }} ?s ?p ?o"
                )
                for row in self.solutions(
                    f"SELECT ?s ?p ?o WHERE {{ {pattern} }}", NO_DATASET, self.endpoint.solutions
                ):
                    held = Quad(row["s"], row["p"], row["o"], graph)  # type: ignore[arg-type]
                    if held in some:
                        found.add(held)
        return found

    def has_graph(self, graph: NamedNode) -> bool:
        """Tell whether there is a graph of this name; an empty one where the engine keeps those."""
        inner = "?s ?p ?o" if self._lowered else ""
        return self.endpoint.holds(f"ASK {{ GRAPH {graph} {{ {inner} }} }}")

    def graph_names(self) -> tuple[str, ...]:
        """List the named graphs that hold something, without those that an engine or we keep apart."""
        with self._turn:
            if self._graphs is None:
                rows = self.endpoint.solutions(
                    f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER({_NOT_OWN}) }}"
                )
                self._graphs = tuple(row["g"]["value"] for row in rows)
            return tuple(each for each in self._graphs if each != self._home)

    @override
    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        fixed = (subject, predicate, object)
        if self.settings.page and (*fixed, graph) == (None, None, None, None):
            yield from self._whole()
            return
        query = self._match_query(fixed, graph)
        for rows in self._pages(query):
            for row in self._read(rows):
                s, p, o = (
                    row[name] if term is None else term
                    for name, term in zip(_VARIABLES, fixed, strict=False)
                )
                where = graph if graph is not None else self._graph(row.get("g"))
                yield Quad(s, p, o, where)  # type: ignore[arg-type]

    @override
    def change(
        self, add: Iterable[Quad] = (), remove: Iterable[Quad] = (), graphs: Graphs = NO_GRAPHS
    ) -> None:
        added, removed = tuple(add), tuple(remove)  # a failing iterable changes nothing
        with self._turn:
            self._graphs = None
            for request in self._wording.requests(removed, graphs, added):
                self.endpoint.update(request)

    def load_quads(self, quads: Iterable[Quad]) -> None:
        """Load many quads; by the Graph Store Protocol where it has an address."""
        if not self.endpoint.graph_store:
            self.change(quads)
            return
        held: list[Quad] = []
        for quad in quads:
            held.append(quad)
            if len(held) >= _LOADED:
                self._load(held)
                held = []
        self._load(held)

    @override
    def load_n_quads(self, written: bytes) -> None:
        """Load N-Quads."""
        self.load_quads(parse_n_quads(written))

    @override
    def flush(self) -> None:
        """Do nothing: what was acknowledged is the remote store's to keep."""

    @override
    def reopen(self) -> None:
        """Do nothing: each request stands alone."""

    @override
    def close(self) -> None:
        """Let go of the connections."""
        self.endpoint.close()

    @override
    def __len__(self) -> int:
        where = self._match_query((None, None, None), None, select="(COUNT(*) AS ?n)")
        rows = self.endpoint.solutions(where)
        return int(rows[0]["n"]["value"])

    def clear(self) -> None:
        """Remove the default graph and all graphs of ours, whatever else the store holds."""
        with self._turn:
            self._graphs = None
            rows = self.endpoint.solutions(
                f'SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(STRSTARTS(STR(?g), "{GRAPH}")) }}'
            )
            self.endpoint.update(
                f"CLEAR SILENT {f'GRAPH <{self._home}>' if self._home else 'DEFAULT'}"
            )
            for row in rows:
                self.endpoint.update(f"DROP SILENT GRAPH {incoming(row['g'])}")

    def _match_query(
        self, fixed: Sequence[Term | None], graph: NamedNode | DefaultGraph | None, select: str = ""
    ) -> str:
        terms = [
            f"?{name}" if term is None else written(outgoing(term, self._lowered))
            for name, term in zip(_VARIABLES, fixed, strict=False)
        ]
        pattern = " ".join(terms)
        hidden = ""
        if self._lowered and terms[0] == "?s":
            hidden = f' FILTER(!STRSTARTS(STR(?s), "{TRIPLE}"))'
        asked = select or " ".join(each for each in (*terms, "?g") if each[0] == "?")
        if isinstance(graph, NamedNode):
            where = f"GRAPH {graph} {{ {pattern} }}"
        elif isinstance(graph, DefaultGraph):
            where = f"GRAPH <{self._home}> {{ {pattern} }}" if self._home else pattern
        elif self._home:
            where = f"GRAPH ?g {{ {pattern} }} FILTER({_NOT_OWN})"
        else:
            where = f"{{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} FILTER({_NOT_NOTE}) }}"
        return f"SELECT {asked} WHERE {{ {where}{hidden} }}"

    def _whole(self) -> Iterator[Quad]:
        """Read every quad, a graph or a relation of it at a time.

        An engine counts each page from the beginning of what it is a page of, so one result of
        all quads would take as long as the square of their number.
        """
        counted = self._match_query((None, None, None), None, select="?g ?p (COUNT(*) AS ?n)")
        sizes: dict[NamedNode | DefaultGraph, dict[NamedNode, int]] = {}
        for rows in self._pages(f"{counted} GROUP BY ?g ?p"):
            for row in rows:
                where = self._graph(incoming(row["g"]) if "g" in row else None)
                predicate = incoming(row["p"])
                if isinstance(predicate, NamedNode):
                    sizes.setdefault(where, {})[predicate] = int(row["n"]["value"])
        for where, each in sizes.items():
            held = sum(each.values())
            wanted = {None: held} if held < self.settings.page else each
            for one, count in wanted.items():
                seen = 0
                for quad in self.match(None, one, None, where):
                    seen += 1
                    yield quad
                check_read(self.endpoint.address, seen, count)

    def _pages(
        self, query: str, dataset: Dataset = NO_DATASET, ask: Ask | None = None
    ) -> Iterator[list[Mapping[str, Any]]]:
        asks = ask or self.endpoint.solutions
        return pages(asks, self.endpoint.address, query, dataset, self.settings.page)

    def dataset(self, query: str) -> Dataset:
        """Name the graphs of a query where the engine's own data set is another."""
        if not self._home:
            return NO_DATASET
        if not _GRAPH.search(bare_text(query)):
            return (self._home,), ()
        return (self._home,), self.graph_names() or (NO_GRAPH,)

    def _read(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Solution]:
        solutions = [{name: incoming(said) for name, said in row.items()} for row in rows]
        if self._lowered:
            self._learn({t for row in solutions for t in row.values() if is_triple_name(t)})
            solutions = [
                {name: self._raised(term) for name, term in row.items()} for row in solutions
            ]
        yield from solutions

    def _learn(self, names: set[Any]) -> None:
        """Ask what triple terms stand behind their names; a name's content never changes."""
        if len(self._terms) > _REMEMBERED:
            self._terms.clear()
        wanted = sorted(names - self._terms.keys(), key=str)
        for at in range(0, len(wanted), _ASKED):
            values = " ".join(map(str, wanted[at : at + _ASKED]))
            pattern = f"?t {PARTS[0]} ?s ; {PARTS[1]} ?p ; {PARTS[2]} ?o"
            query = (
                f"SELECT DISTINCT ?t ?s ?p ?o WHERE {{ VALUES ?t {{ {values} }} "
                f"GRAPH ?g {{ {pattern} }} }}" if self._home else
                f"SELECT DISTINCT ?t ?s ?p ?o WHERE {{ VALUES ?t {{ {values} }} "
                f"{{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} }} }}"
            )  # fmt: skip
            rows = self.endpoint.solutions(query)
            found = [{name: incoming(said) for name, said in row.items()} for row in rows]
            self._learn({row["o"] for row in found if is_triple_name(row["o"])})
            for row in found:
                s, p, o = row["s"], row["p"], self._raised(row["o"])
                self._terms[row["t"]] = Triple(s, p, o)  # type: ignore[index, arg-type]

    def _raised(self, term: Term) -> Term:
        if not is_triple_name(term):
            return term
        try:
            return self._terms[term]  # type: ignore[index]
        except KeyError:
            raise OutsideError(
                f"the remote store says nothing of the triple term {term}: it was changed by another"
            ) from None

    def _graph(self, found: Term | None) -> NamedNode | DefaultGraph:
        if found is None or (isinstance(found, NamedNode) and found.value == self._home):
            return DefaultGraph()
        if not isinstance(found, NamedNode):
            raise OutsideError(f"the remote store names a graph {found}, which is no IRI")
        return found

    def _load(self, quads: Sequence[Quad]) -> None:
        described = [each for quad in quads for each in descriptions(quad)] if self._lowered else []
        every = [*described, *(outgoing_quad(quad, self._lowered) for quad in quads)]
        for graph, found in by_graph(every).items():
            name = graph.value if isinstance(graph, NamedNode) else self._home
            triples = [Triple(q.subject, q.predicate, q.object) for q in found]
            self.endpoint.load(name, serialize(triples, "nt", {}))
