"""SPARQL updates and uploads over a remote store: the same as at home, in the journal and there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.runtime import write_indexes
from shiyi.cli.making import put_remote
from shiyi.errors import QueryError, QueryLimitError, QueryRefusedError, ShiyiError
from shiyi.model.names import ID
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.app import create_app
from shiyi.server.tokens import Tokens
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.journal import Record, read_journal
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.remote_updates import RemoteUpdater
from shiyi.sparql.updates import Part, Updater
from shiyi.sparql.writer import JOURNAL
from shiyi.sparql.written import WRITTEN
from tests.contracts import A, B, C, P
from tests.kitchen import stored
from tests.remote_servers import Server, server
from tests.updating import author

__all__ = ["server"]  # the fixture
G = NamedNode("https://example.org/graph")
START = [
    Quad(A, P, B), Quad(B, P, C), Quad(A, P, C, G), Quad(A, RDF.reifies, Triple(A, P, B)),
    Quad(B, P, Literal("甘", language="zh")),
]  # fmt: skip
AGAIN = f"""DROP ALL ; INSERT DATA {{ {A} {P} {B} . {B} {P} {C}, '甘'@zh . {A} {RDF.reifies} <<( {A} {P} {B} )>> .
GRAPH {G} {{ {A} {P} {C} }} }}"""
LIMITS = QuerySettings(timeout=10, bytes=200_000)


@pytest.fixture(scope="module")
def opened(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[KnowledgeBase, Updater]]:
    kb = tmp_path_factory.mktemp("remote") / "kb"
    build_generation(kb, START, {})
    chosen = replace(Settings(), kb=kb, store=server[0], remote=server[1])
    assert put_remote(chosen)
    with KnowledgeBase.of(chosen, write=True) as base:
        made = RemoteUpdater(base, LIMITS, lambda: None)
        yield base, made
        made.close()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KnowledgeBase, Updater]]:
    """The same quads in a store of the base's own, changed in the same way."""
    kb = tmp_path_factory.mktemp("home") / "kb"
    build_generation(kb, START, {})
    with KnowledgeBase.open(kb, write=True) as base:
        made = Updater(base, LIMITS, lambda: None)
        yield base, made
        made.close()


@pytest.fixture
def remote(opened: tuple[KnowledgeBase, Updater]) -> KnowledgeBase:
    opened[1].update(AGAIN, author())
    return opened[0]


@pytest.fixture
def updater(remote: KnowledgeBase, opened: tuple[KnowledgeBase, Updater]) -> Updater:
    return opened[1]


@pytest.fixture
def home(local: tuple[KnowledgeBase, Updater]) -> tuple[KnowledgeBase, Updater]:
    local[1].update(AGAIN, author())
    return local


def held(base: KnowledgeBase) -> set[str]:
    # a remote store keeps no other form than its own
    return {str(q) for q in base.store.match() if q.graph_name not in {JOURNAL, WRITTEN}}


def last(base: KnowledgeBase, many: int) -> list[Record]:
    return list(read_journal(base.writer.journal.path))[-many:]


UPDATES = (
    "INSERT DATA { <urn:x> <urn:p> 01, 'a'@en . GRAPH <https://example.org/graph> { <urn:x> <urn:p> <urn:y> } }",
    "PREFIX e: <https://example.org/> DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o . FILTER(?p = e:p && ISIRI(?o)) }",
    "DELETE WHERE { ?s ?p '甘'@zh }",
    "DELETE DATA { <urn:none> <urn:p> 1 } ; INSERT DATA { <urn:n> <urn:p> 2 } ; DELETE DATA { <urn:n> <urn:p> 2 }",
    "INSERT { ?s <urn:counted> ?n } WHERE { SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s }",
    ("INSERT DATA { <urn:x> <urn:p> 1 } ; INSERT { ?s <urn:next> ?o } WHERE { ?s <urn:p> ?o } ; "
    "DELETE { ?s <urn:p> ?o } WHERE { ?s <urn:next> ?o }"),
    "WITH <https://example.org/graph> DELETE { ?s ?p ?o } INSERT { ?s ?p 'moved' } WHERE { ?s ?p ?o }",
    "INSERT { GRAPH <https://example.org/graph/2> { ?s ?p ?o } } USING <https://example.org/graph> WHERE { ?s ?p ?o }",
    "INSERT { ?g <urn:has> ?s } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "COPY <https://example.org/graph> TO <https://example.org/graph/2>",
    "MOVE GRAPH <https://example.org/graph> TO DEFAULT",
    "ADD DEFAULT TO <https://example.org/graph>",
    "CLEAR GRAPH <https://example.org/graph>",
    "DROP DEFAULT",
    "DROP ALL",
    "CLEAR NAMED ; INSERT DATA { <urn:x> <urn:p> 1 }",
    ("DELETE { ?c ?r ?t } INSERT { ?c <urn:said> ?s } WHERE { ?c ?r ?t . "
    "?c <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s ?p ?o )>> }"),
    ("INSERT { <urn:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s ?p ?o )>> } "
    "WHERE { ?s ?p ?o . FILTER(ISLITERAL(?o)) }"),
)  # fmt: skip


@pytest.mark.parametrize("text", UPDATES)
def test_an_update_does_what_it_does_at_home(
    text: str, updater: Updater, remote: KnowledgeBase, home: tuple[KnowledgeBase, Updater]
) -> None:
    ours, local = home
    assert held(remote) == held(ours)
    said, known = updater.update(text, author()), local.update(text, author())
    assert held(remote) == held(ours)
    if " ; " not in text:
        assert (said.removed, said.added) == (known.removed, known.added)


def test_the_journal_has_the_change_and_a_key_is_used_once(
    updater: Updater, remote: KnowledgeBase
) -> None:
    who = author()
    assert updater.update("DELETE { ?s ?p ?o } INSERT { ?s ?p 5 } WHERE { ?s ?p '甘'@zh . ?s ?p ?o }", who).added == 1  # fmt: skip
    (record,) = last(remote, 1)
    before = remote.sequence
    assert (record.key, record.who, len(record.removed), len(record.added)) == (who.key, "curator", 2, 1)  # fmt: skip
    assert updater.update("DROP ALL", who).removed == 0
    assert remote.sequence == before


def test_blank_nodes_are_one_for_each_solution(updater: Updater, remote: KnowledgeBase) -> None:
    updater.update("INSERT { _:b <urn:of> ?s } WHERE { ?s ?p ?o }", author())
    made = list(remote.store.match(None, NamedNode("urn:of")))
    assert len({q.subject for q in made}) == len(made) == 4
    updater.update("DELETE { ?b <urn:of> ?s } WHERE { ?b <urn:of> ?s }", author())
    assert not list(remote.store.match(None, NamedNode("urn:of")))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("INSERT DATA { <urn:a> <urn:b> }", QueryError),
        ("INSERT DATA { GRAPH <https://w3id.org/shiyi/graph/journal> { <a:a> <a:b> 1 } }", ValueError),
        ("INSERT DATA { GRAPH <https://w3id.org/shiyi/graph/remote> { <a:a> <a:b> 1 } }", ValueError),
        ("DROP GRAPH <https://w3id.org/shiyi/graph/remote>", ValueError),
        ("LOAD <http://127.0.0.1:1/>", QueryRefusedError),
        ("INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", QueryRefusedError),
        ("CREATE GRAPH <https://example.org/graph>", QueryRefusedError),
        ("COPY <urn:none> TO <urn:other>", QueryRefusedError),
    ],
)  # fmt: skip
def test_a_refused_update_changes_nothing(
    text: str, fault: type[Exception], updater: Updater, remote: KnowledgeBase
) -> None:
    before = held(remote)
    with pytest.raises((QueryRefusedError, QueryError) if fault is ValueError else fault):
        updater.update(text, author())
    assert held(remote) == before
    assert updater.update("INSERT DATA { <urn:a> <urn:p> 1 }", author()).added == 1


def test_what_is_done_of_an_update_that_fails_is_taken_back(
    updater: Updater, remote: KnowledgeBase
) -> None:
    before = held(remote)
    with pytest.raises(ShiyiError):
        updater.update(
            "INSERT DATA { <urn:x> <urn:p> 1 } ; INSERT { ?s <urn:q> ?o } WHERE { ?s <urn:p> ?o } ; "
            "CREATE GRAPH <https://example.org/graph>", author(),
        )  # fmt: skip
    assert held(remote) == before
    assert [r.why for r in last(remote, 2)] == ["a test", "a test: taken back"]  # fmt: skip


def test_the_writers_own_note_is_out_of_reach(updater: Updater, remote: KnowledgeBase) -> None:
    updater.update("INSERT DATA { <urn:x> <urn:p> 1 }", author())
    updater.update("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }", author())
    updater.update("DROP ALL", author())
    assert held(remote) == set()
    with KnowledgeBase.of(replace(
        Settings(), kb=remote.path, store=remote.store.endpoint.address,  # type: ignore[attr-defined]
        remote=remote.store.settings,  # type: ignore[attr-defined]
    )) as again:  # fmt: skip
        assert len(list(again.store.match(None, None, None, JOURNAL))) > 0


def test_too_much_is_refused_whole(remote: KnowledgeBase) -> None:
    small = RemoteUpdater(remote, QuerySettings(timeout=10, bytes=400), lambda: None)
    before = held(remote)
    try:
        for text in ("DROP ALL", "DELETE WHERE { ?s ?p ?o }"):
            with pytest.raises(QueryLimitError, match="bytes"):
                small.update(text, author())
    finally:
        small.close()
    assert held(remote) == before


def test_uploads_merge_replace_and_drop_one_graph(updater: Updater, remote: KnowledgeBase) -> None:
    def graph() -> set[str]:
        return {str(q.object) for q in remote.store.match(None, None, None, G)}

    added = updater.merge(G.value, [Part("ttl", b"<urn:a> <urn:p> 1, _:b .")], "", author())
    assert (added.removed, added.added, added.existed, len(graph())) == (0, 2, True, 3)
    put = updater.replace(G.value, [Part("nt", b"<urn:a> <urn:p> <urn:c> .")], "", author())
    assert (put.removed, put.added, graph()) == (3, 1, {"<urn:c>"})
    assert updater.drop(G.value, author()).removed == 1
    assert not updater.drop(G.value, author()).existed
    fresh = updater.replace(
        f"{G.value}/2", [Part("ttl", b"<x> <urn:p> 1 .")], "urn:base:", author()
    )
    assert (fresh.added, fresh.existed) == (1, False)
    assert list(remote.store.match(A, None, None, DefaultGraph()))
    with pytest.raises(QueryError):
        updater.merge(G.value, [Part("ttl", b"<urn:a> <urn:p> ")], "", author())


def test_token_holders_write_over_http(server: Server, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, list(stored().match()), {})
    with KnowledgeBase.open(kb) as base:
        write_indexes(base, Settings())
    chosen = replace(Settings(), kb=kb, store=server[0], remote=server[1])
    put_remote(chosen)
    token = Tokens(kb).add("curator", "write", 1)
    app = create_app(kb, chosen)
    try:
        client, mine = app.test_client(), {"Authorization": f"Bearer {token}"}
        update = {"update": "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 1, 2 } }"}
        assert client.post("/sparql", data=update).status_code == 401
        assert client.post("/sparql", data=update, headers=mine).status_code == 204
        seen = client.get(
            "/rdf-graph-store?graph=urn:g", headers={"Accept": "application/n-triples"}
        )
        assert len(seen.text.strip().splitlines()) == 2
        put = {"data": "<urn:a> <urn:p> 3 .", "content_type": "text/turtle", "headers": mine}
        assert client.put("/rdf-graph-store?graph=urn:g", **put).status_code == 204
        assert client.put("/rdf-graph-store?graph=urn:h", **put).status_code == 201
        ask = {
            "query": "ASK { GRAPH <urn:g> { <urn:a> <urn:p> 3 } FILTER NOT EXISTS { GRAPH <urn:g> { <urn:a> <urn:p> 1 } } }"
        }
        said = client.get(
            "/sparql", query_string=ask, headers={"Accept": "application/sparql-results+json"}
        )
        assert "true" in said.text or '"1"' in said.text
        assert client.delete("/rdf-graph-store?graph=urn:g", headers=mine).status_code == 204
        assert client.delete("/rdf-graph-store?graph=urn:g", headers=mine).status_code == 404
        bad = client.post("/sparql", data={"update": "INSERT DATA {"}, headers=mine)
        assert bad.status_code == 400
        # a claim that is written is answered with and shown
        goji, relieves = f"{ID}substance-goji", SHIYI.relieves.value
        told = f"INSERT DATA {{ <{goji}> <{relieves}> <{ID}symptom-cold-limbs> }}"
        assert client.post("/sparql", data={"update": told}, headers=mine).status_code == 204
        assert "symptom-cold-limbs" in client.get("/data/substance-goji.ttl").text
    finally:
        app.extensions["shiyi"].close()


def test_a_where_that_the_profile_cannot_say_is_named(
    updater: Updater, remote: KnowledgeBase
) -> None:
    text = "INSERT { <urn:t> <urn:p> ?t } WHERE { BIND(TRIPLE(<urn:a>, <urn:b>, 1) AS ?t) }"
    if remote.store.settings.profile == "rdf11":  # type: ignore[attr-defined]
        with pytest.raises(QueryError, match="rdf11"):
            updater.update(text, author())
    else:
        assert updater.update(text, author()).added == 1


def test_a_large_upload_and_its_removal_go_in_parts(
    updater: Updater, remote: KnowledgeBase
) -> None:
    lines = "".join(f"<urn:s{n}> <urn:p{n % 7}> <urn:o{n}>, '{n}'@en .\n" for n in range(250))
    there = f"{G.value}/2"
    assert updater.merge(there, [Part("ttl", lines.encode())], "", author()).added == 500
    assert updater.merge(there, [Part("ttl", lines.encode())], "", author()).added == 0
    text = f"DELETE {{ GRAPH <{there}> {{ ?s ?p ?o }} }} WHERE {{ GRAPH <{there}> {{ ?s ?p ?o FILTER(ISIRI(?o)) }} }}"
    assert updater.update(text, author()).removed == 250
    assert updater.drop(there, author()).removed == 250
