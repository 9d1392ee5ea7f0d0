"""Removal of a source, and of what a newer version no longer states."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from shiyi.errors import UsageError
from shiyi.ingest.batches import Content
from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.gate import ACCEPTED, CANDIDATES, QUARANTINE, GateResult, list_evidence, votes
from shiyi.ingest.run import WHO, count_sweeps, forget_key, sweep_key
from shiyi.model.claim import Confidence, fuse
from shiyi.model.iris import content_hash, graph, is_text, resource
from shiyi.model.rdf import NamedNode, Quad, Triple, decimal, text
from shiyi.ontology.serialization import Graph
from shiyi.ontology.terms import DCAT, DCTERMS, PROV, RDF, SHIYI
from shiyi.prompts.caching import FILE, ReplyStore
from shiyi.sparql.base.writer import Writer
from shiyi.sparql.store.port import QuadStore

_FORGETS = "shiyi forget"
_PART = 2000  # quads, or pieces of evidence, that one change removes
_REVIEWS, _BY_HAND = graph("reviews"), resource("activity-curation")


def releases(store: QuadStore, name: str) -> list[str]:
    """List the versions of a source that a base holds."""
    start = graph("source", f"{name}@").value
    stored = {
        quad.graph_name.value
        for quad in store.match(None, RDF.type, DCAT.Dataset)
        if isinstance(quad.graph_name, NamedNode)
    }
    return sorted(each.removeprefix(start) for each in stored if each.startswith(start))


def forget(writer: Writer, name: str, version: str = "") -> dict[str, int]:
    """Remove a source, or one version of it; return counts.

    Killed at any moment and called again, it continues. Raise ``UsageError`` for no source.
    """
    stored = releases(writer.store, name)
    chosen = [each for each in stored if not version or each == version]
    if not chosen and not _was_forgotten(writer, name, version):
        known = (
            f"it holds {name}@{', '.join(stored)}" if stored else "see `shiyi query` for its graphs"
        )
        raise UsageError(f"this base holds no {name}{'@' if version else ''}{version}; {known}")
    counts = {"evidence": 0, "claims": 0, "quads": 0, "cases": 0, "asserted": 0, "records": 0}
    for each in chosen:
        _forget(writer, name, each, counts)
    chosen = [f"{name}@{each}" for each in chosen]
    counts["replies"] = _forget_replies(writer, chosen, "" if version else name)
    return counts


def _was_forgotten(writer: Writer, name: str, version: str) -> bool:
    """Return whether a source was forgotten before; what follows that may have been cut short."""
    forgotten = {record.why for record in writer.journal.records() if record.who == _FORGETS}
    if version:
        return f"{name}@{version}" in forgotten
    return any(each.partition("@")[0] == name for each in forgotten)


def _forget_replies(writer: Writer, releases: Sequence[str], source: str = "") -> int:
    """Remove the model's replies about some releases, and about every release of ``source``."""
    kb = writer.journal.path.parent
    if not (kb / FILE).is_file():
        return 0
    replies = ReplyStore.open(kb)
    count = replies.forget((*releases, *(replies.releases(source) if source else ())))
    replies.close()
    return count


def _forget(writer: Writer, name: str, version: str, counts: dict[str, int]) -> None:
    store, place = writer.store, graph("source", f"{name}@{version}")
    release = f"{name}@{version}"
    sources = [q.subject for q in store.match(None, RDF.type, SHIYI.Source, place)]
    for source in sources:
        for claims in (CANDIDATES, QUARANTINE):
            if isinstance(source, NamedNode):
                _forget_evidence(writer, source, claims, release, counts)
        if isinstance(source, NamedNode):
            nodes = list(policy_evidence(store, source))
            counts["asserted"] += len(nodes)
            drop_evidence(writer, nodes, ACCEPTED, release, counts)
            drop_quads(writer, list(_uncited_sources(store, source)), release, counts)
    for node in _case_and_school_graphs(store, release):
        while part := list(islice(store.match(graph=node), _PART)):
            counts["quads"] += len(part)
            counts["cases"] += sum(q.object == SHIYI.PatientCase for q in part)
            _remove(writer, part, [], release)
    # the description of the release goes last, so that a killed run can be resumed
    last = {q.subject for q in store.match(None, RDF.type, DCAT.Dataset, place)}
    while part := list(
        islice((q for q in store.match(graph=place) if q.subject not in last), _PART)
    ):
        counts["quads"] += len(part)
        _remove(writer, part, [], release)
    counts["records"] += writer.erase(_FORGETS, release)  # before the last change, as above
    times = 1
    while writer.journal.find(forget_key(name, version, times)) is not None:
        times += 1
    rest = list(store.match(graph=place))
    counts["quads"] += len(rest)
    key = forget_key(name, version, times)
    writer.write((), rest, key=key, agent=_FORGETS, reason=release)


def _case_and_school_graphs(store: QuadStore, release: str) -> list[NamedNode]:
    """List the graphs of cases and of schools that a release has filled."""
    schools = {
        quad.graph_name
        for quad in store.match(None, RDF.type, SHIYI.School)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.endswith(f"/{release}")
    }
    return [graph("cases", release), *sorted(schools, key=lambda node: node.value)]


def _forget_evidence(
    writer: Writer, source: NamedNode, claims: NamedNode, release: str, counts: dict[str, int]
) -> None:
    while nodes := list(islice(iter(list_evidence(claims, writer.store, source)), _PART // 20)):
        drop_evidence(writer, nodes, claims, release, counts)


def policy_evidence(store: QuadStore, source: NamedNode) -> Iterator[NamedNode]:
    """Yield the evidence of the accepted view that came with a source's policy.

    What a curator wrote, and the evidence of a claim that experts have reviewed, stays.
    """
    for node in list_evidence(ACCEPTED, store, source):
        created = next(store.match(node, PROV.wasGeneratedBy, None, ACCEPTED), None)
        terms = [quad.subject for quad in store.match(None, SHIYI.evidence, node, ACCEPTED)]
        reviewed = any(
            True for claim in terms for _ in store.match(None, DCTERMS.subject, claim, _REVIEWS)
        )
        if created is not None and created.object != _BY_HAND and not reviewed:
            yield node


def _uncited_sources(store: QuadStore, source: NamedNode) -> Iterator[Quad]:
    """Yield the description of a source that nothing in the accepted view cites any more."""
    if any(store.match(source, RDF.type, SHIYI.Source, ACCEPTED)) and not any(
        store.match(None, None, source, ACCEPTED)
    ):
        yield from store.match(source, None, None, ACCEPTED)


def drop_evidence(
    writer: Writer,
    evidence: Sequence[NamedNode],
    claims: Graph,
    release: str,
    counts: dict[str, int],
) -> None:
    """Remove pieces of evidence, and the claims of that graph that stood on them alone."""
    store, rest = writer.store, iter(evidence)
    while nodes := list(islice(rest, _PART // 20)):
        old_nodes = set(nodes)
        remove = [quad for node in nodes for quad in store.match(node, None, None, claims)]
        touched = {
            quad.subject: None
            for node in nodes
            for quad in store.match(None, SHIYI.evidence, node, claims)
        }
        add: list[Quad] = []
        for claim in touched:
            if isinstance(claim, NamedNode):
                quads, retained_quads = _reduce_claim(store, claim, claims, old_nodes)
                remove += quads
                add += retained_quads
                counts["claims"] += not retained_quads
        remove += _unused_texts(store, remove, claims)
        counts["evidence"] += len(nodes)
        counts["quads"] += len(remove)
        _remove(writer, remove, add, release)


def drop_quads(writer: Writer, quads: Sequence[Quad], release: str, counts: dict[str, int]) -> None:
    """Remove quads, a part at a time."""
    for at in range(0, len(quads), _PART):
        part = list(quads[at : at + _PART])
        counts["quads"] += len(part)
        _remove(writer, part, [], release)


def _reduce_claim(
    store: QuadStore, claim: NamedNode, claims: Graph, gone: set[NamedNode]
) -> tuple[list[Quad], list[Quad]]:
    """Return the quads a claim loses with some evidence, and its new confidence."""
    quads = list(store.match(claim, None, None, claims))
    terms = [q.object for q in quads if q.predicate == SHIYI.evidence and q.object not in gone]
    if not terms:
        return [*quads, *_asserted_quads(store, claim, quads)], []
    texts = set(_texts(store, terms, claims))
    lost_quads = [
        quad
        for quad in quads
        if quad.object in gone
        or (quad.predicate == SHIYI.supportedByText and quad.object not in texts)
        or quad.predicate == SHIYI.confidence
    ]
    remaining = set(terms)
    fused = fuse(vote for node, vote in _votes(store, claim, claims) if node in remaining)
    return lost_quads, [Quad(claim, SHIYI.confidence, decimal(fused.value), claims)]


def _asserted_quads(store: QuadStore, claim: NamedNode, quads: Sequence[Quad]) -> Iterator[Quad]:
    """Yield the asserted triple of an accepted claim, and links from others."""
    for quad in quads:
        target = quad.object
        if quad.graph_name == ACCEPTED and isinstance(target, Triple):
            if isinstance(target.subject, NamedNode):
                yield from store.match(target.subject, target.predicate, target.object, ACCEPTED)
            yield from store.match(None, SHIYI.conflictsWith, claim, ACCEPTED)


def _unused_texts(store: QuadStore, removed: Sequence[Quad], claims: Graph) -> list[Quad]:
    """Return the quads of the texts that only removed claims state."""
    quads = set(removed)
    nodes = {
        quad.object: None
        for quad in removed
        if isinstance(quad.object, NamedNode) and is_text(quad.object.value)
    }
    return [
        quad
        for node in nodes
        if quads.issuperset(store.match(None, None, node, claims))
        for quad in store.match(node, None, None, claims)
    ]


def _texts(store: QuadStore, evidence: Sequence[object], claims: Graph) -> Iterator[object]:
    for node in evidence:
        if isinstance(node, NamedNode):
            yield from (q.object for q in store.match(node, PROV.wasDerivedFrom, None, claims))


def _votes(
    store: QuadStore, claim: NamedNode, claims: Graph
) -> Iterator[tuple[object, tuple[str, Confidence]]]:
    nodes = [q.object for q in store.match(claim, SHIYI.evidence, None, claims)]
    yield from zip(nodes, votes(store, claim, claims), strict=False)


def _remove(writer: Writer, remove: list[Quad], add: list[Quad], release: str) -> None:
    remove = [quad for quad in dict.fromkeys(remove) if quad not in set(add)]
    digest = content_hash(str(writer.sequence), *(str(quad) for quad in remove[:50]))
    writer.write(add, remove, key=f"forget {release} {digest}", agent=_FORGETS, reason=release)


@dataclass(slots=True)
class SeenNodes:
    """The nodes that one whole run read, as hashes of 8 bytes, and their sources."""

    sources: set[NamedNode] = field(default_factory=set)
    files: set[str] = field(default_factory=set)  # of tables; their rows share one source
    nodes: set[int] = field(default_factory=set)

    def add(self, content: Content, judged: list[GateResult]) -> None:
        """Add the nodes of a batch."""
        self.nodes.update(hash(quad.subject) for quad in content.quads)
        for quad in content.quads:
            if quad.object == SHIYI.Source and isinstance(quad.subject, NamedNode):
                self.sources.add(quad.subject)
        for result in judged:
            claim = result.proposed.claim
            for evidence in claim.evidence:
                self.sources.add(evidence.source.iri)
                self.nodes.add(hash(evidence.iri(claim.iri)))
                if not evidence.passage:
                    self.files.add(evidence.locator.partition(":")[0])


def sweep(
    writer: Writer, dataset: Dataset, nodes: SeenNodes, others: Collection[str] = ()
) -> dict[str, int]:
    """Remove earlier statements of the source that ``nodes`` lacks; return counts.

    Only works and files that were read are swept, so that a part read alone leaves the others, and
    nothing that was found by ``others``: extractors that this run did not use.
    Killed at any moment, the next whole run ends it.
    """
    counts = {"evidence": 0, "claims": 0, "quads": 0}
    release = f"{dataset.name}@{dataset.version}"
    stale = list(_stale_evidence(writer, nodes, others))
    passages = list(_stale_passages(writer, dataset, nodes))
    replaced = [
        each
        for each in releases(writer.store, dataset.name)
        if each != dataset.version and _is_digest(dataset)
    ]
    old = [graph("source", f"{dataset.name}@{each}") for each in replaced]
    if not (stale or passages or old):
        return counts
    times = count_sweeps(writer.journal, dataset.name) + 1
    writer.write((), key=sweep_key(dataset.name, times), agent=WHO, reason=release)
    for claims in (ACCEPTED, CANDIDATES, QUARANTINE):
        drop_evidence(
            writer, [node for node, place in stale if place == claims], claims, release, counts
        )
    drop_quads(writer, passages, release, counts)
    for place in old:
        while part := list(islice(writer.store.match(graph=place), _PART)):
            drop_quads(writer, part, release, counts)
    if replaced:
        _forget_replies(writer, [f"{dataset.name}@{each}" for each in replaced])
    return counts


def _is_digest(dataset: Dataset) -> bool:
    """Return whether the version is made of the file, so that the newer replaces the older."""
    return any(digest.startswith(dataset.version) for digest in dataset.digests.values())


def _stale_evidence(
    writer: Writer, nodes: SeenNodes, others: Collection[str]
) -> Iterator[tuple[NamedNode, Graph]]:
    places: tuple[Graph, ...] = (ACCEPTED, CANDIDATES, QUARANTINE)
    for place in places:
        for source in nodes.sources:
            for node in (
                policy_evidence(writer.store, source)
                if place == ACCEPTED
                else list_evidence(place, writer.store, source)
            ):
                if hash(node) in nodes.nodes:
                    continue
                if _extractor_name(writer, node, place) in others:
                    continue
                if _is_of_files(writer, node, source, place, nodes):
                    yield node, place


def _extractor_name(writer: Writer, node: NamedNode, place: Graph) -> str:
    """Name the extractor that found evidence, without its version; "" where none is named."""
    quad = next(writer.store.match(node, PROV.wasGeneratedBy, None, place), None)
    if quad is None:
        return ""
    return text(quad.object).rpartition("/")[2].removeprefix("activity-").rpartition("-")[0]


def _is_of_files(
    writer: Writer, node: NamedNode, source: NamedNode, place: Graph, nodes: SeenNodes
) -> bool:
    """Return whether evidence is of a passage, or of a row of a file that was read."""
    quad = next(writer.store.match(node, PROV.wasDerivedFrom, None, place), None)
    if quad is None or quad.object != source:
        return True
    where = next(writer.store.match(node, SHIYI.sourceLocator, None, place), None)
    return where is not None and text(where.object).partition(":")[0] in nodes.files


def _stale_passages(writer: Writer, dataset: Dataset, nodes: SeenNodes) -> Iterator[Quad]:
    """Yield the quads of sections and passages of the works read that are no longer there."""
    for kind in (SHIYI.Passage, SHIYI.Section):
        for quad in list(writer.store.match(None, RDF.type, kind, dataset.graph)):
            node = quad.subject
            if not isinstance(node, NamedNode) or hash(node) in nodes.nodes:
                continue
            if _work_of(writer, node, dataset) in nodes.sources:
                yield from writer.store.match(node, None, None, dataset.graph)


def _work_of(writer: Writer, node: NamedNode, dataset: Dataset) -> NamedNode | None:
    """Return the source that a passage or section is of: its own, or that of what it is part of."""
    store, at = writer.store, node
    for _ in range(100):
        result = next(store.match(at, PROV.wasDerivedFrom, None, dataset.graph), None)
        if result and isinstance(result.object, NamedNode):
            return result.object
        above = next(store.match(at, SHIYI.partOfSection, None, dataset.graph), None)
        if above is None or not isinstance(above.object, NamedNode):
            return None
        at = above.object
    return None
