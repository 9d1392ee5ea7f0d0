"""What somebody changes about their own account: the password, the second factor."""

from datetime import UTC, datetime
from typing import Final

from flask import Blueprint, flash, redirect, render_template, request, session
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.people import LONGEST, SHORTEST, Person, code_step, matches
from shiyi.curation.roles import Right
from shiyi.errors import UsageError
from shiyi.server.curating.lockout import Lockout
from shiyi.server.curating.session import PREFIX, begin, needs, person
from shiyi.server.curators import Curation
from shiyi.server.wording import catalogue

_CODE: Final = "totp"


def account_routes(curation: Curation, lockout: Lockout) -> Blueprint:
    """Serve ``/curate/account``."""
    routes = Blueprint("account", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("/account")
    @needs(Right.READ)
    def account() -> str:
        import pyotp

        secret = str(session.setdefault(_CODE, pyotp.random_base32()))
        address = pyotp.TOTP(secret).provisioning_uri(name=person().name, issuer_name="Shiyi")
        return render_template(
            "curate/account.html", secret=secret, address=address, shortest=SHORTEST
        )

    @routes.post("/account/password")
    @needs(Right.READ)
    def password() -> BaseResponse:
        mine = person()
        _same_person(lockout, mine)
        said = request.form.get("new", "")
        if said != request.form.get("again", ""):
            raise UsageError(catalogue()("curate.passwords_differ"))
        begin(people.set_password(mine.name, said))
        audit.note("password changed", mine.name, address=request.remote_addr or "")
        flash(catalogue()("curate.password_changed"))
        return redirect(f"{PREFIX}/account")

    @routes.post("/account/code")
    @needs(Right.READ)
    def code() -> BaseResponse:
        mine = person()
        _same_person(lockout, mine)
        if mine.secret:
            changed = people.set_secret(mine.name, "")
        else:
            secret = str(session.get(_CODE, ""))
            if not secret or code_step(
                secret, request.form.get("code", ""), datetime.now(UTC)
            ) is None:  # fmt: skip
                raise UsageError(catalogue()("curate.wrong_code"))
            changed = people.set_secret(mine.name, secret)
        begin(changed)
        what = "second factor on" if changed.secret else "second factor off"
        audit.note(what, mine.name, address=request.remote_addr or "")
        flash(catalogue()("curate.code_on" if changed.secret else "curate.code_off"))
        return redirect(f"{PREFIX}/account")

    return routes


def _same_person(lockout: Lockout, mine: Person) -> None:
    """Ask for the password again before what a borrowed browser must not do."""
    address = request.remote_addr or ""
    lockout.check(mine.name, address)
    if mine.hashed and not matches(mine.hashed, request.form.get("password", "")[:LONGEST]):
        lockout.wrong(mine.name, address)
        raise UsageError(catalogue()("curate.wrong_password"))
