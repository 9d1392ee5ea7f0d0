"""Exceptions to status codes (RFC 9457)."""

import re
from collections.abc import Hashable, Mapping
from typing import Any

from flask import Flask, Response, current_app, json, render_template, request
from werkzeug.exceptions import HTTPException

from shiyi import errors
from shiyi.server.i18n import choose_language, fault_text

_PLACE = re.compile(r"\bat (\d+):(\d+)")  # how the parser names line and column

# the first row that fits decides
STATUSES: tuple[tuple[type[errors.ShiyiError], int, str], ...] = (
    (errors.QueryLimitError, 422, "query-limit"), (errors.QueryRefusedError, 422, "query-refused"),
    (errors.QueryError, 400, "query"), (errors.TooLargeError, 413, "too-large"),
    (errors.FormatError, 400, "unknown-name"), (errors.FormError, 422, "form"),
    (errors.UsageError, 400, "usage"), (errors.RangeError, 400, "range"),
    (errors.RightsError, 403, "rights"), (errors.StaleError, 409, "stale"),
    (errors.KeyReuseError, 422, "key-reused"), (errors.KnowledgeBaseError, 503, "knowledge-base"),
    (errors.IndexMismatchError, 503, "index"), (errors.MissingExtraError, 501, "missing-extra"),
    (errors.OutsideError, 502, "outside"), (errors.ShiyiError, 500, "internal"),
)  # fmt: skip
_PASSED_ON = frozenset({"Allow", "WWW-Authenticate", "Retry-After"})
_LIMITS = {"time": 504, "memory": 507, "busy": 503, "share": 429}
_LATER = {429, 503}
_PAGES = 32  # of 429 and 503, cached


def status_of(fault: errors.ShiyiError) -> tuple[int, str]:
    """Return the HTTP status and the short name of the kind of fault."""
    if isinstance(fault, errors.QueryLimitError):
        return _LIMITS.get(fault.limit, 422), f"query-limit-{fault.limit}"
    return next((code, kind) for error, code, kind in STATUSES if isinstance(fault, error))


def problem(status: int, kind: str, detail: str, **more: Any) -> dict[str, Any]:
    """Return the RFC 9457 object of a fault, in the reader's language."""
    return {
        "type": f"https://w3id.org/shiyi/problem/{kind}",
        "title": kind.replace("-", " "),
        "status": status,
        "detail": fault_text(detail),
        "instance": request.path,
        **more,
    }


def problem_of(fault: errors.ShiyiError) -> dict[str, Any]:
    """Return the RFC 9457 object of an error of Shiyi, with its attributes."""
    status, kind = status_of(fault)
    more: dict[str, Any] = {}
    if isinstance(fault, errors.FormatError):
        more["known"] = list(fault.known)
    if isinstance(fault, errors.FormError):
        more["faults"] = fault_values(fault)
    if isinstance(fault, errors.TooLargeError):
        more |= {"size": fault.size, "limit": fault.limit, "unit": fault.unit}
    if isinstance(fault, errors.QueryError) and (place := _PLACE.search(str(fault))):
        more |= {"line": int(place[1]), "column": int(place[2])}
    return problem(status, kind, "internal fault" if status == 500 else str(fault), **more)


def fault_values(error: errors.FormError) -> list[dict[str, str]]:
    """Return the faults of fields as JSON, in the reader's language."""
    language = choose_language()
    return [
        {"field": fault.field, "shape": fault.shape, "message": fault.message(language)}
        for fault in error.faults
    ]


def register(app: Flask) -> None:
    """Answer every error with a problem; none shows a stack trace."""

    @app.errorhandler(errors.ShiyiError)
    def shiyi_error(fault: errors.ShiyiError) -> Response:
        if status_of(fault)[0] >= 500:
            app.logger.error("%s: %s", type(fault).__name__, fault)
        return render_problem(problem_of(fault))

    @app.errorhandler(OSError)
    def system_error(fault: OSError) -> Response:  # a full disk, too many open files
        app.logger.error("%s: %s", type(fault).__name__, fault)
        return render_problem(problem(503, "system", "the server cannot read or write its files"))

    @app.errorhandler(HTTPException)
    def http_error(fault: HTTPException) -> Response:
        if isinstance(fault.response, Response):  # a redirection
            return fault.response
        code = fault.code or 500
        kind = fault.name.lower().replace(" ", "-")
        headers = {key: value for key, value in fault.get_headers() if key in _PASSED_ON}
        plain = fault.description == type(fault).description  # the page has its own text
        return render_problem(
            problem(code, kind, fault.description or fault.name), headers, is_standard=plain
        )


def render_problem(
    fault: Mapping[str, Any], headers: Mapping[str, str] | None = None, *, is_standard: bool = False
) -> Response:
    """Answer with a page where a reader asked, with problem+json otherwise."""
    # programs seldom accept HTML, and the API has none
    accepts_page = "text/html" in request.accept_mimetypes.values()
    if accepts_page and not request.path.startswith("/api/"):
        wait = str((headers or {}).get("Retry-After", ""))
        body = _page(
            fault, "" if is_standard else fault["detail"], int(wait) if wait.isdecimal() else 0
        )
        kind = "text/html; charset=utf-8"
    else:
        body, kind = json.dumps(dict(fault), ensure_ascii=False), "application/problem+json"
    response = Response(body, int(fault["status"]), content_type=kind)
    response.headers.extend(dict(headers or {}))
    if fault["status"] in _LATER and "Retry-After" not in response.headers:
        response.headers["Retry-After"] = "5"
    response.headers["Vary"] = "Accept"
    return response


def _page(fault: Mapping[str, Any], detail: str, wait: int) -> str:
    """Return the page of a fault; those of an overloaded server are rendered once."""
    if fault["status"] not in _LATER:
        return render_template("error.html", fault=fault, detail=detail, wait=wait)
    app, language = current_app, choose_language()
    pages: dict[Hashable, str] = app.extensions.setdefault("shiyi.later", {})
    key = language, fault["status"], detail, wait
    if key not in pages:
        with app.test_request_context(f"/later?lang={language}"):  # nothing of this request
            page = render_template("error.html", fault=fault, detail=detail, wait=wait)
        if len(pages) >= _PAGES:
            return page
        pages[key] = page
    return pages[key]
