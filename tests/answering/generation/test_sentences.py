"""The sentence checker on 1,240 annotated sentences of the project's own.

``tests/data/sentences-tune.tsv`` and ``sentences-test.tsv`` were both looked at while the tables of
words grew; the second was written by somebody who had not seen the checker. No claim is in both.
``tests/data/blind/sentences.tsv`` is by another such writer; only what passed there was looked at.
"""

import csv
from pathlib import Path

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.errors import UsageError
from shiyi.evaluation.tasks.sentences import measure_sentences, read_rows
from tests.support.places import DATA

TUNE, TEST = DATA / "sentences-tune.tsv", DATA / "sentences-test.tsv"
BLIND = DATA / "blind" / "sentences.tsv"


@pytest.mark.parametrize(
    ("path", "size", "number"), [(TUNE, 250, 0.84), (TEST, 250, 0.79), (BLIND, 120, 0.43)]
)
def test_shares_are_those_of_the_page(
    runtime: Runtime, path: Path, size: int, number: float
) -> None:
    [run] = measure_sentences(path, runtime.store, runtime.release).runs
    assert [len(values) for values in run.values.values()] == [size, size]
    shares = {name: sum(values) / len(values) for name, values in run.values.items()}
    assert shares["unfaithful_passed"] == 0
    assert shares["faithful_kept"] >= number


def test_halves_share_no_claim() -> None:
    pairs = [{(row["subject"], row["object"]) for row in read_rows(path)} for path in (TUNE, TEST)]
    assert len(pairs[0]) > 300
    assert not pairs[0] & pairs[1]


def test_unknown_label_is_refused(tmp_path: Path) -> None:
    rows = read_rows(TUNE)[:2]
    rows[1]["label"] = "perhaps"
    with (tmp_path / "odd.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t", quoting=csv.QUOTE_NONE)
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(UsageError, match="perhaps"):
        read_rows(tmp_path / "odd.tsv")
