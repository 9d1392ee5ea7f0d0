"""Measure exams with what was chosen on them: `python bench/exams/measure.py TASK FILE [--train FILE]`.

TASK is mcq, syndrome or recommend, FILE as for `shiyi evaluate`, which has the plain readers.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from readers import ExamBench

from shiyi.errors import ShiyiError
from shiyi.evaluation.bench import Request
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("mcq", "syndrome", "recommend"))
    parser.add_argument("file")
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    parser.add_argument("--train", action="append", default=[], type=Path)
    parser.add_argument("--method", default="fused", help="comma-separated")
    parser.add_argument("--ablate", default="", help="comma-separated")
    parser.add_argument("--holdout", type=float, default=0.0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    request = Request(
        args.task,
        args.file,
        tuple(args.train),
        tuple(args.method.split(",")),
        tuple(name for name in args.ablate.split(",") if name),
        limit=args.limit,
        seed=args.seed,
        holdout=args.holdout,
    )
    settings = replace(Settings(), kb=args.kb)
    with KnowledgeBase.open(args.kb) as base:
        report = evaluate(base, settings, request, bench=ExamBench)
    if args.json:
        for each in report.to_json():
            print(json.dumps(each, ensure_ascii=False))
    else:
        print(report.table())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ShiyiError as fault:
        sys.exit(str(fault))
