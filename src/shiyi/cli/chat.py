"""``shiyi chat``."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shiyi.cli.ask import read_profile
from shiyi.cli.telling import Printing
from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.answering.conversation import Context

_FORGET = re.compile(r"(?:forget|drop)\s+(.+)|(?:忘掉|忘了|不用记)(.+)", re.IGNORECASE)
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
            if dropped := _dropped(line, context):
                context = context.without(dropped)
                _tell_held(context)
                continue
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
            _tell_held(context)
    return 0


def _tell_held(context: "Context") -> None:
    """Say on standard error what is held of the asker, and how to have it dropped."""
    if held := [f"{key} {value}" for key, value in context.profile.held()]:
        print(f"held for this chat: {'; '.join(held)} (forget WORD / 忘掉…)", file=sys.stderr)


def _dropped(line: str, context: "Context") -> frozenset[tuple[str, str]]:
    """Give what is held and told to be forgotten: a word of it, or all of it."""
    told = _FORGET.fullmatch(line.strip())
    if told is None:
        return frozenset()
    word, held = (told[1] or told[2]).strip().lower(), context.profile.held()
    every = word in {"all", "everything", "全部", "所有"}
    return frozenset(p for p in held if every or word in (p[0].lower(), p[1].lower()))


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
