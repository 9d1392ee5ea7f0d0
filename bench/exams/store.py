"""Reports stored by release, settings, request and question files, so that a run goes on."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from shiyi.evaluation.bench import Request
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

FORM = 3  # raised where readers or the form of a stored run change, so that old ones are not taken


@dataclass(frozen=True, slots=True)
class ReportStore:
    """A folder of reports; each is named by release, settings, request and question files."""

    folder: Path
    release: str
    settings: Settings

    def place(self, request: Request) -> Path:
        """Return where the report of a request lies, or would lie."""
        files = [Path(request.file), *request.train]
        fields = asdict(request)
        if not request.with_model:
            del fields["with_model"]  # runs without a model were stored before there was the choice
        identity = {
            "form": FORM,
            "release": self.release,
            "request": fields,
            "settings": {k: v for k, v in asdict(self.settings).items() if k not in _OUTSIDE},
            "files": [_digest(path) for path in files],
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def get(self, request: Request) -> Report | None:
        """Return the report of a request; None where it was not measured yet, or not to its end."""
        try:
            return _read(self.place(request).read_text("utf-8"))
        except (FileNotFoundError, ValueError, KeyError):
            return None

    def put(self, request: Request, report: Report) -> None:
        """Keep a report; it is whole or not there."""
        place = self.place(request)
        place.parent.mkdir(parents=True, exist_ok=True)
        half = place.with_suffix(f".{os.getpid()}")
        half.write_text(_serialize(report), "utf-8")
        half.replace(place)


def state_of(base: KnowledgeBase) -> str:
    """Name what a base holds: its release, and how much was written since."""
    journal = base.path / "journal.nq"
    written = journal.stat().st_size if journal.is_file() else 0
    return f"{base.release}+{written}" if written else base.release


_OUTSIDE = frozenset({"kb", "base", "server", "curation"})  # what no figure depends on


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else str(path)


def _serialize(report: Report) -> str:
    skips = {"counts": dict(report.skips.counts), "first": report.skips.first}
    runs = [
        {
            "method": run.method,
            "values": {k: list(v) for k, v in run.values.items()},
            "seconds": run.seconds,
            "at": dict(run.at),
        }
        for run in report.runs
    ]
    return json.dumps(
        {
            "task": report.task,
            "file": report.file,
            "ablate": list(report.ablate),
            "n": report.n,
            "skips": skips,
            "runs": runs,
            "release": report.release,
            "settings": dict(report.settings),
            "notes": list(report.notes),
            "failures": list(report.failures),
        },
        ensure_ascii=False,
    )


def _read(text: str) -> Report:
    stored = json.loads(text)
    skips = Skips()
    skips.counts.update(stored["skips"]["counts"])
    skips.first.update(stored["skips"]["first"])
    runs = tuple(Run(r["method"], r["values"], r["seconds"], r["at"]) for r in stored["runs"])
    return Report(
        stored["task"],
        stored["file"],
        tuple(stored["ablate"]),
        stored["n"],
        skips,
        runs,
        stored["release"],
        stored["settings"],
        tuple(stored["notes"]),
        tuple(stored["failures"]),
    )
