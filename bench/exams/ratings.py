"""Rating sheets for people: `python bench/exams/ratings.py kit FILE -o DIR`, then `… agreement DIR`.

`kit` asks every question of FILE by every method and writes one sheet and page a rater, without the
names of the methods; `agreement` reads the filled sheets: means by method, Krippendorff's alpha.
"""

import argparse
import csv
import hashlib
import io
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from shiyi.answering.pipeline import METHODS, AskRequest, ask
from shiyi.cli.terminal import ProgressBar
from shiyi.errors import ShiyiError, UsageError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.items import Skips, json_lines, lines, table
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.tasks.choice import Progress, check_methods
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import rows, sentences
from shiyi.reasoning.confidence.reviews import krippendorff_alpha
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

_PAGE: Final = """<!doctype html>
<html lang="zh"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title><!--title--></title>
<style>
body{font:16px/1.6 sans-serif;max-width:52rem;margin:1rem auto;padding:0 1rem}
body{color:#222;background:#fff}
article{border:1px solid #bbb;border-radius:6px;padding:1rem;margin:1rem 0}
pre{white-space:pre-wrap;font:inherit;background:#f6f6f2;padding:.8rem;border-radius:4px}
fieldset{border:0;margin:.3rem 0;padding:0}legend{float:left;width:20rem;padding:0}
label{margin-right:.8rem}small{color:#555;display:block;clear:both}
button,input{font:inherit;padding:.3rem .6rem}
#bar{position:sticky;top:0;background:#fff;padding:.5rem 0}
</style></head><body>
<h1><!--title--></h1>
<p><!--how--></p>
<div id="bar"><label><!--rater--> <input id="rater" maxlength="60"></label>
<button id="save"><!--download--></button> <span id="done" role="status"></span></div>
<main id="items"></main>
<script>
const DATA = /*data*/;
const store = "shiyi-rating-" + DATA.key;
let given = {};
try { given = JSON.parse(localStorage.getItem(store)) || {}; } catch (fault) { given = {}; }
const rater = document.getElementById("rater");
rater.value = given.rater || DATA.rater;
function keep() {
  given.rater = rater.value;
  try { localStorage.setItem(store, JSON.stringify(given)); } catch (fault) { /* private window */ }
  const all = DATA.items.length * DATA.dimensions.length;
  const rated = i => DATA.dimensions.filter(d => (given[i.item] || {})[d.id]).length;
  const n = DATA.items.reduce((sum, i) => sum + rated(i), 0);
  document.getElementById("done").textContent = n + " / " + all;
}
function add(parent, tag, text) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}
DATA.items.forEach((each, place) => {
  const box = add(document.getElementById("items"), "article");
  add(box, "h2", (place + 1) + ". " + each.question);
  add(box, "pre", each.answer);
  DATA.dimensions.forEach(d => {
    const set = add(box, "fieldset");
    add(set, "legend", d.zh + " / " + d.en);
    d.scale.forEach(value => {
      const label = add(set, "label"), radio = add(label, "input");
      radio.type = "radio"; radio.name = each.item + " " + d.id; radio.value = value;
      radio.checked = (given[each.item] || {})[d.id] === String(value);
      radio.addEventListener("change", () => {
        (given[each.item] = given[each.item] || {})[d.id] = radio.value; keep();
      });
      label.append(" " + value);
    });
    add(set, "small", d.about);
  });
  const label = add(box, "label", DATA.remark), note = add(label, "input");
  note.maxLength = 500; note.value = (given[each.item] || {}).remark || "";
  note.addEventListener("input", () => {
    (given[each.item] = given[each.item] || {}).remark = note.value; keep();
  });
});
rater.addEventListener("input", keep);
keep();
function cell(text) {
  let value = String(text === undefined ? "" : text).replace(/[\\r\\n]+/g, " ");
  if (/^[=+\\-@\\t]/.test(value)) value = "'" + value;
  return '"' + value.replaceAll('"', '""') + '"';
}
document.getElementById("save").addEventListener("click", () => {
  const names = DATA.dimensions.map(d => d.id);
  const rows = [["item", ...names, "remark", "rater"]];
  DATA.items.forEach(i => {
    const own = given[i.item] || {};
    rows.push([i.item, ...names.map(n => own[n]), own.remark, rater.value]);
  });
  const text = "\\ufeff" + rows.map(row => row.map(cell).join(",")).join("\\r\\n") + "\\r\\n";
  const link = document.createElement("a");
  link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(text);
  const who = (rater.value || DATA.rater).replace(/[^\\w\\u4e00-\\u9fff-]/g, "_");
  link.download = "rated-" + who + ".csv";
  link.click();
});
</script></body></html>
"""


def page(items: Sequence[Mapping[str, str]], dimensions: Sequence[Any], rater: int) -> str:
    """Return the page of one rater; texts are data there and never markup."""
    texts = sentences("rating-page")
    remark = texts["remark"]
    data = {
        "key": f"{rater}-{items[0]['item'] if items else ''}",
        "rater": f"rater-{rater}",
        "remark": f"{remark[0]} / {remark[1]} ",
        "items": list(items),
        "dimensions": [
            {"id": d.id, "zh": d.zh, "en": d.en, "about": d.about, "scale": list(d.scale)}
            for d in dimensions
        ],
    }
    written = json.dumps(data, ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    filled = _PAGE
    for key, (zh, en) in texts.items():
        filled = filled.replace(f"<!--{key}-->", f"{zh} / {en}")
    return filled.replace("/*data*/", written)


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


DIMENSIONS: Final = tuple(
    Dimension(name, zh, en, f"{about_zh} / {about_en}", scale == "0,5")
    for name, zh, en, about_zh, about_en, scale in rows("rating-dimensions")
)
SHEET: Final = ("item", "question", "answer", *(each.id for each in DIMENSIONS), "remark", "rater")


@dataclass(frozen=True, slots=True)
class Kit:
    """What was written, and of how many answers."""

    folder: Path
    items: int
    sheets: int
    skips: Skips


def make_kit(
    bench: EvaluationContext, request: Request, folder: Path, raters: int, show: Progress
) -> Kit:
    """Ask every question by every method and write sheets (CSV), a page to rate on, and the key.

    Sheets and pages do not name the methods; the order differs between raters, by the seed.
    ``key.json`` says which item is which and stays away from raters.
    Raises ``UsageError`` for a file without questions or a number of raters that is none.
    """
    if not 1 <= raters <= 100:
        raise UsageError(f"--raters is a number from 1 to 100, not {raters}")
    check_methods(request, METHODS)
    skips = Skips()
    questions = _questions(Path(request.file), skips)[: request.limit]
    if not questions:
        raise UsageError(f"{request.file} holds no question to answer")
    shown, key = list[dict[str, str]](), dict[str, dict[str, str]]()
    for method in request.methods:
        under = bench.runtime_for(method)
        for place, (name, question, profile) in enumerate(questions, 1):
            code = hashlib.sha256(f"{request.seed} {name} {method}".encode()).hexdigest()[:10]
            wanted = AskRequest(question, method, k=request.k, profile=profile)
            answer = ask(under, wanted, bench.model).text
            shown.append({"item": code, "question": question, "answer": answer})
            key[code] = {"question": name, "method": method}
            show(method, place, len(questions))
    folder.mkdir(parents=True, exist_ok=True)
    for rater in range(1, raters + 1):
        mixed = shown[:]
        random.Random(f"{request.seed} {rater}").shuffle(mixed)  # noqa: S311 - an order, no secret
        (folder / f"sheet-{rater}.csv").write_text(_sheet(mixed), "utf-8-sig")
        (folder / f"rate-{rater}.html").write_text(page(mixed, DIMENSIONS, rater), "utf-8")
    key_file = {
        "release": bench.release,
        "ablate": list(request.ablate),
        "file": Path(request.file).name,
        "settings": request.settings(),
        "items": key,
    }
    (folder / KEY).write_text(json.dumps(key_file, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return Kit(folder, len(shown), raters, skips)


def _questions(path: Path, skips: Skips) -> list[tuple[str, str, Profile]]:
    rows = table(path, skips, "\t") if path.suffix == ".tsv" else json_lines(path, skips)
    questions, seen = list[tuple[str, str, Profile]](), set[str]()
    for place, row in rows:
        question, value = str(row.get("question") or "").strip(), row.get("profile") or {}
        name = str(row.get("id") or place)
        try:
            profile = Profile.from_json(json.loads(value) if isinstance(value, str) else value)
        except (ValueError, RecursionError, UsageError):
            skips.note("a profile that is none", place)
            continue
        if not question or name in seen:
            skips.note("the same id again" if question else "no question", place)
        else:
            seen.add(name)
            questions.append((name, question, profile))
    return questions


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
        raise UsageError(
            f"{folder / KEY} cannot be read ({fault}); it is written by ratings.py kit"
        ) from fault
    skips, scores = Skips(), Scores()
    for path in sheets or sorted(folder.glob("*.csv")):
        _take(path, key["items"], scores, skips)
    if not scores:
        raise UsageError(f"no sheet in {folder} holds a rating yet")
    alphas = {each.id: _alpha(scores, each) for each in DIMENSIONS}
    listed = ", ".join(f"{n} {a:.3f}" if a is not None else f"{n} –" for n, a in alphas.items())
    raters = sorted({rater for _, _, rater in scores})
    report = Report(
        "agreement",
        key["file"],
        tuple(key["ablate"]),
        len({item for _, item, _ in scores}),
        skips,
        _runs(scores, key["items"]),
        key["release"],
        {**key["settings"], "seed": seed, "raters": len(raters), "alpha": alphas},
        (f"{len(raters)} raters; Krippendorff's alpha: {listed}",),
    )
    return report, _export(scores, key["items"])


def _take(path: Path, items: Mapping[str, Any], scores: Scores, skips: Skips) -> None:
    text = "\n".join(line for _, line in lines(path, skips))
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
        place, item = f"{path.name}:{number}", (row.get("item") or "").strip()
        rater = (row.get("rater") or "").strip() or path.stem
        for each in DIMENSIONS:
            value = (row.get(each.id) or "").strip()
            if not value:
                continue
            if item not in items:
                skips.note("an item that the key does not know", place)
            elif value not in map(str, each.scale):
                skips.note(f"{each.id} off its scale", place)
            elif (each.id, item, rater) in scores:
                skips.note("an item rated twice by one person", place)
            else:
                scores[each.id, item, rater] = float(value)


def _alpha(scores: Scores, dimension: Dimension) -> float | None:
    own = {(item, rater): v for (name, item, rater), v in scores.items() if name == dimension.id}
    items, raters = (sorted({pair[i] for pair in own}) for i in (0, 1))
    data = np.full((len(raters), len(items)), np.nan)
    for (item, rater), value in own.items():
        data[raters.index(rater), items.index(item)] = value
    alpha = krippendorff_alpha(data, "nominal" if dimension.binary else "ordinal")
    return None if alpha is None else round(alpha, 4)


def _runs(scores: Scores, items: Mapping[str, Mapping[str, str]]) -> tuple[Run, ...]:
    """Return the means over raters by method, for questions rated for all methods."""
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


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("kit", "agreement"))
    parser.add_argument("place", type=Path, help="kit: questions; agreement: the folder of sheets")
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    parser.add_argument("--method", default="fused", help="comma-separated")
    parser.add_argument("--raters", type=int, default=2)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sheet", action="append", default=[], type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", type=Path, help="kit: a folder; agreement: a table")
    args = parser.parse_args(words)
    if args.action == "agreement":
        report, ratings = read_kit(args.place, args.sheet, args.seed)
        if args.output is not None:
            args.output.write_text(ratings, "utf-8")
        if args.json:
            for record in report.to_json():
                print(json.dumps(record, ensure_ascii=False))
        else:
            print(report.table())
        return 0
    if args.output is None:
        raise UsageError("name with -o DIR the folder for the sheets")
    request = Request(
        "kit",
        str(args.place),
        methods=tuple(args.method.split(",")),
        limit=args.limit,
        seed=args.seed,
    )
    with ProgressBar() as bar, KnowledgeBase.open(args.kb) as base:
        bench = EvaluationContext(base, replace(Settings(), kb=args.kb), request)
        kit = make_kit(bench, request, args.output, args.raters, bar.show)
    print(f"{kit.folder}: {kit.items:,} answers, {kit.sheets} sheets and pages")
    print("key.json is not for raters")
    for reason, count in sorted(kit.skips.counts.items()):
        print(f"left out: {count:,} {reason} (first: {kit.skips.first[reason]})")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ShiyiError as fault:
        sys.exit(str(fault))
