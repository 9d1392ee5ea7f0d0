from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import QuerySolutions, Store
from typing_extensions import override

from shiyi.errors import KnowledgeBaseError, QueryError
from shiyi.model.rdf import BlankNode, Literal, NamedNode, Quad, Triple
from shiyi.sparql.store.oxigraph import OxigraphStore, n_quads, parse_n_quads
from tests.contracts import GRAPH, A, B, C, P, QuadStoreContract


class TestOxigraphInMemory(QuadStoreContract):
    @override
    def store(self) -> OxigraphStore:
        return OxigraphStore.in_memory()


class TestOxigraphOnDisk(QuadStoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "store"

    @override
    def store(self) -> OxigraphStore:
        return OxigraphStore.on_disk(self.folder)


def test_closed_store_reopens_with_all_its_quads(tmp_path: Path) -> None:
    store = OxigraphStore.on_disk(tmp_path / "s")
    store.change([Quad(A, P, B)])
    store.close()
    again = OxigraphStore.on_disk(tmp_path / "s")
    assert list(again.match()) == [Quad(A, P, B)]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = OxigraphStore.on_disk(tmp_path / "s")
    store.close()
    with pytest.raises(KnowledgeBaseError, match="closed"):
        len(store)


def test_a_second_writer_of_a_folder_is_refused(tmp_path: Path) -> None:
    store = OxigraphStore.on_disk(tmp_path / "s")
    with pytest.raises(KnowledgeBaseError, match="another process"):
        OxigraphStore.on_disk(tmp_path / "s")
    assert len(store) == 0


def test_a_read_only_store_takes_no_change(tmp_path: Path) -> None:
    store = OxigraphStore.on_disk(tmp_path / "s")
    store.change([Quad(A, P, B)])
    store.backup(tmp_path / "copy")
    copy = OxigraphStore.read_only(tmp_path / "copy")
    with pytest.raises(KnowledgeBaseError, match="reading only"):
        copy.change([Quad(A, P, C)])
    assert len(copy) == 1


def test_a_backup_stays_as_it_was(tmp_path: Path) -> None:
    store = OxigraphStore.on_disk(tmp_path / "s")
    store.change([Quad(A, P, B)])
    store.backup(tmp_path / "copy")
    store.change([Quad(A, P, C)])
    assert len(OxigraphStore.read_only(tmp_path / "copy")) == 1


def test_bulk_loaded_quads_are_found() -> None:
    store = OxigraphStore.in_memory()
    store.load_quads(Quad(A, P, Literal(str(i))) for i in range(1000))
    assert len(store) == 1000


def test_ask_answers_and_refuses_other_forms() -> None:
    store = OxigraphStore.in_memory()
    store.change([Quad(A, P, B)])
    assert store.ask(f"ASK {{ {A} {P} {B} }}")
    assert not store.ask(f"ASK {{ {B} {P} {A} }}")
    with pytest.raises(QueryError):
        store.ask("SELECT * {}")


def test_n_quads_read_back_are_the_same_quads() -> None:
    quads = (
        Quad(A, P, Literal('a "b"\n\\', language="zh")),
        Quad(BlankNode("x"), P, Triple(A, P, B)),
        Quad(A, P, C, GRAPH),
    )
    assert parse_n_quads(n_quads(quads)) == quads
    with pytest.raises(ValueError, match="1"):
        parse_n_quads(b"<a> <b> .")


def test_the_engine_keeps_derived_integers_as_integers_everywhere() -> None:
    """What docs/reference/sparql.md says of literals; where this fails, say there what has changed."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    minus = Literal("-3", datatype=NamedNode(f"{xsd}negativeInteger"))
    store = Store()
    store.add(Quad(NamedNode("urn:a"), NamedNode("urn:p"), minus))
    function: dict[NamedNode, Callable[..., NamedNode | BlankNode | Literal | Triple | None]] = {
        NamedNode("urn:f"): lambda: minus
    }
    constant = f'VALUES ?o {{ "-3"^^<{xsd}negativeInteger> }}'
    for where in ("?s ?p ?o", constant, "BIND(<urn:f>() AS ?o)"):
        rows = store.query(f"SELECT ?o {{ {where} }}", custom_functions=function)
        assert isinstance(rows, QuerySolutions)
        [row] = rows
        assert row["o"] == Literal("-3", datatype=NamedNode(f"{xsd}integer"))
