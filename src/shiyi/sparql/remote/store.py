"""The remote quad store, and queries rewritten for RDF 1.1 engines."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from shiyi.errors import OutsideError, QueryError, SettingError
from shiyi.model import iris
from shiyi.model.iris import GRAPH, VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term, Triple, serialize
from shiyi.ontology.terms import RDF
from shiyi.settings import RemoteSettings
from shiyi.sparql.queries.requests import blank_text
from shiyi.sparql.remote.http import NO_DATASET, Dataset, Endpoint
from shiyi.sparql.remote.terms import (
    OWN_GRAPHS,
    PARTS,
    TRIPLE,
    describe_terms,
    from_wire,
    group_quads,
    is_triple_name,
    quad_to_wire,
    sparql_term,
    to_wire,
)
from shiyi.sparql.store.oxigraph import NO_GRAPHS, Graphs, OxigraphStore, parse_n_quads
from shiyi.sparql.store.port import Solution, WritableStore

_PART: Final = r"(?:<\s*>|[?$]\w+|[^\s{}()<>'\"]*:[^\s{}()<>'\"]*|\"\s*\"(?:@[\w-]+|\^\^\S+)?)"
_TERM: Final = re.compile(rf"<<\(\s*({_PART})\s+({_PART}|a)\s+({_PART})\s*\)>>")
_TEST: Final = re.compile(r"\bFILTER\s*\(\s*ISTRIPLE\s*\(\s*([?$]\w+)\s*\)\s*\)", re.IGNORECASE)
_BIND: Final = re.compile(
    r"\bBIND\s*\(\s*(SUBJECT|PREDICATE|OBJECT)\s*\(\s*([?$]\w+)\s*\)\s+AS\s+([?$]\w+)\s*\)",
    re.IGNORECASE,
)
_MADE: Final = re.compile(
    rf"\bBIND\s*\(\s*(?:COALESCE\s*\(\s*)?TRIPLE\s*\(\s*({_PART})\s*,\s*({_PART})\s*,\s*({_PART})"
    rf"\s*\)(?:\s*,\s*{_PART}\s*\))?\s+AS\s+([?$]\w+)\s*\)",
    re.IGNORECASE,
)
_VOCABULARY: Final = re.compile(rf"\bPREFIX\s+([\w-]*):\s*<{re.escape(VOCAB)}>", re.IGNORECASE)
_LEFT: Final = re.compile(
    r"<<|\b(?:ISTRIPLE|TRIPLE|SUBJECT|PREDICATE|OBJECT)\s*\(|\{\||~", re.IGNORECASE
)
_PROLOGUE: Final = re.compile(
    r"(?:\s*(?:#[^\n]*\n|(?:PREFIX\s+[^\s:]*:|BASE)\s*<[^>]*>))*", re.IGNORECASE
)
_NAMES: Final = {"SUBJECT": RDF.subject, "PREDICATE": RDF.predicate, "OBJECT": RDF.object}


def to_rdf11_query(query: str) -> str:
    """Write a query without triple terms.

    A triple term in a pattern becomes a node with three properties, and so do the tests and parts
    of one. QueryError where it stands anywhere else.

    >>> to_rdf11_query("ASK { ?c <a:r> <<( ?s ?p <a:o> )>> }").count("rdf-syntax-ns#subject> ?s")
    1
    """
    for pattern, write in ((_TERM, _node), (_TEST, _test), (_BIND, _bind), (_MADE, _construct)):
        query = _replace(query, pattern, write)
    if match := _LEFT.search(blank_text(query)):
        raise QueryError(
            f"this query uses {match[0]!r} where a store of profile rdf11 has no equal; write "
            "<<( s p o )>> as an object in a pattern, or BIND(SUBJECT(?t) AS ?s)"
        )
    return query


def replace_functions(query: str) -> str:
    """Write the functions of Shiyi on statements as those of SPARQL 1.2, which engines have.

    >>> replace_functions("PREFIX v: <https://w3id.org/shiyi/vocab#> ASK { FILTER(v:subject(?t)) }")
    'PREFIX v: <https://w3id.org/shiyi/vocab#> ASK { FILTER(SUBJECT(?t)) }'
    """
    for prefix in {match[1] for match in _VOCABULARY.finditer(query)}:
        name = rf"(?<![\w:.-]){re.escape(prefix)}:(triple|subject|predicate|object)(?=\s*\()"
        query = _replace(query, re.compile(name), str.upper)
    return query


def _replace(query: str, pattern: re.Pattern[str], write: Callable[..., str]) -> str:
    bare, parts, end = blank_text(query), list[str](), 0
    for match in pattern.finditer(bare):
        groups = [query[match.start(i) : match.end(i)] for i in range(1, pattern.groups + 1)]
        written = write(*groups)
        before = bare[end : match.start()].rstrip() or (parts[-1].rstrip() if parts else "")
        if written.endswith(". ") and before[-1:] not in "{}.":
            written = f" .{written}"  # a pattern of triples, which one before has to end
        parts += [query[end : match.start()], written]
        end = match.end()
    return "".join([*parts, query[end:]])


def _node(subject: str, predicate: str, object_: str) -> str:
    return (
        f"[ {RDF.subject} {subject} ; {RDF.predicate} "
        f"{RDF.type if predicate == 'a' else predicate} ; {RDF.object} {object_} ]"
    )


def _test(variable: str) -> str:
    return f'FILTER(STRSTARTS(STR({variable}), "{TRIPLE}"))'


def _bind(function: str, term: str, variable: str) -> str:
    return f" {term} {_NAMES[function.upper()]} {variable} . "


def _construct(subject: str, predicate: str, object_: str, variable: str) -> str:
    parts = zip(_NAMES.values(), (subject, predicate, object_), strict=True)
    return f" {variable} {' ; '.join(f'{name} {term}' for name, term in parts)} . "


def hoist_prologue(query: str, around: str) -> str:
    """Place the prologue of a query before another that holds the query as its part."""
    match = _PROLOGUE.match(query)
    prologue = match[0] if match else ""
    return f"{prologue}\n{around.replace(query, query[len(prologue) :], 1)}"


Sized = Iterator[tuple[int, str]]  # an operation, and how many quads or nodes it names


@dataclass(frozen=True, slots=True)
class ChangeRequests:
    """The SPARQL of changes; ``lowered`` for a store without triple terms.

    ``home`` names its default graph.
    """

    lowered: bool
    home: str
    batch: int  # quads in one request

    def requests(
        self, removed: Sequence[Quad], graphs: Graphs, added: Sequence[Quad]
    ) -> Iterator[str]:
        """Yield the requests that make a change: one if it is small, else several."""
        sizes = 0
        batch: list[str] = []
        for size, text in (*self._removals(removed), *_count(graphs), *self._additions(added)):
            if batch and sizes + size > self.batch:
                yield " ;\n".join(batch)
                sizes, batch = 0, []
            sizes, batch = sizes + size, [*batch, text]
        if batch:
            yield " ;\n".join(batch)

    def within(self, graph: NamedNode | DefaultGraph, inner: str) -> str:
        """Return a pattern or a template in one graph."""
        if isinstance(graph, NamedNode):
            return f"GRAPH {graph} {{ {inner} }}"
        return f"GRAPH <{self.home}> {{ {inner} }}" if self.home else inner

    def _removals(self, quads: Sequence[Quad]) -> Sized:
        yield from self._data("DELETE", quads)
        if not self.lowered:
            return
        freed: dict[Any, set[Any]] = {}
        for quad in quads:
            for term in describe_terms(quad):
                freed.setdefault(term.graph_name, set()).add(term.subject)
        for graph, nodes in freed.items():
            values = " ".join(sorted(map(str, nodes)))
            inner = f"VALUES ?t {{ {values} }} ?t ?q ?v"
            gone, unused = self.within(graph, "?t ?q ?v ."), "FILTER NOT EXISTS { ?c ?r ?t }"
            where = self.within(graph, f"{inner} {unused}")
            yield len(nodes), f"DELETE {{ {gone} }} WHERE {{ {where} }}"

    def _additions(self, quads: Sequence[Quad]) -> Sized:
        described_quads = (
            [term for quad in quads for term in describe_terms(quad)] if self.lowered else []
        )
        yield from self._data("INSERT", described_quads)
        yield from self._data("INSERT", quads)

    def _data(self, verb: str, quads: Sequence[Quad]) -> Sized:
        quads = [quad_to_wire(quad, self.lowered) for quad in quads]
        # a request of its own for each graph: Virtuoso deletes no text with a language from several
        for graph, found_quads in group_quads(quads).items():
            for at in range(0, len(found_quads), self.batch):
                some = found_quads[at : at + self.batch]
                lines = " ".join(
                    f"{each.subject} {each.predicate} {sparql_term(each.object)} ." for each in some
                )
                yield len(some), f"{verb} DATA {{ {self.within(graph, lines)} }}"


def _count(graphs: Graphs) -> Sized:
    nodes, new_nodes = graphs
    yield from ((1, f"DROP SILENT GRAPH {node}") for node in nodes)
    yield from ((1, f"CREATE SILENT GRAPH {node}") for node in new_nodes)


def check_read(address: str, rows: int, count: int) -> None:
    """Raise OutsideError where a store gave another number of rows than it holds."""
    if count != rows:
        raise OutsideError(
            f"{address} gave {rows:,} of {count:,} rows: it cuts pages, or was changed in between; "
            "lower remote.page and try again"
        )


PROFILES: Final = ("rdf12", "rdf11")
_ASKED: Final = 200  # triple terms described in one query
_ENDS: Final = (
    100  # subjects or objects in one query: of few properties, so that all fits into a page
)
_REMEMBERED: Final = 200_000  # triple terms
_LOADED: Final = 50_000  # quads uploaded at a time
_VARIABLES: Final = ("s", "p", "o", "g")
NOTE: Final = iris.graph("remote")  # says which release the store holds; no data
_NOT_NOTE: Final = f"?g != {NOTE}"
_NOT_OWN: Final = " && ".join(
    (_NOT_NOTE, *(f'!STRSTARTS(STR(?g), "{each}")' for each in OWN_GRAPHS))
)
_GRAPH: Final = re.compile(r"\bGRAPH\b(?:\s*(<\s*>))?", re.IGNORECASE)
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
        self._requests = ChangeRequests(self._lowered, self._home, max(1, self.settings.batch))

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        self._parser.select(query, **bound)  # raises QueryError with line and column
        text = self.adapt_query(query)
        if bound:
            values = " ".join(sparql_term(to_wire(term, self._lowered)) for term in bound.values())
            names = " ".join(f"?{name}" for name in bound)
            text = f"{text}\nVALUES ({names}) {{ ({values}) }}"
        for rows in self._pages(text, self.dataset(query)):
            yield from self._read(rows)

    def adapt_query(self, query: str) -> str:
        """Return a query as this store takes it; QueryError where it has no equal."""
        query = replace_functions(query)
        return to_rdf11_query(query) if self._lowered else query

    def graph_names(self) -> tuple[str, ...]:
        """List the named graphs that hold something, without those of the engine or of Shiyi."""
        with self._turn:
            if self._graphs is None:
                rows = self.endpoint.solutions(
                    f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER({_NOT_OWN}) }}"
                )
                self._graphs = tuple(row["g"]["value"] for row in rows)
            return tuple(graph for graph in self._graphs if graph != self._home)

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
            yield from self._read_all()
            return
        yield from self._quads(self._match_query(fixed, graph), fixed, graph)

    @override
    def match_each(
        self,
        subjects: Iterable[Subject] = (),
        predicate: NamedNode | None = None,
        graph: NamedNode | DefaultGraph | None = None,
        objects: Iterable[Term] = (),
    ) -> Iterator[Quad]:
        fixed = (None, predicate, None)
        for name, ends in (("s", subjects), ("o", objects)):
            terms = list(dict.fromkeys(sparql_term(to_wire(e, self._lowered)) for e in ends))
            for at in range(0, len(terms), _ENDS):
                values = f"VALUES ?{name} {{ {' '.join(terms[at : at + _ENDS])} }} "
                yield from self._quads(self._match_query(fixed, graph, "", values), fixed, graph)

    def _quads(
        self, query: str, fixed: Sequence[Term | None], graph: NamedNode | DefaultGraph | None
    ) -> Iterator[Quad]:
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
        quads, removed_quads = tuple(add), tuple(remove)  # a failing iterable changes nothing
        with self._turn:
            self._graphs = None
            for request in self._requests.requests(removed_quads, graphs, quads):
                self.endpoint.update(request)

    def load_quads(self, quads: Iterable[Quad]) -> None:
        """Load many quads; by the Graph Store Protocol where it has an address."""
        if not self.endpoint.graph_store:
            self.change(quads)
            return
        batch: list[Quad] = []
        for quad in quads:
            batch.append(quad)
            if len(batch) >= _LOADED:
                self._load(batch)
                batch = []
        self._load(batch)

    @override
    def unload_quads(self, quads: Iterable[Quad]) -> None:
        self.change((), quads)

    @override
    def load_n_quads(self, data: bytes) -> None:
        """Load N-Quads."""
        self.load_quads(parse_n_quads(data))

    @override
    def flush(self) -> None:
        """Do nothing: what was acknowledged is the remote store's to keep."""

    @override
    def reopen(self) -> None:
        """Do nothing: each request stands alone."""

    @override
    def close(self) -> None:
        """Release the connections."""
        self.endpoint.close()

    @override
    def __len__(self) -> int:
        where = self._match_query((None, None, None), None, select="(COUNT(*) AS ?n)")
        rows = self.endpoint.solutions(where)
        return int(rows[0]["n"]["value"])

    def clear(self) -> None:
        """Remove the default graph and all graphs of Shiyi's; other graphs stay."""
        with self._turn:
            self._graphs = None
            rows = self.endpoint.solutions(
                "SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } "
                f'FILTER(STRSTARTS(STR(?g), "{GRAPH}")) }}'
            )
            self.endpoint.update(
                f"CLEAR SILENT {f'GRAPH <{self._home}>' if self._home else 'DEFAULT'}"
            )
            for row in rows:
                self.endpoint.update(f"DROP SILENT GRAPH {from_wire(row['g'])}")

    def _match_query(
        self,
        fixed: Sequence[Term | None],
        graph: NamedNode | DefaultGraph | None,
        select: str = "",
        values: str = "",
    ) -> str:
        terms = [
            f"?{name}" if term is None else sparql_term(to_wire(term, self._lowered))
            for name, term in zip(_VARIABLES, fixed, strict=False)
        ]
        pattern = " ".join(terms)
        hidden = ""
        if self._lowered and terms[0] == "?s" and not values.startswith("VALUES ?s "):
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
        return f"SELECT {asked} WHERE {{ {values}{where}{hidden} }}"

    def _read_all(self) -> Iterator[Quad]:
        """Read every quad, a graph or a relation of it at a time.

        An engine counts each page from the beginning of what it is a page of, so one result of
        all quads would take as long as the square of their number.
        """
        query = self._match_query((None, None, None), None, select="?g ?p (COUNT(*) AS ?n)")
        sizes: dict[NamedNode | DefaultGraph, dict[NamedNode, int]] = {}
        for rows in self._pages(f"{query} GROUP BY ?g ?p"):
            for row in rows:
                where = self._graph(from_wire(row["g"]) if "g" in row else None)
                predicate = from_wire(row["p"])
                if isinstance(predicate, NamedNode):
                    sizes.setdefault(where, {})[predicate] = int(row["n"]["value"])
        for where, record in sizes.items():
            total = sum(record.values())
            wanted = {None: total} if total < self.settings.page else record
            for one, count in wanted.items():
                seen = 0
                for quad in self.match(None, one, None, where):
                    seen += 1
                    yield quad
                check_read(self.endpoint.address, seen, count)

    def _pages(
        self, query: str, dataset: Dataset = NO_DATASET
    ) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the rows of a SELECT, ``remote.page`` at a time, or at once where that is 0.

        OutsideError where the pages hold fewer or more rows than the store counts.
        """
        page, ask = self.settings.page, self.endpoint.solutions
        if not page:
            yield ask(query, dataset)
            return
        start = seen = 0
        while True:
            asked = f"SELECT * WHERE {{ {{ {query} }} }} LIMIT {page} OFFSET {start}"
            rows = ask(hoist_prologue(query, asked), dataset)
            seen += len(rows)
            yield rows
            if len(rows) < page:
                break
            start += page
        if start:  # a page may have been cut by the store, or the data have changed in between
            counted = f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {query} }} }}"
            rows = ask(hoist_prologue(query, counted), dataset)
            check_read(self.endpoint.address, seen, int(rows[0]["n"]["value"]))

    def dataset(self, query: str) -> Dataset:
        """Name the graphs of a query where the engine's own data set is another."""
        if not self._home:
            return NO_DATASET
        matches = list(_GRAPH.finditer(blank_text(query)))
        if not matches:
            return (self._home,), ()
        if all(match[1] for match in matches):  # to list all of them takes Virtuoso long
            named = {query[match.start(1) + 1 : match.end(1) - 1] for match in matches}
            names = tuple(sorted(each for each in named if self._is_shown(each)))
        else:
            names = self.graph_names()
        return (self._home,), names or (NO_GRAPH,)

    def _is_shown(self, graph: str) -> bool:
        """Return whether a graph is neither the default one nor the engine's nor a note."""
        return graph not in {self._home, NOTE.value} and not graph.startswith(OWN_GRAPHS)

    def _read(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Solution]:
        solutions = [{name: from_wire(binding) for name, binding in row.items()} for row in rows]
        if self._lowered:
            self._learn({t for row in solutions for t in row.values() if is_triple_name(t)})
            solutions = [
                {name: self._triple_term(term) for name, term in row.items()} for row in solutions
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
                f"GRAPH ?g {{ {pattern} }} }}"
                if self._home
                else f"SELECT DISTINCT ?t ?s ?p ?o WHERE {{ VALUES ?t {{ {values} }} "
                f"{{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} }} }}"
            )
            rows = self.endpoint.solutions(query)
            results = [{name: from_wire(binding) for name, binding in row.items()} for row in rows]
            self._learn({row["o"] for row in results if is_triple_name(row["o"])})
            for row in results:
                s, p, o = row["s"], row["p"], self._triple_term(row["o"])
                self._terms[row["t"]] = Triple(s, p, o)  # type: ignore[index, arg-type]

    def _triple_term(self, term: Term) -> Term:
        if not is_triple_name(term):
            return term
        try:
            return self._terms[term]  # type: ignore[index]
        except KeyError:
            raise OutsideError(
                f"the remote store does not describe the triple term {term}: it was changed "
                "by another program"
            ) from None

    def _graph(self, graph: Term | None) -> NamedNode | DefaultGraph:
        if graph is None or (isinstance(graph, NamedNode) and graph.value == self._home):
            return DefaultGraph()
        if not isinstance(graph, NamedNode):
            raise OutsideError(f"the remote store names a graph {graph}, which is no IRI")
        return graph

    def _load(self, quads: Sequence[Quad]) -> None:
        described_quads = (
            [term for quad in quads for term in describe_terms(quad)] if self._lowered else []
        )
        all_quads = [*described_quads, *(quad_to_wire(quad, self._lowered) for quad in quads)]
        for graph, found_quads in group_quads(all_quads).items():
            name = graph.value if isinstance(graph, NamedNode) else self._home
            triples = [Triple(q.subject, q.predicate, q.object) for q in found_quads]
            self.endpoint.load(name, serialize(triples, "nt", {}))
