"""Measure with what was chosen on exams: `python bench/exams/measure.py TASK FILE [--train FILE]`.

FILE is as for `shiyi evaluate`, which has the plain readers; mcq, syndrome and recommend take those
of this folder. `--sweep k=1,3,5` measures at each value of one parameter.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from readers import ExamContext
from runs import SWEPT, Sweep, is_exam, run_sweep

from shiyi.errors import ShiyiError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("file", nargs="?", default=FROM_CLAIMS, help="none: questions from claims")
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    parser.add_argument("--train", action="append", default=[], type=Path)
    parser.add_argument("--method", default="fused", help="comma-separated")
    parser.add_argument("--ablate", default="", help="comma-separated")
    parser.add_argument("--holdout", type=float, default=0.0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--damping", type=float, default=0.8)
    parser.add_argument("--scorer", default="specific")
    parser.add_argument(
        "--sweep", metavar="NAME=V,V…", help=f"at several values: {', '.join(SWEPT)}"
    )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(words)
    request = Request(
        args.task,
        args.file,
        tuple(args.train),
        tuple(args.method.split(",")),
        tuple(name for name in args.ablate.split(",") if name),
        limit=args.limit,
        seed=args.seed,
        k=args.k,
        damping=args.damping,
        scorer=args.scorer,
        holdout=args.holdout,
    )
    settings = replace(Settings(), kb=args.kb)
    values = Sweep.read(args.sweep) if args.sweep else None
    kind = ExamContext if is_exam(request.task, request.file) else EvaluationContext
    with KnowledgeBase.open(args.kb) as base:
        report = run_sweep(base, settings, request, values, kind)
    if args.json:
        for record in report.to_json():
            print(json.dumps(record, ensure_ascii=False))
    else:
        print(report.table())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ShiyiError as fault:
        sys.exit(str(fault))
