"""The short form of the long runs: a few kills of each kind, a few cuts, a few at once.

Reading texts is killed in tests/ingest/extraction/test_faults.py. Cuts and failing calls of slower
work are in ``make soak SOAK=short``.
"""

import signal
from contextlib import suppress
from pathlib import Path

import pytest
from soak.deciding import rush
from soak.disk.damage import damage
from soak.disk.faults import system_call_faults
from soak.disk.power import WORDS, power_cuts
from soak.disk.tracing import calls, missing
from soak.drill import drill
from soak.histories import Step, faults_of
from soak.hostile import KINDS, hostile
from soak.killing import DamageCount, ForkServer, Stage, soak
from soak.reading_stages import READING
from soak.stages import STAGES

from shiyi.server.site.tokens import Tokens

SEED = 11


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_killed_in_midst_nothing_lost_torn_or_doubled(stage: Stage) -> None:
    row = soak(stage, 2, SEED)
    assert row.kills == 2
    assert (row.lost, row.torn, row.doubled, row.notes) == (0, 0, 0, [])


def test_every_kind_of_work_has_its_stage() -> None:
    assert len({stage.name for stage in (*STAGES, *READING)}) == 11


def test_tokens_of_earlier_turns_are_not_torn(tmp_path: Path) -> None:
    stage = next(each for each in STAGES if each.name == "tokens and accounts")
    stage.prepare(tmp_path)

    def stop(number: int) -> None:
        if number == 5:
            raise InterruptedError

    with suppress(InterruptedError):
        stage.work(tmp_path, 1, stop)
    assert stage.check(tmp_path, 2, []) == DamageCount()  # killed before it acknowledged anything
    Tokens(tmp_path / "kb").add("t9", "write", 1)
    assert stage.check(tmp_path, 2, []).torn == 1


TRACED = [stage for stage in STAGES if stage.name in {"commit", "curation", "tokens and accounts"}]


@pytest.mark.skipif(bool(missing()), reason=missing() or "strace is here")
@pytest.mark.parametrize("stage", TRACED, ids=lambda stage: stage.name)
def test_a_power_cut_loses_nothing_that_was_acknowledged(stage: Stage) -> None:
    wanted = WORDS.get(stage.name, 6) + 6
    row = power_cuts(stage, wanted, SEED)
    assert row.cuts == wanted
    assert row.acknowledged > 10
    assert (row.lost, row.torn, row.doubled, row.notes) == (0, 0, 0, [])


def test_a_close_frees_its_number_where_it_begins() -> None:
    lines = (
        "1 close(5 <unfinished ...>",
        '2 openat(AT_FDCWD, "\\x61", O_RDWR) = 5',
        "1 <... close resumed>) = 0",
    )
    assert [call.name for call in calls(lines)] == ["close", "openat"]


@pytest.mark.skipif(bool(missing()), reason=missing() or "strace is here")
@pytest.mark.parametrize("stage", TRACED, ids=lambda stage: stage.name)
def test_failing_system_call_loses_nothing(stage: Stage) -> None:
    row = system_call_faults(stage, 6, SEED)
    assert row.met > 3
    assert (row.lost, row.torn, row.doubled, row.stuck, row.notes) == (0, 0, 0, 0, [])


def test_damage_is_repaired_or_refused() -> None:
    row = damage(12, SEED)
    assert row.files > 35
    assert row.found > 25
    assert (row.unseen, row.notes) == (0, [])


def test_backup_and_journal_restore_everything() -> None:
    row = drill(20_000)
    assert (row.lost, row.torn) == (0, 0)


def test_many_curators_at_once_as_one_after_other() -> None:
    row = rush(4, 8, 5, SEED)
    assert row.serial
    assert (row.lost, row.decided + row.refused) == (0, 32)


def _seen(began: float, ended: float, *values: int) -> Step:
    return Step(began, ended, seen=frozenset(values))


@pytest.mark.parametrize(
    ("steps", "faults"),
    [
        ((Step(0, 2, added=1), _seen(1, 3), _seen(1, 3, 1)), 0),
        ((Step(0, 2, added=1, known=False), _seen(3, 4), _seen(5, 6, 1)), 0),
        ((Step(0, 1, added=1), _seen(2, 3)), 1),  # lost
        ((Step(2, 3, added=1), _seen(0, 1, 1)), 1),  # foreseen
        ((_seen(0, 1, 1),), 1),  # from nowhere
        ((Step(0, 9, added=1), _seen(1, 2, 1), _seen(3, 4)), 1),  # there, and gone again
        ((Step(0, 9, added=1), Step(0, 9, added=2), _seen(1, 9, 1), _seen(1, 9, 2)), 1),
        ((Step(0, 1, added=1), Step(2, 9, added=2), _seen(0, 9, 2)), 1),  # the later one alone
    ],
)
def test_a_history_that_no_order_explains_is_noticed(steps: tuple[Step, ...], faults: int) -> None:
    assert len(list(faults_of(steps))) == faults


def test_a_process_is_killed_and_not_ended() -> None:
    nursery = ForkServer()
    stage = STAGES[0]
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        stage.prepare(Path(folder))
        text, status = nursery.kill_process(stage, Path(folder), 1, 2, 0.0)
    assert status == -signal.SIGKILL
    assert len(text) >= 2


def test_hostile_requests_leave_server_unchanged() -> None:
    row = hostile(len(KINDS), SEED)
    assert len(KINDS) >= 40
    assert (row.faults, row.good_failed, row.notes) == (
        0,
        0,
        [n for n in row.notes if "after" in n],
    )
    assert sum(row.statuses.values()) == len(KINDS)
    assert row.good > 0
