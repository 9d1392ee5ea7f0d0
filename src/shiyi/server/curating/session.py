"""Sessions, CSRF, rights per route."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from hmac import compare_digest
from typing import Any, Final, TypeVar
from urllib.parse import quote

from flask import Flask, Request, Response, g, json, redirect, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface
from typing_extensions import override
from werkzeug.exceptions import Forbidden, Unauthorized
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import LEAST, Account, Right, Role, has_right
from shiyi.curation.desks.uploads import LARGEST
from shiyi.server.http.access import find_token
from shiyi.server.http.rate_limit import SECONDS, Throttle
from shiyi.server.i18n import catalogue
from shiyi.server.site import tokens
from shiyi.server.site.curation import Curation
from shiyi.server.site.tokens import Tokens

PREFIX: Final = "/curate"
API: Final = "/api/curation"
HOURS: Final = 12  # a session lasts so long
_MARK: Final = "shiyi_right"
_TOKEN_MOST: Final = Role.CURATOR  # a token has at most a curator's rights
View = TypeVar("View", bound=Callable[..., Any])


def needs(right: Right) -> Callable[[View], View]:
    """Declare the right that a route below ``/curate`` needs; a route without one is denied."""

    def mark(view: View) -> View:
        setattr(view, _MARK, right)
        return view

    return mark


def required_right(app: Flask, endpoint: str | None) -> Right | None:
    """Return the right that a route needs, None where it declares none."""
    return getattr(app.view_functions.get(endpoint or ""), _MARK, None)


def current_account() -> Account | None:
    """Return the person of the request, or None."""
    result: Account | None = g.get("person")
    return result


def person() -> Account:
    """Return the person of the request, for a route that requires one."""
    result = current_account()
    if result is None:
        raise Unauthorized("sign in first")
    return result


def csrf() -> str:
    """Return the token that every form of this session sends back."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def begin(result: Account) -> None:
    """Sign a person in with a new session."""
    session.clear()
    session.update(who=result.name, epoch=result.epoch, since=int(tokens.unix_time()))


class CurateSessions(SecureCookieSessionInterface):
    """The session cookie goes only to the desks, only over TLS where TLS is used."""

    @override
    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        if self.get_cookie_name(app) not in request.cookies:
            return (
                self.session_class()
            )  # no signature to look at: an eighth of what a stored page takes
        return super().open_session(app, request)

    @override
    def get_cookie_path(self, app: Flask) -> str:
        return PREFIX

    @override
    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure  # by the proxy's word, where `server.proxies` counts one


_DOCUMENTS: Final = frozenset({f"{PREFIX}/documents", f"{API}/documents"})
_FORM: Final = 65_536  # bytes of the other fields of a form with a document


def guard_desks(app: Flask, curation: Curation, tokens: Tokens | None) -> None:
    """Require the right of each route of the desks and of their API; of a form a CSRF token."""
    app.secret_key = curation.secret
    app.session_interface = CurateSessions()
    app.config.update(
        SESSION_COOKIE_NAME="shiyi_session",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=HOURS * 3600,
    )
    app.jinja_env.filters["from_json"] = json.loads
    failures = Throttle(SECONDS)

    @app.before_request
    def check_access() -> BaseResponse | None:
        if not _of_desk() or request.url_rule is None:
            return None  # of another part, or a 404 or 405
        if request.url_rule.rule in _DOCUMENTS:
            request.max_content_length = LARGEST + _FORM
        right = required_right(app, request.endpoint)
        if right is None:
            raise Forbidden("this address says no right it needs, so nobody has it")
        bearer = request.headers.get("Authorization", "").partition(" ")
        if bearer[0].lower() == "bearer":
            g.person = _account_of_token(bearer[2].strip(), curation, tokens, failures)
        else:
            g.person = _by_session(curation)
            if request.method not in {"GET", "HEAD", "OPTIONS"}:
                _check_form()
        return _refuse(g.person, right)

    @app.after_request
    def unkept(response: Response) -> Response:
        if _of_desk():
            response.headers["Cache-Control"] = "no-store"
        return response

    @app.context_processor
    def signed_in() -> dict[str, Any]:
        result = current_account()
        role = result.role if result else None
        return {"me": result, "csrf": csrf, "may": lambda right: has_right(role, Right(right))}


def _of_desk() -> bool:
    rule = request.url_rule.rule if request.url_rule else request.path
    return rule == PREFIX or rule.startswith((f"{PREFIX}/", f"{API}/"))


def _by_session(curation: Curation) -> Account | None:
    result = curation.people.find(str(session.get("who", "")))
    if result is None:
        return None
    age = tokens.unix_time() - int(session.get("since", 0))  # below 0: the clock was turned back
    if (
        not -tokens.SKEW <= age <= HOURS * 3600
        or not result.active
        or session.get("epoch") != result.epoch
    ):
        session.clear()
        return None
    return result


def _account_of_token(
    text: str, curation: Curation, tokens: Tokens | None, failures: Throttle
) -> Account | None:
    """Return the person a token of scope ``review`` stands for, with a curator's rights at most."""
    token = find_token(text, tokens, failures)
    if "review" not in token.scopes:
        raise Forbidden(f"token {token.name} does not have the scope review")
    result = curation.people.find(token.person)
    if result is None or not result.active:
        raise Forbidden(f"token {token.name} stands for no active account")
    return replace(result, role=_TOKEN_MOST) if has_right(result.role, Right.APPROVE) else result


def _check_form() -> None:
    value = request.form.get("csrf") or request.headers.get("X-CSRF-Token") or ""
    known = str(session.get("csrf", ""))
    if not known or not compare_digest(value.encode(), known.encode()):
        raise Forbidden(catalogue()("curate.forged"))


def _refuse(result: Account | None, right: Right) -> BaseResponse | None:
    role = result.role if result else None
    if has_right(role, right):
        return None
    if result is None:
        is_page = not request.path.startswith(API)
        wants_page = "text/html" in request.accept_mimetypes.values()
        if is_page and wants_page and request.method in {"GET", "HEAD"}:
            wanted = request.full_path.rstrip("?")
            return redirect(f"{PREFIX}/sign-in?next={quote(wanted)}")
        raise Unauthorized(catalogue()("curate.sign_in_first"))
    raise Forbidden(catalogue()("curate.no_right", role=LEAST[right]))
