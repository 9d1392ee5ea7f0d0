"""The tables of ontology/lexicon: those that ship are whole, and faults are named."""

from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.errors import TableError
from shiyi.ontology import lexicon
from shiyi.ontology.lexicon import Cues, cue_texts, cues, sentences, word_list
from tests.tables import from_table

OPTIONAL = {"of-form", "use-verbs"}  # what may stand before or between other words


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tables in the place of ontology/lexicon."""
    (tmp_path / "cues").mkdir()
    places = {"ontology/lexicon": tmp_path}

    def found(path: str) -> Path:
        return places["ontology/lexicon"] / path.removeprefix("ontology/lexicon/")

    monkeypatch.setattr(lexicon, "artefact", found)
    return tmp_path


@pytest.mark.parametrize("path", sorted(artefact("ontology/lexicon/cues").glob("*.tsv")))
def test_every_table_of_cues_holds_patterns(path: Path) -> None:
    patterns = cues(path.stem)
    assert patterns
    for name, pattern in patterns.items():
        assert pattern.pattern, name
        assert name in OPTIONAL or not pattern.search("□"), f"{name} is found in nothing"


def test_every_sentence_is_in_both_languages() -> None:
    assert len(sentences()) > 250


@from_table
def test_faulty_sentences_are_refused(tables: Path, rows: str) -> None:
    (tables / "faulty.tsv").write_text(f"key\tzh\ten\n{rows}\n", "utf-8")
    with pytest.raises(TableError):
        sentences.__wrapped__("faulty")


def test_cues_refer_to_others_within_distance(tables: Path) -> None:
    table = [
        "cue\tzh\ten",
        "# parts",
        "_kin\t妈|爸\tmother|father",
        "ill\t(?:{{_kin}})病\tmy (?:{{_kin}})",
        "both\t(?:{{ill*}})了\t",
        "close\t\tchest ~6~ arm",
    ]
    (tables / "cues" / "family.tsv").write_text("\n".join(table) + "\n", "utf-8")
    found_cues = Cues("family")
    assert found_cues["ill"].pattern == "(?:妈|爸)病|my (?:mother|father)"
    assert found_cues["both"].fullmatch("my mother了")
    assert found_cues["close"].search("arm or chest")
    assert not found_cues["close"].search("arm. chest")
    assert "_kin" not in cues("family")
    assert word_list("family", "_kin")[0] == {"妈", "爸"}
    assert cue_texts("family")["ill"][1] == "my (?:mother|father)"
    with pytest.raises(KeyError):
        found_cues["unknown"]


def test_a_cue_that_is_no_pattern_is_named(tables: Path) -> None:
    (tables / "cues" / "open.tsv").write_text("cue\tzh\ten\nleft-open\t(甲\t\n", "utf-8")
    with pytest.raises(TableError, match="left-open"):
        cues("open")
