"""What OWL 2 RL lets follow from claims, in a graph of its own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, Graph, URIRef

from shiyi.cli import main
from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import PROV, SHIYI
from shiyi.ontology.terms import RDF as OUR_RDF
from shiyi.publishing.explanation import explain
from shiyi.reasoning.derive import entailment_quads
from shiyi.reasoning.entailment import ENTAILED, Axioms, Entailed, entail
from shiyi.reasoning.inheritance import DERIVED
from shiyi.reasoning.projection import Edge, accepted_edges
from shiyi.reasoning.swap import swap
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore
from tests import kitchen

AXIOMS = Axioms(
    symmetric=frozenset({"meets"}), transitive=frozenset({"within"}),
    inverse={"within": frozenset({"holds"}), "holds": frozenset({"within"})},
    broader={"within": frozenset({"near"})},
)  # fmt: skip


def told(*rows: tuple[str, str, str, float]) -> dict[tuple[str, str, str], Entailed]:
    edges = [Edge(s, p, o, f"{s}{p}{o}", held) for s, p, o, held in rows]
    return {each.statement: each for each in entail(edges, AXIOMS)}


@pytest.fixture
def base() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=list(kitchen.quads()))
    return store


def test_a_chain_is_as_sure_as_its_weakest_link_and_names_every_premise() -> None:
    found = told(("a", "within", "b", 0.9), ("b", "within", "c", 0.6))
    chain = found["a", "within", "c"]
    assert chain.confidence == 0.6
    assert chain.premises == ("awithinb", "bwithinc")
    assert chain.rules == ("prp-trp",)
    assert found["c", "holds", "a"].rules == ("prp-inv", "prp-trp")
    assert found["a", "near", "c"].confidence == 0.6


def test_the_surest_of_several_ways_is_kept() -> None:
    found = told(("a", "within", "b", 0.9), ("b", "within", "d", 0.3),
                 ("a", "within", "c", 0.7), ("c", "within", "d", 0.8))  # fmt: skip
    assert found["a", "within", "d"].confidence == 0.7
    assert found["a", "within", "d"].premises == ("awithinc", "cwithind")


def test_what_is_stated_and_what_joins_a_thing_to_itself_does_not_follow() -> None:
    found = told(("a", "meets", "b", 0.9), ("b", "meets", "a", 0.2),
                 ("a", "within", "b", 0.5), ("b", "within", "a", 0.5))  # fmt: skip
    assert not any(p == "meets" or s == o for s, p, o in found)
    assert told() == {}


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 2, st.sampled_from(["within", "meets", "holds"]),
                          st.floats(0, 1)), max_size=14))  # fmt: skip
def test_no_statement_is_surer_than_its_premises_and_order_changes_nothing(
    rows: list[tuple[int, int, str, float]],
) -> None:
    claims = {(f"n{a}", p, f"n{b}"): held for a, b, p, held in rows if a != b}
    named = {f"{s}{p}{o}": held for (s, p, o), held in claims.items()}
    found = told(*((*said, held) for said, held in claims.items()))
    again = told(*((*said, held) for said, held in reversed(claims.items())))
    assert {s: e.confidence for s, e in found.items()} == {
        s: e.confidence for s, e in again.items()
    }
    for each in found.values():
        assert each.confidence == min(named[premise] for premise in each.premises)


def test_the_same_follows_as_in_a_reasoner_for_owl_rl(base: OxigraphStore) -> None:
    owlrl = pytest.importorskip("owlrl")
    axioms, edges = Axioms.load(), list(accepted_edges(base))
    graph = Graph()
    for kinds, kind in ((axioms.symmetric, OWL.SymmetricProperty),
                        (axioms.transitive, OWL.TransitiveProperty)):  # fmt: skip
        for name in kinds:
            graph.add((URIRef(name), RDF.type, kind))
    for links, link in ((axioms.inverse, OWL.inverseOf), (axioms.broader, RDFS.subPropertyOf)):
        for one, others in links.items():
            for other in others:
                graph.add((URIRef(one), link, URIRef(other)))
    for edge in edges:
        graph.add((URIRef(edge.subject), URIRef(edge.predicate), URIRef(edge.object)))
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    stated = {(e.subject, e.predicate, e.object) for e in edges}
    theirs = {
        (str(s), str(p), str(o)) for s, p, o in graph
        if str(p).startswith(VOCAB) and not str(s).startswith(VOCAB) and s != o
    }  # fmt: skip
    ours = {each.statement for each in entail(edges, axioms)}
    assert len(ours) > 20
    assert ours == theirs - stated


def test_entailments_stand_apart_with_rule_and_premises_and_are_no_claims(
    base: OxigraphStore,
) -> None:
    before = set(base.match(None, None, None, DERIVED))
    swap(base, entailment_quads(base), ["entailed"])
    assert set(base.match(None, None, None, DERIVED)) == before
    nodes = {q.subject for q in base.match(None, OUR_RDF.reifies, None, ENTAILED)}
    assert nodes
    for node in nodes:
        assert isinstance(node, NamedNode)
        assert list(base.match(node, SHIYI.derivedBy, None, ENTAILED))
        assert not list(base.match(node, SHIYI.status, None, ENTAILED))
        for premise in base.match(node, PROV.wasDerivedFrom, None, ENTAILED):
            assert isinstance(premise.object, NamedNode)
            assert list(base.match(premise.object, SHIYI.confidence))
    some = min(node.value for node in nodes if isinstance(node, NamedNode))
    said = explain(base, some)
    assert said
    assert said["rule"].startswith("rule-prp-")
    assert said["premises"]
    assert swap(base, [], ["entailed"]) == 0
    assert not list(base.match(None, None, None, ENTAILED))


def test_the_command_writes_them_and_writing_again_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_generation(tmp_path / "kb", tuple(kitchen.quads()), {})
    counts = []
    for _ in range(2):
        assert main(["--kb", str(tmp_path / "kb"), "reason", "entailed"]) == 0
        assert "entailed_quads" in capsys.readouterr().out
        with KnowledgeBase.open(tmp_path / "kb") as opened:
            counts.append(sum(1 for _ in opened.store.match(None, None, None, ENTAILED)))
    assert counts[0] == counts[1] > 0
