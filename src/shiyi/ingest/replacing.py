"""What a source said before and says no longer: taken back once the whole of it was read again."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice

from shiyi.ingest.datasets import Dataset
from shiyi.ingest.forget import asserted_by_policy, drop_evidence, drop_quads, releases
from shiyi.ingest.gate import ACCEPTED, CANDIDATES, QUARANTINE, Judged, sources_of
from shiyi.ingest.releases import sweep_key, swept
from shiyi.ingest.run import WHO, Content
from shiyi.model.names import graph
from shiyi.model.rdf import NamedNode, Quad, text
from shiyi.ontology.statements import Graph
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.sparql.writer import Writer

_PART = 2000


@dataclass(slots=True)
class Seen:
    """What one whole run read: hashes of nodes, 8 bytes each, and the sources they are of."""

    sources: set[NamedNode] = field(default_factory=set)
    files: set[str] = field(default_factory=set)  # of tables, whose rows share one source
    nodes: set[int] = field(default_factory=set)

    def take(self, content: Content, judged: list[Judged]) -> None:
        """Note what a batch holds."""
        self.nodes.update(hash(quad.subject) for quad in content.quads)
        for quad in content.quads:
            if quad.object == SHIYI.Source and isinstance(quad.subject, NamedNode):
                self.sources.add(quad.subject)
        for each in judged:
            claim = each.proposed.claim
            for evidence in claim.evidence:
                self.sources.add(evidence.source.iri)
                self.nodes.add(hash(evidence.iri(claim.iri)))
                if not evidence.passage:
                    self.files.add(evidence.locator.partition(":")[0])


def sweep(
    writer: Writer, dataset: Dataset, seen: Seen, others: Collection[str] = ()
) -> dict[str, int]:
    """Remove what the source said before and ``seen`` does not hold; count what went.

    Only works and files that were read are swept, so that a part read alone leaves the others, and
    nothing that was found by ``others``: extractors that this run did not use.
    Killed at any moment, the next whole run ends it.
    """
    counts = {"evidence": 0, "claims": 0, "quads": 0}
    release = f"{dataset.name}@{dataset.version}"
    stale = list(_stale_evidence(writer, seen, others))
    passages = list(_stale_passages(writer, dataset, seen))
    old = [graph("source", f"{dataset.name}@{each}") for each in releases(writer.store, dataset.name)
           if each != dataset.version and _is_digest(dataset)]  # fmt: skip
    if not (stale or passages or old):
        return counts
    times = swept(writer.journal, dataset.name) + 1
    writer.write((), key=sweep_key(dataset.name, times), who=WHO, why=release)
    for claims in (ACCEPTED, CANDIDATES, QUARANTINE):
        drop_evidence(writer, [node for node, place in stale if place == claims], claims, release,
                      counts)  # fmt: skip
    drop_quads(writer, passages, release, counts)
    for place in old:
        while part := list(islice(writer.store.match(graph=place), _PART)):
            drop_quads(writer, part, release, counts)
    return counts


def _is_digest(dataset: Dataset) -> bool:
    """Tell whether the version is made of the file, so that the newer replaces the older."""
    return any(each.startswith(dataset.version) for each in dataset.digests.values())


def _stale_evidence(
    writer: Writer, seen: Seen, others: Collection[str]
) -> Iterator[tuple[NamedNode, Graph]]:
    places: tuple[Graph, ...] = (ACCEPTED, CANDIDATES, QUARANTINE)
    for place in places:
        for source in seen.sources:
            for node in (
                asserted_by_policy(writer.store, source) if place == ACCEPTED
                else sources_of(place, writer.store, source)
            ):  # fmt: skip
                if hash(node) in seen.nodes:
                    continue
                if _found_by(writer, node, place) in others:
                    continue
                if _is_of_files(writer, node, source, place, seen):
                    yield node, place


def _found_by(writer: Writer, node: NamedNode, place: Graph) -> str:
    """Name the extractor that found evidence, without its version; "" where none is named."""
    made = next(writer.store.match(node, PROV.wasGeneratedBy, None, place), None)
    if made is None:
        return ""
    return text(made.object).rpartition("/")[2].removeprefix("activity-").rpartition("-")[0]


def _is_of_files(
    writer: Writer, node: NamedNode, source: NamedNode, place: Graph, seen: Seen
) -> bool:
    """Tell whether evidence is of a passage, or of a row of a file that was read."""
    derived = next(writer.store.match(node, PROV.wasDerivedFrom, None, place), None)
    if derived is None or derived.object != source:
        return True
    where = next(writer.store.match(node, SHIYI.sourceLocator, None, place), None)
    return where is not None and text(where.object).partition(":")[0] in seen.files


def _stale_passages(writer: Writer, dataset: Dataset, seen: Seen) -> Iterator[Quad]:
    """Yield what is said of sections and passages of works that were read, and not of these."""
    for kind in (SHIYI.Passage, SHIYI.Section):
        for quad in list(writer.store.match(None, RDF.type, kind, dataset.graph)):
            node = quad.subject
            if not isinstance(node, NamedNode) or hash(node) in seen.nodes:
                continue
            if _work_of(writer, node, dataset) in seen.sources:
                yield from writer.store.match(node, None, None, dataset.graph)


def _work_of(writer: Writer, node: NamedNode, dataset: Dataset) -> NamedNode | None:
    """Give the source that a passage or section is of: its own, or that of what it is part of."""
    store, at = writer.store, node
    for _ in range(100):
        found = next(store.match(at, PROV.wasDerivedFrom, None, dataset.graph), None)
        if found and isinstance(found.object, NamedNode):
            return found.object
        above = next(store.match(at, SHIYI.partOfSection, None, dataset.graph), None)
        if above is None or not isinstance(above.object, NamedNode):
            return None
        at = above.object
    return None
