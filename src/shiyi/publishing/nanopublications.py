"""Claims for tools of RDF 1.1 that think in named graphs: nanopublications and singleton graphs."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode, Quad, Triple, parse_n_quads_lines
from shiyi.ontology.terms import DCTERMS, PREFIXES, PROV, RDF, SHIYI
from shiyi.publishing.lowering import lower

_NP: Final = "http://www.nanopub.org/nschema#"
_LICENCE: Final = NamedNode("https://creativecommons.org/licenses/by/4.0/")
_CREATOR: Final = NamedNode(PREFIXES["dcterms"] + "creator")
_PUBLISHER: Final = NamedNode("https://w3id.org/shiyi/")
_CLAIM: Final = f"<{ID}claim/".encode()
_EVIDENCE: Final = f"<{ID}evidence/".encode()
_SOURCED: Final = (DCTERMS.source, PROV.wasDerivedFrom)


def nanopublications(lines: Iterable[bytes]) -> Iterator[Quad]:
    """Yield one nanopublication for each claim of the accepted view, lines being sorted.

    Four graphs each, named by the claim: ``#head``, ``#assertion``, ``#provenance`` and
    ``#pubinfo`` (nanopub.org guidelines). A negative claim asserts that its statement does not
    hold, as a lowered statement; its triple is nowhere asserted.
    """
    about = (line for line in lines if line.startswith((_CLAIM, _EVIDENCE)))
    claims: list[bytes] = []
    evidence: dict[bytes, bytes] = {}  # as text, which takes a third of what terms take
    for subject, said in groupby(about, key=lambda line: line.partition(b" ")[0]):
        if subject.startswith(_CLAIM):
            claims.append(b"\n".join(said))
        else:
            evidence[subject] = b"\n".join(said)
    for each in claims:
        own = list(parse_n_quads_lines([each]))
        if isinstance(claim := own[0].subject, NamedNode):
            yield from _nanopublication(claim, own, evidence)


def _nanopublication(
    claim: NamedNode, own: list[Quad], evidence: Mapping[bytes, bytes]
) -> Iterator[Quad]:
    part = {name: NamedNode(f"{claim.value}#{name}") for name in (
        "nanopub", "head", "assertion", "provenance", "pubinfo",
    )}  # fmt: skip
    nanopub, head, assertion = part["nanopub"], part["head"], part["assertion"]
    yield Quad(nanopub, RDF.type, NamedNode(_NP + "Nanopublication"), head)
    for name, graph in (
        ("hasAssertion", assertion), ("hasProvenance", part["provenance"]),
        ("hasPublicationInfo", part["pubinfo"]),
    ):  # fmt: skip
        yield Quad(nanopub, NamedNode(_NP + name), graph, head)
    yield from _assertion(claim, own, assertion)
    provenance = part["provenance"]
    for quad in own:
        if quad.predicate in (SHIYI.confidence, SHIYI.status):
            yield Quad(assertion, quad.predicate, quad.object, provenance)
        if quad.predicate == SHIYI.evidence and isinstance(quad.object, NamedNode):
            yield Quad(assertion, SHIYI.evidence, quad.object, provenance)
            for said in parse_n_quads_lines([evidence.get(str(quad.object).encode(), b"")]):
                if said.predicate in _SOURCED:
                    yield Quad(assertion, PROV.wasDerivedFrom, said.object, provenance)
                yield Quad(quad.object, said.predicate, said.object, provenance)
    pubinfo = part["pubinfo"]
    yield Quad(nanopub, DCTERMS.license, _LICENCE, pubinfo)
    yield Quad(nanopub, _CREATOR, _PUBLISHER, pubinfo)
    yield Quad(nanopub, PROV.wasDerivedFrom, claim, pubinfo)


def _assertion(claim: NamedNode, own: list[Quad], graph: NamedNode) -> Iterator[Quad]:
    positive = any(quad.object == SHIYI.positive for quad in own)
    for quad in own:
        if quad.predicate == RDF.reifies and isinstance(inner := quad.object, Triple):
            if positive and isinstance(inner.subject, NamedNode):
                yield Quad(inner.subject, inner.predicate, inner.object, graph)
            elif not positive:
                for lowered in lower([quad]):
                    yield Quad(claim, lowered.predicate, lowered.object, graph)
                yield Quad(claim, SHIYI.polarity, SHIYI.negative, graph)


def singletons(lines: Iterable[bytes]) -> Iterator[Quad]:
    """Yield the accepted view with each positive claim's triple also in a graph of its own.

    The graph has the claim's name, so that ``GRAPH ?claim { ?s ?p ?o }`` asks for claims. What
    is not asserted stays a lowered statement of the default graph.
    """
    positive = f"{SHIYI.polarity} {SHIYI.positive}".encode()
    held: list[bytes] = []
    asserted: set[bytes] = set()
    for line in lines:
        subject, _, rest = line.partition(b" ")
        if rest.startswith(positive):
            asserted.add(subject)
        if rest.startswith(str(RDF.reifies).encode()):
            held.append(line)  # a claim's polarity is sorted behind what it reifies
        elif not rest.startswith(_HELPERS):
            yield from parse_n_quads_lines([line])
    for quad in parse_n_quads_lines(held):
        claim = quad.subject
        if isinstance(claim, NamedNode) and isinstance(inner := quad.object, Triple):
            if str(claim).encode() not in asserted:
                yield from lower([quad])
            elif isinstance(inner.subject, NamedNode):
                yield Quad(inner.subject, inner.predicate, inner.object, claim)


_HELPERS: Final = tuple(str(p).encode() for p in (RDF.subject, RDF.predicate, RDF.object))
