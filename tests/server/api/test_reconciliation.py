"""Tables of others are matched to concepts, as OpenRefine asks for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.model.iris import ID
from shiyi.server.app import create_app
from shiyi.settings import Settings
from tests.tables import from_table

PATH = "/api/reconcile"


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    app = create_app(starter_kb, Settings())
    yield app.test_client()
    app.extensions["shiyi"].close()


def asked(client: FlaskClient, **queries: Any) -> Any:
    return client.post(PATH, data={"queries": json.dumps(queries)}).get_json()


def best(client: FlaskClient, **query: Any) -> Any:
    found = asked(client, q0=query)["q0"]["result"]
    return found[0] if found else None


def test_the_manifest_names_services_that_answer(client: FlaskClient) -> None:
    manifest = client.get(PATH).get_json()
    assert manifest["identifierSpace"] == ID
    assert manifest["versions"] == ["0.2"]
    services = [*manifest["suggest"].values(), manifest["extend"]["propose_properties"]]
    for service in services:
        path = service["service_url"].partition("localhost")[2] + service["service_path"]
        assert client.get(path, query_string={"prefix": "go"}).status_code == 200


@from_table
def test_name_finds_concept_and_likeness_left_to_people(
    client: FlaskClient, name: str, kind: str, wanted: str, sure: bool
) -> None:
    found = asked(client, q0={"query": name, "type": kind})["q0"]["result"]
    assert wanted in [item["id"] for item in found]
    if sure:
        assert (found[0]["id"], found[0]["match"]) == (wanted, True)
    else:
        assert not any(item["match"] for item in found if item["score"] < 99)


def test_a_class_narrows_and_a_column_decides(client: FlaskClient) -> None:
    assert best(client, query="warfarin", type="Dish") is None
    other = {"pid": "label_en", "v": "warfarin"}
    plain, helped = (
        best(client, query="warfrin", type="Drug", properties=group) for group in ([], [other])
    )
    assert plain["id"] == helped["id"] == "drug-warfarin"
    assert helped["score"] > plain["score"]


def test_rows_are_extended_by_names_and_relations(client: FlaskClient) -> None:
    extend = {
        "ids": ["substance-gouqizi", "no such thing"],
        "properties": [{"id": "label_en"}, {"id": "hasNature"}, {"id": "umlsCui"}],
    }
    found = client.get(PATH, query_string={"extend": json.dumps(extend)}).get_json()
    row = found["rows"]["substance-gouqizi"]
    assert row["label_en"] == [{"str": "goji berry"}]
    assert row["hasNature"][0]["id"].startswith("nature-")
    assert row["umlsCui"][0]["str"].startswith("C")
    assert found["rows"]["no such thing"]["hasNature"] == []
    assert [item["id"] for item in found["meta"]] == ["label_en", "hasNature", "umlsCui"]


def test_preview_may_be_framed_and_no_other_page(client: FlaskClient) -> None:
    shown = client.get(f"{PATH}/preview?id=substance-gouqizi")
    assert "枸杞子" in shown.text
    assert "X-Frame-Options" not in shown.headers
    assert "frame-ancestors *" in shown.headers["Content-Security-Policy"]
    assert client.get("/").headers["X-Frame-Options"] == "DENY"
    assert client.get(f"{PATH}/preview?id=../x").status_code == 404


@from_table
def test_what_is_malformed_is_400(client: FlaskClient, form: dict[str, str]) -> None:
    assert client.post(PATH, data=form).status_code == 400
