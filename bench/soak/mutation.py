"""Faults planted in the source one at a time, and whether a test notices: ``python -m soak.mutation``.

Statements are left out, conditions negated, comparisons, connectives and numbers changed, in what
stores, admits, confines and warns. The usual tools (mutmut, cosmic-ray) leave out no statements, and
so plant none of the faults that matter here, such as a missing fsync.

A fault is first shown to the tests that run its line, by a map that coverage.py makes once, the
quickest first; where there are none, to all tests of its module, since workers and killed processes
leave no coverage. Results go to a file, and a later run continues it.
"""

import argparse
import ast
import hashlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from tests.support.places import ROOT

# what is changed, and the tests that ought to notice
_DISK: Final = ("tests/sparql/base", "tests/sparql/updates", "tests/resilience/test_soak.py")
_DESKS: Final = ("tests/server/curating/test_sign_in.py", "tests/server/curating/test_routes.py",
    "tests/server/site/test_tokens.py", "tests/resilience/test_clock.py",
    "tests/security/test_routes.py")  # fmt: skip
_WORKERS: Final = (
    "tests/sparql/sandbox",
    "tests/sparql/updates",
    "tests/resilience/test_faults.py",
)
_VISIBLE: Final = ("tests/server/site/test_visibility.py", *_WORKERS)
_WARNINGS: Final = ("tests/answering/test_safety.py", "tests/answering/recommendation",
    "tests/answering/sections/test_cabinet.py", "tests/answering/test_pipeline.py")  # fmt: skip
TARGETS: Final = {
    "sparql/base/journal.py": _DISK, "sparql/base/writer.py": _DISK, "sparql/base/backups.py": _DISK,
    "sparql/base/knowledge_base.py": (*_DISK, "tests/sparql/remote"), "sparql/base/digests.py": _DISK,
    "sparql/base/integrity.py": _DISK, "sparql/store/files.py": (*_DISK, *_DESKS),
    "sparql/store/snapshots.py": (*_DISK, *_WORKERS), "sparql/store/visibility.py": _VISIBLE,
    "sparql/updates/update.py": (*_WORKERS, "tests/server/site/test_tokens.py"),
    "sparql/sandbox/confinement.py": _WORKERS, "sparql/sandbox/worker.py": _WORKERS,
    "sparql/sandbox/effects.py": _WORKERS, "sparql/sandbox/process.py": _WORKERS,
    "server/http/access.py": _DESKS, "server/http/rate_limit.py": _DESKS,
    "server/site/tokens.py": _DESKS,
    "server/curating/session.py": _DESKS, "server/curating/sign_in.py": _DESKS,
    "curation/accounts.py": _DESKS,
    "answering/safety.py": _WARNINGS, "answering/recommendation/cautions.py": _WARNINGS,
    "answering/recommendation/additive_effects.py": _WARNINGS,
}  # fmt: skip
EQUIVALENT: Final = (
    ROOT / "bench/tables/equivalent-mutants.tsv"
)  # changes nothing that a test could see
_SECONDS: Final = 900.0  # for the tests of one fault
_UNKNOWN: Final = 3.0  # seconds, of a test that no map has
_FIRST: Final = 30  # tests, most likely to notice it and of few modules, that run before the others
_OTHERS: Final = 450.0  # seconds, of tests that do not run a fault's lines in their own process
_SWAPPED: Final = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_QUIET: Final = ("_LOG.", "log.", "SLOW.", "REQUESTS.", "super().__init__")  # not worth a test
_OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--timeout=300",
    "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
_COST = re.compile(r"^([\d.]+)s (?:setup|call|teardown) +(\S+?::\w+)", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_PACKAGE: Final = {"shiyi", "soak", "tests"}
_LIBRARIES: Final = ("flask_babel", "hypothesis", "numpy", "openai", "prometheus_client", "psutil",
    "pydantic_settings", "pyoxigraph", "snowballstemmer", "tantivy", "typer", "waitress")  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One planted fault: a stretch of a module's source, and what stands there instead."""

    module: str
    line: int
    last: int
    start: int
    end: int
    scope: str
    old: str
    new: str

    def plant(self, source: str) -> str:
        """Return the module's source with the fault."""
        return source[: self.start] + self.new + source[self.end :]

    @property
    def name(self) -> tuple[str, str, str, str]:
        """Return what names the fault, wherever its lines stand."""
        return self.module, self.scope, " ".join(self.old.split()), " ".join(self.new.split())


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every fault that can be planted in a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    content = source.encode()

    def place(scope: str, node: ast.AST, new: str) -> Mutant:
        start = len(content[: starts[node.lineno - 1] + node.col_offset].decode())  # type: ignore[attr-defined] # has a place
        last: int = node.end_lineno  # type: ignore[attr-defined] # has a place
        end = len(content[: starts[last - 1] + node.end_col_offset].decode())  # type: ignore[attr-defined] # has a place
        return Mutant(module, node.lineno, last, start, end, scope, source[start:end], new)  # type: ignore[attr-defined] # has a place

    found = {place(scope, node, new) for scope, node, new in _changes(ast.parse(source), source)}
    numbers, named = Counter[object](), list[Mutant]()
    for each in sorted(each for each in found if not each.old.startswith(_QUIET)):
        numbers[each.name] += 1
        more = f"#{numbers[each.name]}" if numbers[each.name] > 1 else ""
        named.append(replace(each, scope=each.scope + more))
    return named


def _changes(tree: ast.Module, source: str) -> Iterator[tuple[str, ast.AST, str]]:
    def text(node: ast.AST) -> str:
        return ast.get_source_segment(source, node) or ""

    for scope, node in _inside(tree):
        if _is_left_out(node):
            yield scope, node, "pass"
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield scope, node.test, f"(not ({text(node.test)}))"
        elif isinstance(node, ast.comprehension):
            yield from ((scope, test, f"(not ({text(test)}))") for test in node.ifs)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = text(node.left), text(node.comparators[0])
            yield scope, node, f"(({left}) {_SWAPPED[type(node.ops[0])]} ({right}))"
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield scope, node, f"({word.join(f'({text(each)})' for each in node.values)})"
        elif isinstance(node, ast.Constant) and _is_small(node.value):
            yield scope, node, f"({node.value!r} + 1)"


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


def _inside(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield what runs, with the name of what it stands in: no annotations, nothing in messages."""
    left: list[tuple[str, ast.AST]] = [("", tree)]
    while left:
        scope, node = left.pop()
        yield scope, node
        if isinstance(node, _SCOPES):
            scope = f"{scope}.{node.name}".lstrip(".")
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "type_params"} or isinstance(node, ast.JoinedStr):
                continue
            inner = value if isinstance(value, list) else [value]
            left += [(scope, each) for each in inner if isinstance(each, ast.AST)]


def draw_mutants(count: int, seed: int) -> list[Mutant]:
    """Draw mutants from all modules, each equally likely, without those that change nothing.

    The order depends on each fault alone, so a change of the source moves no other fault.
    """
    known, order = {tuple(row[:4]) for row in equivalent()}, {}
    for module in TARGETS:
        for each in mutants(module, (ROOT / "src/shiyi" / module).read_text("utf-8")):
            if each.name not in known:
                order[each] = hashlib.sha256(repr((seed, *each.name)).encode()).digest()
    return sorted(order, key=lambda each: order[each])[:count]


def equivalent() -> list[list[str]]:
    """Read the faults that no test can notice: module, scope, old, new, reason."""
    lines = EQUIVALENT.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


def make_map(folder: Path, tests: Iterable[str]) -> None:
    """Run tests once to see which lines of the targets each of them runs."""
    place = folder / f"map{len(list(folder.glob('map*')))}"
    shutil.copytree(ROOT / "src/shiyi", place / "source")
    included = "\n    ".join(f"src/shiyi/{module}" for module in TARGETS)
    (place / "rc").write_text(
        f"[run]\nrelative_files = True\ndata_file = {place / 'data'}\ninclude =\n    {included}\n"
    )
    words = ("--cov", f"--cov-config={place / 'rc'}", "--cov-context=test", "--cov-report=")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "pytest", *_OPTIONS, *words, "--durations=0", "-vv", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    (place / "log").write_text(done.stdout, "utf-8")
    if done.returncode > 1:  # some tests may fail beside other work
        raise RuntimeError(f"no test ran: {done.stdout[-2000:]}{done.stderr[-2000:]}")


class CoverageMap:
    """Which tests run which lines, and how long each takes: one map or several, the last of which
    has what was written since.
    """

    def __init__(self, folder: Path) -> None:
        """Read the maps in a folder; where there is none, run all tests once to make it."""
        from coverage import CoverageData

        if not any(folder.glob("map*")):
            make_map(folder, dict.fromkeys(each for every in TARGETS.values() for each in every))
        self._noticed: dict[str, Counter[str]] = defaultdict(Counter)
        self._costs: dict[str, float] = defaultdict(lambda: _UNKNOWN)
        self._known = set[str]()
        self._maps = list[tuple[CoverageData, Path]]()
        for each in sorted(folder.glob("map*")):
            costs: dict[str, float] = defaultdict(float)
            for seconds, test in _COST.findall((each / "log").read_text("utf-8")):
                costs[test] += float(seconds)
            self._costs |= costs
            self._known |= set(costs)
            self._maps.append((CoverageData(str(each / "data")), each / "source"))
            self._maps[-1][0].read()

    @cache  # noqa: B019 - one a run
    def _contexts(self, module: str) -> dict[int, set[str]]:
        """Return the tests of each line, wherever it stood when a map was made."""
        found: dict[int, set[str]] = defaultdict(set)
        new = (ROOT / "src/shiyi" / module).read_text("utf-8").splitlines()
        for data, source in self._maps:
            lines = data.contexts_by_lineno(f"src/shiyi/{module}")
            old = (source / module).read_text("utf-8").splitlines()
            for block in SequenceMatcher(None, old, new).get_matching_blocks():
                for at in range(block.size):
                    found[block.b + at + 1].update(lines.get(block.a + at + 1, ()))
        return found

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a fault's lines, or may, the quickest first."""
        found = self._covering_tests(mutant) | self._unknown(mutant.module)
        return self._sort_tests(found, mutant.module)

    def _covering_tests(self, mutant: Mutant) -> set[str]:
        lines = self._contexts(mutant.module)
        found = {
            re.split(r"[|\[]", context)[0]
            for line in range(mutant.line, mutant.last + 1)
            for context in lines.get(line, ())
        }
        return found & _all_tests()  # some may have gone since a map was made

    @cache  # noqa: B019 - one a run
    def _unknown(self, module: str) -> set[str]:
        """Return tests that were written after the maps, beside those that run the module."""
        beside = {test.split("::")[0] for each in self._contexts(module).values() for test in each}
        named = beside | set(TARGETS[module])
        return {test for test in _tests_of(module) - self._known if test.split("::")[0] in named}

    def note(self, module: str, test: str) -> None:
        """Note which test noticed a fault of a module: it goes first with the next one."""
        self._noticed[module][test.partition("[")[0]] += 1

    def others(self, mutant: Mutant, run: Iterable[str]) -> list[str]:
        """Return tests for what runs in workers alone, and for what is synced before a power cut."""
        tests, seconds, found = {*run}, 0.0, list[str]()
        if self._covering_tests(mutant) and "sync" not in mutant.old:
            return []
        for each in self._sort_tests(_tests_of(mutant.module) - tests, mutant.module):
            seconds += self._costs[each]
            found += [each] if seconds < _OTHERS else []
        return found

    def _sort_tests(self, tests: Iterable[str], module: str) -> list[str]:
        noticed, own = self._noticed[module], f"/test_{Path(module).stem}.py::"
        return sorted(tests, key=lambda t: (-noticed[t], own not in t, self._costs[t], t))


@cache
def _all_tests() -> set[str]:
    return set().union(*map(_tests_of, TARGETS))


@cache
def _tests_of(module: str) -> set[str]:
    found = set[str]()
    for place in (ROOT / each for each in TARGETS[module]):
        for file in place.rglob("test_*.py") if place.is_dir() else (place,):
            name = file.relative_to(ROOT).as_posix()
            tests = re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
            found |= {f"{name}::{test}" for test in tests}
    return found


class Copy:
    """A copy of the tree, in which one fault at a time is planted."""

    def __init__(self, folder: Path) -> None:
        """Copy the source, compiled as it is; link everything else."""
        self.folder, self._log = folder / "tree", folder / "log"
        self._fit: dict[str, bool] = {}  # which tests pass alone, where nothing is planted
        self.folder.mkdir()
        for each in ROOT.iterdir():
            if each.name == "src":
                shutil.copytree(each, self.folder / "src")
            elif each.name not in {".git", ".hypothesis", "build", "kb"}:
                (self.folder / each.name).symlink_to(each)
        for name in _LIBRARIES:  # the processes that run tests are forked from this one
            import_module(name)

    def find_noticing_test(self, mutant: Mutant, cover: CoverageMap) -> str:
        """Return the test that notices a fault; nothing where none does."""
        path = self.folder / "src/shiyi" / mutant.module
        sound = path.read_text("utf-8")
        covering = cover.tests(mutant)
        first, later = covering[:_FIRST], covering[_FIRST:]
        try:
            for tests in (first, later, cover.others(mutant, covering)):
                left = [each for each in tests if self._fit.get(each, True)]
                self._write(path, mutant.plant(sound))
                while found := self._failing_test(left):
                    test = found.partition("[")[0]
                    if test not in self._fit:  # it may need a test that did not run
                        self._write(path, sound)
                        self._fit[test] = not self._failing_test([test] if test in left else [])
                        self._write(path, mutant.plant(sound))
                    if self._fit[test]:
                        return found
                    sys.stderr.write(f"{test} fails where nothing is planted\n")
                    left.remove(test)
        finally:
            self._write(path, sound)
        return ""

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def _failing_test(self, tests: list[str]) -> str:
        if not tests:
            return ""
        process = multiprocessing.get_context("fork").Process(target=self._run, args=(tests,))
        process.start()
        process.join(_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            return "no end"
        if not process.exitcode:
            return ""
        text = self._log.read_text("utf-8")
        if found := _FAILED.search(text):
            return found[1]
        assert process.exitcode < 0, f"no test ran: {text[-2000:]}"  # else it died of a signal
        return f"signal {-process.exitcode}"

    def _run(self, tests: list[str]) -> None:
        """Run tests in this process, with the modules of the copy."""
        for name in [each for each in sys.modules if each.split(".")[0] in _PACKAGE]:
            del sys.modules[name]
        paths = [str(self.folder / "src"), str(self.folder)]
        sys.path[:0], os.environ["PYTHONPATH"] = paths, os.pathsep.join(paths)
        os.chdir(self.folder)
        with self._log.open("wb") as log:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
        status = pytest.main([*_OPTIONS, "-x", *tests])
        sys.stdout.flush()
        os._exit(int(status))


def plant(chosen: list[Mutant], folder: Path, minutes: float) -> Counter[str]:
    """Plant faults that have no result yet; return how many were noticed, lived, or were not run."""
    results = folder / "results.tsv"
    known = dict[tuple[str, ...], str]()
    until = time.monotonic() + minutes * 60
    with tempfile.TemporaryDirectory() as home:
        cover, copy = CoverageMap(folder), Copy(Path(home))
        for word, *name, by in _read(results):
            known[tuple(name)] = word
            cover.note(name[0], by)
        for mutant in chosen:
            if mutant.name in known or time.monotonic() > until:
                continue
            began = time.monotonic()
            by = copy.find_noticing_test(mutant, cover)
            cover.note(mutant.module, by)
            known[mutant.name] = word = "noticed" if by else "lived"
            row = (word, *mutant.name, str(mutant.line), f"{time.monotonic() - began:.0f}", by)
            with results.open("a", encoding="utf-8") as out:
                out.write("\t".join(row) + "\n")
    return Counter(known.get(each.name, "not run") for each in chosen)


def _read(results: Path) -> Iterator[list[str]]:
    """Yield the results of earlier runs: whether it was noticed, the fault, and by which test."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    for line in lines:
        word, module, scope, old, new, _, _, by = line.split("\t")
        yield [word, module, scope, old, new, by]


def main() -> int:
    """Plant faults; status 1 where fewer than 95 in 100 are noticed."""
    parser = argparse.ArgumentParser(prog="python -m soak.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no fault afterwards")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants", help="maps, results")
    parser.add_argument("--map", nargs="+", help="only run these tests, for one more map")
    chosen = parser.parse_args()
    if chosen.map:
        make_map(chosen.folder, chosen.map)
        return 0
    row = plant(draw_mutants(chosen.count, chosen.seed), chosen.folder, chosen.minutes)
    run = row["noticed"] + row["lived"]
    sys.stdout.write(f"{row['noticed']} of {run} noticed, {row['not run']} not run\n")
    return int(row["noticed"] < 0.95 * run)


if __name__ == "__main__":
    sys.exit(main())
