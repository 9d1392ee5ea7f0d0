"""Over a real server, every IRI leads to a page and to data; releases are served, the restricted is not."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import Message
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import cast

import pytest
from pyoxigraph import NamedNode, RdfFormat, Triple, parse

from shiyi.errors import QueryLimitError
from shiyi.model.iris import ID, graph, resource
from shiyi.model.rdf import XSD_BOOLEAN, DefaultGraph, Literal, Quad, text
from shiyi.ontology.terms import DCTERMS, OWL, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.publishing.release import ReleaseRequest, publish
from shiyi.publishing.void import VOID, Counts, DatasetDescription, void_triples
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.server.site.site import PooledQueries, Site
from shiyi.server.sparql.service_description import load_counts
from shiyi.settings import ServerSettings, Settings
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.publishing.test_dumps import HIDDEN, OPEN, PEAR, SHUT_CLAIM, WARFARIN, planted
from tests.publishing.test_dumps import PASSAGE as EXPORTED_PASSAGE
from tests.support.processes import running
from tests.support.sites import GOJI, ask, complete, link
from tests.tables import from_table

SAMPLE = 160
OPEN_PASSAGE, CHAPTER = resource("passage/0be"), resource("section/0be")
BOOK = graph("source", "book@1")
GONE, OLD = resource("substance-gone"), resource("substance-old")


@dataclass(frozen=True)
class Reply:
    """What came back, redirections not followed."""

    status: int
    headers: Message
    body: bytes


def get(url: str, accept: str = "*/*", method: str = "GET", **more: str) -> Reply:
    address, _, path = url.removeprefix("http://").partition("/")
    headers = {"Accept": accept, "Accept-Language": "en"}
    headers |= {key.replace("_", "-"): value for key, value in more.items()}
    connection = HTTPConnection(address, timeout=30)
    try:
        connection.request(method, f"/{path}", headers=headers)
        reply = connection.getresponse()
        return Reply(reply.status, reply.headers, reply.read())
    finally:
        connection.close()


def site_over(store: OxigraphStore, releases: Path) -> Site:
    class Free:
        def answer(self, query: FreeQuery) -> bytes:
            rows = [
                {name: {"value": text(term)} for name, term in row.items()}
                for row in store.select(query.text)
            ]
            return json.dumps({"results": {"bindings": rows}}).encode()

        def dump(self, graph: str, media_type: str, profile: str) -> bytes | None:
            return None

    settings = replace(Settings(), server=replace(ServerSettings(), releases=str(releases)))
    return Site(store, ask, link, complete, Free(), "sha256:test", settings=settings)  # type: ignore[arg-type]  # nothing is streamed here


@pytest.fixture(scope="module")
def starter(starter_kb: Path) -> Iterator[tuple[str, Site]]:
    site = open_site(starter_kb, replace(Settings(), kb=starter_kb), read_only=True)
    try:
        with running(create_app(site)) as address:
            yield address, site
    finally:
        site.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("small")
    store = planted()
    publish(
        store,
        folder,
        ReleaseRequest("1.0.0", "2026-11-21", "sha256:test", "https://w3id.org/shiyi/"),
    )
    store.change(
        add=[
            Quad(GONE, OWL.deprecated, Literal("true", datatype=XSD_BOOLEAN)),
            Quad(GONE, SKOS.prefLabel, Literal("gone", language="en")),
            Quad(GONE, RDFS.comment, Literal("It was never a food.", language="en")),
            Quad(OLD, OWL.deprecated, Literal("true", datatype=XSD_BOOLEAN)),
            Quad(OLD, DCTERMS.isReplacedBy, GOJI),
            Quad(OPEN_PASSAGE, RDF.type, SHIYI.Passage, BOOK),
            Quad(OPEN_PASSAGE, SHIYI.partOfSection, CHAPTER, BOOK),
            Quad(OPEN_PASSAGE, RDF.value, Literal("甘，平。", language="zh"), BOOK),
            Quad(CHAPTER, RDF.type, SHIYI.Section, BOOK),
            Quad(CHAPTER, PROV.wasDerivedFrom, OPEN.iri, BOOK),
            Quad(CHAPTER, RDFS.label, Literal("枸杞子章", language="zh"), BOOK),
        ]
    )
    publish(
        store,
        folder,
        ReleaseRequest("1.1.0", "2026-11-22", "sha256:test", "https://w3id.org/shiyi/"),
    )
    with running(create_app(site_over(store, folder))) as address:
        yield address


def kinds_of(iris: set[str]) -> Mapping[str, list[str]]:
    results: dict[str, list[str]] = {}
    for iri in sorted(iris):
        kind = re.split(r"[-/]", iri.removeprefix(ID))[0]
        results.setdefault(kind, []).append(iri)
    return results


def test_every_iri_has_page_and_turtle(starter: tuple[str, Site]) -> None:
    """Every kind of resource, and a random sample of all, whether subject, predicate or object."""
    address, site = starter
    everywhere = "SELECT DISTINCT ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    iris = {
        term.value
        for place in "spo"
        for row in site.store.select(everywhere.replace("?s ?p ?o {", f"?{place} {{", 1))
        for term in row.values()
        if isinstance(term, NamedNode) and term.value.startswith(ID)
    }
    kinds = kinds_of(iris)
    assert {
        "claim",
        "evidence",
        "source",
        "scheme",
        "activity",
        "tier",
        "substance",
    } <= kinds.keys()
    drawn = random.Random(7).sample(sorted(iris), SAMPLE)  # noqa: S311 # the same each time
    mentioned = set[str]()
    for iri in dict.fromkeys([*(kind[0] for kind in kinds.values()), *drawn]):
        path = iri.replace("https://w3id.org/shiyi", address)
        for accept, start in (("text/html", "/page/"), ("text/turtle", "/data/")):
            reply = get(path, accept)
            assert reply.status == 303, iri
            assert reply.headers["Location"].startswith(start), iri
            if accept == "text/html" and iri in drawn[SAMPLE // 4 :]:
                continue  # a quarter of the pages is enough: they are made by kind
            found = get(address + reply.headers["Location"], accept)
            assert found.status == 200, iri
            if accept == "text/turtle":
                listed = list(parse(found.body, RdfFormat.TURTLE))
                assert any(iri in str(quad) for quad in listed), iri
                mentioned |= set(
                    re.findall(r"<(https://w3id\.org/shiyi/id/[^>]+)>", "\n".join(map(str, listed)))
                )
    assert mentioned - iris == set()  # nothing dangles


def test_a_description_labels_what_it_refers_to(starter: tuple[str, Site]) -> None:
    address, site = starter
    claim = next(
        q.subject
        for q in site.store.match(None, RDF.type, NamedNode("https://w3id.org/shiyi/vocab#Claim"))
    )
    place = str(claim).strip("<>").replace(ID, f"{address}/data/")
    data = get(f"{place}.nt?profile=rdf12").body
    quads = list(parse(data, RdfFormat.N_TRIPLES))
    [triple] = [quad.object for quad in quads if isinstance(quad.object, Triple)]
    labelled = {quad.subject for quad in quads if quad.predicate in (SKOS.prefLabel, RDFS.label)}
    assert {triple.subject, triple.predicate} <= labelled


def test_void_partitions_count_what_the_accepted_view_holds(starter: tuple[str, Site]) -> None:
    address, site = starter
    quads = list(parse(get(f"{address}/.well-known/void", "text/turtle").body, RdfFormat.TURTLE))
    named = [q for q in quads if q.predicate.value.endswith("void#property")]
    data_set = NamedNode(f"{address}/.well-known/void#dataset")
    own = {q.object for q in quads if q.subject == data_set}
    parts = {q.object: q.subject for q in named if q.subject in own}
    assert len(named) > 2 * len(parts)  # and those of each class
    counts = {q.subject: q.object for q in quads if q.predicate.value.endswith("void#triples")}
    for name in ("hasNature", "evidence"):
        term = NamedNode(f"https://w3id.org/shiyi/vocab#{name}")
        content = sum(1 for q in site.store.match(None, term) if str(q.graph_name) == "DEFAULT")
        assert int(counts[parts[term]].value) == content
    linksets = [q for q in quads if str(q.object).endswith("void#Linkset>")]
    assert linksets


def test_what_queries_count_what_reading_every_quad_counts(starter: tuple[str, Site]) -> None:
    _, site = starter
    some = OxigraphStore.in_memory()
    some.change(add=list(islice(site.store.match(graph=DefaultGraph()), 50_000)))
    counts = Counts.of_endpoint(
        lambda query: [
            {name: text(term) for name, term in row.items()} for row in some.select(query)
        ]
    )
    read = Counts.of(some.match())
    assert counts == read
    assert read.links
    assert read.triples > 10_000


def test_large_base_is_counted_without_distinction(starter: tuple[str, Site]) -> None:
    _, site = starter

    class Small:
        """Free queries whose workers have no memory for what is distinct."""

        def __getattr__(self, name: str) -> object:
            return getattr(site.free, name)

        def answer(self, query: FreeQuery) -> bytes:
            if "DISTINCT" in query.text:
                raise QueryLimitError("memory", "too much")
            return site.free.answer(query)

    # as if nothing were stored with the indexes
    counts = load_counts(replace(site, base=None, free=cast("PooledQueries", Small())))
    assert counts.subjects is None
    assert counts.classes[SHIYI.Claim.value] == site.counts["claims"]
    values = {
        triple.predicate.value
        for triple in void_triples(DatasetDescription("urn:set", "1"), counts)
    }
    assert f"{VOID}triples" in values
    assert f"{VOID}distinctSubjects" not in values


def test_crawlers_find_a_map_of_every_concept(starter: tuple[str, Site]) -> None:
    address, site = starter
    assert f"Sitemap: {address}/sitemap.xml" in get(f"{address}/robots.txt").body.decode()
    parts = re.findall(r"<loc>(.*?)</loc>", get(f"{address}/sitemap.xml").body.decode())
    pages = [
        loc for part in parts for loc in re.findall(r"<loc>(.*?)</loc>", get(part).body.decode())
    ]
    assert len(pages) == len(set(pages)) > site.counts["claims"] + site.counts["concepts"]
    assert get(random.Random(3).choice(pages)).status == 200  # noqa: S311 # the same each time
    assert get(f"{address}/sitemap-nothing.0.xml").status == 404


def test_named_graphs_dereference(starter: tuple[str, Site]) -> None:
    address, _ = starter
    reply = get(f"{address}/graph/entailed", "text/turtle")
    assert reply.status == 303
    assert get(address + reply.headers["Location"], "application/n-triples").status == 200
    assert get(f"{address}/graph/entailed", "text/html").status == 200
    assert get(f"{address}/graph/none").status == 404


def test_pages_carry_signposts_and_schema_org(starter: tuple[str, Site]) -> None:
    address, site = starter
    for kind, relation in (("source", "CreativeWork"), ("claim", "Claim")):
        iri = next(
            q.subject.value
            for q in site.store.match(None, RDF.type)
            if isinstance(q.subject, NamedNode) and f"/id/{kind}" in q.subject.value
        )
        reply = get(iri.replace("https://w3id.org/shiyi/id/", f"{address}/page/"), "text/html")
        links = reply.headers["Link"]
        for name in ("cite-as", "describedby", "license", "type", "alternate"):
            assert f'rel="{name}"' in links
        assert f"https://schema.org/{relation}" in links
        assert '<link rel="alternate" type="text/turtle"' in reply.body.decode()
        assert "application/ld+json" in reply.body.decode()
        assert kind == "claim" or 'href="/page/claim/' in reply.body.decode()  # that it supports


@from_table
def test_page_lists_same_name_and_names_in_definition(
    starter: tuple[str, Site], concept: str, listed: list[str]
) -> None:
    page = get(f"{starter[0]}/page/{concept}").body.decode()
    related = page.partition('id="related"')[2].partition("</section>")[0]
    assert re.findall('/page/([^"]+)"', related) == listed


def test_rule_links_to_source_and_named_things(starter: tuple[str, Site]) -> None:
    page = get(f"{starter[0]}/page/rule-mfh-2019-spice?lang=zh", "text/html").body.decode()
    for name in ("source-mfh-notice-2019", "substance-caoguo", "substance-biba"):
        assert f'href="/page/{name}' in page
    page = get(f"{starter[0]}/page/constituent-curcumin", "text/html").body.decode()
    assert 'href="/page/supplement-curcumin"' in page


@pytest.mark.parametrize("form", ["id", "page", "data"])
def test_what_is_deprecated_is_tombstone_or_leads_on(small: str, form: str) -> None:
    reply = get(f"{small}/{form}/substance-gone", "text/html" if form != "data" else "text/turtle")
    assert reply.status == 410
    assert ("never a food" if form != "data" else "deprecated") in reply.body.decode()
    moved = get(f"{small}/{form}/substance-old")
    assert (moved.status, moved.headers["Location"]) == (301, f"/{form}/substance-goji")
    assert moved.headers["Cache-Control"] == "no-cache"  # for the day on which it is undone


def test_a_tombstone_is_rdf_for_machines(small: str) -> None:
    reply = get(f"{small}/data/substance-gone.nt")
    assert (reply.status, reply.headers.get_content_type()) == (410, "application/n-triples")
    assert any(quad.predicate == OWL.deprecated for quad in parse(reply.body, RdfFormat.N_TRIPLES))
    assert get(f"{small}/id/substance-gone", "text/turtle").status == 410


def test_passage_leads_to_words_and_section_by_name(small: str) -> None:
    for form, accept in (("page", "text/html"), ("data", "text/turtle")):
        body = get(f"{small}/{form}/passage/0be", accept).body.decode()
        assert "甘，平。" in body
        assert "枸杞子章" in body
    assert get(f"{small}/id/section/0be", "text/html").status == 303
    assert "甘" not in get(f"{small}/data/section/0be.nt").body.decode()  # bounded


def test_restricted_content_is_on_no_page(small: str) -> None:
    for node in (SHUT_CLAIM.iri, EXPORTED_PASSAGE):
        for form in ("id", "page", "data"):
            assert get(node.value.replace(ID, f"{small}/{form}/")).status == 451
    for node in (PEAR, WARFARIN, GOJI):
        for path in (
            f"/page/{node.value[len(ID) :]}",
            *(
                f"/data/{node.value[len(ID) :]}.{ending}"
                for ending in ("ttl", "nq", "trig", "jsonld", "rdf")
            ),
        ):
            reply = get(small + path)
            assert reply.status == 200
            assert not [each for each in HIDDEN if each in reply.body.decode()]


def test_releases_are_listed_for_people_and_programs(small: str) -> None:
    for language, title in (("en", "Releases"), ("zh", "发布版本")):
        page = get(f"{small}/releases/?lang={language}", "text/html").body.decode()
        assert title in page
        assert page.index("1.1.0") < page.index("1.0.0")
    found = json.loads(get(f"{small}/releases/", "application/json").body)["releases"]
    assert [item["version"] for item in found] == ["1.1.0", "1.0.0"]
    assert get(f"{small}/releases/latest").headers["Location"] == "/releases/1.1.0/"
    assert get(f"{small}/releases/9.9/").status == 404


def test_search_engines_find_releases_from_home_page(small: str) -> None:
    described = []
    for path in ("/", "/releases/"):
        page = get(f"{small}{path}", "text/html").body.decode()
        [text] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
        described.append(json.loads(text))
    home, catalogue = described
    assert (home["@type"], catalogue["@type"]) == ("WebSite", "DataCatalog")
    assert home["hasPart"]["@id"] == catalogue["@id"] == f"{small}/releases/"
    assert [item["version"] for item in catalogue["dataset"]] == ["1.1.0", "1.0.0"]


def test_a_release_has_a_page_data_and_signposts(small: str) -> None:
    page = get(f"{small}/releases/1.1.0/", "text/html")
    assert page.status == 200
    assert '"@type": "Dataset"' in page.body.decode()
    for relation in ("cite-as", "license", "describedby", "item", "type"):
        assert f'rel="{relation}"' in page.headers["Link"]
    data = get(f"{small}/releases/1.1.0/", "text/turtle")
    assert any(
        "distribution" in quad.predicate.value for quad in parse(data.body, RdfFormat.TURTLE)
    )
    for form, accept in (("id", "text/html"), ("page", "text/html"), ("id", "text/turtle")):
        reply = get(f"{small}/{form}/release-1.1.0", accept)
        assert (reply.status, reply.headers["Location"]) == (303, "/releases/1.1.0/")
    assert list(parse(get(f"{small}/data/release-1.1.0.nt").body, RdfFormat.N_TRIPLES))
    assert get(f"{small}/id/release-9").status == 404
    void = get(f"{small}/.well-known/void", "text/turtle").body.decode()
    assert "release-1.1.0" in void
    assert f"{small}/releases/1.1.0/shiyi.nq.gz" in void


def test_files_of_release_have_types_ranges_and_conditions(small: str) -> None:
    url = f"{small}/releases/1.1.0/shiyi.nq.gz"
    whole = get(url)
    assert whole.headers.get_content_type() == "application/gzip"
    assert "Content-Encoding" not in whole.headers
    part = get(url, Range="bytes=2-5")
    assert (part.status, part.body) == (206, whole.body[2:6])
    assert get(url, If_None_Match=whole.headers["ETag"]).status == 304
    assert get(f"{small}/releases/1.1.0/void.ttl").headers.get_content_type() == "text/turtle"
    assert (
        get(f"{small}/releases/1.1.0/csv/entity-Food.csv").headers.get_content_type() == "text/csv"
    )
    for name in ("../1.0.0/void.ttl", "%2e%2e/%2e%2e/etc/passwd", "nothing", ".release"):
        assert get(f"{small}/releases/1.1.0/{name}").status == 404, name
    head = get(url, method="HEAD")
    assert (head.body, int(head.headers["Content-Length"])) == (b"", len(whole.body))


def test_what_a_page_says_stays_within_its_graph(small: str) -> None:
    """A derived caution of a restricted claim is hidden with it, also in its own graph."""
    body = get(f"{small}/data/substance-pear.nq").body.decode()
    assert graph("derived").value not in body
