"""``shiyi explain``."""

import argparse

from shiyi.cli import emit
from shiyi.errors import UsageError
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi explain`` takes."""
    parser.add_argument("claim", metavar="CLAIM-IRI")
    parser.add_argument("--json", action="store_true", help="print the derivation as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Print a claim, its evidence, and the arithmetic of its confidence."""
    from shiyi.publishing.explanation import explain
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        told = explain(base.store, args.claim)
    if told is None:
        raise UsageError(f"{args.claim} is no claim of this base; citations carry claim IRIs")
    if args.json:
        emit(told)
    else:
        _print(told, 0)
    return 0


def _print(told: dict[str, object], depth: int) -> None:
    pad = "  " * depth
    print(f"{pad}{told['subject']} — {told['predicate']} — {told['object']}")
    said = ", ".join(str(told[name]) for name in ("status", "polarity") if told[name])
    print(f"{pad}{said or 'entailed'}, confidence {told['confidence']}: {told['why']}")
    if told["parts"]:
        parts = told["parts"].items()  # type: ignore[attr-defined] # names and numbers
        print(f"{pad}parts: {', '.join(f'{name} {value:g}' for name, value in parts)}")
    for each in told["evidence"]:  # type: ignore[attr-defined] # a list of objects
        print(f"{pad}- {each['source']} ({each['tier']}, {each['checked']}) {each['locator']}: "
              f"{each['confidence']}")  # fmt: skip
    if told["premises"]:
        print(f"{pad}follows by {', '.join(told['rules'])} from:")  # type: ignore[arg-type]
    for premise in told["premises"]:  # type: ignore[attr-defined] # a list of objects
        _print(premise, depth + 1)
