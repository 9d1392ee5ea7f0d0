"""The server for assistants, called over standard input and output by the official client."""

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason='needs pip install "shiyi[mcp]"')


def run(kb: Path, use: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start ``shiyi mcp`` as an assistant does, and call ``use`` with a client of it."""

    async def call() -> Any:
        command = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "shiyi", "--kb", str(kb), "mcp"],
            env=dict(os.environ),
        )
        async with mcp.Client(command, read_timeout_seconds=60) as client:
            return await use(client)

    return asyncio.run(call())


def test_an_assistant_asks_searches_explains_and_queries(starter_kb: Path) -> None:
    async def use(client: Any) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        vocabulary = await client.read_resource("shiyi://vocabulary")
        examples = await client.read_resource("shiyi://examples")
        prompt = await client.get_prompt("sparql_query", {"question": "Which foods are warm?"})
        concepts = await client.call_tool("search", {"words": "枸杞", "limit": 3})
        query = (
            "PREFIX shiyi: <https://w3id.org/shiyi/vocab#> "
            "PREFIX search: <https://w3id.org/shiyi/search#> SELECT ?c ?n { ?c a shiyi:Claim ; "
            "shiyi:confidence ?n SERVICE <https://w3id.org/shiyi/search> { ?c search:words 'goji' }"
            " } ORDER BY DESC(?n) ?c LIMIT 1"
        )
        rows = await client.call_tool("query", {"sparql": query})
        [row] = rows.structured_content["results"]["bindings"]
        return {
            "tools": {tool.name: tool for tool in tools},
            "instructions": client.instructions,
            "found": concepts.structured_content,
            "row": row,
            "vocabulary": vocabulary.contents[0].text,
            "examples": json.loads(examples.contents[0].text),
            "prompt": prompt.messages[0].content.text,
            "claim": (
                await client.call_tool("claim", {"iri": row["c"]["value"]})
            ).structured_content,
            "answer": await client.call_tool(
                "ask",
                {
                    "question": "枸杞子和华法林可以一起吃吗？",
                    "profile": {"medicines": ["warfarin"]},
                },
            ),
        }

    got = run(starter_kb, use)
    assert set(got["tools"]) == {"ask", "search", "claim", "query"}
    assert all(each.annotations.read_only_hint for each in got["tools"].values())
    for item in got["tools"].values():
        assert item.output_schema
        assert all("description" in one for one in item.input_schema["properties"].values())
    language = got["tools"]["ask"].input_schema["properties"]["language"]
    assert language["enum"] == ["", "zh", "en"]
    assert "does not mean" in got["instructions"]
    assert "shiyi:interactsWith" in got["vocabulary"]
    assert len(got["vocabulary"]) < 100_000
    assert {"question", "sparql"} == set(got["examples"][0])
    assert "Which foods are warm?" in got["prompt"]
    assert any("枸杞" in each["label_zh"] for each in got["found"]["concepts"])
    assert got["claim"]["confidence"] == float(got["row"]["n"]["value"])
    assert got["claim"]["evidence"]
    answer = got["answer"].structured_content
    assert answer["release"].startswith("sha256:")
    assert answer["warnings"]
    assert "trace" not in answer
    assert 1 <= len(answer["citations"]) <= 8
    assert all(each["sources"] for each in answer["citations"])
    assert len(got["answer"].content[0].text) < 6_000
    assert json.loads(got["answer"].content[0].text) == answer


def test_a_refused_call_names_the_fault(starter_kb: Path) -> None:
    async def use(client: Any) -> list[Any]:
        calls = (
            ("query", {"sparql": "SELECT * {"}),
            ("query", {"sparql": "DROP ALL"}),
            ("claim", {"iri": "https://example.org/none"}),
            ("claim", {"iri": "no iri"}),
            ("ask", {"question": " "}),
            ("ask", {"question": "x", "profile": {"age": "old"}}),
            ("search", {"words": "a", "limit": 1000}),
            ("query", {"sparql": "SELECT * { ?s ?p ?o } LIMIT 501"}),
            ("query", {"sparql": "SELECT * { ?s ?p ?o } LIMIT 500"}),
        )
        return [await client.call_tool(*call) for call in calls]

    replies = run(starter_kb, use)
    assert all(reply.is_error for reply in replies)
    errors = [reply.content[0].text for reply in replies]
    assert "there is no claim" in errors[2]
    assert "is no IRI" in errors[3]
    assert "more than 500 rows" in errors[7]
    assert "characters of at most 40,000" in errors[8]
    assert "Traceback" not in "".join(errors)


def test_assistants_elsewhere_ask_over_streamable_http(starter_kb: Path) -> None:
    """Another host's name is refused, so that no page in a browser reaches the server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shiyi", "--kb", str(starter_kb), "mcp", "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - our own program

    async def call() -> Any:
        async with mcp.Client(f"http://127.0.0.1:{port}/mcp", read_timeout_seconds=60) as client:
            return await client.call_tool("search", {"words": "枸杞"})

    def status(host: str) -> int:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            line.request(
                "POST",
                "/mcp",
                body="{}",
                headers={"Host": host, "Content-Type": "application/json"},
            )
            return line.getresponse().status
        finally:
            line.close()

    try:
        for _ in range(240):
            try:
                status("127.0.0.1")
            except ConnectionRefusedError:
                time.sleep(0.25)
            else:
                break
        assert asyncio.run(call()).structured_content["concepts"]
        assert status("attacker.example") == 421
    finally:
        server.terminate()
        server.wait(30)
