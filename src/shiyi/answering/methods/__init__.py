"""The five published methods, ours, and the baselines, each behind one port."""

from collections.abc import Mapping
from typing import Final

from shiyi.answering.methods import (
    bm25,
    chain,
    fused,
    layers,
    neighbourhood,
    none,
    paths,
    random_paths,
    spot,
    therapy,
    translation,
)
from shiyi.answering.methods.port import Method, Query

RETRIEVE: Final[Mapping[str, Method]] = {
    "fused": fused.retrieve,
    "paths": paths.retrieve,  # Yaoshi-RAG
    "spot": spot.retrieve,  # TOSRR
    "layers": layers.retrieve,  # TCM MLKG-RAG
    "therapy": therapy.retrieve,  # TCM MLKG-RAG
    "chain": chain.retrieve,  # TCM-DiffRAG
    "neighbourhood": neighbourhood.retrieve,  # iDISK2.0-RAG
    "none": none.retrieve,
    "bm25": bm25.retrieve,  # baseline of Yaoshi-RAG
    "transe": translation.transe,  # baseline of Yaoshi-RAG
    "rotate": translation.rotate,  # baseline of Yaoshi-RAG
    "random-paths": random_paths.retrieve,  # switch of Yaoshi-RAG
}
METHODS: Final = tuple(RETRIEVE)

__all__ = ["METHODS", "RETRIEVE", "Method", "Query"]
