"""Accounts and the audit log, for administrators."""

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.roles import Right, Role
from shiyi.errors import UsageError
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.wording import catalogue


def people_routes(curation: Curation) -> Blueprint:
    """Serve ``/curate/people`` and ``/curate/audit``."""
    routes = Blueprint("people", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("/people")
    @needs(Right.ADMIN)
    def all_people() -> str:
        return render_template(
            "curate/people.html", people=people.all().values(), roles=[each.value for each in Role]
        )

    @routes.post("/people")
    @needs(Right.ADMIN)
    def add() -> BaseResponse:
        form = request.form
        made = people.add(
            form.get("name", "").strip(), Role.named(form.get("role", "")), form.get("password", ""),
            subject=form.get("subject", "").strip()[:500], school=form.get("school", "").strip()[:200],
        )  # fmt: skip
        audit.note("account made", person().name, whom=made.name, role=made.role)
        flash(catalogue()("curate.account_made", name=made.name))
        return redirect(f"{PREFIX}/people")

    @routes.post("/people/<name>")
    @needs(Right.ADMIN)
    def change(name: str) -> BaseResponse:
        form, does = request.form, request.form.get("does", "")
        if does == "role":
            changed = people.set_role(name, Role.named(form.get("role", "")))
        elif does == "password":
            changed = people.set_password(name, form.get("password", ""))
        elif does in {"close", "open"}:
            changed = people.set_active(name, does == "open")
        elif does == "code-off":
            changed = people.set_secret(name, "")
        else:
            raise UsageError("an account is changed by role, password, close, open or code-off")
        audit.note(f"account: {does}", person().name, whom=changed.name, role=changed.role)
        flash(catalogue()("curate.account_changed", name=changed.name))
        return redirect(f"{PREFIX}/people")

    @routes.get("/audit")
    @needs(Right.ADMIN)
    def log() -> str:
        return render_template("curate/audit.html", events=audit.last(300))

    return routes
