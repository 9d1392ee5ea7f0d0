"""Signing in through OpenID Connect: the code flow with PKCE, state and nonce (OIDC Core 1.0, 3.1)."""

import re
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Blueprint, redirect, request, session, url_for
from werkzeug.exceptions import Forbidden, NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.people import People, Person
from shiyi.curation.roles import Right, Role
from shiyi.errors import OutsideError, SettingError
from shiyi.server.curating.session import PREFIX, begin, needs
from shiyi.server.curating.sign_in import wanted
from shiyi.server.curators import Curation
from shiyi.server.wording import catalogue
from shiyi.settings import CurationSettings

_SECONDS: Final = 10.0
_KEPT: Final = "oidc"
_ALGORITHMS: Final = ["RS256", "ES256", "PS256", "EdDSA"]  # never none, never a shared secret


@dataclass(frozen=True, slots=True)
class Provider:
    """Where the other accounts live, as its discovery document says."""

    issuer: str
    authorization: str
    token: str
    keys: str


def oidc_routes(curation: Curation) -> Blueprint:
    """Serve ``/curate/oidc`` and ``/curate/oidc/callback``."""
    routes = Blueprint("oidc", __name__, url_prefix=PREFIX)
    people, audit, chosen = curation.people, curation.audit, curation.settings

    @routes.get("/oidc")
    @needs(Right.OPEN)
    def start() -> BaseResponse:
        _configured(chosen)
        with _client(curation) as client:
            provider = _discovered(client, chosen.oidc_issuer)
            verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
            address, state = client.create_authorization_url(
                provider.authorization, code_verifier=verifier, nonce=nonce
            )
        session[_KEPT] = {"state": state, "nonce": nonce, "verifier": verifier, "next": wanted()}
        return redirect(address)

    @routes.get("/oidc/callback")
    @needs(Right.OPEN)
    def callback() -> BaseResponse:
        _configured(chosen)
        kept: dict[str, str] = session.pop(_KEPT, {})
        state = request.args.get("state", "")
        if not kept or not secrets.compare_digest(state.encode(), kept["state"].encode()):
            raise Forbidden(catalogue()("curate.forged"))
        if "code" not in request.args:
            raise Forbidden(catalogue()("curate.refused_there"))
        claims = _claims(curation, kept, request.args["code"])
        found = _person(people, chosen, claims)
        if found is None:
            audit.note("sign-in refused", f"{claims['iss']} {claims['sub']}", by="OpenID Connect")
            raise Forbidden(catalogue()("curate.unknown_there"))
        audit.note("signed in", found.name, by="OpenID Connect", address=request.remote_addr or "")
        begin(found)
        return redirect(kept["next"])

    return routes


def _configured(chosen: CurationSettings) -> None:
    if not chosen.oidc_issuer:
        raise NotFound("signing in from elsewhere is not set up")
    if not chosen.oidc_client:
        raise SettingError("curation.oidc_client", "is needed beside curation.oidc_issuer")
    _check_safe(chosen.oidc_issuer)


def _check_safe(address: str) -> None:
    """Let no code or key travel in the clear, but on this machine."""
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
        curation.settings.oidc_client, curation.oidc_secret or None,
        token_endpoint_auth_method="client_secret_basic" if curation.oidc_secret else "none",
        scope="openid profile email", code_challenge_method="S256",
        redirect_uri=url_for("oidc.callback", _external=True), timeout=_SECONDS,
    )  # fmt: skip


def _discovered(client: Any, issuer: str) -> Provider:
    said = _fetched(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    try:
        found = Provider(
            said["issuer"], said["authorization_endpoint"], said["token_endpoint"], said["jwks_uri"]
        )
    except KeyError as fault:
        raise OutsideError(f"{issuer} describes no {fault} of OpenID Connect") from fault
    if found.issuer.rstrip("/") != issuer.rstrip("/"):
        raise OutsideError(f"{issuer} calls itself {found.issuer[:200]}, so it is not trusted")
    for each in (found.authorization, found.token, found.keys):
        _check_safe(each)
    return found


def _fetched(client: Any, address: str) -> dict[str, Any]:
    import httpx2

    try:
        answer = client.request("GET", address, withhold_token=True)
        answer.raise_for_status()
        said = answer.json()
    except (httpx2.HTTPError, ValueError) as fault:
        raise OutsideError(f"{address} does not answer: {fault}") from fault
    if not isinstance(said, dict):
        raise OutsideError(f"{address} answers with no JSON object")
    return said


def _claims(curation: Curation, kept: dict[str, str], code: str) -> dict[str, Any]:
    """Exchange the code and check the identity token: signature, issuer, audience, time, nonce."""
    import httpx2
    from authlib.common.errors import AuthlibBaseError
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    chosen = curation.settings
    with _client(curation) as client:
        provider = _discovered(client, chosen.oidc_issuer)
        try:
            token = client.fetch_token(
                provider.token, grant_type="authorization_code", code=code,
                code_verifier=kept["verifier"],
            )  # fmt: skip
            keys = KeySet.import_key_set(_fetched(client, provider.keys))  # type: ignore[arg-type]
            found = jwt.decode(str(token.get("id_token", "")), keys, algorithms=_ALGORITHMS)
            jwt.JWTClaimsRegistry(
                leeway=60, iss={"essential": True, "value": provider.issuer},
                aud={"essential": True, "value": chosen.oidc_client}, sub={"essential": True},
                exp={"essential": True}, nonce={"essential": True, "value": kept["nonce"]},
            ).validate(found.claims)  # fmt: skip
        except (AuthlibBaseError, httpx2.HTTPError) as fault:
            raise OutsideError(f"{provider.issuer} gave no token: {fault}") from fault
        except (JoseError, ValueError) as fault:
            raise Forbidden(f"the identity token is not valid: {fault}") from fault
    return dict(found.claims)


def _person(people: People, chosen: CurationSettings, claims: dict[str, Any]) -> Person | None:
    """Give the account, or make one where newcomers may have a role; None for a stranger."""
    subject = f"{claims['iss']} {claims['sub']}"
    known = people.by_subject(subject)
    if known is not None:
        return known if known.active else None
    if not chosen.oidc_role:
        return None
    said = str(claims.get("preferred_username") or claims.get("email") or "curator")
    base = (
        re.sub(r"[^a-z0-9._-]+", "-", said.partition("@")[0].lower()).strip("-._")[:34] or "curator"
    )
    names = (base, *(f"{base}-{i}" for i in range(2, 1000)))
    free = next(each for each in names if people.find(each) is None)
    return people.add(free, Role.named(chosen.oidc_role), subject=subject)
