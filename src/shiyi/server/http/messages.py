"""HTTP messages: Accept, parameters and bodies, parsed strictly; JSON and spooled responses."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

from flask import Response, current_app, request
from werkzeug.datastructures import MIMEAccept, MultiDict
from werkzeug.exceptions import BadRequest, NotAcceptable, UnsupportedMediaType
from werkzeug.http import parse_accept_header, parse_options_header

from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.model.rdf import Triple, serialize
from shiyi.ontology.terms import PREFIXES
from shiyi.server.site.site import Site
from shiyi.sparql.queries.results import LiveSpool, Spool

_ALLOWED_CONTROLS = frozenset("\t\n\r")


def text_field(name: str, value: object, limit: int) -> str:
    """Return a stripped text; raise an error where it is empty, too long or has control characters.

    >>> text_field("question", " what? ", 100)
    'what?'
    """
    if not isinstance(value, str):
        raise UsageError(f"{name} is missing")
    if len(value) > limit:
        raise TooLargeError(name, len(value), limit)
    if not value.strip():
        raise UsageError(f"{name} is empty")
    for place, character in enumerate(value):
        category = unicodedata.category(character)
        if category in {"Cc", "Cs"} and character not in _ALLOWED_CONTROLS:
            raise UsageError(
                f"{name} has a control character (U+{ord(character):04X}) at position {place + 1}"
            )
    return value.strip()


def count_field(name: str, value: object, low: int, high: int) -> int | None:
    """Return a whole number from ``low`` to ``high``, None where there is none."""
    if value in (None, ""):
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"{name} is a whole number from {low} to {high}")
    return value


PROFILES: Final = ("rdf12", "rdf11")
_ESCAPED: Final = 3  # bytes of a form for each byte of a query, at most
_BESIDE: Final = 65_536  # bytes of a form's other fields
FORM: Final = "application/x-www-form-urlencoded"


def json_body() -> object:
    """Return the JSON value of the body; raise 415 or UsageError where there is none."""
    if not request.is_json:
        raise UnsupportedMediaType("send JSON, with Content-Type: application/json")
    try:
        return json.loads(request.get_data())
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"the body is not JSON: {fault}") from fault


def json_object() -> dict[str, Any]:
    """Return the JSON object of the body; raise 415 or UsageError where there is none."""
    body = json_body()
    if not isinstance(body, dict):
        raise UsageError("send a JSON object")
    return body


def utf8_body() -> str:
    """Return the body as text; raise 413 if too long for any query, 415 or 400 if not UTF-8."""
    limit: int = current_app.extensions["shiyi"].settings.query.max_query_bytes
    size = request.content_length or 0
    if size > _ESCAPED * limit + _BESIDE:  # taking escapes apart needs a hundred times the memory
        raise TooLargeError("query", size, limit, "bytes")
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if charset not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"the query is UTF-8, not {charset[:20]}")
    try:
        return request.get_data(cache=True).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise BadRequest(f"the query is not UTF-8 at byte {fault.start}") from fault


def utf8_form() -> MultiDict[str, str]:
    """Parse a form strictly."""
    text = utf8_body()
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError as fault:
        raise BadRequest(f"the form cannot be read: {fault}") from fault
    return MultiDict(pairs)


def read_timeout(site: Site, value: str | None) -> float | None:
    """Read ``timeout=`` in seconds, up to the cap."""
    if value in (None, ""):
        return None
    cap = site.settings.query.timeout_cap
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", str(value)) or float(str(value)) <= 0:
        raise UsageError(f"timeout is a number of seconds above 0, at most {cap:g}")
    return min(float(str(value)), cap)


def read_profile_parameter(source: MultiDict[str, str]) -> str:
    """Read ``profile=``: ``rdf11`` writes graphs without triple terms, ``rdf12`` with them."""
    profile = source.get("profile", "")
    if profile not in {"", *PROFILES}:
        raise FormatError("profile", profile, PROFILES)
    return profile


_VERSIONS: Final = {"1.1": "rdf11", "1.2": "rdf12", "1.2-basic": "rdf11"}  # of a media type
# the documents that define each profile (Content Negotiation by Profile)
PROFILE_IRIS: Final = {
    "rdf11": "http://www.w3.org/TR/rdf11-concepts/",
    "rdf12": "http://www.w3.org/TR/rdf12-concepts/",
}
_UNVERSIONED: Final = frozenset({"application/ld+json", "application/rdf+xml"})  # RDF 1.1 alone


def graph_profile(kind: str, source: MultiDict[str, str], default: str = "rdf11") -> str:
    """Return in which RDF a graph of media type ``kind`` is written, ``rdf11`` or ``rdf12``.

    What ``profile=`` says counts first, then ``version=`` in Accept (RDF 1.2 Concepts, section
    1.5), then Accept-Profile; JSON-LD and RDF/XML are always RDF 1.1.
    """
    if kind in _UNVERSIONED:
        return "rdf11"
    headers = request.headers
    return read_profile_parameter(source) or _negotiate(
        kind, headers.get("Accept", ""), headers.get("Accept-Profile", ""), default
    )


@lru_cache(maxsize=1024)
def _negotiate(kind: str, accept: str, profiles: str, default: str) -> str:
    ranges = {kind, f"{kind.partition('/')[0]}/*", "*/*"}
    for value, quality in parse_accept_header(accept, MIMEAccept) if "version" in accept else ():
        media, parameters = parse_options_header(value)
        if quality > 0 and media in ranges and parameters.get("version") in _VERSIONS:
            return _VERSIONS[parameters["version"]]
    best, result = 0.0, default
    for value, quality in parse_accept_header(profiles):
        token = value.strip("<> ").replace("https://", "http://").rstrip("/")
        for name, iri in PROFILE_IRIS.items():
            if quality > best and token in {name, iri.rstrip("/")}:
                best, result = quality, name
    return result


def graph_type(kind: str, profile: str) -> str:
    """Return a Content-Type that says in which version of RDF a graph is written.

    >>> graph_type("text/turtle", "rdf12"), graph_type("text/turtle", "rdf11")
    ('text/turtle; version=1.2; charset=utf-8', 'text/turtle; charset=utf-8')
    """
    version = "; version=1.2" if profile == "rdf12" and kind not in _UNVERSIONED else ""
    return kind + version + ("; charset=utf-8" if kind.startswith("text/") else "")


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


def prefer(offered: Sequence[str]) -> str:
    """Return the best of ``offered``; the first where the client did not say. Else 406.

    A type the client names beats a wildcard of the same quality.
    """
    return choose_media_type(request.headers.get("Accept", ""), tuple(offered))


@lru_cache(maxsize=1024)
def choose_media_type(header: str, offered: tuple[str, ...]) -> str:
    """Return what :func:`prefer` does of ``offered`` for an Accept header; 406 where none."""
    given = parse_accept_header(header, MIMEAccept)
    if not given:
        return offered[0]
    # the offered types have no parameter but a charset, which is always UTF-8
    accepted = MIMEAccept([(value.partition(";")[0].strip(), q) for value, q in given])
    synonyms = [alias for alias, kind in _SAME.items() if kind in offered]
    best = accepted.best_match([*offered, *synonyms])
    if best is None:
        raise NotAcceptable(f"offered are {', '.join(offered)}")
    return best if best in offered else _SAME[best]


def rdf_response(triples: Iterable[Triple], extension: str) -> Response:
    """Return a response of RDF in the format of an extension of :data:`RDF_TYPES`."""
    kind = next(kind for kind, known in RDF_TYPES.items() if known == extension)
    body = serialize(triples, "rdfxml" if extension == "rdf" else extension, dict(PREFIXES))
    return Response(body, content_type=graph_type(kind, ""))


def to_json(value: object) -> str:
    """Return JSON with Chinese readable."""
    return json.dumps(value, ensure_ascii=False)


def json_response(value: object) -> Response:
    """Return a response of JSON."""
    return Response(to_json(value), content_type="application/json")


def send_spool(body: Spool, kind: str, profile: str = "") -> Response:
    """Answer with what a spool holds, and let go of it when that is sent."""
    if body.is_short:
        response = Response(body.read(), content_type=graph_type(kind, profile))
    else:
        response = Response(body.parts(), content_type=graph_type(kind, profile))
        response.call_on_close(body.close)
    response.vary.add("Accept")
    if not isinstance(body, LiveSpool):  # else neither is known yet
        response.content_length = body.size
        response.set_etag(body.digest)
    return response
