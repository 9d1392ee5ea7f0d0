"""Our endpoint over a throw-away base, served in this process to real HTTP clients."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shiyi.server.app import create_app
from shiyi.server.counting import counts_of
from shiyi.server.opening import PooledQueries, writing_to
from shiyi.server.site import Site
from shiyi.server.tokens import Tokens
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.workers import QueryPool
from tests.server_site import ask, complete, link, quads
from tests.stopping import stop


@contextmanager
def writable_site(folder: Path, filled: bool = False) -> Iterator[tuple[Site, str]]:
    """A site over a fresh base that takes writes, and a token for it."""
    build_generation(folder / "kb", quads() if filled else [], {})
    tokens = Tokens(folder / "kb")
    secret = tokens.add("tester", "write", 1)
    settings = Settings()
    settings = replace(settings, query=QuerySettings(workers=1, timeout=10))
    with (
        KnowledgeBase.open(folder / "kb", write=True) as base,
        QueryPool(base, settings.query) as pool,
    ):
        writing = writing_to(base, pool, settings, tokens)
        yield Site(
            base.store, ask, link, complete, PooledQueries(pool), base.release, ("fused", "paths"),
            "2026", counts_of(base.store), settings, lambda: None, lambda: base.sequence, writing,
        ), secret  # fmt: skip
        assert writing.updater
        writing.updater.close()


@contextmanager
def endpoint(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of our server over an empty base, and a token that may write to it."""
    from waitress.server import create_server

    with writable_site(folder) as (site, secret):
        server = create_server(create_app(site), map={}, host="127.0.0.1", port=0, threads=4)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.effective_port}", secret
        finally:
            stop(server)
            thread.join(10)
            thread.join(10)
