"""The W3C suites through our own endpoint: where they lie, how they are run, what is expected."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdflib

from shiyi.shapes import validation
from tests.support.places import ROOT
from tests.support.sites import endpoint

SHARED = ROOT.parent / "shared"
TOOLS, ARCHIVE = SHARED / "tools", SHARED / "w3c" / "w3c-tests.tar.xz"
EXPECTED = ROOT / "tests" / "conformance" / "expected.txt"
# suite -> (passes the project promises, tests in it)
PROMISED = {
    "sparql11-query": (312, 328), "sparql11-update": (157, 157), "sparql11-results": (9, 10),
    "sparql11-protocol": (34, 34), "sparql11-gsp": (13, 13),
    "sparql11-service-description": (3, 3), "sparql12": (264, 269),
}  # fmt: skip
OTHERS = ("sparql10-syntax", "sparql10-eval", "sparql11-fed")


@dataclass(frozen=True, slots=True)
class Report:
    """What one suite gave: passes, tests, and the failures with what was seen."""

    name: str
    passed: int
    total: int
    failures: dict[str, str]


def missing() -> str:
    """Return what is not there to run the suites with; nothing where all is."""
    wanted = (TOOLS / "w3c_http_suite.py", ARCHIVE)
    gone = [str(path) for path in wanted if not path.is_file()]
    return f"the W3C suites are not here: {', '.join(gone)}" if gone else ""


def run_suites(names: tuple[str, ...], filled: Path | None = None) -> dict[str, Report]:
    """Run suites against our endpoint over an empty base or a copy of a filled one, with tokens."""
    memory = Path("/dev/shm")  # noqa: S108 - thousands of snapshots, none of them worth a disk
    home = str(memory) if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        reply = Path(folder) / "report.json"
        with endpoint(Path(folder), filled) as (base, token):
            process = subprocess.run(  # noqa: S603 - our own interpreter
                [
                    sys.executable,
                    str(TOOLS / "w3c_http_suite.py"),
                    str(ARCHIVE),
                    "--throwaway",
                    "--base",
                    base,
                    "--query",
                    "/sparql",
                    "--update",
                    "/sparql",
                    "--gsp",
                    "/rdf-graph-store",
                    "--auth",
                    f"Bearer {token}",
                    "--only",
                    ",".join(names),
                    "--json",
                    str(reply),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
        if process.returncode:
            raise RuntimeError(process.stdout + process.stderr)
        report: dict[str, Any] = json.loads(reply.read_text(encoding="utf-8"))
    return {
        name: Report(name, item["passed"], item["total"], dict(item["failures"]))
        for name, item in report.items()
    }


def expected(*suites: str) -> dict[str, str]:
    """Read the tests that are expected to fail, each with its cause, of some suites or of all."""
    results, suite = {}, ""
    for line in EXPECTED.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            suite = line.removeprefix("## ").strip()
        elif line and not line.startswith("#") and (not suites or suite in suites):
            test, _, cause = line.partition("#!")
            results[test.strip()] = cause.strip()
    return results


_NORMALISED = (
    "NORMALIZE_LITERALS"  # of rdflib, which pySHACL sets again; it makes "1" of xsd:boolean a true
)


def report_of(data: rdflib.Graph, shapes: rdflib.Graph) -> tuple[bool, rdflib.Graph]:
    """Validate, and let the suite read its next files as they are written."""
    try:
        return validation.build_report(data, validation.engine_form(shapes))
    finally:
        setattr(rdflib, _NORMALISED, False)


setattr(rdflib, _NORMALISED, False)
