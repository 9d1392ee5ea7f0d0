"""A page or an answer asks a store few times, however many claims it rests on."""

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shiyi.server.app import create_app
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.tables import cases


def test_pages_and_answers_need_few_requests(
    starter_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    match, here, requests = OxigraphStore.match, threading.get_ident(), [0]

    def count() -> None:
        requests[0] += threading.get_ident() == here  # not what is made ahead

    def one(*parts: Any, **named: Any) -> Any:
        count()
        return match(*parts, **named)

    def each(store: OxigraphStore, ends: Any, p: Any = None, g: Any = None, to: Any = ()) -> Any:
        count()
        patterns = [*((end, p, None, g) for end in ends), *((None, p, end, g) for end in to)]
        return (quad for pattern in patterns for quad in match(store, *pattern))

    monkeypatch.setattr(OxigraphStore, "match", one)
    monkeypatch.setattr(OxigraphStore, "match_each", each)
    app = create_app(starter_kb)
    with closing(app.extensions["shiyi"]):
        for path, most in cases("sparql", "requests"):
            requests[0] = 0
            reply = app.test_client().get(path, headers={"Accept": "text/html, */*;q=0.5"})
            assert (reply.status_code, 0 < requests[0] <= most) == (200, True), path
