"""Dumps say the same in every form, and what is restricted never leaves."""

import csv
import json
from pathlib import Path

import pytest

from shiyi.model.claim import Claim, Evidence, Source, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, parse
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.dumps import dump
from shiyi.publishing.explanation import explain
from shiyi.publishing.lowering import lower, raise_claims
from shiyi.publishing.tables import csv_tables, kgx_tables, neo4j_tables, sssom_table, write_tables
from shiyi.sparql.oxigraph import OxigraphStore

OPEN = Source("open", "公开", "Open", Tier.TEXTBOOK, licence="CC BY 4.0")
SHUT = Source("shut", "受限", "Shut", Tier.MONOGRAPH, licence="restricted: no redistribution")
GOJI, WARFARIN, PEAR = (resource(n) for n in ("substance-goji", "drug-warfarin", "substance-pear"))
OPEN_CLAIM = Claim(GOJI, SHIYI.interactsWith, WARFARIN, (Evidence(OPEN, Confidence(0.9)),
                                                        Evidence(SHUT, Confidence(0.8))))  # fmt: skip
SHUT_CLAIM = Claim(PEAR, SHIYI.interactsWith, WARFARIN, (Evidence(SHUT, Confidence(0.8)),))


def concept(node: NamedNode, kind: NamedNode, zh: str, en: str) -> list[Quad]:
    return [
        Quad(node, RDF.type, SKOS.Concept, DefaultGraph()),
        Quad(node, RDF.type, kind, DefaultGraph()),
        Quad(node, SKOS.prefLabel, Literal(zh, language="zh"), DefaultGraph()),
        Quad(node, SKOS.prefLabel, Literal(en, language="en"), DefaultGraph()),
    ]


@pytest.fixture
def store() -> OxigraphStore:
    made = OxigraphStore.in_memory()
    quads = [
        *source_quads(OPEN), *source_quads(SHUT), *claim_quads(OPEN_CLAIM), *claim_quads(SHUT_CLAIM),
        *concept(GOJI, SHIYI.Food, "枸杞子", "goji"), *concept(PEAR, SHIYI.Food, "梨", "pear"),
        *concept(WARFARIN, SHIYI.Drug, "华法林", "warfarin"),
        Quad(GOJI, SKOS.closeMatch, NamedNode("http://identifiers.org/umls/C1088997"), DefaultGraph()),
        Quad(GOJI, SHIYI.pageRank, Literal("1"), graph("derived")),
    ]  # fmt: skip
    made.change(add=quads)
    return made


@pytest.mark.parametrize("name", ["nq", "trig", "ttl", "nt", "jsonld", "rdfxml"])
@pytest.mark.parametrize("profile", ["rdf12", "rdf11"])
def test_what_is_restricted_never_leaves_in_any_format(
    store: OxigraphStore, name: str, profile: str
) -> None:
    written = dump(store, name, profile).decode()
    assert SHUT_CLAIM.iri.value.rpartition("/")[2] not in written
    assert SHUT_CLAIM.evidence[0].iri(OPEN_CLAIM.iri).value.rpartition("/")[2] not in written
    assert OPEN_CLAIM.iri.value.rpartition("/")[2] in written


def test_the_restricted_triple_itself_stays_inside(store: OxigraphStore) -> None:
    triples = {(q.subject, q.object) for q in parse(dump(store, "nq").decode(), "x.nq")}
    assert (GOJI, WARFARIN) in triples
    assert (PEAR, WARFARIN) not in triples


def test_a_licence_filter_keeps_only_its_own_sources(store: OxigraphStore) -> None:
    assert "claim/" in dump(store, "nq", licence="CC BY 4.0").decode()
    assert "claim/" not in dump(store, "nq", licence="CC0").decode()


def test_the_same_base_gives_the_same_bytes(store: OxigraphStore) -> None:
    assert dump(store, "nq") == dump(store, "nq")


def test_lowered_claims_can_be_raised_again(store: OxigraphStore) -> None:
    before = set(store.match(graph=DefaultGraph()))
    lowered = list(lower(before))
    assert not any(isinstance(quad.object, Triple) for quad in lowered)
    assert set(raise_claims(lowered)) == before


def test_json_ld_is_lowered_json(store: OxigraphStore) -> None:
    assert len(json.loads(dump(store, "jsonld"))) > 0


def test_csv_has_a_table_per_entity_type_and_relation(store: OxigraphStore, tmp_path: Path) -> None:
    count = write_tables(csv_tables(store), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"entity-Food.csv", "entity-Drug.csv", "relation-interactsWith.csv"}
    with (tmp_path / "relation-interactsWith.csv").open(encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    assert row["claim"] == OPEN_CLAIM.iri.value
    assert row["subject_label"] == "goji"
    assert count == 4


def test_neo4j_and_kgx_edges_end_at_known_nodes(store: OxigraphStore) -> None:
    for nodes, edges in (tuple(neo4j_tables(store)), tuple(kgx_tables(store))):
        known = {row[0] for row in nodes.rows}
        assert len(edges.rows) == 1
        ends = set(edges.rows[0]) & known
        assert ends == {GOJI.value, WARFARIN.value}


def test_sssom_names_umls_by_curie(store: OxigraphStore) -> None:
    [row] = sssom_table(store).rows
    assert row[0] == "shiyi:substance-goji"
    assert row[2:4] == ["skos:closeMatch", "UMLS:C1088997"]


def test_an_explanation_shows_the_arithmetic(store: OxigraphStore) -> None:
    told = explain(store, OPEN_CLAIM.iri.value)
    assert told is not None
    assert told["confidence"] == 0.98
    assert "(1 − 0.9) × (1 − 0.8)" in told["why"] or "(1 − 0.8) × (1 − 0.9)" in told["why"]
    assert explain(store, "https://example.org/none") is None
