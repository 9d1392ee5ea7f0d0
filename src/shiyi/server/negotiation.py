"""Which representation a client gets, by Accept with its q-values."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from flask import request
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import NotAcceptable
from werkzeug.http import parse_accept_header

HTML: Final = "text/html"
# media type -> extension, the one we prefer first
RDF_TYPES: Final[Mapping[str, str]] = {
    "text/turtle": "ttl", "application/n-triples": "nt", "application/n-quads": "nq",
    "application/trig": "trig", "application/ld+json": "jsonld", "application/rdf+xml": "rdf",
}  # fmt: skip
RESULT_TYPES: Final[Mapping[str, str]] = {
    "application/sparql-results+json": "json", "application/sparql-results+xml": "xml",
    "text/csv": "csv", "text/tab-separated-values": "tsv",
}  # fmt: skip
_SAME: Final[Mapping[str, str]] = {
    "application/json": "application/sparql-results+json",
    "application/xml": "application/sparql-results+xml",
    "text/xml": "application/sparql-results+xml", "application/xhtml+xml": HTML,
}  # fmt: skip


def preferred(offered: Sequence[str], accepted: MIMEAccept | None = None) -> str:
    """Give the best of ``offered``; the first where the client did not say. Else 406.

    A type the client names beats a wildcard of the same quality.
    """
    if accepted is None:
        return _remembered(request.headers.get("Accept", ""), tuple(offered))
    return _chosen(offered, accepted)


@lru_cache(maxsize=1024)
def _remembered(header: str, offered: tuple[str, ...]) -> str:
    return _chosen(offered, parse_accept_header(header, MIMEAccept))


def _chosen(offered: Sequence[str], accepted: MIMEAccept) -> str:
    if not accepted:
        return offered[0]
    # our forms have no parameters but a charset, and that is UTF-8 whatever is asked for
    accepted = MIMEAccept([(value.partition(";")[0].strip(), q) for value, q in accepted])
    synonyms = [alias for alias, kind in _SAME.items() if kind in offered]
    candidates = [*offered, *synonyms]
    best = max(candidates, key=lambda kind: (accepted[kind], _specific(kind, accepted)))
    if accepted[best] <= 0:
        raise NotAcceptable(f"offered are {', '.join(offered)}")
    return best if best in offered else _SAME[best]


def _specific(kind: str, accepted: MIMEAccept) -> int:
    said = set(accepted.values())
    return 2 if kind in said else 1 if kind.split("/")[0] + "/*" in said else 0
