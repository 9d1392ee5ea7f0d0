"""Reviews out of this base and into it, as signed bundles."""

from flask import Blueprint, Response, flash, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.bundle import export_bundle, import_bundle, public_of, read_bundle, signing_key
from shiyi.curation.roles import Right
from shiyi.errors import UsageError
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.site import Site
from shiyi.server.wording import catalogue


def bundle_routes(site: Site, curation: Curation) -> Blueprint:
    """Serve ``/curate/reviews.jsonl`` and ``/curate/import``."""
    routes = Blueprint("bundles", __name__, url_prefix=PREFIX)
    kb = curation.audit.path.parent

    @routes.get("/reviews.jsonl")
    @needs(Right.APPROVE)
    def take_out() -> Response:
        changes = curation.writing
        found = [each for n in range(1, changes.last + 1) if (each := changes.numbered(n))]
        body = b"".join(export_bundle(found, kb, site.release))
        curation.audit.note("reviews exported", person().name, changes=str(len(found)))
        response = Response(body, content_type="application/jsonl; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="shiyi-reviews.jsonl"'
        return response

    @routes.post("/import")
    @needs(Right.APPROVE)
    def take_in() -> BaseResponse:
        sent = request.files.get("bundle")
        if sent is None:
            raise UsageError(catalogue()("curate.choose_bundle"))
        own = public_of(signing_key(kb))
        found = read_bundle(sent.read(), [own, request.form.get("key", "").strip()])
        result = import_bundle(curation.writing, found)
        curation.audit.note("reviews imported", person().name, changes=str(result.made))
        flash(catalogue()(
            "curate.imported", made=result.made, known=result.known, refused=len(result.refused)
        ))  # fmt: skip
        return redirect(f"{PREFIX}/history")

    return routes
