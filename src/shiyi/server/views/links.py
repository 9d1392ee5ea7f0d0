"""Which addresses may be linked."""

from functools import lru_cache
from urllib.parse import quote, urlsplit

from shiyi.model.iris import GRAPH, ID, VOCAB

_SCHEMES = frozenset({"http", "https", "mailto"})


@lru_cache(maxsize=16_384)  # a page has the same few addresses many times
def href(iri: str) -> str:
    """Return the address a page links to for ``iri``; empty where there is none to follow.

    >>> href("https://w3id.org/shiyi/id/substance-gouqizi")
    '/page/substance-gouqizi'
    >>> href("https://w3id.org/shiyi/vocab#hasNature")
    '/vocab#hasNature'
    >>> href("javascript:alert(1)")
    ''
    """
    if iri.startswith(ID):
        return "/page/" + quote(iri[len(ID) :], safe="/:~")
    if iri.startswith(VOCAB):
        return "/vocab#" + quote(iri[len(VOCAB) :])
    if iri.startswith(GRAPH):
        return ""
    return iri if is_web(iri) else ""


def is_web(iri: str) -> bool:
    """Return whether a browser may follow ``iri``.

    >>> is_web("https://doi.org/10.2196/75279"), is_web("data:text/html,x")
    (True, False)
    """
    try:
        return urlsplit(iri).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def source_link(identifier: str) -> str:
    """Return the address of a DOI or URL; empty for a document number.

    >>> source_link("doi:10.2196/75279")
    'https://doi.org/10.2196/75279'
    >>> source_link("GB/T 46939-2025")
    ''
    """
    if identifier.lower().startswith("doi:"):
        return "https://doi.org/" + quote(identifier[4:].strip(), safe="/:;().-_")
    return identifier if identifier.startswith(("https://", "http://")) else ""
