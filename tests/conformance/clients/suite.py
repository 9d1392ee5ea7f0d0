"""What each third-party client does with a server; runs in the environment of the clients.

``python suite.py ADDRESS NANOPUBLICATIONS RELEASE SHIYI…`` prints one JSON list a line: tool,
what, outcome, message; the last words start the command. A tool that fails says so in its own words.
"""

import asyncio
import csv
import gzip
import io
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from pathlib import Path
from typing import Any

Case = Callable[[str], str]
GOJI = "https://w3id.org/shiyi/id/substance-gouqizi"
SH = "PREFIX sh: <http://www.w3.org/ns/shacl#> "
VOID = "PREFIX void: <http://rdfs.org/ns/void#> "
OWN = ("evidence_kind", "suggested_source")  # columns of edges that Biolink has no slot for
CASES: list[tuple[str, str, Case]] = []


def case(tool: str, what: str) -> Callable[[Case], Case]:
    """Add a case to the table."""

    def added(run: Case) -> Case:
        CASES.append((tool, what, run))
        return run

    return added


def get(address: str, accept: str = "*/*") -> bytes:
    """Return the body of an address."""
    request = urllib.request.Request(address, headers={"Accept": accept})  # noqa: S310 # our own
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
        found: bytes = reply.read()
    return found


def ask(base: str, query: str, form: str | None = None) -> Any:
    """Ask by SPARQLWrapper, in its default format where none is named."""
    wrapper = import_module("SPARQLWrapper").SPARQLWrapper(f"{base}/sparql")
    wrapper.setQuery(query)
    if form:
        wrapper.setReturnFormat(form)
    return wrapper.query().convert()


def rows(base: str, query: str) -> int:
    """Count the rows of a SELECT; raise an error where there are none."""
    found = len(ask(base, query, "json")["results"]["bindings"])
    assert found, "no rows"
    return found


@case("SPARQLWrapper", "SELECT as JSON")
def _(base: str) -> str:
    return f"{rows(base, 'SELECT * { ?s ?p ?o } LIMIT 3')} rows"


@case("SPARQLWrapper", "CONSTRUCT, DESCRIBE in the default format")
def _(base: str) -> str:
    made = ask(base, "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 5")
    return f"{len(made)}, {len(ask(base, f'DESCRIBE <{GOJI}>'))} triples"


@case("SPARQLWrapper", "CONSTRUCT as xml, turtle, n3, json-ld, rdf+xml")
def _(base: str) -> str:
    for form in ("xml", "turtle", "n3", "json-ld", "rdf+xml"):
        assert len(ask(base, f"DESCRIBE <{GOJI}>", form)), form
    return "5 formats"


@case("sparql-llm", "discovery: prefixes")
def _(base: str) -> str:
    return f"{rows(base, SH + 'SELECT * { [] sh:namespace ?n ; sh:prefix ?p }')} rows"


@case("sparql-llm", "discovery: examples")
def _(base: str) -> str:
    verbs = "sh:select|sh:ask|sh:construct|sh:describe"
    return f"{rows(base, SH + f'SELECT * {{ ?q a sh:SPARQLExecutable ; {verbs} ?text }}')} rows"


@case("sparql-llm", "discovery: schema in VoID")
def _(base: str) -> str:
    query = """SELECT * { ?part void:class ?class ; void:propertyPartition ?pp .
        ?pp void:property ?property .
        OPTIONAL { { ?pp void:classPartition [ void:class ?other ] }
            UNION { ?pp void:datatypePartition [ void:datatype ?type ] } } }"""
    return f"{rows(base, VOID + query)} rows"


@case("rdflib", "a concept by its IRI, content negotiation")
def _(base: str) -> str:
    return _parsed(f"{base}/id/substance-gouqizi")


@case("rdflib", "/data/… as Turtle, N-Triples, N-Quads, TriG, JSON-LD, RDF/XML")
def _(base: str) -> str:
    forms = ("ttl", "nt", "nq", "trig", "jsonld", "rdf")
    parsed = {_parsed(f"{base}/data/substance-gouqizi.{each}") for each in forms}
    return ", ".join(sorted(parsed))


@case("rdflib", "the vocabulary; VoID and DCAT")
def _(base: str) -> str:
    return f"{_parsed(f'{base}/vocab')}; {_parsed(f'{base}/.well-known/void')}"


def _parsed(address: str) -> str:
    graph = import_module("rdflib").Dataset(default_union=True).parse(address)
    assert len(graph) >= 50, f"{len(graph)} triples"
    return f"{len(graph)} triples"


@case("rdflib", "SPARQLStore over /sparql/rdf11")
def _(base: str) -> str:
    rdflib = import_module("rdflib")
    store = import_module("rdflib.plugins.stores.sparqlstore").SPARQLStore(f"{base}/sparql/rdf11")
    pattern = f"?c rdf:subject <{GOJI}> ; rdf:predicate ?p ; rdf:object ?o"
    found = list(rdflib.Graph(store).query(f"SELECT * {{ {pattern} }}"))
    assert found, "no rows"
    return f"{len(found)} claims"


@case("owlready2", "the ontology with header and unions")
def _(base: str) -> str:
    world = import_module("owlready2").World()
    source = io.BytesIO(get(f"{base}/vocab.rdf"))
    ontology = world.get_ontology("https://w3id.org/shiyi/vocab").load(fileobj=source)
    classes, properties = len(list(ontology.classes())), len(list(ontology.properties()))
    assert classes >= 40 and properties >= 100, (classes, properties)  # noqa: PT018 # one outcome
    return f"{classes} classes, {properties} properties"


@case("PyLD", "JSON-LD to N-Quads")
def _(base: str) -> str:
    document = json.loads(get(f"{base}/data/substance-gouqizi.jsonld"))
    lines = import_module("pyld").jsonld.to_rdf(document, {"format": "application/n-quads"})
    assert lines.count("\n") >= 50
    return f"{lines.count(chr(10))} triples"


@case("openapi-spec-validator", "/api/openapi.json")
def _(base: str) -> str:
    document = json.loads(get(f"{base}/api/openapi.json"))
    import_module("openapi_spec_validator").validate(document)
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert all(each["operationId"] and each["description"] for each in operations)
    return f"{len(operations)} operations"


@case("nanopub", "the first nanopublication of an export is valid")
def _(base: str) -> str:
    graph = _first_nanopublication()
    assert import_module("nanopub").Nanopub(rdf=graph).is_valid
    return f"{len(graph)} quads"


@case("nanopub", "it is signed and gets a trusty IRI")
def _(base: str) -> str:
    nanopub = import_module("nanopub")
    profile = nanopub.Profile("https://orcid.org/0000-0000-0000-0000", "made up")
    signed = nanopub.Nanopub(rdf=_first_nanopublication(), conf=nanopub.NanopubConf(profile))
    signed.sign()
    assert signed.is_valid and signed.has_valid_signature and signed.has_valid_trusty  # noqa: PT018
    return str(signed.source_uri)[:60]


def _first_nanopublication() -> Any:
    with Path(sys.argv[2]).open(encoding="utf-8") as file:
        first = file.readline()
        name = first.split("#nanopub")[0]
        own = [first, *takewhile(lambda line: f"{name[1:]}#nanopub" in line, file)]
    graph = import_module("rdflib").ConjunctiveGraph()
    return graph.parse(data="".join(own), format="nquads")


@case("bmt", "categories, predicates, qualifiers of the KGX of a release are Biolink's")
def _(base: str) -> str:
    model = Path(import_module("biolink_model").__path__[0]) / "schema/biolink_model.yaml"
    toolkit = import_module("bmt").Toolkit(str(model), {"predicate mappings": []})
    slots = [each.replace(" ", "_") for each in toolkit.get_all_edge_properties()]
    used, named = {}, list[str]()
    for file, column, known in (
        ("nodes", "category", toolkit.is_category),
        ("edges", "predicate", toolkit.is_predicate),
    ):
        with (Path(sys.argv[3]) / f"kgx/{file}.tsv").open(encoding="utf-8", newline="") as rows:
            table = csv.DictReader(rows, delimiter="\t")
            used[file] = Counter(row[column] for row in table)
            named = [each for each in table.fieldnames or () if "_" in each and each not in OWN]
        assert not (wrong := [each for each in used[file] if not known(each)]), wrong
    assert not (wrong := [each for each in named if each not in slots]), wrong
    vague, count = used["edges"]["biolink:related_to"], sum(map(toolkit.is_qualifier, named))
    found = f"{len(used['edges'])} predicates, {count} qualifiers"
    return f"{found}, {vague} of {used['edges'].total()} edges related_to"


@case("kgx", "the KGX of a release is valid, its prefix registered")
def _(base: str) -> str:
    script = str(Path(__file__).with_name("kgx_files.py"))
    tool = [f"{sys.prefix}/kgx/bin/python", "-W", "ignore", script, f"{sys.argv[3]}/kgx"]
    done = subprocess.run(tool, check=True, capture_output=True, text=True)  # noqa: S603
    name, errors = json.loads(done.stdout.splitlines()[-1])
    assert not errors, errors
    return f"version {name}, no error"


def _piped(name: str, *tool: str) -> str:
    """Give a compressed file of the release to a tool; return the last line of its errors."""
    content = gzip.decompress((Path(sys.argv[3]) / name).read_bytes())
    done = subprocess.run(tool, input=content, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: S603, PLW1510
    last = done.stderr.decode().strip().rpartition("\n")[2]
    assert not done.returncode, last
    return last


@case("rapper", "Turtle of a release")
def _(base: str) -> str:
    return _piped("shiyi.ttl.gz", "rapper", "-c", "-i", "turtle", "-", "https://example.org/")


@case("serdi", "Turtle, TriG, N-Quads of a release, strictly")
def _(base: str) -> str:
    forms = {"ttl": "turtle", "trig": "trig", "nq": "nquads"}
    for name, form in forms.items():
        assert not _piped(f"shiyi.{name}.gz", "serdi", "-i", form, "-o", "nquads", "-"), name
    return f"{len(forms)} files"


@case("reconciler", "names reconciled as OpenRefine does")
def _(base: str) -> str:
    names = import_module("pandas").Series(["枸杞子", "ginkgo leaf", "warfarin"])
    address = f"{base}/api/reconcile"
    found = import_module("reconciler").reconcile(names, reconciliation_endpoint=address)
    assert list(found["match"]) == [True] * 3
    return ", ".join(found["id"])


@case("linkml", "Python classes from vocabulary.linkml.yaml of a release")
def _(base: str) -> str:
    generators = import_module("linkml.generators.pydanticgen")
    schema = f"{sys.argv[3]}/vocabulary.linkml.yaml"
    made: dict[str, Any] = {"__name__": "made"}
    exec(generators.PydanticGenerator(schema).serialize(), made)  # noqa: S102 # what it wrote
    food = made["Food"](id="shiyi.id:substance-gouqizi", label="goji")
    assert isinstance(food, made["DietaryMaterial"])
    return f"{sum(isinstance(each, type) for each in made.values())} classes"


@case("py-horned-owl", "the ontology of a release")
def _(base: str) -> str:
    source = get(f"{base}/vocab.rdf").decode()
    ontology = import_module("pyhornedowl").open_ontology(source, "rdf")
    assert ontology.get_iri(), "no IRI"
    return f"{len(ontology.get_axioms())} axioms, {ontology.get_iri()}"


@case("frictionless", "datapackage.json of a release")
def _(base: str) -> str:
    frictionless = import_module("frictionless")
    report = frictionless.validate(f"{sys.argv[3]}/datapackage.json")
    assert report.valid, report.flatten(["title", "message"])[:1]
    return f"{len(report.tasks)} tables"


@case("csvw", "csvw-metadata.json of a release")
def _(base: str) -> str:
    group = import_module("csvw").TableGroup.from_file(f"{sys.argv[3]}/csvw-metadata.json")
    count = sum(1 for table in group.tables for _ in table.iterdicts(strict=True))
    return f"{len(group.tables)} tables, {count} rows"


@case("mlcroissant", "croissant.json of a release")
def _(base: str) -> str:
    dataset = import_module("mlcroissant").Dataset(jsonld=f"{sys.argv[3]}/croissant.json")
    assert not dataset.metadata.issues.errors, dataset.metadata.issues.report()
    return f"{len(dataset.metadata.distribution)} files, {len(dataset.metadata.record_sets)} tables"


@case("rocrate", "RO-Crate of a release")
def _(base: str) -> str:
    return f"{len(import_module('rocrate.rocrate').ROCrate(sys.argv[3]).get_entities())} entities"


@case("sssom", "mappings.sssom.tsv of a release")
def _(base: str) -> str:
    table = import_module("sssom.parsers").parse_sssom_table(f"{sys.argv[3]}/mappings.sssom.tsv")
    assert len(table.df) >= 1000
    kinds = import_module("sssom.constants").SchemaValidationType
    checks = [kinds.JsonSchema, kinds.PrefixMapCompleteness, kinds.StrictCurieFormat]
    import_module("sssom.validators").validate(table, checks, fail_on_error=True)
    return f"{len(table.df)} mappings, valid"


@case("openapi-python-client", "a generated client asks a question")
def _(base: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        words = ["generate", "--url", f"{base}/api/openapi.json", "--output-path", f"{folder}/made"]
        tool = [sys.executable, "-m", "openapi_python_client", *words]
        subprocess.run(tool, check=True, capture_output=True)  # noqa: S603
        sys.path.insert(0, f"{folder}/made")
        client = import_module("shiyi_client").Client(base_url=base)
        models, ask = map(import_module, ("shiyi_client.models", "shiyi_client.api.api.ask"))
        body = models.AskRequest(question="枸杞子能和华法林同吃吗？")
        answer = ask.sync(client=client, body=body)
    return f"{len(answer.warnings)} warnings"


@case("mcp", "tools, resources and prompts over standard input and output")
def _(base: str) -> str:
    mcp = import_module("mcp")
    return _assisted(mcp.StdioServerParameters(command=sys.argv[4], args=[*sys.argv[5:], "mcp"]))


@case("mcp", "the same over Streamable HTTP")
def _(base: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [*sys.argv[4:], "mcp", "--port", str(port)]
    server = subprocess.Popen(words, stdout=sys.stderr)  # noqa: S603 # ours has the rows alone
    try:
        for _ in range(120):
            with socket.socket() as opened:
                if not opened.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(1)
        return _assisted(f"http://127.0.0.1:{port}/mcp")
    finally:
        server.terminate()


def _assisted(server: Any) -> str:
    async def use() -> str:
        async with import_module("mcp").Client(server, read_timeout_seconds=120) as client:
            tools = (await client.list_tools()).tools
            assert all(each.output_schema for each in tools)
            answer = await client.call_tool("ask", {"question": "Goji berries with warfarin?"})
            assert not answer.is_error
            size = len(answer.content[0].text)
            everything = await client.call_tool("query", {"sparql": "SELECT * { ?s ?p ?o }"})
            assert everything.is_error, "more rows than an assistant can read"
            resources = (await client.list_resources()).resources
            prompts = (await client.list_prompts()).prompts
        return f"{len(tools)} tools, {len(resources)} resources, {len(prompts)} prompts; {size} characters"

    return asyncio.run(use())


@case("reuse", "copyright and licence of every file of the project")
def _(base: str) -> str:
    tool = [sys.executable, "-m", "reuse", "lint", "--json"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)  # noqa: S603
    summary = json.loads(done.stdout)["summary"]
    assert summary["compliant"], json.loads(done.stdout)["non_compliant"]
    return f"{summary['files_total']} files; {', '.join(sorted(summary['used_licenses']))}"


def _named(tool: str) -> str:
    try:
        return f"{tool} {version(tool)}"
    except PackageNotFoundError:  # a command, or only its queries are run
        return tool


def main() -> int:
    """Run every case; return 1 where one failed."""
    failed = 0
    for tool, what, run in CASES:
        try:
            outcome, message = "pass", run(sys.argv[1])
        except Exception as fault:  # noqa: BLE001 # any error of a client is its verdict
            outcome, message = "fail", f"{type(fault).__name__}: {fault}".partition("\n")[0][:200]
            failed = 1
        print(json.dumps([_named(tool), what, outcome, message], ensure_ascii=False), flush=True)  # noqa: T201
    return failed


if __name__ == "__main__":
    sys.exit(main())
