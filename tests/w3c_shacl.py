"""Our validation as the W3C's SHACL suite runs it, with the literals of its files as they are written."""

import rdflib

from shiyi.shapes import validation

_NORMALISED = (
    "NORMALIZE_LITERALS"  # of rdflib, which pySHACL sets again; it makes "1" of xsd:boolean a true
)


def report_of(data: rdflib.Graph, shapes: rdflib.Graph) -> tuple[bool, rdflib.Graph]:
    """Validate, and let the suite read its next files as they are written."""
    try:
        return validation.report_of(data, shapes)
    finally:
        setattr(rdflib, _NORMALISED, False)


setattr(rdflib, _NORMALISED, False)
