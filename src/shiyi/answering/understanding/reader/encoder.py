"""The encoder of sentences: a small transformer over pieces of words, in eight bits."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from tokenizers import Tokenizer
from typing_extensions import override

from shiyi.columnar.mapped_file import Memmap
from shiyi.linking.embedding.embedder import WEIGHTS, Embedder, Vectors
from shiyi.linking.normalization import fold

WORDS: Final = Path(__file__).parent / "words"  # by bench/sentence_encoder.py
FORMAT: Final = "encoder-1"
HALF: Final = 32  # of the pieces that are read; of a longer text its first and its last ones
HEADS: Final = 4


class SentenceEncoder(Embedder):
    """What ``bench/sentence_encoder.py`` trained, run with NumPy."""

    def __init__(self, folder: Path = WORDS) -> None:
        parts = (folder / WEIGHTS, folder / "tokenizer.json")
        self._identity = hashlib.sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()
        self._tokenizer = Tokenizer.from_file(str(parts[1]))
        stored = dict(Memmap.open(parts[0], format=FORMAT).arrays)
        self._words, self._scale = stored.pop("words"), stored.pop("words.scale")
        scaled = ((each, stored.get(f"{each}.scale", 1)) for each in stored)
        self._arrays = {each: stored[each].astype(np.float32) * scale for each, scale in scaled}

    @property
    @override
    def identity(self) -> str:
        """Return the digest of weights and tokenizer."""
        return f"sha256:{self._identity}"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed the folded texts."""
        vectors = np.array([self._pool(fold(text)) for text in texts], np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def _pool(self, text: str) -> Vectors:
        ids, layer = self._tokenizer.encode(text).ids or [0], 0
        ids = ids if len(ids) <= 2 * HALF else ids[:HALF] + ids[-HALF:]
        rows = _normalize(self._words[ids] * self._scale[ids] + self._arrays["places"][: len(ids)])
        rows = rows * self._arrays["first"] + self._arrays["first.bias"]
        while f"{layer}.qkv" in self._arrays:
            rows = rows + self._project(_attend(self._project(rows, f"{layer}.qkv")), f"{layer}.o")
            inner = np.maximum(self._project(rows, f"{layer}.f1"), 0)
            rows, layer = rows + self._project(inner, f"{layer}.f2"), layer + 1
        rows = _normalize(rows).mean(axis=0)
        return np.asarray(rows * self._arrays["last"] + self._arrays["last.bias"])

    def _project(self, rows: Vectors, name: str) -> Vectors:
        before = _normalize(rows) if name.endswith(("qkv", "f1")) else rows
        return np.asarray(before @ self._arrays[name] + self._arrays[f"{name}.bias"])


def _attend(joined: Vectors) -> Vectors:
    """Mix the values by how well keys meet queries, which are scaled already."""
    query, key, value = joined.reshape(len(joined), 3, HEADS, -1).transpose(1, 2, 0, 3)
    weights = query @ key.transpose(0, 2, 1)
    weights = np.exp(weights - weights.max(axis=2, keepdims=True))
    mixed = (weights @ value) / weights.sum(axis=2, keepdims=True)
    return np.asarray(mixed.transpose(1, 0, 2).reshape(len(joined), -1))


def _normalize(rows: Vectors) -> Vectors:
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", centred, centred) / np.float32(rows.shape[1])
    return np.asarray(centred / np.sqrt(variance + np.float32(1e-5))[:, None])
