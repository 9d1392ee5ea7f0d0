"""Signing in and out with a local account: password, and a one-time code where one was set up."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from flask import Blueprint, redirect, render_template, request, session
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.people import LONGEST, People, Person, code_step, matches
from shiyi.curation.roles import Right
from shiyi.server.curating.lockout import Lockout
from shiyi.server.curating.session import PREFIX, begin, me, needs
from shiyi.server.curators import Curation


def sign_in_routes(curation: Curation, lockout: Lockout) -> Blueprint:
    """Serve ``/curate``, ``/curate/sign-in`` and ``/curate/sign-out``."""
    routes = Blueprint("sign_in", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("")
    @needs(Right.OPEN)
    def door() -> BaseResponse:
        return redirect(f"{PREFIX}/queue" if me() else f"{PREFIX}/sign-in")

    @routes.get("/sign-in")
    @needs(Right.OPEN)
    def form() -> str | BaseResponse:
        if me():
            return redirect(wanted())
        return render_template(
            "curate/sign_in.html", next=wanted(), nobody=not people.all(), oidc=curation.oidc_name
        )

    @routes.post("/sign-in")
    @needs(Right.OPEN)
    def sign_in() -> str | BaseResponse | tuple[str, int]:
        name, address = request.form.get("name", "").strip()[:60], request.remote_addr or ""
        lockout.check(name, address)
        found = people.find(name)
        if found and _proved(found, people):
            lockout.right(name)
            audit.note("signed in", found.name, address=address)
            begin(found)
            return redirect(wanted())
        lockout.wrong(name, address)
        audit.note("sign-in refused", name, address=address)
        page = render_template(
            "curate/sign_in.html", next=wanted(), nobody=not people.all(), wrong=True, name=name,
            oidc=curation.oidc_name,
        )  # fmt: skip
        return page, 403

    @routes.post("/sign-out")
    @needs(Right.OPEN)
    def sign_out() -> BaseResponse:
        if found := me():
            audit.note("signed out", found.name, address=request.remote_addr or "")
        session.clear()
        return redirect(f"{PREFIX}/sign-in")

    return routes


def _proved(found: Person | None, people: People) -> bool:
    known = found if found and found.active else None
    fits = matches(known.hashed if known else "", request.form.get("password", "")[:LONGEST])
    if known is None or not fits:
        return False
    if not known.secret:
        return True
    step = code_step(known.secret, request.form.get("code", ""), datetime.now(UTC))
    return step is not None and people.use_code(known.name, step)


def wanted() -> str:
    """Give where to go after signing in: a desk of this server, and no other place."""
    said = request.values.get("next", "")
    parts = urlsplit(said)
    inside = said == PREFIX or said.startswith((f"{PREFIX}/", f"{PREFIX}?"))
    if parts.scheme or parts.netloc or not inside or "\\" in said:
        return f"{PREFIX}/queue"
    return said
