"""Documents are handed in at the desk: read, judged by the gate, reviewed there."""

import io
import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.model.iris import ID
from shiyi.server.app import create_app
from shiyi.server.site.tokens import Tokens
from tests.support.sites import HTML, Desks, served, token_of

PATH = "/curate/documents"


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with served(tmp_path_factory.mktemp("documents")) as running:
        kb = running.site.settings.kb
        yield Desks(
            create_app(running.site), kb, {"edit": Tokens(kb).add("s", "review", 1, "cura")}
        )


@pytest.fixture
def curator(kitchen: Desks) -> FlaskClient:
    return kitchen.client("cura")


def hand_in(client: FlaskClient, name: str, content: bytes) -> Any:
    csrf = token_of(client.get(PATH, headers=HTML).text)
    data = {"csrf": csrf, "file": (io.BytesIO(content), name)}
    return client.post(PATH, data=data, content_type="multipart/form-data", headers=HTML)


def finished(kitchen: Desks, address: str) -> Any:
    path = "/api/curation/documents/" + address.rpartition("/")[2]
    headers = {"Authorization": f"Bearer {kitchen.tokens['edit']}"}
    client = kitchen.app.test_client(use_cookies=False)
    for _ in range(300):
        found: Any = client.get(path, headers=headers).json
        if found["state"] in {"done", "failed"}:
            return found
        time.sleep(0.1)
    raise AssertionError("the document is never read")


def test_text_is_read_and_claims_can_be_reviewed(kitchen: Desks, curator: FlaskClient) -> None:
    answer = hand_in(curator, "notes.txt", "绿豆，味甘，性寒。脾胃虚寒者慎用。".encode())
    assert answer.status_code == 303
    found = finished(kitchen, answer.location)
    assert found["state"] == "done", found
    assert found["report"]["passages"] == 1
    page = curator.get(answer.location, headers=HTML).text
    assert "notes.txt" in page
    assert found["claims"]
    for claim in found["claims"]:
        assert claim["quote"] in "绿豆，味甘，性寒。脾胃虚寒者慎用。"
    reviews = [unescape(text) for text in re.findall(r'href="(/curate/claim[^"]*)"', page)]
    assert len(reviews) == len(found["claims"])
    assert {curator.get(review, headers=HTML).status_code for review in reviews} == {200}


def test_table_is_read_by_columns_that_are_chosen(kitchen: Desks, curator: FlaskClient) -> None:
    table = "food,helps,words\ngoji berry,dizziness,goji relieves dizziness\nnothing,dizziness,x\n"
    answer = hand_in(curator, "table.csv", table.encode())
    page = curator.get(answer.location, headers=HTML).text
    assert 'data-column="helps"' in page
    chosen = {"csrf": token_of(page), "subject": "food", "object": "helps", "quote": "words"}
    wrong = curator.post(answer.location, data=chosen | {"relation": "sings"}, headers=HTML)
    assert wrong.status_code == 400
    curator.post(answer.location, data=chosen | {"relation": "relieves", "language": "en"})
    found = finished(kitchen, answer.location)
    assert found["state"] == "done", found
    assert found["report"]["rows"] == 2
    assert found["report"]["unlinked"]
    assert {item["words"] for item in found["unlinked"]} == {"nothing", "dizziness"}
    again = curator.post(answer.location, data=chosen | {"relation": "relieves"}, headers=HTML)
    assert again.status_code == 409


def test_rows_without_a_concept_are_named_and_corrected(
    kitchen: Desks, curator: FlaskClient
) -> None:
    """A misspelt name is offered what it is like; with a concept its rows are read as any other."""
    table = "food,nature\ngingr,warm\nginger,wram\ngingr,wram\n"
    answer = hand_in(curator, "typos.csv", table.encode())
    chosen = {"subject": "food", "object": "nature", "relation": "hasNature", "language": "en"}
    csrf = token_of(curator.get(answer.location).text)
    curator.post(answer.location, data=chosen | {"csrf": csrf})
    found = finished(kitchen, answer.location)
    assert not found["claims"]
    assert {(e["role"], e["words"]): e["rows"] for e in found["unlinked"]} == {
        ("subject", "gingr"): [1, 3],
        ("object", "wram"): [2, 3],
    }
    ginger = f"{ID}substance-ginger"
    assert ginger in {item["iri"] for item in found["unlinked"][0]["near"]}
    page = curator.get(answer.location, headers=HTML).text
    assert f'value="{ginger}"' in page

    sent = {"csrf": token_of(page), "form": "names", "role-0": "subject", "words-0": "gingr"}
    wrong = curator.post(f"{answer.location}/names", data=sent | {"concept-0": "no such"})
    assert wrong.status_code == 422
    assert "no such" in wrong.text
    curator.post(f"{answer.location}/names", data=sent | {"near-0": ginger})
    found = finished(kitchen, answer.location)
    [claim] = found["claims"]
    assert (claim["subject"], claim["object"]) == (ginger, f"{ID}nature-warm")
    assert found["report"]["unlinked"] == {"hasNature (object)": 2}
    assert [item["rows"] for item in found["unlinked"]] == [[2, 3]]
    name = {"role": "object", "words": "wram", "concept": "nature-warm"}
    ask(kitchen, f"/api{answer.location}/names".replace("curate", "curation"), {"names": [name]})
    found = finished(kitchen, answer.location)
    assert not found["unlinked"]
    assert found["report"]["rows"] == 3
    locators = {e["locator"] for e in ask(kitchen, _api(found["claims"][0])).json["waiting"]}
    assert {locator.rpartition(", ")[2] for locator in locators} >= {"row 1", "row 2"}


def _api(claim: Any) -> str:
    return "/api/curation/claims/" + str(claim["claim"]).partition("/id/claim/")[2]


def ask(kitchen: Desks, path: str, body: Any = None, key: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {kitchen.tokens['edit']}"}
    headers |= {} if key is None else {"Idempotency-Key": key}
    client = kitchen.app.test_client(use_cookies=False)
    return (
        client.post(path, json=body, headers=headers) if body else client.get(path, headers=headers)
    )


def read_table(kitchen: Desks, curator: FlaskClient, words: str) -> str:
    """Upload a row that states an accepted claim once more; return the name of the claim."""
    answer = hand_in(
        curator, "again.csv", f"food,who,words\nlily bulb,pregnant women,{words}\n".encode()
    )
    chosen = {"subject": "food", "object": "who", "quote": "words", "relation": "cautionIn"}
    csrf = token_of(curator.get(answer.location).text)
    curator.post(answer.location, data=chosen | {"csrf": csrf, "language": "en"})
    [claim] = finished(kitchen, answer.location)["claims"]
    return str(claim["claim"]).partition("/id/claim/")[2]


def test_evidence_for_accepted_claim_waits_for_review(kitchen: Desks, curator: FlaskClient) -> None:
    """It counts on no page until the claim is accepted; undoing lets it wait again."""
    name = read_table(kitchen, curator, "lily is warned of")
    api, page = f"/api/curation/claims/{name}", f"/curate/claim?claim=claim/{name}"
    before = ask(kitchen, api).json
    assert before["status"] == "accepted"
    assert [item["quote"] for item in before["waiting"]] == ["lily is warned of"]
    assert "lily is warned of" not in {item["quote"] for item in before["evidence"]}
    sheet = curator.get(page).text
    assert "/curate/evidence" in sheet
    assert '<span class="tag"></span>' not in sheet  # the kind of a source read just now
    reader = kitchen.client()
    public = (f"/id/claim/{name}", "/id/substance-lily", f"/id/claim/{name}.ttl")
    shown = [reader.get(each, follow_redirects=True).text for each in public]
    assert not any("lily is warned of" in item or ">again.csv<" in item for item in shown)

    accepted = ask(kitchen, f"{api}/review", {"kind": "unsure"})
    assert ask(kitchen, api).json["waiting"]  # no acceptance
    accepted = ask(kitchen, f"{api}/review", {"kind": "accept"}).json
    after = ask(kitchen, api).json
    assert "lily is warned of" in {item["quote"] for item in after["evidence"]}
    assert not after["waiting"]
    assert "lily is warned of" in reader.get(public[0], follow_redirects=True).text
    other = kitchen.client("second")
    csrf = token_of(other.get(page).text)
    doubt = {"csrf": csrf, "form": "review", "claim": f"claim/{name}", "kind": "unsure"}
    assert other.post("/curate/review", data=doubt).status_code == 302
    ask(kitchen, "/api/curation/undo", {"change": accepted["change"]})
    again = ask(kitchen, api).json
    assert [item["evidence"] for item in again["waiting"]] == [
        item["evidence"] for item in before["waiting"]
    ]
    assert again["evidence"] == before["evidence"]


def test_waiting_evidence_is_refused_alone(kitchen: Desks, curator: FlaskClient) -> None:
    name = read_table(kitchen, curator, "lily is odd")
    api, page = f"/api/curation/claims/{name}", f"/curate/claim?claim=claim/{name}"
    before = ask(kitchen, api).json
    wanted = next(e for e in before["waiting"] if e["quote"] == "lily is odd")
    sent = {"csrf": token_of(curator.get(page).text), "claim": f"claim/{name}", "form": "evidence"}
    sent |= {"evidence": wanted["evidence"]}
    assert curator.post("/curate/evidence", data=sent, headers=HTML).status_code == 422  # no reason
    assert curator.post("/curate/evidence", data=sent | {"reason": "a joke"}).status_code == 302
    after = ask(kitchen, api).json
    assert wanted not in after["waiting"]
    assert (after["status"], after["confidence"]) == ("accepted", before["confidence"])
    [change] = ask(kitchen, "/api/curation/history?limit=1").json["changes"]
    assert ask(kitchen, "/api/curation/undo", {"change": change["iri"]}).status_code == 200
    assert wanted in ask(kitchen, api).json["waiting"]
    sent = {"evidence": wanted["evidence"], "reason": "a joke"}
    assert ask(kitchen, f"{api}/refuse-evidence", sent).status_code == 200
    assert ask(kitchen, f"{api}/refuse-evidence", sent).status_code == 400


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("run.exe", b"MZ", 400),
        ("empty.txt", b"", 400),
        ("double.csv", b"a,a\n1,2\n", 400),
        ("latin.csv", b"a,b\n\xe9,2\n", 400),
    ],
)
def test_what_no_reader_takes_is_refused(
    curator: FlaskClient, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, status: int
) -> None:
    monkeypatch.setitem(curator.application.config, "MAX_CONTENT_LENGTH", 100)  # of other requests
    assert hand_in(curator, name, content).status_code == status


def test_a_key_hands_a_document_in_once(kitchen: Desks) -> None:
    client, before = kitchen.app.test_client(use_cookies=False), set(_documents(kitchen))
    headers = {"Authorization": f"Bearer {kitchen.tokens['edit']}", "Idempotency-Key": "k"}

    def sent(content: bytes, key: str = "k") -> Any:
        file = {"file": (io.BytesIO(content), "table.csv")}
        named = headers | {"Idempotency-Key": key}
        return client.post("/api/curation/documents", data=file, headers=named)

    first = sent(b"a,b\n1,2\n").json["id"]
    assert sent(b"a,b\n1,2\n").json["id"] == first
    assert [sent(b"a,b\n1,3\n").status_code, sent(b"a,b\n1,2\n", "a b").status_code] == [422, 400]
    assert set(_documents(kitchen)) - before == {first}
    columns = {"subject": "a", "object": "b", "relation": "hasNature"}
    path = f"/api/curation/documents/{first}/columns"
    chosen = [ask(kitchen, path, columns, key).status_code for key in ("c", "c", "d", "k")]
    assert chosen == [200, 200, 409, 422]
    finished(kitchen, path.removesuffix("/columns"))


def _documents(kitchen: Desks) -> list[str]:
    found = ask(kitchen, "/api/curation/documents").json["documents"]
    return [item["id"] for item in found]


def test_a_broken_pdf_fails_alone(kitchen: Desks, curator: FlaskClient) -> None:
    answer = hand_in(curator, "broken.pdf", b"%PDF-1.7 nothing")
    assert finished(kitchen, answer.location)["state"] == "failed"
    assert not list((kitchen.kb / "uploads").iterdir())
    assert curator.get("/healthz").status_code == 200
