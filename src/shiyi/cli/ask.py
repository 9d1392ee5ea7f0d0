"""``shiyi ask``."""

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli import emit
from shiyi.errors import UsageError
from shiyi.model.profile import Profile
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.answering.conversation import Context


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi ask`` takes."""
    parser.add_argument("question", metavar="QUESTION")
    parser.add_argument("--lang", choices=("zh", "en"), help="default: the question's language")
    parser.add_argument("--method", default="fused", help="how to look for an answer")
    parser.add_argument("--k", type=int, metavar="N", help="how many paths to keep")
    parser.add_argument("--profile", action="append", default=[], metavar="FILE|key=value",
                        help="who asks: a JSON file, or age=34 pregnant=true medicines=warfarin")  # fmt: skip
    parser.add_argument("--after", metavar="FILE", type=Path,
                        help="what --json printed for the question before: this one follows it")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the whole answer as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Answer one question."""
    from shiyi.answering import Runtime
    from shiyi.answering.conversation import converse
    from shiyi.answering.writer import write_with_model
    from shiyi.prompts.openai import model_from
    from shiyi.sparql.knowledge_base import KnowledgeBase

    profile = read_profile(args.profile)
    with KnowledgeBase.open(settings.kb) as base:
        runtime = Runtime.open(base, settings)
        turn = converse(
            runtime, args.question, _context(args.after), method=args.method, language=args.lang,
            k=args.k, profile=profile,
        )  # fmt: skip
        answer = turn.answer
        if model := model_from(settings.models, os.environ):
            answer = write_with_model(answer, model, runtime.linker)
    if args.json:
        emit(answer.to_json() | {"context": turn.context.to_json()})
    else:
        print(answer.text)
        if answer.citations:
            print("\n" + "\n".join(
                f"[{c.number}] {c.subject.label} · {c.predicate.label} · {c.object.label} "
                f"({c.confidence:.2f}; {', '.join(e.source for e in c.evidence)}) {c.claim}"
                for c in answer.citations
            ))  # fmt: skip
    return 0


def _context(path: Path | None) -> "Context":
    """Read the context that an earlier answer gave; an empty one where there was none."""
    from shiyi.answering.conversation import Context

    if path is None:
        return Context()
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise UsageError(f"the earlier answer {path} cannot be read: {fault.strerror}") from fault
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"the earlier answer {path} is not JSON: {fault}") from fault
    if not isinstance(said, dict) or "context" not in said:
        raise UsageError(f"{path} holds no context: write it with shiyi ask … --json > {path}")
    return Context.from_json(said["context"])


def read_profile(words: list[str]) -> Profile:
    """Read ``key=value`` words, or one JSON file."""
    if len(words) == 1 and "=" not in words[0]:
        path = Path(words[0])
        try:
            return Profile.from_json(json.loads(path.read_text(encoding="utf-8")))
        except OSError as fault:
            raise UsageError(f"profile file {path} cannot be read: {fault.strerror}") from fault
        except ValueError as fault:
            raise UsageError(f"profile file {path} is not a JSON object: {fault}") from fault
    return Profile.from_pairs([pair for word in words for pair in word.split()])
