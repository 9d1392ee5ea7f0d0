"""Training the static bilingual model."""

import math
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shiyi.artefacts import artefact
from shiyi.errors import MissingExtraError, UsageError
from shiyi.linking.embedding.embedder import SHIPPED, write_static
from shiyi.linking.labels import KINDS, read_rows
from shiyi.linking.normalization import fold

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Pair(NamedTuple):
    """Two texts of one concept, and the class that its hard negatives are drawn from."""

    one: str
    other: str
    concept: str
    kind: str


def pairs_of_tables(folder: Path) -> list[Pair]:
    """Read zh–en, alias–label, Latin–label and term–definition pairs from the concept tables."""
    results: dict[Pair, None] = {}
    for row in read_rows(folder):
        if row["class"] in KINDS:
            for one, other in _pairs(row):
                pair = Pair(fold(one), fold(other), row["id"], row["class"])
                if pair.one and pair.other and pair.one != pair.other:
                    results[pair] = None
    return list(results)


def _pairs(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    zh, en = row["zh"], row["en"]
    aliases_zh = [part for part in row.get("alt_zh", "").split("|") if part]
    aliases_en = [part for part in row.get("alt_en", "").split("|") if part]
    yield zh, en
    for alias in aliases_zh:
        yield alias, zh
        yield alias, en
    for alias in aliases_en:
        yield alias, en
        yield alias, zh
    if latin := row.get("latin", ""):
        yield latin, zh
        yield latin, en
    yield zh, row.get("definition_zh", "")
    yield en, row.get("definition_en", "")
    yield row.get("definition_zh", ""), row.get("definition_en", "")


def batches(
    pairs: Sequence[Pair], size: int, by_kind: bool, chance: random.Random
) -> list[list[Pair]]:
    """Shuffle the pairs into batches with each concept once, so none is its own negative.

    With ``by_kind`` a batch holds one class only, as MLKG-RAG groups its negatives by section.
    """
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.kind if by_kind else ""].append(pair)
    made: list[list[Pair]] = []
    for kind in sorted(groups):
        chance.shuffle(groups[kind])
        made += _separate_pairs(groups[kind], size)
    chance.shuffle(made)
    return [batch for batch in made if len(batch) > 1]


def _separate_pairs(pairs: Sequence[Pair], size: int) -> Iterator[list[Pair]]:
    waiting = list(pairs)
    while waiting:
        batch: dict[str, Pair] = {}
        later: list[Pair] = []
        for place, pair in enumerate(waiting):
            if len(batch) == size:
                later += waiting[place:]
                break
            if batch.setdefault(pair.concept, pair) is not pair:
                later.append(pair)
        yield list(batch.values())
        waiting = later


LONGEST = 8  # characters of a piece
_SHRINKING = (4.0, 2.0, 1.0)  # how many times too large the vocabulary is in each round
_WORD = re.compile(r"\w+|[^\w\s]")
_UNKNOWN = ("[UNK]", 0.0)


def train_tokenizer(texts: Iterable[str], size: int) -> "Tokenizer":
    """Choose ``size`` pieces (at least every character) by how often the best split uses them.

    The trainer of the library sums in the order of a hash and differs from run to run, so this
    re-estimates in a few hard rounds instead.
    """
    words = Counter(f"▁{word}" for text in texts for word in _WORD.findall(text))
    counts = _substrings(words)
    for factor in _SHRINKING:
        tokenizer = _tokenizer(_pieces(counts, int(size * factor)))
        counts = _count_used(tokenizer, words)
    return _tokenizer(_pieces(counts, size))


def _substrings(words: Counter[str]) -> Counter[str]:
    results: Counter[str] = Counter()
    for word, often in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(start + LONGEST, len(word)) + 1):
                results[word[start:end]] += often * (end - start)
    return Counter(
        {piece: n for piece, n in results.items() if len(piece) == 1 or n > 2 * len(piece)}
    )


def _count_used(tokenizer: "Tokenizer", words: Counter[str]) -> Counter[str]:
    counts = Counter({character: 1 for word in words for character in word})
    listed = sorted(words)
    for word, encoded in zip(listed, tokenizer.encode_batch([w[1:] for w in listed]), strict=True):
        for piece in encoded.tokens:
            counts[piece] += words[word]
    del counts[_UNKNOWN[0]]
    return counts


def _pieces(counts: Counter[str], size: int) -> Sequence[tuple[str, float]]:
    characters = sum(len(piece) == 1 for piece in counts)
    ranked = sorted(counts.items(), key=lambda item: (len(item[0]) > 1, -item[1], item[0]))
    chosen = ranked[: max(size - 1, characters)]
    total = sum(count for _, count in chosen)
    return [_UNKNOWN, *((piece, round(math.log(count / total), 6)) for piece, count in chosen)]


def _tokenizer(vocabulary: Sequence[tuple[str, float]]) -> "Tokenizer":
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.Unigram(list(vocabulary), unk_id=0, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "isolated"),
            pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
        ]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


VOCABULARY = 10_000
DIMENSIONS = 192
EPOCHS = 24
BATCH = 128
RATE = 0.03
SAMPLES = 5000  # TCM MLKG-RAG
TUNING_RATE = 2e-5


def train_shipped(out: Path | None = None, seed: int = 7) -> str:
    """Train on the concept tables, write the model to ``out`` (or where it ships); report it."""
    pairs = pairs_of_tables(_tables())
    folder = train_embeddings(pairs, out or SHIPPED, seed)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    return f"{folder}: trained on {len(pairs)} pairs, {size:.1f} MB; run `shiyi index` to use it"


def train_embeddings(pairs: Sequence[Pair], out: Path, seed: int = 7, epochs: int = EPOCHS) -> Path:
    """Train a static embedding with in-batch negatives and write it to folder ``out``.

    The same pairs and seed give the same weights on the same kind of processor. Needs the extra
    ``neural``; what it writes is read without torch, by model2vec or sentence-transformers.
    """
    if len(pairs) < 2:
        raise UsageError("training needs at least two pairs of texts that mean the same")
    torch, transformer, loss_of = _import_trainer()
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        texts = sorted({text for pair in pairs for text in (pair.one, pair.other)})
        tokenizer = train_tokenizer(texts, VOCABULARY)
        static = StaticEmbedding(tokenizer, embedding_dim=DIMENSIONS)
        loss = loss_of(transformer(modules=[static], device="cpu"))
        optimizer = torch.optim.Adam(static.parameters(), lr=RATE)
        chance = random.Random(seed)  # noqa: S311 - an order, no secret
        hard = [epoch % 2 == 0 for epoch in range(epochs)]
        _descend(loss, static.preprocess, optimizer, pairs, chance, hard)
        weights = static.embedding.weight.detach().numpy()
    finally:
        torch.set_num_threads(threads)
    return write_static(weights, tokenizer, out)


def fine_tune(name: str, out: Path, seed: int = 7, samples: int = SAMPLES, epochs: int = 1) -> Path:
    """Fine-tune a sentence-transformers model as TCM MLKG-RAG does; write it to folder ``out``.

    The loss of a name d and what says the same of it, q (another name, a definition), is
    - log(exp(s cos(q, d)) / sum exp(s cos(q, d'))) over the names d' of the batch, with s = 20; the
    negatives d' are those of one section: of a national standard its chapter, else the class.
    """
    if samples < 2 or epochs < 1:
        raise UsageError("fine-tuning takes at least two samples and one epoch")
    torch, transformers, loss_of = _import_trainer()
    pairs = [table._replace(kind=_section(table)) for table in pairs_of_tables(_tables())]
    chance = random.Random(seed)  # noqa: S311 - an order, no secret
    chance.shuffle(pairs)
    torch.manual_seed(seed)
    model = transformers(name, device="cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=TUNING_RATE)
    model.train()
    _descend(loss_of(model), model.preprocess, optimizer, pairs[:samples], chance, [True] * epochs)
    model.save_pretrained(str(out))
    return out


def _section(pair: Pair) -> str:
    """Return the chapter of GB/T 15657 that a disease is of; of any other concept its class.

    >>> _section(Pair("胃痛", "stomach pain", "disease-gbt-a04-03-01", "TCMDisease"))
    'a04'
    """
    code = pair.concept.partition("disease-gbt-")[2]
    return code.partition("-")[0] or pair.kind


def _tables() -> Path:
    return artefact("ontology/concepts")


def _import_trainer() -> tuple[Any, Any, Any]:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # sums in one order
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    except ImportError as fault:
        raise MissingExtraError("training", "neural") from fault
    return torch, SentenceTransformer, MultipleNegativesRankingLoss


def _descend(
    loss: Any,
    tokenize: Callable[[list[str]], Any],
    optimizer: Any,
    pairs: Sequence[Pair],
    chance: random.Random,
    hard: Sequence[bool],
) -> None:
    """Minimize the loss, an epoch for each of ``hard``: whether its negatives are of one class."""
    rate = optimizer.param_groups[0]["lr"]
    for epoch, of_one_class in enumerate(hard):
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - epoch / len(hard))
        for batch in batches(pairs, BATCH, of_one_class, chance):
            sides = [pair.one for pair in batch], [pair.other for pair in batch]
            if chance.random() < 0.5:
                sides = sides[1], sides[0]
            optimizer.zero_grad()
            loss([tokenize(side) for side in sides], None).backward()
            optimizer.step()
