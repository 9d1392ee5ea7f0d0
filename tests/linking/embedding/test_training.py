import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typing_extensions import override

from shiyi.errors import IndexMismatchError, UsageError
from shiyi.linking.embedding.embedder import Embedder, StaticEmbedder, Vectors, open_shipped, unit
from shiyi.linking.embedding.index import FILE, LabelVectors
from shiyi.linking.embedding.training import Pair, batches, train_embeddings
from shiyi.linking.labels import Concept, Label, LabelIndex


class StubEmbedder(Embedder):
    """Counts letters: enough for what is near to be near."""

    identity = "stub"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), 128), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for character in text:
                row[ord(character) % 128] += 1
        return unit(rows)


INDEX = LabelIndex(
    "r1",
    (Concept("i:a", "Food", "梨", "pear"), Concept("i:b", "Food", "苹果", "apple")),
    (Label("pear", "en", 0, "preferred"), Label("apple", "en", 1, "preferred")),
)


def test_the_nearest_label_comes_first_with_its_cosine() -> None:
    ((first, second),) = LabelVectors.of(INDEX, StubEmbedder()).search(["apple"], 5)
    assert first[0] == 1
    assert first[1] == pytest.approx(1.0, abs=1e-4)
    assert second[0] == 0
    assert second[1] < 1


def test_vectors_read_back_as_they_were_written(tmp_path: Path) -> None:
    vectors = LabelVectors.of(INDEX, StubEmbedder())
    vectors.save(tmp_path)
    read = LabelVectors.load(tmp_path, INDEX, StubEmbedder())
    assert read.search(["pear", "apple"], 2) == vectors.search(["pear", "apple"], 2)


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    class OtherEmbedder(StubEmbedder):
        identity = "other"

    LabelVectors.of(INDEX, StubEmbedder()).save(tmp_path)
    with pytest.raises(IndexMismatchError, match="model stub"):
        LabelVectors.load(tmp_path, INDEX, OtherEmbedder())


def test_vectors_of_another_release_are_refused(tmp_path: Path) -> None:
    LabelVectors.of(INDEX, StubEmbedder()).save(tmp_path)
    other = LabelIndex("r2", INDEX.concepts, INDEX.labels)
    with pytest.raises(IndexMismatchError, match="release r1"):
        LabelVectors.load(tmp_path, other, StubEmbedder())


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short", b"no archive"])
def test_damaged_vectors_are_refused(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    with pytest.raises(IndexMismatchError, match="damaged"):
        LabelVectors.load(tmp_path, INDEX, StubEmbedder())


def test_shipped_model_matches_names_across_languages() -> None:
    model = open_shipped()
    assert model is not None
    goji, named, pressure = model.encode(["枸杞子", "goji berry", "高血压"])
    assert goji @ named > 0.6
    assert goji @ pressure < 0.4


def test_the_shipped_model_folds_what_it_reads() -> None:
    simplified, traditional = StaticEmbedder().encode(["当归", "當歸"])
    assert np.array_equal(simplified, traditional)


def test_shipped_model_reports_share_of_known_text() -> None:
    assert StaticEmbedder().known_shares(
        ["枸杞子", "goji berry", "枣\U0003fffe", "", "\U0003fffe"]
    ) == [1.0, 1.0, 0.5, 0.0, 0.0]
    assert StubEmbedder().known_shares(["a", "b"]) == [1.0, 1.0]
    assert StaticEmbedder().known_shares([]) == []


def test_missing_model_is_error_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(IndexMismatchError, match=tmp_path.name):
        StaticEmbedder(tmp_path)


def test_batch_has_distinct_concepts_of_one_class() -> None:
    pairs = [Pair(f"a{i}", f"b{i}", f"c{i % 7}", f"k{i % 2}") for i in range(50)]
    made = batches(pairs, 8, by_kind=True, chance=random.Random(1))  # noqa: S311
    assert all(len({pair.kind for pair in batch}) == 1 for batch in made)
    assert all(len({pair.concept for pair in batch}) == len(batch) for batch in made)


def test_training_needs_something_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        train_embeddings([], tmp_path)


@pytest.mark.neural
@pytest.mark.filterwarnings("ignore")
def test_training_twice_with_one_seed_gives_same_model(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    words = [("枸杞", "goji"), ("生姜", "ginger"), ("山药", "yam"), ("苹果", "apple")] * 4
    pairs = [Pair(zh, en, f"c{i}", "Food") for i, (zh, en) in enumerate(words)]
    for folder in ("one", "two"):
        train_embeddings(pairs, tmp_path / folder, seed=3, epochs=4)
    one, two = StaticEmbedder(tmp_path / "one"), StaticEmbedder(tmp_path / "two")
    assert one.identity == two.identity
    goji, named, apple = one.encode(["枸杞", "goji", "apple"])
    assert goji @ named > goji @ apple
