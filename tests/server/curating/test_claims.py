"""At the desks: a decision is in the next answer, is taken back, and overwrites nothing unseen."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from shiyi.curation.bundles import public_key, signing_key
from shiyi.curation.changes import Changes, state_of
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.model.claim import Claim
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import HARM, INTERACTION, RELIEF, SWEETNESS, WARMTH, build
from tests.support.sites import HTML, Desks, open_desks
from tests.tables import from_table

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("desks")) as opened_desks:
        yield opened_desks


@pytest.fixture(autouse=True)
def _as_it_was(desks: Desks) -> Iterator[None]:
    """Each test takes back what it did, so that one server does for all."""
    first = desks.curation.writable_changes.last
    yield
    decisions = Decisions(desks.curation.writable_changes)
    for change in decisions.changes.latest(500):
        retained = change.number <= first or change.kind in {"undo", "comment", "skip", "assign"}
        if not retained and decisions.changes.is_live(change):
            decisions.undo(change.iri, "administrator", "")


class Expert:
    """Somebody at the desks, by signed cookie."""

    def __init__(self, desks: Desks, name: str = "curator") -> None:
        self.desks, self.name = desks, name
        self.headers = {**HTML, "Cookie": desks.cookie(name)}
        self.client = desks.app.test_client(use_cookies=False)

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(f"/curate/{path}", query_string=query, headers=self.headers)

    def post(self, path: str, **form: Any) -> Any:
        return self.client.post(
            f"/curate/{path}", data={"csrf": "token", **form}, headers=self.headers
        )

    def review(self, claim: Claim, kind: str, **form: str) -> Any:
        return self.post("review", claim=claim.iri.value, kind=kind, **form)


def cited(desks: Desks, question: str) -> set[str]:
    asked = {"question": question, "lang": "en"}
    reply: Any = desks.app.test_client().post("/api/ask", json=asked).json
    return {item["claim"] for item in reply["citations"]}


def sweet(desks: Desks) -> bool:
    return SWEETNESS.iri.value in cited(desks, "What is the flavour of goji?")


def test_rejection_in_next_answer_and_so_undoing(desks: Desks) -> None:
    expert = Expert(desks)
    assert sweet(desks)
    expert.review(SWEETNESS, "reject", reason="bitter, says the new edition")
    assert not sweet(desks)
    page = desks.app.test_client().get("/page/substance-goji", headers=HTML).text
    assert SWEETNESS.iri.value.rpartition("/")[2] not in page
    expert.post("undo", change=desks.curation.writable_changes.latest(1)[0].iri)
    assert sweet(desks)


def test_accepted_candidate_warns_after_second_review(desks: Desks) -> None:
    question = "Can I eat jujube with warfarin?"
    Expert(desks).review(HARM, "accept")
    assert HARM.iri.value not in cited(desks, question)
    Expert(desks, "editor-in-chief").review(HARM, "accept")
    assert HARM.iri.value in cited(desks, question)


def test_free_queries_see_a_decision(desks: Desks) -> None:
    query = f"ASK {{ <{WARMTH.iri.value}> a <https://w3id.org/shiyi/vocab#Claim> }}"

    def holds() -> bool:
        answer: Any = desks.app.test_client().get(
            "/sparql", query_string={"query": query}, headers={"Accept": "application/json"}
        )
        return bool(answer.json["boolean"])

    assert holds()
    Expert(desks).review(WARMTH, "reject")
    assert not holds()


def test_stale_decision_shown_what_changed_and_writes_nothing(desks: Desks) -> None:
    one, other = Expert(desks), Expert(desks, "editor-in-chief")
    version = Decisions(desks.curation.writable_changes).assess(RELIEF.iri.value).version
    one.review(RELIEF, "accept", version=version, reason="seen often")
    last = desks.curation.writable_changes.last
    answer = other.review(RELIEF, "reject", version=version)
    assert answer.status_code == 409
    for word in ("curator", "seen often", "accepted"):
        assert word in answer.text
    assert desks.curation.writable_changes.last == last


def test_the_same_form_sent_twice_is_one_review(desks: Desks) -> None:
    expert, before = Expert(desks), desks.curation.writable_changes.last
    for _ in range(2):
        assert expert.review(RELIEF, "accept", key="one").status_code == 302
    assert desks.curation.writable_changes.last == before + 1


def test_queue_begins_with_doubtful_harm(desks: Desks) -> None:
    expert = Expert(desks)
    page = expert.get("queue").text
    order = [page.find(claim.iri.value.rpartition("/")[2]) for claim in (HARM, RELIEF, SWEETNESS)]
    assert 0 < order[0] < order[1] < order[2]
    expert.review(RELIEF, "accept")
    name = RELIEF.iri.value.rpartition("/")[2]
    assert f'value="{RELIEF.iri.value} ' not in expert.get("queue").text
    assert f'value="{RELIEF.iri.value} ' in expert.get("queue", view="done").text
    assert name in Expert(desks, "editor-in-chief").get("queue").text


@from_table
def test_filters_narrow_the_queue(desks: Desks, query: dict[str, str], total: int) -> None:
    page = Expert(desks, "reader").get("queue", view="all", **query).text
    assert f'count">{total}<' in page


def test_batch_decides_fresh_claims_only(desks: Desks) -> None:
    decisions, expert = Decisions(desks.curation.writable_changes), Expert(desks)
    chosen = [f"{e.iri.value} {decisions.assess(e.iri.value).version}" for e in (RELIEF, WARMTH)]
    Expert(desks, "editor-in-chief").review(WARMTH, "unsure", reason="look again")
    decisions.review(WARMTH.iri.value, ReviewDecision("reject", "administrator"))
    expert.post("batch", claims=chosen, kind="accept", key="batch")
    mine = [opinion.claim for opinion in _opinions(desks) if opinion.who == "curator"]
    assert mine == [RELIEF.iri.value]


def _opinions(desks: Desks) -> list[Any]:
    from shiyi.curation.opinions import Opinions

    opinions = Opinions(desks.site.store)
    return [
        opinion for claim in (RELIEF, WARMTH) for opinion in opinions.of(claim.iri.value).values()
    ]


def test_assigned_claims_wait_for_their_expert(desks: Desks) -> None:
    editor = Expert(desks, "editor-in-chief")
    editor.post("assign", claims=[f"{RELIEF.iri.value} x"], to="curator")
    assert f'value="{RELIEF.iri.value} ' in Expert(desks).get("queue", view="mine").text
    refused = Expert(desks).post("assign", claims=[f"{RELIEF.iri.value} x"], to="somebody")
    assert refused.status_code == 403


def test_nobody_takes_back_what_another_did_but_editor(desks: Desks) -> None:
    Expert(desks, "administrator").review(SWEETNESS, "reject")
    change = desks.curation.writable_changes.latest(1)[0].iri
    assert Expert(desks).post("undo", change=change).status_code == 403
    assert Expert(desks, "editor-in-chief").post("undo", change=change).status_code == 302


def test_history_shows_authors_and_earlier_states(desks: Desks) -> None:
    expert = Expert(desks)
    expert.review(SWEETNESS, "accept", agreement="0.5", reason="tasted")
    number = desks.curation.writable_changes.last
    now = expert.get("thing", iri=SWEETNESS.iri.value).text
    assert f"#{number}" in now
    assert "0.7875" in now
    before = expert.get("thing", iri=SWEETNESS.iri.value, at=str(number - 1)).text
    assert "0.8" in before
    assert "tasted" in expert.get(f"change/{number}").text


def test_mention_is_in_feed_of_whom_it_calls(desks: Desks) -> None:
    Expert(desks).post("comment", thing=RELIEF.iri.value, text="which dose? @editor-in-chief")
    feed = Expert(desks, "reader").get("feed.atom", mentions="editor-in-chief")
    entries = entries_of(feed)
    assert feed.content_type.startswith("application/atom+xml")
    assert [entry.findtext(f"{ATOM}summary") for entry in entries] == [
        "which dose? @editor-in-chief"
    ]
    assert entries_of(Expert(desks).get("feed.atom", mentions="nobody")) == []


def entries_of(feed: Any) -> list[Any]:
    return Xml.fromstring(feed.data).findall(f"{ATOM}entry")  # noqa: S314 - our own feed


def test_disagreement_is_shown_and_measured(desks: Desks) -> None:
    Expert(desks).review(RELIEF, "accept")
    Expert(desks, "editor-in-chief").review(RELIEF, "reject")
    page = Expert(desks, "reader").get("progress").text
    assert "α" in page
    assert RELIEF.iri.value.rpartition("/")[2] in page
    assert RELIEF.iri.value in Expert(desks).get("queue", view="disputed").text


def test_safety_claim_is_rejected_with_reason_alone(desks: Desks) -> None:
    expert, writing = Expert(desks), desks.curation.writable_changes
    last = writing.last
    answer = expert.review(INTERACTION, "reject", form="review")
    assert (answer.status_code, "Say why" in answer.text) == (422, True)
    version = Decisions(writing).assess(INTERACTION.iri.value).version
    chosen = f"{INTERACTION.iri.value} {version}"
    assert expert.post("batch", claims=chosen, kind="reject", key="b").status_code == 422
    assert writing.last == last
    assert expert.review(INTERACTION, "reject", reason="another paper").status_code == 302
    assert expert.review(SWEETNESS, "reject").status_code == 302  # no harm hangs on it


def test_token_reviews_as_its_person_and_gets_json(desks: Desks) -> None:
    headers = {"Authorization": f"Bearer {desks.tokens['review']}", "Accept": "application/json"}
    values = {"claim": INTERACTION.iri.value, "kind": "reject", "reason": "by program"}
    answer: Any = desks.app.test_client().post("/curate/review", data=values, headers=headers)
    assert answer.status_code == 200, answer.text
    assert (answer.json["status"], answer.json["waits"]) == ("accepted", True)
    assert desks.curation.writable_changes.latest(1)[0].who == "curator"


@pytest.mark.parametrize("claim", ["", "nothing", "https://e.org/<x>", "x" * 5000, "\x00"])
def test_hostile_name_of_claim_is_refused_plainly(desks: Desks, claim: str) -> None:
    for answer in (
        Expert(desks).get("claim", claim=claim),
        Expert(desks).get("thing", iri=claim),
        Expert(desks).post("review", claim=claim, kind="accept"),
        Expert(desks).post("comment", thing=claim, text="x"),
    ):
        assert answer.status_code in {302, 400, 404, 422}, answer.text[:300]
        assert "Traceback" not in answer.text


def test_what_a_commenter_writes_is_text(desks: Desks) -> None:
    Expert(desks).post("comment", thing=RELIEF.iri.value, text="<script>alert(1)</script>")
    page = Expert(desks).get("claim", claim=RELIEF.iri.value).text
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_bundle_carries_reviews_to_another_base(desks: Desks, tmp_path: Path) -> None:
    from shiyi.curation.bundles import import_bundle, read_bundle
    from shiyi.errors import UsageError

    Expert(desks).review(RELIEF, "accept", agreement="0.5", reason="seen")
    content = Expert(desks, "editor-in-chief").get("reviews.jsonl").data
    key = public_key(signing_key(desks.kb))
    with pytest.raises(UsageError, match="not trusted"):
        read_bundle(content, [])
    with pytest.raises(UsageError, match="changed after"):
        read_bundle(content.replace(b"seen", b"SEEN"), [key])
    with KnowledgeBase.open(build(tmp_path / "kb"), write=True) as base:
        changes = Changes(base.writer)
        found_changes = read_bundle(content, [key])
        result = import_bundle(changes, found_changes)
        assert result.refused == []
        store = desks.curation.writable_changes.store
        assert state_of(base.store, RELIEF.iri.value) == state_of(store, RELIEF.iri.value)
        assert changes.latest(1)[0].when == desks.curation.writable_changes.latest(1)[0].when
        assert import_bundle(changes, found_changes).made == 0


def test_the_review_api_says_its_faults_as_json(desks: Desks) -> None:
    headers = {"Authorization": f"Bearer {desks.tokens['review']}", "Accept": "application/json"}
    values = {"claim": RELIEF.iri.value, "kind": "bless"}
    answer = desks.app.test_client().post("/curate/review", data=values, headers=headers)
    assert answer.status_code == 422
    [fault] = json.loads(answer.text)["faults"]
    assert (fault["field"], fault["message"]) == ("kind", "Choose one of the list.")


def test_the_public_page_says_who_moved_a_claim(desks: Desks) -> None:
    Expert(desks).review(SWEETNESS, "accept", agreement="0.5")
    page = desks.app.test_client().get(
        SWEETNESS.iri.value.partition("/id")[2].replace("/claim", "/page/claim", 1), headers=HTML
    )
    assert "<b>curator</b> +0.50" in page.text
    assert "0.78" in page.text
