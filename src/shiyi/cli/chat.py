"""``shiyi chat``."""

import argparse
import os
import sys
from collections.abc import Iterator

from shiyi.cli.ask import read_profile
from shiyi.cli.telling import Printing
from shiyi.errors import UsageError
from shiyi.settings import Settings

_LEAVE = frozenset({"exit", "quit", "bye", "退出", "再见"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi chat`` takes."""
    parser.add_argument("--lang", choices=("zh", "en"), help="default: each question's language")
    parser.add_argument("--method", default="fused", help="how to look for an answer")
    parser.add_argument("--profile", action="append", default=[], metavar="FILE|key=value",
                        help="who asks: a JSON file, or age=34 pregnant=true medicines=warfarin")  # fmt: skip


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Answer line after line, each in the light of those before; nothing is kept afterwards."""
    from shiyi.answering import Runtime
    from shiyi.answering.conversation import Context, converse
    from shiyi.prompts.openai import model_from
    from shiyi.sparql.knowledge_base import KnowledgeBase

    context = Context(profile=read_profile(args.profile))
    with KnowledgeBase.of(settings) as base:
        runtime = Runtime.open(base, settings)
        model = model_from(settings.models, os.environ)
        for line in _lines():
            printing = Printing()
            try:
                turn = converse(
                    runtime, line, context, method=args.method, language=args.lang, model=model,
                    listener=printing,
                )  # fmt: skip
            except UsageError as fault:
                print(fault, file=sys.stderr)
                continue
            context = turn.context
            printing.finish(turn.answer)
            print(flush=True)
    return 0


def _lines() -> Iterator[str]:
    """Give what a person types, until the end of input or a word of leaving."""
    while True:
        if sys.stdin.isatty():
            print("? ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line or line.strip().lower() in _LEAVE:
            return
        if line.strip():
            yield line.strip()
