"""What a request to the endpoint carries, read strictly."""

import re
from typing import Final
from urllib.parse import parse_qsl

from flask import current_app, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.server.site import Site

PROFILES: Final = ("rdf12", "rdf11")
_ESCAPED: Final = 3  # bytes of a form for each byte of a query, at most
_BESIDE: Final = 65_536  # bytes of a form's other fields
FORM: Final = "application/x-www-form-urlencoded"


def utf8_body() -> str:
    """Give the body as text; 413 where no query can be so long, 415 or 400 where it is not UTF-8."""
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
    """Read a form strictly."""
    text = utf8_body()
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError as fault:
        raise BadRequest(f"the form cannot be read: {fault}") from fault
    return MultiDict(pairs)


def timeout_of(site: Site, value: str | None) -> float | None:
    """Read ``timeout=`` in seconds, up to the cap."""
    if value in (None, ""):
        return None
    cap = site.settings.query.timeout_cap
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", str(value)) or float(str(value)) <= 0:
        raise UsageError(f"timeout is a number of seconds above 0, at most {cap:g}")
    return min(float(str(value)), cap)


def profile_of(source: MultiDict[str, str]) -> str:
    """Read ``profile=``: ``rdf11`` writes graphs without triple terms, ``rdf12`` with them."""
    said = source.get("profile", "")
    if said not in {"", *PROFILES}:
        raise FormatError("profile", said, PROFILES)
    return said
