"""Dumps say the same in every form, and what is restricted never leaves."""

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat
from pyoxigraph import parse as oxigraph_parse

from shiyi.errors import FormatError
from shiyi.model.claim import (
    UNOPENED,
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Tier,
)
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, parse
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import PROV, RDF, SHIYI, SKOS
from shiyi.publishing.description import explain_claim
from shiyi.publishing.dumps import dump, write_parquet
from shiyi.publishing.tables import (
    Table,
    biolink_terms,
    csv_tables,
    kgx_tables,
    neo4j_tables,
    sssom_table,
    sssom_tables,
    write_tables,
)
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore

OPEN = Source("open", "公开", "Open", Tier.TEXTBOOK, licence="CC BY 4.0")
SHUT = Source("shut", "受限", "Shut", Tier.MONOGRAPH, licence="restricted: no redistribution")
GOJI, WARFARIN, PEAR = (resource(n) for n in ("substance-goji", "drug-warfarin", "substance-pear"))
OPEN_CLAIM = Claim(
    GOJI,
    SHIYI.interactsWith,
    WARFARIN,
    (Evidence(OPEN, Confidence(0.9)), Evidence(SHUT, Confidence(0.8))),
)
SHUT_CLAIM = Claim(PEAR, SHIYI.interactsWith, WARFARIN, (Evidence(SHUT, Confidence(0.8)),))
TEXTS = graph("source", "shut@1")
SECTION, PASSAGE = resource("section/5ec-shut"), resource("passage/9a5-shut")
DERIVED = Claim(PEAR, SHIYI.derivedCaution, WARFARIN, (Evidence(OPEN, Confidence(0.8)),))
CANDIDATE = Claim(
    PEAR,
    SHIYI.aggravates,
    WARFARIN,
    (Evidence(SHUT, Confidence(0.3), quote="SECRET QUOTE", passage=PASSAGE),),
    status=Status.CANDIDATE,
)
HIDDEN = tuple(
    iri.rpartition("/")[2]
    for iri in (
        SHUT_CLAIM.iri.value,
        DERIVED.iri.value,
        CANDIDATE.iri.value,
        SECTION.value,
        PASSAGE.value,
        SHUT_CLAIM.evidence[0].iri(SHUT_CLAIM.iri).value,
        OPEN_CLAIM.evidence[1].iri(OPEN_CLAIM.iri).value,
        "/SECRET WORDS",
        "/SECRET QUOTE",
        "/a case",
        "/aggravates",
        "/derivedCaution",
    )
)


def concept(node: NamedNode, kind: NamedNode, zh: str, en: str) -> list[Quad]:
    return [
        Quad(node, RDF.type, SKOS.Concept, DefaultGraph()),
        Quad(node, RDF.type, kind, DefaultGraph()),
        Quad(node, SKOS.prefLabel, Literal(zh, language="zh"), DefaultGraph()),
        Quad(node, SKOS.prefLabel, Literal(en, language="en"), DefaultGraph()),
    ]


@pytest.fixture
def store() -> OxigraphStore:
    return planted()


def planted() -> OxigraphStore:
    """A base of one open claim with open and restricted evidence, and one restricted claim."""
    made = OxigraphStore.in_memory()
    quads = [
        *source_quads(OPEN),
        *source_quads(SHUT),
        *claim_quads(OPEN_CLAIM),
        *claim_quads(SHUT_CLAIM),
        *concept(GOJI, SHIYI.Food, "枸杞子", "goji"),
        *concept(PEAR, SHIYI.Food, "梨", "pear"),
        *concept(WARFARIN, SHIYI.Drug, "华法林", "warfarin"),
        Quad(
            GOJI, SKOS.closeMatch, NamedNode("http://identifiers.org/umls/C1088997"), DefaultGraph()
        ),
        Quad(GOJI, SHIYI.pageRank, Literal("1"), graph("derived")),
        *claim_quads(DERIVED, graph("derived")),
        *claim_quads(CANDIDATE, graph("candidates")),
        Quad(DERIVED.iri, PROV.wasDerivedFrom, SHUT_CLAIM.iri, graph("derived")),
        *source_quads(SHUT, TEXTS),
        Quad(SECTION, PROV.wasDerivedFrom, SHUT.iri, TEXTS),
        Quad(PASSAGE, SHIYI.partOfSection, SECTION, TEXTS),
        Quad(PASSAGE, RDF.value, Literal("SECRET WORDS"), TEXTS),
        Quad(GOJI, SHIYI.noteText, Literal("a case"), graph("cases", "one")),
    ]
    made.change(add=quads)
    return made


FORMS = [
    (name, profile)
    for name in ("nq", "trig", "ttl", "nt", "jsonld", "rdfxml")
    for profile in ("rdf12", "rdf11", "skos")
] + [(name, profile) for name in ("nq", "trig") for profile in ("singleton", "nanopub")]


@pytest.mark.parametrize(("name", "profile"), FORMS)
def test_what_is_restricted_never_leaves_in_any_format(
    store: OxigraphStore, name: str, profile: str
) -> None:
    written = dump(store, name, profile).decode()
    assert not [each for each in HIDDEN if each in written]
    assert "substance-goji" in written
    if profile != "skos":
        assert OPEN_CLAIM.iri.value.rpartition("/")[2] in written


@pytest.mark.parametrize("made", [csv_tables, neo4j_tables, kgx_tables, sssom_tables])
def test_what_is_restricted_is_in_no_table(
    store: OxigraphStore, made: Callable[..., Iterable[Table]], tmp_path: Path
) -> None:
    assert write_tables(made(store), tmp_path)
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert not [each for each in HIDDEN if each in written]


def test_parquet_holds_what_csv_holds(store: OxigraphStore, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    assert write_parquet(csv_tables(store), tmp_path) == 4
    with duckdb.connect() as database:
        path = str(tmp_path / "relation-interactsWith.parquet")
        found = database.execute("SELECT claim FROM read_parquet($path)", {"path": path}).fetchall()
    assert found == [(OPEN_CLAIM.iri.value,)]


def test_the_restricted_triple_itself_stays_inside(store: OxigraphStore) -> None:
    triples = {(q.subject, q.object) for q in parse(dump(store, "nq").decode(), "x.nq")}
    assert (GOJI, WARFARIN) in triples
    assert (PEAR, WARFARIN) not in triples


def test_a_licence_filter_keeps_only_its_own_sources(store: OxigraphStore) -> None:
    assert "claim/" in dump(store, "nq", licence="CC BY 4.0").decode()
    assert "claim/" not in dump(store, "nq", licence="CC0").decode()


def test_the_same_base_gives_the_same_bytes(store: OxigraphStore) -> None:
    assert dump(store, "nq") == dump(store, "nq")


PARTS = (RDF.subject, RDF.predicate, RDF.object)


def from_rdf11(quads: Iterable[Quad]) -> set[Quad]:
    """Restore the triple terms of claims.

    Accepted, positive ones and those that were entailed, which have no status, lose their three
    helpers.
    """
    parts: dict[tuple[object, object], dict[NamedNode, Quad]] = {}
    other_quads: set[Quad] = set()
    for quad in quads:
        if quad.predicate in PARTS:
            parts.setdefault((quad.subject, quad.graph_name), {})[quad.predicate] = quad
        else:
            other_quads.add(quad)
    judged = {(q.subject, q.graph_name) for q in other_quads if q.predicate == SHIYI.status}
    for own in parts.values():
        subject, predicate, value = (own[part].object for part in PARTS)
        assert isinstance(subject, NamedNode)
        assert isinstance(predicate, NamedNode)
        node, place = own[RDF.subject].subject, own[RDF.subject].graph_name
        status = Quad(node, SHIYI.status, SHIYI.accepted, place)
        negative = Quad(node, SHIYI.polarity, SHIYI.negative, place)
        if (node, place) in judged and (status not in other_quads or negative in other_quads):
            other_quads.update(own.values())
        other_quads.add(Quad(node, RDF.reifies, Triple(subject, predicate, value), place))
    return other_quads


def test_claims_in_rdf_11_lose_nothing(store: OxigraphStore) -> None:
    before = set(store.match(graph=DefaultGraph()))
    plain = list(to_rdf11(before))
    assert not any(isinstance(quad.object, Triple) for quad in plain)
    assert from_rdf11(plain) == before


def test_json_ld_equals_turtle(store: OxigraphStore) -> None:
    written = dump(store, "jsonld")
    by_iri = {node["iri"]: node for node in json.loads(written)["@graph"]}
    assert by_iri["id:substance-goji"]["interactsWith"] == {"iri": "id:drug-warfarin"}
    values = {
        (q.subject, q.predicate, q.object) for q in oxigraph_parse(written, RdfFormat.JSON_LD)
    }
    turtle = dump(store, "ttl", "rdf11")
    assert values == {(q.subject, q.predicate, q.object) for q in parse(turtle.decode(), "x.ttl")}


def test_base_survives_rdf_11_round_trip(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        subjects = [quad.subject for quad in base.store.match(None, RDF.type)][::20]
        quads = {
            q for term in subjects if not isinstance(term, Triple) for q in base.store.match(term)
        }
    before = {quad for quad in quads if quad.predicate != SHIYI.appliedThrough}
    plain = list(to_rdf11(before))
    assert len(plain) > len(before)
    assert not any(isinstance(quad.object, Triple) for quad in plain)
    assert from_rdf11(plain) == before


def test_a_nanopublication_has_four_graphs_and_its_provenance(store: OxigraphStore) -> None:
    quads = list(parse(dump(store, "nq", "nanopub").decode(), "x.nq"))
    claim = OPEN_CLAIM.iri.value
    named = {
        term: [q for q in quads if q.graph_name == NamedNode(f"{claim}#nanopub-{term}")]
        for term in ("head", "assertion", "provenance", "pubinfo")
    }
    assert len(quads) == sum(map(len, named.values()))
    [text] = named["assertion"]
    assert (text.subject, text.predicate, text.object) == (GOJI, SHIYI.interactsWith, WARFARIN)
    assert OPEN.iri in {quad.object for quad in named["provenance"]}
    assert len(named["head"]) == 4
    assert {q.subject for q in named["pubinfo"]} == {NamedNode(f"{claim}#nanopub")}
    assert any(q.predicate.value.endswith("terms/created") for q in named["pubinfo"])


def test_a_negative_claim_is_in_no_asserted_graph(store: OxigraphStore) -> None:
    claim = replace(
        OPEN_CLAIM, polarity=Polarity.NEGATIVE, subject=PEAR, evidence=OPEN_CLAIM.evidence[:1]
    )
    store.change(add=claim_quads(claim))
    for profile in ("nanopub", "singleton", "rdf11"):
        quads = list(parse(dump(store, "nq", profile).decode(), "x.nq"))
        assert any(quad.predicate == RDF.predicate and quad.subject == claim.iri for quad in quads)
        assert not [q for q in quads if (q.subject, q.predicate) == (PEAR, SHIYI.interactsWith)]


def test_singleton_graph_has_name_of_its_claim(store: OxigraphStore) -> None:
    quads = list(parse(dump(store, "nq", "singleton").decode(), "x.nq"))
    [text] = [quad for quad in quads if quad.graph_name == OPEN_CLAIM.iri]
    assert text.object == WARFARIN


def test_skos_alone_has_no_terms_of_shiyi(store: OxigraphStore) -> None:
    written = dump(store, "nt", "skos").decode()
    assert "prefLabel" in written
    assert "vocab#" not in written


def test_profiles_of_graphs_need_a_format_with_graphs(store: OxigraphStore) -> None:
    with pytest.raises(FormatError, match="format of profile nanopub"):
        dump(store, "ttl", "nanopub")


def test_csv_has_table_per_entity_type_and_relation(store: OxigraphStore, tmp_path: Path) -> None:
    count = write_tables(csv_tables(store), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"entity-Food.csv", "entity-Drug.csv", "relation-interactsWith.csv"}
    with (tmp_path / "relation-interactsWith.csv").open(encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    assert row["claim"] == OPEN_CLAIM.iri.value
    assert row["subject_label"] == "goji"
    assert count == 4


def test_neo4j_and_kgx_edges_end_at_known_nodes(store: OxigraphStore) -> None:
    for nodes, edges, *_ in (tuple(neo4j_tables(store)), tuple(kgx_tables(store))):
        known = {row[0] for row in nodes.rows}
        assert len(edges.rows) == 1
        ends = {each.rpartition(":")[2].rpartition("/")[2] for each in {*edges.rows[0]} & known}
        assert ends == {"substance-goji", "drug-warfarin"}
    assert {"infores:shiyi", "biolink:interacts_with"} < {*edges.rows[0]}
    assert all(row[0].startswith("shiyi.id:") for row in nodes.rows)


def test_relation_has_valid_biolink_predicate() -> None:
    terms = biolink_terms()
    assert terms["contraindicatedIn"] == "biolink:contraindicated_in"
    assert terms["studiedFor"] == "biolink:studied_to_treat"
    assert terms["relieves"] == "biolink:treats_or_applied_or_studied_to_treat"
    assert (terms["hasRedFlag"], terms["confusedWith"]) == (terms["judgedAs"], "biolink:similar_to")
    # a caution forbids nothing, and a diet is no treatment
    assert not {"cautionIn", "suitableFood", "unsuitableFood", "directedAt"} & terms.keys()


def test_kgx_has_qualified_edges_and_node_attributes() -> None:
    made = planted()
    for relation, value, qualifiers in (
        (SHIYI.hasIngredient, PEAR, (("amount", "9 g"), ("rating", "major"))),
        (SHIYI.isEffectiveFor, WARFARIN, (("rating", "likely"), ("population", "adults"))),
        (SHIYI.hasNature, PEAR, (("amount", "9 g"),)),
    ):
        evidence = Evidence(OPEN, Confidence(0.9), qualifiers=qualifiers)
        made.change(add=claim_quads(Claim(GOJI, relation, value, (evidence,))))
    nodes, edges, attributes = kgx_tables(made)
    values = {
        row[3].rpartition("#")[2]: dict(zip(edges.header, row, strict=True)) for row in edges.rows
    }
    assert values["hasIngredient"]["quantifier_qualifier"] == "9 g"
    assert values["hasIngredient"]["has_confidence_level"] == ""  # no rating of an effect
    assert values["isEffectiveFor"]["has_confidence_level"] == "likely"
    assert values["isEffectiveFor"]["population_context_qualifier"] == "adults"
    assert "hasNature" not in values
    [(_, _, predicate, *_)] = attributes.rows
    assert predicate == "biolink:has_attribute"
    assert {row[0]: row[4] for row in nodes.rows}[
        "shiyi.id:substance-goji"
    ] == "shiyi.id:substance-pear"


def test_tables_state_kind_of_evidence_and_denials() -> None:
    evidence = Evidence(
        UNOPENED[EvidenceKind.RECALLED],
        Confidence(0.45),
        kind=EvidenceKind.RECALLED,
        qualifiers=(("rating", "ineffective"),),
        suggested=OPEN,
    )
    claim = Claim(GOJI, SHIYI.isEffectiveFor, WARFARIN, (evidence,), Polarity.NEGATIVE)
    made = planted()
    made.change(add=[*claim_quads(claim), *source_quads(evidence.source)])
    _, edges, _ = kgx_tables(made)
    rows = [dict(zip(edges.header, row, strict=True)) for row in edges.rows]
    [row] = [row for row in rows if row["id"].endswith(claim.iri.value.rpartition("/")[2])]
    assert (row["negated"], row["polarity"], row["rating"]) == ("true", "negative", "ineffective")
    assert (row["knowledge_level"], row["agent_type"]) == ("not_provided", "not_provided")
    assert (row["evidence_kind"], row["lineage"]) == ("recalled", "common-knowledge")
    assert row["suggested_source"] == OPEN.iri.value
    opened = OPEN_CLAIM.iri.value.rpartition("/")[2]
    [row] = [row for row in rows if row["id"].endswith(opened)]
    assert (row["negated"], row["knowledge_level"]) == ("false", "knowledge_assertion")
    _, edges = neo4j_tables(made)
    assert "not_isEffectiveFor" in {row[2] for row in edges.rows}


def test_sssom_names_umls_by_curie(store: OxigraphStore) -> None:
    [row] = sssom_table(store).rows
    assert row[0] == "shiyi.id:substance-goji"
    assert row[2:4] == ["skos:closeMatch", "UMLS:C1088997"]


def test_an_explanation_shows_the_arithmetic(store: OxigraphStore) -> None:
    message = explain_claim(store, OPEN_CLAIM.iri.value)
    assert message is not None
    assert message["confidence"] == 0.98
    assert "(1 − 0.9) × (1 − 0.8)" in message["why"] or "(1 − 0.8) × (1 − 0.9)" in message["why"]
    assert explain_claim(store, "https://example.org/none") is None
