"""A store that two processes write out gives what its own dump gives."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Term, Triple
from shiyi.publishing import lines
from shiyi.publishing.dumps import dump
from shiyi.sparql.halves import lines_of_halves
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.withheld import Withheld

S, P, G = NamedNode("urn:s"), NamedNode("urn:p"), NamedNode("urn:g")
XSD = "http://www.w3.org/2001/XMLSchema#"
VALUES = (
    ("integer", "1"), ("integer", "-7"), ("integer", "x"), ("decimal", "0.5"), ("decimal", "-.5"),
    ("decimal", "5"), ("double", "1e3"), ("double", "1.5E-7"), ("double", "INF"), ("float", "1.5"),
    ("boolean", "true"), ("boolean", "0"), ("date", "2020-01-01"), ("long", "5"),
)  # fmt: skip
TEXTS = (
    *(f"a{chr(code)}b" for code in (*range(1, 0x30), 0x5C, 0x7F, 0x80, 0x85, 0x2028)),
    *(f"a{chr(code)}b" for code in (0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600, 0x1FFFE, 0x10FFFF)),
    "", "5", "true", 'x\t1\n"', " 5 )>>", "a .\n", " .\n<urn:g>", "\t0.5\n", "a <urn:g> .",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = OxigraphStore.on_disk(tmp_path / "store")
    said: list[Term] = [
        *(Literal(value, datatype=NamedNode(XSD + kind)) for kind, value in VALUES),
        *map(Literal, TEXTS), *(Literal(each, language="zh") for each in TEXTS), S, BlankNode("b"),
    ]  # fmt: skip
    within: list[Term] = [Triple(S, P, each) for each in said]
    deeper = [Triple(BlankNode("c"), P, each) for each in within]
    for place in (DefaultGraph(), G, BlankNode("g")):
        store.load_quads(Quad(S, P, each, place) for each in (*said, *within, *deeper))
    store.flush()
    store.close()
    return tmp_path / "store"


def test_two_halves_are_the_lines_of_the_dump(folder: Path) -> None:
    store = OxigraphStore.read_only(folder)
    whole = io.BytesIO()
    store.dump(whole)
    found = b"\n".join(lines_of_halves(folder, len(store))) + b"\n"
    assert sorted(found.split(b"\n")) == sorted(whole.getvalue().split(b"\n"))
    assert found.count(b"\n") == len(store) > 500


def test_a_half_that_is_missing_is_an_error(folder: Path) -> None:
    quads = len(OxigraphStore.read_only(folder))
    with pytest.raises(KnowledgeBaseError, match=f"{quads} of {quads + 1} quads"):
        list(lines_of_halves(folder, quads + 1))
    with pytest.raises(KnowledgeBaseError, match="0 of 5 quads"):
        list(lines_of_halves(folder.with_name("nothing"), 5))


def test_an_export_of_halves_is_the_same_byte_for_byte(
    starter_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(starter_kb) as base:
        whole = dump(base.store, "nq")
        monkeypatch.setattr(lines, "_LARGE", 0)
        assert dump(base.store, "nq") == whole


def test_halves_that_lap_over_are_an_error_and_no_export(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many lines as there are quads, but one of them twice: another reader saw another order."""

    def lapping(path: Path, quads: int) -> Iterator[bytes]:
        every = b"\n".join(lines_of_halves(path, quads)).split(b"\n")
        plain = [line for line in every if b"_:" not in line]
        yield b"\n".join([*(line for line in every if line != plain[3]), plain[5]])

    monkeypatch.setattr(lines, "_LARGE", 0)
    monkeypatch.setattr(lines, "lines_of_halves", lapping)
    with pytest.raises(KnowledgeBaseError, match="twice"):
        list(lines.allowed_lines(OxigraphStore.read_only(folder), Withheld()))


def test_what_is_restricted_leaves_neither_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiyi.model.claim import Claim, Evidence, Source, Tier
    from shiyi.model.confidence import Confidence
    from shiyi.ontology.statements import claim_quads, source_quads

    store = OxigraphStore.on_disk(tmp_path / "store")
    closed = Source("closed", "闭", "Closed", Tier.CASE_REPORT, licence="restricted")
    opened = Source("opened", "开", "Open", Tier.CASE_REPORT)
    for source in (closed, opened):
        store.load_quads(source_quads(source))
    for number in range(50):
        source = closed if number % 2 else opened
        evidence = (Evidence(source, Confidence(0.9), f"planted-{number}."),)
        store.load_quads(claim_quads(Claim(NamedNode(f"urn:s{number}"), P, G, evidence)))
    store.close()
    monkeypatch.setattr(lines, "_LARGE", 0)
    found = dump(OxigraphStore.read_only(tmp_path / "store"), "nq")
    assert [f"planted-{n}.".encode() in found for n in range(50)] == [n % 2 == 0 for n in range(50)]
    assert b"<urn:s1>" not in found
