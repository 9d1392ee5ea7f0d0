"""Passwords, TOTP, OpenID Connect, lock-out."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Blueprint, redirect, render_template, request, session, url_for
from itsdangerous import BadSignature, URLSafeSerializer
from werkzeug.exceptions import Forbidden, NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import LONGEST, Account, AccountStore, Right, Role, code_step, matches
from shiyi.errors import OutsideError, SettingError
from shiyi.server.curating.session import PREFIX, begin, current_account, needs
from shiyi.server.http.rate_limit import Throttle, client_network
from shiyi.server.i18n import catalogue
from shiyi.server.site.curation import Curation
from shiyi.settings import CurationSettings

TRIES: Final = 8  # wrong ones of one account from one network; of a network, eight times as many
ACCOUNT_TRIES: Final = 100  # wrong ones of one account from all networks
MINUTES: Final = 15  # until another try is allowed


class Lockout:
    """Counts wrong tries by account and network, by network, and by account.

    Those with a proof (a device that the account signed in on before, a valid one-time code)
    count by that proof alone, so that strangers behind the same address lock no curator out.
    """

    def __init__(self) -> None:
        self._wrong = Throttle(MINUTES * 60, f"too many wrong tries; wait {MINUTES} minutes")

    def check(self, name: str, address: str, proof: str = "") -> None:
        """Raise 429 after too many wrong tries, even for the right password."""
        for key, limit in _attempt_counts(name, address, proof).items():
            self._wrong.check(key, limit)

    def wrong(self, name: str, address: str, proof: str = "") -> None:
        """Count one wrong try."""
        self._wrong.add(*_attempt_counts(name, address, proof))

    def right(self, name: str, address: str, proof: str = "") -> None:
        """Forget the wrong tries of that account from there."""
        self._wrong.forget(next(iter(_attempt_counts(name, address, proof))))


def _attempt_counts(name: str, address: str, proof: str) -> dict[tuple[str, ...], int]:
    """Return what a wrong try counts for, and how many each may have."""
    if proof:
        return {("proof", name, proof): TRIES}
    network = client_network(address)
    return {(name, network): TRIES, ("", network): 8 * TRIES, (name, ""): ACCOUNT_TRIES}


class DeviceCookies:
    """Signed cookies that name the accounts which signed in on a device (OWASP: device cookies).

    They open nothing: they only count the tries on a device apart from those of its network.
    """

    _COOKIE: Final = "shiyi_device"
    _ACCOUNTS: Final = 8  # of one device
    _SECONDS: Final = 366 * 86_400

    def __init__(self, secret: bytes) -> None:
        self._signer = URLSafeSerializer(secret, salt="device")

    def accounts(self) -> dict[str, str]:
        """Return the accounts of the device that sent the request, each with a random word."""
        try:
            return dict(self._signer.loads(request.cookies.get(self._COOKIE, "")))
        except BadSignature:
            return {}

    def note(self, response: BaseResponse, name: str) -> BaseResponse:
        """Leave a cookie that names one more account."""
        results = self.accounts()
        results = {name: results.pop(name, "") or secrets.token_urlsafe(16)} | results
        value = str(self._signer.dumps(dict(list(results.items())[: self._ACCOUNTS])))
        response.set_cookie(
            self._COOKIE,
            value,
            self._SECONDS,
            path=PREFIX,
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )
        return response


def sign_in_routes(
    curation: Curation, lockout: Lockout, prepare: Callable[[], None] = lambda: None
) -> Blueprint:
    """Serve ``/curate``, ``/curate/sign-in`` and ``/curate/sign-out``.

    ``prepare`` is called when somebody is about to sign in.
    Signing out ends every session of the account, since sessions are not stored on the server.
    """
    routes = Blueprint("sign_in", __name__, url_prefix=PREFIX)
    people, audit, devices = curation.people, curation.audit, DeviceCookies(curation.secret)

    @routes.get("")
    @needs(Right.OPEN)
    def door() -> BaseResponse:
        return redirect(f"{PREFIX}/queue" if current_account() else f"{PREFIX}/sign-in")

    @routes.get("/sign-in")
    @needs(Right.OPEN)
    def form() -> str | BaseResponse:
        if current_account():
            return redirect(next_page())
        prepare()
        return render_template(
            "curate/sign_in.html",
            next=next_page(),
            nobody=not people.all(),
            oidc=curation.oidc_name,
        )

    @routes.post("/sign-in")
    @needs(Right.OPEN)
    def sign_in() -> str | BaseResponse | tuple[str, int]:
        name, address = request.form.get("name", "").strip()[:60], request.remote_addr or ""
        result = people.find(name)
        proof = devices.accounts().get(name, "") or ("code" if _code_step(result) else "")
        lockout.check(name, address, proof)
        if _verify_login(result, people) and result:  # an unknown name takes as long
            lockout.right(name, address, proof)
            audit.note("signed in", result.name, address=address)
            begin(result)
            return devices.note(redirect(next_page()), name)
        lockout.wrong(name, address, proof)
        audit.note("sign-in refused", name, address=address)
        page = render_template(
            "curate/sign_in.html",
            next=next_page(),
            nobody=not people.all(),
            wrong=True,
            name=name,
            oidc=curation.oidc_name,
        )
        return page, 403

    @routes.post("/sign-out")
    @needs(Right.OPEN)
    def sign_out() -> BaseResponse:
        if result := current_account():
            if session.get("who") == result.name:
                people.sign_out_everywhere(result.name)  # a copy of the cookie is worthless then
            audit.note("signed out", result.name, address=request.remote_addr or "")
        session.clear()
        return redirect(f"{PREFIX}/sign-in")

    return routes


def _verify_login(result: Account | None, people: AccountStore) -> bool:
    account = result if result and result.active else None
    fits = matches(account.hashed if account else "", request.form.get("password", "")[:LONGEST])
    if account is None or not fits:
        return False
    if not account.secret:
        return True
    step = _code_step(account)
    return step is not None and people.use_code(account.name, step)


def _code_step(person: Account | None) -> int | None:
    """Return the half minute of the one-time code that was sent, None for a wrong or used one."""
    if person is None or not person.secret:
        return None
    step = code_step(person.secret, request.form.get("code", ""), datetime.now(UTC))
    return step if step is not None and step > person.used_code else None


def next_page() -> str:
    """Return where to go after signing in: a desk of this server, and no other place."""
    value = request.values.get("next", "")
    parts = urlsplit(value)
    inside = value == PREFIX or value.startswith((f"{PREFIX}/", f"{PREFIX}?"))
    if parts.scheme or parts.netloc or not inside or "\\" in value:
        return f"{PREFIX}/queue"
    return value


_SECONDS: Final = 10.0
_OIDC: Final = "oidc"
_ALGORITHMS: Final = ["RS256", "ES256", "PS256", "EdDSA"]  # never none, never a shared secret


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """The endpoints of the identity provider, from its discovery document."""

    issuer: str
    authorization: str
    token: str
    keys: str


def oidc_routes(curation: Curation) -> Blueprint:
    """Serve ``/curate/oidc`` and ``/curate/oidc/callback``."""
    routes = Blueprint("oidc", __name__, url_prefix=PREFIX)
    people, audit, settings = curation.people, curation.audit, curation.settings

    @routes.get("/oidc")
    @needs(Right.OPEN)
    def start() -> BaseResponse:
        _check_configuration(settings)
        with _client(curation) as client:
            provider = _discover(client, settings.oidc_issuer)
            verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
            address, state = client.create_authorization_url(
                provider.authorization, code_verifier=verifier, nonce=nonce
            )
        session[_OIDC] = {"state": state, "nonce": nonce, "verifier": verifier, "next": next_page()}
        return redirect(address)

    @routes.get("/oidc/callback")
    @needs(Right.OPEN)
    def callback() -> BaseResponse:
        _check_configuration(settings)
        pending: dict[str, str] = session.pop(_OIDC, {})
        state = request.args.get("state", "")
        if not pending or not secrets.compare_digest(state.encode(), pending["state"].encode()):
            raise Forbidden(catalogue()("curate.forged"))
        if "code" not in request.args:
            raise Forbidden(catalogue()("curate.refused_there"))
        claims = _claims(curation, pending, request.args["code"])
        result = _person(people, settings, claims)
        if result is None:
            audit.note("sign-in refused", f"{claims['iss']} {claims['sub']}", by="OpenID Connect")
            raise Forbidden(catalogue()("curate.unknown_there"))
        audit.note("signed in", result.name, by="OpenID Connect", address=request.remote_addr or "")
        begin(result)
        return redirect(pending["next"])

    return routes


def _check_configuration(chosen: CurationSettings) -> None:
    if not chosen.oidc_issuer:
        raise NotFound("signing in from elsewhere is not set up")
    if not chosen.oidc_client:
        raise SettingError("curation.oidc_client", "is needed beside curation.oidc_issuer")
    _check_safe(chosen.oidc_issuer)


def _check_safe(address: str) -> None:
    """Require TLS for codes and keys, but on this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_local(parts.hostname or "")):
        return
    raise SettingError("curation.oidc_issuer", f"{address[:200]} is not https")


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _client(curation: Curation) -> Any:
    from authlib.integrations.httpx_client import OAuth2Client

    return OAuth2Client(
        curation.settings.oidc_client,
        curation.oidc_secret or None,
        token_endpoint_auth_method="client_secret_basic" if curation.oidc_secret else "none",
        scope="openid profile email",
        code_challenge_method="S256",
        redirect_uri=url_for("oidc.callback", _external=True),
        timeout=_SECONDS,
    )


def _discover(client: Any, issuer: str) -> IdentityProvider:
    value = _fetch_json(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    try:
        result = IdentityProvider(
            value["issuer"],
            value["authorization_endpoint"],
            value["token_endpoint"],
            value["jwks_uri"],
        )
    except KeyError as fault:
        raise OutsideError(f"{issuer} describes no {fault} of OpenID Connect") from fault
    if result.issuer.rstrip("/") != issuer.rstrip("/"):
        raise OutsideError(f"{issuer} calls itself {result.issuer[:200]}, so it is not trusted")
    for name in (result.authorization, result.token, result.keys):
        _check_safe(name)
    return result


def _fetch_json(client: Any, address: str) -> dict[str, Any]:
    import httpx2

    try:
        answer = client.request("GET", address, withhold_token=True)
        answer.raise_for_status()
        payload = answer.json()
    except (httpx2.HTTPError, ValueError) as fault:
        raise OutsideError(f"{address} does not answer: {fault}") from fault
    if not isinstance(payload, dict):
        raise OutsideError(f"{address} answers with no JSON object")
    return payload


def _claims(curation: Curation, pending: dict[str, str], code: str) -> dict[str, Any]:
    """Exchange the code and check the identity token: signature, issuer, audience, time, nonce."""
    import httpx2
    from authlib.common.errors import AuthlibBaseError
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    settings = curation.settings
    with _client(curation) as client:
        provider = _discover(client, settings.oidc_issuer)
        try:
            token = client.fetch_token(
                provider.token,
                grant_type="authorization_code",
                code=code,
                code_verifier=pending["verifier"],
            )
            keys = KeySet.import_key_set(_fetch_json(client, provider.keys))  # type: ignore[arg-type]
            result = jwt.decode(str(token.get("id_token", "")), keys, algorithms=_ALGORITHMS)
            jwt.JWTClaimsRegistry(
                leeway=60,
                iss={"essential": True, "value": provider.issuer},
                aud={"essential": True, "value": settings.oidc_client},
                sub={"essential": True},
                exp={"essential": True},
                nonce={"essential": True, "value": pending["nonce"]},
            ).validate(result.claims)
        except (AuthlibBaseError, httpx2.HTTPError) as fault:
            raise OutsideError(f"{provider.issuer} gave no token: {fault}") from fault
        except (JoseError, ValueError) as fault:
            raise Forbidden(f"the identity token is not valid: {fault}") from fault
    return dict(result.claims)


def _person(
    people: AccountStore, chosen: CurationSettings, claims: dict[str, Any]
) -> Account | None:
    """Return the account, or make one where newcomers may have a role; None for a stranger."""
    subject = f"{claims['iss']} {claims['sub']}"
    account = people.by_subject(subject)
    if account is not None:
        return account if account.active else None
    if not chosen.oidc_role:
        return None
    value = str(claims.get("preferred_username") or claims.get("email") or "curator")
    base = (
        re.sub(r"[^a-z0-9._-]+", "-", value.partition("@")[0].lower()).strip("-._")[:34]
        or "curator"
    )
    names = (base, *(f"{base}-{i}" for i in range(2, 1000)))
    free = next(name for name in names if people.find(name) is None)
    return people.add(free, Role.from_name(chosen.oidc_role), subject=subject)
