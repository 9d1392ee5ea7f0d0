"""One system call after another fails: nothing acknowledged is lost, and work goes on afterwards."""

import os
import random
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from soak.disk.tracing import record_calls, reports, trace_stage, work_confined
from soak.killing import DamageCount, ForkServer, Stage

WORDS: Final = 3  # acknowledged in each run
_TRIES: Final = 3  # of the work after a fault, in the same process
_FULL, _NAMES = ("ENOSPC", "EIO"), ("ENOSPC", "EROFS", "EIO")
ERRORS: Final = {
    "openat": ("EMFILE", "ENOSPC", "EROFS", "EIO"), "write": _FULL, "pwrite64": _FULL,
    "sendfile": _FULL, "copy_file_range": _FULL, "fallocate": _FULL, "ftruncate": ("EIO",),
    "fsync": _FULL, "fdatasync": _FULL, "rename": _NAMES, "link": _NAMES, "unlink": ("EROFS", "EIO"),
    "mkdir": _NAMES,
}  # fmt: skip
LASTING: Final = "+"  # all later calls of that name fail too
SHORT: Final = "short write"


@dataclass(frozen=True, slots=True)
class Fault:
    """The ``number``-th call of a name fails with an error; of short writes, files end at a size."""

    call: str
    error: str
    number: int
    lasting: str = ""


@dataclass(slots=True)
class FaultReport:
    """Faults of one stage, how they were met, and what was lost, torn, doubled or stuck."""

    stage: str
    cases: int = 0
    met: int = 0  # the fault happened
    refused: int = 0  # and was reported as an error
    ended: int = 0  # and ended the process, whose work the next one took up
    stuck: int = 0  # work did not go on after a single fault
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    by_call: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


def system_call_faults(stage: Stage, cases: int, seed: int) -> FaultReport:
    """Fail calls of a stage's work, ``cases`` of them drawn from all; 0: each one with each error."""
    chance, row = random.Random(f"{seed} faults {stage.name}"), FaultReport(stage.name)  # noqa: S311
    home, nursery = Path(tempfile.mkdtemp(prefix="soak-faults-")), ForkServer()
    try:
        start, folder = home / "start", home / "work"
        start.mkdir()
        stage.prepare(start)
        shutil.copytree(start, folder)
        counts = Counter(call.name for call in record_calls(nursery, stage, folder, WORDS))
        every = [
            Fault(call, error, number, lasting)
            for call, errors in ERRORS.items()
            for error in errors
            for number in range(1, counts[call] + 1)
            for lasting in ("", LASTING)
        ]
        sizes = [
            Fault(SHORT, "EFBIG", chance.randrange(1, 40_000)) for _ in range(len(every) // 10)
        ]
        chosen = [*every, *sizes]
        for fault in chance.sample(chosen, min(cases or len(chosen), len(chosen))):
            shutil.rmtree(folder)
            shutil.copytree(start, folder)
            reports(folder)
            _try(nursery, stage, folder, fault, row)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    row.by_call = dict(sorted(row.by_call.items()))
    return row


def _try(nursery: ForkServer, stage: Stage, folder: Path, fault: Fault, row: FaultReport) -> None:
    log = folder.with_name("calls")
    options: tuple[str, ...] = ()
    if fault.call == SHORT:
        chosen = replace(stage, work=partial(work_confined, stage.work, fault.number))
        log.write_text("INJECTED")
    else:
        chosen = stage
        inject = f"inject={fault.call}:error={fault.error}:when={fault.number}{fault.lasting}"
        options = ("-o", str(log), "-e", f"trace={fault.call}", "-e", inject)
    status = trace_stage(nursery, chosen, folder, options, WORDS, 1 if fault.lasting else _TRIES)
    text, refused = reports(folder)
    met = bool(refused) if fault.call == SHORT else "INJECTED" in log.read_text(errors="replace")
    row.cases += 1
    row.met += met
    row.refused += bool(refused)
    row.ended += status is not None
    row.by_call[fault.call] = row.by_call.get(fault.call, 0) + met
    stuck = status is None and not fault.lasting and len(text) < WORDS
    row.stuck += stuck
    found, wrong = DamageCount(), ""
    try:
        found = stage.check(folder, 1, text)
    except Exception as broken:  # noqa: BLE001 - whatever it is, the base does not open
        row.torn, wrong = row.torn + 1, f"{type(broken).__name__} {broken}"
    row.lost += found.lost
    row.torn += found.torn
    row.doubled += found.doubled
    if (
        wrong
        or stuck
        or found.lost
        or found.torn
        or found.doubled
        or status not in {None, os.EX_OSERR}
    ):
        row.notes.append(f"{fault}, {status}: {found} {wrong} after {text} {refused}"[:500])
