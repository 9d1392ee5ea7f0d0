"""The modules that a question runs through, from the route to the reply; imports do not count."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from flask.testing import FlaskClient

import shiyi
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from tests.tables import from_table

PACKAGE = Path(shiyi.__file__).parent
CEILING = 55
BEFORE = (
    "便秘吃什么好？", "夏天闷热喝什么粥好", "我在吃华法林，每天喝绿茶可以吗？", "山药的性味归经是什么？",
)  # fmt: skip


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    site = open_site(starter_kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    for question in BEFORE:  # what is read from files once is not counted
        assert client.get("/api/ask", query_string={"q": question, "lang": "zh"}).status_code == 200
    yield client
    site.close()


@from_table
def test_a_question_runs_through_few_modules(client: FlaskClient, question: str) -> None:
    files = set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        reply = client.get("/api/ask", query_string={"q": question, "lang": "zh"})
    finally:
        sys.setprofile(None)
    assert reply.status_code == 200
    modules = {Path(file) for file in files if Path(file).is_relative_to(PACKAGE)}
    assert PACKAGE / "answering" / "pipeline.py" in modules
    assert len(modules) <= CEILING, sorted(str(path.relative_to(PACKAGE)) for path in modules)
