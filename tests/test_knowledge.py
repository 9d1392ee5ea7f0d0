"""The page of figures is written from the tables, and its comparisons can fail."""

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from shiyi.ingest.starter import load_starter

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def making() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_knowledge", DOCS / "make_knowledge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_states_the_counts_of_the_tables(making: ModuleType) -> None:
    page = (DOCS / "knowledge.md").read_text("utf-8")
    for part in making.counted(load_starter()):
        assert part.strip() in page, "run make docs with SHIYI_DATA"


def test_the_comparison_leaves_out_claims_that_come_from_the_table(making: ModuleType) -> None:
    said = {"寒": {"tcm-mkg-chp"}, "微寒": {"zhongyaoxue-7"}}
    assert making.of_books(said) == {"微寒"}
    assert making.of_books({"寒": {"tcm-mkg-chp"}}) == set()


def test_a_comparison_counts_agreement_and_each_side_alone(making: ModuleType) -> None:
    total = Counter[str]()
    making.count(total, {"甘", "淡"}, {"甘", "苦"})
    assert total == {
        "compared": 1, "same": 0, "overlapping": 1, "both": 1, "books only": 1, "table only": 1,
    }  # fmt: skip


def test_a_difference_is_explained_by_a_claim_that_stands_or_is_said_not_taken_over(
    making: ModuleType,
) -> None:
    stands = making.explained(set(), {"苦"}, {"苦": {"tcm-mkg-chp"}})
    assert "stands as a claim" in stands
    assert "not taken over" in making.explained(set(), {"苦"}, {})
    assert "no 淡" in making.explained({"淡"}, set(), {})


def test_spellings_of_a_medicine_meet(making: ModuleType) -> None:
    assert making.plain("Anticoagulants ") == making.plain("anticoagulant")
    assert making.plain("Beta-blockers") == making.plain("beta blocker")
