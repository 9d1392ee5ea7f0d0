"""``shiyi ask`` and ``shiyi chat``."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from typer import Argument, Context, Option

from shiyi.cli.terminal import (
    Json,
    configured_model,
    emit,
    print_table,
    read_object,
    settings_of,
    warn,
)
from shiyi.errors import UsageError
from shiyi.ontology.lexicon import Cues

if TYPE_CHECKING:
    from shiyi.answering.conversation import Context as Earlier
    from shiyi.answering.pipeline import Runtime
    from shiyi.model.answer import Answer, Sentence
    from shiyi.model.profile import Profile
    from shiyi.settings import Settings
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

Language = Annotated[
    Literal["zh", "en"] | None, Option("--lang", help="Default: that of the question.")
]
Method = Annotated[
    str,
    Option(
        metavar="M",
        help="fused, paths, spot, layers, therapy, chain, neighbourhood; "
        "none, bm25, transe, rotate, random-paths to compare with.",
    ),
]
ProfileWords = Annotated[
    list[str] | None,
    Option(
        "--profile",
        metavar="FILE|key=value",
        help="Who asks: a JSON file, or age=34, pregnant=true, medicines=warfarin; repeatable.",
    ),
]
_ANSWER = "name what `shiyi ask --json` printed"


def ask(
    ctx: Context,
    question: Annotated[str, Argument(metavar="QUESTION")] = "",
    language: Language = None,
    method: Method = "",
    k: Annotated[int | None, Option("--k", metavar="N", help="Paths to keep.")] = None,
    profile: ProfileWords = None,
    evidence: Annotated[
        Literal["any", "opened"] | None,
        Option(help="opened: from works and tables that were opened alone."),
    ] = None,
    school: Annotated[
        str, Option(metavar="NAME", help="Use the claims of this school too (method chain).")
    ] = "",
    overlay: Annotated[
        Literal["general", "school", "both"] | None,
        Option(help="What the question is matched with: the base, the school, or both."),
    ] = None,
    after: Annotated[
        Path | None,
        Option(metavar="FILE", help="The --json output of the question that this follows."),
    ] = None,
    replay: Annotated[
        Path | None, Option(metavar="FILE", help="Repeat a --json output, and show what differs.")
    ] = None,
    sparql: Annotated[
        bool, Option("--sparql", help="Let the configured model write a query; show it, and rows.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Answer one question; status 1 where a repeated answer differs or no query could be run."""
    settings = settings_of(ctx)
    if replay and question:
        raise UsageError("--replay takes no question: it is in the file")
    if replay:
        return _repeat(replay, settings, as_json)
    if not question:
        raise UsageError("the question is empty; ask something, such as: shiyi ask 枸杞的性味？")
    if sparql:
        return _ask_in_sparql(question, language, settings, as_json)
    from shiyi.answering.conversation import Context as Earlier
    from shiyi.answering.conversation import converse
    from shiyi.answering.pipeline import AskRequest
    from shiyi.prompts.resilience import open_breaker

    context = Earlier()
    if after:
        earlier = read_object(after, _ANSWER)
        if "context" not in earlier:
            raise UsageError(f"{after} holds no context: {_ANSWER}")
        context = Earlier.from_json(earlier["context"])
    printer = None if as_json else SentencePrinter()
    person = read_profile(profile or [])
    with _open_runtime(settings) as (_, runtime):
        turn = converse(
            runtime,
            AskRequest(
                question, method, language, k, person, evidence, school=school, overlay=overlay
            ),
            context,
            open_breaker(settings.models, os.environ),
            printer,
        )
    if turn.answer.model_fault:
        warn(f"the language model failed: {turn.answer.model_fault}")
    if printer is None:
        emit(turn.answer.to_json() | {"context": turn.context.to_json()})
        return 0
    printer.finish(turn.answer)
    _print_citations(turn.answer)
    return 0


def _verdict(answer: "Answer") -> str:
    """Return the verdict in a line, with its severity and how the claims behind it are known."""
    from shiyi.answering.knowledge.severity import RATINGS
    from shiyi.answering.wording.verbalization import kind_words, verbalize
    from shiyi.model.claim import EvidenceKind

    parts = [verbalize(answer.language, f"verdict_{answer.verdict.kind}")]
    if answer.verdict.severity in RATINGS:
        parts.append(verbalize(answer.language, f"rating_{answer.verdict.severity}"))
    kinds = Counter(EvidenceKind(each.kind) for each in answer.citations)
    parts += [f"{kind_words(answer.language, [kind])} {n}" for kind, n in kinds.most_common()]
    return " · ".join(parts)


def _print_citations(answer: "Answer") -> None:
    """Print what an answer cites, with how each claim is known and the first source of it."""
    from shiyi.answering.wording.verbalization import kind_words
    from shiyi.model.claim import EvidenceKind

    if answer.citations:
        print()
    for each in answer.citations:
        known = kind_words(answer.language, [EvidenceKind(each.kind)])
        read = list(dict.fromkeys(e.source for e in each.evidence if e.is_opened))
        sources = "".join(read[:1]) + (f" +{len(read) - 1}" if len(read) > 1 else "")
        print(
            f"[{each.number}] {each.subject.label} · {each.predicate.label} · {each.object.label} "
            f"({known}; {each.confidence:.2f}{sources and '; ' + sources}) {each.claim}"
            + (f" of {each.origin}, not reviewed" if each.origin else "")
        )


def check(
    ctx: Context,
    things: Annotated[list[str] | None, Argument(metavar="THING…", help="2 to 20 names.")] = None,
    language: Language = None,
    profile: ProfileWords = None,
    as_json: Json = False,
) -> int:
    """Print what is on record of each pair of things; status 1 where a name is not recognised."""
    from shiyi.answering.sections.cabinet import NONE, check_things
    from shiyi.linking.normalization import language_of

    names = things or []
    person = read_profile(profile or [])
    with _open_runtime(settings_of(ctx)) as (_, runtime):
        report = check_things(runtime, names, person, language or language_of(" ".join(names)))
    unknown = [each for each in report.things if not each.meanings]
    if as_json:
        emit(report.to_json())
        return 1 if unknown else 0
    for thing in unknown:
        offered = ", ".join(each.label for each in thing.suggestions)
        warn(f"not recognised: {thing.text}" + (f"; did you mean {offered}?" if offered else ""))
    for pair in report.pairs:
        added = " (+)" if pair.adds else ""
        print(f"{pair.severity.replace('_', ' ')}{added}: {pair.a} × {pair.b}")
        for reason in pair.reasons if pair.severity != NONE else ():
            print(f"    {reason.text}\n    {' '.join(reason.claims)}".rstrip())
    for effect in report.effects:
        print(f"adds up: {effect.effect}: {', '.join(effect.things)}")
    for twice in report.duplicates:
        print(f"twice: {twice.ingredient.label}: {', '.join(twice.things)}")
    for each in report.conditions:
        print(f"{each.reason.severity}: {each.reason.text}\n    {' '.join(each.reason.claims)}")
    return 1 if unknown else 0


def frame(
    ctx: Context,
    text: Annotated[str, Argument(metavar="TEXT")] = "",
    context: Annotated[
        Path | None, Option(metavar="FILE", help="The --json output of the turn before.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what a question asks, for whom, and how sure the reader is."""
    from shiyi.answering.conversation import Context as Earlier
    from shiyi.answering.conversation import understand
    from shiyi.answering.pipeline import AskRequest

    before = Earlier()
    if context:
        named = "name what `shiyi frame --json` or `shiyi ask --json` printed"
        before = Earlier.of(read_object(context, named))
    with _open_runtime(settings_of(ctx)) as (_, runtime):
        _, read = understand(runtime, AskRequest(text), before)
    results = read.to_json()
    if as_json:
        emit(results)
        return
    person = results["patient"]
    states = (f"{item['label']} ({item['assertion']})" for item in person["states"])
    rows = [(f"ask: {item['type']}", f"{item['p']:.2f}") for item in results["ask"]]
    rows += [("polarity", results["polarity"]), ("who", person["who"])]
    rows += [("age", f"{person['age']:g}")] if person["age"] is not None else []
    rows += [("state", state) for state in states]
    rows += [
        (item["role"], f"{item['label'] or item['text']} ({item['assertion']})")
        for item in results["focus"]
    ]
    rows += [
        ("condition", " ".join((c["property"], c["operator"], c["value"])).rstrip())
        for c in results["conditions"]
    ]
    for name, value in rows:
        print(f"{name}: {value}")


_CUES: Final = Cues("conversation")


def chat(
    ctx: Context, language: Language = None, method: Method = "fused", profile: ProfileWords = None
) -> None:
    """Answer line after line, each in the context of those before; nothing is stored."""
    from shiyi.answering.conversation import Context as Earlier
    from shiyi.answering.conversation import converse
    from shiyi.answering.pipeline import AskRequest
    from shiyi.prompts.resilience import open_breaker

    settings = settings_of(ctx)
    context = Earlier(profile=read_profile(profile or []))
    with _open_runtime(settings) as (_, runtime):
        model = open_breaker(settings.models, os.environ)
        for line in _read_lines():
            if items := _items_to_forget(line, context):
                context = context.without(items)
                _show_profile(context)
                continue
            printer = SentencePrinter()
            try:
                request = AskRequest(line, method, language)
                turn = converse(runtime, request, context, model, printer)
            except UsageError as fault:
                warn(str(fault))
                continue
            context = turn.context
            printer.finish(turn.answer)
            print(flush=True)
            _show_profile(context)


class SentencePrinter:
    """Prints each sentence as it passes the check, and at the end the rest of the answer.

    In an emergency nothing is printed before the whole answer, which begins with the warning.
    """

    def __init__(self) -> None:
        self._draft: Answer | None = None
        self._printed = ""

    def receive_draft(self, answer: "Answer") -> None:
        """Wait for sentences of a model."""
        urgent = any(warning.severity == "emergency" for warning in answer.warnings)
        self._draft = None if urgent else answer

    def receive(self, sentence: "Sentence") -> None:
        """Print a sentence with its marks."""
        from shiyi.answering.generation.rewriter import add_marks

        if self._draft is None:
            return
        gap = " " if self._printed and self._draft.language != "zh" else ""
        piece = gap + add_marks(sentence, self._draft)
        self._printed += piece
        print(piece, end="", flush=True)

    def finish(self, answer: "Answer") -> None:
        """Print the rest; where the model failed midway, the composed answer that replaces it.

        The verdict comes first, unless sentences were printed while they were written.
        """
        if not self._printed:
            print(f"{_verdict(answer)}\n")
        if answer.text.startswith(self._printed):
            print(answer.text.removeprefix(self._printed))
        else:
            print(f"\n\n{answer.text}")


def read_profile(words: list[str]) -> "Profile":
    """Parse ``key=value`` words, or one JSON file."""
    from shiyi.model.profile import Profile

    if len(words) == 1 and "=" not in words[0]:
        return Profile.from_json(read_object(Path(words[0]), "a profile has keys such as age"))
    return Profile.from_pairs([pair for word in words for pair in word.split()])


@contextmanager
def _open_runtime(settings: "Settings") -> "Iterator[tuple[KnowledgeBase, Runtime]]":
    from shiyi.answering.pipeline import Runtime
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        yield base, Runtime.open(base, settings)


def _ask_in_sparql(question: str, language: str | None, settings: "Settings", as_json: bool) -> int:
    """Print each round, the query that ran and its rows; 1 where none could be run."""
    from shiyi.answering.generation.text_to_sparql import ask_in_sparql
    from shiyi.sparql.queries.requests import FreeQuery
    from shiyi.sparql.queries.results import ResultFormat
    from shiyi.sparql.sandbox.pool import QueryPool

    model = configured_model(settings)
    with _open_runtime(settings) as (base, runtime), QueryPool(base, settings.query) as pool:

        def run(query: str, seconds: float) -> bytes:
            return pool.query(FreeQuery(query, ResultFormat.of("json"), seconds)).body

        result = ask_in_sparql(runtime, question, model, run, language)
    if as_json:
        emit(result.to_json())
        return 0 if result.answered else 1
    for number, each in enumerate(result.rounds, 1):
        print(f"# {number}. {model.name}\n{each.written}")
        print(f"# -> {each.fault or 'ran'}\n")
    if not result.answered:
        return 1
    print(f"# as run: {result.explanation}\n{result.query}\n")
    if not sys.stdout.isatty():
        print("\t".join(result.columns))
    print_table(result.columns, result.rows)
    return 0


def _repeat(path: Path, settings: "Settings", as_json: bool) -> int:
    """Print the answer of today; return 1 where it differs."""
    from shiyi.answering.pipeline import replay

    earlier = read_object(path, _ANSWER)
    with _open_runtime(settings) as (_, runtime):
        repeated = replay(runtime, earlier)
    if as_json:
        emit(repeated.to_json())
    else:
        print(repeated.answer.text)
        lines = "\n".join(f"differs: {difference}" for difference in repeated.differences)
        print(f"\n{lines or 'the same answer'}")
    return 1 if repeated.differences else 0


def _show_profile(context: "Earlier") -> None:
    """Show on standard error what is remembered of the asker, and how to have it forgotten."""
    if items := [f"{key} {value}" for key, value in context.profile.entries()]:
        warn(f"remembered for this chat: {'; '.join(items)} (forget WORD / 忘掉…)")


def _items_to_forget(line: str, context: "Earlier") -> frozenset[tuple[str, str]]:
    """Return the remembered items that a line names: by a word, or all."""
    match = _CUES["forget"].fullmatch(line.strip())
    if match is None:
        return frozenset()
    word, items = (match[1] or match[2]).strip().lower(), context.profile.entries()
    every = _CUES["everything"].fullmatch(word) is not None
    return frozenset(p for p in items if every or word in (p[0].lower(), p[1].lower()))


def _read_lines() -> Iterator[str]:
    """Yield typed lines, until the end of input or a word of leaving."""
    while True:
        if sys.stdin.isatty():
            print("? ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line or _CUES["leave"].fullmatch(line.strip().lower()):
            return
        if line.strip():
            yield line.strip()
