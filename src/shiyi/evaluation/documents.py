"""Questions that bring their own documents, as RGB does (arXiv:2309.01431): which ones are found."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shiyi.answering.baselines import TextIndex
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.files import json_lines
from shiyi.evaluation.items import Skips
from shiyi.evaluation.metrics import context_precision, context_recall
from shiyi.evaluation.results import Report
from shiyi.evaluation.scorers import MeaningIndex
from shiyi.evaluation.tasks import Progress, check_methods, made, run_method

METHODS: Final = ("fused", "bm25", "tfidf", "vector", "none")
KEPT: Final = 5  # documents that a reader is given; RGB
_RRF: Final = 60  # Cormack, Clarke and Büttcher 2009


@dataclass(frozen=True, slots=True)
class Documented:
    """A question, its answers (each a choice of wordings), and documents that hold them or not."""

    id: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]


def is_documented(path: Path) -> bool:
    """Tell whether the first object of a file is in RGB's form."""
    first = next(json_lines(path, Skips()), None)
    return first is not None and "query" in first[1] and "positive" in first[1]


def load_documented(path: Path, limit: int | None = None) -> tuple[tuple[Documented, ...], Skips]:
    """Read JSON Lines ``{"id", "query", "answer", "positive", "negative"}``.

    An answer is a string, a list of strings, or a list of lists of wordings; documents may stand in lists.
    """
    skips, kept = Skips(), dict[str, Documented]()
    for place, row in json_lines(path, skips):
        question, name = str(row.get("query") or "").strip(), str(row.get("id", place))
        answers = _answers(row.get("answer"))
        positive, negative = (tuple(_flat(row.get(key))) for key in ("positive", "negative"))
        if not question:
            skips.note("no question", place)
        elif not answers:
            skips.note("no answer given", place)
        elif not positive:
            skips.note("no document that holds the answer", place)
        elif set(positive) & set(negative):
            skips.note("a document that is called both right and wrong", place)
        elif name in kept or any(question == each.question for each in kept.values()):
            skips.note("the same question again", place)
        else:
            kept[name] = Documented(name, question, answers, positive, negative)
    return tuple(kept.values())[:limit], skips


def _answers(said: Any) -> tuple[tuple[str, ...], ...]:
    rows = said if isinstance(said, list) else [said]
    found = [tuple(w for w in _flat(row) if w) for row in rows if row is not None]
    return tuple(each for each in found if each)


def _flat(said: Any) -> list[str]:
    if isinstance(said, list):
        return [text for each in said for text in _flat(each)]
    return [str(said).strip()] if said not in (None, "") else []


def run_documents(bench: Bench, request: Request, progress: Progress) -> Report:
    """Rank each question's documents: what is right among the first five, and what is noise.

    ``vector`` is the cosine of the shipped model, ``fused`` both by reciprocal rank, ``none`` chance.
    """
    check_methods(request, METHODS)
    asked, skips = load_documented(Path(request.file), request.limit)
    runs = []
    for method in request.methods:

        def measure(item: Documented, method: str = method) -> dict[str, float]:
            documents = list(dict.fromkeys([*item.positive, *item.negative]))
            mixed = random.Random(f"{request.seed} {item.id}")  # noqa: S311 - an order, no secret
            mixed.shuffle(documents)
            return _figures(item, _ranked(bench, method, item.question, documents))

        runs.append(run_method(method, asked, measure, progress))
    return made(bench, request, len(asked), skips, runs)


def _figures(item: Documented, ranked: Sequence[str]) -> dict[str, float]:
    first, right = list(ranked[:KEPT]), set(item.positive)
    words = " ".join(first)
    held = [any(each in words for each in wordings) for wordings in item.answers]
    reach = min(KEPT, len(right))
    return {
        "context_precision": context_precision(first, right),
        "context_recall": context_recall(first, right) * len(right) / reach,
        f"noise@{KEPT}": sum(each not in right for each in first) / len(first),
        f"answer@{KEPT}": sum(held) / len(held),
    }


def _ranked(bench: Bench, method: str, question: str, documents: Sequence[str]) -> list[str]:
    kinds: dict[str, Callable[[], Any]] = {
        "bm25": lambda: TextIndex.bm25(documents),
        "tfidf": lambda: TextIndex.tfidf(documents),
        "vector": lambda: MeaningIndex.of(bench.linker, documents),
    }
    if method == "none":
        return list(documents)
    total = np.zeros(len(documents))
    for name in ("bm25", "vector") if method == "fused" else (method,):
        order = np.argsort(-np.asarray(kinds[name]().scores(question)), kind="stable")
        total[order] += 1 / (_RRF + np.arange(1, len(order) + 1))
    return [documents[i] for i in np.argsort(-total, kind="stable").tolist()]
