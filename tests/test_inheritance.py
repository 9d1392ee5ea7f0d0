from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import PROV, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.inheritance import DERIVED, Derivation, Premises, derivation_quads, infer
from shiyi.reasoning.projection import Edge
from tests import kitchen

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


def test_a_contraindication_reaches_narrower_conditions_but_not_broader_ones() -> None:
    broader = {"urn:b": frozenset({"urn:m"}), "urn:m": frozenset({"urn:t"})}
    found = inferred([edge("urn:x", "contraindicatedIn", "urn:m")], broader=broader)
    assert triples(found) == {("urn:x", "derivedCaution", "urn:b")}


def test_what_holds_for_a_class_of_medicines_holds_for_its_members() -> None:
    found = inferred(
        [edge("urn:x", "interactsWith", "urn:class")], broader={"urn:m": frozenset({"urn:class"})}
    )
    assert triples(found) == {("urn:x", "potentiallyInteractsWith", "urn:m")}


def test_a_dish_inherits_from_its_ingredient_at_the_weakest_premise() -> None:
    made_of = (edge("urn:dish", "hasIngredient", "urn:x", 0.6),)
    found = inferred([edge("urn:x", "cautionIn", "urn:c")], made_of)
    assert triples(found) == {("urn:dish", "derivedCaution", "urn:c")}
    assert found[0].confidence == 0.6
    assert len(found[0].premises) == 2


def test_an_implication_carries_a_taboo_to_who_implies_and_never_back() -> None:
    link = (edge("urn:a", "impliesSyndrome", "urn:b"),)
    forward = inferred([edge("urn:x", "contraindicatedIn", "urn:b")], implications=link)
    back = inferred([edge("urn:x", "contraindicatedIn", "urn:a")], implications=link)
    assert triples(forward) == {("urn:x", "derivedCaution", "urn:a")}
    assert back == []


def test_cycles_end() -> None:
    links = (edge("urn:a", "impliesSyndrome", "urn:b"), edge("urn:b", "impliesSyndrome", "urn:a"))
    broader = {"urn:a": frozenset({"urn:b"}), "urn:b": frozenset({"urn:a"})}
    found = inferred([edge("urn:x", "cautionIn", "urn:a")], (), links, broader)
    assert triples(found) == {("urn:x", "derivedCaution", "urn:b")}


def test_what_a_source_states_is_not_derived_again() -> None:
    broader = {"urn:b": frozenset({"urn:a"})}
    stated = [edge("urn:x", "contraindicatedIn", "urn:a"), edge("urn:x", "cautionIn", "urn:b")]
    assert inferred(stated, broader=broader) == []


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
def test_benefit_is_never_derived_and_no_derivation_is_surer_than_its_premises(
    edges: list[Edge], above: list[tuple[str, str]], parts: list[tuple[str, str]]
) -> None:
    broader = {one: frozenset({other}) for one, other in above}
    made_of = tuple(edge(one, "hasIngredient", other, 0.7) for one, other in parts)
    edges = list({e.claim: e for e in edges}.values())  # a claim has one confidence
    held = {e.claim: e.confidence for e in (*edges, *made_of)}
    for found in inferred(edges, made_of, (), broader):
        assert found.predicate.removeprefix(VOCAB) not in BENEFIT
        assert found.confidence <= min(held[p] for p in found.premises)
        assert not any(VOCAB + name in p for name in BENEFIT for p in found.premises)


def test_the_derived_graph_names_rule_and_premises_and_stays_apart() -> None:
    store = kitchen.stored()
    dish, drug = NamedNode(kitchen.iri("dish-ginger")), NamedNode(kitchen.iri("drug-warfarin"))
    member = NamedNode(kitchen.iri("substance-ginger"))
    derived = list(store.match(member, SHIYI.potentiallyInteractsWith, drug))
    assert [quad.graph_name for quad in derived] == [DERIVED]
    assert list(store.match(dish, SHIYI.potentiallyInteractsWith, None))
    claims = {q.subject for q in store.match(None, SHIYI.derivedBy, None, DERIVED)}
    assert claims
    for claim in claims:
        assert isinstance(claim, NamedNode)
        assert list(store.match(claim, PROV.wasDerivedFrom, None, DERIVED))


def test_a_claim_derived_twice_is_written_once_with_its_best_confidence() -> None:
    one = Derivation("urn:x", VOCAB + "derivedCaution", "urn:c", "urn:rule", ("urn:p",), 0.4)
    two = Derivation("urn:x", VOCAB + "derivedCaution", "urn:c", "urn:rule", ("urn:q",), 0.7)
    quads = list(derivation_quads([one, two]))
    said = [q.object for q in quads if q.predicate == SHIYI.confidence]
    assert [literal.value for literal in said if hasattr(literal, "value")] == ["0.7"]
    assert sum(q.predicate == PROV.wasDerivedFrom for q in quads) == 2
