"""``shiyi serve`` and ``shiyi mcp``."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from pydantic import Field
from typer import Context, Option
from typing_extensions import TypedDict

from shiyi.cli.terminal import settings_of
from shiyi.errors import MissingExtraError, QueryLimitError, ShiyiError, UsageError

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from shiyi.server.site.site import Site
    from shiyi.settings import Settings


def serve(
    ctx: Context,
    host: Annotated[str | None, Option(metavar="H", help="Default 127.0.0.1.")] = None,
    port: Annotated[int | None, Option(metavar="P", help="Default 8000; 0: a free one.")] = None,
    read_only: Annotated[bool, Option("--read-only", help="Refuse writes.")] = False,
    first_release: Annotated[
        bool, Option("--first-release", help="Write a release in the background if there is none.")
    ] = False,
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
    if not read_only:
        build_default_base(settings)
    if administrator:
        create_admin(administrator, settings)
    chosen = replace(
        settings.server,
        host=host or settings.server.host,
        port=settings.server.port if port is None else port,
    )
    app.serve(replace(settings, server=chosen), read_only=read_only, first_release=first_release)


def build_default_base(settings: "Settings", tables: Path | None = None) -> None:
    """Build the base where none is named and there is none, as after a first installation."""
    from shiyi.settings import Settings as Defaults

    if settings.kb == Defaults().kb and not settings.kb.exists() and not settings.store:
        from shiyi.build import Steps, make_base

        make_base(tables, settings, Steps(sys.stderr))


def create_admin(name: str, settings: "Settings") -> None:
    """Create the first administrator; ``UsageError`` where there are accounts already."""
    from shiyi.cli.accounts import read_password
    from shiyi.curation.accounts import AccountStore, Audit, Role

    people = AccountStore(settings.kb)
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
MAX_ROWS: Final = 500  # of a query
MAX_CHARACTERS: Final = 40_000  # of the result of a query
_SHOWN: Final = 8  # citations of an answer, the most confident of them first

Words = Annotated[str, Field(description="Beginning of a name in Chinese, pinyin or English.")]
Question = Annotated[str, Field(description="A question in Chinese or English.")]
Labels = Annotated[Literal["zh", "en"], Field(description="Language of the labels.")]
OwnLanguage = Annotated[
    Literal["", "zh", "en"], Field(description="Language of the answer; empty: the question's.")
]
Method = Annotated[str, Field(description="Retrieval method; `fused` is the usual one.")]
Person = Annotated[
    dict[str, Any] | None,
    Field(
        description="Who asks, for warnings, such as "
        '{"age": 34, "pregnant": true, "medicines": ["warfarin"], "conditions": []}.'
    ),
]
MostConcepts = Annotated[int, Field(description=f"Concepts, from 1 to {MAX_CONCEPTS}.")]
ClaimIri = Annotated[str, Field(description="IRI of a claim, as `ask` and `query` return it.")]
Sparql = Annotated[
    str, Field(description=f"SPARQL 1.2 SELECT or ASK, at most {MAX_ROWS} rows; use LIMIT.")
]
Seconds = Annotated[float, Field(description="Seconds the query may take.")]


class ConceptMatch(TypedDict):
    """A concept by name."""

    iri: str
    label_zh: str
    label_en: str
    kind: str


class ConceptMatches(TypedDict):
    """The concepts with names that begin so."""

    concepts: list[ConceptMatch]


class Citation(TypedDict):
    """A claim that an answer cites."""

    number: int
    claim: str
    statement: str
    polarity: str
    confidence: float
    kind: str | None
    sources: list[str]


class ShortAnswer(TypedDict):
    """An answer without its paths, its trace and the details of its evidence."""

    language: str
    answer: str
    abstained: bool
    missing: list[Any]
    verdict: dict[str, Any] | None
    warnings: list[Any]
    citations: list[Citation]
    more_citations: int
    follow_up: list[Any]
    model_fault: str | None
    release: str


def mcp(
    ctx: Context,
    tools: Annotated[bool, Option("--tools", help="List the tools as JSON and exit.")] = False,
    port: Annotated[
        int | None, Option(metavar="P", help="Serve Streamable HTTP at http://127.0.0.1:P/mcp.")
    ] = None,
) -> None:
    """Speak the Model Context Protocol on standard input and output until it is closed."""
    from shiyi.server.site.opening import open_site
    from shiyi.server.site.visibility import restrict_site

    settings = settings_of(ctx)
    site = restrict_site(open_site(settings.kb, settings, read_only=True))
    try:
        server = assistant_server(site)
        if tools:
            print(json.dumps([item.name for item in asyncio.run(server.list_tools())]))
        elif port is not None:
            # each request stands alone, so that several processes can serve behind a proxy
            server.run("streamable-http", port=port, stateless_http=True, json_response=True)
        else:
            server.run("stdio")
    finally:
        site.close()


def assistant_server(site: "Site") -> "MCPServer[Any]":
    """Return a server with tools, resources and prompts over an open site.

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
    server.resource("shiyi://vocabulary", mime_type="text/turtle")(tools.vocabulary)
    server.resource("shiyi://examples", mime_type="application/json")(tools.examples)
    server.prompt()(cited_answer)
    server.prompt()(sparql_query)
    return server


def cited_answer(question: Question) -> str:
    """Answer a question from claims, with their IRIs and every warning."""
    return f"Call `ask` with this question and answer from its result alone: {question}"


def sparql_query(question: Question) -> str:
    """Write and run a SPARQL query that answers a question."""
    return (
        "Read the resources shiyi://vocabulary and shiyi://examples, find IRIs with `search`, "
        f"then write a SPARQL query, run it with `query` and explain its rows: {question}"
    )


class Tools:
    """What an assistant may use; each docstring is the description that it reads."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def ask(
        self,
        question: Question,
        language: OwnLanguage = "",
        method: Method = "fused",
        profile: Person = None,
    ) -> ShortAnswer:
        """Answer a question with citations and warnings; or abstain and name what is missing."""
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
        return _short_answer(answer.to_json())

    def search(
        self, words: Words, language: Labels = "en", limit: MostConcepts = 10
    ) -> ConceptMatches:
        """Find concepts by the beginning of a name in Chinese, pinyin or English; with IRIs."""
        if not 1 <= len(words.strip()) <= 200 or not 1 <= limit <= MAX_CONCEPTS:
            raise _tool_error(
                UsageError(f"words have 1 to 200 characters, limit is 1 to {MAX_CONCEPTS}")
            )
        return {
            "concepts": [
                ConceptMatch(iri=c.iri, label_zh=c.label_zh, label_en=c.label_en, kind=c.kind)
                for c in self._site.complete(words.strip(), language, limit)
            ]
        }

    def claim(self, iri: ClaimIri) -> dict[str, Any]:
        """Return one claim, its confidence and why: evidence, arithmetic, premises."""
        from shiyi.publishing.description import explain_claim

        try:
            derivation = explain_claim(self._site.store, iri)
        except ValueError as fault:
            raise _tool_error(UsageError(f"{iri[:200]!r} is no IRI: {fault}")) from fault
        if derivation is None:
            raise _tool_error(
                UsageError(f"there is no claim {iri[:200]}; `ask` and `query` return IRIs")
            )
        return derivation

    def query(self, sparql: Sparql, timeout: Seconds = 10.0) -> dict[str, Any]:
        """Run a SPARQL 1.2 SELECT or ASK query, read-only; returns SPARQL JSON results.

        A claim is ?c a shiyi:Claim ; shiyi:confidence ?n ; rdf:reifies <<( ?s ?p ?o )>> with
        PREFIX shiyi: <https://w3id.org/shiyi/vocab#>; labels are skos:prefLabel in zh and en.
        Words: SERVICE <https://w3id.org/shiyi/search> { ?c search:words "gout" ; search:score ?n }
        with PREFIX search: <https://w3id.org/shiyi/search#>; or search:names, search:meaning.
        """
        from shiyi.sparql.queries.requests import FreeQuery
        from shiyi.sparql.queries.results import ResultFormat

        with _tool_errors():
            query = FreeQuery(sparql, ResultFormat.of("json"), timeout, rows=MAX_ROWS)
            body = self._site.free.answer(query).decode()
            if (size := len(body)) > MAX_CHARACTERS:
                raise QueryLimitError(
                    "bytes",
                    f"the result has {size:,} characters of at most {MAX_CHARACTERS:,}; ask for "
                    "less, for example with LIMIT or fewer variables",
                )
        results: dict[str, Any] = json.loads(body)
        return results

    def vocabulary(self) -> str:
        """Classes and properties with their English labels, definitions, domains and ranges."""
        from shiyi.model.rdf import BlankNode, serialize
        from shiyi.ontology.terms import PREFIXES, RDF, RDFS, SKOS
        from shiyi.publishing.vocabulary import vocabulary_quads

        wanted = (RDF.type, RDFS.label, RDFS.domain, RDFS.range, SKOS.definition)
        triples = [
            quad.triple
            for quad in vocabulary_quads(self._site.store)
            if quad.predicate in wanted
            and not isinstance(quad.object, BlankNode)
            and getattr(quad.object, "language", "en") == "en"
        ]
        return serialize(triples, "ttl", PREFIXES).decode()

    def examples(self) -> str:
        """Named SPARQL queries with the questions that they answer."""
        from shiyi.sparql.queries.named import Query, query_names

        result = map(Query.named, (name for name in query_names() if "/" not in name))
        lines = [{"question": q.question_en, "sparql": q.text} for q in result]
        return json.dumps(lines, ensure_ascii=False)


def _short_answer(values: dict[str, Any]) -> ShortAnswer:
    """Return what an assistant needs of an answer; the claims that it cites lead to the rest."""
    cited = sorted(values["citations"], key=lambda item: -item["confidence"])[:_SHOWN]
    shown = values | {
        "citations": [_citation(item) for item in sorted(cited, key=itemgetter("number"))],
        "more_citations": len(values["citations"]) - len(cited),
    }
    return cast("ShortAnswer", {name: shown[name] for name in ShortAnswer.__annotations__})


def _citation(values: dict[str, Any]) -> Citation:
    names = (values[part]["label"] for part in ("subject", "predicate", "object"))
    return {
        "number": values["number"],
        "claim": values["claim"],
        "statement": " · ".join(names),
        "polarity": values["polarity"],
        "confidence": values["confidence"],
        "kind": values["kind"],
        "sources": list(dict.fromkeys(value["source"] for value in values["evidence"])),
    }


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Raise the errors of Shiyi as errors of a tool, so that the assistant reads the message."""
    try:
        yield
    except ShiyiError as fault:
        raise _tool_error(fault) from fault


def _tool_error(fault: Exception) -> Exception:
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(str(fault))
