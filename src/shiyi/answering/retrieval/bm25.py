"""BM25 and TF-IDF baselines."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
K1: Final = 1.2  # Robertson and Zaragoza 2009
B: Final = 0.75
_RUN = re.compile(r"[\u3400-\u9fff]+|[a-z0-9][a-z0-9'+.-]*")


def terms(text: str) -> list[str]:
    """Part a text into words, and Chinese runs into single characters and pairs.

    >>> terms("枸杞子 Goji")
    ['枸', '杞', '子', '枸杞', '杞子', 'goji']
    """
    results: list[str] = []
    for run in _RUN.findall(text.lower()):
        if run[0] >= "\u3400":
            results += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
        else:
            results.append(run.strip("'.-"))
    return results


@dataclass(frozen=True, slots=True, eq=False)
class TextIndex:
    """Documents as weighted terms; a query's score is the sum of the weights of its terms."""

    documents: tuple[str, ...]
    _terms: dict[str, int]
    _starts: NDArray[np.int64]  # where each term's postings begin, one more than there are terms
    _places: NDArray[np.int64]  # documents of the postings
    _weights: Scores

    @classmethod
    def bm25(cls, documents: Sequence[str]) -> Self:
        """Weigh terms as Okapi BM25 does, k1 1.2 and b 0.75."""
        counts = [Counter(terms(text)) for text in documents]
        length = np.array([max(1, count.total()) for count in counts], dtype=np.float64)
        mean = float(length.mean()) if len(length) else 1.0
        n = len(counts)

        def weigh(tf: float, df: int, place: int) -> float:
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            return idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * float(length[place]) / mean))

        return cls._build(documents, counts, weigh)

    @classmethod
    def tfidf(cls, documents: Sequence[str]) -> Self:
        """Weigh terms by frequency and rarity, each document of length 1."""
        counts = [Counter(terms(text)) for text in documents]
        n = len(counts)
        seen = Counter(term for count in counts for term in count)
        norms = [
            math.sqrt(sum((tf * math.log(1 + n / seen[term])) ** 2 for term, tf in count.items()))
            or 1.0
            for count in counts
        ]

        def weigh(tf: float, df: int, place: int) -> float:
            return tf * math.log(1 + n / df) / norms[place]

        return cls._build(documents, counts, weigh)

    @classmethod
    def _build(
        cls,
        documents: Sequence[str],
        counts: Sequence[Counter[str]],
        weigh: Callable[[float, int, int], float],
    ) -> Self:
        seen = Counter(term for count in counts for term in count)
        place = {term: i for i, term in enumerate(sorted(seen))}
        postings = sorted(
            (place[term], row, weigh(tf, seen[term], row))
            for row, each in enumerate(counts)
            for term, tf in each.items()
        )
        columns = np.array([column for column, _, _ in postings], dtype=np.int64)
        return cls(
            tuple(documents),
            place,
            np.searchsorted(columns, np.arange(len(place) + 1)).astype(np.int64),
            np.array([row for _, row, _ in postings], dtype=np.int64),
            np.array([weight for _, _, weight in postings], dtype=np.float64),
        )

    def scores(self, query: str) -> Scores:
        """Return the score of every document for a query, 0 where no term is shared."""
        total = np.zeros(len(self.documents))
        for term, times in Counter(terms(query)).items():
            column = self._terms.get(term)
            if column is not None:
                postings = slice(self._starts[column], self._starts[column + 1])
                total[self._places[postings]] += min(times, 2) * self._weights[postings]
        return total

    def count_known_terms(self, query: str) -> int:
        """Count the terms of a query that any document holds."""
        return sum(term in self._terms for term in set(terms(query)))

    def ceiling(self, query: str) -> float:
        """Return what a document of usual length scores that holds every known term of a query."""
        best = 0.0
        for term, times in Counter(terms(query)).items():
            column = self._terms.get(term)
            if column is not None:
                weights = self._weights[self._starts[column] : self._starts[column + 1]]
                best += min(times, 2) * float(np.median(weights))
        return best

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the ``k`` best documents with any shared term, best first."""
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(int(i), float(scores[i])) for i in order if scores[i] > 0]


def neighbourhoods(sentences: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Write the 1-hop subgraph of each end as one text (the baseline of Yaoshi-RAG).

    ``sentences`` holds both ends of each claim and the claim written as a sentence.
    """
    results: dict[str, list[str]] = defaultdict(list)
    for one, other, sentence in sentences:
        results[one].append(sentence)
        if other:
            results[other].append(sentence)
    return {node: " ".join(texts) for node, texts in results.items()}
