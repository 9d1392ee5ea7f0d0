"""No route of the app does anything without the right role and token; a new one needs its row here."""

from collections.abc import Iterator
from typing import Any

import pytest

from shiyi.curation.accounts import Right, Role, has_right
from shiyi.server.curating.session import required_right
from shiyi.server.http.rate_limit import FAILURES
from tests.support.sites import Desks, open_desks
from tests.tables import cases, from_table

# every route below /curate and /api/curation with the right it needs; elsewhere anybody may look
# and ask, and only a write token writes
RIGHTS: dict[str, str] = dict(cases("server", "routes_of_desks"))
ELSEWHERE: dict[str, str] = dict(cases("server", "routes_elsewhere"))
SAFE = {"GET", "HEAD", "OPTIONS"}
WHO: tuple[Role | None, ...] = (None, *Role)
SPENT = ("revoked write", "revoked review", "expired write", "expired review")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("routes")) as opened_desks:
        yield opened_desks


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
    changes = desks.curation.writable_changes
    people = {name: account.role for name, account in desks.curation.people.all().items()}
    return changes.last, changes.writer.sequence, len(changes.store), people


def test_every_route_has_its_row(desks: Desks) -> None:
    results = routes(desks)
    desk = {each for each in results if " /curate" in each or " /api/curation" in each}
    assert len(results) > 60
    assert desk == set(RIGHTS)
    assert set(results) - desk == set(ELSEWHERE)


def test_every_desk_names_the_right_of_its_row(desks: Desks) -> None:
    named = {right: required_right(desks.app, routes(desks)[right]) for right in RIGHTS}
    assert named == {each: Right(name) for each, name in RIGHTS.items()}


@pytest.mark.parametrize("who", WHO, ids=str)
def test_nobody_gets_past_a_right_they_lack(desks: Desks, who: Role | None) -> None:
    before = state(desks)
    headers = {"Cookie": desks.cookie(who)} if who else {}
    looked = 0
    for route, name in RIGHTS.items():
        if has_right(who, Right(name)):
            continue
        status = asked(desks, route, headers=headers, data={"csrf": "token"})
        looked += 1
        assert status in {401, 403}, (route, who, status)
    assert looked == sum(not has_right(who, Right(name)) for name in RIGHTS.values())
    assert state(desks) == before


@pytest.mark.parametrize("who", [role for role in Role if role is not Role.READER], ids=str)
def test_a_user_with_the_right_is_not_refused(desks: Desks, who: Role) -> None:
    for route, name in RIGHTS.items():
        if not has_right(who, Right(name)) or name == "open" or "/account/" in route:
            continue
        headers = {"Cookie": desks.cookie(who)}
        status = asked(desks, route, headers=headers, data={"csrf": "token"})
        assert status not in {401, 403, 405, 500}, (route, who, status)


@pytest.mark.parametrize("token", ["", "write", "unknown", *SPENT])
def test_get_requests_with_any_fields_change_nothing(desks: Desks, token: str) -> None:
    before = state(desks)
    headers = {"Authorization": f"Bearer {desks.tokens[token]}"} if token else {}
    from_there = {"REMOTE_ADDR": f"198.51.100.{len(token)}"}
    values = {"update": "DROP ALL", "graph": "urn:g", "query": "ASK {}"}
    for path in (route.partition(" ")[2] for route in ELSEWHERE if route.startswith("GET ")):
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


@from_table
def test_token_opens_what_its_scope_and_person_allow(
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
        elif not has_right(most, Right(name)):
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


def test_foreign_or_outdated_cookie_signs_in_nobody(desks: Desks) -> None:
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
