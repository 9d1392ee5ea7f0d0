"""Lines sorted beyond memory, and written as Turtle and TriG."""

import io

from hypothesis import given
from hypothesis import strategies as some

from shiyi.model.iris import ID, VOCAB
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
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import RDF
from shiyi.publishing.dumps import write_lines
from shiyi.publishing.nquads import graph_of, lowered_lines, sort_unique, split_line

NODES = some.sampled_from(
    [
        NamedNode(each)
        for each in (
            f"{ID}goji",
            f"{ID}claim/4f",
            f"{VOCAB}hasAction",
            f"{VOCAB}-minus",
            f"{VOCAB}1a",
            f"{VOCAB}a.b.",
            "urn:a",
            "https://example.org/é%20(x)",
            "http://identifiers.org/umls/C0000001",
            VOCAB,
        )
    ]
)
WORDS = some.text(max_size=12)
LITERALS = some.one_of(
    WORDS.map(Literal),
    WORDS.map(lambda word: Literal(word, language="zh")),
    WORDS.map(lambda word: Literal(word, datatype=NamedNode("urn:type"))),
    some.sampled_from(
        [
            Literal("0.50", datatype=XSD_DECIMAL),
            Literal('>"^^<urn:x> .'),
            Literal("<<( a b c )>> ."),
            Literal("a <urn:g> ."),
            Literal("x\r\ny\tz\\"),
            Literal(" . ", language="en"),
        ]
    ),
)
ENDS = some.one_of(NODES, LITERALS, some.just(BlankNode("b")))
TERMS = some.recursive(
    ENDS,
    lambda inner: some.builds(Triple, some.one_of(NODES, some.just(BlankNode("b"))), NODES, inner),
    max_leaves=2,
)
QUADS = some.builds(
    Quad,
    some.one_of(NODES, some.just(BlankNode("b"))),
    some.one_of(NODES, some.just(RDF.type)),
    TERMS,
    some.one_of(some.just(DefaultGraph()), NODES),
)


def lines_of(quads: set[Quad]) -> list[bytes]:
    return sorted(serialize([quad], "nq", {}).rstrip(b"\n") for quad in quads)


@given(some.lists(some.lists(some.binary(max_size=3), max_size=6), max_size=30))
def test_sorted_runs_merge_without_duplicates(blocks: list[list[bytes]]) -> None:
    clean = [[b"<" + each.translate(None, b"\r\n") + b">" for each in block] for block in blocks]
    wanted = sorted({each for block in clean for each in block})
    assert list(sort_unique([list(block) for block in clean], run=5)) == wanted
    assert list(sort_unique(clean)) == wanted


@given(some.sets(QUADS, max_size=12))
def test_graph_of_line_is_one_of_its_quad(quads: set[Quad]) -> None:
    for quad in quads:
        (line,) = lines_of({quad})
        where = b"" if quad.graph_name == DefaultGraph() else str(quad.graph_name).encode()
        assert graph_of(line) == split_line(line)[3] == where


@given(some.sets(QUADS, max_size=12))
def test_turtle_and_trig_equal_n_quads(quads: set[Quad]) -> None:
    for name, wanted_quads in (
        ("trig", quads),
        ("ttl", {quad for quad in quads if quad.graph_name == DefaultGraph()}),
    ):
        written = io.BytesIO()
        write_lines(lines_of(quads), written, name)
        assert set(parse_stream(io.BytesIO(written.getvalue()), name, "made")) == wanted_quads


@given(some.sets(QUADS, max_size=12))
def test_rdf_11_lines_have_no_triple_terms(quads: set[Quad]) -> None:
    results = list(lowered_lines(lines_of(quads)))
    assert results == lines_of(set(to_rdf11(quads)))
    assert not any(isinstance(quad.object, Triple) for quad in to_rdf11(quads))
