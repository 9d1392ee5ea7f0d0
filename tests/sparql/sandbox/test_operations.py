"""Updates by their patterns: what they move is what the engine itself would have moved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Quad, RdfFormat, Store, parse

from shiyi.sparql.queries.requests import blank_text
from shiyi.sparql.sandbox.effects import apply_request
from shiyi.sparql.sandbox.operations import OperationSplitError, operations
from tests.tables import cases, from_table

DATA = """
<urn:a> <urn:p> 1, 2, "x"@zh . <urn:b> <urn:p> 2 ; <urn:q> <urn:a>, true, 1.50 .
<urn:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <urn:a> <urn:p> 1 )>> .
<urn:r> <urn:c> 0.5 .
GRAPH <urn:g> { <urn:a> <urn:p> 3 . <urn:c> <urn:q> <urn:b> } GRAPH <urn:h> { <urn:a> <urn:q> 1 }
"""
UPDATES = [update for (update,) in cases("sparql", "updates")]
PROLOGUE = (
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> # { 'it''s\n"
    "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
)


def both(update: str) -> tuple[Store, Store]:
    """The store our way and the engine's way, after the same update."""
    own, theirs = Store(), Store()
    before = Store()
    for store in (own, theirs, before):
        store.update(f"INSERT DATA {{ {DATA} }}")
    request = {
        "task": "update",
        "text": update,
        "bare": blank_text(update),
        "base": "urn:base",
        "maintains": True,
    }
    text, patch = apply_request(own, request, b"", 1 << 30)
    theirs.update(update, base_iri="urn:base")
    again = Store()
    first, second = text["removed"], text["removed"] + text["added"]
    removed, added = patch[:first], patch[first:second]
    quads = set(read(removed))
    again.extend(quad for quad in before if quad not in quads)
    again.extend(read(added))
    assert quads <= set(before)
    assert not set(read(added)) & set(before)
    assert lines(again) == lines(own)  # the patch says what was done to the copy
    graphs = {str(term) for term in before.named_graphs()}
    now = (graphs - {f"<{item}>" for item in text["gone"]}) | {f"<{item}>" for item in text["come"]}
    assert now == {str(term) for term in theirs.named_graphs()}
    return own, theirs


def read(patch: bytes) -> list[Quad]:
    return list(parse(patch, RdfFormat.N_QUADS))


def lines(store: Store) -> list[bytes]:
    return sorted((store.dump(format=RdfFormat.N_QUADS) or b"").splitlines())


@pytest.mark.parametrize("update", UPDATES)
def test_patch_holds_what_engine_would_have_changed(update: str) -> None:
    own, store = both(PROLOGUE + update)
    if "(1 01" in update:  # a list has blank nodes, whose labels differ
        assert len(own) == len(store)
    else:
        assert lines(own) == lines(store)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([u for u in UPDATES if "(1 01" not in u]), min_size=2, max_size=4))
def test_a_sequence_sees_what_came_before_it(chosen: list[str]) -> None:
    joined = PROLOGUE + " ;\n".join(each.partition(" # }")[0] for each in chosen)
    store = Store()
    store.update(f"INSERT DATA {{ {DATA} }}")
    try:
        store.update(joined)
    except RuntimeError:  # a graph that an earlier operation removed
        return
    own, theirs = both(joined)
    assert lines(own) == lines(theirs)


def test_each_solution_has_blank_nodes_of_its_own() -> None:
    own, store = both("INSERT { ?s <urn:has> _:n . _:n <urn:of> ?s } WHERE { ?s <urn:p> ?o }")
    query = "SELECT (COUNT(DISTINCT ?n) AS ?c) { ?s <urn:has> ?n . ?n <urn:of> ?s }"
    assert [str(row["c"]) for row in own.query(query)] == [  # type: ignore[union-attr]
        str(row["c"])
        for row in store.query(query)  # type: ignore[union-attr]
    ]


def test_a_prologue_may_stand_before_each_operation() -> None:
    own = Store()
    update = (
        "PREFIX a: <urn:> INSERT DATA { a:a a:p 1 } ; PREFIX b: <urn:b/> INSERT DATA { b:x a:p 2 }"
    )
    request = {
        "task": "update",
        "text": update,
        "bare": blank_text(update),
        "base": None,
        "maintains": True,
    }
    assert apply_request(own, request, b"", 1000)[1].count(b"\n") == 2
    twice = "INSERT DATA { _:x <urn:p> 1 } ; BASE <urn:b> INSERT DATA { _:x <urn:p> 2 }"
    request |= {"text": twice, "bare": blank_text(twice)}
    with pytest.raises(SyntaxError, match="_:x"):
        apply_request(own, request, b"", 1000)


def test_templates_may_share_a_label() -> None:
    text = "INSERT { _:b <urn:x> ?s } WHERE { ?s <urn:p> 2 }"
    own, store = both(f"{text} ; {text}")
    assert len(own) == len(store)


@pytest.mark.parametrize("text", ["", "PREFIX a: <urn:>", "# nothing", "DROP ALL ; BASE <urn:x>"])
def test_a_prologue_may_stand_alone(text: str) -> None:
    request = {
        "task": "update",
        "text": text,
        "bare": blank_text(text),
        "base": None,
        "maintains": True,
    }
    assert apply_request(Store(), request, b"", 1000)[0]["removed"] == 0


def test_many_quads_with_blank_triple_terms_are_deleted() -> None:
    own, text = Store(), "DELETE WHERE { ?s ?p ?o }"
    rows = " ".join(f"<urn:s> <urn:q> {number} ." for number in range(120))
    terms = "<<( _:b <urn:q> 1 )>> , <<( <urn:s> <urn:q> _:b )>>"
    own.update(f"INSERT DATA {{ {rows} <urn:s> <urn:q> {terms} }}")
    request = {"task": "update", "text": text, "bare": blank_text(text), "base": None}
    patch = apply_request(own, {**request, "maintains": True}, b"", 1 << 20)[1]
    assert (len(own), patch.count(b"\n")) == (0, 122)


@from_table
def test_forbidden_graph_is_refused_before_computation(text: str, graph: str) -> None:
    own = Store()
    own.update(f"INSERT DATA {{ {DATA} }}")
    before = lines(own)
    request = {"task": "update", "text": text, "bare": blank_text(text), "base": None}
    header, _ = apply_request(own, {**request, "maintains": False}, b"", 1000)
    assert header == {"outcome": "owned", "graph": graph}
    assert lines(own) == before


@pytest.mark.parametrize("text", ["DROP ALL x", "INSERT { ", "SELECT * {}", "WITH <a:a> WHERE {}"])
def test_what_is_no_update_is_not_split(text: str) -> None:
    with pytest.raises(OperationSplitError):
        operations(text, blank_text(text))
