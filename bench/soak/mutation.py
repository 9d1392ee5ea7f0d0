"""Faults planted in the source one at a time, and whether a test notices: ``python -m soak.mutation``.

Statements are left out, conditions turned round, comparisons, connectives and numbers changed, in
what stores, admits, confines and warns. The kept tools (mutmut, cosmic-ray) leave out no statements,
and so plant none of the faults that matter here, such as a missing fsync.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.places import DATA, ROOT

# what is changed, and the tests that ought to notice, the likeliest first
_DISK: Final = (
    "tests/sparql/base",
    "tests/sparql/updates/test_update.py",
    "tests/resilience/test_soak.py",
)
_DESKS: Final = ("tests/server/curating/test_sign_in.py", "tests/server/curating/test_routes.py",
    "tests/server/site/test_tokens.py", "tests/resilience/test_clock.py",
    "tests/security/test_routes.py")  # fmt: skip
_WORKERS: Final = (
    "tests/sparql/sandbox",
    "tests/sparql/updates",
    "tests/resilience/test_faults.py",
)
_WARNINGS: Final = ("tests/answering/test_safety.py", "tests/answering/recommendation",
    "tests/answering/test_pipeline.py")  # fmt: skip
TARGETS: Final = {
    "sparql/base/journal.py": _DISK, "sparql/base/writer.py": _DISK, "sparql/base/backups.py": _DISK,
    "sparql/base/knowledge_base.py": _DISK, "sparql/base/digests.py": _DISK,
    "sparql/base/integrity.py": _DISK, "sparql/store/files.py": (*_DISK, *_DESKS),
    "sparql/store/snapshots.py": (*_DISK, *_WORKERS),
    "sparql/store/visibility.py": ("tests/server/site/test_visibility.py", *_WORKERS),
    "sparql/updates/update.py": ("tests/sparql/updates", "tests/server/site/test_tokens.py"),
    "sparql/sandbox/confinement.py": _WORKERS, "sparql/sandbox/worker.py": _WORKERS, "sparql/sandbox/effects.py": _WORKERS,
    "sparql/sandbox/process.py": _WORKERS,
    "server/http/access.py": _DESKS, "server/site/tokens.py": _DESKS,
    "server/curating/session.py": _DESKS, "server/curating/sign_in.py": _DESKS,
    "curation/accounts.py": _DESKS,
    "answering/safety.py": _WARNINGS, "answering/recommendation/cautions.py": _WARNINGS,
    "answering/recommendation/additive_effects.py": _WARNINGS,
}  # fmt: skip
EQUIVALENT: Final = DATA / "mutants-equivalent.tsv"  # faults that change nothing, with reasons
_SECONDS: Final = 900.0  # for the tests of one fault
_SWAPPED: Final = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_QUIET: Final = ("_LOG.", "log.", "SLOW.", "REQUESTS.", "super().__init__")  # not worth a test


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One planted fault: a stretch of a module's source, and what stands there instead."""

    module: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def planted(self, source: str) -> str:
        """Return the module's source with the fault."""
        return source[: self.start] + self.new + source[self.end :]


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every fault that can be planted in a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    content = source.encode()

    def place(node: ast.AST, new: str) -> Mutant:
        start = len(content[: starts[node.lineno - 1] + node.col_offset].decode())  # type: ignore[attr-defined] # has a place
        end = len(content[: starts[node.end_lineno - 1] + node.end_col_offset].decode())  # type: ignore[attr-defined] # has a place
        return Mutant(module, node.lineno, start, end, source[start:end], new)  # type: ignore[attr-defined] # has a place

    found = {place(node, new) for node, new in _changes(ast.parse(source), source)}
    return sorted(each for each in found if not each.old.startswith(_QUIET))


def _changes(tree: ast.Module, source: str) -> Iterator[tuple[ast.AST, str]]:
    def text(node: ast.AST) -> str:
        return ast.get_source_segment(source, node) or ""

    for node in _inside(tree):
        if _is_left_out(node):
            yield node, "pass"
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test, f"(not ({text(node.test)}))"
        elif isinstance(node, ast.comprehension):
            yield from ((test, f"(not ({text(test)}))") for test in node.ifs)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = text(node.left), text(node.comparators[0])
            yield node, f"({left} {_SWAPPED[type(node.ops[0])]} {right})"
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield node, f"({word.join(f'({text(each)})' for each in node.values)})"
        elif isinstance(node, ast.Constant) and _is_small(node.value):
            yield node, f"({node.value!r} + 1)"


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return not isinstance(node.targets[0], ast.Name | ast.Tuple)
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call or isinstance(node, ast.Raise | ast.AugAssign | ast.Delete)


def _is_small(value: object) -> bool:
    """Return whether a value is a number, and no round one, which is the size of a cache or so."""
    if type(value) is not int:
        return False
    return value < 100 or not (value % 100 == 0 or value & (value - 1) == 0)


def _inside(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what runs: neither annotations nor what stands in messages."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "type_params"} or isinstance(node, ast.JoinedStr):
                continue
            inner = value if isinstance(value, list) else [value]
            left += [each for each in inner if isinstance(each, ast.AST)]


def drawn(count: int, seed: int) -> list[Mutant]:
    """Draw mutants from all modules, each as often as it has any, without those that change nothing."""
    known = {tuple(row[:3]) for row in equivalent()}
    every = [
        each
        for module in TARGETS
        for each in mutants(module, (ROOT / "src/shiyi" / module).read_text("utf-8"))
        if (each.module, " ".join(each.old.split()), " ".join(each.new.split())) not in known
    ]
    chance = random.Random(f"{seed} mutants")  # noqa: S311 - places, not secrets
    return sorted(chance.sample(every, min(count, len(every))))


def equivalent() -> list[list[str]]:
    """Read the faults that no test can notice: module, old, new, reason."""
    lines = EQUIVALENT.read_text("utf-8").splitlines() if EQUIVALENT.exists() else []
    return [line.split("\t") for line in lines[1:]]


def plant(count: int, seed: int, show: bool = False) -> dict[str, Any]:
    """Plant faults in a copy of the source, one at a time; return how many the tests noticed."""
    lived, noticed, seconds = list[str](), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy.mkdir()
        for each in ROOT.iterdir():
            if each.name == "src":
                shutil.copytree(each, copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
            elif each.name not in {".git", "build", "kb"}:
                (copy / each.name).symlink_to(each)
        for mutant in drawn(count, seed):
            path = copy / "src/shiyi" / mutant.module
            sound, began = path.read_text("utf-8"), time.monotonic()
            path.write_text(mutant.planted(sound), "utf-8")
            seen = _is_noticed(copy, mutant.module)
            path.write_text(sound, "utf-8")
            seconds += time.monotonic() - began
            noticed += seen
            name = f"{mutant.module}:{mutant.line}\t{' '.join(mutant.old.split())[:120]}\t{mutant.new[:120]}"
            lived += [] if seen else [name]
            if show:
                word = "noticed" if seen else "LIVED"
                sys.stdout.write(f"{word}\t{time.monotonic() - began:.0f}\t{name}\n")
                sys.stdout.flush()
    return {"planted": count, "noticed": noticed, "lived": lived}


def _is_noticed(copy: Path, module: str) -> bool:
    environment = os.environ | {
        "PYTHONPATH": f"{copy / 'src'}:{copy}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "--timeout=300")
    for tests in TARGETS[module]:
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter
                [sys.executable, "-m", "pytest", *options, tests],
                cwd=copy,
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        if done.returncode:
            return True
    return False


def main() -> int:
    """Plant faults; status 1 where fewer than 95 in 100 are noticed."""
    parser = argparse.ArgumentParser(prog="python -m soak.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261121)
    chosen = parser.parse_args()
    row = plant(chosen.count, chosen.seed, show=True)
    sys.stdout.write(f"{json.dumps({**row, 'lived': len(row['lived'])})}\n")
    return int(row["noticed"] < 0.95 * row["planted"])


if __name__ == "__main__":
    sys.exit(main())
