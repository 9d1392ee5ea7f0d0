"""What the endpoint tells machines about itself: SPARQL service description and VoID."""

from flask import Response, url_for

from shiyi.model.names import VOCAB
from shiyi.model.rdf import XSD_INTEGER, BlankNode, Literal, NamedNode, Triple, serialize
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF
from shiyi.server.site import Site

_SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"
_VOID = "http://rdfs.org/ns/void#"
_LICENCE = "https://creativecommons.org/licenses/by/4.0/"
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV",
            "SPARQL_Results_TSV", "Turtle", "N-Triples", "N-Quads", "TriG", "RDF_XML", "JSON-LD")  # fmt: skip
_WRITERS = {"rdf": "rdfxml"}


def service_description(site: Site, extension: str, kind: str) -> Response:
    """Describe the endpoint in SPARQL 1.1 Service Description terms."""
    service, dataset, graph = (BlankNode(name) for name in ("service", "dataset", "graph"))
    endpoint = NamedNode(url_for("sparql.sparql", _external=True))
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
    return _written(triples, extension, kind)


def void(site: Site, extension: str, kind: str) -> Response:
    """Describe the data set in VoID: where it is, what it holds, under which licence."""
    dataset = NamedNode(url_for("machine.void_description", _external=True) + "#dataset")
    term = {name: NamedNode(_VOID + name) for name in (
        "Dataset", "sparqlEndpoint", "uriSpace", "vocabulary", "triples", "exampleResource",
        "classPartition", "class", "entities",
    )}  # fmt: skip
    endpoint = NamedNode(url_for("sparql.sparql", _external=True))
    triples = [
        Triple(dataset, RDF.type, term["Dataset"]),
        Triple(dataset, DCTERMS.title, Literal("Shiyi 食医", language="zh")),
        Triple(dataset, DCTERMS.license, NamedNode(_LICENCE)),
        Triple(dataset, DCTERMS.identifier, Literal(site.release)),
        Triple(dataset, term["sparqlEndpoint"], endpoint),
        Triple(dataset, term["uriSpace"], Literal(f"{site.settings.base}id/")),
        Triple(dataset, term["vocabulary"], NamedNode(VOCAB)),
        Triple(
            dataset,
            term["triples"],
            Literal(str(site.counts.get("quads", 0)), datatype=XSD_INTEGER),
        ),
    ]
    for name, count in site.counts.items():
        if name[:1].isupper():
            node = BlankNode()
            number = Literal(str(count), datatype=XSD_INTEGER)
            triples += [
                Triple(dataset, term["classPartition"], node),
                Triple(node, term["class"], NamedNode(VOCAB + name)),
                Triple(node, term["entities"], number),
            ]
    return _written(triples, extension, kind)


def _written(triples: list[Triple], extension: str, kind: str) -> Response:
    body = serialize(triples, _WRITERS.get(extension, extension), dict(PREFIXES))
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return Response(body, content_type=kind + charset)
