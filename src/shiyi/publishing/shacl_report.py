"""The SHACL report of a release, as RDF."""

from collections.abc import Iterable

from shiyi.model.rdf import XSD_BOOLEAN, BlankNode, Literal, NamedNode, Triple, serialize
from shiyi.ontology.terms import PREFIXES, RDF
from shiyi.shapes.validation import Result

_SH = PREFIXES["sh"]


def report_turtle(results: Iterable[Result], iri: str) -> bytes:
    """Write a ``sh:ValidationReport``; it conforms where nothing is of severity Violation."""
    found = sorted(results, key=lambda each: (each.focus, each.path, each.value, each.component))
    report = NamedNode(iri)
    conforms = not any(each.severity == "Violation" for each in found)
    triples = [
        Triple(report, RDF.type, NamedNode(f"{_SH}ValidationReport")),
        Triple(report, NamedNode(f"{_SH}conforms"),
               Literal(str(conforms).lower(), datatype=XSD_BOOLEAN)),
    ]  # fmt: skip
    for number, each in enumerate(found):
        node = BlankNode(f"r{number}")
        triples.append(Triple(report, NamedNode(f"{_SH}result"), node))
        triples.append(Triple(node, RDF.type, NamedNode(f"{_SH}ValidationResult")))
        for name, value in (("focusNode", each.focus), ("resultPath", each.path),
                          ("sourceConstraintComponent", each.component)):  # fmt: skip
            if ":" in value:
                triples.append(Triple(node, NamedNode(_SH + name), NamedNode(value)))
        severity = NamedNode(_SH + each.severity)
        triples.append(Triple(node, NamedNode(f"{_SH}resultSeverity"), severity))
        for language, message in (("en", each.message_en), ("zh", each.message_zh)):
            if message:
                said = Literal(message, language=language)
                triples.append(Triple(node, NamedNode(f"{_SH}resultMessage"), said))
    return serialize(triples, "ttl", PREFIXES)
