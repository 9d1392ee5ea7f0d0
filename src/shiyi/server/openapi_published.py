"""The routes that publish, in OpenAPI: linked data, releases, descriptions."""

from collections.abc import Mapping
from typing import Any, Final

from shiyi.server.negotiation import RDF_TYPES

_TEXT: Final = {"type": "string"}
_RDF: Final = {kind: {"schema": _TEXT} for kind in RDF_TYPES}
_HTML: Final = {"text/html": {"schema": _TEXT}}
_PROBLEM: Final = {
    "description": "What was wrong and what to do",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_NOT_THERE: Final = {
    "404": _PROBLEM, "410": {"description": "Taken back; a tombstone", "content": _RDF | _HTML},
    "451": _PROBLEM, "406": _PROBLEM,
}  # fmt: skip


def published() -> dict[str, Any]:
    """Give the paths that need no question: what the server publishes."""
    name, version = _place("name"), _place("version")
    release = {"application/json": {"schema": {"$ref": "#/components/schemas/Release"}}}
    return {
        "/id/{name}": _get("Dereference a resource", _led(), name),
        "/data/{name}": _get(
            "The data about a resource, by Accept or by an ending such as .ttl",
            {"200": _ok("Its bounded description, with labels", _RDF),
             "301": {"description": "Merged"}, **_NOT_THERE},
            name, _query("profile"),
        ),
        "/page/{name}": _get("The page about a resource", {"200": _ok("A page", _HTML), **_NOT_THERE}, name),
        "/graph/{name}": _get("Dereference a named graph", _led(), name),
        "/vocab": _get("The vocabulary", {"200": _ok("A page or RDF", _RDF | _HTML)}),
        "/.well-known/void": _get("VoID and DCAT", {"200": _ok("The description", _RDF)}),
        "/releases/": _get("What was released", {"200": _ok("The newest first", {
            "application/json": {"schema": {"type": "object", "required": ["releases"], "properties": {
                "releases": {"type": "array", "items": {"$ref": "#/components/schemas/Release"}}}}},
            **_HTML,
        })}),
        "/releases/{version}/": _get("One release", {
            "200": _ok("Its record, page or description", release | _RDF | _HTML), "404": _PROBLEM,
        }, version),
        "/releases/{version}/{name}": _get("A file of a release; ranges are taken", {
            "200": _ok("The file", {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}),
            "206": {"description": "A part of it"}, "304": {"description": "Not changed"},
            "404": _PROBLEM,
        }, version, name),
        "/metrics": _get("Counts and times, Prometheus", {"200": _ok("Text", {"text/plain": {"schema": _TEXT}})}),
        "/api/openapi.json": _get("This document", {"200": _ok("OpenAPI 3.1", {
            "application/json": {"schema": {"type": "object"}}})}),
    }  # fmt: skip


def schemas() -> dict[str, Any]:
    """Give what the paths above and the answers are made of."""
    number = {"type": "number", "minimum": 0, "maximum": 1}
    iri = {"type": "string", "format": "iri"}
    named = _object(
        {"iri": iri, "label": _TEXT, "cui": {"type": ["string", "null"]}}, "iri", "label"
    )
    citation = _object({
        "number": {"type": "integer"}, "claim": iri, "subject": named, "predicate": named,
        "object": _object({"label": _TEXT}, "label"),
        "polarity": {"enum": ["positive", "negative"]}, "confidence": number, "status": _TEXT,
        "evidence": _many({"type": "object"}),
    }, "number", "claim", "subject", "predicate", "object", "confidence")  # fmt: skip
    warning = _object({"severity": _TEXT, "text": _TEXT, "claims": _many(iri)}, "severity", "text")
    sentence = _object({"text": _TEXT, "claims": _many(iri)}, "text", "claims")
    return {
        "Answer": _object({
            "question": _TEXT, "language": {"enum": ["zh", "en"]}, "method": _TEXT, "release": _TEXT,
            "answer": _TEXT, "sentences": _many(sentence), "citations": _many(citation),
            "warnings": _many(warning), "follow_up": _many(_TEXT),
            "abstained": {"type": "boolean"}, "missing": _many(_TEXT),
        }, "question", "release", "answer", "citations", "warnings", "abstained", "missing"),
        "Mentions": _object({"mentions": _many(_object({
            "mention": _TEXT, "start": {"type": "integer"}, "end": {"type": "integer"},
            "iri": {"type": ["string", "null"]}, "score": {"type": "number"},
            "negated": {"type": "boolean"},
        }, "mention", "start", "end"))}, "mentions"),
        "Completions": _object({"q": _TEXT, "completions": _many(_object({
            "iri": iri, "label": _TEXT, "label_zh": _TEXT, "label_en": _TEXT, "kind": _TEXT,
            "matched": _TEXT,
        }, "iri", "label"))}, "q", "completions"),
        "Release": _object({
            "version": _TEXT, "issued": {"type": "string", "format": "date"}, "iri": iri,
            "release": _TEXT, "counts": {"type": "object"}, "url": _TEXT,
            "canonical": _object({"algorithm": _TEXT, "hash": _TEXT}, "algorithm", "hash"),
            "files": {"type": "object"},
        }, "version", "issued", "iri", "canonical"),
    }  # fmt: skip


def answers_with(name: str, summary: str) -> dict[str, Any]:
    """Give a 200 response whose JSON is the schema ``name``."""
    return _ok(summary, {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}})


def _get(
    summary: str, responses: Mapping[str, Any], *parameters: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "get": {"summary": summary, "parameters": list(parameters), "responses": dict(responses)}
    }


def _led() -> dict[str, Any]:
    return {
        "303": {"description": "To its page or its data, by Accept"},
        "300": {"description": "Split: these took its place"},
        "301": {"description": "Merged into another"}, **_NOT_THERE,
    }  # fmt: skip


def _ok(summary: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": summary, "content": dict(content)}


def _place(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _TEXT}


def _query(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": _TEXT}


def _many(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(item)}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}
