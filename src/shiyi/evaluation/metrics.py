"""Accuracy, ranking, BLEU; bootstrap and McNemar."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


def precision_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of the first ``k`` that is right; a shorter list is not filled up.

    >>> precision_at(["a", "x", "b"], {"a", "b", "c"}, 2)
    0.5
    """
    return sum(each in gold for each in ranking[:k]) / k


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of what is right that stands among the first ``k``.

    >>> recall_at(["a", "x", "b"], {"a", "b", "c", "d"}, 3)
    0.5
    """
    return sum(each in gold for each in ranking[:k]) / len(gold) if gold else 0.0


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the discounted gain of the first ``k`` over that of an ideal list.

    >>> round(ndcg_at(["x", "a"], {"a"}, 5), 4)  # 1 / log2(3)
    0.6309
    """
    gain = sum(1 / math.log2(i + 2) for i, each in enumerate(ranking[:k]) if each in gold)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(gold))))
    return gain / ideal if ideal else 0.0


def ndcg_of_found(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the discounted gain of the first ``k`` over that of the same list, best order first.

    NDCG as SMGCN publishes it: missed items cost nothing, so it exceeds :func:`ndcg_at`.

    >>> round(ndcg_of_found(["x", "a", "x"], {"a", "b"}, 3), 4)
    0.6309
    """
    hits = [each in gold for each in ranking]
    gain = sum(1 / math.log2(i + 2) for i, hit in enumerate(hits[:k]) if hit)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, sum(hits))))
    return gain / ideal if ideal else 0.0


def hits_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 where anything right stands among the first ``k``, else 0."""
    return float(any(each in gold for each in ranking[:k]))


def set_scores(chosen: Collection[str], gold: Collection[str]) -> dict[str, float]:
    """Return precision, recall and F1 of a set; nothing chosen has precision 0.

    >>> set_scores({"a", "x"}, {"a", "b", "c"})["f1"]  # P 1/2, R 1/3
    0.4
    """
    right = len(set(chosen) & set(gold))
    precision = right / len(chosen) if chosen else 0.0
    recall = right / len(gold) if gold else 0.0
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }


def context_precision(retrieved: Sequence[str], names: Collection[str]) -> float:
    """Return the mean of precision@k over the ranks k that hold something wanted (RAGAS, by id).

    >>> round(context_precision(["a", "x", "b"], {"a", "b"}), 4)  # (1/1 + 2/3) / 2
    0.8333
    """
    right, total = 0, 0.0
    for place, each in enumerate(retrieved, 1):
        if each in names:
            right += 1
            total += right / place
    return total / right if right else 0.0


def context_recall(retrieved: Collection[str], names: Collection[str]) -> float:
    """Return the share of the wanted ids that were retrieved.

    >>> context_recall(["a", "x"], {"a", "b"})
    0.5
    """
    return len(set(retrieved) & set(names)) / len(names) if names else 0.0


_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\s\w]")


def tokens(text: str) -> list[str]:
    """Part a text into Chinese characters, words and marks.

    >>> tokens("枸杞 goji, 1")
    ['枸', '杞', 'goji', ',', '1']
    """
    return _TOKEN.findall(text.lower())


def bleu4(hypothesis: str, reference: str) -> float:
    """Return sentence BLEU-4 in [0, 100], add-one smoothed above unigrams (Lin and Och 2004).

    >>> bleu4("a b c d e", "a b c d e")
    100.0
    >>> round(bleu4("a b c x", "a b c d"), 2)  # (3/4 * 3/4 * 2/3 * 1/2) ** (1/4)
    65.8
    """
    own, expected = tokens(hypothesis), tokens(reference)
    if not own or not expected:
        return 0.0
    logs = 0.0
    for size in (1, 2, 3, 4):
        shared, total, _ = _shared_ngrams(own, expected, size)
        plus = 0 if size == 1 else 1
        if shared + plus == 0:
            return 0.0
        logs += math.log((shared + plus) / (total + plus)) / 4
    brevity = min(0.0, 1 - len(expected) / len(own))
    return 100 * math.exp(brevity + logs)


def gleu(hypothesis: str, reference: str) -> float:
    """Return Google's GLEU in [0, 100]: the lesser of precision and recall over 1- to 4-grams.

    >>> gleu("a b", "a b c d")  # 3 shared; 3 in the hypothesis, 10 in the reference
    30.0
    """
    own, expected = tokens(hypothesis), tokens(reference)
    counts = [_shared_ngrams(own, expected, size) for size in (1, 2, 3, 4)]
    shared, grams, other = (sum(column) for column in zip(*counts, strict=True))
    return 100 * shared / max(grams, other) if max(grams, other) else 0.0


def _shared_ngrams(own: Sequence[str], expected: Sequence[str], size: int) -> tuple[int, int, int]:
    grams, other = _grams(own, size), _grams(expected, size)
    return sum((grams & other).values()), sum(grams.values()), sum(other.values())


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


RESAMPLES = 1000
DRAWS, DRAW_SIZE = 10, 100  # iDISK2.0-RAG


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A mean with its 95 % interval, and mean and spread over ten draws of a hundred items."""

    value: float
    low: float
    high: float
    draws_mean: float
    draws_sd: float

    def to_json(self) -> dict[str, float]:
        """Return the object that a result holds for one metric."""
        return {
            "value": round(self.value, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
            "draws_mean": round(self.draws_mean, 4),
            "draws_sd": round(self.draws_sd, 4),
        }


def estimate_mean(values: Sequence[float], seed: int) -> MetricEstimate:
    """Return mean and percentile bootstrap interval (1,000 resamples of all items).

    >>> m = estimate_mean([1.0] * 5, seed=1)
    >>> m.value, m.low, m.high, m.draws_sd
    (1.0, 1.0, 1.0, 0.0)
    """
    if not len(values):
        return MetricEstimate(*[math.nan] * 5)
    data = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.array([data[rng.integers(0, len(data), len(data))].mean() for _ in range(RESAMPLES)])
    low, high = np.percentile(means, [2.5, 97.5])
    size = min(DRAW_SIZE, len(data))
    draws = np.array([rng.choice(data, size, replace=False).mean() for _ in range(DRAWS)])
    return MetricEstimate(
        float(data.mean()), float(low), float(high), float(draws.mean()), float(draws.std(ddof=1))
    )


def mcnemar(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the exact two-sided p of McNemar's test on right (1) and wrong (0).

    >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1])  # 5 against 1: 2 * (1 + 6) / 64
    0.21875
    """
    first = sum(a > b for a, b in zip(one, other, strict=True))
    second = sum(b > a for a, b in zip(one, other, strict=True))
    n, fewer = first + second, min(first, second)
    tail = sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n
    return min(1.0, 2 * float(tail))


def compare_paired(one: Sequence[float], other: Sequence[float], seed: int) -> dict[str, Any]:
    """Compare two methods on the same items: difference, 95 % interval, and p.

    McNemar where every figure is 0 or 1, else the paired bootstrap.
    """
    gap = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.array([gap[rng.integers(0, len(gap), len(gap))].mean() for _ in range(RESAMPLES)])
    low, high = np.percentile(means, [2.5, 97.5])
    binary = all(v in (0.0, 1.0) for v in (*one, *other))
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    p = mcnemar(one, other) if binary else min(1.0, 2 * max(tail, 1 / RESAMPLES))
    return {
        "difference": round(float(gap.mean()), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "p": round(p, 6),
        "test": "McNemar, exact" if binary else "paired bootstrap",
    }
