"""The adjacency after a few claims changed, without reading the store again."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shiyi.model.strings import Picked, Strings
from shiyi.reasoning.projection import Edge, Ints, Projection


def changed(projection: Projection, gone: Collection[str], come: Sequence[Edge]) -> Projection:
    """Give the adjacency without the claims ``gone`` and with the edges ``come``.

    Walks give the same as in one made anew; only the numbers of new nodes differ. Where nothing
    changes it is the same one.
    """
    table, held = projection.claims.table, projection.claims.places
    left = _places(table, {*gone, *(edge.claim for edge in come)})
    keep = ~np.isin(held, left)
    if {*come} == {*_edges(projection, np.flatnonzero(~keep))}:
        return projection
    nodes = _extended(projection.nodes, [end for e in come for end in (e.subject, e.object)])
    names = _extended(table, [edge.claim for edge in come])
    kinds = tuple(dict.fromkeys((*projection.predicates, *(edge.predicate for edge in come))))
    source = _joined(projection.source[keep], _places(nodes, [e.subject for e in come]))
    target = _joined(projection.target[keep], _places(nodes, [e.object for e in come]))
    kind = _joined(projection.kind[keep], [kinds.index(e.predicate) for e in come])
    claim = _joined(held[keep], _places(names, [e.claim for e in come]))
    confidence = np.r_[projection.confidence[keep], np.array([e.confidence for e in come], float)]
    order = np.lexsort((target, kind, source)) if come else np.arange(len(source))
    return replace(
        projection, nodes=nodes, predicates=kinds, claims=Picked(names, claim[order]),
        source=source[order], target=target[order], kind=kind[order], confidence=confidence[order],
        ranked=None,
    )  # fmt: skip


def _edges(of: Projection, rows: NDArray[np.intp]) -> Iterator[Edge]:
    for row in rows.tolist():
        yield Edge(
            of.nodes[of.source[row]], of.predicates[of.kind[row]], of.nodes[of.target[row]],
            of.claims[row], float(of.confidence[row]),
        )  # fmt: skip


def _places(names: Strings, wanted: Collection[str]) -> list[int]:
    return [place for place in map(names.place, wanted) if place is not None]


def _extended(names: Strings, more: Sequence[str]) -> Strings:
    fresh = [each for each in dict.fromkeys(more) if names.place(each) is None]
    return names.with_more(fresh) if fresh else names


def _joined(numbers: Ints, more: list[int]) -> Ints:
    return np.concatenate([numbers, np.array(more, dtype=np.int32)])
