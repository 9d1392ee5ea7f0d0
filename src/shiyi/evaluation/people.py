"""Answers rated by people: blinded, shuffled sheets, and what the filled sheets say."""

import csv
import hashlib
import io
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from shiyi.answering import METHODS, ask
from shiyi.errors import UsageError
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.files import json_lines, lines, table
from shiyi.evaluation.items import Skips
from shiyi.evaluation.people_page import page
from shiyi.evaluation.results import Report, Run
from shiyi.evaluation.tasks import Progress, check_methods
from shiyi.model.profile import Profile
from shiyi.reasoning.agreement import krippendorff_alpha

KEY: Final = "key.json"
Scores = dict[tuple[str, str, str], float]  # dimension, item, rater


@dataclass(frozen=True, slots=True)
class Dimension:
    """What is rated: 1 (lowest) to 5, or yes (5) and no (0)."""

    id: str
    zh: str
    en: str
    about: str
    binary: bool = False

    @property
    def scale(self) -> tuple[int, ...]:
        """List the values that may be given."""
        return (0, 5) if self.binary else (1, 2, 3, 4, 5)


DIMENSIONS: Final = (
    # Yaoshi-RAG, table 3; consistency yes 5, no 0
    Dimension("rationality", "合理性", "rationality", "合乎中医与药食同源之理 / sound by the principles of the field"),
    Dimension("explainability", "可解释性", "explainability", "说明理由与依据 / says why, and on what grounds"),
    Dimension("acceptability", "可接受性", "acceptability", "愿意照做 / one would follow it"),
    Dimension("personalisation", "个性化", "personalisation", "切合提问者 / fits the one who asks"),
    Dimension("consistency", "一致性（是5/否0）", "consistency (yes 5, no 0)", "前后无矛盾 / does not contradict itself", binary=True),
    # TOSRR: safety, consistency, explainability, compliance, coherence; two are rated above
    Dimension("safety", "安全性", "safety", "不致伤害 / does no harm"),
    Dimension("compliance", "合规性", "compliance", "合乎法规与规范 / keeps to rules and standards"),
    Dimension("coherence", "连贯性", "coherence", "条理清楚 / hangs together"),
)  # fmt: skip
SHEET: Final = ("item", "question", "answer", *(each.id for each in DIMENSIONS), "remark", "rater")


@dataclass(frozen=True, slots=True)
class Kit:
    """What was written, and of how many answers."""

    folder: Path
    items: int
    sheets: int
    skips: Skips


def make_kit(bench: Bench, request: Request, folder: Path, raters: int, show: Progress) -> Kit:
    """Ask every question by every method and write sheets (CSV), a page to rate on, and the key.

    Nothing in sheets and page tells the methods apart; the order is another one for each rater, by the
    seed. ``key.json`` says which item is which and stays away from raters.
    Raises ``UsageError`` for a file without questions or a number of raters that is none.
    """
    if not 1 <= raters <= 100:
        raise UsageError(f"--raters is a number from 1 to 100, not {raters}")
    check_methods(request, METHODS)
    skips = Skips()
    asked = _questions(Path(request.file), skips)[: request.limit]
    if not asked:
        raise UsageError(f"{request.file} holds no question to answer")
    shown, key = list[dict[str, str]](), dict[str, dict[str, str]]()
    for method in request.methods:
        under = bench.answering(method)
        for place, (name, question, profile) in enumerate(asked, 1):
            code = hashlib.sha256(f"{request.seed} {name} {method}".encode()).hexdigest()[:10]
            said = ask(
                under, question, method=method, profile=profile, k=request.k, model=bench.model
            ).text
            shown.append({"item": code, "question": question, "answer": said})
            key[code] = {"question": name, "method": method}
            show(method, place, len(asked))
    folder.mkdir(parents=True, exist_ok=True)
    for rater in range(1, raters + 1):
        mixed = shown[:]
        random.Random(f"{request.seed} {rater}").shuffle(mixed)  # noqa: S311 - an order, no secret
        (folder / f"sheet-{rater}.csv").write_text(_sheet(mixed), "utf-8-sig")
        (folder / f"rate-{rater}.html").write_text(page(mixed, DIMENSIONS, rater), "utf-8")
    told = {
        "release": bench.release, "ablate": list(request.ablate), "file": Path(request.file).name,
        "settings": request.settings(), "items": key,
    }  # fmt: skip
    (folder / KEY).write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return Kit(folder, len(shown), raters, skips)


def _questions(path: Path, skips: Skips) -> list[tuple[str, str, Profile]]:
    rows = table(path, skips, "\t") if path.suffix == ".tsv" else json_lines(path, skips)
    kept, seen = list[tuple[str, str, Profile]](), set[str]()
    for place, row in rows:
        question, said = str(row.get("question") or "").strip(), row.get("profile") or {}
        name = str(row.get("id") or place)
        try:
            profile = Profile.from_json(json.loads(said) if isinstance(said, str) else said)
        except (ValueError, RecursionError, UsageError):
            skips.note("a profile that is none", place)
            continue
        if not question or name in seen:
            skips.note("the same id again" if question else "no question", place)
        else:
            seen.add(name)
            kept.append((name, question, profile))
    return kept


def _sheet(rows: Iterable[Mapping[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, SHEET, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _inert(cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


def _inert(cell: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell


def read_kit(folder: Path, sheets: Sequence[Path], seed: int) -> tuple[Report, str]:
    """Read filled sheets: a report by method, and every rating, unblinded, as a CSV table.

    Values off the scale, unknown items and repeated ones are counted and left out. The notes give
    Krippendorff's alpha of each dimension (ordinal; nominal for yes or no) where two people rated.
    """
    try:
        key = json.loads((folder / KEY).read_text("utf-8"))
    except (OSError, ValueError) as fault:
        raise UsageError(f"{folder / KEY} cannot be read ({fault}); it is written by evaluate kit") from fault  # fmt: skip
    skips, scores = Skips(), Scores()
    for path in sheets or sorted(folder.glob("*.csv")):
        _take(path, key["items"], scores, skips)
    if not scores:
        raise UsageError(f"no sheet in {folder} holds a rating yet")
    alphas = {each.id: _alpha(scores, each) for each in DIMENSIONS}
    told = ", ".join(f"{n} {a:.3f}" if a is not None else f"{n} –" for n, a in alphas.items())
    raters = sorted({rater for _, _, rater in scores})
    report = Report(
        "agreement", key["file"], tuple(key["ablate"]), len({item for _, item, _ in scores}), skips,
        _runs(scores, key["items"]), key["release"],
        {**key["settings"], "seed": seed, "raters": len(raters), "alpha": alphas},
        (f"{len(raters)} raters; Krippendorff's alpha: {told}",),
    )  # fmt: skip
    return report, _export(scores, key["items"])


def _take(path: Path, items: Mapping[str, Any], scores: Scores, skips: Skips) -> None:
    text = "\n".join(line for _, line in lines(path, skips))
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
        place, item = f"{path.name}:{number}", (row.get("item") or "").strip()
        rater = (row.get("rater") or "").strip() or path.stem
        for each in DIMENSIONS:
            said = (row.get(each.id) or "").strip()
            if not said:
                continue
            if item not in items:
                skips.note("an item that the key does not know", place)
            elif said not in map(str, each.scale):
                skips.note(f"{each.id} off its scale", place)
            elif (each.id, item, rater) in scores:
                skips.note("an item rated twice by one person", place)
            else:
                scores[each.id, item, rater] = float(said)


def _alpha(scores: Scores, dimension: Dimension) -> float | None:
    own = {(item, rater): v for (name, item, rater), v in scores.items() if name == dimension.id}
    items, raters = (sorted({pair[i] for pair in own}) for i in (0, 1))
    data = np.full((len(raters), len(items)), np.nan)
    for (item, rater), value in own.items():
        data[raters.index(rater), items.index(item)] = value
    alpha = krippendorff_alpha(data, "nominal" if dimension.binary else "ordinal")
    return None if alpha is None else round(alpha, 4)


def _runs(scores: Scores, items: Mapping[str, Mapping[str, str]]) -> tuple[Run, ...]:
    """Give each method its mean over raters of each question that all methods have a rating of."""
    given: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (name, item, _), value in scores.items():
        given[items[item]["method"], name][items[item]["question"]].append(value)
    runs = []
    methods = list(dict.fromkeys(each["method"] for each in items.values()))
    for method in methods:
        values: dict[str, Sequence[float]] = {}
        for each in DIMENSIONS:
            shared = set.intersection(*(set(given[m, each.id]) for m in methods))
            if shared:
                values[each.id] = [fmean(given[method, each.id][q]) for q in sorted(shared)]
        if values:
            runs.append(Run(method, values, 0.0))
    if not runs:
        raise UsageError("no question has a rating of every method yet")
    return tuple(runs)


def _export(scores: Scores, items: Mapping[str, Mapping[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("rater", "question", "method", "dimension", "value"))
    for (name, item, rater), value in sorted(scores.items()):
        known = items[item]
        row = (_inert(rater), _inert(known["question"]), known["method"], name, f"{value:g}")
        writer.writerow(row)
    return out.getvalue()
