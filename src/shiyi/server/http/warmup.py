"""Warm-up: makes the slow pages at start, so that no first reader waits for them."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from flask import Flask
from werkzeug.test import Client

from shiyi.server.i18n import LANGUAGES
from shiyi.server.site.site import Site

# pages that go through the whole base
_PAGES: Final = (
    "/statistics?", "/vocab?", "/vocab/reference?", "/constitution?",
    "/browse?class=MFHSubstance&", "/browse?class=MFHSubstance&tier=tier-textbook&",
    "/dishes?constitution=constitution-yin-deficiency&",
    "/api/ask?q=qwxz&",  # an unknown word goes through every index
)  # fmt: skip
WARMUP: Final = {"shiyi.warmup": True}  # marks a request that no client waits for
_PAUSE: Final = 0.1  # seconds
_IDLE: Final = 0.2  # of a core, which a server without requests does not use


def warm_up(app: Flask, last: Callable[[], None] = lambda: None) -> threading.Thread:
    """Start the query workers, then make what is slow, one after another while nobody asks.

    All of it runs in a thread, ``last`` at the end.
    """
    thread = threading.Thread(target=_warm_up, args=(app, last), daemon=True)
    thread.start()
    return thread


def _warm_up(app: Flask, last: Callable[[], None]) -> None:
    site: Site = app.extensions["shiyi"]
    client = Client(app)

    def query(number: int) -> None:  # each its own: the result of one would serve all
        client.get("/sparql", query_string={"query": f"ASK {{}} # {number}"}).close()

    workers = range(site.settings.query.workers)
    with ThreadPoolExecutor(len(workers) or 1) as pool:
        list(pool.map(query, workers))
    _wait_until_idle()
    site.link("qwxz 枳枸芪")  # loads vectors and pinyin
    for page in _PAGES:
        _wait_until_idle()
        for language in LANGUAGES:
            address, accept = f"{page}lang={language}", {"Accept": "text/html"}
            client.get(address, headers=accept, environ_base=WARMUP).close()
    for task in (site.prepare, last):
        _wait_until_idle()
        task()


def _wait_until_idle() -> None:
    """Wait until this process works on hardly anything: requests come first."""
    share = 1.0
    while share > _IDLE:
        before = time.process_time()
        time.sleep(_PAUSE)
        share = (time.process_time() - before) / _PAUSE
