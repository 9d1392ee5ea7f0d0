"""Conformance by the W3C's own suites, through our endpoint with authentication on."""

import os
import subprocess
import sys

import pytest

from tests.conformance.suites import (
    ARCHIVE,
    OTHERS,
    PROMISED,
    TOOLS,
    Report,
    expected,
    missing,
    run_suites,
)
from tests.support.places import ROOT

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "they are here")


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return run_suites((*PROMISED, *OTHERS))


@pytest.mark.parametrize("suite", PROMISED)
def test_a_suite_passes_as_often_as_promised(reports: dict[str, Report], suite: str) -> None:
    passes, total = PROMISED[suite]
    assert reports[suite].total == total
    assert reports[suite].passed >= passes, reports[suite].failures


@pytest.mark.parametrize("suite", [*PROMISED, *OTHERS])
def test_exactly_the_expected_tests_fail(reports: dict[str, Report], suite: str) -> None:
    failed = set(reports[suite].failures)
    assert {each: reports[suite].failures[each] for each in failed - set(expected())} == {}
    assert set(expected(suite)) - failed == set(), "these pass now: take them off the list"


def test_each_expected_failure_has_its_cause() -> None:
    known = expected()
    assert len(known) > 10
    assert [test for test, cause in known.items() if len(cause) < 20] == []


def test_shapes_are_read_as_shacl_suite_has_them() -> None:
    words = [
        str(TOOLS / "shacl_suite.py"),
        str(ARCHIVE),
        "--validator",
        "tests.conformance.suites:report_of",
    ]
    process = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *words, "-v"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert "CORE 98 of 98" in process.stdout, process.stdout + process.stderr
    assert "SPARQL 22 of 23" in process.stdout, (
        process.stdout
    )  # $shapesGraph is optional, pySHACL lacks it
