"""A Unigram tokenizer made from our own labels, the same on every run."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
        tokenizer = _tokenizer(_kept(counts, int(size * factor)))
        counts = _used(tokenizer, words)
    return _tokenizer(_kept(counts, size))


def _substrings(words: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, often in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(start + LONGEST, len(word)) + 1):
                found[word[start:end]] += often * (end - start)
    return Counter(
        {piece: n for piece, n in found.items() if len(piece) == 1 or n > 2 * len(piece)}
    )


def _used(tokenizer: "Tokenizer", words: Counter[str]) -> Counter[str]:
    counts = Counter({character: 1 for word in words for character in word})
    listed = sorted(words)
    for word, encoded in zip(listed, tokenizer.encode_batch([w[1:] for w in listed]), strict=True):
        for piece in encoded.tokens:
            counts[piece] += words[word]
    del counts[_UNKNOWN[0]]
    return counts


def _kept(counts: Counter[str], size: int) -> Sequence[tuple[str, float]]:
    characters = sum(len(piece) == 1 for piece in counts)
    ranked = sorted(counts.items(), key=lambda item: (len(item[0]) > 1, -item[1], item[0]))
    kept = ranked[: max(size - 1, characters)]
    total = sum(count for _, count in kept)
    return [_UNKNOWN, *((piece, round(math.log(count / total), 6)) for piece, count in kept)]


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
