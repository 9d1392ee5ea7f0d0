"""What a server makes ready at its start gives way to readers, and is made all the same."""

from flask import Flask

from shiyi.server import warming
from shiyi.server.warming import Quiet
from shiyi.settings import Settings


class Clock:
    """A clock that its sleepers set ahead; somebody asks at the times given."""

    def __init__(self, *asked: float) -> None:
        self.now, self.asked = 0.0, list(asked)
        self.quiet = Quiet(lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self.asked and self.asked[0] <= self.now:
            self.asked.pop(0)
            self.quiet.heard()


def test_a_page_is_made_once_nobody_has_asked_for_a_moment() -> None:
    clock = Clock(0.1, 0.2, 0.4, 9.0)
    clock.quiet.wait()
    assert 0.7 <= clock.now < 1.0


def test_where_somebody_asks_all_the_time_a_page_is_made_in_the_end() -> None:
    clock = Clock(*(each / 10 for each in range(1000)))
    clock.quiet.wait()
    assert 20.0 <= clock.now < 21.0


def test_what_is_made_at_the_start_is_no_reader() -> None:
    app, asked = Flask(__name__), list[str]()

    class Site:
        settings = Settings()

        def link(self, words: str) -> None:
            asked.append(words)

    app.extensions["shiyi"] = Site()

    @app.get("/<path:page>")
    def page(page: str) -> str:
        asked.append(page)
        return page

    warming.warm(app).join(30)
    workers = Settings().query.workers
    assert asked[: workers + 1] == [*["sparql"] * workers, "qwxz 枳枸芪"]
    assert len(asked) == workers + 1 + 2 * len(warming._PAGES)
