"""Multiple choice."""

import html
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from shiyi.answering.pipeline import METHODS as RETRIEVERS
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.ablations import switches_of_method
from shiyi.evaluation.bench import METHODS, WITHOUT_DIRECT, EvaluationContext, Request
from shiyi.evaluation.items import (
    Choice,
    Prediction,
    QuestionSet,
    Skips,
    json_array,
    json_lines,
    lines,
    table,
)
from shiyi.evaluation.metrics import hits_at, recall_at, set_scores
from shiyi.evaluation.questions.generation import generate_questions, surest_questions
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.scorers import retrieval
from shiyi.evaluation.scorers.model import ModelReader
from shiyi.evaluation.scorers.scorer import RelationScorer, Scorer

NO_STEM, NO_OPTIONS, NO_GOLD, UNKNOWN_GOLD, DUPLICATE = (
    "no question", "options cannot be read", "no answer given",
    "the answer names no option", "the same question again",
)  # fmt: skip
_LETTERED = re.compile(r"^\s*([A-J])\s*[.．、:：)）]\s*(.*)$", re.DOTALL)
_INLINE = re.compile(r"(?:^|(?<=\s))([A-J])\s*[.．、:：)）]\s*")
_NUMBER = re.compile(r"^\s*\d+\s*[.．、]\s*")
_LETTERS = "ABCDEFGHIJ"
_TRUE, _FALSE = (
    {"true", "t", "yes", "对", "正确", "是", "1"},
    {"false", "f", "no", "错", "错误", "否", "0"},
)


def load_choices(path: Path, limit: int | None = None) -> QuestionSet:
    """Read a multiple-choice file; JSON Lines or, where its name says so, CSV."""
    skips = Skips()
    rows: Iterable[tuple[str, dict[str, Any]]]
    if path.suffix.lower() == ".csv":
        rows = ((place, _from_csv(row)) for place, row in table(path, skips))
    else:
        rows = json_lines(path, skips)
    return _question_set(rows, skips, limit, true_false=False)


def load_statements(path: Path, limit: int | None = None) -> QuestionSet:
    """Read true-or-false statements; JSON Lines or a tab-separated table."""
    skips = Skips()
    rows: Iterable[tuple[str, dict[str, Any]]]
    rows = table(path, skips, "\t") if path.suffix.lower() == ".tsv" else json_lines(path, skips)
    return _question_set(rows, skips, limit, true_false=True)


def parse_options(value: object) -> tuple[tuple[str, str], ...]:
    """Read options written as an object, as a list "A.…" or as one string; none where unreadable.

    >>> parse_options("A. goji B. maté")
    (('A', 'goji'), ('B', 'maté'))
    >>> parse_options(["A.goji", "B、maté"]) == parse_options({"A": "goji", "B": "maté"})
    True
    """
    if isinstance(value, dict):
        pairs = [(str(k).strip().upper(), str(v)) for k, v in value.items() if v is not None]
    elif isinstance(value, list):
        pairs = [_letter_option(str(item), place) for place, item in enumerate(value)]
    elif isinstance(value, str):
        pairs = list(_inline(value))
    else:
        return ()
    cleaned = tuple((letter, _plain(text)) for letter, text in pairs if _plain(text))
    known = {letter for letter, _ in cleaned}
    whole = len(known) == len(cleaned) and known <= set(_LETTERS)
    return cleaned if whole and len(cleaned) > 1 else ()


def _letter_option(text: str, place: int) -> tuple[str, str]:
    match = _LETTERED.match(text)
    return (match[1], match[2]) if match else (_LETTERS[place : place + 1] or "?", text)


def _inline(text: str) -> Iterator[tuple[str, str]]:
    parts = _INLINE.split(text)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def _plain(text: str) -> str:
    return html.unescape(text).strip()


def _from_csv(row: dict[str, str]) -> dict[str, Any]:
    options = {letter: row[letter] for letter in _LETTERS if row.get(letter)}
    return {
        "id": row.get("", "") or row.get("id", ""),
        "question": row.get("Question", "") or row.get("question", ""),
        "options": options,
        "answer": row.get("Answer", "") or row.get("answer", ""),
    }


def _question_set(
    rows: Iterable[tuple[str, dict[str, Any]]], skips: Skips, limit: int | None, true_false: bool
) -> QuestionSet:
    items: list[Choice] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for place, row in rows:
        read = _statement(place, row) if true_false else _choice(place, row)
        if isinstance(read, str):
            skips.note(read, place)
            continue
        key = re.sub(r"\s+", "", read.stem), tuple(sorted(read.texts))
        if key in seen:
            skips.note(DUPLICATE, place)
            continue
        seen.add(key)
        items.append(read)
    return QuestionSet(tuple(items[:limit]), skips)


def _choice(place: str, row: dict[str, Any]) -> Choice | str:
    stem = _NUMBER.sub("", _plain(str(row.get("question") or "")))
    if not stem:
        return NO_STEM
    options = parse_options(row.get("options"))
    if not options:
        return NO_OPTIONS
    value = row.get("answer")
    given = "".join(map(str, value)) if isinstance(value, list) else str(value or "")
    gold = frozenset(re.findall("[A-Z]", given.upper()))
    if not gold:
        return NO_GOLD
    if not gold <= {letter for letter, _ in options}:
        return UNKNOWN_GOLD
    return Choice(str(row.get("id", place)), stem, options, gold, str(row.get("stratum", "")))


def _statement(place: str, row: dict[str, Any]) -> Choice | str:
    text = _plain(str(row.get("statement") or row.get("question") or ""))
    if not text:
        return NO_STEM
    given = str(row.get("answer", "")).strip().lower()
    if not given:
        return NO_GOLD
    if given not in _TRUE | _FALSE:
        return UNKNOWN_GOLD
    gold = frozenset({"true" if given in _TRUE else "false"})
    return Choice(str(row.get("id", place)), text, (), gold, str(row.get("stratum", "")))


PARTS = ("Pathogenesis", "Syndrome")
_SPLIT = re.compile(r"[;；]")


def load_cases(path: Path, limit: int | None = None) -> QuestionSet:
    """Read TCMEval-SDT's JSON array, or MTCMB's diagnosis JSON Lines with open pattern names."""
    skips = Skips()
    if path.suffix.lower() == ".jsonl":
        return _diagnoses(path, skips, limit)
    answers = _answers(path, skips)
    items: list[Choice] = []
    seen: set[str] = set()
    for number, record in enumerate(json_array(path), 1):
        place = f"{path.name}#{number}"
        name = str(record.get("Medical Record ID", "")).strip() or place
        if name in seen:
            skips.note(DUPLICATE, place)
            continue
        seen.add(name)
        for part in PARTS:
            read = _question(name, record, part, answers)
            if isinstance(read, str):
                skips.note(f"{part.lower()}: {read}", place)
            else:
                items.append(read)
    return QuestionSet(tuple(items[: limit and 2 * limit]), skips)


def _question(
    name: str, record: dict[str, Any], part: str, answers: dict[tuple[str, str], str]
) -> Choice | str:
    stem = str(record.get("Clinical Data") or "").strip()
    if not stem:
        return NO_STEM
    options = _options(str(record.get(f"Options of TCM {part}") or ""))
    if not options:
        return NO_OPTIONS
    given = str(record.get(f"Answers of TCM {part}") or "") or answers.get((name, part), "")
    gold = frozenset(re.findall("[A-Z]", given))
    if not gold:
        return NO_GOLD
    if not gold <= {letter for letter, _ in options}:
        return UNKNOWN_GOLD
    return Choice(f"{name} {part}", stem, options, gold, part.lower())


def _options(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.partition(":") for part in _SPLIT.split(text.replace("：", ":")) if part.strip()]
    results = tuple((a.strip(), c.strip()) for a, _, c in pairs if a.strip() and c.strip())
    return results if len({a for a, _ in results}) == len(results) > 1 else ()


def _answers(path: Path, skips: Skips) -> dict[tuple[str, str], str]:
    """Read the answers published beside the validation cases, where the file is there."""
    beside = path.with_name("Validation_data_result.txt")
    if not (path.name.startswith("Validation") and beside.is_file()):
        return {}
    results: dict[tuple[str, str], str] = {}
    for place, text in lines(beside, skips):
        cells = text.split("@")
        if len(cells) < 4:
            skips.note("answer line without four parts", place)
            continue
        results[cells[0].strip(), "Pathogenesis"] = cells[2]
        results[cells[0].strip(), "Syndrome"] = cells[3]
    return results


def _diagnoses(path: Path, skips: Skips, limit: int | None) -> QuestionSet:
    items: list[Choice] = []
    seen: set[str] = set()
    for place, row in json_lines(path, skips):
        stem, answer = str(row.get("question") or "").strip(), row.get("answer")
        wanted = str(answer.get("证名") or "").strip() if isinstance(answer, dict) else ""
        if not stem:
            skips.note(NO_STEM, place)
        elif not wanted:
            skips.note(NO_GOLD, place)
        elif stem in seen:
            skips.note(DUPLICATE, place)
        else:
            seen.add(stem)
            items.append(Choice(str(row.get("id", place)), stem, (), frozenset(), wanted=wanted))
    return QuestionSet(tuple(items[:limit]), skips)


GENERATED = "source:"
Progress = Callable[[str, int, int], None]
T = TypeVar("T")


def ignore_progress(_: str, __: int, ___: int) -> None:
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


def run_mcq(bench: EvaluationContext, request: Request, progress: Progress) -> Report:
    """Measure multiple choice by evidence that joins options to the stem, or by a model."""
    check_methods(request, RETRIEVERS if request.with_model else bench.methods)
    question_set = questions(bench, request, load_choices)
    runs = []
    for method in request.methods:
        if bench.model is not None:
            reader = ModelReader(bench.reader_for(method), bench.model)
            runs.append(run_method(method, question_set.items, _read_by(reader), progress))
            continue
        read = _choice_figures(_choice_scorer(bench, request, method))
        runs.append(run_method(method, question_set.items, read, progress))
    return report(bench, request, question_set, runs)


def _read_by(reader: ModelReader) -> Callable[[Choice], dict[str, float]]:
    return lambda item: choice_figures(item, reader.read(item))


def _choice_scorer(bench: EvaluationContext, request: Request, method: str) -> Scorer:
    """Return the method's scorer; questions made from one relation are read by that relation."""
    by_text = WITHOUT_DIRECT & set(request.ablate)
    is_generated = request.file.startswith(GENERATED) or request.file == FROM_CLAIMS
    if is_generated and method == "fused" and not by_text:
        return RelationScorer(bench.view, bench.linking)
    return bench.scorer(method)


def _choice_figures(scorer: Scorer) -> Callable[[Choice], dict[str, float]]:
    def measure(item: Choice) -> dict[str, float]:
        return choice_figures(item, retrieval.read_choice(item, scorer))

    return measure


def choice_figures(item: Choice, prediction: Prediction) -> dict[str, float]:
    """Return accuracy, also with abstentions guessed, and by stratum where there are."""
    right = float(prediction.chosen == item.gold)
    results = {
        "accuracy": right,
        "accuracy_if_guessed": 1 / len(item.options) if prediction.abstained else right,
        "abstained": float(prediction.abstained),
    }
    if item.stratum:
        results |= {f"{name}:{item.stratum}": value for name, value in list(results.items())}
    return results


def run_truefalse(bench: EvaluationContext, request: Request, progress: Progress) -> Report:
    """State true or false from the claims on record, or by a model that reads them."""
    check_methods(request, RETRIEVERS if request.with_model else METHODS)
    question_set = questions(bench, request, load_statements)
    runs = []
    for method in request.methods:
        reader = _statement_reader(bench, method)

        def measure(
            item: Choice, read: Callable[[Choice], Prediction] = reader
        ) -> dict[str, float]:
            prediction = read(item)
            results = {
                "accuracy": float(prediction.chosen == item.gold),
                "abstained": float(prediction.abstained),
                "base_rate_true": float("true" in item.gold),
            }
            if item.stratum:
                names = ("accuracy", "abstained")
                results |= {f"{name}:{item.stratum}": results[name] for name in names}
            return results

        runs.append(run_method(method, question_set.items, measure, progress))
    return report(bench, request, question_set, runs)


def _statement_reader(bench: EvaluationContext, method: str) -> Callable[[Choice], Prediction]:
    if bench.model is not None:
        return ModelReader(bench.reader_for(method), bench.model).read
    off = switches_of_method(bench.request.ablate, method)
    if method == "bm25" or ("keyword-only" in off and method == "fused"):
        return retrieval.StatementByText(bench.bm25).read
    if "vector-only" in off and method == "fused":
        return retrieval.StatementByText(bench.meaning, retrieval.NEAR).read
    if method in {"fused", "paths", "random-paths"}:
        chance = method == "random-paths" or "random-paths" in off
        view = bench.joins_by_chance.thin() if chance else bench.view
        return retrieval.StatementReader(view, bench.linking).read
    if method == "neighbourhood":
        return retrieval.StatementReader(bench.view, bench.linking, inherit=False).read
    if method == "tfidf":
        return retrieval.StatementByText(bench.tfidf).read
    if method in retrieval.READERS:
        return retrieval.StatementByRetrieval(bench.reader_for(method)).read
    if method == "none":
        return retrieval.StatementByChance(bench.scorer("none")).read
    raise FormatError("method of truefalse", method, METHODS)


def run_syndrome(bench: EvaluationContext, request: Request, progress: Progress) -> Report:
    """Patterns of cases: options where the file gives them, else all patterns of the base."""
    check_methods(request, bench.methods)
    question_set = load_cases(_path(request), request.limit)
    training = [choice for path in request.train for choice in load_cases(path).items]
    training = _remove_seen(training, question_set)
    if "general-kg-only" in request.ablate:
        training = []
    runs = []
    for method in request.methods:
        scorer = bench.case_scorer(method, training)
        measure = _difference_figures(bench, scorer, _usual_answers(training))
        runs.append(run_method(method, question_set.items, measure, progress))
    return report(bench, request, question_set, runs)


def _remove_seen(training: list[Choice], question_set: QuestionSet) -> list[Choice]:
    """Leave out of the training cases what is asked; count those."""
    known = {item.stem for item in question_set.items}
    choices = [each for each in training if each.stem not in known]
    for choice in training:
        if choice.stem in known:
            question_set.skips.note(
                "training case that is also asked (left out of training)", choice.id
            )
    return choices


def _usual_answers(training: Sequence[Choice]) -> int:
    """Return how many answers a case usually has: from training, else a chief one and a second."""
    return round(fmean(len(choice.gold) for choice in training)) if training else 2


def _difference_figures(
    bench: EvaluationContext, scorer: Scorer, answers: int
) -> Callable[[Choice], dict[str, float]]:
    names = {
        iri: concept.zh
        for iri, concept in sorted(bench.view.concepts.items())
        if concept.kind == "Syndrome" and concept.zh
    }
    reader = retrieval.OpenReader(scorer, names)

    def measure(item: Choice) -> dict[str, float]:
        if item.options:
            return _case_figures(
                retrieval.read_choice(item, scorer, answers), item.gold, item.stratum
            )
        gold = {
            iri for senses in bench.linking.concepts(item.wanted) for iri in senses if iri in names
        } | {iri for iri, name in names.items() if _bare(name) == _bare(item.wanted)}
        prediction = reader.read(item)
        return _case_figures(prediction, frozenset(gold), "") | {"gold_linkable": float(bool(gold))}

    return measure


def _bare(name: str) -> str:
    return name.strip().removesuffix("证").removesuffix("型")


def _case_figures(prediction: Prediction, gold: frozenset[str], stratum: str) -> dict[str, float]:
    results = {
        "top1": hits_at(prediction.ranking, gold, 1),
        "top5": hits_at(prediction.ranking, gold, 5),
        "recall@5": recall_at(prediction.ranking, gold, 5),
        **set_scores(prediction.chosen, gold),
        "abstained": float(prediction.abstained),
    }
    if stratum:
        results |= {f"{name}:{stratum}": results[name] for name in ("top1", "f1")}
    return results


def questions(
    bench: EvaluationContext, request: Request, load: Callable[[Path, int | None], QuestionSet]
) -> QuestionSet:
    """Read the file, or make the set that ``source:NAME`` or ``claims`` asks for."""
    if request.file.startswith(GENERATED):
        name = request.file.removeprefix(GENERATED)
        return generate_questions(bench, name, request.task, request.seed, request.limit)
    if request.file == FROM_CLAIMS and request.task == "mcq":
        return surest_questions(bench.base.store, bench.linker.index, request.seed, request.limit)
    return load(_path(request), request.limit)


def _path(request: Request) -> Path:
    return Path(request.file)


def report(
    bench: EvaluationContext, request: Request, question_set: QuestionSet, runs: Sequence[Run]
) -> Report:
    """Assemble a report; raise ``UsageError`` where nothing could be asked."""
    return make_report(bench, request, len(question_set.items), question_set.skips, runs)


def make_report(
    bench: EvaluationContext, request: Request, n: int, skips: Skips, runs: Sequence[Run]
) -> Report:
    """Assemble a report from its parts."""
    if not n:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in skips.counts.items())
        raise UsageError(
            f"{request.file} holds nothing that can be asked ({reasons or 'it is empty'})"
        )
    return Report(
        request.task,
        request.file,
        request.ablate,
        n,
        skips,
        tuple(runs),
        bench.release,
        request.settings() | {"model": bench.model.name if bench.model else None},
    )
