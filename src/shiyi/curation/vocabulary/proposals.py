"""Proposed terms and shapes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing.form import Fault, fault
from shiyi.errors import RightsError, UsageError
from shiyi.model.iris import VOCAB, content_hash, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, canonical, parse_turtle, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, OA, PREFIXES, RDF, RDFS, SHIYI
from shiyi.sparql.store.port import QuadStore

PROPOSALS: Final = graph("proposals")
KINDS: Final = ("relation", "shape")
RULES: Final = ("required", "choice", "pattern", "class")
_NAME = re.compile(r"[a-z][A-Za-z]{2,40}")
_PATTERN = 200  # characters of a regular expression
_USED = ("shiyi", "owl", "rdf", "rdfs", "skos", "dcterms", "sh", "xsd")


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


def draft_proposal(form: Mapping[str, str]) -> tuple[str, str, str, tuple[Fault, ...]]:
    """Parse a form to kind, name, Turtle and faults."""
    text = {name: " ".join(value.split()) for name, value in form.items()}
    kind = text.get("kind", "")
    if kind not in KINDS:
        raise UsageError("a proposal is for a relation or a shape")
    faults = tuple(_texts(text)) + tuple(_relation(text) if kind == "relation" else _shape(text))
    if faults:
        return kind, text.get("name", ""), "", faults
    written = relation_turtle(text) if kind == "relation" else shape_turtle(text)
    name = text["name"] if kind == "relation" else f"{text['target']} {text['path']}"
    return kind, name, written, ()


def propose_term(kind: str, name: str, turtle: str, reason: str, key: str = "") -> Edit:
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
    return Edit("propose-term", (node.value,), reason, (), quads, key=key)


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


def settle_proposal(
    changes: Changes, iri: str, approve: bool, agent: str, reason: str, key: str = ""
) -> Edit:
    """Approve or decline a proposal; ``RightsError`` for who proposed it.

    An approved relation is described in the base at once; it can be used once the tables that
    ``shiyi sync`` writes it to are built.
    """
    store = changes.store
    result = read_proposal(store, iri)
    if result is None or not result.is_open:
        raise UsageError("there is no open proposal of that name")
    if approve and any(c.who == agent for c in changes.of(iri) if c.kind == "propose-term"):
        raise RightsError("a proposal is approved by somebody who did not make it")
    node, status = NamedNode(iri), SHIYI.accepted if approve else SHIYI.rejected
    gone = (Quad(node, SHIYI.status, SHIYI.candidate, PROPOSALS),)
    come = [Quad(node, SHIYI.status, status, PROPOSALS)]
    if approve and result.kind == "relation":
        default = DefaultGraph()
        parsed = parse_turtle(prefixes() + result.turtle)
        come += [Quad(q.subject, q.predicate, q.object, default) for q in parsed]
    return Edit(
        "approve-term" if approve else "decline-term", (iri,), reason, gone, tuple(come), key=key
    )


def prefixes() -> str:
    """Write the prefixes that our Turtle uses."""
    return "".join(f"@prefix {name}: <{PREFIXES[name]}> .\n" for name in _USED)


def relation_turtle(values: Mapping[str, str]) -> str:
    """Write a relation as ``ontology/shiyi.ttl`` holds them."""
    to_text = values["range"] == "text"
    kind = "owl:DatatypeProperty" if to_text else "owl:ObjectProperty"
    reach = "rdf:langString" if to_text else f"shiyi:{values['range']}"
    return (
        f"shiyi:{values['name']} a {kind} ;\n"
        f"  rdfs:label {_text(values['label_en'], 'en')} , {_text(values['label_zh'], 'zh')} ;\n"
        f"  rdfs:domain shiyi:{values['domain']} ;\n"
        f"  rdfs:range {reach} ;\n"
        f"  skos:definition {_text(values['definition_en'], 'en')} , "
        f"{_text(values['definition_zh'], 'zh')} ;\n"
        f"  dcterms:source {_text(values['source'])} .\n"
    )


def shape_turtle(values: Mapping[str, str]) -> str:
    """Write a shape as a file of ``shapes/`` holds them."""
    rule = {
        "required": "sh:minCount 1",
        "choice": f"sh:in ( {' '.join(_text(x.strip()) for x in values['value'].split('|'))} )",
        "pattern": f"sh:pattern {_text(values['value'])}",
        "class": f"sh:class shiyi:{values['value']} ; sh:nodeKind sh:IRI",
    }[values["rule"]]
    name = f"{values['target']}{values['path'][:1].upper()}{values['path'][1:]}Shape"
    return (
        f"shiyi:{name} a sh:NodeShape ;\n"
        f"  sh:targetClass shiyi:{values['target']} ;\n"
        f"  sh:property [\n"
        f"    sh:path shiyi:{values['path']} ; {rule} ;\n"
        f"    sh:severity sh:{values.get('severity') or 'Warning'} ;\n"
        f"    sh:message {_text(values['label_en'], 'en')} , {_text(values['label_zh'], 'zh')}\n"
        f"  ] .\n"
    )


def _text(words: str, language: str | None = None) -> str:
    return canonical(Literal(words, language=language))


def _texts(values: Mapping[str, str]) -> Iterator[Fault]:
    for name, value in values.items():
        if len(value) > 1000:
            yield fault(name, "too_long")
        elif value and not value.isprintable():
            yield fault(name, "control")
    for name in ("label_zh", "label_en"):
        if not values.get(name):
            yield fault(name, "empty")


def _relation(values: Mapping[str, str]) -> Iterator[Fault]:
    schema, name = Schema.load(), values.get("name", "")
    if not _NAME.fullmatch(name):
        yield fault("name", "relation_form")
    elif name in schema.properties or name in SHIYI.names():
        yield fault("name", "term_taken", words=name)
    for each in ("definition_zh", "definition_en", "source"):
        if not values.get(each):
            yield fault(each, "empty")
    for each in ("domain", "range"):
        if values.get(each) not in schema.parents and not (
            each == "range" and values.get(each) == "text"
        ):
            yield fault(each, "unknown_class", words=values.get(each, "")[:60])


def _shape(values: Mapping[str, str]) -> Iterator[Fault]:
    schema, rule, value = Schema.load(), values.get("rule", ""), values.get("value", "")
    if values.get("target") not in schema.parents:
        yield fault("target", "unknown_class", words=values.get("target", "")[:60])
    if values.get("path") not in schema.properties:
        yield fault("path", "unknown_relation", words=values.get("path", "")[:60])
    if rule not in RULES:
        yield fault("rule", "unknown_rule")
    elif rule == "class" and value not in schema.parents:
        yield fault("value", "unknown_class", words=value[:60])
    elif rule in {"choice", "pattern"} and not value:
        yield fault("value", "empty")
    elif rule == "pattern" and not _is_pattern(value):
        yield fault("value", "bad_pattern")
    if values.get("severity", "Warning") not in {"Violation", "Warning", "Info"}:
        yield fault("severity", "unknown_rule")


def _is_pattern(value: str) -> bool:
    try:
        re.compile(value)
    except re.error:
        return False
    return len(value) <= _PATTERN
