"""A spooled result as a response: bytes where it is short, a stream of known length where not."""

from flask import Response, request

from shiyi.sparql.spool import Spool


def spooled(body: Spool, kind: str) -> Response:
    """Answer with what a spool holds, and let go of it when that is sent.

    ETag and If-None-Match are of the bytes before compression.
    """
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    if body.is_short:
        response = Response(body.read(), content_type=kind + charset)
    else:
        response = Response(body.parts(), content_type=kind + charset)
        response.content_length = body.size
        response.call_on_close(body.close)
    response.vary.add("Accept")
    response.set_etag(body.digest)
    if "If-None-Match" in request.headers and request.method in {"GET", "HEAD"}:
        response.make_conditional(request)  # a tenth of what a small query takes here
    return response
