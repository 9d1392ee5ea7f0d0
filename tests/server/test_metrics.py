"""Counts and times at ``/metrics``, slow requests and queries, health."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.errors import OutsideError
from shiyi.metrics import exposition
from shiyi.prompts.openai import OpenAIChatModel
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import ModelSettings, QuerySettings, ServerSettings, Settings
from shiyi.sparql.base.knowledge_base import build_generation
from tests.support.model_endpoints import serving
from tests.support.sites import quads

LONG = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
SHORT = "ASK { ?s ?p 'nobody says this' }"
SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="[^"]*",?)+)\})? (-?[\d.e+-]+)')


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    kb = tmp_path_factory.mktemp("watched") / "kb"
    build_generation(kb, quads(), {})
    site = open_site(
        kb,
        replace(
            Settings(), query=QuerySettings(workers=1, timeout=0.3), server=ServerSettings(slow=0.2)
        ),
    )
    yield create_app(site).test_client()
    site.close()


def reported(client: FlaskClient) -> dict[str, float]:
    """Read the metrics as a monitor does; each family is announced once, before its samples."""
    read: dict[str, float] = {}
    announced: list[str] = []
    for line in client.get("/metrics").text.splitlines():
        if line.startswith("# TYPE "):
            announced.append(line.split()[2])
        elif not line.startswith("#"):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1].startswith(announced[-1]), line
            assert line.rpartition(" ")[0] not in read
            read[line.rpartition(" ")[0]] = float(sample[3])
    assert len(announced) == len(set(announced))
    return read


def grown(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return after.get(name, 0.0) - before.get(name, 0.0)


def test_each_stage_of_answer_timed_and_answer_counted(client: FlaskClient) -> None:
    before = reported(client)
    assert (
        client.post("/api/ask", json={"question": "is goji safe with warfarin?"}).status_code == 200
    )
    assert client.get("/api/ask?q=goji").status_code == 200
    after = reported(client)
    for stage in ("link", "retrieve", "rank", "answer"):
        assert grown(before, after, f'shiyi_answer_seconds_count{{kind="{stage}"}}') == 2
        assert grown(before, after, f'shiyi_answer_seconds_bucket{{kind="{stage}",le="+Inf"}}') == 2
    made = [key for key in after if key.startswith("shiyi_answers_total")]
    assert sum(grown(before, after, key) for key in made) == 2


def test_cache_hits_and_misses_are_counted(client: FlaskClient) -> None:
    before = reported(client)
    for _ in range(3):
        client.post("/sparql", data={"query": SHORT})
    for _ in range(3):
        client.get("/api/complete?q=gouqi")
    after = reported(client)
    assert grown(before, after, 'shiyi_cache_misses_total{kind="results"}') == 1
    assert grown(before, after, 'shiyi_cache_hits_total{kind="results"}') == 2
    assert grown(before, after, 'shiyi_cache_hits_total{kind="pages"}') == 2


def test_ended_worker_is_counted_as_slow_query(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    before = reported(client)
    with caplog.at_level(logging.WARNING, "shiyi"):
        assert client.post("/sparql", data={"query": f"{LONG} # 张三"}).status_code == 504
        assert client.get("/healthz").status_code == 200
    after = reported(client)
    assert grown(before, after, 'shiyi_worker_kills_total{kind="time"}') == 1
    assert grown(before, after, 'shiyi_slow_total{kind="query"}') == 1
    assert grown(before, after, 'shiyi_slow_total{kind="request"}') == 1
    query, request = (vars(record) for record in caplog.records if "slow" in record.getMessage())
    assert (query["msg"], query["query"], query["outcome"]) == (
        "slow query",
        LONG,
        "QueryLimitError",
    )
    assert (request["msg"], request["route"], request["status"]) == ("slow request", "/sparql", 504)
    assert query["ms"] >= 200 <= request["ms"]


def test_calls_of_model_counted_with_tokens_and_price() -> None:
    settings = ModelSettings(retries=0, price_prompt=2e6, price_completion=3e6)

    def read() -> dict[str, float]:
        text = exposition()[0].decode()
        lines = (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
        return {name: float(value) for name, _, value in lines}

    with serving(faults=["500"]) as server:
        model = OpenAIChatModel("m", server.url, "key", settings)
        before = read()
        with pytest.raises(OutsideError):
            model.complete("anything")
        result = model.complete("anything")
    after = read()
    assert result.prompt_tokens > 0 < result.completion_tokens
    assert grown(before, after, 'shiyi_model_calls_total{kind="BusyError"}') == 1
    assert grown(before, after, 'shiyi_model_calls_total{kind="answered"}') == 1
    assert grown(before, after, 'shiyi_model_seconds_count{kind="answered"}') == 1
    assert grown(before, after, 'shiyi_model_tokens_total{kind="prompt"}') == result.prompt_tokens
    assert (
        grown(before, after, 'shiyi_model_cost_total{kind="completion"}')
        == 3 * result.completion_tokens
    )


def test_processes_that_share_a_folder_are_counted_together(tmp_path: Path) -> None:
    count = "from shiyi.metrics import SHED, exposition\nSHED.labels('queue').inc(2)\n"
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    printed = [
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        ).stdout
        for program in (count, count + "print(exposition()[0].decode())")
    ]
    assert b'shiyi_shed_total{kind="queue"} 4.0' in printed[1]


def test_health_names_the_model_that_is_set(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", quads(), {})
    settings = replace(Settings(), models=ModelSettings(answer="some-model"))
    site = open_site(tmp_path / "kb", settings)
    try:
        assert create_app(site).test_client().get("/healthz").get_json()["model"] == "some-model"
    finally:
        site.close()
