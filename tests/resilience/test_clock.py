"""A clock that is turned back or ahead ends no right late, mixes up no order and loses nothing."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typing_extensions import override
from werkzeug.exceptions import TooManyRequests

from shiyi.curation.accounts import Role
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import StaleError
from shiyi.server.curating.session import HOURS
from shiyi.server.curating.sign_in import TRIES, Lockout
from shiyi.server.http.rate_limit import FAILURES, SECONDS, Throttle
from shiyi.server.site import tokens as clock
from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.journal import read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.base.writer import JOURNAL_FILE
from tests.support import bases
from tests.support.bases import batch, batches
from tests.support.sites import HTML, open_desks

DAY = 86_400.0
Turn = Callable[[float], None]


@pytest.fixture
def turn(monkeypatch: pytest.MonkeyPatch) -> Turn:
    """Turn the clock on the wall by so many seconds; the steady one goes on."""
    real = time.time

    def turned(seconds: float) -> None:
        monkeypatch.setattr("time.time", lambda: real() + seconds)

    return turned


def test_our_time_follows_wall_ahead_and_never_back(turn: Turn) -> None:
    start = clock.unix_time()
    turn(DAY)
    assert clock.unix_time() - start >= DAY
    turn(-DAY)
    assert 0 <= clock.unix_time() - start < 60


def test_token_that_has_ended_does_not_begin_again(
    tmp_path: Path, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(tmp_path)
    text = tokens.add("a", "write", 1)
    assert tokens.find(text)
    turn(DAY + 60)
    assert tokens.find(text) is None
    turn(0.0)
    wall, steady = clock._BEGAN
    monkeypatch.setattr(clock, "_BEGAN", (wall + DAY + 60, steady))  # a process that lived so long
    turn(-DAY)
    assert tokens.find(text) is None


def test_session_expires_and_future_one_is_invalid(
    tmp_path: Path, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_desks(tmp_path) as desks:

        def status(cookie: str) -> int:
            client = desks.app.test_client(use_cookies=False)
            return client.get("/curate/queue", headers={"Cookie": cookie, **HTML}).status_code

        cookie = desks.cookie(Role.CURATOR)
        assert status(cookie) == 200
        turn(HOURS * 3600 + 60)
        assert status(cookie) == 302
        ahead = desks.cookie(Role.CURATOR)
        assert status(ahead) == 200
        turn(-DAY)
        assert {status(cookie), status(ahead)} == {302}  # both were signed in the future
        turn(0.0)
        assert {status(cookie), status(ahead)} == {200, 302}
        wall, steady = clock._BEGAN
        monkeypatch.setattr(clock, "_BEGAN", (wall + HOURS * 3600 + 60, steady))
        assert status(cookie) == 302


def test_who_guesses_waits_by_the_steady_clock(turn: Turn) -> None:
    lockout = Lockout()
    for _ in range(TRIES):
        lockout.wrong("cura", "192.0.2.1")
    for seconds in (0.0, DAY, -DAY):
        turn(seconds)
        with pytest.raises(TooManyRequests):
            lockout.check("cura", "192.0.2.1")
    failures = Throttle(SECONDS)
    for _ in range(FAILURES):
        failures.add("192.0.2.1")
    with pytest.raises(TooManyRequests):
        failures.check("192.0.2.1", FAILURES)


def test_decisions_are_ordered_independently_of_timestamps(tmp_path: Path) -> None:
    days = iter((0, 1, -2, 30, -400, 0))
    stamps: list[datetime] = []

    def now() -> datetime:
        stamps.append(datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=next(days)))
        return stamps[-1]

    bases.build(tmp_path / "kb")
    claim = bases.CLAIMS[0].iri.value
    with KnowledgeBase.open(tmp_path / "kb", write=True) as kb:
        desk = Decisions(Changes(kb.writer, now))
        changes = [
            desk.review(claim, ReviewDecision(verdict, f"p{at}", "", key=f"k{at}"))
            for at, verdict in enumerate(("accept", "reject", "unsure", "accept", "reject"))
        ]
        assert [change.number for change in changes] == [1, 2, 3, 4, 5]
        assert sorted(stamps) != stamps
        latest = desk.changes.latest(10)
        assert [change.number for change in latest] == [5, 4, 3, 2, 1]
        before = desk.assess(claim).version
        with pytest.raises(StaleError):
            desk.review(
                claim, ReviewDecision("accept", "p9", "", expected=before[:-1] + "0", key="k9")
            )
    with KnowledgeBase.open(tmp_path / "kb", write=True) as kb:
        repeated_changes = Decisions(Changes(kb.writer)).changes.latest(10)
        assert [change.number for change in repeated_changes] == [5, 4, 3, 2, 1]


def test_journal_and_next_build_go_by_number(tmp_path: Path) -> None:
    hours = iter((0, 5, -30, 2))
    build_generation(tmp_path / "kb", [], {})
    with KnowledgeBase.open(tmp_path / "kb", write=True) as kb:
        kb.writer._now = lambda: datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=next(hours))
        for number in range(1, 5):
            kb.writer.write(batch(number), key=f"k{number}", agent="w", reason="test")
    records = list(read_journal(tmp_path / "kb" / JOURNAL_FILE))
    assert [record.sequence for record in records] == [1, 2, 3, 4]
    assert [record.when for record in records] != sorted(record.when for record in records)
    with KnowledgeBase.open(tmp_path / "kb", write=True) as kb:
        assert (kb.sequence, len(batches(kb.store))) == (4, 4)


def test_build_made_in_past_is_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Past(datetime):
        @override
        @classmethod
        def now(cls, tz: object = None) -> "Past":
            return cls(2020, 1, 1, tzinfo=UTC)

    build_generation(tmp_path / "kb", batch(1), {})
    monkeypatch.setattr("shiyi.sparql.base.knowledge_base.datetime", Past)
    build_generation(tmp_path / "kb", batch(2), {})
    build_generation(tmp_path / "kb", batch(3), {})
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert set(batches(kb.store)) == {3}
    assert len(list((tmp_path / "kb" / "generations").iterdir())) == 2
