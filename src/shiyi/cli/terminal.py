"""What the commands share: settings, options, files read by name, JSON, tables and progress."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from typer import Context, Option

from shiyi.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from shiyi.prompts.chat import ChatModel
    from shiyi.settings import Settings

Json = Annotated[bool, Option("--json", help="Print JSON, for programs.")]
Tables = Annotated[Path | None, Option("--tables", metavar="DIR", help="Another ontology/ folder.")]


def settings_of(ctx: Context) -> "Settings":
    """Return the settings of the command line, read when a command first asks for them."""
    read: Callable[[], Settings] = ctx.obj
    return read()


def new_group() -> typer.Typer:
    """Return a command of several verbs; without a verb it prints its help."""
    return typer.Typer(add_completion=False, no_args_is_help=True)


def configured_model(settings: "Settings") -> "ChatModel":
    """Return the language model of the settings; ``UsageError`` where none is named."""
    from shiyi.prompts.resilience import open_breaker

    model = open_breaker(settings.models, os.environ)
    if model is None:
        raise UsageError("no model is configured: name one in models.answer of shiyi.toml")
    return model


def read_text(name: str) -> str:
    """Return the text of a file, or of standard input for ``-``."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except OSError as fault:
        raise UsageError(f"{name} cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"{name} is not UTF-8 text: save it as UTF-8") from fault


def read_object(path: Path, advice: str) -> dict[str, Any]:
    """Return the JSON object in a file; ``advice`` says which file is wanted."""
    try:
        values = json.loads(read_text(str(path)))
    except (ValueError, RecursionError) as fault:
        if isinstance(fault, UsageError):
            raise
        raise UsageError(f"{path} is not JSON: {fault}") from fault
    if not isinstance(values, dict):
        raise UsageError(f"{path} holds no JSON object: {advice}")
    return values


def emit(value: Any) -> None:
    """Print one JSON value for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def select(value: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a value by name, for JSON."""
    return {name: getattr(value, name) for name in names}


def warn(message: str) -> None:
    """Print one line on standard error."""
    print(message, file=sys.stderr)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on a terminal, and elsewhere a line of tab-separated cells for each row."""
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(str(cell).replace("\t", " ").replace("\n", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


class ProgressBar:
    """A progress bar on standard error where that is a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def show(self, task: str, done: int, total: int | None, label: str = "") -> None:
        """Show how far a task is; ``total`` is None where nobody knows it."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if task not in self._tasks:
            self._tasks[task] = self._bar.add_task(task, total=total)
        self._bar.update(self._tasks[task], completed=done, total=total, description=label or task)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()
