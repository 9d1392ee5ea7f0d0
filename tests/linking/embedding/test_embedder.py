"""Models of sentence-transformers by name: vectors of their own, reranking, fine-tuning."""

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from shiyi.answering.pipeline import Runtime
from shiyi.errors import UsageError
from shiyi.linking.embedding import training
from shiyi.linking.embedding.embedder import SHIPPED, open_embedder, open_shipped, vectors_folder
from shiyi.linking.embedding.index import FILE
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker, write_index
from shiyi.linking.reranking import open_reranker
from shiyi.reasoning.adjacency import Projection
from shiyi.settings import LinkingSettings, Settings
from tests.support import bases
from tests.support.questions import ask

pytestmark = [pytest.mark.neural, pytest.mark.filterwarnings("ignore")]
WORDS = "upset tummy"
QUESTION = "绿豆和生姜的药性是什么？"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small model in the format of sentence-transformers, of random vectors."""
    transformers = pytest.importorskip("sentence_transformers")
    import torch
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(3)
    tokenizer = Tokenizer.from_file(str(SHIPPED / "tokenizer.json"))
    static = StaticEmbedding(tokenizer, embedding_dim=24)
    folder = tmp_path_factory.mktemp("model") / "small"
    transformers.SentenceTransformer(modules=[static], device="cpu").save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small cross-encoder of random weights."""
    return bert("BertForSequenceClassification", tmp_path_factory.mktemp("cross"))


def bert(architecture: str, folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    import torch

    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"绿豆生姜的药性是什么寒温凉热能食物名",
        "mung",
        "bean",
        "ginger",
        "nature",
    ]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)), "utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(str(folder))
    torch.manual_seed(1)
    shape = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = transformers.BertConfig(vocab_size=64, num_labels=1, **shape)
    getattr(transformers, architecture)(config).save_pretrained(str(folder))
    return folder


def test_vectors_of_other_model_link_differently(model: Path, tmp_path: Path) -> None:
    store = bases.stored()
    index = tmp_path / "index"
    index.mkdir()
    write_index(tmp_path, store, "r")
    before = (index / FILE).read_bytes()
    own = Linker.open(tmp_path, store, "r")
    other = Linker.open(tmp_path, store, "r", LinkingSettings(embedder=str(model)))
    assert (index / FILE).read_bytes() == before
    embedder = open_embedder(str(model))
    place = vectors_folder(index, embedder)
    assert place != index == vectors_folder(index, open_shipped())
    assert (place / FILE).is_file()
    results = [[(c.iri, c.score) for c in each.candidates(WORDS)] for each in (own, other)]
    assert results[0] != results[1]
    linker = Linker.open(tmp_path, store, "r", LinkingSettings(embedder=str(model)))
    assert [(c.iri, c.score) for c in linker.candidates(WORDS)] == results[1]


def test_model_that_changed_under_its_name_is_another(model: Path, tmp_path: Path) -> None:
    first = open_embedder(str(model))
    tuned = training.fine_tune(str(model), tmp_path / "tuned", samples=200)
    second = open_embedder(str(tuned))
    assert first is not None
    assert second is not None
    digests = [each.identity.rpartition(":")[2] for each in (first, second)]
    embedder = open_embedder(str(model))
    assert embedder is not None
    assert digests[0] != digests[1]
    assert embedder.identity == first.identity


def test_unknown_model_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match=r"linking\.embedder"):
        open_embedder("/nowhere/model")
    with pytest.raises(UsageError, match=r"recall\.reranker"):
        open_reranker("/nowhere/model", None)
    with pytest.raises(UsageError, match="cosine"):
        open_reranker("cosine", None)
    assert open_reranker("", open_shipped()) is None


def test_model_without_scores_is_no_cross_encoder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write cosine:"):
        open_reranker(str(bert("BertModel", tmp_path)), None)


def test_fine_tuning_draws_names_of_one_thing_together(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = training.pairs_of_tables(training._tables())[::20][:160]
    monkeypatch.setattr(training, "pairs_of_tables", lambda _: pairs)
    monkeypatch.setattr(training, "TUNING_RATE", 0.05)
    tuned = training.fine_tune(str(model), tmp_path / "tuned", epochs=4)

    def rank(folder: Path) -> float:
        embedder = open_embedder(str(folder))
        assert embedder is not None
        one, other = (embedder.encode([p[side] for p in pairs]) for side in (0, 1))
        cosines = one @ other.T
        return float(np.mean((cosines > np.diag(cosines)[:, None]).sum(axis=1)))

    assert rank(tuned) < rank(model) / 2
    sections = {training._section(p) for p in pairs if "disease-gbt" in p.concept}
    assert all(len(section) == 3 for section in sections)


def spot(reranker: str) -> tuple[list[str], list[float]]:
    """Return the claims that ``spot`` ranks, and the scores of what was reranked."""
    store = bases.stored()
    linker = Linker(LabelIndex.from_store(store, "test"))
    settings = Settings.read(f'recall.reranker = "{reranker}"\nrecall.merged_k = 4', {})
    projection = Projection.from_store(store, "test")
    runtime = Runtime.over(store, linker, projection, settings, open_shipped())
    trace = ask(runtime, QUESTION, method="spot").trace
    scores = [score for s in trace.steps if s["step"] == "rerank" for _, score in s["units"]]
    return [claim for claim, _ in trace.claims], scores


def test_a_reranker_changes_what_is_read(model: Path, cross_encoder: Path) -> None:
    plain, none = spot("")
    by_cosine, cosines = spot("cosine")
    by_encoder, scores = spot(str(cross_encoder))
    by_other, likenesses = spot(f"cosine:{model}")
    assert none == []
    assert len({tuple(each) for each in (plain, by_cosine, by_encoder, by_other)}) == 4
    for group in (cosines, scores, likenesses):
        assert group == sorted(group, reverse=True) != []
