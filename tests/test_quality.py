"""Each quality query finds its planted fault."""

import pytest

from shiyi.model.rdf import DefaultGraph, Quad, parse
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.quality import quality_faults, quality_queries

PREFIXES = """
PREFIX : <https://example.org/> PREFIX s: <https://w3id.org/shiyi/vocab#>
PREFIX id: <https://w3id.org/shiyi/id/> PREFIX dc: <http://purl.org/dc/terms/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX umls: <http://identifiers.org/umls/>
"""
SUPPORT = ":c s:evidence :e . :e dc:source :b . :b s:sourceTier :t ."
PLANTED = {
    "asserted": ":c s:status s:accepted ; s:polarity s:positive ; rdf:reifies <<( :a s:p :b )>> .",
    "unasserted": ":a s:p :b . :c rdf:subject :a ; rdf:predicate s:p ; rdf:object :b ; "
    "s:status s:rejected ; s:polarity s:positive .",
    "symmetric-twice": ":a s:fears :b . :b s:fears :a .",
    "two-advices": ":f s:contraindicatedIn :x . :x s:suitableFood :f . "
    ":one rdf:reifies <<( :f s:contraindicatedIn :x )>> . "
    ":two rdf:reifies <<( :x s:suitableFood :f )>> .",
    "claim-without-evidence": ":c a s:Claim .",
    "spice-only": ":a s:regulatoryStatus id:status-mfh-2019 .",
    "derived-benefit": "GRAPH <https://w3id.org/shiyi/graph/derived> { :a s:relieves :b }",
    "hierarchy-cycle": ":a skos:broader :b . :b skos:broader :c . :c skos:broader :a .",
    "nature-conflict": ":m s:hasNature :hot , :cold . "
    ":one rdf:reifies <<( :m s:hasNature :hot )>> . "
    ":two rdf:reifies <<( :m s:hasNature :cold )>> .",
    "safety-without-tier": ":a s:opposes :b . :c rdf:reifies <<( :a s:opposes :b )>> ; "
    "s:evidence :e .",
    "opposed-to-itself": ":a s:fears :a .",
    "tcm-sign-with-exact-cui": ":a skos:inScheme id:scheme-tcm-sign ; "
    "skos:exactMatch umls:C0000001 .",
    "cui-form": ":a skos:closeMatch umls:CN12345 .",
}


def planted(text: str) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    quads: list[Quad] = list(parse(PREFIXES + text, "x.trig"))
    assert quads
    store.change(add=quads)
    return store


def test_every_quality_query_has_a_planted_fault() -> None:
    assert set(quality_queries()) == set(PLANTED)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_by_its_query(name: str) -> None:
    found = [fault.partition(":")[0] for fault in quality_faults(planted(PLANTED[name]))]
    assert name in found


def test_a_degree_of_a_nature_is_no_conflict_and_a_recorded_one_is_in_order() -> None:
    degree = PLANTED["nature-conflict"] + " :hot skos:broader :cold ."
    recorded = (
        PLANTED["nature-conflict"] + " :one s:conflictsWith :two . :two s:conflictsWith :one ."
    )
    for text in (degree, recorded):
        assert not any(f.startswith("nature-conflict") for f in quality_faults(planted(text)))


def test_a_sound_base_has_no_faults() -> None:
    sound = ":a s:hasNature :n . :c a s:Claim ; s:status s:accepted ; s:polarity s:positive ; "
    store = planted(sound + "rdf:reifies <<( :a s:hasNature :n )>> . " + SUPPORT)
    assert len(list(store.match(graph=DefaultGraph()))) > 0
    assert list(quality_faults(store)) == []
