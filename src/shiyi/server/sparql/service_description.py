"""Service description and VoID."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from flask import Response, request

from shiyi.errors import QueryLimitError
from shiyi.model.rdf import DefaultGraph, NamedNode, Triple, parse_turtle, text
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.publishing.void import DATASET, Counts, DatasetDescription, Distribution, void_triples
from shiyi.server.http.headers import public_address, public_root
from shiyi.server.http.messages import rdf_response
from shiyi.server.pages.releases import Release, list_releases, name_of
from shiyi.server.site.counts import load_description, store_description
from shiyi.server.site.site import Site
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat

_SD = "http://www.w3.org/ns/sparql-service-description#"
_RESULTS = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
    "Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD",
)  # fmt: skip
_JSON: Final = ResultFormat.of("json")
_PARTITIONS: Final = tuple(
    NamedNode(f"{PREFIXES['void']}{kind}Partition") for kind in ("class", "property", "datatype")
)


def service_description(site: Site, extension: str) -> Response:
    """Describe the endpoint in SPARQL 1.1 Service Description terms."""
    languages = ["sd:SPARQL11Query"]
    languages += ["sd:SPARQL11Update"] if site.writing and site.writing.updater else []
    turtle = f"""@prefix sd: <{_SD}> . @prefix formats: <http://www.w3.org/ns/formats/> .
_:service a sd:Service ; sd:endpoint <{public_root()}{request.path.removeprefix("/")}> ;
  sd:supportedLanguage {", ".join(languages)} ;
  sd:resultFormat {", ".join(f"formats:{result}" for result in _RESULTS)} ;
  sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ] ."""
    return rdf_response((quad.triple for quad in parse_turtle(turtle)), extension)


def load_counts(site: Site) -> Counts:
    """Return the stored counts, else count the accepted view by free queries.

    They run in a confined worker, over what all may see. Where the base is too large to tell equal
    subjects and objects apart, that is left out; raises ``QueryLimitError`` at the limit.
    """
    base = site.base
    if base and (counts := load_description(base)):
        return counts
    if base and not site.settings.server.restricted:  # as `shiyi index` would count it
        return store_description(base, lambda: count_by_queries(site))
    return count_by_queries(site)


def count_by_queries(site: Site) -> Counts:
    """Count the accepted view by free queries: what all may see, without the rest."""

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


def void(site: Site, counts: Counts, extension: str) -> Response:
    """Describe the data set in VoID and DCAT, with the releases it can be had in."""
    releases = list_releases(site)
    newest = releases[0] if releases else None
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
    triples += [Triple(dataset, version, name_of(release)) for release in releases]
    return rdf_response([*triples, *_schema(site, dataset)], extension)


def _schema(site: Site, dataset: NamedNode) -> Iterator[Triple]:
    """Yield which classes have which properties, as the base says of itself."""
    nodes: list[Any] = [DATASET]
    while nodes:
        quads = list(site.store.match_each(nodes, None, DefaultGraph()))
        nodes = [quad.object for quad in quads if quad.predicate in _PARTITIONS]
        for quad in quads:
            if quad.subject != DATASET:
                yield quad.triple
            elif quad.predicate in _PARTITIONS:
                yield Triple(dataset, quad.predicate, quad.object)


def _distributions(release: Release) -> Iterator[Distribution]:
    """Yield the packed files of a release at their addresses here."""
    for name, item in release.record["files"].items():
        if item["packed"]:
            url = public_address("releases.file", version=release.version, name=name)
            yield Distribution(**(dict(item) | {"url": url}))
