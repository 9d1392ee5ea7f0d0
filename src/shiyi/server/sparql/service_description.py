"""Service description and VoID."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from flask import Response, request

from shiyi.errors import QueryLimitError
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Triple, serialize, text
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.publishing.void import DATASET, Counts, DatasetDescription, Distribution, void_triples
from shiyi.server.http.headers import public_address, public_root
from shiyi.server.pages.releases import Release, list_releases, name_of
from shiyi.server.site.counts import load_description
from shiyi.server.site.site import Site
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat

_SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"
_RESULTS = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
    "Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD",
)  # fmt: skip
_WRITERS = {"rdf": "rdfxml"}
_JSON: Final = ResultFormat.of("json")
_PARTITIONS: Final = tuple(
    NamedNode(f"{PREFIXES['void']}{kind}Partition") for kind in ("class", "property", "datatype")
)


def service_description(site: Site, extension: str, kind: str) -> Response:
    """Describe the endpoint in SPARQL 1.1 Service Description terms."""
    service, dataset, graph = (BlankNode(name) for name in ("service", "dataset", "graph"))
    endpoint = NamedNode(public_root() + request.path.removeprefix("/"))
    triples = [
        Triple(service, RDF.type, NamedNode(_SD + "Service")),
        Triple(service, NamedNode(_SD + "endpoint"), endpoint),
        Triple(service, NamedNode(_SD + "supportedLanguage"), NamedNode(_SD + "SPARQL11Query")),
        Triple(service, NamedNode(_SD + "defaultDataset"), dataset),
        Triple(dataset, RDF.type, NamedNode(_SD + "Dataset")),
        Triple(dataset, NamedNode(_SD + "defaultGraph"), graph),
        Triple(graph, RDF.type, NamedNode(_SD + "Graph")),
        *(
            Triple(service, NamedNode(_SD + "resultFormat"), NamedNode(_FORMATS + name))
            for name in _RESULTS
        ),
    ]
    if site.writing and site.writing.updater:
        update = NamedNode(_SD + "SPARQL11Update")
        triples.append(Triple(service, NamedNode(_SD + "supportedLanguage"), update))
    return _write_description(triples, extension, kind)


def load_counts(site: Site) -> Counts:
    """Return the stored counts, else count the accepted view by free queries.

    They run in a confined worker, over what all may see. Where the base is too large to tell equal
    subjects and objects apart, that is left out; raises ``QueryLimitError`` where even the rest
    takes too long.
    """
    base = site.base
    if base and (stored := load_description(base)):
        return stored

    def rows(query: str) -> list[dict[str, str]]:
        longest = site.settings.query.timeout_cap
        result = json.loads(site.free.answer(FreeQuery(query, _JSON, longest)))
        found = result["results"]["bindings"]
        return [{name: term["value"] for name, term in row.items()} for row in found]

    try:
        return Counts.of_endpoint(rows)
    except QueryLimitError as limit:
        if limit.limit not in {"time", "memory"}:
            raise
        return Counts.of_endpoint(rows, distinct=False)


def void(site: Site, counts: Counts, extension: str, kind: str) -> Response:
    """Describe the data set in VoID and DCAT, with the releases it can be had in."""
    published = list_releases(site)
    newest = published[0] if published else None
    examples = islice(site.store.match(None, RDF.type, SHIYI.MFHSubstance, DefaultGraph()), 3)
    about = DatasetDescription(
        public_address("machine.void_description") + "#dataset",
        site.release,
        f"{site.settings.base}id/",
        endpoint=public_address("sparql.sparql"),
        version=newest.version if newest else "",
        issued=newest.record["issued"] if newest else "",
        page=public_root(),
        examples=tuple(text(quad.subject) for quad in examples),
        distributions=tuple(_distributions(newest)) if newest else (),
    )
    triples = list(void_triples(about, counts))
    dataset = NamedNode(about.iri)
    version = NamedNode(f"{PREFIXES['dcat']}hasVersion")
    triples += [Triple(dataset, version, name_of(each)) for each in published]
    return _write_description([*triples, *_schema(site, dataset)], extension, kind)


def _schema(site: Site, dataset: NamedNode) -> Iterator[Triple]:
    """Yield which classes have which properties, as the base says of itself."""
    ahead: list[Any] = [(dataset, quad.object) for quad in _parts(site, DATASET)]
    while ahead:
        node, part = ahead.pop()
        for quad in site.store.match(part, None, None, DefaultGraph()):
            yield quad.triple
        ahead += [(part, quad.object) for quad in _parts(site, part)]
        if node == dataset:
            yield Triple(dataset, _PARTITIONS[0], part)


def _parts(site: Site, node: NamedNode) -> Iterator[Quad]:
    for predicate in _PARTITIONS:
        yield from site.store.match(node, predicate, None, DefaultGraph())


def _distributions(release: Release) -> Iterator[Distribution]:
    """Yield the packed files of a release at their addresses here."""
    for name, each in release.record["files"].items():
        if each["packed"]:
            url = public_address("releases.file", version=release.version, name=name)
            yield Distribution(**(dict(each) | {"url": url}))


def _write_description(triples: list[Triple], extension: str, kind: str) -> Response:
    body = serialize(triples, _WRITERS.get(extension, extension), dict(PREFIXES))
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return Response(body, content_type=kind + charset)
