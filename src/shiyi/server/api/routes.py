"""JSON API, health and metrics."""

import json
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from queue import SimpleQueue
from typing import Any, Final

from flask import Blueprint, Response, request, stream_with_context
from pydantic.json_schema import models_json_schema

from shiyi.answering import conversation, pipeline
from shiyi.answering.conversation import Turn
from shiyi.answering.generation.audit import Auditor, count_verdicts
from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.sections.cabinet import check_things
from shiyi.artefacts import artefact
from shiyi.errors import ShiyiError, UsageError
from shiyi.linking.normalization import language_of
from shiyi.metrics import ANSWERS, exposition
from shiyi.model.answer import Answer, Sentence
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import rows
from shiyi.server.api import curation, models, reconciliation, requests
from shiyi.server.api.models import Body, Completion, Completions, Content, Operation
from shiyi.server.api.requests import (
    AskRequest,
    AuditRequest,
    CheckRequest,
    CompletionQuery,
    FrameRequest,
    LinkRequest,
    ReplayRequest,
    SparqlQuestion,
    answer_turn,
    find_pivots,
    is_answer_shared,
    parse_request,
    parse_shared_question,
    read_form,
    read_question,
)
from shiyi.server.http.messages import RDF_TYPES, json_body, json_response, prefer, to_json
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.problems import problem_of
from shiyi.server.i18n import choose_language
from shiyi.server.pages.ask import answer_part
from shiyi.server.site.counts import load_description
from shiyi.server.site.site import Site
from shiyi.server.sparql.service_description import load_counts, void

_REFERENCE: Final = "#/components/schemas/{model}"
_TEXT: Final = {"type": "string"}

_RDF: Final = tuple(RDF_TYPES)
_HTML: Final = ("text/html",)
_RESULTS: Final = ("application/sparql-results+json", "application/sparql-results+xml", "text/csv",
                   "text/tab-separated-values", *_RDF)  # fmt: skip
_BAD: Final = (400, 413, 415, 429, 503)
_LIMITS: Final = (422, 504, 507)  # past rows or bytes, time, memory
_TOKEN: Final = (401, 403, 429)
_RESOURCE: Final = (404, 406, 410, 451)
_DESCRIPTIONS: Final = {
    201: "Created", 204: "Done", 206: "A part of it", 300: "Split: these took its place",
    301: "Merged into another", 303: "To its page or its data, by Accept", 304: "Not changed",
    410: "Retracted; a tombstone",
}  # fmt: skip
_SPARQL: Final = ("timeout", "format", "profile", "default-graph-uri", "named-graph-uri")
_GRAPH: Final = ("graph", "default", "profile")
_PERSON: Final = tuple(requests.Profile.model_fields)
_ASK: Final = ("q", "lang", "method", "k", *_PERSON, "context", "reply", "drop")
_FORM: Final = "application/x-www-form-urlencoded"
_SPARQL_TYPES: Final = (_FORM, "application/sparql-query")
_FAULTS: Final = (*_BAD, *_LIMITS)
OPERATIONS: Final = (
    Operation("post", "/api/ask", "ask", "Answer a question with citations",
              models.Answer, _BAD, body=requests.AskRequest),
    Operation("get", "/api/ask", "askByAddress", "Answer the question of an address",
              models.Answer, _BAD, _ASK),
    Operation("get", "/api/ask/pivots", "pivots",
              "Find the smallest sets of claims that decide the answer to a question",
              models.Pivots, _BAD, _ASK),
    Operation("get", "/api/ask/stream", "streamAnswer",
              "Stream an answer: events linked, path, warning, token, answer, page, error",
              ("text/event-stream",), _BAD, (*_ASK, "page")),
    Operation("post", "/api/ask/stream", "streamPostedAnswer",
              "Stream an answer to a form; a profile is sent in its body",
              ("text/event-stream",), _BAD, ("page",), body=_FORM),
    Operation("post", "/api/ask/sparql", "askSparql",
              "Let the configured model write SPARQL for a question; checked, run read-only",
              ("application/json",), _BAD, body=requests.SparqlQuestion),
    Operation("post", "/api/ask/replay", "replayAnswer",
              "Compute an answer again from its trace, and list the differences",
              ("application/json",), _BAD, body=requests.ReplayRequest),
    Operation("post", "/api/link", "link", "Link the mentions of a text to concepts",
              models.Mentions, _BAD, body=requests.LinkRequest),
    Operation("post", "/api/frame", "frame", "Read what a question asks, and for whom",
              models.Frame, _BAD, body=requests.FrameRequest),
    Operation("post", "/api/audit", "audit", "Check the sentences of a text against the claims",
              models.Audit, _BAD, body=requests.AuditRequest),
    Operation("post", "/api/check", "check",
              "Check 2 to 20 things against one another, and against a person",
              models.Check, _BAD, body=requests.CheckRequest),
    Operation("get", "/api/complete", "complete", "Complete a name",
              models.Completions, _BAD, ("q", "limit")),
    Operation("post", "/api/complete", "completePosted", "Complete a name sent in the body",
              models.Completions, _BAD, body=_FORM),
    Operation("get", "/api/search", "search", "Search concepts, claims, pages and queries",
              models.SearchResults, _BAD, ("q",)),
    Operation("get", "/api/timeline", "timeline", "Who states what of a thing, and when",
              ("application/json",), (404, *_BAD), ("concept", "dynasty", "school", "genre")),
    Operation("get", "/api/openapi.json", "openapi", "This document", ("application/json",)),
    Operation("get", "/sparql", "query", "SPARQL query", _RESULTS, _FAULTS, ("query", *_SPARQL),
              security="optional"),
    Operation("post", "/sparql", "postQuery", "SPARQL query; with a token also SPARQL update",
              _RESULTS, (204, *_FAULTS, *_TOKEN), _SPARQL,
              (*_SPARQL_TYPES, "application/sparql-update"), "optional"),
    Operation("get", "/sparql/rdf11", "queryRdf11", "SPARQL 1.1 query of the claims as RDF 1.1",
              _RESULTS, (405, *_FAULTS), ("query", *_SPARQL), security="optional"),
    Operation("post", "/sparql/rdf11", "postQueryRdf11",
              "SPARQL 1.1 query of the claims as RDF 1.1", _RESULTS, (405, *_FAULTS, *_TOKEN),
              _SPARQL, _SPARQL_TYPES, "optional"),
    Operation("get", "/rdf-graph-store", "getGraph", "One graph", _RDF, (404, *_FAULTS), _GRAPH),
    *(
        Operation(method, "/rdf-graph-store", name, summary, (),
                  (201, 204, 404, *_FAULTS, *_TOKEN), _GRAPH, body, "required")
        for method, name, summary, body in (
            ("put", "putGraph", "Replace a graph", _RDF),
            ("post", "postGraph", "Add to a graph", _RDF),
            ("delete", "deleteGraph", "Remove a graph", ()),
        )
    ),
    Operation("get", "/healthz", "health", "Health, release and counts",
              ("application/json",), (503,)),
    Operation("get", "/metrics", "metrics", "Counts and times, for Prometheus", ("text/plain",)),
    Operation("get", "/id/{name}", "dereference", "Dereference a resource",
              (), (300, 301, 303, *_RESOURCE)),
    Operation("get", "/data/{name}", "data",
              "The data about a resource, by Accept or by an ending such as .ttl",
              _RDF, (301, *_RESOURCE), ("profile",)),
    Operation("get", "/page/{name}", "page", "The page about a resource", _HTML, _RESOURCE),
    Operation("get", "/graph/{name}", "dereferenceGraph", "Dereference a named graph",
              (), (300, 301, 303, *_RESOURCE)),
    Operation("get", "/vocab", "vocabulary", "The vocabulary", (*_RDF, *_HTML)),
    Operation("get", "/.well-known/void", "void", "VoID and DCAT", _RDF),
    Operation("get", "/releases/", "releases", "All releases, the newest first",
              (models.Releases, *_HTML)),
    Operation("get", "/releases/{version}/", "release", "One release",
              (models.Release, *_HTML, *_RDF), (404,)),
    Operation("get", "/releases/{version}/{name}", "releaseFile",
              "A file of a release; byte ranges are supported",
              ("application/gzip",), (206, 304, 404)),
)  # fmt: skip


def document(site: Site) -> dict[str, Any]:
    """Return the description of every route that programs use."""
    schemas = _schemas(site)
    paths: dict[str, dict[str, Any]] = {}
    for operation in _operations(site):
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Shiyi",  # generators make the name of a package of it
            "version": version("shiyi"),
            "description": "Questions about medicine-food homology, answered from cited claims.",
            "license": {"name": "Apache-2.0 AND CC-BY-4.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operations(site: Site) -> tuple[Operation, ...]:
    """Return what this server offers: the desks only where there are accounts."""
    free = (*OPERATIONS, *reconciliation.OPERATIONS)
    return (*free, *curation.OPERATIONS) if site.curation else free


def _schemas(site: Site) -> dict[str, Any]:
    bodies = {
        body
        for operation in _operations(site)
        for body in (*_bodies(operation.reply), *_bodies(operation.body))
    }
    named = sorted(
        (each for each in bodies | {models.Problem} if isinstance(each, type)),
        key=lambda m: m.__name__,
    )
    _, found = models_json_schema([(each, "validation") for each in named], ref_template=_REFERENCE)
    schemas: dict[str, Any] = found["$defs"]
    ask = schemas["AskRequest"]["properties"]  # what depends on the settings of this server
    ask["question"]["maxLength"] = site.settings.answer.max_question_chars
    ask["method"] = _TEXT | {"enum": list(site.methods), "default": site.methods[0]}
    return schemas


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    places = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    ok = (
        {200: {"description": "OK", "content": _content(operation.reply)}}
        if operation.reply
        else {}
    )
    responses = ok | {code: _fault(code) for code in sorted(set(operation.codes))}
    result: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"{operation.summary}.",
        "tags": [operation.path.split("/")[1]],
        "parameters": [
            *(
                {
                    "name": place,
                    "in": "path",
                    "required": True,
                    "description": dict(rows("api-parameters"))[place],
                    "schema": _TEXT,
                }
                for place in places
            ),
            *(_parameter(each, schemas) for each in operation.query),
        ],
        "responses": {str(code): item for code, item in responses.items()},
    }
    if operation.body:
        content = _content(operation.body)
        if operation.given:  # the path says it
            content = {"application/json": {"schema": _path_body(operation, schemas)}}
        result["requestBody"] = {"required": True, "content": content}
    if operation.security:
        anonymous: list[Any] = [{}] if operation.security == "optional" else []
        result["security"] = [*anonymous, {"token": []}]
    return result


def _path_body(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body without the field that the path gives."""
    model = operation.body
    whole = schemas[model.__name__] if isinstance(model, type) else {}
    fields = {k: v for k, v in whole["properties"].items() if k != operation.given}
    needed = [name for name in whole.get("required", ()) if name != operation.given]
    return whole | {"properties": fields, "required": needed}


def _parameter(name: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe a query parameter; one of a question as its field in JSON, lists as one text."""
    fields = schemas["AskRequest"]["properties"] | schemas["Profile"]["properties"]
    schema = fields.get(name, _TEXT) if name in {*_ASK, *_PERSON} - {"context"} else _TEXT
    if schema.get("type") == "array":
        schema = _TEXT
    text = (
        dict(rows("api-parameters")).get(name)
        or schema.get("description")
        or f"{name} of the person"
    )
    return {"name": name, "in": "query", "description": text, "schema": schema}


def _content(content: Content) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for body in _bodies(content):
        if isinstance(body, type):
            reference = _REFERENCE.format(model=body.__name__)
            types["application/json"] = {"schema": {"$ref": reference}}
        elif body == _FORM:
            names = ("query", "update", *_SPARQL)
            types[body] = {"schema": {"type": "object", "properties": dict.fromkeys(names, _TEXT)}}
        else:
            types[body] = {"schema": {} if "json" in body else _TEXT}
    return types


def _bodies(content: Content) -> tuple[Body, ...]:
    return content if isinstance(content, tuple) else (content,)


def _fault(code: int) -> dict[str, Any]:
    if code in _DESCRIPTIONS:
        return {"description": _DESCRIPTIONS[code]}
    schema = {"$ref": _REFERENCE.format(model="Problem")}
    return {
        "description": "What was wrong and what to do",
        "content": {"application/problem+json": {"schema": schema}},
    }


_IMPERSONAL: Final = frozenset({"q", "lang", "method", "k"})  # parameters that name no person


def api(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/api/ask``, ``/api/ask/…``, ``/api/link`` and ``/api/complete``."""
    routes = Blueprint("api", __name__, url_prefix="/api")

    @routes.post("/ask")
    def ask() -> Response:
        asked = parse_request(AskRequest, json_body(), site)
        return Response(_answer_json(site, asked, cache), content_type="application/json")

    @routes.get("/ask")
    def answer_json() -> Response:
        return _by_address(site, cache, lambda asked: _answer_json(site, asked, cache))

    @routes.get("/ask/pivots")
    def pivots() -> Response:
        return _by_address(site, cache, lambda asked: to_json(find_pivots(site, asked).to_json()))

    @routes.post("/ask/sparql")
    def ask_sparql() -> Response:
        question = parse_request(SparqlQuestion, json_body(), site)
        if site.research is None:
            raise UsageError("no model is configured here that could write SPARQL; use /api/ask")
        result = site.research(question.question, question.lang)
        ANSWERS.labels("sparql" if result.answered else "abstained").inc()
        return json_response(result.to_json())

    @routes.post("/ask/replay")
    def replay() -> Response:
        asked = parse_request(ReplayRequest, json_body(), site)
        return json_response(pipeline.replay(site.runtime, asked.answer).to_json())

    @routes.route("/ask/stream", methods=["GET", "POST"])  # a profile is posted, never addressed
    def stream() -> Response:
        return _stream(site, read_question(site), cache)

    @routes.route("/complete", methods=["GET", "POST"])  # what somebody takes is posted
    def complete() -> Response:
        posted = {"q": request.form["q"]} if request.method == "POST" else {}  # 400 without
        values = request.values.to_dict() | posted
        query = parse_request(CompletionQuery, values, site, strict=False)
        if posted:
            return Response(_completions(site, query), content_type="application/json")
        return cache.response(lambda: _completions(site, query), "application/json")

    _read_texts(routes, site)
    return routes


def _read_texts(routes: Blueprint, site: Site) -> None:
    """Add what reads a text and answers nothing: link, frame, audit; and check."""

    @routes.post("/link")
    def link() -> Response:
        asked = parse_request(LinkRequest, json_body(), site)
        language = asked.lang or choose_language()
        return json_response(
            {"mentions": [mention.to_json(language) for mention in site.link(asked.text)]}
        )

    @routes.post("/frame")
    def frame() -> Response:
        asked = parse_request(FrameRequest, json_body(), site)
        if site.converse is None:
            raise UsageError("this server has no conversations")
        before = conversation.Context.of(asked.context or {})
        request = pipeline.AskRequest(asked.text, language=asked.language)
        _, read = site.converse.understand(request, before)
        return json_response(read.to_json())

    @routes.post("/audit")
    def audit() -> Response:
        return json_response(_audit(site, parse_request(AuditRequest, json_body(), site)))

    @routes.post("/check")
    def check() -> Response:
        asked = parse_request(CheckRequest, json_body(), site)
        person = asked.profile.to_value() if asked.profile else Profile()
        language = asked.language or language_of(" ".join(asked.things))
        response = json_response(
            check_things(site.runtime, asked.things, person, language).to_json()
        )
        response.headers["Cache-Control"] = "no-store"
        return response


def machine(site: Site, cache: PageCache) -> Blueprint:
    """Serve health, metrics, OpenAPI, VoID and the icon."""
    routes = Blueprint("machine", __name__)

    @routes.get("/healthz")
    def health() -> Response:
        results = site.health()
        response = json_response(results)
        response.status_code = 200 if results["status"] == "ok" else 503
        response.headers["Cache-Control"] = "no-store"
        return response

    @routes.get("/metrics")
    def metrics() -> Response:
        text, content_type = exposition(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    @routes.get("/api/openapi.json")
    def openapi() -> Response:
        return json_response(document(site))

    @routes.get("/.well-known/void")
    def void_description() -> Response:
        kind = prefer(list(RDF_TYPES))
        base = site.base
        counts = cache.figures(
            "void",
            lambda: load_counts(site),
            lambda: load_description(base, earlier=True) if base else None,
        )
        return void(site, counts, RDF_TYPES[kind])

    @routes.get("/favicon.ico")
    @routes.get("/favicon.svg")
    def icon() -> Response:
        drawing = artefact("server/static/favicon.svg").read_bytes()
        response = Response(drawing, content_type="image/svg+xml")
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response

    return routes


def event(name: str, value: object) -> str:
    r"""Write one server-sent event.

    >>> event("token", "süß")
    'event: token\ndata: "süß"\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


class EventQueue:
    """A listener that queues events of an answer for the thread that sends them."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[str | None] = SimpleQueue()
        self.has_draft = self.has_sentence = False

    def receive_draft(self, answer: Answer) -> None:
        """Queue the paths and the warnings, which no model changes."""
        self.has_draft = True
        sent = answer.to_json()
        for name in ("path", "warning"):
            for item in sent[f"{name}s"]:
                self.queue.put(event(name, item))

    def receive(self, sentence: Sentence) -> None:
        """Queue a sentence that has passed the check."""
        self.has_sentence = True
        self.queue.put(event("token", sentence.text))

    def events(self) -> Iterator[str]:
        """Yield events until None is queued."""
        while (each := self.queue.get()) is not None:
            yield each


def relay_events(ask: Callable[[Listener], Turn]) -> Generator[str, None, Turn]:
    """Yield the events of an answer while ``ask`` works; return its turn, or raise what it raises.

    Sentences are those of a model as they pass the check; where it wrote none they are the
    composer's. Those of a model that fails midway are no longer in the turn's answer.
    """
    events = EventQueue()
    worker = ThreadPoolExecutor(1)
    try:
        working = worker.submit(ask, events)
        working.add_done_callback(lambda _: events.queue.put(None))
        yield from events.events()
        turn = working.result()
    finally:
        worker.shutdown(wait=False)  # a client that left does not wait; a model has its deadline
    if not events.has_draft:
        events.receive_draft(turn.answer)
    if not events.has_sentence:
        for sentence in turn.answer.sentences:
            events.receive(sentence)
    events.queue.put(None)
    yield from events.events()
    return turn


def _by_address(site: Site, cache: PageCache, reply: Callable[[AskRequest], str]) -> Response:
    def make_reply() -> str:
        return reply(read_question(site))

    if is_answer_shared(site) and request.args.keys() <= _IMPERSONAL:
        return cache.response(make_reply, "application/json", language="")
    return Response(make_reply(), content_type="application/json")


def _audit(site: Site, asked: AuditRequest) -> dict[str, Any]:
    sentences = Auditor(site.runtime).audit(asked.text, asked.language or "")
    return {
        "sentences": [sentence.to_json() for sentence in sentences],
        "counts": count_verdicts(sentences),
    }


def _completions(site: Site, request: CompletionQuery) -> str:
    text = request.q.strip()
    suggestions = site.complete(text, choose_language(), request.limit) if text else ()
    completions = [Completion.model_validate(suggestion) for suggestion in suggestions]
    return Completions(q=text, completions=completions).model_dump_json()


def _stream(site: Site, request: AskRequest, cache: PageCache) -> Response:
    events = stream_with_context(_events(site, request, cache))
    response = Response(events, content_type="text/event-stream; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # a proxy must not buffer events
    return response


def _answer_json(site: Site, request: AskRequest, cache: PageCache) -> str:
    shared = parse_shared_question(site, request)
    turn = answer_turn(site, request, cache, shared)

    def make_reply() -> str:
        return to_json(_reply(turn))

    return cache.text(("reply", shared), make_reply) if shared else make_reply()


def _reply(turn: Turn) -> dict[str, Any]:
    return turn.answer.to_json() | {"context": turn.context.to_json()}


def _events(site: Site, asked: AskRequest, cache: PageCache) -> Iterator[str]:
    try:
        language = str(asked.lang or choose_language())
        yield event("linked", [mention.to_json(language) for mention in site.link(asked.question)])
        shared = parse_shared_question(site, asked)
        turn = yield from relay_events(
            lambda listener: answer_turn(site, asked, cache, shared, listener)
        )
    except ShiyiError as fault:
        yield event("error", problem_of(fault))
        return
    yield event("answer", _reply(turn))
    if request.args.get("page") == "1":
        part = answer_part(turn, cache, read_form(), shared=shared)
        yield event("page", {"html": part, "title": turn.answer.question[:60]})
