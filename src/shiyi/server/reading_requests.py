"""What a request to the endpoint carries, read strictly."""

import re
from typing import Final
from urllib.parse import parse_qsl

from flask import request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from shiyi.errors import FormatError, UsageError
from shiyi.server.site import Site

PROFILES: Final = ("rdf12", "rdf11")
FORM: Final = "application/x-www-form-urlencoded"


def utf8_body() -> str:
    """Give the body as text; 415 or 400 where it is not UTF-8."""
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
