"""The parts of every accepted claim's confidence, fused and written beside it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from shiyi.errors import RangeError, UsageError
from shiyi.model.names import graph as named_graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, decimal, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.embedding import Model
from shiyi.reasoning.evidence import Parts, Structure
from shiyi.reasoning.fusion import Calibration, Fusion, calibrated, numbered
from shiyi.reasoning.inheritance import DERIVED
from shiyi.reasoning.profiles import Values
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.swap import PARTS
from shiyi.sparql.store import QuadStore

LEAST = 200  # claims below which nothing is fitted and the closed form holds (ours)
_REJECTED = named_graph("rejected")
_DISPUTED = 0.25  # of a contradicting claim's confidence is what text support loses (ours)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Parts and fused confidence of each claim of a graph, in its order.

    ``calibration`` is None where there were too few claims to fit and measure.
    """

    graph: Projection
    text: Values
    parts: Parts
    fused: Values
    fusion: Fusion
    calibration: Calibration | None

    def quads(self) -> Iterator[Quad]:
        """Yield five annotations a claim, in graph:derived; the accepted view stays as it is."""
        columns = (self.text, self.parts.entity, self.parts.relation, self.parts.path, self.fused)
        for i, claim in enumerate(self.graph.claims):
            node = NamedNode(claim)
            for predicate, values in zip(PARTS, columns, strict=True):
                yield Quad(node, predicate, decimal(float(values[i])), DERIVED)


def weigh(
    graph: Projection,
    disputes: Mapping[str, float] | None = None,
    model: Model | None = None,
    seed: int = 0,
    refused: Iterable[tuple[str, str, str]] = (),
    decayed: Mapping[str, float] | None = None,
) -> Weighed:
    """Weigh every claim of a graph; raises ``UsageError`` for an empty one.

    ``disputes`` gives the confidence of the surest claim against a claim. With a trained
    ``model`` its belief takes the place of the energy at the relation level, where it knows
    all three names. ``refused`` triples are learnt from as claims that do not hold; ``decayed`` gives the
    confidence of claims that a retracted source states, in the place of the graph's.
    """
    if not len(graph):
        raise UsageError("an empty graph has no claims to weigh; run shiyi build or shiyi ingest")
    structure = Structure.of(graph)
    fitted: Fusion = Fusion()
    measured: Calibration | None = None
    if len(graph) >= LEAST:
        fitted, measured = calibrated(structure, seed, refused)
    parts = structure.ask(numbered(structure), graph.confidence)
    if model is not None:
        parts = Parts(parts.entity, _learnt(graph, model, parts.relation), parts.path)
    against = np.array([(disputes or {}).get(claim, 0.0) for claim in graph.claims])
    held = np.array([(decayed or {}).get(c, v) for c, v in zip(
        graph.claims, graph.confidence.tolist(), strict=True)])  # fmt: skip
    support = held * (1.0 - _DISPUTED * against)
    fused = fitted.fused(support, parts.columns())
    if not bool(np.isfinite(fused).all()):
        raise RangeError("a fused confidence came out as no number; nothing was written")
    return Weighed(graph, support, parts, fused, fitted, measured)


def disputes(store: QuadStore) -> Mapping[str, float]:
    """Give, by claim IRI, the confidence of the surest claim it conflicts with."""
    worst: dict[str, float] = {}
    for quad in store.match(None, SHIYI.conflictsWith, None, DefaultGraph()):
        if not isinstance(quad.subject, NamedNode) or not isinstance(quad.object, NamedNode):
            continue
        for value in store.match(quad.object, SHIYI.confidence, None, DefaultGraph()):
            held = float(str(getattr(value.object, "value", "0")))
            worst[quad.subject.value] = max(worst.get(quad.subject.value, 0.0), held)
    return worst


def refused(store: QuadStore) -> frozenset[tuple[str, str, str]]:
    """Give the triples that curators rejected and nobody accepts."""
    found = set()
    for quad in store.match(None, SHIYI.status, SHIYI.rejected, _REJECTED):
        claim = quad.subject
        if not isinstance(claim, NamedNode) or any(
            store.match(claim, SHIYI.status, SHIYI.accepted, DefaultGraph())
        ):
            continue
        for said in store.match(claim, RDF.reifies, None, _REJECTED):
            if isinstance(said.object, Triple):
                ends = said.object.subject, said.object.object
                found.add((text(ends[0]), said.object.predicate.value, text(ends[1])))
    return frozenset(found)


def _learnt(graph: Projection, model: Model, otherwise: Values) -> Values:
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), strict=True)
    learnt = otherwise.copy()
    for i, (head, kind, tail) in enumerate(rows):
        names = (graph.nodes[head], graph.predicates[kind], graph.nodes[tail])
        if model.knows(*names):
            learnt[i] = model.confidence(*names)
    return learnt
