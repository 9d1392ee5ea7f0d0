"""The reconciliation service for OpenRefine and others (W3C Entity Reconciliation, 0.2)."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from flask import Blueprint, Response, g, render_template, request
from pydantic import BaseModel, ConfigDict, Field
from werkzeug.exceptions import NotFound

from shiyi.errors import UsageError
from shiyi.linking.normalization import language_of
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.server.api.models import Operation
from shiyi.server.api.requests import parse_request
from shiyi.server.http.headers import public_root
from shiyi.server.http.messages import json_response
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.site.counts import CLASSES
from shiyi.server.site.site import Site
from shiyi.server.views.concept import THEMES, concept_view, heading, is_concept
from shiyi.server.views.reader import Reader

PATH: Final = "/api/reconcile"
BATCH: Final = 50  # queries of one request
_LIKELY: Final = 40  # concepts that are looked at for one query
_CERTAIN: Final = 99.0  # a score from which a single candidate is taken without a person
_COLUMNS: Final = (
    "label_zh", "label_en", "altLabel", "pinyin", "latinName", "definition", "notation", "umlsCui",
    "broader",
)  # fmt: skip
OPERATIONS: Final = (
    Operation("get", PATH, "reconcileManifest", "Manifest of the reconciliation service",
              ("application/json",), (400,), ("queries", "extend")),
    Operation("post", PATH, "reconcile", "Reconcile names with concepts, or extend rows by columns",
              ("application/json",), (400, 413), body="application/x-www-form-urlencoded"),
    *(
        Operation("get", f"{PATH}/suggest/{kind}", f"suggest{kind.title()}", f"Suggest: {kind}",
                  ("application/json",), (400,), ("prefix",))
        for kind in ("entity", "type", "property")
    ),
    Operation("get", f"{PATH}/properties", "proposeProperties", "Properties of a class",
              ("application/json",), (), ("type",)),
    Operation("get", f"{PATH}/preview", "previewEntity", "A small page about a concept",
              ("text/html",), (404,), ("id",)),
)  # fmt: skip


class _Query(BaseModel):
    """One name that is to be reconciled."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(max_length=400)
    type: str | list[str] = ""
    limit: int = Field(5, ge=1, le=40)
    properties: list[dict[str, Any]] = []


class _Extension(BaseModel):
    """Columns that are to be added to reconciled rows."""

    ids: list[str] = Field(max_length=500)
    properties: list[dict[str, Any]] = Field(max_length=20)


def reconciliation(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/api/reconcile`` and what its manifest names."""
    routes, reader = Blueprint("reconciliation", __name__, url_prefix=PATH), cache.reader

    @routes.route("", methods=["GET", "POST"])
    def service() -> Response:
        if "extend" in request.values:
            asked = parse_request(_Extension, _json("extend"), site)
            return json_response(_extend_rows(reader(), asked))
        if "queries" not in request.values:
            if request.method == "POST":
                raise UsageError("nothing to reconcile: send a form field, queries or extend")
            return json_response(manifest(reader(), public_root().rstrip("/")))
        queries = _json("queries")
        if not isinstance(queries, dict) or len(queries) > BATCH:
            raise UsageError(f"queries is a JSON object of at most {BATCH} queries")
        parsed = {name: parse_request(_Query, item, site) for name, item in queries.items()}
        found = {name: candidates(site, reader(), query) for name, query in parsed.items()}
        return json_response({name: {"result": group} for name, group in found.items()})

    @routes.get("/preview")
    def preview() -> str:
        node = _node(request.args.get("id", ""))
        if node is None or not is_concept(reader(), node):
            raise NotFound("there is no such concept")
        g.is_framed = True  # clients show it in a frame of theirs
        return render_template("preview.html", view=concept_view(reader(), node))

    return routes


def suggestion(site: Site, cache: PageCache) -> Blueprint:
    """Serve the suggestions that the manifest names: entities, classes, properties."""
    routes, reader = Blueprint("suggestion", __name__, url_prefix=PATH), cache.reader

    @routes.get("/suggest/entity")
    def entities() -> Response:
        words = request.args.get("prefix", "")[:200].strip()
        suggestions = site.complete(words, choose_language(), 12) if words else ()
        result = [
            {"id": each.iri.removeprefix(ID), "name": each.label, "description": each.matched}
            | {"notable": [{"id": each.kind, "name": heading(reader(), each.kind)}]}
            for each in suggestions
            if each.kind
        ]
        return json_response({"result": result})

    @routes.get("/suggest/type")
    def types() -> Response:
        return json_response({"result": _terms_beginning(reader(), CLASSES)})

    @routes.get("/suggest/property")
    def columns() -> Response:
        return json_response({"result": _terms_beginning(reader(), (*_COLUMNS, *_relations()))})

    @routes.get("/properties")
    def properties() -> Response:
        named = [{"id": e, "name": _label(reader(), e)} for e in (*_COLUMNS, *_relations())]
        return json_response({"type": request.args.get("type", ""), "properties": named})

    return routes


def _terms_beginning(reader: Reader, names: Iterable[str]) -> list[dict[str, str]]:
    """Return the terms with a name or label that contains what was typed."""
    begun = request.args.get("prefix", "").casefold()
    shown = ({"id": name, "name": _label(reader, name)} for name in names)
    return [e for e in shown if begun in f"{e['id']} {e['name']}".casefold()][:20]


def manifest(reader: Reader, root: str) -> dict[str, Any]:
    """Return the service manifest, with addresses below ``root``."""
    service = {"service_url": root + PATH}
    return {
        "versions": ["0.2"],  # 0.1 requires JSONP, which runs code of others in a page
        "name": "Shiyi 食医",
        "identifierSpace": ID,
        "schemaSpace": VOCAB,
        "documentation": f"{root}/docs/how-to/clients.md",
        "logo": f"{root}/favicon.svg",
        "defaultTypes": [{"id": name, "name": heading(reader, name)} for name in CLASSES[:12]],
        "view": {"url": f"{root}/page/{{{{id}}}}"},
        "preview": {"url": f"{root}{PATH}/preview?id={{{{id}}}}", "width": 420, "height": 260},
        "suggest": {
            kind: service | {"service_path": f"/suggest/{kind}"}
            for kind in ("entity", "type", "property")
        },
        "extend": {
            "propose_properties": service | {"service_path": "/properties"},
            "property_settings": [],
        },
        "batchSize": BATCH,
    }


def candidates(site: Site, reader: Reader, query: _Query) -> list[dict[str, Any]]:
    """Return concepts that a name may mean, best first; a sure and single one matches."""
    words = query.query.strip()
    if not words:
        return []
    named = {query.type} if isinstance(query.type, str) else set(query.type)
    wanted = {name for each in named if each for name in Schema.load().subclasses(each)}
    scores: dict[str, float] = {}
    for mention in site.link(words):
        if mention.iri and mention.text.casefold() == words.casefold():
            scores[mention.iri] = 100 * mention.score
    for each in site.complete(words, language_of(words), _LIKELY):
        alike = SequenceMatcher(None, words.casefold(), each.matched.casefold()).ratio()
        scores[each.iri] = max(scores.get(each.iri, 0.0), 100 * alike)
    results = [
        _candidate(reader, iri, score, query.properties)
        for iri, score in scores.items()
        if not wanted
        or wanted & {kind.value.removeprefix(VOCAB) for kind in reader.kinds(NamedNode(iri))}
    ]
    results.sort(key=lambda each: (-each["score"], each["id"]))
    sure = [result for result in results if result["score"] >= _CERTAIN]
    for record in results:
        record["match"] = len(sure) == 1 and record is sure[0]
    return results[: query.limit]


def _candidate(
    reader: Reader, iri: str, score: float, properties: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a candidate; each further column that agrees halves what is missing of the score."""
    node = NamedNode(iri)
    for record in properties:
        value = record.get("v")
        wanted = str(value.get("id", "") if isinstance(value, dict) else value).casefold()
        values = {
            v.casefold() for pair in _values(reader, node, str(record.get("pid"))) for v in pair
        }
        if wanted in values:
            score += (100 - score) / 2
    thing = reader.thing(node)
    return {
        "id": iri.removeprefix(ID),
        "name": thing.label,
        "description": thing.other,
        "type": [
            {"id": kind.value.removeprefix(VOCAB), "name": reader.thing(kind).label}
            for kind in reader.kinds(node)
        ],
        "score": round(score, 2),
    }


def _extend_rows(reader: Reader, query: _Extension) -> dict[str, Any]:
    """Return further columns of reconciled rows."""
    names = [str(record.get("id", "")) for record in query.properties]
    rows: dict[str, dict[str, list[dict[str, str]]]] = {}
    for name in query.ids:
        node = _node(name)
        rows[name] = {
            each: [
                {"id": iri, "name": label} if iri else {"str": label}
                for iri, label in (_values(reader, node, each) if node else ())
            ]
            for each in names
        }
    return {"meta": [{"id": e, "name": _label(reader, e)} for e in names], "rows": rows}


def _values(reader: Reader, node: NamedNode, name: str) -> Iterator[tuple[str, str]]:
    """Yield the values of a column: a concept with its name, or a text without one."""
    texts: Mapping[str, Callable[[], tuple[str, ...]]] = {
        "label_zh": lambda: (reader.labels(node).get("zh", ""),),
        "label_en": lambda: (reader.labels(node).get("en", ""),),
        "altLabel": lambda: tuple(text(term) for term in reader.values(node, SKOS.altLabel)),
        "definition": lambda: (reader.value(node, SKOS.definition),),
        "notation": lambda: reader.texts(node, SKOS.notation),
        "pinyin": lambda: (reader.value(node, SHIYI.pinyin),),
        "latinName": lambda: reader.texts(node, SHIYI.latinName),
        "umlsCui": lambda: reader.texts(node, SHIYI.umlsCui),
    }
    if name in texts:
        yield from (("", each) for each in texts[name]() if each)
    elif name == "broader":
        for term in reader.values(node, SKOS.broader):
            yield text(term).removeprefix(ID), reader.thing(term).label
    else:
        for statement in reader.statements(node):
            if statement.predicate == name and statement.forward and not statement.negative:
                yield statement.object.iri.removeprefix(ID), statement.object.label


def _relations() -> list[str]:
    return [name for names in THEMES.values() for name in names]


def _label(reader: Reader, name: str) -> str:
    return catalogue().get(f"column.{name}") or heading(reader, name)


def _node(name: str) -> NamedNode | None:
    is_local = name.isascii() and name.replace("-", "").isalnum()
    return NamedNode(ID + name) if is_local else None


def _json(name: str) -> object:
    try:
        return json.loads(request.values[name])
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"{name} is not JSON: {fault}") from fault
