"""Readers report mistakes without an account or a script; curators answer; floods end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.curation.desks.feedback import FEEDBACK, reports
from shiyi.model.iris import ID, resource
from shiyi.server.curating.desks import EACH
from tests.support import bases
from tests.support.sites import FullDesks, csrf_in, served

FORM, DESK = "/curate/report", "/curate/feedback"
CLAIM = bases.kitchen_claim("substance-goji", "interactsWith", resource("drug-warfarin"))
NAME = CLAIM.iri.value.removeprefix(ID)
HOSTILE = "</blockquote><script>alert(1)</script>"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    with served(Path(tmp_path_factory.mktemp("feedback"))) as running:
        yield running


def test_reader_reports_claim_and_curator_answers(desks: FullDesks) -> None:
    reader = desks.visitor()
    page = reader.get(f"/page/{NAME}?lang=en")
    assert f"{FORM}?about={NAME}" in page.body
    sent = reader.submit(
        reader.get(f"{FORM}?about={NAME}"), FORM, words=f"Not so. {HOSTILE}", kind="source"
    )
    assert "Thank you" in sent.body
    [report] = reports(desks.site.store)
    assert (report.about, report.kind) == (CLAIM.iri.value, "source")
    stored = " ".join(str(quad) for quad in desks.site.store.match(graph=FEEDBACK))
    assert "127.0.0.1" not in stored
    curator = desks.visitor("cura")
    queue = curator.get("/curate/queue?view=reported&lang=en")
    assert "warfarin" in queue.body
    listed = curator.get(f"{DESK}?lang=en")
    assert "Not so." in listed.body
    assert HOSTILE not in listed.body
    done = curator.submit(listed, DESK, action="right", reason="Looked it up.")
    assert "Saved as change" in done.body
    assert reports(desks.site.store) == []
    [closed] = reports(desks.site.store, everything=True)
    assert (closed.status, closed.answer) == ("accepted", "Looked it up.")


def test_an_answer_shows_where_to_report_each_citation(desks: FullDesks) -> None:
    page = desks.visitor().get("/ask?q=Can+I+take+goji+berry+with+warfarin%3F&lang=en")
    assert f"{FORM}?about=claim/" in page.body


def test_form_from_elsewhere_refused_and_robot_ignored(desks: FullDesks) -> None:
    reader = desks.visitor()
    form = {"about": NAME, "words": "forged", "kind": "wrong"}
    assert reader.post(FORM, form).status == 403
    page = reader.get(f"{FORM}?about={NAME}&lang=en")
    assert reader.submit(page, FORM, words="buy pills", website="https://e.org").status == 200
    assert all(report.words != "buy pills" for report in reports(desks.site.store, everything=True))


def test_same_report_twice_one_and_too_many_refused(desks: FullDesks) -> None:
    reader = desks.visitor()
    page = reader.get(f"{FORM}?about={NAME}&lang=zh")
    assert "报告错误" in page.body
    results = [reader.submit(page, FORM, words="again").status for _ in range(EACH + 2)]
    assert results[-1] == 429
    assert results[0] == 200
    assert len([x for x in reports(desks.site.store) if x.words == "again"]) == 1


def test_what_is_unknown_empty_or_too_long_refused(desks: FullDesks) -> None:
    reader = desks.visitor()
    assert reader.get(f"{FORM}?about=claim/nothing").status == 404
    assert reader.get(f"{FORM}?about=%3Cscript%3E").status == 404
    token = csrf_in(reader.get(f"{FORM}?about={NAME}").body)
    for words in ("", " ", "x" * 2001, "a\x00b"):
        form = {"csrf": token, "about": NAME, "words": words, "kind": "wrong"}
        assert reader.post(FORM, form).status in (400, 413), words[:5]


def test_readers_with_account_see_reports_and_answer_none(desks: FullDesks) -> None:
    reader = desks.visitor("reader")
    page = reader.get(f"{DESK}?lang=en")
    assert page.status == 200
    form = {"csrf": csrf_in(page.body), "report": "report/1", "action": "right", "reason": "x"}
    assert reader.post(DESK, form).status == 403
