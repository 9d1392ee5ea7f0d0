"""``shiyi mcp``."""

import argparse
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from shiyi.errors import MissingExtraError, UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from shiyi.server.site import Site

INSTRUCTIONS: Final = (
    "Shiyi 食医 answers from claims about medicine-food homology, Chinese medicine and dietary "
    "supplements, in Chinese or English. Each claim has an IRI, a confidence from 0 to 1 and "
    "evidence: cite the IRIs. Repeat every warning. That nothing is on record does not mean that "
    "something is safe. It diagnoses nothing, and nobody should stop a medicine because of it."
)
_MOST: Final = 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi mcp`` takes."""
    parser.add_argument("--tools", action="store_true", help="list the tools as JSON and end")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Speak the Model Context Protocol on standard input and output until it is closed."""
    from shiyi.server.opening import open_site
    from shiyi.server.restricted import for_readers

    site = for_readers(open_site(settings.kb, settings, read_only=True))
    try:
        server = assistant_server(site)
        if args.tools:
            import asyncio

            found = asyncio.run(server.list_tools())
            print(json.dumps([each.name for each in found]))
        else:
            server.run("stdio")
    finally:
        site.close()
    return 0


def assistant_server(site: "Site") -> "MCPServer[Any]":
    """Give a server with the tools ask, search, claim and query over an open site.

    Raises :class:`MissingExtraError` without the extra ``mcp``.
    """
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError as fault:
        raise MissingExtraError("The server for assistants", "mcp") from fault
    tools = Tools(site)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    server = MCPServer("shiyi", instructions=INSTRUCTIONS, version=version("shiyi"))
    for tool in (tools.ask, tools.search, tools.claim, tools.query):
        server.tool(annotations=reads)(tool)
    return server


class Tools:
    """What an assistant may ask; each docstring is what it reads about the tool."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def ask(
        self, question: str, language: str = "", method: str = "fused",
        profile: dict[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Answer a question with citations, confidences and warnings; or abstain and say what is missing.

        language: zh or en, empty for the question's own. profile: who asks, for warnings, such as
        {"age": 34, "pregnant": true, "medicines": ["warfarin"], "conditions": []}.
        """
        from shiyi.model.profile import Profile

        asked, most = question.strip(), self._site.settings.answer.max_question_chars
        if not asked or len(asked) > most:
            raise _told(UsageError(f"a question has 1 to {most:,} characters"))
        if language not in {"", "zh", "en"} or method not in self._site.methods:
            known = ", ".join(self._site.methods)
            raise _told(UsageError(f"language is zh or en; method is one of {known}"))
        with _Telling():
            answer = self._site.ask(
                asked, method=method, language=language or None, k=None,
                profile=Profile.from_json(profile or {}),
            )  # fmt: skip
        said = answer.to_json()
        return {key: value for key, value in said.items() if key not in {"trace", "paths"}}

    def search(self, words: str, language: str = "en", limit: int = 10) -> dict[str, Any]:
        """Find concepts by the beginning of a name in Chinese, pinyin or English; gives their IRIs."""
        if not 1 <= len(words.strip()) <= 200 or not 1 <= limit <= _MOST:
            raise _told(UsageError(f"words have 1 to 200 characters, limit is 1 to {_MOST}"))
        found = self._site.complete(words.strip(), language, limit)
        return {
            "concepts": [
                {"iri": each.iri, "label_zh": each.label_zh, "label_en": each.label_en,
                 "kind": each.kind}
                for each in found
            ]
        }  # fmt: skip

    def claim(self, iri: str) -> dict[str, Any]:
        """Say what one claim states, how sure it is and why: evidence, arithmetic, premises."""
        from shiyi.publishing.explanation import explain

        try:
            told = explain(self._site.store, iri)
        except ValueError as fault:
            raise _told(UsageError(f"{iri[:200]!r} is no IRI: {fault}")) from fault
        if told is None:
            raise _told(UsageError(f"there is no claim {iri[:200]}; `ask` and `query` give IRIs"))
        return told

    def query(self, sparql: str, timeout: float = 10.0) -> dict[str, Any]:
        """Run a SPARQL 1.2 SELECT or ASK query, read-only, within limits; gives SPARQL JSON results.

        A claim is ?c a shiyi:Claim ; shiyi:confidence ?n ; rdf:reifies <<( ?s ?p ?o )>> with
        PREFIX shiyi: <https://w3id.org/shiyi/vocab#>; labels are skos:prefLabel in zh and en.
        """
        from shiyi.sparql.free_query import FreeQuery
        from shiyi.sparql.results import ResultFormat

        with _Telling():
            body = self._site.free.answer(FreeQuery(sparql, ResultFormat.of("json"), timeout))
        found: dict[str, Any] = json.loads(body)
        return found


class _Telling:
    """Passes our own errors on as what a tool tells its caller."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        from shiyi.errors import ShiyiError

        if isinstance(fault, ShiyiError):
            raise _told(fault) from fault


def _told(fault: Exception) -> Exception:
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(str(fault))
