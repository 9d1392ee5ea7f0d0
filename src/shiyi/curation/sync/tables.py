"""Minimal edits of TSV files."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.errors import UsageError


@dataclass(slots=True)
class TableText:
    """One file: its lines and their changes. Lines count from 1."""

    name: str  # below the folder of the tables
    before: str
    columns: list[str] = field(default_factory=list)
    _lines: list[str | None] = field(default_factory=list)
    _head: int = -1

    @classmethod
    def open(cls, folder: Path, name: str, columns: tuple[str, ...] = ()) -> "TableText":
        """Read a table; a missing one is created with these columns."""
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        table = cls(name, text)
        table._lines = list(text.split("\n"))
        if table._lines and not table._lines[-1]:
            table._lines.pop()
        for at, line in enumerate(table._lines):
            if line and line.strip() and not line.startswith("#"):
                table._head, table.columns = at, [part.strip() for part in line.split("\t")]
                break
        if table._head < 0:
            table._head, table.columns = len(table._lines), list(columns)
            table._lines.append("\t".join(columns))
        return table

    def begin(self, lines: list[str]) -> None:
        """Begin a new file with these lines, the last of which is its header."""
        self._lines, self._head = list(lines), len(lines) - 1
        self.columns = lines[-1].split("\t")

    def cells(self, line: int) -> list[str]:
        """Return the cells of a row, as many as there are columns."""
        text = self._lines[line - 1]
        if text is None:
            raise UsageError(f"{self.name}:{line} went already")
        result = text.split("\t")
        return result + [""] * (len(self.columns) - len(result))

    def get(self, line: int, column: str) -> str:
        """Return one cell."""
        return (
            self.cells(line)[self.columns.index(column)].strip() if column in self.columns else ""
        )

    def set(self, line: int, column: str, value: str) -> None:
        """Change one cell; a column that is not there joins the header."""
        if any(c in value for c in "\t\n\r"):
            raise UsageError(f"{self.name}:{line} [{column}] would hold a tab or a line break")
        if column not in self.columns:
            if not value:
                return
            self.columns.append(column)
            self._lines[self._head] = f"{self._lines[self._head]}\t{column}"
        cells = self.cells(line)
        cells[self.columns.index(column)] = value
        text = self._lines[line - 1] or ""
        retained = max(len(text.split("\t")), self.columns.index(column) + 1)
        self._lines[line - 1] = "\t".join(cells[:retained])

    def has_line(self, line: int) -> bool:
        """Return whether a row was not removed yet."""
        return self._lines[line - 1] is not None

    def drop(self, line: int) -> None:
        """Remove a row; twice does no harm."""
        self._lines[line - 1] = None

    def append(self, cells: Mapping[str, str]) -> None:
        """Add a row at the end; columns that are not there join the header."""
        for column, value in cells.items():
            if value and column not in self.columns:
                self.columns.append(column)
                self._lines[self._head] = f"{self._lines[self._head]}\t{column}"
        if any(c in value for value in cells.values() for c in "\t\n\r"):
            raise UsageError(f"a row for {self.name} would hold a tab or a line break")
        row = [cells.get(column, "") for column in self.columns]
        while len(row) > 1 and not row[-1]:
            row.pop()
        self._lines.append("\t".join(row))

    @property
    def after(self) -> str:
        """Return the whole text with its changes."""
        remaining = [line for line in self._lines if line is not None]
        return "\n".join(remaining) + "\n" if remaining else ""


@dataclass(slots=True)
class Tables:
    """The files of a folder, opened when they are asked for; ``extra`` holds whole new texts."""

    folder: Path
    files: dict[str, TableText] = field(default_factory=dict)
    extra: dict[str, tuple[str, str]] = field(default_factory=dict)  # path: before, after

    def file(self, name: str, columns: tuple[str, ...] = ()) -> TableText:
        """Return one table."""
        if name not in self.files:
            self.files[name] = TableText.open(self.folder, name, columns)
        return self.files[name]

    def changed_files(self) -> Iterator[tuple[str, str, str]]:
        """Yield path, text before and text after, of each file that changes, by name."""
        root = self.folder.name
        results = {f"{root}/{text.name}": (text.before, text.after) for text in self.files.values()}
        for path, (before, after) in sorted((results | self.extra).items()):
            if before != after:
                yield path, before, after

    def patch(self) -> str:
        """Write a patch that ``git apply`` takes, from the folder above the tables."""
        return "".join(
            _diff_file(path, before, after) for path, before, after in self.changed_files()
        )

    def write(self, root: Path) -> list[str]:
        """Write every changed file below ``root``; return their paths."""
        paths = []
        for path, _, after in self.changed_files():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.new")
            part.write_text(after, encoding="utf-8", newline="\n")
            part.replace(target)
            paths.append(path)
        return paths


def _diff_file(path: str, before: str, after: str) -> str:
    changes = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{path}" if before else "/dev/null",
        f"b/{path}",
        n=3,
    )
    lines = list(changes)
    if not lines:
        return ""
    head = f"diff --git a/{path} b/{path}\n" + ("" if before else "new file mode 100644\n")
    text = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return head + text
