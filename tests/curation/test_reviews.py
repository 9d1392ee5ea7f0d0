"""A review moves a claim and its confidence, for everyone's eyes, and taking it back is exact."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.curation.accounts import AccountStore, Role
from shiyi.curation.changes import REJECTED, Changes, state_of, version_of
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Filter, Queue
from shiyi.curation.reviews import Decisions, ReviewDecision, mentions
from shiyi.errors import RangeError, StaleError, UsageError
from shiyi.model.claim import Claim, Status
from shiyi.model.iris import graph
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.confidence.reviews import compute_decayed, is_retracted
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import (
    BOOK,
    CLAIMS,
    COLD,
    HARM,
    INTERACTION,
    RELIEF,
    SWEETNESS,
    WARMTH,
    build,
)

DEFAULT = DefaultGraph()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("few") / "kb"), write=True) as opened:
        yield opened


@pytest.fixture
def desk(base: KnowledgeBase) -> Iterator[Decisions]:
    """One base for all, since what a test changes it takes back, and that is checked."""
    decisions = Decisions(Changes(base.writer))
    data = [quad for quad in base.store.match() if in_data(quad)]
    yield decisions
    for change in decisions.changes.latest(100):
        if change.kind not in {"undo", "comment", "skip"} and decisions.changes.is_live(change):
            decisions.undo(change.iri, "test", "")
    assert {quad for quad in base.store.match() if in_data(quad)} == set(data)


def in_data(quad: Quad) -> bool:
    return quad.graph_name not in {graph("reviews"), graph("journal")}


def asserted(desk: Decisions, claim: Claim) -> bool:
    quads = desk.store.match(claim.subject, claim.predicate, claim.object, DEFAULT)
    return any(True for _ in quads)


def stands(desk: Decisions, claim: Claim) -> tuple[Status, float]:
    now = desk.assess(claim.iri.value).claim
    return now.status, now.confidence


def test_accepted_candidate_is_asserted_with_new_confidence(desk: Decisions) -> None:
    desk.review(RELIEF.iri.value, ReviewDecision("accept", "li", "seen in practice", agreement=0.5))
    assert stands(desk, RELIEF) == (Status.ACCEPTED, 0.6)  # 0.75 * 0.55 + 0.25 * 0.75
    assert asserted(desk, RELIEF)
    assert all(quad.graph_name == DEFAULT for quad in state_of(desk.store, RELIEF.iri.value))
    assert not any(q.predicate == RDF.subject for q in state_of(desk.store, RELIEF.iri.value))


def test_rejected_claim_leaves_accepted_view_and_stays(desk: Decisions) -> None:
    desk.review(
        WARMTH.iri.value, ReviewDecision("reject", "li", "the other edition says otherwise")
    )
    assert stands(desk, WARMTH) == (Status.REJECTED, 0.4)  # half of the way
    assert not asserted(desk, WARMTH)
    assert all(quad.graph_name == REJECTED for quad in state_of(desk.store, WARMTH.iri.value))
    assert not list(desk.store.match(COLD.iri, SHIYI.conflictsWith, WARMTH.iri, DEFAULT))


def test_several_reviewers_count_by_mean_in_any_order(desk: Decisions) -> None:
    for who, kind in (("li", "accept"), ("wang", "reject"), ("zhao", "accept")):
        desk.review(RELIEF.iri.value, ReviewDecision(kind, who))
    results = stands(desk, RELIEF)
    assert results[0] is Status.CANDIDATE  # a mean of 1/3 decides nothing
    assert results[1] == pytest.approx(17 / 24 * 0.55 + 7 / 24 * 2 / 3, abs=1e-6)


def test_a_reviewer_who_changes_their_mind_counts_once(desk: Decisions) -> None:
    desk.review(SWEETNESS.iri.value, ReviewDecision("reject", "li"))
    desk.review(SWEETNESS.iri.value, ReviewDecision("accept", "li", agreement=0.5))
    assert stands(desk, SWEETNESS) == (Status.ACCEPTED, 0.7875)


def test_safety_claim_changes_only_when_second_reviewer_agrees(desk: Decisions) -> None:
    for claim, kind, after in (
        (INTERACTION, "reject", Status.REJECTED),
        (HARM, "accept", Status.ACCEPTED),
    ):
        before = stands(desk, claim)
        desk.review(claim.iri.value, ReviewDecision(kind, "li"))
        desk.review(claim.iri.value, ReviewDecision(kind, "li"))
        assert stands(desk, claim) == before
        assert desk.assess(claim.iri.value).outcome.waits
        desk.review(claim.iri.value, ReviewDecision(kind, "wang"))
        assert stands(desk, claim)[0] is after


def test_every_claim_waits_for_second_reviewer_by_setting(desk: Decisions) -> None:
    twice = Decisions(desk.changes, twice=True)
    before = stands(twice, RELIEF)
    twice.review(RELIEF.iri.value, ReviewDecision("reject", "li"))
    assert stands(twice, RELIEF) == before
    assert twice.assess(RELIEF.iri.value).outcome.waits
    twice.review(RELIEF.iri.value, ReviewDecision("reject", "wang"))
    assert stands(twice, RELIEF)[0] is Status.REJECTED


def test_confirming_a_warning_needs_no_second_reviewer(desk: Decisions) -> None:
    desk.review(INTERACTION.iri.value, ReviewDecision("accept", "li"))
    assert stands(desk, INTERACTION) == (Status.ACCEPTED, 0.85)


def test_undo_of_earlier_review_leaves_later_ones(desk: Decisions) -> None:
    first = desk.review(RELIEF.iri.value, ReviewDecision("accept", "li"))
    desk.review(RELIEF.iri.value, ReviewDecision("accept", "wang", agreement=0.5))
    desk.undo(first.iri, "li", "too quick")
    assert stands(desk, RELIEF) == (Status.ACCEPTED, 0.6)
    assert [change.who for change in desk.reviews(RELIEF.iri.value)] == ["wang"]


def test_review_of_a_changed_claim_is_refused(desk: Decisions) -> None:
    seen = version_of(desk.store, RELIEF.iri.value)
    desk.review(RELIEF.iri.value, ReviewDecision("accept", "li", expected=seen))
    with pytest.raises(StaleError):
        desk.review(RELIEF.iri.value, ReviewDecision("reject", "wang", expected=seen))
    assert stands(desk, RELIEF)[0] is Status.ACCEPTED


def test_comments_and_skips_are_stored_without_a_change(desk: Decisions) -> None:
    before = state_of(desk.store, HARM.iri.value)
    desk.comment(HARM.iri.value, "li", "which dose? @wang")
    desk.skip(HARM.iri.value, "li")
    assert state_of(desk.store, HARM.iri.value) == before
    kinds = [change.kind for change in desk.changes.of(HARM.iri.value)]
    assert kinds[-2:] == ["comment", "skip"]
    assert mentions("which dose? @wang") == ("wang",)


@pytest.mark.parametrize(
    ("kind", "agreement", "fault"),
    [
        ("accept", -0.5, UsageError), ("reject", 0.5, UsageError), ("accept", 2.0, RangeError),
        ("accept", float("nan"), RangeError), ("bless", None, UsageError), ("accept", 0.0, UsageError),
    ],
)  # fmt: skip
def test_a_malformed_review_changes_nothing(
    desk: Decisions, kind: str, agreement: float | None, fault: type[Exception]
) -> None:
    last = desk.changes.last
    with pytest.raises(fault):
        desk.review(RELIEF.iri.value, ReviewDecision(kind, "li", agreement=agreement))
    assert desk.changes.last == last


def test_what_is_no_claim_is_not_reviewed(desk: Decisions) -> None:
    with pytest.raises(UsageError, match="no claim"):
        desk.review("https://example.org/nothing", ReviewDecision("accept", "li"))


def test_the_base_has_claims_of_both_kinds(base: KnowledgeBase, tmp_path: Path) -> None:
    assert len(CLAIMS) == 6
    assert len(list(base.store.match(None, RDF.type, SHIYI.Claim))) == 6


PASSWORD = "correct horse battery"  # noqa: S105 - of test accounts


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    path = build(tmp_path / "kb")
    people = AccountStore(path)
    people.add("wang", Role.EDITOR, PASSWORD)
    people.add("li", Role.CURATOR, PASSWORD)
    return path


def test_retracted_source_counts_half_until_that_is_undone(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = BOOK.iri.value
    why = ["--reason", "taken back by its publisher", "--json"]
    assert main(["--kb", str(kb), "review", "retract", name, "--as", "wang", *why]) == 0
    number = json.loads(capsys.readouterr().out)["number"]
    with KnowledgeBase.open(kb) as base:
        assert is_retracted(base.store, name)
        assert compute_decayed(base.store)[SWEETNESS.iri.value] < 0.8
    assert main(["--kb", str(kb), "review", "undo", str(number), "--as", "wang"]) == 0
    with KnowledgeBase.open(kb) as base:
        assert not is_retracted(base.store, name)
        assert not compute_decayed(base.store)


def test_retraction_needs_source_reason_and_editor(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--kb", str(kb), "review", "retract"]
    for words, text in (
        ([BOOK.iri.value, "--as", "wang"], "--reason"),
        (["source/none", "--as", "wang", "--reason", "why"], "has no source"),
        ([BOOK.iri.value, "--as", "li", "--reason", "why"], "right to approve"),
    ):
        assert main([*asked, *words]) != 0
        assert text in capsys.readouterr().err


def test_review_beside_running_writer_names_its_address(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase.open(kb, write=True):
        asked = ["review", "accept", SWEETNESS.iri.value, "--as", "wang"]
        assert main(["--kb", str(kb), *asked]) != 0
    assert "/curate/review" in capsys.readouterr().err


def test_undo_of_editors_decision_reopens_dispute(desk: Decisions) -> None:
    iri = RELIEF.iri.value
    for who, kind in (("li", "accept"), ("wang", "reject")):
        desk.review(iri, ReviewDecision(kind, who))
    opinions = Opinions(desk.store)
    desk.changes.listeners.append(opinions)
    disputed = stands(desk, RELIEF)
    assert iri in opinions.disputed_claims()

    change = desk.review(
        iri, ReviewDecision("reject", "zhao", "the passage says otherwise", settles=True)
    )
    assert stands(desk, RELIEF)[0] is Status.REJECTED
    assert opinions.of(iri).keys() == Opinions(desk.store).of(iri).keys() == {"wang", "zhao"}
    assert not opinions.disputed_claims()
    with pytest.raises(UsageError, match="no dispute"):
        desk.review(iri, ReviewDecision("reject", "chen", settles=True))

    desk.review(iri, ReviewDecision("unsure", "chen"))  # so that undoing evaluates the rest
    desk.undo(change.iri, "zhao", "too soon")
    assert iri in opinions.disputed_claims()
    assert stands(desk, RELIEF)[0] is disputed[0]
    desk.changes.listeners.remove(opinions)


def test_saved_queue_is_queue_that_is_made(desk: Decisions, tmp_path: Path) -> None:
    store, every, path = desk.store, Filter(view="all"), tmp_path / "queue.cache"
    queue = Queue(store, Opinions(store))
    queue.save(path, "one", 7, "ab")
    queue.cite({HARM.iri.value: 3.0})
    desk.review(SWEETNESS.iri.value, ReviewDecision("reject", "li"))

    opened = Queue(store, Opinions(store), None, path, "one")
    assert (opened.sequence, opened.digest) == (7, "ab")
    before = opened.page("test", every)
    assert before != Queue(store, Opinions(store)).page("test", every)

    opened.update([SWEETNESS.iri.value])
    assert opened.page("test", every) == Queue(store, Opinions(store)).page("test", every)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3", b"none of it"])
def test_a_damaged_queue_is_made_again(desk: Decisions, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "queue.cache"
    path.write_bytes(content)
    queue = Queue(desk.store, Opinions(desk.store), None, path, "one")
    assert queue.sequence is None
    assert len(queue) == len(Queue(desk.store, Opinions(desk.store)))
