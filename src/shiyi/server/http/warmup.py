"""Warm-up: makes the slow pages at start, so that no first reader waits for them."""

import threading
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
PREPARE: Final = "shiyi.prepare"  # the extension that makes what curators need; readers come first
WARMUP: Final = {"shiyi.warmup": True}  # marks a request that no client waits for


def warm_up(app: Flask) -> threading.Thread:
    """Start the query workers and the linker's embedding, and make the slow pages, in a thread."""
    thread = threading.Thread(target=_warm_up, args=(app,), daemon=True)
    thread.start()
    return thread


def _warm_up(app: Flask) -> None:
    site: Site = app.extensions["shiyi"]
    client = Client(app)

    def query(number: int) -> None:  # each its own: the result of one would serve all
        client.get("/sparql", query_string={"query": f"ASK {{}} # {number}"}).close()

    workers = range(site.settings.query.workers)
    with ThreadPoolExecutor(len(workers) or 1) as pool:
        list(pool.map(query, workers))
    site.link("qwxz 枳枸芪")  # loads vectors and pinyin
    for page in _PAGES:
        for language in LANGUAGES:
            address, accept = f"{page}lang={language}", {"Accept": "text/html"}
            client.get(address, headers=accept, environ_base=WARMUP).close()
    if prepare := app.extensions.get(PREPARE):
        prepare()
    if not site.writing or not site.writing.remote:  # no request waits until the view is made
        query_rdf11 = {"query": "ASK {}", "format": "csv"}
        client.get("/sparql/rdf11", query_string=query_rdf11, environ_base=WARMUP).close()
