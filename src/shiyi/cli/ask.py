"""``shiyi ask``."""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiyi.cli import emit
from shiyi.cli.telling import Printing
from shiyi.errors import UsageError
from shiyi.model.profile import Profile
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.answering.conversation import Context


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi ask`` takes."""
    parser.add_argument("question", metavar="QUESTION", nargs="?")
    parser.add_argument("--lang", choices=("zh", "en"), help="default: the question's language")
    parser.add_argument("--method", default="fused", metavar="M",
                        help="fused (default), paths, spot, layers, therapy, chain, neighbourhood; "
                             "none, bm25, random-paths to compare with")  # fmt: skip
    parser.add_argument("--k", type=int, metavar="N", help="how many paths to keep")
    parser.add_argument("--profile", action="append", default=[], metavar="FILE|key=value",
                        help="who asks: a JSON file, or age=34 pregnant=true medicines=warfarin")  # fmt: skip
    parser.add_argument("--after", metavar="FILE", type=Path,
                        help="what --json printed for the question before: this one follows it")  # fmt: skip
    parser.add_argument("--replay", metavar="FILE", type=Path,
                        help="make the answer again that --json printed; say what differs")  # fmt: skip
    parser.add_argument("--sparql", action="store_true",
                        help="let the configured model write SPARQL; show it, checked, and its rows")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the whole answer as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Answer one question, or make an answer again."""
    if args.replay:
        if args.question:
            raise UsageError("--replay takes no question: it is in the file")
        return _replayed(args, settings)
    if not args.question:
        raise UsageError("the question is empty; ask something, such as: shiyi ask 枸杞的性味？")
    if args.sparql:
        return _in_sparql(args, settings)
    from shiyi.answering import Runtime
    from shiyi.answering.conversation import converse
    from shiyi.prompts.openai import model_from
    from shiyi.sparql.knowledge_base import KnowledgeBase

    profile, printing = read_profile(args.profile), None if args.json else Printing()
    with KnowledgeBase.of(settings) as base:
        runtime = Runtime.open(base, settings)
        turn = converse(
            runtime, args.question, _context(args.after), method=args.method, language=args.lang,
            k=args.k, profile=profile, model=model_from(settings.models, os.environ),
            listener=printing,
        )  # fmt: skip
        answer = turn.answer
    if printing is None:
        emit(answer.to_json() | {"context": turn.context.to_json()})
    else:
        printing.finish(answer)
        if answer.citations:
            print("\n" + "\n".join(
                f"[{c.number}] {c.subject.label} · {c.predicate.label} · {c.object.label} "
                f"({c.confidence:.2f}; {', '.join(e.source for e in c.evidence)}) {c.claim}"
                for c in answer.citations
            ))  # fmt: skip
    return 0


def _in_sparql(args: argparse.Namespace, settings: Settings) -> int:
    """Print each round, the query that ran and its rows; 1 where none could be run."""
    from shiyi.answering import Runtime
    from shiyi.answering.free_query import ask_in_sparql
    from shiyi.prompts.openai import model_from
    from shiyi.sparql.free_query import FreeQuery
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.results import ResultFormat
    from shiyi.sparql.workers import QueryPool

    model = model_from(settings.models, os.environ)
    if model is None:
        raise UsageError("no model is configured: name one in models.answer of shiyi.toml")
    with KnowledgeBase.of(settings) as base, QueryPool(base, settings.query) as pool:

        def answered(query: str, seconds: float) -> bytes:
            return pool.query(FreeQuery(query, ResultFormat.of("json"), seconds)).body

        runtime = Runtime.open(base, settings)
        written = ask_in_sparql(runtime, args.question, model, answered, args.lang)
    if args.json:
        emit(written.to_json())
        return 0 if written.answered else 1
    for number, each in enumerate(written.rounds, 1):
        print(f"# {number}. {model.name}\n{each.written}")
        print(f"# -> {each.fault or 'ran'}\n")
    if written.answered:
        print(f"# as run: {written.explanation}\n{written.query}\n")
        print("\t".join(written.columns))
        for row in written.rows:
            print("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
    return 0 if written.answered else 1


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


def _replayed(args: argparse.Namespace, settings: Settings) -> int:
    """Print the answer as it is made now; 1 where it is another one."""
    from shiyi.answering import Runtime
    from shiyi.answering.replay import replay
    from shiyi.sparql.knowledge_base import KnowledgeBase

    said = _read_object(args.replay)
    with KnowledgeBase.of(settings) as base:
        again = replay(Runtime.open(base, settings), said)
    if args.json:
        emit(again.to_json())
    else:
        print(again.answer.text)
        told = "\n".join(f"differs: {each}" for each in again.differences)
        print(f"\n{told or 'the same answer'}")
    return 1 if again.differences else 0


def _read_object(path: Path) -> Mapping[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror}") from fault
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"{path} is not JSON: {fault}") from fault
    if not isinstance(said, dict):
        raise UsageError(f"{path} holds no answer: give it what `shiyi ask --json` printed")
    return said


def read_profile(words: list[str]) -> Profile:
    """Read ``key=value`` words, or one JSON file."""
    if len(words) == 1 and "=" not in words[0]:
        path = Path(words[0])
        try:
            return Profile.from_json(json.loads(path.read_text(encoding="utf-8")))
        except OSError as fault:
            raise UsageError(f"profile file {path} cannot be read: {fault.strerror}") from fault
        except (ValueError, RecursionError) as fault:
            raise UsageError(f"profile file {path} is not a JSON object: {fault}") from fault
    return Profile.from_pairs([pair for word in words for pair in word.split()])
