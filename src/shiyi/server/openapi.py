"""The API in OpenAPI 3.1, for generated clients and contract tests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shiyi.server.openapi_published import answers_with, published, schemas
from shiyi.server.site import Site

_TEXT = {"type": "string"}
_PROBLEM = {
    "description": "What was wrong and what to do",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_SPARQL = ("query", "timeout", "format", "profile", "default-graph-uri", "named-graph-uri")
_GRAPH = ("graph", "default", "profile")
_ASKED = ("q", "lang", "method", "k", "age", "sex", "pregnant", "lactating", "medicines",
          "allergies", "conditions", "constitution", "avoids", "reply", "drop", "context")  # fmt: skip
_GRAPH_WRITES = {
    "put": "Replace a graph", "post": "Add to a graph", "delete": "Remove a graph",
}  # fmt: skip
_LOCKED = dict.fromkeys(("401", "403", "429"), _PROBLEM)
_FAULTS = dict.fromkeys(("400", "413", "415", "429", "503"), _PROBLEM)
_ABSENT = {"404": _PROBLEM}
_REFUSED = dict.fromkeys(("422", "504", "507"), _PROBLEM)  # past rows or bytes, time, memory


def document(site: Site) -> dict[str, Any]:
    """Describe every route programs use."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Shiyi 食医", "version": "0.1.0",
            "description": "Questions about medicine-food homology, answered from cited claims.",
            "license": {"name": "Apache-2.0 AND CC-BY-4.0"},
        },
        "paths": {
            "/api/ask": {"post": _ask(site), "get": _ask_simply()},
            "/api/ask/sparql": {"post": _post(
                "Let the configured model write SPARQL for a question; checked, run read-only",
                {"question": _TEXT, "lang": {"enum": ["zh", "en"]}}, ["question"],
            )},
            "/api/ask/replay": {"post": _post(
                "Make an answer again from its trace; say what differs",
                {"answer": {"$ref": "#/components/schemas/Answer"}}, ["answer"], "Answer",
            )},
            "/api/ask/stream": {"get": _stream(site)},
            "/api/link": {"post": _link()},
            "/api/complete": {"get": _complete()},
            "/sparql": {
                "get": _get("SPARQL query", *map(_query, _SPARQL), more=_REFUSED),
                "post": _sparql_post(
                    "SPARQL query; with a token also SPARQL update", ("query", "update")
                ),
            },
            "/sparql/rdf11": {
                "get": _get("SPARQL 1.1 query of the claims as RDF 1.1", *map(_query, _SPARQL), more=_REFUSED),
                "post": _sparql_post("SPARQL 1.1 query of the claims as RDF 1.1", ("query",)),
            },
            "/rdf-graph-store": {
                "get": _get("One graph", *map(_query, _GRAPH), more=_ABSENT | _REFUSED),
                **{verb: _graph_write(summary) for verb, summary in _GRAPH_WRITES.items()},
            },
            "/healthz": {"get": _get("Health, release and counts")},
            **published(),
        },
        "components": {
            "schemas": {
                "Profile": _profile(), "Context": _context(), "Problem": _problem(), **schemas(),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _sparql_post(summary: str, holds: tuple[str, ...]) -> dict[str, Any]:
    names = (*holds, *_SPARQL[1:])
    form = {"type": "object", "properties": dict.fromkeys(names, _TEXT)}
    kinds = tuple(f"application/sparql-{name}" for name in holds)
    return {
        "summary": summary,
        "security": [{}, {"token": []}],
        "requestBody": {"required": True, "content": {
            "application/x-www-form-urlencoded": {"schema": form},
            **{kind: {"schema": _TEXT} for kind in kinds},
        }},
        "responses": {
            "200": {"description": "The whole result"}, "204": {"description": "Updated"},
            **_FAULTS, **_LOCKED, **_REFUSED,
        },
    }  # fmt: skip


def _graph_write(summary: str) -> dict[str, Any]:
    done = {code: {"description": summary} for code in ("201", "204")}
    return {
        "summary": summary, "parameters": [_query(name) for name in _GRAPH],
        "security": [{"token": []}], "responses": {**done, **_ABSENT, **_FAULTS, **_LOCKED, **_REFUSED},
    }  # fmt: skip


def _ask(site: Site) -> dict[str, Any]:
    limit = site.settings.answer.max_question_chars
    fields = {
        "question": _TEXT | {"minLength": 1, "maxLength": limit},
        "lang": {"enum": ["zh", "en"]}, "method": {"enum": list(site.methods)},
        "k": {"type": "integer", "minimum": 1, "maximum": 100},
        "profile": {"$ref": "#/components/schemas/Profile"},
        "context": {"$ref": "#/components/schemas/Context"},
        "history": {
            "type": "array", "maxItems": 8, "items": _TEXT,
            "description": "Earlier questions, oldest first, in the place of context",
        },
    }  # fmt: skip
    return _post(
        "Answer a question with citations; context of a reply continues it", fields, ["question"],
        "Answer",
    )  # fmt: skip


def _ask_simply() -> dict[str, Any]:
    said = _get("Answer a question of the address", *map(_query, _ASKED))
    said["responses"]["200"] = answers_with("Answer", "The answer")
    return said


def _complete() -> dict[str, Any]:
    said = _get("Complete a name", _query("q"), _query("limit"))
    said["responses"]["200"] = answers_with("Completions", "Concepts whose names begin so")
    return said


def _stream(site: Site) -> dict[str, Any]:
    page = {
        "name": "page", "in": "query", "schema": {"enum": ["1"]},
        "description": "1 adds the event page: the answer as HTML, as /ask shows it",
    }  # fmt: skip
    asked = (name for name in _ASKED if name != "k")
    said = _get("Watch an answer appear", *map(_query, asked), page)
    said["responses"]["200"] = {
        "description": "Events linked, path, warning, token, answer, page, error",
        "content": {"text/event-stream": {"schema": _TEXT}},
    }
    return said


def _link() -> dict[str, Any]:
    return _post("Link the words of a text to concepts", {"text": _TEXT, "lang": _TEXT}, ["text"],
                 "Mentions")  # fmt: skip


def _post(
    summary: str, fields: dict[str, Any], required: list[str], gives: str = ""
) -> dict[str, Any]:
    schema = {
        "type": "object", "properties": fields, "required": required, "additionalProperties": False,
    }  # fmt: skip
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": _given(gives, summary), **_FAULTS},
    }


def _given(gives: str, summary: str) -> dict[str, Any]:
    return answers_with(gives, summary) if gives else {"description": summary}


def _get(
    summary: str, *parameters: dict[str, Any], more: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": summary}, **_FAULTS, **more}
    return {"summary": summary, "parameters": list(parameters), "responses": responses}


def _query(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": _TEXT}


def _profile() -> dict[str, Any]:
    words = {"type": "array", "items": _TEXT, "maxItems": 50}
    return {
        "type": "object", "additionalProperties": False,
        "properties": {
            "age": {"type": "number", "minimum": 0, "maximum": 130},
            "sex": {"enum": ["female", "male", "other"]},
            "pregnant": {"type": "boolean"}, "lactating": {"type": "boolean"},
            "medicines": words, "allergies": words, "conditions": words, "constitution": _TEXT,
            "avoids": words,
        },
    }  # fmt: skip


def _context() -> dict[str, Any]:
    words = {"type": "array", "items": _TEXT, "maxItems": 8}
    return {
        "type": "object", "additionalProperties": False,
        "description": "What an answer gave as context: send it with the next question. Kept nowhere",
        "properties": {
            "questions": words, "asked": words, "profile": {"$ref": "#/components/schemas/Profile"},
        },
    }  # fmt: skip


def _problem() -> dict[str, Any]:
    names = ("type", "title", "detail", "instance")
    return {
        "type": "object", "required": ["title", "status", "detail"],
        "properties": dict.fromkeys(names, _TEXT) | {"status": {"type": "integer"}},
    }  # fmt: skip
