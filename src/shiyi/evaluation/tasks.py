"""The tasks that choose or rank: what is read, which methods there are, what is measured."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from shiyi.answering import METHODS as RETRIEVERS
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import METHODS, OF_PASSAGES, WITHOUT_DIRECT, Bench, Request
from shiyi.evaluation.cases import load_cases
from shiyi.evaluation.choices import load_choices, load_statements
from shiyi.evaluation.claim_questions import surest_questions
from shiyi.evaluation.composed import ComposedNames
from shiyi.evaluation.generated import generated
from shiyi.evaluation.held_warnings import FROM_CLAIMS
from shiyi.evaluation.items import Choice, Prediction, QuestionSet, Skips
from shiyi.evaluation.learnt import CaseScorer
from shiyi.evaluation.metrics import hits_at, recall_at, set_scores
from shiyi.evaluation.readers import (
    NEAR,
    OpenReader,
    StatementByChance,
    StatementByText,
    StatementReader,
    read_choice,
)
from shiyi.evaluation.results import Report, Run
from shiyi.evaluation.retrieving import READERS, StatementByRetrieval
from shiyi.evaluation.scorers import RelationScorer, Scorer
from shiyi.evaluation.stacked import Stacked
from shiyi.evaluation.switches import of_method
from shiyi.evaluation.with_model import ModelReader

GENERATED = "source:"
ENOUGH = (
    50  # ours: training cases from which parts of names can be learnt, else the nearest case speaks
)
Progress = Callable[[str, int, int], None]
T = TypeVar("T")


def silent(_: str, __: int, ___: int) -> None:
    """Report nothing."""


def run_method(
    method: str,
    items: Sequence[T],
    measure: Callable[[T], dict[str, float]],
    progress: Progress,
    always: Iterable[str] = (),
) -> Run:
    """Measure every item; ``always`` names metrics that stand at 0 where an item has none."""
    started = time.perf_counter()
    rows = []
    for place, item in enumerate(items, 1):
        rows.append(measure(item))
        progress(method, place, len(items))
    names = list(dict.fromkeys([*always, *(name for row in rows for name in row)]))
    values = {name: [row[name] for row in rows if name in row] for name in names}
    return Run(method, values, time.perf_counter() - started)


def check_methods(request: Request, known: Sequence[str]) -> None:
    """Raise ``FormatError`` for a method that the task does not have."""
    for method in request.methods:
        if method not in known:
            raise FormatError(f"method of {request.task}", method, known)


def run_mcq(bench: Bench, request: Request, progress: Progress) -> Report:
    """Multiple choice from the evidence that joins options to the stem, or by a model that reads it."""
    check_methods(request, RETRIEVERS if request.with_model else (*METHODS, *OF_PASSAGES))
    asked = questions(bench, request, load_choices)
    runs = []
    for method in request.methods:
        if bench.model is not None:
            reader = ModelReader(bench.retrieving(method), bench.model)
            runs.append(run_method(method, asked.items, _read_by(reader), progress))
            continue
        read = _choosing(_choice_scorer(bench, request, method))
        runs.append(run_method(method, asked.items, read, progress))
    return report(bench, request, asked, runs)


def _read_by(reader: ModelReader) -> Callable[[Choice], dict[str, float]]:
    return lambda item: choice_figures(item, reader.read(item))


def _choice_scorer(bench: Bench, request: Request, method: str) -> Scorer:
    """Give the method's scorer; questions made from one relation are read by that relation."""
    by_text = WITHOUT_DIRECT & set(request.ablate)
    made = request.file.startswith(GENERATED) or request.file == FROM_CLAIMS
    if made and method == "fused" and not by_text:
        return RelationScorer(bench.view, bench.linking)
    return bench.scorer(method)


def _choosing(scorer: Scorer) -> Callable[[Choice], dict[str, float]]:
    def measure(item: Choice) -> dict[str, float]:
        return choice_figures(item, read_choice(item, scorer))

    return measure


def choice_figures(item: Choice, said: Prediction) -> dict[str, float]:
    """Give accuracy, and what it would be if abstentions were guessed; by stratum where there are."""
    right = float(said.chosen == item.gold)
    found = {
        "accuracy": right,
        "accuracy_if_guessed": 1 / len(item.options) if said.abstained else right,
        "abstained": float(said.abstained),
    }
    if item.stratum:
        found |= {f"{name}:{item.stratum}": value for name, value in list(found.items())}
    return found


def run_truefalse(bench: Bench, request: Request, progress: Progress) -> Report:
    """Say true or false from the claims on record, or by a model that reads them."""
    check_methods(request, RETRIEVERS if request.with_model else METHODS)
    asked = questions(bench, request, load_statements)
    runs = []
    for method in request.methods:
        reader = _statement_reader(bench, method)

        def measure(
            item: Choice, read: Callable[[Choice], Prediction] = reader
        ) -> dict[str, float]:
            said = read(item)
            found = {
                "accuracy": float(said.chosen == item.gold),
                "abstained": float(said.abstained),
                "base_rate_true": float("true" in item.gold),
            }
            if item.stratum:
                names = ("accuracy", "abstained")
                found |= {f"{name}:{item.stratum}": found[name] for name in names}
            return found

        runs.append(run_method(method, asked.items, measure, progress))
    return report(bench, request, asked, runs)


def _statement_reader(bench: Bench, method: str) -> Callable[[Choice], Prediction]:
    if bench.model is not None:
        return ModelReader(bench.retrieving(method), bench.model).read
    off = of_method(bench.request.ablate, method)
    if method == "bm25" or ("keyword-only" in off and method == "fused"):
        return StatementByText(bench.bm25).read
    if "vector-only" in off and method == "fused":
        return StatementByText(bench.meaning, NEAR).read
    if method in {"fused", "paths", "random-paths"}:
        chance = method == "random-paths" or "random-paths" in off
        view = bench.joins_by_chance.thinned() if chance else bench.view
        return StatementReader(view, bench.linking).read
    if method == "neighbourhood":
        return StatementReader(bench.view, bench.linking, inherit=False).read
    if method == "tfidf":
        return StatementByText(bench.tfidf).read
    if method in READERS:
        return StatementByRetrieval(bench.retrieving(method)).read
    if method == "none":
        return StatementByChance(bench.scorer("none")).read
    raise FormatError("method of truefalse", method, METHODS)


def run_syndrome(bench: Bench, request: Request, progress: Progress) -> Report:
    """Patterns of cases: options where the file gives them, else all patterns of the base."""
    check_methods(request, (*METHODS, *OF_PASSAGES))
    asked = load_cases(_path(request), request.limit)
    training = [each for path in request.train for each in load_cases(path).items]
    training = _unseen(training, asked)
    if "general-kg-only" in request.ablate:
        training = []
    runs = []
    for method in request.methods:
        scorer = _case_scorer(bench, method, training)
        measure = _differing(bench, scorer, _usual_answers(training))
        runs.append(run_method(method, asked.items, measure, progress))
    return report(bench, request, asked, runs)


def _unseen(training: list[Choice], asked: QuestionSet) -> list[Choice]:
    """Leave out of the training cases what is asked; say how many those were."""
    known = {each.stem for each in asked.items}
    kept = [each for each in training if each.stem not in known]
    for each in training:
        if each.stem in known:
            asked.skips.note("training case that is also asked (left out of training)", each.id)
    return kept


def _case_scorer(bench: Bench, method: str, training: Sequence[Choice]) -> Scorer:
    if training and method == "tfidf":
        return CaseScorer.of(training, nearest=1)
    if not training or method != "fused":
        return bench.scorer(method)
    if len(training) < ENOUGH:
        return bench.scorer(method, [CaseScorer.of(training)])
    return Stacked.of(training, bench.recalls(), ComposedNames.of)


def _usual_answers(training: Sequence[Choice]) -> int:
    """Give how many answers a case usually has: from training, else a chief one and a second."""
    return round(fmean(len(each.gold) for each in training)) if training else 2


def _differing(bench: Bench, scorer: Scorer, answers: int) -> Callable[[Choice], dict[str, float]]:
    names = {
        iri: each.zh
        for iri, each in sorted(bench.view.concepts.items())
        if each.kind == "Syndrome" and each.zh
    }
    reader = OpenReader(scorer, names)

    def measure(item: Choice) -> dict[str, float]:
        if item.options:
            return _case_figures(read_choice(item, scorer, answers), item.gold, item.stratum)
        gold = {
            iri for senses in bench.linking.concepts(item.wanted) for iri in senses if iri in names
        } | {iri for iri, name in names.items() if _bare(name) == _bare(item.wanted)}
        said = reader.read(item)
        return _case_figures(said, frozenset(gold), "") | {"gold_linkable": float(bool(gold))}

    return measure


def _bare(name: str) -> str:
    return name.strip().removesuffix("证").removesuffix("型")


def _case_figures(said: Prediction, gold: frozenset[str], stratum: str) -> dict[str, float]:
    found = {
        "top1": hits_at(said.ranking, gold, 1), "top5": hits_at(said.ranking, gold, 5),
        "recall@5": recall_at(said.ranking, gold, 5), **set_scores(said.chosen, gold),
        "abstained": float(said.abstained),
    }  # fmt: skip
    if stratum:
        found |= {f"{name}:{stratum}": found[name] for name in ("top1", "f1")}
    return found


def questions(
    bench: Bench, request: Request, load: Callable[[Path, int | None], QuestionSet]
) -> QuestionSet:
    """Read the file, or make the set that ``source:NAME`` or ``claims`` asks for."""
    if request.file.startswith(GENERATED):
        name = request.file.removeprefix(GENERATED)
        return generated(bench, name, request.task, request.seed, request.limit)
    if request.file == FROM_CLAIMS and request.task == "mcq":
        return surest_questions(bench.base.store, bench.linker.index, request.seed, request.limit)
    return load(_path(request), request.limit)


def _path(request: Request) -> Path:
    return Path(request.file)


def report(bench: Bench, request: Request, asked: QuestionSet, runs: Sequence[Run]) -> Report:
    """Put a report together; raise ``UsageError`` where nothing could be asked."""
    return made(bench, request, len(asked.items), asked.skips, runs)


def made(bench: Bench, request: Request, n: int, skips: Skips, runs: Sequence[Run]) -> Report:
    """Put a report together from its parts."""
    if not n:
        why = "; ".join(f"{count:,} {reason}" for reason, count in skips.counts.items())
        raise UsageError(f"{request.file} holds nothing that can be asked ({why or 'it is empty'})")
    return Report(
        request.task, request.file, request.ablate, n, skips, tuple(runs), bench.release,
        request.settings() | {"model": bench.model.name if bench.model else None},
    )  # fmt: skip
