"""The desks as JSON: a script reviews, edits and names things with a token, as people do."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from shiyi.model.iris import ID, resource
from shiyi.server.api.curation import ACTS, OPERATIONS
from shiyi.server.app import create_app
from shiyi.server.site.tokens import Tokens
from tests.support.bases import HARM, RELIEF, SWEETNESS
from tests.support.sites import Desks, open_desks, served

API = "/api/curation"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("api")) as opened_desks:
        yield opened_desks


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Script"]:
    with served(tmp_path_factory.mktemp("kitchen")) as running:
        token = Tokens(running.site.settings.kb).add("script", "review", 1, "cura")
        yield Script(create_app(running.site), token)


@pytest.fixture
def script(desks: Desks) -> "Script":
    return Script(desks.app, desks.tokens["review"])


class Script:
    """A program with a token."""

    def __init__(self, app: Flask, token: str) -> None:
        self.client = app.test_client(use_cookies=False)
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, status: int = 200, **query: str) -> Any:
        answer = self.client.get(API + path, query_string=query, headers=self.headers)
        assert answer.status_code == status, answer.text
        return answer.json

    def send(self, path: str, status: int = 200, method: str = "POST", **body: Any) -> Any:
        headers = self.headers | body.pop("headers", {})
        answer = self.client.open(API + path, method=method, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json


def tail(claim: Any) -> str:
    return str(claim.iri.value).rpartition("/")[2]


def test_every_writing_route_is_described_and_refuses_anonymous(desks: Desks) -> None:
    client = desks.app.test_client(use_cookies=False)
    described = client.get("/api/openapi.json").get_json()["paths"]
    writing = [
        (method, path)
        for path, operations in described.items()
        for method in operations
        if path.startswith(API) and method in {"post", "put"}
    ]
    written = {(each.method, each.path) for each in OPERATIONS if each.method != "get"}
    assert set(writing) == written
    assert len(written) > len(ACTS) > 12
    for method, path in writing:
        operation = described[path][method]
        assert operation["security"] == [{"token": []}]
        filled = re.sub(r"{[^}]+}", "x", path)
        for headers in ({}, {"Authorization": f"Bearer {desks.tokens['write']}"}):
            answer = client.open(filled, method=method, json={}, headers=headers)
            assert answer.status_code in {401, 403}, path


def test_field_that_path_gives_not_asked_for_again(desks: Desks) -> None:
    described = desks.app.test_client().get("/api/openapi.json").get_json()["paths"]
    schema = described[f"{API}/claims/{{id}}/review"]["post"]["requestBody"]["content"]
    fields = schema["application/json"]["schema"]
    assert "claim" not in fields["properties"]
    assert fields["required"] == ["kind"]


def test_claim_of_queue_is_rejected_and_answer_follows(desks: Desks, script: Script) -> None:
    listed = script.get("/claims", view="all", limit="50")
    [found] = [item for item in listed["claims"] if item["claim"] == SWEETNESS.iri.value]
    assert found["subject"]["label"]
    assert found["evidence"][0]["source"]["title"]
    decided = {"kind": "reject", "version": found["version"], "reason": "bitter", "key": "1"}
    path = f"/claims/{tail(SWEETNESS)}/review"
    made = script.send(path, **decided)
    assert (made["status"], made["kind"]) == ("rejected", "reject")
    assert script.send(path, **decided)["change"] == made["change"]  # the same key, one change
    asked = {"question": "What is the flavour of goji?", "lang": "en"}
    answer: Any = desks.app.test_client().post("/api/ask", json=asked).json
    assert SWEETNESS.iri.value not in {item["claim"] for item in answer["citations"]}
    shown = script.get(f"/changes/{made['number']}")
    assert {"property", "removed", "added"} == set(shown["lines"][0])
    back = script.send("/undo", change=made["change"], reason="sweet after all")
    assert back["status"] == "accepted"


def test_stale_version_is_409_and_fault_names_field(script: Script) -> None:
    path = f"/claims/{tail(RELIEF)}/review"
    assert script.send(path, 409, kind="accept", version="0" * 16)["type"].endswith("stale")
    faults = script.send(path, 422, kind="bless")["faults"]
    assert [(fault["field"], fault["message"]) for fault in faults] == [
        ("kind", "Choose one of the list.")
    ]
    assert script.send(path, 422, kind="accept", extra="x")["faults"][0]["field"] == "extra"


def test_a_batch_is_foreseen_before_it_is_written(desks: Desks, script: Script) -> None:
    claims = [{"claim": claim.iri.value} for claim in (RELIEF, HARM)]
    before = desks.curation.writable_changes.last
    seen = script.send("/claims/review", claims=claims, kind="accept", preview=True)["foreseen"]
    assert [each["next_status"] for each in seen] == ["accepted", "candidate"]
    assert [each["waits"] for each in seen] == [False, True]  # harm needs a second reviewer
    assert desks.curation.writable_changes.last == before
    made = script.send("/claims/review", claims=claims, kind="accept")["changes"]
    assert [each["status"] for each in made] == ["accepted", "candidate"]
    for item in reversed(made):
        script.send("/undo", change=item["change"])


def test_a_claim_is_checked_added_replaced_and_split(kitchen: Script) -> None:
    draft = {
        "subject": "ginger", "relation": "hasNature", "object": "nature-cool",
        "evidence": [{"source": "book", "kind": "read", "locator": "p. 9", "confidence": 0.8}],
    }  # fmt: skip
    checked = kitchen.send("/claims/check", drafts=[draft | {"object": "drug-warfarin"}])
    assert [item["field"] for item in checked["faults"]] == ["object"]
    assert kitchen.send("/claims/check", drafts=[draft])["conforms"]
    kitchen.send("/claims", 422, drafts=[draft])  # without a reason
    added = kitchen.send("/claims", drafts=[draft], reason="says the book")
    claim = added["about"][0].rpartition("/")[2]
    shown = kitchen.get(f"/claims/{claim}")
    assert (shown["object"]["label"], shown["status"]) == ("cool", "accepted")
    body = {
        "drafts": [draft | {"object": "nature-cold"}],
        "reason": "cold",
        "version": shown["version"],
    }
    made = kitchen.send(f"/claims/{claim}", method="PUT", **body)
    assert made["kind"] == "edit"
    assert kitchen.get(f"/claims/{claim}")["status"] == "retracted"
    kitchen.send(f"/claims/{claim}", 409, method="PUT", **body)
    kitchen.send("/undo", change=made["change"])


CLAIMS = [{"claim": each.iri.value} for each in (RELIEF, HARM)]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/claims/{tail(RELIEF)}/comments", {"text": "see page 9"}),
        ("/claims/review", {"claims": CLAIMS, "kind": "accept"}),
        ("/claims/assign", {"claims": CLAIMS}),
    ],
)
def test_key_stands_for_one_request_of_one_person(
    desks: Desks, script: Script, path: str, body: dict[str, Any]
) -> None:
    """A repetition is answered from the first; another body is refused, and nothing is written."""
    keyed = body | {"headers": {"Idempotency-Key": "monday-1" + path}}
    made = script.send(path, **keyed)
    last = desks.curation.writable_changes.last
    assert script.send(path, **keyed) == made
    refused = script.send(path, 422, **keyed, reason="another")
    assert refused["type"].endswith("key-reused")
    for malformed in ("", "a b", "x" * 201, "é"):
        script.send(path, 400, **body, headers={"Idempotency-Key": malformed})
    assert desks.curation.writable_changes.last == last
    other = Script(desks.app, desks.tokens["review-admin"])
    assert other.send(path, **keyed) != made
    assert desks.curation.writable_changes.last > last
    keyed["headers"] = {"Idempotency-Key": "monday-2" + path}
    assert script.send(path, **keyed) != made


def found_as(script: Script, name: str) -> set[str]:
    """Return what a name completes to and links to, and what a question of it is about."""
    client, asked = script.client, {"question": f"{name}: what is it good for?"}
    completed = client.get("/api/complete", query_string={"q": name}).get_json()["completions"]
    linked = client.post("/api/link", json={"text": name}).get_json()["mentions"]
    mentions = client.post("/api/ask", json=asked).get_json()["linked"]
    return {item["iri"] for item in (*completed, *linked, *mentions) if item.get("iri")}


def test_alias_is_in_next_completion_and_link(kitchen: Script) -> None:
    path = "/concepts/substance-ginger/aliases"
    made = kitchen.send(path, en=["zingy root"], zh="姜芽子", reason="heard")
    assert made["kind"] == "edit-concept"
    assert "zingy root" in kitchen.get("/concepts/substance-ginger")["alt_en"]
    assert (
        found_as(kitchen, "zingy root")
        == found_as(kitchen, "姜芽子")
        == {resource("substance-ginger").value}
    )
    kitchen.send(path, 422, en=["zingy root"])  # nothing is changed
    kitchen.send("/undo", change=str(made["number"]))
    assert "zingy root" not in kitchen.get("/concepts/substance-ginger")["alt_en"]
    assert resource("substance-ginger").value not in found_as(kitchen, "姜芽子")


def test_things_of_different_kinds_are_not_merged(kitchen: Script) -> None:
    body = {"concept": "substance-ginger", "target": "drug-warfarin", "reason": "one"}
    [fault] = kitchen.send("/concepts/merge", 422, **body)["faults"]
    assert fault["field"] == "target"
    assert "only concepts of one kind" in fault["message"]


def test_a_role_bounds_what_a_token_does(desks: Desks) -> None:
    low = Script(desks.app, desks.tokens["review-reader"])
    assert low.get("/me")["role"] == "reader"
    low.send(f"/claims/{tail(RELIEF)}/review", 403, kind="accept")
    review = Script(desks.app, desks.tokens["review"])
    review.send(f"/claims/{tail(RELIEF)}/review", 403, kind="accept", reason="x", settles=True)
    high = Script(desks.app, desks.tokens["review-admin"])
    assert high.get("/me")["role"] == "curator"  # a token never has more
    high.send("/proposals/x", 403, action="approve")


@pytest.mark.parametrize(
    "path", ["/mappings", "/history", "/quarantine", "/feedback", "/proposals", "/me"]
)
def test_each_desk_is_read_as_json(script: Script, path: str) -> None:
    assert isinstance(script.get(path), dict)


def test_unknown_things_are_404_or_422(script: Script) -> None:
    script.get("/claims/nothing", 404)
    script.get("/changes/999999", 404)
    script.get("/concepts/nothing-here", 422)
    assert script.get(f"/claims/{tail(RELIEF)}")["claim"].startswith(ID)
