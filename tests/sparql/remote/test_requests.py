"""A page or an answer asks a store few times, however many claims it rests on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.answering.pipeline import Runtime
from shiyi.server.app import create_app
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support.questions import ask
from tests.tables import from_table


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that a remote store would have had."""
    made: list[str] = []
    match, here = OxigraphStore.match, threading.get_ident()

    def counted(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if threading.get_ident() == here:  # not what is made ahead
                made.append(name)
            return run(*args, **named)

        return call

    def match_each(
        store: OxigraphStore, ends: Any, predicate: Any = None, place: Any = None, to: Any = ()
    ) -> Iterator[Any]:
        for end in ends:
            yield from match(store, end, predicate, None, place)
        for end in to:
            yield from match(store, None, predicate, end, place)

    for name, run in (("match", match), ("match_each", match_each)):
        monkeypatch.setattr(OxigraphStore, name, counted(name, run))
    return made


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    app = create_app(starter_kb)
    with closing(app.extensions["shiyi"]):
        yield app.test_client()


@pytest.fixture(scope="module")
def base(starter_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(starter_kb) as opened:
        yield opened


@from_table
def test_page_needs_few_requests(
    client: FlaskClient, requests: list[str], path: str, most: int
) -> None:
    reply = client.get(path, headers={"Accept": "text/html, */*;q=0.5"})
    assert reply.status_code == 200
    assert 0 < len(requests) <= most


@from_table
def test_answer_needs_few_requests(
    base: KnowledgeBase, requests: list[str], question: str, most: int
) -> None:
    runtime = Runtime.open(base, Settings())
    requests.clear()
    assert ask(runtime, question).citations
    assert 0 < len(requests) <= most
