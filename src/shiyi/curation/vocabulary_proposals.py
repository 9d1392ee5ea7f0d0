"""New relations and new shapes: proposed in a form, written as Turtle, approved by somebody else."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing_faults import Fault, fault
from shiyi.errors import RightsError, UsageError
from shiyi.model.names import VOCAB, content_hash, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, canonical, parse_turtle, text
from shiyi.ontology.terms import DCTERMS, OA, PREFIXES, RDF, RDFS, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.store import QuadStore

PROPOSALS: Final = graph("proposals")
KINDS: Final = ("relation", "shape")
RULES: Final = ("required", "choice", "pattern", "class")
_NAME = re.compile(r"[a-z][A-Za-z]{2,40}")
_PATTERN = 200  # characters of a regular expression
_USED = ("shiyi", "owl", "rdf", "rdfs", "skos", "dcterms", "sh", "xsd")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What somebody wants added to the vocabulary or the shapes; ``turtle`` says it in full."""

    iri: str
    kind: str
    name: str
    turtle: str
    reason: str
    status: str

    @property
    def is_open(self) -> bool:
        """Tell whether nobody has decided yet."""
        return self.status == "candidate"


def drafted(form: Mapping[str, str]) -> tuple[str, str, str, tuple[Fault, ...]]:
    """Read a form: kind, name, Turtle, and what is wrong with it."""
    said = {name: " ".join(value.split()) for name, value in form.items()}
    kind = said.get("kind", "")
    if kind not in KINDS:
        raise UsageError("a proposal is for a relation or a shape")
    faults = tuple(_texts(said)) + tuple(_relation(said) if kind == "relation" else _shape(said))
    if faults:
        return kind, said.get("name", ""), "", faults
    written = relation_turtle(said) if kind == "relation" else shape_turtle(said)
    name = said["name"] if kind == "relation" else f"{said['target']} {said['path']}"
    return kind, name, written, ()


def proposed(kind: str, name: str, turtle: str, reason: str, key: str = "") -> Edit:
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
    said = {q.predicate: text(q.object) for q in store.match(NamedNode(iri), None, None, PROPOSALS)}
    if OA.bodyValue not in said:
        return None
    return Proposal(
        iri, said.get(DCTERMS.type, ""), said.get(DCTERMS.title, ""), said[OA.bodyValue],
        said.get(RDFS.comment, ""), said.get(SHIYI.status, "").removeprefix(VOCAB),
    )  # fmt: skip


def proposals(store: QuadStore) -> list[Proposal]:
    """List every proposal, the open ones first."""
    nodes = {q.subject for q in store.match(None, OA.motivatedBy, OA.editing, PROPOSALS)}
    found = (read_proposal(store, node.value) for node in nodes if isinstance(node, NamedNode))
    return sorted((e for e in found if e), key=lambda e: (not e.is_open, e.kind, e.name))


def settled(
    changes: Changes, iri: str, approve: bool, who: str, reason: str, key: str = ""
) -> Edit:
    """Approve or decline a proposal; ``RightsError`` for who proposed it.

    An approved relation is described in the base at once; it can be used once the tables that
    ``shiyi sync`` writes it to are built.
    """
    store = changes.store
    found = read_proposal(store, iri)
    if found is None or not found.is_open:
        raise UsageError("there is no open proposal of that name")
    if approve and any(c.who == who for c in changes.of(iri) if c.kind == "propose-term"):
        raise RightsError("a proposal is approved by somebody who did not make it")
    node, status = NamedNode(iri), SHIYI.accepted if approve else SHIYI.rejected
    gone = (Quad(node, SHIYI.status, SHIYI.candidate, PROPOSALS),)
    come = [Quad(node, SHIYI.status, status, PROPOSALS)]
    if approve and found.kind == "relation":
        default = DefaultGraph()
        parsed = parse_turtle(prefixes() + found.turtle)
        come += [Quad(q.subject, q.predicate, q.object, default) for q in parsed]
    return Edit(
        "approve-term" if approve else "decline-term", (iri,), reason, gone, tuple(come), key=key
    )


def prefixes() -> str:
    """Write the prefixes that our Turtle uses."""
    return "".join(f"@prefix {name}: <{PREFIXES[name]}> .\n" for name in _USED)


def relation_turtle(said: Mapping[str, str]) -> str:
    """Write a relation as ``ontology/shiyi.ttl`` holds them."""
    to_text = said["range"] == "text"
    kind = "owl:DatatypeProperty" if to_text else "owl:ObjectProperty"
    reach = "rdf:langString" if to_text else f"shiyi:{said['range']}"
    return (
        f"shiyi:{said['name']} a {kind} ;\n"
        f"  rdfs:label {_text(said['label_en'], 'en')} , {_text(said['label_zh'], 'zh')} ;\n"
        f"  rdfs:domain shiyi:{said['domain']} ;\n"
        f"  rdfs:range {reach} ;\n"
        f"  skos:definition {_text(said['definition_en'], 'en')} , "
        f"{_text(said['definition_zh'], 'zh')} ;\n"
        f"  dcterms:source {_text(said['source'])} .\n"
    )


def shape_turtle(said: Mapping[str, str]) -> str:
    """Write a shape as a file of ``shapes/`` holds them."""
    rule = {
        "required": "sh:minCount 1",
        "choice": f"sh:in ( {' '.join(_text(x.strip()) for x in said['value'].split('|'))} )",
        "pattern": f"sh:pattern {_text(said['value'])}",
        "class": f"sh:class shiyi:{said['value']} ; sh:nodeKind sh:IRI",
    }[said["rule"]]
    name = f"{said['target']}{said['path'][:1].upper()}{said['path'][1:]}Shape"
    return (
        f"shiyi:{name} a sh:NodeShape ;\n"
        f"  sh:targetClass shiyi:{said['target']} ;\n"
        f"  sh:property [\n"
        f"    sh:path shiyi:{said['path']} ; {rule} ;\n"
        f"    sh:severity sh:{said.get('severity') or 'Warning'} ;\n"
        f"    sh:message {_text(said['label_en'], 'en')} , {_text(said['label_zh'], 'zh')}\n"
        f"  ] .\n"
    )


def _text(words: str, language: str | None = None) -> str:
    return canonical(Literal(words, language=language))


def _texts(said: Mapping[str, str]) -> Iterator[Fault]:
    for name, value in said.items():
        if len(value) > 1000:
            yield fault(name, "too_long")
        elif value and not value.isprintable():
            yield fault(name, "control")
    for name in ("label_zh", "label_en"):
        if not said.get(name):
            yield fault(name, "empty")


def _relation(said: Mapping[str, str]) -> Iterator[Fault]:
    schema, name = Schema.load(), said.get("name", "")
    if not _NAME.fullmatch(name):
        yield fault("name", "relation_form")
    elif name in schema.properties or name in SHIYI.names():
        yield fault("name", "term_taken", words=name)
    for each in ("definition_zh", "definition_en", "source"):
        if not said.get(each):
            yield fault(each, "empty")
    for each in ("domain", "range"):
        if said.get(each) not in schema.parents and not (
            each == "range" and said.get(each) == "text"
        ):
            yield fault(each, "unknown_class", words=said.get(each, "")[:60])


def _shape(said: Mapping[str, str]) -> Iterator[Fault]:
    schema, rule, value = Schema.load(), said.get("rule", ""), said.get("value", "")
    if said.get("target") not in schema.parents:
        yield fault("target", "unknown_class", words=said.get("target", "")[:60])
    if said.get("path") not in schema.properties:
        yield fault("path", "unknown_relation", words=said.get("path", "")[:60])
    if rule not in RULES:
        yield fault("rule", "unknown_rule")
    elif rule == "class" and value not in schema.parents:
        yield fault("value", "unknown_class", words=value[:60])
    elif rule in {"choice", "pattern"} and not value:
        yield fault("value", "empty")
    elif rule == "pattern" and not _is_pattern(value):
        yield fault("value", "bad_pattern")
    if said.get("severity", "Warning") not in {"Violation", "Warning", "Info"}:
        yield fault("severity", "unknown_rule")


def _is_pattern(value: str) -> bool:
    try:
        re.compile(value)
    except re.error:
        return False
    return len(value) <= _PATTERN
