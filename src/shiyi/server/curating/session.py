"""Who asks, and may they: signed cookies, tokens against forged forms, a right for every route."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from hmac import compare_digest
from typing import Any, Final, TypeVar
from urllib.parse import quote

from flask import Flask, Request, Response, g, json, redirect, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface
from typing_extensions import override
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, Unauthorized
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.people import Person
from shiyi.curation.roles import LEAST, Right, Role, may
from shiyi.server import clock
from shiyi.server.access import Guesses
from shiyi.server.curators import Curation
from shiyi.server.tokens import Tokens
from shiyi.server.wording import catalogue

PREFIX: Final = "/curate"
HOURS: Final = 12  # a session lasts so long
_MARK: Final = "shiyi_right"
_TOKEN_MOST: Final = Role.CURATOR  # however high the person stands, their token does not
View = TypeVar("View", bound=Callable[..., Any])


def needs(right: Right) -> Callable[[View], View]:
    """Say which right a route below ``/curate`` needs; a route that says nothing is denied."""

    def marked(view: View) -> View:
        setattr(view, _MARK, right)
        return view

    return marked


def right_of(app: Flask, endpoint: str | None) -> Right | None:
    """Give the right that a route needs, None where it says nothing."""
    return getattr(app.view_functions.get(endpoint or ""), _MARK, None)


def me() -> Person | None:
    """Give who asks, or None."""
    found: Person | None = g.get("person")
    return found


def person() -> Person:
    """Give who asks, for a route that only somebody signed in may use."""
    found = me()
    if found is None:
        raise Unauthorized("sign in first")
    return found


def csrf() -> str:
    """Give the token that every form of this session sends back."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def begin(found: Person) -> None:
    """Sign somebody in: a new session, so that nothing of the old one is kept."""
    session.clear()
    session.update(who=found.name, epoch=found.epoch, since=int(clock.now()))
    csrf()


class CurateSessions(SecureCookieSessionInterface):
    """The session cookie goes only to the desks, only over TLS where TLS is used."""

    @override
    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        if self.get_cookie_name(app) not in request.cookies:
            return (
                self.session_class()
            )  # no signature to look at: an eighth of what a kept page takes
        return super().open_session(app, request)

    @override
    def get_cookie_path(self, app: Flask) -> str:
        return PREFIX

    @override
    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure  # by the proxy's word, where `server.proxies` counts one


def guard_desks(app: Flask, curation: Curation, tokens: Tokens | None) -> None:
    """Let nobody to a route below ``/curate`` without its right; forged forms go nowhere."""
    app.secret_key = curation.secret
    app.session_interface = CurateSessions()
    app.config.update(
        SESSION_COOKIE_NAME="shiyi_session", SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax", PERMANENT_SESSION_LIFETIME=HOURS * 3600,
    )  # fmt: skip
    app.jinja_env.filters["from_json"] = json.loads
    guesses = Guesses()

    @app.before_request
    def admitted() -> BaseResponse | None:
        if not _of_desk():
            return None
        if request.url_rule is None:
            return None  # a 404, or a 405
        right = right_of(app, request.endpoint)
        if right is None:
            raise Forbidden("this address says no right it needs, so nobody has it")
        bearer = request.headers.get("Authorization", "").partition(" ")
        if bearer[0].lower() == "bearer":
            g.person = _by_token(bearer[2].strip(), curation, tokens, guesses)
        else:
            g.person = _by_session(curation)
            if request.method not in {"GET", "HEAD", "OPTIONS"}:
                _check_form()
        return _refused(g.person, right)

    @app.after_request
    def unkept(response: Response) -> Response:
        if _of_desk():
            response.headers["Cache-Control"] = "no-store"
        return response

    @app.context_processor
    def signed_in() -> dict[str, Any]:
        found = me()
        role = found.role if found else None
        return {
            "me": found, "csrf": csrf,
            "may": lambda right: may(role, Right(right)),
        }  # fmt: skip


def _of_desk() -> bool:
    rule = request.url_rule.rule if request.url_rule else request.path
    return rule == PREFIX or rule.startswith(f"{PREFIX}/")


def _by_session(curation: Curation) -> Person | None:
    found = curation.people.find(str(session.get("who", "")))
    if found is None:
        return None
    age = clock.now() - int(session.get("since", 0))  # below 0: the clock was turned back
    if (
        not -clock.SKEW <= age <= HOURS * 3600
        or not found.active
        or session.get("epoch") != found.epoch
    ):
        session.clear()
        return None
    return found


def _by_token(
    said: str, curation: Curation, tokens: Tokens | None, guesses: Guesses
) -> Person | None:
    """Give the person a token of scope ``review`` stands for, with a curator's rights at most."""
    guesses.check(request.remote_addr)
    token = tokens.find(said) if tokens and said else None
    if token is None:
        guesses.wrong(request.remote_addr)
        challenge = WWWAuthenticate("bearer", {"realm": "shiyi", "error": "invalid_token"})
        raise Unauthorized("the token is unknown, revoked or expired", None, challenge)
    if "review" not in token.scopes:
        raise Forbidden(f"token {token.name} does not have the scope review")
    found = curation.people.find(token.person)
    if found is None or not found.active:
        raise Forbidden(f"token {token.name} stands for no active account")
    return replace(found, role=_TOKEN_MOST) if may(found.role, Right.APPROVE) else found


def _check_form() -> None:
    said = request.form.get("csrf") or request.headers.get("X-CSRF-Token") or ""
    known = str(session.get("csrf", ""))
    if not known or not compare_digest(said.encode(), known.encode()):
        raise Forbidden(catalogue()("curate.forged"))


def _refused(found: Person | None, right: Right) -> BaseResponse | None:
    role = found.role if found else None
    if may(role, right):
        return None
    if found is None:
        if request.method in {"GET", "HEAD"} and "text/html" in request.accept_mimetypes.values():
            wanted = request.full_path.rstrip("?")
            return redirect(f"{PREFIX}/sign-in?next={quote(wanted)}")
        raise Unauthorized(catalogue()("curate.sign_in_first"))
    raise Forbidden(catalogue()("curate.no_right", role=LEAST[right]))
