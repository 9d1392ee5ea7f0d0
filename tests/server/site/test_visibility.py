"""What a restricted source says leaves by no public way; a new route needs its row here."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from mcp.server.mcpserver.exceptions import ToolError

from shiyi.cli.serve import Tools
from shiyi.curation.accounts import AccountStore, Role
from shiyi.errors import KnowledgeBaseError, SettingError
from shiyi.model.iris import ID, graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, Triple
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.publishing.release import ReleaseRequest, publish
from shiyi.server.app import create_app
from shiyi.server.curating.session import required_right
from shiyi.server.site.opening import open_site
from shiyi.server.site.site import Site
from shiyi.server.site.tokens import Tokens
from shiyi.server.site.visibility import check_audience, restrict_site
from shiyi.settings import QuerySettings, ServerSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.snapshots import Snapshot
from shiyi.sparql.store.visibility import find_restricted, remove_restricted
from tests.publishing.test_dumps import (
    CANDIDATE,
    DERIVED,
    GOJI,
    HIDDEN,
    OPEN_CLAIM,
    PASSAGE,
    PEAR,
    SECTION,
    SHUT_CLAIM,
    WARFARIN,
    planted,
)

ALL = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
BOTH = "CONSTRUCT { ?s ?p ?o } WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
QUESTION = "Can I eat pear with warfarin?"
NAMES = tuple(
    node.value.removeprefix(ID)
    for node in (
        PEAR,
        GOJI,
        WARFARIN,
        SHUT_CLAIM.iri,
        DERIVED.iri,
        CANDIDATE.iri,
        PASSAGE,
        SECTION,
        SHUT_CLAIM.evidence[0].iri(SHUT_CLAIM.iri),
        OPEN_CLAIM.iri,
    )
)
GRAPHS = tuple(
    node.value
    for node in (
        graph("derived"),
        graph("candidates"),
        graph("source", "shut@1"),
        graph("cases", "one"),
        graph("journal"),
    )
)
FORMS = ("ttl", "nt", "nq", "trig", "jsonld", "rdf")
TYPES = {"jsonld": "application/ld+json", "json": "application/sparql-results+json"}
# the names of the two properties stand in the vocabulary and in examples too
SECRETS = tuple(each for each in HIDDEN if each not in {"aggravates", "derivedCaution"})
# how each public route is asked for what it must not tell
ASKED: dict[str, list[str]] = {
    "/": ["/"], "/ask": [f"/ask?q={QUESTION}", f"/ask?q={QUESTION}&method=paths"],
    "/api/ask": [f"/api/ask?q={QUESTION}"], "/api/ask/pivots": [f"/api/ask/pivots?q={QUESTION}"],
    "/api/ask/stream": [f"/api/ask/stream?q={QUESTION}&page=1"],
    "/api/complete": ["/api/complete?q=pe", "/api/complete?q=梨"], "/api/openapi.json": ["/api/openapi.json"],
    "/browse": ["/browse", "/browse?class=Food", "/browse?class=Food&tier=tier-monograph",
                "/browse?class=Food&tier=tier-textbook"],
    "/audit": ["/audit"], "/check": ["/check"],
    "/api": [], "/docs": [], "/docs/": [], "/docs/<path:name>": [],
    "/compare": ["/compare?ids=substance-pear,substance-goji"], "/concept-search": ["/concept-search?q=pear"],
    "/constitution": ["/constitution"], "/dishes": ["/dishes?with=pear"],
    "/timeline/<name>": [f"/timeline/substance-pear{each}" for each in ("", ".svg", ".csv")],
    "/api/timeline": ["/api/timeline?concept=substance-pear"],
    "/statistics": ["/statistics"], "/vocab": ["/vocab"], "/vocab/<version>": [], "/vocab/reference": [],
    "/vocab.<extension>": [f"/vocab.{each}" for each in FORMS],
    "/.well-known/void": ["/.well-known/void"], "/favicon.ico": [], "/favicon.svg": [], "/static/<path:name>": [],
    "/healthz": ["/healthz"], "/metrics": ["/metrics"], "/robots.txt": ["/robots.txt"],
    "/sitemap.xml": ["/sitemap.xml"],
    "/sitemap-<kind>.<int:number>.xml": [f"/sitemap-{term}.0.xml" for term in ("claims", "concepts", "sources")],
    "/graph/<path:name>": [each.replace("https://w3id.org/shiyi", "") for each in GRAPHS],
    "/id/<path:name>": [f"/id/{each}" for each in NAMES],
    "/page/<path:name>": [f"/page/{each}" for each in NAMES],
    "/data/<path:name>": [f"/data/{each}.{form}" for each in NAMES for form in FORMS],
    "/sparql": [f"/sparql?query={ALL}&format={term}" for term in ("json", "xml", "csv", "tsv")]
    + [f"/sparql?query={BOTH}&format={each}" for each in FORMS] + [f"/sparql?query={ALL}", "/sparql"]
    + [f"/sparql?query=DESCRIBE <{ID}{each}>&format=nt&profile=rdf11" for each in NAMES],
    "/sparql/rdf11": [f"/sparql/rdf11?query={ALL}&format=csv", f"/sparql?query={ALL}&profile=rdf11&format=tsv"],
    "/rdf-graph-store": ["/rdf-graph-store?default"] + [f"/rdf-graph-store?graph={each}" for each in GRAPHS],
    "/rdf-graph-store/<path:name>": ["/rdf-graph-store/x"],
    "/releases/": ["/releases/"], "/releases/<version>/": ["/releases/1/"],
    "/releases/<version>/<path:name>": ["/releases/1/claims.csv.gz", "/releases/1/shiyi.nq.gz"],
    "/releases/latest": ["/releases/latest"], "/releases/latest/": ["/releases/latest/"],
    "/releases/latest/<path:name>": ["/releases/latest/void.ttl"],
    "/api/search": ["/api/search?q=pear", "/api/search?q=warfarin", "/api/search?q=梨"],
    "/api/reconcile": ['/api/reconcile?queries={"q":{"query":"pear"}}', "/api/reconcile",
                       ('/api/reconcile?extend={"ids":["substance-pear","substance-goji","drug-warfarin"],'
                       '"properties":[{"id":"aggravates"},{"id":"interactsWith"},{"id":"flavour"}]}')],
    "/api/reconcile/preview": [f"/api/reconcile/preview?id={each}" for each in NAMES],
    "/api/reconcile/properties": ["/api/reconcile/properties?type=Food"],
    "/api/reconcile/suggest/entity": ["/api/reconcile/suggest/entity?prefix=pe"],
    "/api/reconcile/suggest/type": ["/api/reconcile/suggest/type?prefix=Fo"],
    "/api/reconcile/suggest/property": ["/api/reconcile/suggest/property?prefix=a"],
    "/curate": ["/curate"], "/curate/sign-in": ["/curate/sign-in"],
    "/curate/report": [f"/curate/report?about={each}" for each in NAMES],
    "/curate/oidc": [], "/curate/oidc/callback": [],
}  # fmt: skip
POSTED: dict[str, list[dict[str, Any]]] = {
    "/api/ask": [{"json": {"question": QUESTION}}, {"json": {"question": QUESTION, "method": "evidence"}}],
    "/api/ask/replay": [{"json": {"answer": {}}}], "/api/ask/sparql": [{"json": {"question": QUESTION}}],
    "/api/audit": [{"json": {"text": QUESTION}}], "/api/frame": [{"json": {"text": QUESTION}}],
    "/audit": [{"data": {"text": QUESTION}}],
    "/ask": [{"data": {"q": QUESTION}}], "/api/ask/stream": [{"data": {"q": QUESTION}}],
    "/constitution": [{"data": {}}], "/api/complete": [{"data": {"q": "pear"}}],
    "/api/check": [{"json": {"things": ["pear", "goji", "warfarin"]}}],
    "/check": [{"data": {"things": "pear\ngoji\nwarfarin"}}],
    "/api/link": [{"json": {"text": QUESTION}}],
    "/api/reconcile": [{"data": {"queries": '{"q":{"query":"pear"},"r":{"query":"warfarin"}}'}}],
    "/sparql": [{"data": {"query": ALL, "format": "csv"}},
                {"data": ALL, "content_type": "application/sparql-query"}],
    "/sparql/rdf11": [{"data": {"query": ALL, "format": "json"}}],
    "/curate/report": [{"data": {"about": each, "website": "x"}} for each in NAMES],
    "/curate/sign-in": [], "/curate/sign-out": [],
}  # fmt: skip


@dataclass(frozen=True)
class Served:
    """A base with restricted claims, opened as ``shiyi serve`` does."""

    app: Flask
    site: Site
    token: str

    def client(self) -> FlaskClient:
        return self.app.test_client()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("restricted")
    kb = folder / "kb"
    store = planted()
    build_generation(kb, store.match(), {})
    publish(
        store,
        kb / "releases",
        ReleaseRequest("1", "2026-11-21", "sha256:x", "https://w3id.org/shiyi/"),
    )
    AccountStore(kb).add("ada", Role.ADMINISTRATOR, "correct horse battery")
    token = Tokens(kb).add("ada", "write", 1)
    settings = replace(Settings(), kb=kb, query=QuerySettings(workers=1))
    site = open_site(kb, settings)
    try:
        yield Served(create_app(site), site, token)
    finally:
        site.close()


def reported(body: bytes, asked: str = "") -> list[str]:
    """List the hidden things a body tells, packed or not, but for those the request named."""
    if body[:2] == b"\x1f\x8b":
        body = gzip.decompress(body)
    text = body.decode()
    return [secret for secret in SECRETS if secret in text and secret not in asked]


def public(served: Served, method: str) -> set[str]:
    """List the routes that need no right, by the app itself."""
    return {
        rule.rule
        for rule in served.app.url_map.iter_rules()
        if method in (rule.methods or ())
        and not (
            rule.rule.startswith(("/curate", "/api/curation"))
            and (right := required_right(served.app, rule.endpoint))
            and right.value != "open"
        )
        and not (rule.rule.startswith("/rdf-graph-store") and method != "GET")
    }


def test_every_public_route_has_its_row(served: Served) -> None:
    assert public(served, "GET") == set(ASKED)
    assert public(served, "POST") == set(POSTED)


@pytest.mark.parametrize("route", ASKED)
def test_what_is_restricted_leaves_by_no_address(served: Served, route: str) -> None:
    answered = set()
    for path in ASKED[route]:
        for accept in ("text/html", "text/turtle", "application/json", "*/*"):
            headers = {"Accept": accept, "Accept-Language": "en"}
            with served.client().get(path, headers=headers) as reply:
                assert reported(reply.data, path) == [], (path, accept)
                answered.add(reply.status_code)
    assert not ASKED[route] or answered & {200, 302, 303, 404}
    assert not {item for item in answered if item >= 500}, answered


@pytest.mark.parametrize("route", POSTED)
def test_what_is_restricted_in_no_reply_to_post(served: Served, route: str) -> None:
    for record in POSTED[route]:
        reply = served.client().post(route, headers={"Accept-Language": "en"}, **record)
        assert reply.status_code in {200, 400, 403, 404, 422}, (route, reply.data)
        assert reported(reply.data, str(record)) == []


def test_an_assistant_reads_nothing_restricted(served: Served) -> None:
    tools = Tools(restrict_site(served.site))
    results = [tools.ask(QUESTION), tools.search("pear"), tools.query(ALL)]
    for name in NAMES:
        try:
            results.append(tools.claim(ID + name))
        except ToolError as fault:  # its words are looked at as well
            results.append({"told": str(fault).replace(name, "")})
    assert reported(json.dumps(results, ensure_ascii=False).encode()) == []


def test_who_may_write_sees_all(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}", "Accept": "text/csv"}
    reply = served.client().get(f"/sparql?query={ALL}", headers=headers)
    assert set(reported(reply.data)) == set(SECRETS)
    assert reply.headers["Cache-Control"].startswith("private")
    assert "Authorization" in reply.headers["Vary"]
    path = f"/rdf-graph-store?graph={graph('candidates').value}"
    turtle = headers | {"Accept": "text/turtle"}
    assert "SECRET QUOTE" in served.client().get(path, headers=turtle).text
    assert b"id/" not in served.client().get(path).data  # all that it holds stays inside
    wrong = {"Authorization": "Bearer shiyi_wrong"}
    assert served.client().get(f"/sparql?query={ALL}", headers=wrong).status_code == 401


def test_what_others_support_loses_its_evidence_alone(served: Served) -> None:
    asked = f"SELECT ?e {{ <{OPEN_CLAIM.iri.value}> <{SHIYI.evidence.value}> ?e }}"
    reply = served.client().get("/sparql", query_string={"query": asked, "format": "csv"})
    assert reply.text.split() == ["e", OPEN_CLAIM.evidence[0].iri(OPEN_CLAIM.iri).value]
    answer = (
        served.client().post("/api/ask", json={"question": "Can I eat goji with warfarin?"}).json
    )
    assert answer
    assert OPEN_CLAIM.iri.value in {item["claim"] for item in answer["citations"]}


def test_public_copy_lacks_restricted_quads_only(tmp_path: Path) -> None:
    """Also statements about a restricted claim, which no index finds, and its triple elsewhere."""
    store = planted()
    note = NamedNode("urn:note")
    about = Triple(SHUT_CLAIM.iri, SHIYI.confidence, Literal("1"))
    store.change(
        add=[
            Quad(note, RDF.reifies, about),
            Quad(note, DCTERMS.subject, about, graph("reviews")),
            Quad(PEAR, SHIYI.interactsWith, WARFARIN, graph("schools", "one")),
        ]
    )
    content = find_restricted(store)
    quads = {quad for quad in store.match() if not content.hides(quad)}
    build_generation(tmp_path / "kb", store.match(), {})
    with KnowledgeBase.open(tmp_path / "kb") as base:
        snapshot = base.take_snapshot()
        try:
            assert remove_restricted(snapshot)
            assert not remove_restricted(snapshot)
            assert set(OxigraphStore.read_only(snapshot.path).match()) == quads
        finally:
            snapshot.remove()
    assert note not in {quad.subject for quad in quads}


def test_other_graphs_do_not_change_visibility() -> None:
    store, node, source = planted(), NamedNode("urn:mine"), NamedNode("urn:source")
    before, restricted = find_restricted(store), Literal("restricted: no copies")
    [evidence] = {each.iri(OPEN_CLAIM.iri) for each in OPEN_CLAIM.evidence[:1]}
    [term] = (quad.object for quad in store.match(evidence, DCTERMS.source))
    assert isinstance(term, NamedNode)
    assert OPEN_CLAIM.iri.value not in before.claims
    assert SHUT_CLAIM.iri.value in before.claims
    store.change(
        add=[
            Quad(term, DCTERMS.license, restricted, node),
            Quad(source, DCTERMS.license, restricted, node),
            Quad(evidence, DCTERMS.source, source, node),
            Quad(SHUT_CLAIM.iri, SHIYI.evidence, evidence, node),
        ]
    )
    assert find_restricted(store) == before
    store.change((), [q for q in store.match(None, SHIYI.evidence) if q.subject != SHUT_CLAIM.iri])
    assert SHUT_CLAIM.iri.value in find_restricted(store).claims  # alone


def test_text_stays_once_others_state_it() -> None:
    store, words = planted(), resource("text/00ff")
    store.change(add=list(claim_quads(replace(SHUT_CLAIM, object=words))))
    assert words.value in find_restricted(store).nodes
    store.change(add=[Quad(GOJI, SHIYI.interactsWith, words)])
    assert words.value not in find_restricted(store).nodes


def test_claim_is_public_once_open_source_supports(tmp_path: Path) -> None:
    store = planted()
    build_generation(tmp_path / "kb", store.match(), {})
    asked = f"ASK {{ <{PEAR.value}> <{SHIYI.interactsWith.value}> <{WARFARIN.value}> }}"
    with (
        KnowledgeBase.open(tmp_path / "kb", write=True) as base,
        QueryPool(base, QuerySettings(workers=1)) as pool,
    ):
        assert b"false" in pool.query(FreeQuery(asked)).body
        assert b"true" in pool.query(FreeQuery(asked, whole=True)).body
        evidence = NamedNode(f"{ID}evidence/open")
        base.writer.write(
            [
                Quad(SHUT_CLAIM.iri, SHIYI.evidence, evidence),
                Quad(evidence, DCTERMS.source, NamedNode(f"{ID}source-open")),
            ],
            key="1",
            agent="a",
            reason="b",
        )
        pool.refresh()
        assert b"true" in pool.query(FreeQuery(asked)).body


def test_public_base_hides_cases(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", planted().match(), {})
    with (
        KnowledgeBase.open(tmp_path / "kb") as base,
        QueryPool(base, QuerySettings(workers=1), open_to_all=True) as pool,
    ):
        body = pool.query(FreeQuery(ALL)).body
    assert set(reported(body)) == {*SECRETS} - {"a case"}


def test_failed_copy_shows_no_restricted_claim(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", planted().match(), {})
    with KnowledgeBase.open(tmp_path / "kb") as base:
        assert base.snapshot
        with pytest.raises(KnowledgeBaseError, match="may not leave"):
            remove_restricted(Snapshot(base.snapshot.path, None, -1))


def test_remote_store_with_restricted_claims_is_not_served() -> None:
    class Remote(RemoteStore):
        def __init__(self, inner: OxigraphStore) -> None:
            self.match = inner.match  # type: ignore[method-assign]

    store = Remote(planted())
    with pytest.raises(SettingError, match="restricted"):
        check_audience(store, ServerSettings())
    check_audience(store, ServerSettings(restricted=True))
    check_audience(planted(), ServerSettings(host="0.0.0.0"))  # noqa: S104 # not opened
