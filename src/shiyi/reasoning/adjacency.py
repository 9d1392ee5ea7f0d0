"""Accepted claims as a CSR adjacency; weighted PageRank over it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress
from pathlib import Path as File
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.columnar.mapped_file import Memmap, words, write
from shiyi.columnar.strings import Array, Selection, Strings
from shiyi.errors import RangeError
from shiyi.model.claim import confidence_value
from shiyi.model.iris import is_text
from shiyi.model.path import Hop, Path, RelationPath, Step
from shiyi.model.rdf import DefaultGraph, NamedNode, Triple
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.settings import PageRankSettings
from shiyi.sparql.store.port import QuadStore, match_own

Ints = NDArray[np.int32]
Vector = NDArray[np.float64]
_DEFAULT = DefaultGraph()
FILE = "adjacency.safetensors"
_FORMAT = "3"
_CACHED: Final = 65_536  # places of nodes that were asked for last (Shiyi's)


@dataclass(frozen=True, slots=True)
class Edge:
    """One accepted claim between two concepts."""

    subject: str
    predicate: str
    object: str
    claim: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Walk:
    """The paths found along one relation path, and whether the limit cut them."""

    paths: tuple[Path, ...]
    reached_limit: bool = False


class ImportanceLookup(Mapping[str, float]):
    """The importance of nodes, each read where it is asked for; one of 0 is none.

    >>> some = ImportanceLookup(Strings.of(["goji", "kava", "maté"]), np.array([0.5, 0.0, 1.5]))
    >>> some["maté"], some.get("kava"), dict(some)
    (1.5, None, {'goji': 0.5, 'maté': 1.5})
    """

    def __init__(self, nodes: Strings, ranks: Vector) -> None:
        """Pair ``nodes`` with their ``ranks``."""
        self.nodes, self.ranks = nodes, ranks
        self._known = lru_cache(_CACHED)(self._read)

    def _read(self, node: str) -> float:
        place = self.nodes.place(node)
        return 0.0 if place is None else float(self.ranks[place])

    @override
    def __getitem__(self, node: str) -> float:
        if rank := self._known(node):
            return rank
        raise KeyError(node)

    @override
    def get(self, node: str, default: Any = None, /) -> Any:
        return self._known(node) or default

    @override
    def __iter__(self) -> Iterator[str]:
        return compress(self.nodes, self.ranks)

    @override
    def __len__(self) -> int:
        return int(np.count_nonzero(self.ranks))

    def all(self) -> dict[str, float]:
        """Return the importance of all nodes, each read once."""
        ranks = zip(self.nodes, self.ranks.tolist(), strict=True)
        return {node: rank for node, rank in ranks if rank}


@dataclass(frozen=True, slots=True, eq=False)
class ImportanceVector:
    """The importance of every node, as :meth:`Projection.importance` gives it for some settings."""

    settings: str
    ranks: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Edges sorted by subject, then predicate; the same edges once more by object.

    ``nodes``, ``predicates`` and ``claims`` are IRIs; edge ``i`` runs from ``source[i]`` to
    ``target[i]``, is claim ``claims[i]`` and is stored with ``confidence[i]`` in [0, 1].
    """

    release: str
    nodes: Strings
    predicates: tuple[str, ...]
    claims: Selection
    source: Ints
    target: Ints
    kind: Ints
    confidence: Vector
    ranked: ImportanceVector | None = None  # where it was written with the arrays
    _kind: Mapping[str, int] = field(init=False, repr=False)
    _out: "_Sides" = field(init=False, repr=False)
    _in: "_Sides" = field(init=False, repr=False)
    _fan_outs: dict[Step, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.confidence.size and not bool(
            np.all((self.confidence >= 0.0) & (self.confidence <= 1.0))
        ):
            raise RangeError("a claim's confidence lies in [0, 1]")
        if len({len(self.claims), *map(len, (self.source, self.target, self.kind))}) != 1:
            raise RangeError("an adjacency has one source, target and predicate a claim")
        size = len(self.nodes), len(self.predicates)
        for name, value in (
            ("_kind", {iri: i for i, iri in enumerate(self.predicates)}),
            ("_out", _Sides.of(self.source, self.kind, *size)),
            ("_in", _Sides.of(self.target, self.kind, *size)),
            ("_fan_outs", {}),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_edges(cls, edges: Sequence[Edge], release: str) -> Self:
        """Return the adjacency of ``edges``; equal claims give equal arrays."""
        nodes = sorted({end for edge in edges for end in (edge.subject, edge.object)})
        predicates = sorted({edge.predicate for edge in edges})
        node = {iri: i for i, iri in enumerate(nodes)}
        kind = {iri: i for i, iri in enumerate(predicates)}
        rows = sorted(
            (node[e.subject], kind[e.predicate], node[e.object], e.claim, e.confidence)
            for e in edges
        )
        ints = np.array([row[:3] for row in rows], dtype=np.int32).reshape(-1, 3)
        return cls(
            release,
            Strings.of(nodes),
            tuple(predicates),
            Selection.of([row[3] for row in rows]),
            source=ints[:, 0].copy(),
            kind=ints[:, 1].copy(),
            target=ints[:, 2].copy(),
            confidence=np.array([row[4] for row in rows], dtype=np.float64),
        )

    @classmethod
    def from_store(cls, store: QuadStore, release: str) -> Self:
        """Read every accepted, positive claim of the default graph between two concepts."""
        return cls.from_edges(list(load_edges(store)), release)

    @classmethod
    def load(cls, folder: File, release: str, claims: Strings | None = None) -> Self:
        """Read what :meth:`save` wrote; raise ``IndexMismatchError`` for another release.

        ``claims`` are those that it was saved with.
        """
        memmap = Memmap.open(
            folder / FILE, format=_FORMAT, release=release, claims=claims.check if claims else ""
        )
        places = Selection(memmap.strings("claims") if claims is None else claims, memmap["claim"])
        columns = {
            "source": memmap["source"],
            "target": memmap["target"],
            "kind": memmap["kind"],
            "confidence": memmap["confidence"],
        }
        ranks = memmap.arrays.get("rank")
        vector = None if ranks is None else ImportanceVector(memmap.about.get("ranking", ""), ranks)
        return cls(
            release,
            memmap.strings("nodes"),
            memmap.words("predicates"),
            places,
            **columns,
            ranked=vector,
        )

    def save(
        self, folder: File, ranking: PageRankSettings | None = None, claims: Strings | None = None
    ) -> None:
        """Write arrays and names, stamped with the release; with ``ranking`` the importance too.

        With ``claims``, a table that holds every claim, theirs are the places there.
        """
        arrays: dict[str, Array] = {
            "confidence": self.confidence, "source": self.source, "target": self.target,
            "kind": self.kind,
        }  # fmt: skip
        arrays |= self.nodes.arrays("nodes")
        if claims is None:
            arrays |= self.claims.table.arrays("claims") | {"claim": self.claims.places}
        else:
            place = {claim: at for at, claim in enumerate(claims)}
            arrays["claim"] = np.fromiter((place[each] for each in self.claims), np.int32)
        if ranking is not None:
            arrays["rank"] = self.importance(ranking).ranks
        write(
            folder / FILE,
            arrays,
            format=_FORMAT,
            release=self.release,
            claims=claims.check if claims else "",
            predicates=words(self.predicates),
            ranking=repr(ranking) if ranking else "",
        )

    def __len__(self) -> int:
        """Count the claims."""
        return len(self.claims)

    def importance(
        self, settings: PageRankSettings, before: Mapping[str, float] | None = None
    ) -> ImportanceLookup:
        """Return the weighted PageRank of every node that has a claim.

        ``before``, the ranks of this graph before a few claims changed, makes it faster. Where it
        was written for these settings, it is not rebuilt.
        """
        size = len(self.nodes)
        if (
            self.ranked
            and self.ranked.settings == repr(settings)
            and (len(self.ranked.ranks) == size)
        ):
            return ImportanceLookup(self.nodes, self.ranked.ranks)
        used = np.zeros(size, bool)
        used[self.source] = used[self.target] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        start = None
        if isinstance(before, ImportanceLookup):
            start = np.ones(size)
            start[: len(before.ranks)] = np.where(before.ranks, before.ranks, 1.0)
            start = start[used]
        ranks = np.zeros(size)
        ranks[used] = pagerank(
            int(used.sum()),
            place[self.source],
            place[self.target],
            self.confidence,
            settings,
            start,
        )
        return ImportanceLookup(self.nodes, ranks)

    def hops(self, node: str, step: Step) -> Iterator[Hop]:
        """Yield the claims that leave ``node`` along ``step``."""
        for edge in self.outgoing(self.places((node,)), step)[1].tolist():
            yield self.hop(edge, step)

    def hop(self, edge: int, step: Step) -> Hop:
        """Return a claim as it is walked along ``step``."""
        ends = self.nodes[self.source[edge]], step.predicate, self.nodes[self.target[edge]]
        return Hop(*ends, self.claims[edge], float(self.confidence[edge]), step.forward)

    def places(self, iris: Iterable[str]) -> Ints:
        """Return the places in ``nodes`` of the concepts that are there, each once."""
        known = map(self.nodes.place, dict.fromkeys(iris))
        return np.array([place for place in known if place is not None], dtype=np.int32)

    def degrees(self, nodes: Ints, step: Step) -> Ints:
        """Count the claims of each node on the side that ``step`` leaves it by, of any property."""
        bounds = (self._out if step.forward else self._in).bounds
        return bounds[nodes + 1] - bounds[nodes]

    def outgoing(self, nodes: Ints, step: Step) -> tuple[Ints, Ints]:
        """List the claims that leave some nodes along ``step``: place in ``nodes``, and claim."""
        kind = self._kind.get(step.predicate)
        if kind is None or not len(nodes):
            empty = np.empty(0, dtype=np.int32)
            return empty, empty
        return (self._out if step.forward else self._in).along(nodes, kind)

    def expected_rows(self, path: RelationPath, seeds: Iterable[str]) -> float:
        """Estimate the hops that a query along ``path`` reads, as a query planner does.

        The first hop is counted; each further one multiplies by the mean number of claims that
        leave a concept along its step.
        """
        rows = float(len(self.outgoing(self.places(seeds), path[0])[1]))
        total = rows
        for step in path[1:]:
            rows *= self._fan_out(step)
            total += rows
        return total

    def _fan_out(self, step: Step) -> float:
        known = self._fan_outs.get(step)
        if known is None:
            kind = self._kind.get(step.predicate)
            starts = (self.source if step.forward else self.target)[self.kind == kind]
            known = len(starts) / max(1, len(np.unique(starts)))
            self._fan_outs[step] = known
        return known

    def walk(self, path: RelationPath, seeds: Sequence[str], limit: int) -> Walk:
        """Follow ``path`` from ``seeds``, through no node twice; at most ``limit`` paths."""
        paths: list[Path] = []
        for seed in dict.fromkeys(seeds):
            for hops in self._follow(path, seed, (seed,)):
                if len(paths) == limit:
                    return Walk(tuple(paths), reached_limit=True)
                paths.append(Path(hops))
        return Walk(tuple(paths))

    def _follow(
        self, path: RelationPath, node: str, seen: tuple[str, ...]
    ) -> Iterator[tuple[Hop, ...]]:
        for hop in self.hops(node, path[0]):
            if hop.end in seen:
                continue
            if len(path) == 1:
                yield (hop,)
                continue
            for rest in self._follow(path[1:], hop.end, (*seen, hop.end)):
                yield (hop, *rest)


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """The edges by the node at one side, then by property: those of one property lie together.

    ``keys`` are pairs of a node and a property as one number, ascending, and ``starts`` where the
    edges of each begin in ``edges``; where that is None, the edges lie so themselves.
    """

    bounds: Ints
    keys: NDArray[np.signedinteger[Any]]
    starts: Ints
    edges: Ints | None
    kinds: int

    @classmethod
    def of(cls, nodes: Ints, kind: Ints, limit: int, kinds: int) -> Self:
        beyond = (limit + 1) * kinds  # a pair that no node has, so that one is always found
        every = nodes.astype(np.min_scalar_type(-beyond)) * kinds + kind
        edges = None
        if np.any(np.diff(every) < 0):
            edges = np.argsort(every, kind="stable").astype(np.int32)
            every = every[edges]
        starts = np.flatnonzero(np.diff(every, prepend=-1))
        bounds = np.cumsum(np.bincount(nodes + 1, minlength=limit + 1))
        keys = np.append(every[starts], every.dtype.type(beyond))
        starts = np.append(starts, [len(every)] * 2)
        return cls(bounds.astype(np.int32), keys, starts.astype(np.int32), edges, kinds)

    def along(self, nodes: Ints, kind: int) -> tuple[Ints, Ints]:
        """List the edges of some nodes by one property: place in ``nodes``, and edge."""
        wanted = nodes.astype(self.keys.dtype) * self.kinds + kind
        at = np.searchsorted(self.keys, wanted)
        first = self.starts[at]
        counts = (self.starts[at + 1] - first) * (self.keys[at] == wanted)
        origin = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
        found = _ranges(first, counts)
        return origin, found.astype(np.int32) if self.edges is None else self.edges[found]


def _ranges(firsts: Array, sizes: Array) -> NDArray[np.int64]:
    """Return the places of so many items from each first one on.

    >>> _ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    ended = np.cumsum(sizes)
    places: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(
        firsts - ended + sizes, sizes
    )
    return places


def load_edges(store: QuadStore) -> Iterator[Edge]:
    """Yield the accepted, positive claims of the default graph that have a concept as object."""
    positive = {q.subject for q in match_own(store, None, SHIYI.polarity, SHIYI.positive, _DEFAULT)}
    terms = {q.subject for q in match_own(store, None, SHIYI.status, SHIYI.accepted, _DEFAULT)}
    confidences = {
        q.subject: confidence
        for q in match_own(store, None, SHIYI.confidence, None, _DEFAULT)
        if (confidence := confidence_value(q.object)) is not None
    }
    for quad in match_own(store, None, RDF.reifies, None, _DEFAULT):
        claim, term = quad.subject, quad.object
        if not isinstance(term, Triple) or claim not in positive or claim not in terms:
            continue
        if isinstance(term.subject, NamedNode) and isinstance(term.object, NamedNode):
            if is_text(term.object.value):
                continue
            if not isinstance(claim, NamedNode) or claim not in confidences:
                continue  # written past curation
            yield Edge(
                term.subject.value,
                term.predicate.value,
                term.object.value,
                claim.value,
                confidences[claim],
            )


def update_edges(projection: Projection, gone: Collection[str], come: Sequence[Edge]) -> Projection:
    """Return the adjacency without the claims ``gone`` and with the edges ``come``.

    Walks give the same as in a rebuilt one; only the numbers of new nodes differ.
    """
    table, places = projection.claims.table, projection.claims.places
    left = _places(table, {*gone, *(edge.claim for edge in come)})
    keep = ~np.isin(places, left)
    if {*come} == {*edges_at(projection, np.flatnonzero(~keep))}:
        return projection
    nodes = _extend_names(projection.nodes, [end for e in come for end in (e.subject, e.object)])
    names = _extend_names(table, [edge.claim for edge in come])
    kinds = tuple(dict.fromkeys((*projection.predicates, *(edge.predicate for edge in come))))
    source = _join_numbers(projection.source[keep], _places(nodes, [e.subject for e in come]))
    target = _join_numbers(projection.target[keep], _places(nodes, [e.object for e in come]))
    kind = _join_numbers(projection.kind[keep], [kinds.index(e.predicate) for e in come])
    claim = _join_numbers(places[keep], _places(names, [e.claim for e in come]))
    confidence = np.r_[projection.confidence[keep], np.array([e.confidence for e in come], float)]
    order = np.lexsort((target, kind, source)) if come else np.arange(len(source))
    return replace(
        projection,
        nodes=nodes,
        predicates=kinds,
        claims=Selection(names, claim[order]),
        source=source[order],
        target=target[order],
        kind=kind[order],
        confidence=confidence[order],
        ranked=None,
    )


def edges_at(of: Projection, rows: NDArray[np.intp]) -> Iterator[Edge]:
    """Yield the edges of some rows."""
    for row in rows.tolist():
        yield Edge(
            of.nodes[of.source[row]],
            of.predicates[of.kind[row]],
            of.nodes[of.target[row]],
            of.claims[row],
            float(of.confidence[row]),
        )


def _places(names: Strings, wanted: Collection[str]) -> list[int]:
    return [place for place in map(names.place, wanted) if place is not None]


def _extend_names(names: Strings, more: Sequence[str]) -> Strings:
    fresh = [each for each in dict.fromkeys(more) if names.place(each) is None]
    return names.with_more(fresh) if fresh else names


def _join_numbers(numbers: Ints, more: list[int]) -> Ints:
    return np.concatenate([numbers, np.array(more, dtype=np.int32)])


def pagerank(
    size: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    weight: Vector,
    settings: PageRankSettings = PageRankSettings(),  # noqa: B008 - frozen
    start: Vector | None = None,
) -> Vector:
    """Return the importance of each of ``size`` nodes (Yaoshi-RAG; doi:10.2196/75279).

    ``PR(e) = (1-d)/N + d * sum(w(j->e) / sum_k w(j->k) * PR(j))``; the mass of nodes without
    out-edges is spread evenly, so the sum stays 1 (or N where ``scale_by_n`` is set).
    With ``start``, an earlier rank of nearly the same graph, few steps are needed; the result is
    the same within the tolerance. Raise ``RangeError`` for weights or damping out of range.
    """
    _check(weight, settings)
    if size == 0:
        return np.zeros(0)
    out = np.bincount(source, weights=weight, minlength=size)
    dangling = out == 0
    share = weight / np.where(dangling, 1.0, out)[source]
    rank = np.full(size, 1.0 / size)
    if start is not None and len(start) == size and bool(np.all(start > 0.0)):
        rank = start / start.sum()
    for _ in range(settings.max_iterations):
        flow = np.bincount(target, weights=share * rank[source], minlength=size)
        flow += rank[dangling].sum() / size
        following = (1.0 - settings.damping) / size + settings.damping * flow
        moved = float(np.abs(following - rank).sum())
        rank = following
        if moved < settings.tolerance:
            break
    return rank * size if settings.scale_by_n else rank


def _check(weight: Vector, settings: PageRankSettings) -> None:
    if not 0.0 <= settings.damping < 1.0:
        raise RangeError(f"a damping lies in [0, 1), not at {settings.damping}")
    if weight.size and not bool(np.all((weight >= 0.0) & (weight <= 1.0))):  # also refuses NaN
        raise RangeError("an edge weighs between 0 and 1")
