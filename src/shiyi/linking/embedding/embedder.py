"""The embedder port, the shipped model, sentence-transformers."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import IndexMismatchError, MissingExtraError, UsageError
from shiyi.linking.normalization import fold
from shiyi.model.iris import content_hash

if TYPE_CHECKING:
    from model2vec import StaticModel
    from tokenizers import Tokenizer


Vectors = NDArray[np.float32]
SHIPPED = Path(__file__).parent / "model"
WEIGHTS = "model.safetensors"


class Embedder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Name the very model, so that vectors of another one are not taken for its own."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, of length 1, or of zeros where nothing of it is known."""

    def known_shares(self, texts: Sequence[str]) -> list[float]:
        """Return the share of each text that the vector is of; a whole one by default."""
        return [1.0] * len(texts)


class StaticEmbedder(Embedder):
    """A static model in sentence-transformers' format, read without torch."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._folder = folder
        self._model: StaticModel | None = None
        try:
            digest = hashlib.sha256((folder / WEIGHTS).read_bytes())
            digest.update((folder / "tokenizer.json").read_bytes())
        except OSError as fault:
            raise IndexMismatchError(f"{folder} holds no embedding model: {fault}") from fault
        self._identity = f"sha256:{digest.hexdigest()}"

    @property
    @override
    def identity(self) -> str:
        """Return the digest of weights and tokenizer."""
        return self._identity

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed the folded texts."""
        model, folded = self._open_model(), [fold(text) for text in texts]
        if not folded:  # model2vec takes no empty list
            return np.zeros((0, model.dim), np.float32)
        return unit(np.asarray(model.encode(folded, use_multiprocessing=False), np.float32))

    @override
    def known_shares(self, texts: Sequence[str]) -> list[float]:
        """Return the share of the characters that are in the vocabulary."""
        model, folded = self._open_model(), [fold(text) for text in texts]
        shares = []
        for text, encoding in zip(folded, model.tokenizer.encode_batch(folded), strict=True):
            letters = len(text) - text.count(" ")
            lost = sum(
                end - start
                for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
                if piece == model.unk_token_id
            )
            shares.append(1 - lost / letters if letters else 0.0)
        return shares

    def _open_model(self) -> "StaticModel":
        if self._model is None:
            from model2vec import StaticModel  # 0.3 s, only where needed

            self._model = StaticModel.from_pretrained(self._folder, force_download=False)
        return self._model


def open_shipped() -> StaticEmbedder | None:
    """Return the shipped model, or nothing where it was left out of the installation."""
    return StaticEmbedder() if (SHIPPED / WEIGHTS).is_file() else None


def write_static(weights: Vectors, tokenizer: "Tokenizer", out: Path) -> Path:
    """Write a static model that model2vec and sentence-transformers read, in half precision."""
    from model2vec import StaticModel  # 0.3 s, only where needed

    model = StaticModel(weights.astype(np.float16), tokenizer, {"normalize": True}, normalize=True)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        model.save_pretrained(folder)
        for name in ("config.json", WEIGHTS, "modules.json", "tokenizer.json"):
            path = Path(folder) / name
            path.chmod(0o644)
            path.replace(out / name)
    return out


def unit(rows: Vectors) -> Vectors:
    """Scale each row to length 1; rows of zeros stay.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.divide(rows, np.where(lengths == 0, 1, lengths), dtype=np.float32)


class SentenceTransformersEmbedder(Embedder):
    """A model such as ``BAAI/bge-m3``, or a folder that holds one.

    Raise ``MissingExtraError`` without the extra, ``UsageError`` where no such model can be read.
    """

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # 12 s
        except ImportError as fault:
            raise MissingExtraError(f"the embedding model {name}", "neural") from fault
        try:
            self._model = SentenceTransformer(name, device="cpu")
        except (OSError, ValueError) as fault:
            raise UsageError(
                f"linking.embedder: no sentence-transformers model {name} can be read ({fault}); "
                "give the name of one that is installed or can be downloaded, or its folder"
            ) from fault
        self._size = len(self._model.encode(""))
        digest = hashlib.sha256()
        for _, tensor in sorted(self._model.state_dict().items()):
            digest.update(tensor.detach().float().numpy().tobytes())
        self._identity = f"sentence-transformers:{name}:{digest.hexdigest()[:12]}"

    @property
    @override
    def identity(self) -> str:
        """Return the model's name, with a digest of its weights."""
        return self._identity

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts as they stand."""
        if not texts:
            return np.zeros((0, self._size), np.float32)
        rows = self._model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return unit(np.asarray(rows, np.float32))


def cross_encoder(name: str) -> Callable[[str, Sequence[str]], list[float]]:
    """Open a cross-encoder by name or folder: it scores texts beside a question.

    Raise ``MissingExtraError`` without the extra, ``UsageError`` where no such model can be read.
    """
    try:
        from sentence_transformers import CrossEncoder  # 12 s
    except ImportError as fault:
        raise MissingExtraError(f"the reranker {name}", "neural") from fault
    try:
        model = CrossEncoder(name, device="cpu")
    except (OSError, ValueError) as fault:
        raise UsageError(
            f"recall.reranker: no cross-encoder {name} can be read ({fault}); "
            "give the name of one, its folder, or cosine"
        ) from fault
    if any(architecture.endswith("Model") for architecture in model.config.architectures or ()):
        raise UsageError(f"recall.reranker: {name} is no cross-encoder; write cosine:{name}")

    def score(question: str, texts: Sequence[str]) -> list[float]:
        pairs = [(question, text) for text in texts]
        return [float(item) for item in model.predict(pairs, show_progress_bar=False)]

    return score


def open_embedder(name: str) -> Embedder | None:
    """Return the model that ``linking.embedder`` names, by default the shipped one, if any."""
    return SentenceTransformersEmbedder(name) if name else open_shipped()


def vectors_folder(folder: Path, model: Embedder | None) -> Path:
    """Return where vectors of a model lie below an index: those of others than shipped, apart."""
    if model is None or isinstance(model, StaticEmbedder):
        return folder
    return folder / f"model-{content_hash(model.identity)[:12]}"
