"""Proposed terms and shapes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing.form import fault
from shiyi.errors import Fault, FormError, RightsError, ShiyiError
from shiyi.model.iris import VOCAB, content_hash, graph, resource
from shiyi.model.rdf import (
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    local_name,
    parse,
    parse_turtle,
    text,
)
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, OA, PREFIXES, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

PROPOSALS: Final = graph("proposals")
_NAME = re.compile(r"[a-z][A-Za-z]{2,40}")
_PATTERN = 200  # characters of a regular expression
_USED = ("shiyi", "owl", "rdf", "rdfs", "skos", "dcterms", "sh", "xsd")
_SH_CLASS, _SH_PATH, _SH_PATTERN, _SH_MESSAGE = (
    NamedNode(PREFIXES["sh"] + name) for name in ("targetClass", "path", "pattern", "message")
)
_KINDS: Final = {
    PREFIXES["owl"] + "ObjectProperty": "relation",
    PREFIXES["owl"] + "DatatypeProperty": "relation",
    PREFIXES["sh"] + "NodeShape": "shape",
}
_NEEDED: Final = {
    "relation": (RDFS.label, RDFS.domain, RDFS.range, SKOS.definition, DCTERMS.source),
    "shape": (_SH_CLASS, _SH_PATH, _SH_MESSAGE),
}
_BILINGUAL: Final = {RDFS.label, SKOS.definition, _SH_MESSAGE}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed term or shape; ``turtle`` is its full text."""

    iri: str
    kind: str
    name: str
    turtle: str
    reason: str
    status: str

    @property
    def is_open(self) -> bool:
        """Return whether nobody has decided yet."""
        return self.status == "candidate"


def read_turtle(turtle: str) -> tuple[str, str]:
    """Return the kind and the name of the term that some Turtle describes.

    Raise FormError where it is malformed, lacks what a term has, or takes a name that is used.
    """
    try:
        triples = list(parse(prefixes() + turtle, "proposal.ttl"))
    except ShiyiError as error:
        raise FormError([fault("turtle", "not_turtle", words=str(error)[:200])]) from error
    kinds = {t.subject: text(t.object) for t in triples if t.predicate == RDF.type}
    terms = [n for n in kinds if isinstance(n, NamedNode) and n.value.startswith(VOCAB)]
    if len(terms) != 1 or kinds[terms[0]] not in _KINDS:
        raise FormError([fault("turtle", "one_term")])
    kind = _KINDS[kinds[terms[0]]]
    about = [t for t in triples if kind == "shape" or t.subject == terms[0]]
    name = local_name(terms[0].value)
    faults = [*_gaps(kind, about), *(_find_taken(name) if kind == "relation" else _unknown(about))]
    if faults:
        raise FormError(faults)
    return kind, name


def propose_term(kind: str, name: str, turtle: str, reason: str) -> Edit:
    """Write a proposal, for others to approve."""
    node = resource(f"proposal/{content_hash(kind, name, turtle)}")
    quads = (
        Quad(node, RDF.type, OA.Annotation, PROPOSALS),
        Quad(node, OA.motivatedBy, OA.editing, PROPOSALS),
        Quad(node, DCTERMS.type, Literal(kind), PROPOSALS),
        Quad(node, DCTERMS.title, Literal(name), PROPOSALS),
        Quad(node, OA.bodyValue, Literal(turtle), PROPOSALS),
        Quad(node, RDFS.comment, Literal(reason), PROPOSALS),
        Quad(node, SHIYI.status, SHIYI.candidate, PROPOSALS),
    )
    return Edit("propose-term", (node.value,), reason, added=quads)


def read_proposal(store: QuadStore, iri: str) -> Proposal | None:
    """Read a proposal; None where there is none of that name."""
    values = {
        q.predicate: text(q.object) for q in store.match(NamedNode(iri), None, None, PROPOSALS)
    }
    if OA.bodyValue not in values:
        return None
    return Proposal(
        iri,
        values.get(DCTERMS.type, ""),
        values.get(DCTERMS.title, ""),
        values[OA.bodyValue],
        values.get(RDFS.comment, ""),
        values.get(SHIYI.status, "").removeprefix(VOCAB),
    )


def proposals(store: QuadStore) -> list[Proposal]:
    """List every proposal, the open ones first."""
    nodes = {q.subject for q in store.match(None, OA.motivatedBy, OA.editing, PROPOSALS)}
    results = (read_proposal(store, node.value) for node in nodes if isinstance(node, NamedNode))
    return sorted((e for e in results if e), key=lambda e: (not e.is_open, e.kind, e.name))


def settle_proposal(changes: Changes, iri: str, approve: bool, agent: str) -> Edit:
    """Approve or decline a proposal; ``RightsError`` for who proposed it.

    An approved relation is described in the base at once; it can be used once the tables that
    ``shiyi sync`` writes it to are built.
    """
    store = changes.store
    result = read_proposal(store, iri)
    if result is None or not result.is_open:
        raise FormError([fault("proposal", "no_proposal")])
    if approve and any(c.who == agent for c in changes.of(iri) if c.kind == "propose-term"):
        raise RightsError("a proposal is approved by somebody who did not make it")
    node, status = NamedNode(iri), SHIYI.accepted if approve else SHIYI.rejected
    gone = (Quad(node, SHIYI.status, SHIYI.candidate, PROPOSALS),)
    quads = [Quad(node, SHIYI.status, status, PROPOSALS)]
    if approve and result.kind == "relation":
        default = DefaultGraph()
        parsed_quads = parse_turtle(prefixes() + result.turtle)
        quads += [Quad(q.subject, q.predicate, q.object, default) for q in parsed_quads]
    return Edit("approve-term" if approve else "decline-term", (iri,), "", gone, tuple(quads))


def prefixes() -> str:
    """Write the prefixes that our Turtle uses."""
    return "".join(f"@prefix {name}: <{PREFIXES[name]}> .\n" for name in _USED)


def _gaps(kind: str, triples: Sequence[Quad]) -> Iterator[Fault]:
    """Yield what a term lacks; texts are needed in both languages."""
    for predicate in _NEEDED[kind]:
        objects = [t.object for t in triples if t.predicate == predicate]
        languages = {term.language for term in objects if isinstance(term, Literal)}
        if not objects or (predicate in _BILINGUAL and not {"zh", "en"} <= languages):
            yield fault("turtle", "needs_property", words=local_name(predicate.value))


def _find_taken(name: str) -> Iterator[Fault]:
    if not _NAME.fullmatch(name):
        yield fault("turtle", "relation_form")
    elif name in Schema.load().properties or name in SHIYI.names():
        yield fault("turtle", "term_taken", words=name)


def _unknown(triples: Sequence[Quad]) -> Iterator[Fault]:
    """Yield classes and relations that a shape names and the vocabulary lacks, and bad patterns."""
    schema = Schema.load()
    for quad in triples:
        name = local_name(text(quad.object))[:80]
        if quad.predicate == _SH_CLASS and name not in schema.parents:
            yield fault("turtle", "unknown_class", words=name)
        elif quad.predicate == _SH_PATH and name not in schema.properties:
            yield fault("turtle", "unknown_relation", words=name)
        elif quad.predicate == _SH_PATTERN and not _is_pattern(text(quad.object)):
            yield fault("turtle", "bad_pattern")


def _is_pattern(value: str) -> bool:
    try:
        re.compile(value)
    except re.error:
        return False
    return len(value) <= _PATTERN
