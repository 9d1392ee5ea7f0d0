"""Requests made from the API's own description, by schemathesis, against a real served base.

The long form, led by coverage, is ``python -m soak.fuzzing``.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from soak.fuzzing.targets import SEEDS, TARGETS, try_target

from shiyi.settings import QuerySettings
from tests.support.hostile import texts
from tests.support.sites import FullDesks, served

MUTATIONS = int(os.environ.get("SHIYI_MUTATIONS", "60"))
_PIECES = (
    b"\x00", b"\xff", b"[" * 2000, b"{" * 2000, b'"', b"\\", b"\n", b"\t", b"\r", b"\xed\xa0\x80",
    b"9" * 400, b"1e999", b"NaN", b"null", b"\xf0\x9f\x91\xa9", b"<", b">",
    b"<!DOCTYPE a [<!ENTITY b SYSTEM 'c'>]>", b"-", b"",
)  # fmt: skip


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Cut, double, overwrite or insert at random places."""
    for _ in range(chance.randrange(1, 5)):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.randrange(9))
        piece = chance.choice((*_PIECES, content[start:end] * 2, chance.randbytes(3)))
        content = content[:start] + piece + content[end:]
    return content


def test_every_target_accepts_one_of_its_seeds() -> None:
    assert TARGETS.keys() == SEEDS.keys()
    assert len(TARGETS) > 12
    refused = {"bundles", "journal"}  # they are signed, or carry a digest
    assert {
        name for name in TARGETS if not any(try_target(name, seed) for seed in SEEDS[name])
    } <= refused


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", TARGETS)
def test_made_up_bytes_are_taken_or_refused(target: str) -> None:
    chance = random.Random(f"7 {target}")  # noqa: S311 - inputs, not secrets
    content = [mutated(chance.choice(SEEDS[target]), chance) for _ in range(MUTATIONS)]
    content += [chance.randbytes(chance.randrange(200)) for _ in range(MUTATIONS // 4)]
    content += [
        text.encode("utf-8", "surrogatepass") for text in texts()[:: max(1, 3000 // MUTATIONS)]
    ]
    taken = [try_target(target, seed) for seed in (*SEEDS[target], *content)]
    assert len(taken) > MUTATIONS


def test_a_target_that_fails_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(content: bytes) -> None:
        raise KeyError(content)

    monkeypatch.setitem(TARGETS, "guard", broken)
    with pytest.raises(KeyError):
        try_target("guard", b"x")


EXAMPLES = int(os.environ.get("SHIYI_API_EXAMPLES", "4"))
# the long form also tries each bound of each parameter: more than a thousand requests
PHASES = "examples,fuzzing" if EXAMPLES < 20 else "examples,coverage,fuzzing"
# which valid text is also a good query or question no schema says; null and "" count as not stated
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
"response_schema_conformance",
          "unsupported_method", "allow_header_conformance", "missing_required_header",
          "ignored_auth")  # fmt: skip
OPTIONS = (
    f"--max-examples {EXAMPLES} --seed 11 --checks {','.join(CHECKS)} --no-shrink --warnings off "
    "--continue-on-failure --suppress-health-check all --report json --report-json-path"
).split()
QUERY = QuerySettings(timeout=2.0, timeout_cap=2.0, memory_mib=512, workers=2)


def fuzzed(desks: FullDesks, report: Path, *more: str) -> dict[str, Any]:
    """Run schemathesis against a served base; return its report."""
    pytest.importorskip("schemathesis")
    program = str(Path(sys.executable).with_name("schemathesis"))
    process = subprocess.run(  # noqa: S603 - installed with the tests
        [program, "run", f"{desks.address}/api/openapi.json", *OPTIONS, str(report), *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
        cwd=report.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    values: dict[str, Any] = json.loads(report.read_text("utf-8"))
    values["told"] = re.findall(
        r"- ST\d+ .*?(?=\n\d+\. Test Case|\n_{9}|\n={9})", process.stdout, re.DOTALL
    )
    assert values["errors"] == [], process.stdout[-3000:]
    return values


def test_requests_made_from_description_answered_as_it_says(tmp_path: Path) -> None:
    """Nobody is signed in, so whatever is sent changes nothing."""
    with served(tmp_path, query=QUERY) as desks:
        before = set(desks.site.store.match())
        reply = fuzzed(desks, tmp_path / "report.json", "--phases", PHASES)
        assert reply["told"] == []
        assert reply["operations"]["tested"] == reply["operations"]["total"] > 20
        assert reply["test_cases"]["generated"] > 15 * EXAMPLES
        assert set(desks.site.store.match()) == before
        keep(reply)


def keep(values: dict[str, Any]) -> None:
    """Write the figures of the long form where ``make soak`` wants them."""
    if path := os.environ.get("SHIYI_API_JSON"):
        row = {
            "inputs": values["test_cases"]["generated"],
            "operations": values["operations"]["tested"],
            "faults": len(values["told"]),
            "seed": 11,
            "seconds": round(values["running_time"], 1),
        }
        reply = json.loads(Path(path).read_text("utf-8")) if Path(path).exists() else {}
        Path(path).write_text(json.dumps(reply | {"api fuzzing": row}, indent=1) + "\n", "utf-8")
