"""What OWL 2 RL lets follow from claims, in a graph of its own."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, Graph, URIRef

from shiyi.cli import main
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PROV, SHIYI
from shiyi.ontology.terms import RDF as OUR_RDF
from shiyi.publishing.description import explain_claim
from shiyi.reasoning.adjacency import Edge, load_edges
from shiyi.reasoning.derivation import entailment_quads, replace_derived
from shiyi.reasoning.rules import (
    DERIVED,
    ENTAILED,
    Axioms,
    Derivation,
    EntailedStatement,
    Premises,
    derivation_quads,
    entail,
    infer,
)
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support import bases

AXIOMS = Axioms(
    symmetric=frozenset({"meets"}),
    transitive=frozenset({"within"}),
    inverse={"within": frozenset({"holds"}), "holds": frozenset({"within"})},
    broader={"within": frozenset({"near"})},
)


def reported(*rows: tuple[str, str, str, float]) -> dict[tuple[str, str, str], EntailedStatement]:
    edges = [Edge(s, p, o, f"{s}{p}{o}", stored) for s, p, o, stored in rows]
    return {statement.statement: statement for statement in entail(edges, AXIOMS)}


@pytest.fixture
def base() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=list(bases.kitchen_quads()))
    return store


def test_chain_has_confidence_of_weakest_premise() -> None:
    statements = reported(("a", "within", "b", 0.9), ("b", "within", "c", 0.6))
    chain = statements["a", "within", "c"]
    assert chain.confidence == 0.6
    assert chain.premises == ("awithinb", "bwithinc")
    assert chain.rules == ("prp-trp",)
    assert statements["c", "holds", "a"].rules == ("prp-inv", "prp-trp")
    assert statements["a", "near", "c"].confidence == 0.6


def test_the_most_confident_of_several_paths_remains() -> None:
    statements = reported(
        ("a", "within", "b", 0.9),
        ("b", "within", "d", 0.3),
        ("a", "within", "c", 0.7),
        ("c", "within", "d", 0.8),
    )
    assert statements["a", "within", "d"].confidence == 0.7
    assert statements["a", "within", "d"].premises == ("awithinc", "cwithind")


def test_stated_and_reflexive_claims_are_not_derived() -> None:
    statements = reported(
        ("a", "meets", "b", 0.9),
        ("b", "meets", "a", 0.2),
        ("a", "within", "b", 0.5),
        ("b", "within", "a", 0.5),
    )
    assert not any(p == "meets" or s == o for s, p, o in statements)
    assert reported() == {}


@given(
    st.lists(
        st.tuples(
            *[st.integers(0, 6)] * 2, st.sampled_from(["within", "meets", "holds"]), st.floats(0, 1)
        ),
        max_size=14,
    )
)
def test_no_entailment_is_surer_than_premises(rows: list[tuple[int, int, str, float]]) -> None:
    claims = {(f"n{a}", p, f"n{b}"): stored for a, b, p, stored in rows if a != b}
    named = {f"{s}{p}{o}": stored for (s, p, o), stored in claims.items()}
    statements = reported(*((*text, stored) for text, stored in claims.items()))
    repeated_statements = reported(*((*text, stored) for text, stored in reversed(claims.items())))
    assert {s: e.confidence for s, e in statements.items()} == {
        s: e.confidence for s, e in repeated_statements.items()
    }
    for statement in statements.values():
        assert statement.confidence == min(named[premise] for premise in statement.premises)


def test_same_follows_as_in_reasoner_for_owl_rl(base: OxigraphStore) -> None:
    owlrl = pytest.importorskip("owlrl")
    axioms, edges = Axioms.load(), list(load_edges(base))
    graph = Graph()
    for kinds, kind in (
        (axioms.symmetric, OWL.SymmetricProperty),
        (axioms.transitive, OWL.TransitiveProperty),
    ):
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
        (str(s), str(p), str(o))
        for s, p, o in graph
        if str(p).startswith(VOCAB) and not str(s).startswith(VOCAB) and s != o
    }
    values = {statement.statement for statement in entail(edges, axioms)}
    assert len(values) > 20
    assert values == theirs - stated


def test_entailments_name_rule_and_premises(base: OxigraphStore) -> None:
    before = set(base.match(None, None, None, DERIVED))
    replace_derived(base, entailment_quads(base), ["entailed"])
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
    text = explain_claim(base, some)
    assert text
    assert text["rule"].startswith("rule-prp-")
    assert text["premises"]
    assert replace_derived(base, [], ["entailed"]) == 0
    assert not list(base.match(None, None, None, ENTAILED))


def test_command_writes_them_and_writing_again_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_generation(tmp_path / "kb", tuple(bases.kitchen_quads()), {})
    counts = []
    for _ in range(2):
        assert main(["--kb", str(tmp_path / "kb"), "reason", "entailed"]) == 0
        assert "entailed_quads" in capsys.readouterr().out
        with KnowledgeBase.open(tmp_path / "kb") as opened:
            counts.append(sum(1 for _ in opened.store.match(None, None, None, ENTAILED)))
    assert counts[0] == counts[1] > 0


SCHEMA = Schema.load()
BENEFIT = ("suitableFood", "relieves", "indicatedFor", "isEffectiveFor", "realisedBy", "hasNature")
SAFETY = (
    "contraindicatedIn",
    "cautionIn",
    "aggravates",
    "interactsWith",
    "unsuitableFood",
    "fears",
)


def edge(subject: str, predicate: str, object_: str, confidence: float = 0.9) -> Edge:
    return Edge(
        subject, VOCAB + predicate, object_, f"urn:{subject}{predicate}{object_}", confidence
    )


def inferred(
    safety: list[Edge],
    ingredients: tuple[Edge, ...] = (),
    implications: tuple[Edge, ...] = (),
    broader: dict[str, frozenset[str]] | None = None,
) -> list[Derivation]:
    return list(infer(Premises(tuple(safety), ingredients, implications, broader or {}, SCHEMA)))


def triples(found: list[Derivation]) -> set[tuple[str, str, str]]:
    return {(d.subject, d.predicate.removeprefix(VOCAB), d.object) for d in found}


def test_contraindication_reaches_narrower_conditions_but_not_broader_ones() -> None:
    broader = {"urn:b": frozenset({"urn:m"}), "urn:m": frozenset({"urn:t"})}
    derivations = inferred([edge("urn:x", "contraindicatedIn", "urn:m")], broader=broader)
    assert triples(derivations) == {("urn:x", "derivedCaution", "urn:b")}


def test_claim_of_medicine_class_holds_for_members() -> None:
    derivations = inferred(
        [edge("urn:x", "interactsWith", "urn:class")], broader={"urn:m": frozenset({"urn:class"})}
    )
    assert triples(derivations) == {("urn:x", "potentiallyInteractsWith", "urn:m")}


def test_dish_inherits_from_its_ingredient_at_weakest_premise() -> None:
    made_of = (edge("urn:dish", "hasIngredient", "urn:x", 0.6),)
    derivations = inferred([edge("urn:x", "cautionIn", "urn:c")], made_of)
    assert triples(derivations) == {("urn:dish", "derivedCaution", "urn:c")}
    assert derivations[0].confidence == 0.6
    assert len(derivations[0].premises) == 2


def test_taboo_follows_implication_in_one_direction() -> None:
    link = (edge("urn:a", "impliesSyndrome", "urn:b"),)
    forward = inferred([edge("urn:x", "contraindicatedIn", "urn:b")], implications=link)
    derivations = inferred([edge("urn:x", "contraindicatedIn", "urn:a")], implications=link)
    assert triples(forward) == {("urn:x", "derivedCaution", "urn:a")}
    assert derivations == []


def test_cycles_end() -> None:
    links = (edge("urn:a", "impliesSyndrome", "urn:b"), edge("urn:b", "impliesSyndrome", "urn:a"))
    broader = {"urn:a": frozenset({"urn:b"}), "urn:b": frozenset({"urn:a"})}
    derivations = inferred([edge("urn:x", "cautionIn", "urn:a")], (), links, broader)
    assert triples(derivations) == {("urn:x", "derivedCaution", "urn:b")}


def test_what_a_source_states_is_not_derived_again() -> None:
    broader = {"urn:b": frozenset({"urn:a"})}
    edges = [edge("urn:x", "contraindicatedIn", "urn:a"), edge("urn:x", "cautionIn", "urn:b")]
    assert inferred(edges, broader=broader) == []


NODES = st.sampled_from([f"urn:{letter}" for letter in "abcdef"])
EDGES = st.lists(
    st.builds(edge, NODES, st.sampled_from(SAFETY + BENEFIT), NODES, st.floats(0.1, 1.0)),
    max_size=12,
)


@given(
    EDGES,
    st.lists(st.tuples(NODES, NODES), max_size=6),
    st.lists(st.tuples(NODES, NODES), max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_benefit_is_never_derived(
    edges: list[Edge], above: list[tuple[str, str]], parts: list[tuple[str, str]]
) -> None:
    broader = {one: frozenset({other}) for one, other in above}
    made_of = tuple(edge(one, "hasIngredient", other, 0.7) for one, other in parts)
    edges = list({e.claim: e for e in edges}.values())  # a claim has one confidence
    fields = {e.claim: e.confidence for e in (*edges, *made_of)}
    for derivation in inferred(edges, made_of, (), broader):
        assert derivation.predicate.removeprefix(VOCAB) not in BENEFIT
        assert derivation.confidence <= min(fields[p] for p in derivation.premises)
        assert not any(VOCAB + name in p for name in BENEFIT for p in derivation.premises)


def test_derived_graph_names_rule_and_premises() -> None:
    store = bases.stored()
    dish, drug = NamedNode(bases.iri("dish-ginger")), NamedNode(bases.iri("drug-warfarin"))
    member = NamedNode(bases.iri("substance-ginger"))
    quads = list(store.match(member, SHIYI.potentiallyInteractsWith, drug))
    assert [quad.graph_name for quad in quads] == [DERIVED]
    assert list(store.match(dish, SHIYI.potentiallyInteractsWith, None))
    claims = {q.subject for q in store.match(None, SHIYI.derivedBy, None, DERIVED)}
    assert claims
    for claim in claims:
        assert isinstance(claim, NamedNode)
        assert list(store.match(claim, PROV.wasDerivedFrom, None, DERIVED))


def test_claim_derived_twice_written_once_with_best_confidence() -> None:
    one = Derivation("urn:x", VOCAB + "derivedCaution", "urn:c", "urn:rule", ("urn:p",), 0.4)
    two = Derivation("urn:x", VOCAB + "derivedCaution", "urn:c", "urn:rule", ("urn:q",), 0.7)
    quads = list(derivation_quads([one, two]))
    terms = [q.object for q in quads if q.predicate == SHIYI.confidence]
    assert [literal.value for literal in terms if hasattr(literal, "value")] == ["0.7"]
    assert sum(q.predicate == PROV.wasDerivedFrom for q in quads) == 2
