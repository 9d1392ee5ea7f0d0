"""The slow pages are made at start, when nobody asks for anything."""

import time

import pytest
from flask import Flask

from shiyi.server.http import warmup
from shiyi.settings import Settings


def test_slow_pages_made_at_start_while_server_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    app, asked = Flask(__name__), list[str]()
    used = [0.0, 1.0, 2.0]  # seconds of the processor: busy twice, then idle
    monkeypatch.setattr(warmup, "_PAUSE", 0.001)
    monkeypatch.setattr(time, "process_time", lambda: used.pop(0) if len(used) > 1 else used[0])

    class Site:
        settings = Settings()
        writing = None

        def link(self, words: str) -> None:
            assert len(used) == 1  # it waited
            asked.append(words)

        def prepare(self) -> None:
            asked.append("prepare")

    app.extensions["shiyi"] = Site()

    @app.get("/<path:page>")
    def page(page: str) -> str:
        asked.append(page)
        return page

    warmup.warm_up(app, lambda: asked.append("last")).join(30)
    workers = Settings().query.workers
    assert asked[: workers + 1] == [*["sparql"] * workers, "qwxz 枳枸芪"]
    assert len(asked) == workers + 1 + 2 * len(warmup._PAGES) + 2
    assert asked[-2:] == ["prepare", "last"]  # behind all pages of readers
