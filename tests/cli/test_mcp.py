"""The server for assistants, called over standard input and output by the official client."""

import asyncio
import json
import os
import sys
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
        concepts = await client.call_tool("search", {"words": "枸杞", "limit": 3})
        query = (
            "PREFIX shiyi: <https://w3id.org/shiyi/vocab#> SELECT ?c ?n { ?c a shiyi:Claim ; "
            "shiyi:confidence ?n } ORDER BY DESC(?n) ?c LIMIT 1"
        )
        rows = await client.call_tool("query", {"sparql": query})
        [row] = rows.structured_content["results"]["bindings"]
        return {
            "tools": {each.name: each for each in tools},
            "instructions": client.instructions,
            "found": concepts.structured_content,
            "row": row,
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
    assert "does not mean" in got["instructions"]
    assert any("枸杞" in each["label_zh"] for each in got["found"]["concepts"])
    assert got["claim"]["confidence"] == float(got["row"]["n"]["value"])
    assert got["claim"]["evidence"]
    answer = got["answer"].structured_content
    assert answer["release"].startswith("sha256:")
    assert answer["warnings"]
    assert "trace" not in answer
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
        )
        return [await client.call_tool(*each) for each in calls]

    replies = run(starter_kb, use)
    assert all(each.is_error for each in replies)
    errors = [each.content[0].text for each in replies]
    assert "there is no claim" in errors[2]
    assert "is no IRI" in errors[3]
    assert "Traceback" not in "".join(errors)
