"""Where Shiyi's IRIs live, and how content becomes an IRI."""

import hashlib
from typing import Final

from shiyi.model.rdf import NamedNode

ROOT: Final = "https://w3id.org/shiyi/"  # of all that the base owns
VOCAB: Final = "https://w3id.org/shiyi/vocab#"
ID: Final = "https://w3id.org/shiyi/id/"
GRAPH: Final = "https://w3id.org/shiyi/graph/"
UMLS: Final = "http://identifiers.org/umls/"
_CLAIM: Final = ID + "claim/"
_TEXT: Final = ID + "text/"
_DIGITS: Final = 32  # of a content hash


def resource(name: str) -> NamedNode:
    """Name a resource: a concept, source, claim.

    >>> resource("substance-gouqizi").value
    'https://w3id.org/shiyi/id/substance-gouqizi'
    """
    return NamedNode(ID + name)


def graph(kind: str, name: str = "") -> NamedNode:
    """Name a graph: ``source``, ``candidates``, ``quarantine``, ``derived``, ``reviews``, etc.

    >>> graph("source", "starter").value
    'https://w3id.org/shiyi/graph/source/starter'
    """
    return NamedNode(f"{GRAPH}{kind}/{name}" if name else GRAPH + kind)


def content_hash(*parts: str) -> str:
    """Return 32 hexadecimal digits (128 bits of SHA-256) of some texts, in order.

    >>> len(content_hash("a", "b")), content_hash("a", "b") == content_hash("ab")
    (32, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:_DIGITS]


def is_text(iri: str) -> bool:
    """Return whether an IRI names a text that a claim has as its object.

    >>> is_text("https://w3id.org/shiyi/id/text/00ff"), is_text("https://w3id.org/shiyi/id/rule-a")
    (True, False)
    """
    return iri.startswith(_TEXT)
