"""Requests made from the API's own description, by schemathesis, against a real served base."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiyi.server.tokens import Tokens
from shiyi.settings import QuerySettings
from tests.desk_site import Desks, served

EXAMPLES = int(os.environ.get("SHIYI_API_EXAMPLES", "4"))
# the long form also tries each bound of each parameter: more than a thousand requests
PHASES = "examples,fuzzing" if EXAMPLES < 20 else "examples,coverage,fuzzing"
# which valid text is also a good query or question no schema says; null and "" count as not said
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "unsupported_method", "allow_header_conformance", "missing_required_header",
          "ignored_auth")  # fmt: skip
QUERY = QuerySettings(timeout=2.0, timeout_cap=2.0, memory_mib=512, workers=2)


def fuzzed(desks: Desks, report: Path, *more: str) -> dict[str, Any]:
    """Let schemathesis ask a served base; give what it reports."""
    pytest.importorskip("schemathesis")
    program = str(Path(sys.executable).with_name("schemathesis"))
    done = subprocess.run(  # noqa: S603 - installed with the tests
        [program, "run", f"{desks.address}/api/openapi.json", "--max-examples", str(EXAMPLES),
         "--seed", "11", "--checks", ",".join(CHECKS), "--no-shrink",
         "--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off",
         "--report", "json", "--report-json-path", str(report), *more],
        capture_output=True, text=True, check=False, timeout=3600, cwd=report.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    said: dict[str, Any] = json.loads(report.read_text("utf-8"))
    said["told"] = re.findall(
        r"- ST\d+ .*?(?=\n\d+\. Test Case|\n_{9}|\n={9})", done.stdout, re.DOTALL
    )
    assert said["errors"] == [], done.stdout[-3000:]
    return said


def test_requests_made_from_the_description_are_answered_as_it_says(tmp_path: Path) -> None:
    """Nobody is signed in, so whatever is sent changes nothing."""
    with served(tmp_path, query=QUERY) as desks:
        before = set(desks.site.store.match())
        said = fuzzed(desks, tmp_path / "report.json", "--phases", PHASES)
        assert said["told"] == []
        assert said["operations"]["tested"] == said["operations"]["total"] > 20
        assert said["test_cases"]["generated"] > 15 * EXAMPLES
        assert set(desks.site.store.match()) == before
        keep(said)


def test_a_token_for_reviews_changes_no_graph_either(tmp_path: Path) -> None:
    with served(tmp_path, query=QUERY) as desks:
        secret = Tokens(tmp_path / "kb").add("reviewing", "review", 1, "cura")
        before = set(desks.site.store.match())
        said = fuzzed(
            desks, tmp_path / "report.json", "--header", f"Authorization: Bearer {secret}",
            "--include-path-regex", "^/(sparql|rdf-graph-store)$", "--exclude-checks", "ignored_auth",
            "--phases", "examples,fuzzing",
        )  # fmt: skip
        assert said["told"] == []
        assert said["test_cases"]["generated"] >= 6 * EXAMPLES
        assert set(desks.site.store.match()) == before


def keep(said: dict[str, Any]) -> None:
    """Write the figures of the long form where ``make soak`` wants them."""
    if path := os.environ.get("SHIYI_API_JSON"):
        row = {"inputs": said["test_cases"]["generated"], "operations": said["operations"]["tested"],
               "faults": len(said["told"]), "seed": 11, "seconds": round(said["running_time"], 1)}  # fmt: skip
        held = json.loads(Path(path).read_text("utf-8")) if Path(path).exists() else {}
        Path(path).write_text(json.dumps(held | {"api fuzzing": row}, indent=1) + "\n", "utf-8")
