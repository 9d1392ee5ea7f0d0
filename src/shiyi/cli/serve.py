"""``shiyi serve`` and ``shiyi mcp``."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Context, Option

from shiyi.cli.terminal import settings_of
from shiyi.errors import MissingExtraError, ShiyiError, UsageError

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from shiyi.server.site.site import Site
    from shiyi.settings import Settings


def serve(
    ctx: Context,
    host: Annotated[str | None, Option(metavar="H", help="Default 127.0.0.1.")] = None,
    port: Annotated[int | None, Option(metavar="P", help="Default 8000; 0: a free one.")] = None,
    read_only: Annotated[bool, Option("--read-only", help="Refuse writes.")] = False,
    administrator: Annotated[
        str,
        Option(
            "--create-admin",
            metavar="NAME",
            help="Create the first administrator; asks for the password, or reads it from stdin.",
        ),
    ] = "",
) -> None:
    """Serve until stopped."""
    from shiyi.server import app

    settings = settings_of(ctx)
    if administrator:
        create_admin(administrator, settings)
    chosen = replace(
        settings.server,
        host=host or settings.server.host,
        port=settings.server.port if port is None else port,
    )
    app.serve(replace(settings, server=chosen), read_only=read_only)


def create_admin(name: str, settings: "Settings") -> None:
    """Create the first administrator; ``UsageError`` where there are accounts already."""
    from shiyi.cli.accounts import read_password
    from shiyi.curation.accounts import Audit, People, Role

    people = People(settings.kb)
    if people.all():
        raise UsageError("there are accounts already; use `shiyi user add NAME --role ROLE`")
    people.add(name, Role.ADMINISTRATOR, read_password(name))
    Audit(settings.kb).note("first administrator made", name)


INSTRUCTIONS: Final = (
    "Shiyi 食医 answers from claims about medicine-food homology, Chinese medicine and dietary "
    "supplements, in Chinese or English. Each claim has an IRI, a confidence from 0 to 1 and "
    "evidence: cite the IRIs. Repeat every warning. That nothing is on record does not mean that "
    "something is safe. It diagnoses nothing, and nobody should stop a medicine because of it."
)
MAX_CONCEPTS: Final = 50


def mcp(
    ctx: Context,
    tools: Annotated[bool, Option("--tools", help="List the tools as JSON and exit.")] = False,
) -> None:
    """Speak the Model Context Protocol on standard input and output until it is closed."""
    from shiyi.server.site.opening import open_site
    from shiyi.server.site.visibility import for_readers

    settings = settings_of(ctx)
    site = for_readers(open_site(settings.kb, settings, read_only=True))
    try:
        server = assistant_server(site)
        if tools:
            print(json.dumps([each.name for each in asyncio.run(server.list_tools())]))
        else:
            server.run("stdio")
    finally:
        site.close()


def assistant_server(site: "Site") -> "MCPServer[Any]":
    """Return a server with the tools ask, search, claim and query over an open site.

    Raise :class:`MissingExtraError` without the extra ``mcp``.
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
    """The tools of an assistant; each docstring is the description that it reads."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def ask(
        self,
        question: str,
        language: str = "",
        method: str = "fused",
        profile: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Answer a question with citations and warnings; or abstain and name what is missing.

        language: zh or en, empty for the question's own. profile: who asks, for warnings, such as
        {"age": 34, "pregnant": true, "medicines": ["warfarin"], "conditions": []}.
        """
        from shiyi.answering.pipeline import AskRequest
        from shiyi.model.profile import Profile

        text, limit = question.strip(), self._site.settings.answer.max_question_chars
        if not text or len(text) > limit:
            raise _tool_error(UsageError(f"a question has 1 to {limit:,} characters"))
        if language not in {"", "zh", "en"} or method not in self._site.methods:
            known = ", ".join(self._site.methods)
            raise _tool_error(UsageError(f"language is zh or en; method is one of {known}"))
        with _tool_errors():
            answer = self._site.ask(
                AskRequest(text, method, language or None, profile=Profile.from_json(profile or {}))
            )
        values = answer.to_json()
        return {key: value for key, value in values.items() if key not in {"trace", "paths"}}

    def search(self, words: str, language: str = "en", limit: int = 10) -> dict[str, Any]:
        """Find concepts by the beginning of a name in Chinese, pinyin or English; with IRIs."""
        if not 1 <= len(words.strip()) <= 200 or not 1 <= limit <= MAX_CONCEPTS:
            raise _tool_error(
                UsageError(f"words have 1 to 200 characters, limit is 1 to {MAX_CONCEPTS}")
            )
        concepts = self._site.complete(words.strip(), language, limit)
        return {
            "concepts": [
                {
                    "iri": each.iri,
                    "label_zh": each.label_zh,
                    "label_en": each.label_en,
                    "kind": each.kind,
                }
                for each in concepts
            ]
        }

    def claim(self, iri: str) -> dict[str, Any]:
        """Return one claim, its confidence and why: evidence, arithmetic, premises."""
        from shiyi.publishing.explanation import explain

        try:
            derivation = explain(self._site.store, iri)
        except ValueError as fault:
            raise _tool_error(UsageError(f"{iri[:200]!r} is no IRI: {fault}")) from fault
        if derivation is None:
            raise _tool_error(
                UsageError(f"there is no claim {iri[:200]}; `ask` and `query` return IRIs")
            )
        return derivation

    def query(self, sparql: str, timeout: float = 10.0) -> dict[str, Any]:
        """Run a SPARQL 1.2 SELECT or ASK query, read-only; returns SPARQL JSON results.

        A claim is ?c a shiyi:Claim ; shiyi:confidence ?n ; rdf:reifies <<( ?s ?p ?o )>> with
        PREFIX shiyi: <https://w3id.org/shiyi/vocab#>; labels are skos:prefLabel in zh and en.
        """
        from shiyi.sparql.queries.requests import FreeQuery
        from shiyi.sparql.queries.results import ResultFormat

        with _tool_errors():
            body = self._site.free.answer(FreeQuery(sparql, ResultFormat.of("json"), timeout))
        results: dict[str, Any] = json.loads(body)
        return results


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Raise the errors of Shiyi as errors of a tool, whose message the assistant reads."""
    try:
        yield
    except ShiyiError as fault:
        raise _tool_error(fault) from fault


def _tool_error(fault: Exception) -> Exception:
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(str(fault))
