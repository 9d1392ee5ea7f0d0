"""Figures of one prediction; the mean over the items of a set is the figure of the set."""

import math
from collections.abc import Collection, Sequence


def precision_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the share of the first ``k`` that is right; a shorter list is not filled up.

    >>> precision_at(["a", "x", "b"], {"a", "b", "c"}, 2)
    0.5
    """
    return sum(each in gold for each in ranking[:k]) / k


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the share of what is right that stands among the first ``k``.

    >>> recall_at(["a", "x", "b"], {"a", "b", "c", "d"}, 3)
    0.5
    """
    return sum(each in gold for each in ranking[:k]) / len(gold) if gold else 0.0


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the discounted gain of the first ``k`` over that of an ideal list.

    >>> round(ndcg_at(["x", "a"], {"a"}, 5), 4)  # 1 / log2(3)
    0.6309
    """
    gain = sum(1 / math.log2(i + 2) for i, each in enumerate(ranking[:k]) if each in gold)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(gold))))
    return gain / ideal if ideal else 0.0


def ndcg_of_found(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the discounted gain of the first ``k`` over that of the same list, best order first.

    What SMGCN publishes as NDCG: what the list misses costs nothing, so it lies above :func:`ndcg_at`.

    >>> round(ndcg_of_found(["x", "a", "x"], {"a", "b"}, 3), 4)
    0.6309
    """
    hits = [each in gold for each in ranking]
    gain = sum(1 / math.log2(i + 2) for i, hit in enumerate(hits[:k]) if hit)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, sum(hits))))
    return gain / ideal if ideal else 0.0


def hits_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give 1 where anything right stands among the first ``k``, else 0."""
    return float(any(each in gold for each in ranking[:k]))


def set_scores(chosen: Collection[str], gold: Collection[str]) -> dict[str, float]:
    """Give precision, recall and F1 of a set; nothing chosen has precision 0.

    >>> set_scores({"a", "x"}, {"a", "b", "c"})["f1"]  # P 1/2, R 1/3
    0.4
    """
    right = len(set(chosen) & set(gold))
    precision = right / len(chosen) if chosen else 0.0
    recall = right / len(gold) if gold else 0.0
    both = precision + recall
    return {
        "precision": precision, "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }  # fmt: skip


def context_precision(retrieved: Sequence[str], wanted: Collection[str]) -> float:
    """Give the mean of precision@k over the ranks k that hold something wanted (RAGAS, by id).

    >>> round(context_precision(["a", "x", "b"], {"a", "b"}), 4)  # (1/1 + 2/3) / 2
    0.8333
    """
    right, total = 0, 0.0
    for place, each in enumerate(retrieved, 1):
        if each in wanted:
            right += 1
            total += right / place
    return total / right if right else 0.0


def context_recall(retrieved: Collection[str], wanted: Collection[str]) -> float:
    """Give the share of the wanted ids that were retrieved.

    >>> context_recall(["a", "x"], {"a", "b"})
    0.5
    """
    return len(set(retrieved) & set(wanted)) / len(wanted) if wanted else 0.0
