"""Any sentence-transformers model by name, for those who installed the extra ``neural``."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from shiyi.errors import MissingExtraError
from shiyi.linking.embedder import Embedder, Vectors, unit


class SentenceTransformersEmbedder(Embedder):
    """A model such as ``BAAI/bge-m3``, or a folder that holds one."""

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # 12 s
        except ImportError as fault:
            raise MissingExtraError(f"the embedding model {name}", "neural") from fault
        self._name = name
        self._model = SentenceTransformer(name)

    @property
    @override
    def identity(self) -> str:
        """Give the model's name."""
        return f"sentence-transformers:{self._name}"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts as they stand."""
        rows = self._model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return unit(np.asarray(rows, np.float32))
