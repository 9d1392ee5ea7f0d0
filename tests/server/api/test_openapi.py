"""The API's description is valid, names every route programs use, and fits what is answered."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.publishing.release import ReleaseRequest, publish
from shiyi.server.app import create_app
from tests.publishing.test_dumps import planted
from tests.server.pages.test_resources import site_over
from tests.tables import from_table


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    folder = tmp_path_factory.mktemp("openapi")
    store = planted()
    publish(
        store, folder, ReleaseRequest("1.0.0", "2026-11-21", "sha256:x", "https://w3id.org/shiyi/")
    )
    return create_app(site_over(store, folder)).test_client()


@pytest.fixture(scope="module")
def document(client: FlaskClient) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(client.get("/api/openapi.json").data)
    return results


def test_the_description_is_valid(document: dict[str, Any]) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

    with pytest.raises(OpenAPIValidationError):
        validator.validate({**document, "paths": {"/x": {"get": {"responses": 1}}}})


def test_no_default_is_at_odds_with_its_format(document: dict[str, Any]) -> None:
    """Validators that know the format ``iri`` refuse an empty one."""
    parts = [document["components"]["schemas"]]
    for part in parts:
        parts += [item for item in part.values() if isinstance(item, dict)]
        assert not (part.get("format") == "iri" and part.get("default") == ""), part
    assert len(parts) > 100


def test_every_route_of_the_api_is_described(client: FlaskClient, document: dict[str, Any]) -> None:
    described = {
        (path.partition("{")[0], method)
        for path, item in document["paths"].items()
        for method in item
    }
    rules = [
        rule for rule in client.application.url_map.iter_rules() if rule.rule.startswith("/api/")
    ]
    assert len(rules) >= 6
    for rule in rules:
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            assert (rule.rule.partition("<")[0], method.lower()) in described, rule


def test_every_described_path_is_there(client: FlaskClient, document: dict[str, Any]) -> None:
    for path in document["paths"]:
        reply = client.options(path.replace("{name}", "x").replace("{version}", "1.0.0"))
        assert reply.status_code != 404, path


@from_table
def test_answers_fit_their_schemas(
    client: FlaskClient,
    document: dict[str, Any],
    path: str,
    body: dict[str, str] | None,
    schema: str,
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    accept = {"Accept": "application/json"}
    reply = (
        client.post(path, json=body, headers=accept) if body else client.get(path, headers=accept)
    )
    whole = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
    jsonschema.validate(json.loads(reply.data), whole)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"nothing": "of it"}, whole)


def test_no_schema_is_left_unused(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name


def test_each_operation_has_an_identifier_of_its_own(document: dict[str, Any]) -> None:
    operations = [item for path in document["paths"].values() for item in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names)) > 20
    ask = document["components"]["schemas"]["AskRequest"]["properties"]
    assert ask["question"]["examples"]
    assert ask["method"]["enum"][0] == "fused"


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"question": "goji", "history": ["a"], "context": {"questions": ["b"]}}, 400, "not both"),
        ({"question": "goji", "history": ["a"] * 9}, 400, "history"),
        ({"question": "goji", "context": "{"}, 400, "context is not JSON"),
        ({"question": "goji", "context": "[" * 50_000}, 413, "context"),
        ({"question": "goji", "k": "5"}, 400, "k is not valid"),
        ({"question": "goji", "profile": {"pregnant": "yes"}}, 400, "profile.pregnant"),
    ],
)
def test_a_field_at_fault_is_named(
    client: FlaskClient, body: dict[str, Any], status: int, detail: str
) -> None:
    reply = client.post("/api/ask", json=body)
    assert (reply.status_code, reply.content_type) == (status, "application/problem+json")
    assert detail in json.loads(reply.data)["detail"]
    fine = client.post("/api/ask", json={"question": "goji", "k": None, "profile": {"age": ""}})
    assert fine.status_code == 200


@from_table
def test_a_profile_may_come_in_an_address(client: FlaskClient, query: str, status: int) -> None:
    assert client.get(f"/api/ask?q=goji&{query}").status_code == status
