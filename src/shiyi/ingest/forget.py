"""Forgetting a source: its graph, its evidence, and the claims that stood on it alone."""

from collections.abc import Iterator, Sequence
from itertools import islice

from shiyi.errors import UsageError
from shiyi.ingest.gate import ACCEPTED, CANDIDATES, QUARANTINE, sources_of
from shiyi.ingest.releases import forget_key
from shiyi.ingest.votes import votes
from shiyi.model.confidence import Confidence, fuse
from shiyi.model.names import content_hash, graph, resource
from shiyi.model.rdf import NamedNode, Quad, Triple, decimal
from shiyi.ontology.statements import Graph
from shiyi.ontology.terms import DCAT, DCTERMS, PROV, RDF, SHIYI
from shiyi.prompts.replies import Replies
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import Writer

_PART = 2000  # quads, or pieces of evidence, that one change removes
_REVIEWS, _BY_HAND = graph("reviews"), resource("activity-curation")


def releases(store: QuadStore, name: str) -> list[str]:
    """List the versions of a source that a base holds."""
    start = graph("source", f"{name}@").value
    held = {
        quad.graph_name.value
        for quad in store.match(None, RDF.type, DCAT.Dataset)
        if isinstance(quad.graph_name, NamedNode)
    }
    return sorted(each.removeprefix(start) for each in held if each.startswith(start))


def forget(writer: Writer, name: str, version: str = "") -> dict[str, int]:
    """Remove a source whole, or one version of it; count what went.

    Killed at any moment and called again, it goes on. Raises :class:`UsageError` where the base
    holds no such source.
    """
    held = releases(writer.store, name)
    chosen = [each for each in held if not version or each == version]
    if not chosen:
        known = f"it holds {name}@{', '.join(held)}" if held else "see `shiyi query` for its graphs"
        raise UsageError(f"this base holds no {name}{'@' if version else ''}{version}; {known}")
    counts = {"evidence": 0, "claims": 0, "quads": 0, "cases": 0, "asserted": 0}
    for each in chosen:
        _forget(writer, name, each, counts)
    replies = Replies.open(writer.journal.path.parent)
    counts["replies"] = replies.forget(f"{name}@{each}" for each in chosen)
    replies.close()
    return counts


def _forget(writer: Writer, name: str, version: str, counts: dict[str, int]) -> None:
    store, place = writer.store, graph("source", f"{name}@{version}")
    release = f"{name}@{version}"
    sources = [q.subject for q in store.match(None, RDF.type, SHIYI.Source, place)]
    for source in sources:
        for claims in (CANDIDATES, QUARANTINE):
            if isinstance(source, NamedNode):
                _forget_evidence(writer, source, claims, release, counts)
        if isinstance(source, NamedNode):
            asserted = list(asserted_by_policy(store, source))
            counts["asserted"] += len(asserted)
            drop_evidence(writer, asserted, ACCEPTED, release, counts)
            drop_quads(writer, list(_uncited(store, source)), release, counts)
    for beside in _beside(store, release):
        while part := list(islice(store.match(graph=beside), _PART)):
            counts["quads"] += len(part)
            counts["cases"] += sum(q.object == SHIYI.PatientCase for q in part)
            _remove(writer, part, [], release)
    # the description of the release goes last, so that a killed run can be found again
    last = {q.subject for q in store.match(None, RDF.type, DCAT.Dataset, place)}
    while part := list(
        islice((q for q in store.match(graph=place) if q.subject not in last), _PART)
    ):
        counts["quads"] += len(part)
        _remove(writer, part, [], release)
    times = 1
    while writer.journal.find(forget_key(name, version, times)) is not None:
        times += 1
    rest = list(store.match(graph=place))
    counts["quads"] += len(rest)
    key = forget_key(name, version, times)
    writer.write((), rest, key=key, who="shiyi forget", why=release)


def _beside(store: QuadStore, release: str) -> list[NamedNode]:
    """List the graphs of cases and of schools that a release has filled."""
    schools = {
        quad.graph_name for quad in store.match(None, RDF.type, SHIYI.School)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.endswith(f"/{release}")
    }  # fmt: skip
    return [graph("cases", release), *sorted(schools, key=lambda each: each.value)]


def _forget_evidence(
    writer: Writer, source: NamedNode, claims: NamedNode, release: str, counts: dict[str, int]
) -> None:
    while nodes := list(islice(iter(sources_of(claims, writer.store, source)), _PART // 20)):
        drop_evidence(writer, nodes, claims, release, counts)


def asserted_by_policy(store: QuadStore, source: NamedNode) -> Iterator[NamedNode]:
    """Yield the evidence of the accepted view that came with a source's policy.

    What a curator wrote, and the evidence of a claim that experts have reviewed, stays.
    """
    for node in sources_of(ACCEPTED, store, source):
        made = next(store.match(node, PROV.wasGeneratedBy, None, ACCEPTED), None)
        cited = [quad.subject for quad in store.match(None, SHIYI.evidence, node, ACCEPTED)]
        reviewed = any(
            True for claim in cited for _ in store.match(None, DCTERMS.subject, claim, _REVIEWS)
        )
        if made is not None and made.object != _BY_HAND and not reviewed:
            yield node


def _uncited(store: QuadStore, source: NamedNode) -> Iterator[Quad]:
    """Yield what the accepted view says of a source that nothing in it cites any more."""
    if any(store.match(source, RDF.type, SHIYI.Source, ACCEPTED)) and not any(
        store.match(None, None, source, ACCEPTED)
    ):
        yield from store.match(source, None, None, ACCEPTED)


def drop_evidence(
    writer: Writer, evidence: Sequence[NamedNode], claims: Graph, release: str,
    counts: dict[str, int],
) -> None:  # fmt: skip
    """Remove pieces of evidence, and the claims of that graph that stood on them alone."""
    store, rest = writer.store, iter(evidence)
    while nodes := list(islice(rest, _PART // 20)):
        gone = set(nodes)
        remove = [quad for node in nodes for quad in store.match(node, None, None, claims)]
        touched = {
            quad.subject: None
            for node in nodes
            for quad in store.match(None, SHIYI.evidence, node, claims)
        }
        add: list[Quad] = []
        for claim in touched:
            if isinstance(claim, NamedNode):
                lost, kept = _without(store, claim, claims, gone)
                remove += lost
                add += kept
                counts["claims"] += not kept
        counts["evidence"] += len(nodes)
        counts["quads"] += len(remove)
        _remove(writer, remove, add, release)


def drop_quads(writer: Writer, quads: Sequence[Quad], release: str, counts: dict[str, int]) -> None:
    """Remove quads, a part at a time."""
    for at in range(0, len(quads), _PART):
        part = list(quads[at : at + _PART])
        counts["quads"] += len(part)
        _remove(writer, part, [], release)


def _without(
    store: QuadStore, claim: NamedNode, claims: Graph, gone: set[NamedNode]
) -> tuple[list[Quad], list[Quad]]:
    """Give what a claim loses with some evidence, and the confidence it then has."""
    quads = list(store.match(claim, None, None, claims))
    left = [q.object for q in quads if q.predicate == SHIYI.evidence and q.object not in gone]
    if not left:
        return [*quads, *_asserted(store, claim, quads)], []
    texts = set(_texts(store, left, claims))
    lost = [
        quad for quad in quads
        if quad.object in gone
        or (quad.predicate == SHIYI.supportedByText and quad.object not in texts)
        or quad.predicate == SHIYI.confidence
    ]  # fmt: skip
    kept = set(left)
    fused = fuse(vote for node, vote in _votes(store, claim, claims) if node in kept)
    return lost, [Quad(claim, SHIYI.confidence, decimal(fused.value), claims)]


def _asserted(store: QuadStore, claim: NamedNode, quads: Sequence[Quad]) -> Iterator[Quad]:
    """Yield what goes with a claim of the accepted view: its triple, and links from others."""
    for quad in quads:
        said = quad.object
        if quad.graph_name == ACCEPTED and isinstance(said, Triple):
            if isinstance(said.subject, NamedNode):
                yield from store.match(said.subject, said.predicate, said.object, ACCEPTED)
            yield from store.match(None, SHIYI.conflictsWith, claim, ACCEPTED)


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
    writer.write(add, remove, key=f"forget {release} {digest}", who="shiyi forget", why=release)
