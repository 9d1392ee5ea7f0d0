"""What a remote store costs beside the store of one's own: opening, answers, pages, shipped queries.

``python bench/remote.py KB [ENGINE …] [--size idisk]`` puts the base into each engine that is installed (``oxigraph``,
``virtuoso``), takes the same measures over it as over the base itself, in one run, and prints a table.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from grown import SIZES, grow
from tests.support.remote_servers import Server, oxigraph, virtuoso

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.build import load_remote
from shiyi.errors import ShiyiError
from shiyi.server.app import create_app
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.named import Query, query_names

QUESTIONS: Final = (
    "What can I eat for a cold stomach?",
    "Can I take goji berries with warfarin?",
    "What should I avoid with gout?",
)
PAGES: Final = (
    "/", "/page/substance-gouqizi", "/page/population-pregnant", "/page/drug-warfarin", "/browse",
    "/dishes", "/statistics",
)  # fmt: skip
BULK: Final = ("claims", "concepts", "mappings")  # read by exports, not by people
ENGINES: Final[dict[str, Callable[[Path], AbstractContextManager[Server]]]] = {
    "oxigraph": oxigraph, "virtuoso": partial(virtuoso, buffers=170_000),
}  # fmt: skip


def measures(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the name of each measure and its value."""
    start = time.perf_counter()
    with KnowledgeBase.of(settings) as base:
        runtime = Runtime.open(base, settings)
        yield "open", f"{time.perf_counter() - start:.1f} s"
        answered = [spent(partial(ask, runtime, AskRequest(q))) for q in QUESTIONS]
        yield "first answer, opening included", f"{time.perf_counter() - start:.1f} s"
        yield "first time of each question, at most", f"{max(answered):.2f} s"
        warm = [spent(partial(ask, runtime, AskRequest(q))) for q in QUESTIONS * 5]
        yield "the same again, median", f"{statistics.median(warm) * 1000:.0f} ms"
        if settings.store:
            shared = replace(settings, remote=replace(settings.remote, shared=True))
            yield "open where others write too", f"{spent(partial(open_runtime, shared)):.1f} s"
        names = [n for n in query_names() if n not in BULK and "SELECT" in Query.named(n).text]
        took, failed = dict[str, float](), list[str]()
        for name in names:
            try:
                took[name] = spent(partial(count_rows, base, name))
            except ShiyiError:
                failed.append(f"`{name}`")
        slowest = max(took, key=took.__getitem__)
        yield "shipped queries, median", f"{statistics.median(took.values()):.2f} s of {len(took)}"
        yield "shipped queries that failed", ", ".join(failed) or "none"
        yield "shipped queries, slowest", f"{took[slowest]:.1f} s, `{slowest}`"
    app = create_app(settings.kb, settings)
    with closing(app.extensions["shiyi"]):
        client = app.test_client()
        for name in ("pages, first view", "pages, again"):
            seen = {page: spent(partial(client.get, page)) for page in PAGES}
            slowest = max(seen, key=seen.__getitem__)
            yield f"{name}, slowest", f"{seen[slowest]:.2f} s, `{slowest}`"


def count_rows(base: KnowledgeBase, name: str) -> int:
    """Count the rows of a shipped query."""
    return sum(1 for _ in base.store.select(Query.named(name).text))


def open_runtime(settings: Settings) -> None:
    """Open what answers questions."""
    with KnowledgeBase.of(settings) as base:
        Runtime.open(base, settings)


def spent(run: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@contextmanager
def remote_settings(engine: str, kb: Path) -> Iterator[tuple[Settings, float]]:
    """Yield settings for a copy of the base over an engine, and the seconds to put it there."""
    with tempfile.TemporaryDirectory(prefix="shiyi-remote-") as folder:
        own = Path(folder) / "kb"
        shutil.copytree(kb, own, ignore=shutil.ignore_patterns("snapshots", "*.jsonl"))
        with ENGINES[engine](Path(folder) / "store") as (address, remote):
            remote = replace(remote, timeout=300.0, shared=False)
            settings = replace(Settings(), kb=own, store=address, remote=remote)
            yield settings, spent(lambda: load_remote(settings))


def reported(store: str, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the measures, each also named as it is known: a large base takes an hour."""
    for name, value in measures(settings):
        print(f"{store}: {name}: {value}", file=sys.stderr, flush=True)
        yield name, value


def main(kb: Path, engines: Iterable[str]) -> None:
    """Print a table of one column a store."""
    table = {"embedded": dict(reported("embedded", replace(Settings(), kb=kb)))}
    for engine in engines:
        with remote_settings(engine, kb) as (settings, seconds):
            print(f"{engine} holds the base after {seconds:.0f} s", file=sys.stderr, flush=True)
            table[engine] = {
                "put the base there": f"{seconds:.0f} s",
                **dict(reported(engine, settings)),
            }
    print(f"| | {' | '.join(table)} |\n{'|---' * (len(table) + 1)}|")
    for name in table[[*table][-1]]:
        print(f"| {name} | {' | '.join(record.get(name, '') for record in table.values())} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", type=Path)
    parser.add_argument("engines", nargs="*", default=[*ENGINES])
    parser.add_argument("--size", choices=SIZES, help="the base grown by made-up claims")
    given = parser.parse_args()
    where = Path(__file__).parent / "results" / "grow"
    main(grow(given.kb, *SIZES[given.size], where) if given.size else given.kb, given.engines)
