"""Lines sorted beyond memory, and Turtle and TriG written from lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shiyi.errors import KnowledgeBaseError
from shiyi.model.names import ID, VOCAB
from shiyi.model.rdf import (
    XSD_DECIMAL,
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Triple,
    parse_stream,
    serialize,
)
from shiyi.ontology.terms import RDF
from shiyi.publishing.lines import by_graph, graph_of, in_default_graph, lowered_lines, split_line
from shiyi.publishing.lowering import lower
from shiyi.publishing.sorting import sorted_once
from shiyi.publishing.turtle_lines import trig, turtle

NODES = some.sampled_from(
    [NamedNode(each) for each in (
        f"{ID}goji", f"{ID}claim/4f", f"{VOCAB}hasAction", f"{VOCAB}-minus", f"{VOCAB}1a", f"{VOCAB}a.b.",
        "urn:a", "https://example.org/é%20(x)", "http://identifiers.org/umls/C0000001", VOCAB,
    )]
)  # fmt: skip
WORDS = some.text(max_size=12)
LITERALS = some.one_of(
    WORDS.map(Literal),
    WORDS.map(lambda word: Literal(word, language="zh")),
    WORDS.map(lambda word: Literal(word, datatype=NamedNode("urn:type"))),
    some.sampled_from([
        Literal("0.50", datatype=XSD_DECIMAL), Literal('>"^^<urn:x> .'), Literal("<<( a b c )>> ."),
        Literal("a <urn:g> ."), Literal("x\r\ny\tz\\"), Literal(" . ", language="en"),
    ]),
)  # fmt: skip
ENDS = some.one_of(NODES, LITERALS, some.just(BlankNode("b")))
TERMS = some.recursive(
    ENDS, lambda inner: some.builds(Triple, some.one_of(NODES, some.just(BlankNode("b"))), NODES, inner),
    max_leaves=2,
)  # fmt: skip
QUADS = some.builds(
    Quad, some.one_of(NODES, some.just(BlankNode("b"))), some.one_of(NODES, some.just(RDF.type)), TERMS,
    some.one_of(some.just(DefaultGraph()), NODES),
)  # fmt: skip


def lines_of(quads: set[Quad]) -> list[bytes]:
    return sorted(serialize([quad], "nq", {}).rstrip(b"\n") for quad in quads)


@given(some.lists(some.lists(some.binary(max_size=3), max_size=6), max_size=30))
def test_runs_on_the_disk_are_merged_in_order_each_line_once(blocks: list[list[bytes]]) -> None:
    clean = [
        [b"<" + each.translate(None, b"\r\n") + b">" for each in block] for block in blocks
    ]  # fmt: skip
    wanted = sorted({each for block in clean for each in block})
    assert list(sorted_once([list(block) for block in clean], run=5, stretch=4)) == wanted
    if len(wanted) == sum(map(len, clean)):
        assert list(sorted_once([*map(list, clean)], run=5, stretch=4, distinct=True)) == wanted
    else:
        with pytest.raises(KnowledgeBaseError, match="twice"):
            list(sorted_once([*map(list, clean)], run=5, stretch=4, distinct=True))
    assert list(sorted_once(clean)) == wanted


@given(some.sets(QUADS, max_size=12))
def test_the_graph_of_a_line_is_the_one_of_its_quad(quads: set[Quad]) -> None:
    for quad in quads:
        (line,) = lines_of({quad})
        where = b"" if quad.graph_name == DefaultGraph() else str(quad.graph_name).encode()
        assert graph_of(line) == split_line(line)[3] == where


@given(some.sets(QUADS, max_size=12))
def test_turtle_and_trig_of_lines_say_what_the_lines_say(quads: set[Quad]) -> None:
    lines = lines_of(quads)
    written = b"".join(trig(by_graph(lines)))
    assert set(parse_stream(io.BytesIO(written), "trig", "made")) == quads
    written = b"".join(turtle(in_default_graph(lines)))
    wanted = {quad for quad in quads if quad.graph_name == DefaultGraph()}
    assert set(parse_stream(io.BytesIO(written), "ttl", "made")) == wanted


@given(some.sets(QUADS.filter(lambda quad: quad.predicate != RDF.type), max_size=12))
def test_lowered_lines_are_sorted_and_lower_what_claims_reify(quads: set[Quad]) -> None:
    claims = {
        Quad(quad.subject, RDF.reifies, quad.object, quad.graph_name)
        if isinstance(quad.object, Triple) else quad for quad in quads
    }  # fmt: skip
    found = list(lowered_lines(lines_of(claims)))
    assert found == lines_of(set(lower(claims)))
