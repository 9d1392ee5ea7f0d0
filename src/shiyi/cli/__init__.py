"""``shiyi``, the command line: one module for each group of related commands."""

import os
import sys
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Context, Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from shiyi.errors import ConformanceError, OutsideError, SettingError, ShiyiError

if TYPE_CHECKING:
    from shiyi.settings import Settings


class Command(NamedTuple):
    """A command: its panel in the help, its module in this package, and its line in the help."""

    panel: str
    module: str
    help: str


ASK, MAKE, CURATE, PUBLISH, SERVE, MEASURE = (
    "Questions", "Knowledge base", "Curation", "Publishing", "Service", "Models and evaluation"
)  # fmt: skip
VERBS = {
    "ask": Command(ASK, "ask", "Answer one question with citations."),
    "chat": Command(ASK, "ask", "Answer question after question, each in the context of the last."),
    "check": Command(ASK, "ask", "Check medicines, supplements and foods against one another."),
    "frame": Command(ASK, "ask", "Show how a question is understood."),
    "audit": Command(ASK, "query", "Check the sentences of a text against the claims."),
    "link": Command(ASK, "query", "Find the concepts that a text mentions."),
    "query": Command(ASK, "query", "Run a SPARQL 1.2 query, read-only."),
    "explain": Command(ASK, "publish", "Show the sources and the confidence of a claim."),
    "build": Command(MAKE, "build", "Build the starter knowledge base from the project's tables."),
    "ingest": Command(MAKE, "ingest", "Read books, texts or tables into claims."),
    "forget": Command(MAKE, "ingest", "Delete an ingested source and what rests on it alone."),
    "corpus": Command(MAKE, "ingest", "Install texts and tables to which evidence points."),
    "verify": Command(MAKE, "ingest", "Re-read pointers of evidence; find evidence of claims."),
    "validate": Command(MAKE, "build", "Validate the knowledge base or files against the shapes."),
    "reason": Command(MAKE, "reason", "Check the ontology, or recompute the derived graph."),
    "index": Command(MAKE, "build", "Rebuild the indexes, after an upgrade or a large ingest."),
    "review": Command(CURATE, "review", "Review claims: queue, show, accept, reject, edit, undo."),
    "sync": Command(CURATE, "review", "Carry changes between the knowledge base and the tables."),
    "user": Command(CURATE, "accounts", "Manage curator accounts."),
    "export": Command(PUBLISH, "publish", "Export the knowledge base as RDF or tables."),
    "release": Command(PUBLISH, "publish", "Write a hashed, documented release."),
    "diff": Command(PUBLISH, "publish", "Compare two releases, claim by claim."),
    "serve": Command(SERVE, "serve", "Serve pages, API, SPARQL endpoint and linked data."),
    "mcp": Command(SERVE, "serve", "Serve assistants over the Model Context Protocol."),
    "token": Command(SERVE, "accounts", "Manage API tokens: add, list, revoke."),
    "doctor": Command(SERVE, "operate", "Check the installation and the knowledge base."),
    "backup": Command(SERVE, "operate", "Copy the base to a new folder, also while it is served."),
    "restore": Command(SERVE, "operate", "Verify a backup and restore it to a new folder."),
    "undo": Command(SERVE, "operate", "Undo a journal record by a new record."),
    "evaluate": Command(MEASURE, "evaluate", "Measure methods and baselines on question files."),
    "train": Command(MEASURE, "reason", "Train an embedding, or the reader of questions."),
}  # fmt: skip


def command(verb: str) -> TyperCommand | TyperGroup:
    """Return the command of a verb, importing its module alone.

    >>> command("link").name
    'link'
    """
    part = getattr(import_module(f"shiyi.cli.{VERBS[verb].module}"), verb)
    app = part if isinstance(part, typer.Typer) else typer.Typer(add_completion=False)
    if app is not part:
        app.command(verb)(part)
    built = get_command(app)
    if not isinstance(built, TyperCommand | TyperGroup):
        raise TypeError(f"{verb} is no command")
    built.name, built.help = verb, VERBS[verb].help
    return built


class LazyGroup(TyperGroup):
    """All verbs by name and help; the module of one is imported when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, verb in VERBS.items():
            self.add_command(TyperCommand(name, help=verb.help, rich_help_panel=verb.panel))

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, command(str(name)), rest

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe went away
            sys.stderr.close()
            return 0
        except KeyboardInterrupt:
            print("stopped; run the same command again to continue", file=sys.stderr)
            return 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 for a finding, 2 for bad input, 3 for an outside fault."""
    # measured: on busy cores a product of one vector waits up to 30 ms for a second BLAS thread
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app = typer.Typer(
        cls=LazyGroup,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(shiyi)
    arguments = None if argv is None else list(argv)
    try:
        status = get_command(app).main(arguments, prog_name="shiyi", standalone_mode=False)
        return int(status or 0)
    except typer.Abort:
        return _fail("stopped at the end of the input", 2)
    except ConformanceError as fault:
        return _fail(fault, 1)
    except OutsideError as fault:
        return _fail(fault, 3)
    except ShiyiError as fault:
        return _fail(fault, 2)
    except OSError as fault:  # a full disk, a folder that may only be read, too many open files
        return _fail(fault, 3)
    except typer.TyperException as fault:
        context = getattr(fault, "ctx", None)
        message = " ".join(fault.format_message().split()) or "Missing command."
        where = context.command_path if context else "shiyi"
        return _fail(f"{message} See `{where} --help`.", 2)


def print_version(requested: bool) -> None:
    """Print the version and exit, where it is requested."""
    from importlib.metadata import version

    if requested:
        print(version("shiyi"))
        raise typer.Exit


def shiyi(
    ctx: Context,
    kb: Annotated[str | None, Option(metavar="DIR", help="Default: kb/, or SHIYI_KB.")] = None,
    show_version: Annotated[
        bool, Option("--version", help="Print the version.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Run Shiyi 食医, an open knowledge platform for medicine-food homology."""
    del show_version
    ctx.obj = cache(partial(read_settings, kb))


def read_settings(kb: str | None) -> "Settings":
    """Read ``shiyi.toml``, or the file of ``SHIYI_SETTINGS``, and the environment."""
    from shiyi.settings import Settings

    env = dict(os.environ)
    if kb:
        env["SHIYI_KB"] = kb
    named = env.get("SHIYI_SETTINGS")
    path = Path(named or "shiyi.toml")
    if named and not path.is_file():
        raise SettingError("SHIYI_SETTINGS", f"names no file: {named}")
    try:
        toml = path.read_text(encoding="utf-8") if path.is_file() else ""
    except UnicodeDecodeError as fault:
        raise SettingError(str(path), "is not UTF-8") from fault
    return Settings.read(toml, env, str(path))


def _fail(fault: object, status: int) -> int:
    print(f"shiyi: {fault}", file=sys.stderr)
    return status
