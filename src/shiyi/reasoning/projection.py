"""The accepted claims as a compressed adjacency, for importance and for walking from hubs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError
from shiyi.model.mapped import Mapped, words, write
from shiyi.model.path import Hop, Path, RelationPath, Step
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Triple
from shiyi.model.steps import ranges
from shiyi.model.strings import Picked, Strings, least, told, told_apart
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.pagerank import Ranks, Vector, pagerank
from shiyi.settings import PageRankSettings
from shiyi.sparql.store import QuadStore

Ints = NDArray[np.int32]
_DEFAULT = DefaultGraph()
FILE = "adjacency.safetensors"
_FORMAT = "2"


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


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The importance of every node, as :meth:`Projection.importance` gives it for some settings."""

    settings: str
    ranks: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Edges sorted by subject, then predicate; the same edges once more by object.

    ``nodes``, ``predicates`` and ``claims`` are IRIs; edge ``i`` runs from ``source[i]`` to
    ``target[i]``, is claim ``claims[i]`` and is held with ``confidence[i]`` in [0, 1].
    """

    release: str
    nodes: Strings
    predicates: tuple[str, ...]
    claims: Picked
    source: Ints
    target: Ints
    kind: Ints
    confidence: Vector
    ranked: Ranked | None = None  # where it was written with the arrays
    _kind: Mapping[str, int] = field(init=False, repr=False)
    _out: "_Sides" = field(init=False, repr=False)
    _in: "_Sides" = field(init=False, repr=False)

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
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_edges(cls, edges: Sequence[Edge], release: str) -> Self:
        """Give the nodes numbers in alphabetical order, so that equal claims give equal arrays."""
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
            release, Strings.of(nodes), tuple(predicates), Picked.of([row[3] for row in rows]),
            source=ints[:, 0].copy(), kind=ints[:, 1].copy(), target=ints[:, 2].copy(),
            confidence=np.array([row[4] for row in rows], dtype=np.float64),
        )  # fmt: skip

    @classmethod
    def from_store(cls, store: QuadStore, release: str) -> Self:
        """Read every accepted, positive claim of the default graph between two concepts."""
        return cls.from_edges(list(accepted_edges(store)), release)

    @classmethod
    def load(cls, folder: File, release: str, claims: Strings | None = None) -> Self:
        """Read what :meth:`save` wrote; raises ``IndexMismatchError`` for another release.

        ``claims`` are those that it was saved with.
        """
        said = Mapped.open(
            folder / FILE, format=_FORMAT, release=release, claims=claims.check if claims else ""
        )
        places = Picked(said.strings("claims") if claims is None else claims, said["claim"])
        kept = {
            "source": np.repeat(
                np.arange(len(said["source"]), dtype=np.int32), said["source"]
            ),
            "target": said["target"], "kind": said["kind"].astype(np.int32),
            "confidence": told(said.arrays, "confidence"),
        }  # fmt: skip
        ranks = said.arrays.get("rank")
        ranked = None if ranks is None else Ranked(said.about.get("ranking", ""), ranks)
        return cls(
            release, said.strings("nodes"), said.words("predicates"), places, **kept, ranked=ranked
        )

    def save(
        self, folder: File, ranking: PageRankSettings | None = None, claims: Strings | None = None
    ) -> None:
        """Write arrays and names, stamped with the release; with ``ranking`` the importance too.

        With ``claims``, a table that holds every claim, theirs are the places there.
        """
        leaving = np.bincount(self.source, minlength=len(self.nodes))
        arrays = told_apart("confidence", self.confidence) | {
            "source": leaving.astype(least(int(leaving.max(initial=0)))), "target": self.target,
            "kind": self.kind.astype(least(len(self.predicates))),
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
            folder / FILE, arrays, format=_FORMAT, release=self.release, claims=claims.check if claims else "", predicates=words(self.predicates),
            ranking=repr(ranking) if ranking else "",
        )  # fmt: skip

    def __len__(self) -> int:
        """Count the claims."""
        return len(self.claims)

    def importance(
        self, settings: PageRankSettings, before: Mapping[str, float] | None = None
    ) -> Ranks:
        """Give every node that has a claim its weighted PageRank.

        ``before``, the ranks of this graph before a few claims changed, makes it faster. Where it
        was written for these settings, it is not made again.
        """
        size = len(self.nodes)
        if self.ranked and self.ranked.settings == repr(settings) and (
            len(self.ranked.ranks) == size
        ):  # fmt: skip
            return Ranks(self.nodes, self.ranked.ranks)
        used = np.zeros(size, bool)
        used[self.source] = used[self.target] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        start = None
        if isinstance(before, Ranks):
            start = np.ones(size)
            start[: len(before.ranks)] = np.where(before.ranks, before.ranks, 1.0)
            start = start[used]
        ranks = np.zeros(size)
        ranks[used] = pagerank(
            int(used.sum()), place[self.source], place[self.target], self.confidence, settings,
            start,
        )  # fmt: skip
        return Ranks(self.nodes, ranks)

    def hops(self, node: str, step: Step) -> Iterator[Hop]:
        """Yield the claims that leave ``node`` along ``step``."""
        for i in self.leaving(self.places((node,)), step)[1].tolist():
            yield Hop(
                self.nodes[self.source[i]], step.predicate, self.nodes[self.target[i]],
                self.claims[i], float(self.confidence[i]), step.forward,
            )  # fmt: skip

    def places(self, iris: Iterable[str]) -> Ints:
        """Give the places in ``nodes`` of the concepts that are there, each once."""
        known = map(self.nodes.place, dict.fromkeys(iris))
        return np.array([place for place in known if place is not None], dtype=np.int32)

    def degrees(self, nodes: Ints, step: Step) -> Ints:
        """Count the claims of each node on the side that ``step`` leaves it by, of any property."""
        bounds = (self._out if step.forward else self._in).bounds
        return bounds[nodes + 1] - bounds[nodes]

    def leaving(self, nodes: Ints, step: Step) -> tuple[Ints, Ints]:
        """List the claims that leave some nodes along ``step``: place in ``nodes``, and claim."""
        kind = self._kind.get(step.predicate)
        if kind is None or not len(nodes):
            empty = np.empty(0, dtype=np.int32)
            return empty, empty
        return (self._out if step.forward else self._in).along(nodes, kind)

    def walk(self, path: RelationPath, seeds: Sequence[str], limit: int) -> Walk:
        """Follow ``path`` from ``seeds``, through no node twice; at most ``limit`` paths."""
        found: list[Path] = []
        for seed in dict.fromkeys(seeds):
            for hops in self._follow(path, seed, (seed,)):
                if len(found) == limit:
                    return Walk(tuple(found), reached_limit=True)
                found.append(Path(hops))
        return Walk(tuple(found))

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
    def of(cls, nodes: Ints, kind: Ints, most: int, kinds: int) -> Self:
        beyond = (most + 1) * kinds  # a pair that no node has, so that one is always found
        every = nodes.astype(np.min_scalar_type(-beyond)) * kinds + kind
        edges = None
        if np.any(np.diff(every) < 0):
            edges = np.argsort(every, kind="stable").astype(np.int32)
            every = every[edges]
        starts = np.flatnonzero(np.diff(every, prepend=-1))
        bounds = np.cumsum(np.bincount(nodes + 1, minlength=most + 1))
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
        found = ranges(first, counts)
        return origin, found.astype(np.int32) if self.edges is None else self.edges[found]


def accepted_edges(store: QuadStore) -> Iterator[Edge]:
    """Yield the accepted, positive claims of the default graph whose object is a concept."""
    positive = {q.subject for q in store.match(None, SHIYI.polarity, SHIYI.positive, _DEFAULT)}
    accepted = {q.subject for q in store.match(None, SHIYI.status, SHIYI.accepted, _DEFAULT)}
    held = {
        q.subject: float(q.object.value)
        for q in store.match(None, SHIYI.confidence, None, _DEFAULT)
        if isinstance(q.object, Literal)
    }
    for quad in store.match(None, RDF.reifies, None, _DEFAULT):
        claim, term = quad.subject, quad.object
        if not isinstance(term, Triple) or claim not in positive or claim not in accepted:
            continue
        if isinstance(term.subject, NamedNode) and isinstance(term.object, NamedNode):
            if not isinstance(claim, NamedNode) or claim not in held:
                raise RangeError(f"the claim {claim} is accepted without a confidence or an IRI")
            yield Edge(
                term.subject.value, term.predicate.value, term.object.value, claim.value,
                held[claim],
            )  # fmt: skip
