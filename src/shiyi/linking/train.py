"""``shiyi train embeddings``: the bilingual static model, made from our own labels on a CPU."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.errors import MissingExtraError, UsageError
from shiyi.linking.embedder import SHIPPED, write_static
from shiyi.linking.pairs import Pair, batches, pairs_of_tables
from shiyi.linking.tokenizer import train_tokenizer

VOCABULARY = 10_000
DIMENSIONS = 192
EPOCHS = 24
BATCH = 128
RATE = 0.03


def train_shipped(out: Path | None = None, seed: int = 7) -> str:
    """Train on the concept tables, write the model to ``out`` (or where it ships); say what came."""
    pairs = pairs_of_tables(artefact("ontology/concepts"))
    folder = train_embeddings(pairs, out or SHIPPED, seed)
    size = sum(each.stat().st_size for each in folder.iterdir()) / 1e6
    return f"{folder}: trained on {len(pairs)} pairs, {size:.1f} MB; run `shiyi build` to use it"


def train_embeddings(pairs: Sequence[Pair], out: Path, seed: int = 7, epochs: int = EPOCHS) -> Path:
    """Train a static embedding with in-batch negatives and write it to folder ``out``.

    The same pairs and seed give the same weights on the same kind of processor. Needs the extra
    ``neural``; what it writes is read without torch, by model2vec or sentence-transformers.
    """
    if len(pairs) < 2:
        raise UsageError("training needs at least two pairs of texts that mean the same")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # sums in one order
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError as fault:
        raise MissingExtraError("training", "neural") from fault
    torch.manual_seed(seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        texts = sorted({text for pair in pairs for text in (pair.one, pair.other)})
        tokenizer = train_tokenizer(texts, VOCABULARY)
        static = StaticEmbedding(tokenizer, embedding_dim=DIMENSIONS)
        loss = MultipleNegativesRankingLoss(SentenceTransformer(modules=[static], device="cpu"))
        optimizer = torch.optim.Adam(static.parameters(), lr=RATE)
        _descend(loss, static.preprocess, optimizer, pairs, random.Random(seed), epochs)  # noqa: S311
        weights = static.embedding.weight.detach().numpy()
    finally:
        torch.set_num_threads(threads)
    return write_static(weights, tokenizer, out)


def _descend(
    loss: Any,
    tokenize: Callable[[list[str]], Any],
    optimizer: Any,
    pairs: Sequence[Pair],
    chance: random.Random,
    epochs: int,
) -> None:
    """Go down the loss, in turn with negatives of the same class and of any class."""
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - epoch / epochs)
        for batch in batches(pairs, BATCH, epoch % 2 == 0, chance):
            sides = [pair.one for pair in batch], [pair.other for pair in batch]
            if chance.random() < 0.5:
                sides = sides[1], sides[0]
            optimizer.zero_grad()
            loss([tokenize(side) for side in sides], None).backward()
            optimizer.step()
