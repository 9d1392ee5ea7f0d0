"""No route of the app does anything without the right role and token; a new one needs its row here."""

from collections.abc import Iterator
from typing import Any

import pytest

from shiyi.curation.accounts import Right, Role, may
from shiyi.server.curating.session import right_of
from shiyi.server.http.access import FAILURES
from tests.support.sites import Desks, open_desks

# every route below /curate, and the right it needs
RIGHTS = {
    "GET /curate": "open", "GET /curate/sign-in": "open", "POST /curate/sign-in": "open",
    "POST /curate/sign-out": "open", "GET /curate/oidc": "open", "GET /curate/oidc/callback": "open",
    "GET /curate/account": "read", "POST /curate/account/password": "read",
    "POST /curate/account/code": "read", "GET /curate/people": "admin", "POST /curate/people": "admin",
    "POST /curate/people/<name>": "admin", "GET /curate/audit": "admin", "GET /curate/queue": "read",
    "POST /curate/batch": "review", "POST /curate/assign": "review", "GET /curate/claim": "read",
    "POST /curate/review": "review", "POST /curate/comment": "comment", "GET /curate/history": "read",
    "GET /curate/change/<int:number>": "read", "GET /curate/thing": "read", "POST /curate/undo": "review",
    "GET /curate/feed.atom": "read", "GET /curate/progress": "read",
    "GET /curate/reviews.jsonl": "approve", "POST /curate/import": "approve",
    "GET /curate/edit": "comment", "POST /curate/edit": "comment", "POST /curate/edit/check": "comment",
    "GET /curate/edit/done": "read", "GET /curate/quarantine": "read", "POST /curate/quarantine": "review",
    "GET /curate/documents": "edit", "POST /curate/documents": "edit",
    "GET /curate/documents/<name>": "edit", "POST /curate/documents/<name>": "edit",
    "POST /curate/documents/<name>/names": "edit", "POST /curate/evidence": "review",
    "GET /curate/mappings": "read", "POST /curate/mappings": "review",
    "GET /curate/mappings.sssom.tsv": "read", "POST /curate/mappings/import": "edit",
    "GET /curate/feedback": "read", "POST /curate/feedback": "review", "GET /curate/report": "open",
    "POST /curate/report": "open", "GET /curate/proposals": "read", "POST /curate/proposals": "comment",
    "POST /curate/proposals/settle": "approve", "GET /curate/vocabulary": "read",
    "GET /curate/vocabulary/concept": "read", "POST /curate/vocabulary/concept": "edit",
    "POST /curate/vocabulary/move": "edit",
}  # fmt: skip

# the desks as JSON, by their paths below /api/curation
_BY_RIGHT = {
    "read": "GET /me, GET /claims, GET /claims/<path:name>, GET /concepts/<path:name>, GET /mappings, "
    "GET /history, GET /changes/<int:number>, GET /quarantine, GET /feedback, GET /proposals",
    "comment": "POST /claims, POST /claims/check, PUT /claims/<path:name>, POST /proposals, "
    "POST /claims/<path:name>/comments, POST /concepts/<path:name>/comments",
    "review": "POST /claims/<path:name>/review, POST /claims/<path:name>/refuse-evidence, "
    "POST /claims/review, POST /claims/assign, POST /undo, "
    "POST /mappings/<path:name>, POST /quarantine/reject, POST /feedback/<path:name>",
    "edit": "POST /concepts, PUT /concepts/<path:name>, POST /concepts/merge, POST /mappings, "
    "POST /concepts/<path:name>/aliases, POST /concepts/<path:name>/split, "
    "POST /concepts/<path:name>/deprecate, GET /documents, POST /documents, "
    "GET /documents/<name>, POST /documents/<name>/columns, POST /documents/<name>/names",
    "approve": "POST /proposals/<path:name>",
}
RIGHTS |= {
    route.replace(" ", " /api/curation"): right
    for right, routes_ in _BY_RIGHT.items()
    for route in routes_.split(", ")
}

# routes elsewhere: anybody may look and ask, and only a write token writes
LOOKS = (
    "/", "/.well-known/void", "/api/ask", "/api/ask/pivots", "/api/ask/stream",
    "/api/complete", "/api/openapi.json", "/api/search", "/api/timeline", "/ask", "/browse",
    "/audit", "/check", "/compare", "/concept-search", "/constitution", "/data/<path:name>", "/dishes", "/favicon.ico", "/favicon.svg",
    "/graph/<path:name>", "/healthz", "/id/<path:name>", "/metrics", "/page/<path:name>", "/rdf-graph-store",
    "/rdf-graph-store/<path:name>", "/releases/", "/releases/<version>/", "/releases/<version>/<path:name>",
    "/releases/latest", "/releases/latest/", "/releases/latest/<path:name>", "/robots.txt",
    "/sitemap-<kind>.<int:number>.xml", "/sitemap.xml", "/sparql", "/sparql/rdf11", "/static/<path:name>", "/statistics",
    "/api/reconcile", "/api/reconcile/suggest/entity", "/api/reconcile/suggest/type", "/api/reconcile/suggest/property",
    "/api/reconcile/properties", "/api/reconcile/preview", "/api", "/docs", "/docs/", "/docs/<path:name>",
    "/timeline/<name>", "/vocab", "/vocab.<extension>", "/vocab/<version>", "/vocab/reference", "/vocab/reference.css",
)  # fmt: skip
ELSEWHERE = dict.fromkeys((f"GET {each}" for each in LOOKS), "free") | {
    "POST /api/ask": "free",
    "POST /api/reconcile": "free",
    "POST /api/ask/replay": "free",
    "POST /api/ask/sparql": "free",
    "POST /api/link": "free",
    "POST /api/audit": "free",
    "POST /api/frame": "free",
    "POST /audit": "free",
    "POST /ask": "free",
    "POST /api/ask/stream": "free",
    "POST /constitution": "free",
    "POST /check": "free",
    "POST /api/check": "free",
    "POST /sparql": "free",
    "POST /sparql/rdf11": "free",
    "POST /rdf-graph-store": "write",
    "PUT /rdf-graph-store": "write",
    "DELETE /rdf-graph-store": "write",
    "POST /rdf-graph-store/<path:name>": "write",
    "PUT /rdf-graph-store/<path:name>": "write",
    "DELETE /rdf-graph-store/<path:name>": "write",
}
SAFE = {"GET", "HEAD", "OPTIONS"}
WHO: tuple[Role | None, ...] = (None, *Role)
SPENT = ("revoked write", "revoked review", "expired write", "expired review")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("routes")) as opened:
        yield opened


def routes(desks: Desks) -> dict[str, str]:
    """Return every method and path of the app with its endpoint."""
    return {
        f"{method} {rule.rule}": rule.endpoint
        for rule in desks.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def asked(desks: Desks, route: str, **more: Any) -> int:
    method, path = route.split(" ")
    filled = (
        path.replace("<int:number>", "1")
        .replace("<name>", "reader")
        .replace("<path:name>", "x")
        .replace("<version>", "1")
        .replace("<kind>", "food")
        .replace("<extension>", "ttl")
    )
    headers = {"Accept": "text/html", **more.pop("headers", {})}
    answer = desks.app.test_client(use_cookies=False).open(
        filled, method=method, headers=headers, **more
    )
    sent_away = answer.status_code == 302 and "/curate/sign-in" in answer.headers.get(
        "Location", ""
    )
    return 401 if sent_away else answer.status_code


def state(desks: Desks) -> tuple[Any, ...]:
    changes = desks.curation.writing
    people = {name: each.role for name, each in desks.curation.people.all().items()}
    return changes.last, changes.writer.sequence, len(changes.store), people


def test_every_route_has_its_row(desks: Desks) -> None:
    found = routes(desks)
    desk = {each for each in found if " /curate" in each or " /api/curation" in each}
    assert len(found) > 60
    assert desk == set(RIGHTS)
    assert set(found) - desk == set(ELSEWHERE)


def test_every_desk_names_the_right_of_its_row(desks: Desks) -> None:
    named = {each: right_of(desks.app, routes(desks)[each]) for each in RIGHTS}
    assert named == {each: Right(name) for each, name in RIGHTS.items()}


@pytest.mark.parametrize("who", WHO, ids=str)
def test_nobody_gets_past_a_right_they_lack(desks: Desks, who: Role | None) -> None:
    before = state(desks)
    headers = {"Cookie": desks.cookie(who)} if who else {}
    looked = 0
    for route, name in RIGHTS.items():
        if may(who, Right(name)):
            continue
        status = asked(desks, route, headers=headers, data={"csrf": "token"})
        looked += 1
        assert status in {401, 403}, (route, who, status)
    assert looked == sum(not may(who, Right(name)) for name in RIGHTS.values())
    assert state(desks) == before


@pytest.mark.parametrize("who", WHO, ids=str)
@pytest.mark.parametrize("token", ["", "other"])
def test_a_form_without_the_sessions_token_changes_nothing(
    desks: Desks, who: Role | None, token: str
) -> None:
    before = state(desks)
    headers = {"Cookie": desks.cookie(who)} if who else {}
    for route in RIGHTS:
        if route.split()[0] not in SAFE:
            status = asked(desks, route, headers=headers, data={"csrf": token})
            assert status in {401, 403}, (route, who, status)
    assert state(desks) == before


@pytest.mark.parametrize("who", [each for each in Role if each is not Role.READER], ids=str)
def test_whoever_has_the_right_is_not_refused(desks: Desks, who: Role) -> None:
    for route, name in RIGHTS.items():
        if not may(who, Right(name)) or name == "open" or "/account/" in route:
            continue
        headers = {"Cookie": desks.cookie(who)}
        status = asked(desks, route, headers=headers, data={"csrf": "token"})
        assert status not in {401, 403, 405, 500}, (route, who, status)


@pytest.mark.parametrize("token", ["", "write", "unknown", *SPENT])
def test_a_look_changes_nothing_whatever_else_is_sent_with_it(desks: Desks, token: str) -> None:
    before = state(desks)
    headers = {"Authorization": f"Bearer {desks.tokens[token]}"} if token else {}
    from_there = {"REMOTE_ADDR": f"198.51.100.{len(token)}"}
    values = {"update": "DROP ALL", "graph": "urn:g", "query": "ASK {}"}
    for path in LOOKS:
        for method in ("GET", "HEAD", "OPTIONS"):
            route = f"{method} {path}"
            status = asked(
                desks, route, headers=headers, query_string=values, environ_base=from_there
            )
            of_query = "sparql" in path or "graph-store" in path
            refused = {401, 403, 429} if of_query and token not in {"", "write"} else set()
            assert status < 500, (route, token, status)
            assert status not in {401, 403, 429} - refused, (route, token, status)
    assert state(desks) == before


@pytest.mark.parametrize(
    ("token", "most"),
    [
        ("write", None), ("unknown", None), ("review", Role.CURATOR), ("review-admin", Role.CURATOR),
        ("review-reader", Role.READER), *((each, None) for each in SPENT),
    ],
)  # fmt: skip
def test_a_token_opens_what_its_scope_and_person_allow(
    desks: Desks, token: str, most: Role | None
) -> None:
    headers = {"Authorization": f"Bearer {desks.tokens[token]}"}
    from_there = {"REMOTE_ADDR": "192.0.2.1"}  # a stranger guesses there
    guess = {"Authorization": "Bearer guess"}
    for _ in range(FAILURES):
        asked(desks, "GET /curate/queue", headers=guess, environ_base=from_there)
    assert asked(desks, "GET /curate/queue", headers=guess, environ_base=from_there) == 429
    for route, name in RIGHTS.items():
        status = asked(desks, route, headers=headers, environ_base=from_there)
        if most is None:
            assert status in {401, 403, 429}, (route, token, status)
        elif not may(most, Right(name)):
            assert status == 403, (route, token, status)
        elif name != "open":
            assert status not in {401, 500}, (route, token, status)


@pytest.mark.parametrize("token", ["", "review", "unknown", *SPENT])
def test_elsewhere_only_a_write_token_writes(desks: Desks, token: str) -> None:
    before = state(desks)
    headers = {"Authorization": f"Bearer {desks.tokens[token]}"} if token else {}
    from_there = {"REMOTE_ADDR": f"203.0.113.{['', *desks.tokens].index(token)}"}
    for route, what in ELSEWHERE.items():
        if what == "write":
            status = asked(
                desks,
                route,
                headers={**headers, "Content-Type": "text/turtle"},
                data=b"",
                environ_base=from_there,
            )
            assert status in {401, 403}, (route, status)
    update = {"update": "INSERT DATA { <urn:a> <urn:b> <urn:c> }"}
    status = asked(desks, "POST /sparql", headers=headers, data=update, environ_base=from_there)
    assert status in {401, 403}
    assert state(desks) == before


def test_a_route_that_names_no_right_is_denied(desks: Desks) -> None:
    with desks.app.test_request_context("/curate/queue"):
        view = desks.app.view_functions["queue.queue"]
        desks.app.view_functions["queue.queue"] = lambda: "open to all"
        try:
            headers = {"Cookie": desks.cookie(Role.ADMINISTRATOR)}
            assert asked(desks, "GET /curate/queue", headers=headers) == 403
        finally:
            desks.app.view_functions["queue.queue"] = view


def test_a_cookie_of_another_key_an_older_epoch_or_a_closed_account_is_nobody(desks: Desks) -> None:
    cookie = desks.cookie(Role.CURATOR)
    assert asked(desks, "GET /curate/queue", headers={"Cookie": cookie[:-3] + "abc"}) == 401
    assert asked(desks, "GET /curate/queue", headers={"Cookie": cookie}) == 200
    desks.curation.people.set_active(Role.CURATOR, False)
    assert asked(desks, "GET /curate/queue", headers={"Cookie": cookie}) == 401
    review = {"Authorization": f"Bearer {desks.tokens['review']}"}
    assert asked(desks, "GET /curate/queue", headers=review) == 403
    desks.curation.people.set_active(Role.CURATOR, True)
    cookie = desks.cookie(Role.CURATOR)
    assert asked(desks, "GET /curate/queue", headers={"Cookie": cookie}) == 200
    desks.curation.people.sign_out_everywhere(Role.CURATOR)
    assert asked(desks, "GET /curate/queue", headers={"Cookie": cookie}) == 401
