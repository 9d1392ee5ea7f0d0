"""Proposals for the vocabulary and the shapes: anyone who contributes makes them, others approve."""

from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation import vocabulary_proposals as proposals
from shiyi.curation.editing_faults import Fault
from shiyi.curation.roles import Right
from shiyi.errors import UsageError
from shiyi.model.names import ID
from shiyi.ontology.vocabulary import Schema
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.site import Site
from shiyi.server.wording import catalogue

_PAGE = f"{PREFIX}/proposals"


class _View:
    """What the fields of the form ask for."""

    def __init__(self, faults: tuple[Fault, ...] = ()) -> None:
        self._faults = faults

    def against(self, name: str) -> tuple[Fault, ...]:
        """List the faults of one field."""
        return tuple(each for each in self._faults if each.field == name)


def proposal_routes(site: Site, curation: Curation) -> Blueprint:
    """Serve ``/curate/proposals``."""
    routes = Blueprint("proposals", __name__, url_prefix=PREFIX)

    def shown(faults: tuple[Fault, ...] = ()) -> str:
        schema = Schema.load()
        return render_template(
            "curate/proposals.html", found=proposals.proposals(site.store), view=_View(faults),
            faults=faults, said=request.form, key=uuid4().hex, rules=proposals.RULES,
            classes=sorted(schema.parents), relations=sorted(schema.properties),
        )  # fmt: skip

    @routes.get("/proposals")
    @needs(Right.READ)
    def desk() -> str:
        return shown()

    @routes.post("/proposals")
    @needs(Right.COMMENT)
    def propose() -> BaseResponse | tuple[str, int]:
        kind, name, turtle, faults = proposals.drafted(request.form)
        if faults:
            return shown(faults), 422
        reason = request.form.get("reason", "").strip()
        if not reason:
            raise UsageError(catalogue()("edit.reason_missing"))
        edit = proposals.proposed(kind, name, turtle, reason, request.form.get("key", ""))
        change = curation.writing.make(edit, person().name)
        flash(catalogue()("edit.proposed", n=change.number))
        return redirect(_PAGE)

    @routes.post("/proposals/settle")
    @needs(Right.APPROVE)
    def settle() -> BaseResponse:
        name, does = request.form.get("proposal", ""), request.form.get("action", "")
        if does not in {"approve", "decline"} or not name.removeprefix("proposal/").isalnum():
            raise UsageError("a proposal is approved or declined")
        who, writing = person().name, curation.writing
        edit = proposals.settled(
            writing, ID + name, does == "approve", who, request.form.get("reason", "").strip(),
            request.form.get("key", ""),
        )  # fmt: skip
        change = writing.make(edit, who)
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(_PAGE)

    return routes
