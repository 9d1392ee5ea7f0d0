"""What the first reader would wait for is made while the server starts, and gives way to readers."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from flask import Flask
from werkzeug.test import Client

from shiyi.server.site import Site
from shiyi.server.wording import LANGUAGES

# pages that go through the whole base; what they are made from serves the others too
_PAGES: Final = (
    "/statistics?", "/vocab?", "/vocab/reference?", "/constitution?",
    "/browse?class=MFHSubstance&", "/browse?class=MFHSubstance&tier=tier-textbook&",
    "/dishes?constitution=constitution-yin-deficiency&",
    "/api/ask?q=qwxz&",  # of something unknown: all is looked through that answers are made from
)  # fmt: skip
_HTML: Final = {"Accept": "text/html"}
OF_OURSELVES: Final = {"shiyi.warming": True}  # what marks a request that nobody waits for
_QUIET: Final = 0.3  # seconds without a request, after which a page is made (ours)
_PATIENCE: Final = 20.0  # seconds that a page waits for them at most (ours)


class Quiet:
    """Knows when a reader last asked for something."""

    def __init__(
        self, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Begin as if somebody had just asked: a server starts because it is wanted."""
        self._now, self._sleep = now, sleep
        self._last = now()

    def heard(self) -> None:
        """Note a request."""
        self._last = self._now()

    def wait(self) -> None:
        """Wait until nobody asks for a moment, but not for ever."""
        until = self._now() + _PATIENCE
        while self._now() < min(until, self._last + _QUIET):
            self._sleep(_QUIET / 3)


def warm(app: Flask) -> threading.Thread:
    """Load the linker's embedding and make the slow pages in both languages, while nobody asks."""
    quiet = Quiet()
    made = threading.Thread(target=_warm, args=(app, quiet.wait), daemon=True)

    answer = app.wsgi_app

    def heard(environ: Any, start: Any) -> Any:
        if threading.current_thread() is not made:
            quiet.heard()
        return answer(environ, start)

    app.wsgi_app = heard  # type: ignore[assignment, method-assign]
    made.start()
    return made


def _ask(app: Flask, number: int) -> None:
    query = f"ASK {{}} # {number}"  # each its own, or the first reply would do for all
    Client(app).get("/sparql", query_string={"query": query}).close()


def warm_first(app: Flask) -> None:
    """Make the same before anybody asks; for a server that others stand in for meanwhile."""
    _warm(app, lambda: None)


def _warm(app: Flask, wait: Callable[[], None]) -> None:
    site: Site = app.extensions["shiyi"]
    reader = Client(app)
    workers = range(site.settings.query.workers)
    with ThreadPoolExecutor(len(workers) or 1) as pool:  # each opens the base for its first query
        list(pool.map(lambda number: _ask(app, number), workers))
    wait()
    # to guess at Latin letters and at characters: vectors, and how each is spoken
    site.link("qwxz 枳枸芪")
    for page in _PAGES:
        for language in LANGUAGES:
            wait()
            reader.get(f"{page}lang={language}", headers=_HTML, environ_base=OF_OURSELVES).close()
