"""A knowledge base over remote stores: asked, browsed, written, exported."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.knowledge.updates import _open_state
from shiyi.answering.pipeline import Runtime
from shiyi.answering.runtime import write_indexes
from shiyi.build import check_remote_changes, load_remote
from shiyi.cli import main
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import (
    IndexMismatchError,
    KnowledgeBaseError,
    OutsideError,
    QueryError,
    QueryLimitError,
)
from shiyi.model.claim import Claim, Confidence, Evidence
from shiyi.model.iris import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple
from shiyi.model.rdf import text as text_of
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.publishing.dumps import write_dump
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.server.site.tokens import Tokens
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.base.backups import back_up, restore
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, check_reading, push
from shiyi.sparql.queries.named import Query, query_names
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.sandbox.pool import open_pool
from shiyi.sparql.store.port import Solution
from tests.contracts import A, B, C, P
from tests.publishing.test_dumps import GOJI, OPEN, WARFARIN
from tests.support.bases import RELIEF, build, stored
from tests.support.questions import ask
from tests.support.remote_servers import Server, oxigraph, server, virtuoso

__all__ = ["server"]  # the fixture
QUESTION = "胃不舒服，喜温，吃什么好？"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small base with its indexes, in a folder."""
    kb = tmp_path_factory.mktemp("remote") / "kb"
    build_generation(kb, list(stored().match()), {"claims": 1})
    with KnowledgeBase.open(kb) as base:
        write_indexes(base, Settings())
    return kb


@pytest.fixture(scope="module")
def settings(server: Server, folder: Path) -> Settings:
    """The settings of the base over the server, which holds the release."""
    address, remote = server
    made_settings = replace(Settings(), kb=folder, store=address, remote=remote)
    assert load_remote(made_settings)
    assert not load_remote(made_settings)  # it is there
    return made_settings


Bases = tuple[KnowledgeBase, KnowledgeBase]


@pytest.fixture(scope="module")
def bases(settings: Settings) -> Iterator[Bases]:
    """The base with its own store, and over the server."""
    with KnowledgeBase.open(settings.kb) as own, KnowledgeBase.of(settings) as remote:
        yield own, remote


def exported(base: KnowledgeBase, profile: str = "rdf12") -> bytes:
    file = io.BytesIO()
    write_dump(base.store, file, "nq", profile)
    return file.getvalue()


def test_an_export_has_the_same_bytes(settings: Settings) -> None:
    with KnowledgeBase.open(settings.kb) as own, KnowledgeBase.of(settings) as remote:
        assert remote.is_remote
        assert len(own.store) == len(remote.store)
        assert exported(own) == exported(remote)
        assert exported(own, "rdf11") == exported(remote, "rdf11")


@pytest.mark.parametrize("engine", ["adjacency", "sparql"])
def test_a_question_has_the_same_answer(settings: Settings, engine: str) -> None:
    chosen_settings = replace(settings, paths=replace(settings.paths, engine=engine))
    answers = []
    for where in (replace(chosen_settings, store=""), chosen_settings):
        with KnowledgeBase.of(where) as base:
            answer = ask(Runtime.open(base, where), QUESTION).to_json()
            answer["trace"].pop("milliseconds")
            answers.append(answer)
    assert answers[0]["citations"]
    assert answers[0] == answers[1]


def test_a_search_within_a_query_finds_claims(settings: Settings) -> None:
    query = """PREFIX search: <https://w3id.org/shiyi/search#>
        PREFIX shiyi: <https://w3id.org/shiyi/vocab#>
        PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
        SELECT ?claim ?score { SERVICE <https://w3id.org/shiyi/search>
            { ?claim search:words "枸杞子" ; search:score ?score ; search:limit 5 }
          ?claim rdf:reifies ?statement ; shiyi:confidence ?confidence } ORDER BY ?claim"""
    results = []
    for where in (replace(settings, store=""), settings):
        site = open_site(settings.kb, where)
        try:
            rows = site.free.answer(FreeQuery(query, ResultFormat.of("csv"))).decode().split()[1:]
            results.append([row.partition(",")[0] for row in rows])
            with pytest.raises(QueryError, match="search:words"):
                site.free.answer(FreeQuery(query.replace("search:words", "search:smell")))
        finally:
            site.close()
    assert 0 < len(results[0]) <= 5
    assert results[0] == [each.strip('"') for each in results[1]]


@pytest.mark.parametrize("exchanged", [False, True])
def test_what_others_write_is_noticed(settings: Settings, exchanged: bool) -> None:
    new = Claim(GOJI, SHIYI.cautionIn, WARFARIN, (Evidence(OPEN, Confidence(0.7)),))
    add, remove = list(claim_quads(new)), list[Quad]()
    with KnowledgeBase.of(settings) as base:
        facts = Runtime.open(base, settings).facts
        if exchanged:  # as many claims as before, and the same sum of confidences
            quads = base.store.match(None, SHIYI.confidence, None, DefaultGraph())
            sure = {text_of(quad.object): quad for quad in quads}
            remove = one, two = [sure[min(sure)], sure[max(sure)]]
            add = [Quad(a.subject, a.predicate, b.object) for a, b in ((one, two), (two, one))]
        base.store.change(add=add, remove=remove)
        try:
            with pytest.raises(IndexMismatchError, match="others"):
                _open_state(base, facts.schema, base.store, ())
            alone = replace(settings, remote=replace(settings.remote, shared=False))
            with KnowledgeBase.of(alone) as trusted:  # by the journal, without a count
                _open_state(trusted, facts.schema, trusted.store, ())
            read = Runtime.open(base, settings).facts.by_claim
            assert (new.iri.value in read) == (not exchanged)
        finally:
            base.store.change(add=remove, remove=add)
        _open_state(base, facts.schema, base.store, ())


@pytest.mark.parametrize("name", query_names())
def test_each_shipped_query_says_the_same(bases: Bases, settings: Settings, name: str) -> None:
    text = Query.named(name).text
    if "SELECT" not in text:
        pytest.skip("gives a graph")
    if "skos:broader* " in text and settings.remote.profile == "rdf11":
        pytest.skip("Virtuoso loses rows of a * path over so small a base")
    # a page without an order is any page: all of it is compared
    text = re.sub(r"LIMIT 1000( OFFSET 0)?", "", text)
    own, remote = (
        sorted(
            _shown(row)
            for row in base.store.select(text)
            if not isinstance(row.get("resource"), Triple)  # described where there are no terms
        )
        for base in bases
    )
    assert (own, len(own)) == (remote, len(remote))
    assert own or name not in FILLED


FILLED = ("claims", "claim-sources", "concepts", "evidence-by-tier")  # on so small a base


def _shown(row: Solution) -> list[tuple[str, object]]:
    """Return a row without what engines choose: last digits, the order and form of no parts."""
    shown: dict[str, object] = {}
    for name, term in row.items():
        value = shown[name] = text_of(term)
        if name in {"parts", "labels", "premises"}:
            shown[name] = sorted(re.split(", | ", value))
        elif re.fullmatch(r"[0-9]+\.[0-9]{6,}", value):
            shown[name] = f"{float(value):.6f}"
    return sorted((each for each in shown.items() if each[1] != ""), key=str)


def test_pages_and_queries_are_served_and_updates_refused(settings: Settings) -> None:
    tokens = Tokens(settings.kb)
    token = tokens.add(f"curator-{len(tokens.all())}", "write", 1)
    app = create_app(settings.kb, settings)
    try:
        client = app.test_client()
        page = client.get("/page/substance-goji?lang=zh")
        assert (page.status_code, "枸杞子" in page.text) == (200, True)
        query = {"query": "SELECT ?o { <https://w3id.org/shiyi/id/substance-goji> a ?o }"}
        found = client.get("/sparql", query_string=query, headers={"Accept": "text/csv"})
        assert (found.status_code, "MFHSubstance" in found.text) == (200, True)
        bad = client.get("/sparql", query_string={"query": "SELECT"})
        assert bad.status_code == 400
        outside = {"query": "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"}
        assert client.get("/sparql", query_string=outside).status_code == 422
        assert client.get("/rdf-graph-store?default").status_code == 200
        assert client.get("/rdf-graph-store?graph=urn:none").status_code == 404

        mine = {"Authorization": f"Bearer {token}"}
        update = {"update": "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 1 } }"}
        upload = {"data": "<urn:a> <urn:p> 1 .", "content_type": "text/turtle", "headers": mine}
        assert client.post("/sparql", data=update).status_code == 401
        refused = client.post("/sparql", data=update, headers=mine)
        assert (refused.status_code, "remote store" in refused.text) == (501, True)
        assert client.put("/rdf-graph-store?graph=urn:g", **upload).status_code == 501
        assert client.delete("/rdf-graph-store?default", headers=mine).status_code == 501
        assert client.get("/rdf-graph-store?graph=urn:g").status_code == 404
    finally:
        app.extensions["shiyi"].close()


def test_a_result_past_its_limit_is_an_error(settings: Settings) -> None:
    with KnowledgeBase.of(settings) as base:
        for limits in (QuerySettings(rows=5), QuerySettings(bytes=2000)):
            pool = open_pool(base, limits)
            with pytest.raises(QueryLimitError):
                pool.query(FreeQuery("SELECT * { ?s ?p ?o }", accept=ResultFormat.of("csv")))
            assert pool.query(FreeQuery("SELECT * { ?s ?p ?o } LIMIT 2")).rows == 2


def test_remote_writes_go_to_store_and_journal(settings: Settings) -> None:
    claim = NamedNode("https://w3id.org/shiyi/id/claim/of-this-test")
    quads = [Quad(claim, RDF.reifies, Triple(A, P, B)), Quad(claim, SHIYI.status, SHIYI.candidate)]
    store = settings.store  # both servers share the folder, hence the journal
    with KnowledgeBase.of(settings, write=True) as base:
        first = base.writer.write(quads, key=f"{store} one", agent="curator", reason="test")
        assert base.writer.write([], key=f"{store} one", agent="curator", reason="test") == first
        assert [quad.object for quad in base.store.match(claim, RDF.reifies)] == [Triple(A, P, B)]
        base.writer.write(
            [Quad(claim, SHIYI.status, SHIYI.accepted)],
            quads[1:],
            key=f"{store} two",
            agent="curator",
            reason="test",
        )
        with pytest.raises(KnowledgeBaseError, match="writes to"):
            KnowledgeBase.of(settings, write=True)
    with KnowledgeBase.of(settings, write=True) as base:
        assert base.sequence == first + 1
        found_quads = base.store.match(claim, SHIYI.status, None, DefaultGraph())
        assert [quad.object for quad in found_quads] == [SHIYI.accepted]
        base.writer.write(
            (),
            [*quads[:1], Quad(claim, SHIYI.status, SHIYI.accepted)],
            key=f"{store} three",
            agent="curator",
            reason="test",
        )
        assert list(base.store.match(claim)) == []


def test_commands_take_the_store_from_the_environment(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("SHIYI_STORE", settings.store)
    for name in (
        "update",
        "graph_store",
        "graph_parameter",
        "profile",
        "default_graph",
        "user",
        "password",
        "auth",
        "batch",
    ):
        value = getattr(settings.remote, name)
        monkeypatch.setenv(f"SHIYI_REMOTE_{name.upper()}", str(value))
    kb = ["--kb", str(settings.kb)]
    assert main([*kb, "reason", "pagerank", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pagerank_quads"] > 10
    assert main([*kb, "ask", QUESTION, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["citations"]
    assert main([*kb, "export", "--format", "csv", "-o", str(tmp_path / "tables")]) == 0
    assert list((tmp_path / "tables").glob("*.csv"))


def test_curator_accepts_and_takes_back_over_store(server: Server, tmp_path: Path) -> None:
    address, remote = server
    kb = build(tmp_path / "kb")
    chosen_settings = replace(Settings(), kb=kb, store=address, remote=remote)
    load_remote(chosen_settings)
    values = {graph("reviews"), graph("journal")}
    with KnowledgeBase.of(chosen_settings, write=True) as base:
        before = {quad for quad in base.store.match() if quad.graph_name not in values}
        desk = Decisions(Changes(base.writer))
        change = desk.review(
            RELIEF.iri.value, ReviewDecision("accept", "li", "seen in practice", agreement=0.5)
        )
        fact = (RELIEF.subject, RELIEF.predicate, RELIEF.object)
        assert list(base.store.match(*fact, DefaultGraph()))
        desk.undo(change.iri, "li", "")
        assert {quad for quad in base.store.match() if quad.graph_name not in values} == before


def test_backup_holds_what_was_written_over_store(tmp_path: Path) -> None:
    kb = build(tmp_path / "kb")
    with oxigraph(tmp_path / "store") as (address, remote):
        chosen_settings = replace(Settings(), kb=kb, store=address, remote=remote)
        load_remote(chosen_settings)
        with KnowledgeBase.of(chosen_settings, write=True) as base:
            desk = Decisions(Changes(base.writer))
            desk.review(RELIEF.iri.value, ReviewDecision("accept", "li", "seen in practice"))
            written = exported(base)
            back_up(kb, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "restored")
    with KnowledgeBase.open(tmp_path / "restored") as alone:
        assert exported(alone) == written


def test_build_never_drops_changes_of_remote_store_unasked(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, list(stored().match()), {})
    with oxigraph(tmp_path / "store") as (address, remote):
        chosen_settings = replace(Settings(), kb=kb, store=address, remote=remote)
        load_remote(chosen_settings)
        with KnowledgeBase.of(chosen_settings, write=True) as base:
            base.writer.write([Quad(A, P, B)], key="one", agent="me", reason="test")
        check_remote_changes(chosen_settings)  # the journal has it
        (kb / "journal.nq").unlink()
        with pytest.raises(KnowledgeBaseError, match="has 1 acknowledged changes"):
            check_remote_changes(chosen_settings)


def test_missed_write_is_repeated_when_store_returns(folder: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, list(stored().match()), {})
    with oxigraph(tmp_path / "store") as (address, remote):
        chosen_settings = replace(Settings(), kb=kb, store=address, remote=remote)
        load_remote(chosen_settings)
        base = KnowledgeBase.of(chosen_settings, write=True)
    with pytest.raises(OutsideError, match="cannot be reached"):
        base.writer.write([Quad(A, P, B)], key="one", agent="me", reason="test")
    base.close()
    with oxigraph(tmp_path / "store") as (address, remote):
        repeated_settings = replace(chosen_settings, store=address, remote=remote)
        with KnowledgeBase.of(repeated_settings, write=True) as base:
            assert list(base.store.match(A)) == [Quad(A, P, B)]


def test_an_unfinished_push_is_seen_and_done_again(tmp_path: Path, folder: Path) -> None:
    quads = list(stored().match())

    def cut() -> Iterator[Quad]:
        yield from quads[:50]
        raise InterruptedError

    with oxigraph(tmp_path / "store") as (address, remote), KnowledgeBase.open(folder) as own:
        store = RemoteStore(address, replace(remote, graph_store=""))
        with pytest.raises(InterruptedError):
            push(store, cut(), own.release)
        chosen_settings = replace(Settings(), kb=folder, store=address, remote=remote)
        with pytest.raises(IndexMismatchError, match="no release"):
            KnowledgeBase.of(chosen_settings)
        assert push(store, quads, own.release)
        with pytest.raises(IndexMismatchError, match="has the indexes of"):
            KnowledgeBase.of(replace(chosen_settings, kb=_other(tmp_path)))
        store.close()


def _other(tmp_path: Path) -> Path:
    build_generation(tmp_path / "other", [Quad(A, P, C)], {})
    return tmp_path / "other"


def test_read_only_store_named_at_start_of_writing(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with oxigraph(tmp_path / "store") as (address, remote):
        chosen_settings = replace(Settings(), kb=folder, store=address, remote=remote)
        load_remote(chosen_settings)
    with oxigraph(tmp_path / "store", read_only=True) as (address, remote):
        chosen_settings = replace(chosen_settings, store=address, remote=remote)
        with KnowledgeBase.of(chosen_settings) as base:  # reading goes on
            assert len(base.store) > 100
        with pytest.raises(OutsideError, match="serve --read-only"):
            KnowledgeBase.of(chosen_settings, write=True)
        for name, text in (("STORE", address), ("REMOTE_UPDATE", remote.update)):
            monkeypatch.setenv(f"SHIYI_{name}", text)
        assert main(["--kb", str(folder), "doctor"]) == 0
        assert "can be read alone" in capsys.readouterr().out


def test_a_store_without_triple_terms_is_named(tmp_path: Path) -> None:
    with virtuoso(tmp_path / "db", rows=10) as (address, remote):
        modern = RemoteStore(address, replace(remote, profile="rdf12"))
        with pytest.raises(OutsideError, match=r'remote\.profile = "rdf11"'):
            check_reading(modern)
        modern.close()
        store = RemoteStore(address, remote)
        quads = {Quad(A, P, NamedNode(f"https://example.org/{i}")) for i in range(35)}
        store.change(quads)
        assert set(store.match(A)) == quads  # in pages of 10
        few = {Quad(A, P, B, C), Quad(B, P, A, C)}
        store.change(few)
        assert sorted(map(str, store.match())) == sorted(
            map(str, quads | few)
        )  # by graph and relation
        cut = RemoteStore(address, replace(remote, page=0))
        with pytest.raises(OutsideError, match="cut its result"):
            list(cut.match(A))
        with pytest.raises(QueryError, match="rdf11"):
            list(store.select("SELECT ?t { BIND(TRIPLE(<urn:a>, <urn:b>, 1) AS ?t) }"))
        store.close()
        cut.close()


def test_a_union_default_graph_is_named(folder: Path, tmp_path: Path) -> None:
    with oxigraph(tmp_path / "store", union=True) as (address, remote):
        chosen_settings = replace(Settings(), kb=folder, store=address, remote=remote)
        with pytest.raises(OutsideError, match="union of all graphs"):
            load_remote(chosen_settings)
