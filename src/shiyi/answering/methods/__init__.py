"""The published methods, Shiyi's own, and the baselines, behind one port."""

from collections.abc import Mapping
from typing import Final

from shiyi.answering.methods import diffrag, fused, idisk_rag, mlkg_rag, tosrr, yaoshi_rag
from shiyi.answering.methods.method import Method, Query
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.prompts.chat import ChatModel

__all__ = ["METHODS", "RETRIEVE", "Method", "Query"]


def retrieve_nothing(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return nothing."""
    return Retrieval(steps=({"step": "nothing is retrieved"},))


RETRIEVE: Final[Mapping[str, Method]] = {
    "fused": fused.retrieve,
    "paths": yaoshi_rag.retrieve_paths,  # Yaoshi-RAG
    "spot": tosrr.retrieve,  # TOSRR
    "layers": mlkg_rag.retrieve_layers,  # TCM MLKG-RAG
    "therapy": mlkg_rag.retrieve_therapy,  # TCM MLKG-RAG
    "chain": diffrag.retrieve,  # TCM-DiffRAG
    "neighbourhood": idisk_rag.retrieve,  # iDISK2.0-RAG
    "none": retrieve_nothing,
    "bm25": yaoshi_rag.retrieve_bm25,  # baseline of Yaoshi-RAG
    "transe": yaoshi_rag.retrieve_transe,  # baseline of Yaoshi-RAG
    "rotate": yaoshi_rag.retrieve_rotate,  # baseline of Yaoshi-RAG
    "random-paths": yaoshi_rag.retrieve_random_paths,  # switch of Yaoshi-RAG
}
METHODS: Final = tuple(RETRIEVE)
