"""Signing in: password, one-time code, lock-out, and an account that lives elsewhere."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from flask.testing import FlaskClient
from typing_extensions import override
from werkzeug.exceptions import TooManyRequests

from shiyi.curation.accounts import AccountStore, Role, code_step, hash_password, matches
from shiyi.errors import UsageError
from shiyi.server.curating import sign_in
from shiyi.server.curating.sign_in import ACCOUNT_TRIES, TRIES, Lockout
from shiyi.settings import CurationSettings, Settings
from tests.support.sites import HTML, PASSWORD, Desks, open_desks, token_of
from tests.tables import from_table


@pytest.fixture(scope="module")
def provider() -> Iterator["Provider"]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory, provider: "Provider") -> Iterator[Desks]:
    settings = Settings(  # oidc_issuer, oidc_client, oidc_name, oidc_role
        curation=CurationSettings(provider.issuer, "shiyi-desks", "the academy", "contributor")
    )
    with open_desks(tmp_path_factory.mktemp("sign-in"), settings) as opened_desks:
        yield opened_desks


def events(desks: Desks) -> list[str]:
    return [f"{record['what']} {record['who']}" for record in desks.curation.audit.last()]


def test_password_signs_in_and_sign_out_ends_session(desks: Desks) -> None:
    client = desks.client("curator")
    page = client.get("/curate/queue", headers=HTML)
    assert page.status_code == 200
    assert page.headers["Cache-Control"] == "no-store"
    cookie, thief = client.get_cookie("shiyi_session", path="/curate"), desks.client()
    assert cookie is not None
    thief.set_cookie("shiyi_session", cookie.value, path="/curate")
    assert thief.get("/curate/queue", headers=HTML).status_code == 200
    client.post("/curate/sign-out", data={"csrf": token_of(page.text)}, headers=HTML)
    assert client.get_cookie("shiyi_session", path="/curate") is None
    for item in (client, thief):
        assert item.get("/curate/queue", headers=HTML).status_code == 302
    assert events(desks)[:2] == ["signed out curator", "signed in curator"]


def test_cookie_is_http_only_and_same_site(desks: Desks) -> None:
    answer = desks.sign_in(desks.client(), "curator")
    [cookie] = [c for c in answer.headers.getlist("Set-Cookie") if c.startswith("shiyi_session")]
    assert {"HttpOnly", "Path=/curate", "SameSite=Lax"} <= set(cookie.split("; "))


@from_table
def test_a_wrong_name_or_password_is_refused_alike(
    desks: Desks, monkeypatch: pytest.MonkeyPatch, name: str, password: str, active: bool
) -> None:
    """And after as much work, so that nobody learns by the time which names there are."""
    compared = Mock(side_effect=matches)
    monkeypatch.setattr(sign_in, "matches", compared)
    desks.curation.people.set_active("curator", active)
    answer = desks.sign_in(desks.client(), name, password=password or PASSWORD)
    desks.curation.people.set_active("curator", True)
    assert (answer.status_code, compared.call_count) == (403, 1)
    assert "wrong" in answer.text


def test_second_factor_code_is_accepted_once(desks: Desks) -> None:
    client = desks.client("contributor")
    page = client.get("/curate/account", headers=HTML).text
    secret = page.partition('<code class="secret">')[2].partition("<")[0]
    code = pyotp.TOTP(secret).now()
    values = {"csrf": token_of(page), "password": PASSWORD, "code": code}
    assert client.post("/curate/account/code", data=values, headers=HTML).status_code == 302
    other = desks.client()
    assert desks.sign_in(other, "contributor").status_code == 403
    assert desks.sign_in(other, "contributor", code=code).status_code == 302
    assert desks.sign_in(desks.client(), "contributor", code=code).status_code == 403
    desks.curation.people.set_secret("contributor", "")


def test_a_new_password_ends_the_other_sessions(desks: Desks) -> None:
    one, other = desks.client("reader"), desks.client("reader")
    csrf = token_of(one.get("/curate/account", headers=HTML).text)
    fresh = "another long phrase"
    values = {"csrf": csrf, "password": PASSWORD, "new": fresh, "again": fresh}
    assert one.post("/curate/account/password", data=values, headers=HTML).status_code == 302
    assert one.get("/curate/queue", headers=HTML).status_code == 200
    assert other.get("/curate/queue", headers=HTML).status_code == 302
    assert matches(desks.curation.people.get("reader").hashed, fresh)
    desks.curation.people.set_password("reader", PASSWORD)


def test_accounts_are_stored_as_private_argon2_hashes(desks: Desks) -> None:
    path = desks.kb / "people.json"
    assert path.stat().st_mode & 0o077 == 0
    text = path.read_text("utf-8")
    assert text.count("$argon2id$") == len(Role)
    assert PASSWORD not in text


def test_an_account_has_so_many_guesses_from_anywhere() -> None:
    lockout = Lockout()
    for number in range(ACCOUNT_TRIES):
        lockout.check("li", f"2001:db8:0:{number:x}::1")
        lockout.wrong("li", f"2001:db8:0:{number:x}::1")
    with pytest.raises(TooManyRequests):
        lockout.check("li", "198.51.100.7")
    lockout.check("li", "198.51.100.7", "a known device")
    lockout.check("wang", "198.51.100.7")


def test_stranger_behind_same_address_locks_nobody_out(
    desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known device and a one-time code count apart, and no more tries of either are looked at."""
    monkeypatch.setattr(sign_in, "matches", lambda hashed, password: password == PASSWORD)
    new, known, session, stranger = (desks.client() for _ in range(4))
    for client in (new, known, session, stranger):
        client.environ_base["REMOTE_ADDR"] = "203.0.113.77"

    guess = {"password": "guess"}

    def tried(client: FlaskClient, name: str = "administrator", **more: str) -> int:
        status: int = desks.sign_in(client, name, **more).status_code
        client.delete_cookie("shiyi_session", path="/curate")
        return status

    desks.sign_in(session, "administrator")
    answer = desks.sign_in(known, "administrator")
    [cookie] = [c for c in answer.headers.getlist("Set-Cookie") if c.startswith("shiyi_device")]
    assert {"HttpOnly", "Path=/curate", "SameSite=Strict"} <= set(cookie.split("; "))
    known.delete_cookie("shiyi_session", path="/curate")
    for number in range(8 * TRIES):
        name = "administrator" if number < TRIES else f"name {number}"
        assert tried(stranger, name, **guess) == 403
    waiting = [(stranger, "administrator"), (new, "reader"), (known, "reader")]
    assert [tried(client, name) for client, name in waiting] == [429] * 3
    assert int(desks.sign_in(stranger, "administrator").headers["Retry-After"]) > 0
    page = session.get("/curate/account", headers=HTML).text
    values = {"csrf": token_of(page), "password": PASSWORD, "new": "short", "again": "short"}
    assert session.post("/curate/account/password", data=values).status_code == 400

    secret = pyotp.random_base32()
    desks.curation.people.set_secret("administrator", secret)
    code = {"code": pyotp.TOTP(secret).now()}
    guesses = [tried(stranger, **guess, **code) for _ in range(TRIES + 1)]
    assert guesses == [*[403] * TRIES, 429]
    desks.curation.people.set_secret("reader", secret)
    assert [tried(new, "reader", **code) for _ in range(2)] == [302, 403]  # known, code used
    assert [tried(known, **code), tried(stranger, **code)] == [302, 429]
    for name in ("administrator", "reader"):
        desks.curation.people.set_secret(name, "")
    guesses = [tried(known, **guess) for _ in range(TRIES + 1)]
    assert guesses == [*[403] * TRIES, 429]


def test_the_last_administrator_stays_and_short_passwords_go(desks: Desks) -> None:
    people: AccountStore = desks.curation.people
    with pytest.raises(UsageError, match="last active administrator"):
        people.set_role("administrator", Role.READER)
    with pytest.raises(UsageError, match="last active administrator"):
        people.set_active("administrator", False)
    for password in ("short", "aaaaaaaaaaaaaaaa"):
        with pytest.raises(UsageError):
            people.add("somebody", Role.READER, password)
    assert matches(hash_password("abcdabcdabcdabcd"), "abcdabcdabcdabcd")


def test_one_time_code_is_valid_around_its_step() -> None:
    from datetime import UTC, datetime, timedelta

    secret, now = pyotp.random_base32(), datetime(2030, 1, 1, tzinfo=UTC)
    code = pyotp.TOTP(secret).at(now)
    assert code_step(secret, code, now) is not None
    assert code_step(secret, code, now + timedelta(seconds=30)) is not None
    assert code_step(secret, code, now + timedelta(seconds=90)) is None
    assert code_step(secret, "", now) is None


class Provider:
    """A real OpenID Connect provider on this machine, with a key of its own."""

    def __init__(self) -> None:
        from joserfc.jwk import RSAKey

        self.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
        self.codes: dict[str, dict[str, str]] = {}
        self.spoil: dict[str, Any] = {}  # claims that the next token gets wrong
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.post(self)

            @override
            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def get(self, request: Any) -> None:
        parts = urlsplit(request.path)
        if parts.path == "/.well-known/openid-configuration":
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            send(request, {"issuer": self.issuer} | {n: f"{self.issuer}/{n}" for n in names})
        elif parts.path == "/jwks_uri":
            send(request, {"keys": [self.key.as_dict(private=False)]})
        else:  # somebody signs in there, and is sent back with a code
            fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
            assert fields["code_challenge_method"] == "S256"
            assert fields["response_type"] == "code"
            code = secrets.token_urlsafe(8)
            self.codes[code] = fields
            request.send_response(302)
            request.send_header(
                "Location", f"{fields['redirect_uri']}?code={code}&state={fields['state']}"
            )
            request.end_headers()

    def post(self, request: Any) -> None:
        from joserfc import jwt

        length = int(request.headers["Content-Length"])
        form = {n: v[0] for n, v in parse_qs(request.rfile.read(length).decode()).items()}
        text = self.codes.pop(form.get("code", ""), None)
        fits = text and challenge(form["code_verifier"]) == text["code_challenge"]
        if not text or not fits:
            send(request, {"error": "invalid_grant"}, 400)
            return
        claims = {
            "iss": self.issuer,
            "aud": "shiyi-desks",
            "sub": "42",
            "nonce": text["nonce"],
            "exp": int(time.time()) + 60,
            "iat": int(time.time()),
            "preferred_username": "Wang Wu",
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.spoil, self.key)
        send(request, {"access_token": "x", "token_type": "Bearer", "id_token": token})


def challenge(verifier: str) -> str:
    """Make the S256 challenge of RFC 7636."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def send(request: Any, values: dict[str, Any], status: int = 200) -> None:
    body = json.dumps(values).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def come_back(desks: Desks, **wrong: str) -> tuple[Any, Any]:
    """Go to the provider and back; return the client and the last answer."""
    import httpx2

    client = desks.app.test_client()
    started = client.get("/curate/oidc?next=/curate/history", headers=HTML)
    assert started.status_code == 302, started.text
    there = httpx2.get(started.headers["Location"])
    back = urlsplit(there.headers["Location"])
    query = {name: values[0] for name, values in parse_qs(back.query).items()} | wrong
    return client, client.get(back.path, query_string=query, headers=HTML)


def test_external_sign_in_has_one_account(desks: Desks) -> None:
    client, answer = come_back(desks)
    assert answer.status_code == 302, answer.text
    assert answer.headers["Location"] == "/curate/history"
    assert client.get("/curate/queue", headers=HTML).status_code == 200
    account = desks.curation.people.get("wang-wu")
    assert (account.role, account.hashed) == (Role.CONTRIBUTOR, "")
    [noted] = desks.curation.audit.last(1)
    assert (noted["what"], noted["who"], noted["address"]) == ("signed in", "wang-wu", "127.0.0.1")
    come_back(desks)
    assert "wang-wu-2" not in desks.curation.people.all()


def test_a_closed_account_stays_closed_there_too(desks: Desks) -> None:
    come_back(desks)
    desks.curation.people.set_active("wang-wu", False)
    assert come_back(desks)[1].status_code == 403
    assert desks.curation.audit.last(1)[0]["what"] == "sign-in refused"
    desks.curation.people.set_active("wang-wu", True)


@from_table
def test_token_for_somebody_or_something_else_opens_nothing(
    desks: Desks, provider: Provider, wrong: dict[str, Any]
) -> None:
    provider.spoil = wrong
    try:
        assert come_back(desks)[1].status_code == 403
    finally:
        provider.spoil = {}


def test_a_token_signed_by_another_key_opens_nothing(desks: Desks, provider: Provider) -> None:
    from joserfc.jwk import RSAKey

    key = provider.key
    published = key.as_dict(private=False)
    provider.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
    provider.key.as_dict = lambda **_: published  # type: ignore[method-assign]
    try:
        assert come_back(desks)[1].status_code == 403
    finally:
        provider.key = key


@pytest.mark.parametrize(("status", "gone"), [(200, "jwks_uri"), (200, "issuer"), (500, "")])
def test_provider_without_discovery_is_not_used(
    desks: Desks, provider: Provider, monkeypatch: pytest.MonkeyPatch, status: int, gone: str
) -> None:
    names = {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"} - {gone}
    described = dict.fromkeys(names, provider.issuer)
    monkeypatch.setattr(provider, "get", lambda request: send(request, described, status))
    assert desks.client().get("/curate/oidc", headers=HTML).status_code == 502


@pytest.mark.parametrize("wrong", [{"state": "forged"}, {"code": "unknown"}], ids=str)
def test_an_answer_nobody_asked_for_opens_nothing(desks: Desks, wrong: dict[str, str]) -> None:
    assert come_back(desks, **wrong)[1].status_code in {403, 502}
