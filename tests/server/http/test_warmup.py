"""The slow pages are made at start."""

from flask import Flask

from shiyi.server.http import warmup
from shiyi.settings import Settings


def test_slow_pages_are_made_at_start() -> None:
    app, asked = Flask(__name__), list[str]()

    class Site:
        settings = Settings()
        writing = None

        def link(self, words: str) -> None:
            asked.append(words)

    app.extensions["shiyi"] = Site()

    @app.get("/<path:page>")
    def page(page: str) -> str:
        asked.append(page)
        return page

    app.extensions[warmup.PREPARE] = lambda: asked.append("queue of curators")
    warmup.warm_up(app).join(30)
    workers = Settings().query.workers
    assert asked[: workers + 1] == [*["sparql"] * workers, "qwxz 枳枸芪"]
    assert len(asked) == workers + 1 + 2 * len(warmup._PAGES) + 2
    assert asked[-2:] == ["queue of curators", "sparql/rdf11"]  # behind all pages of readers
