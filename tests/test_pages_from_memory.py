"""Pages of concepts take claims and labels from memory, and say what the store says, at once."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.facts import Facts
from shiyi.model.names import ID
from shiyi.model.rdf import DefaultGraph, NamedNode
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.ontology.vocabulary import Schema
from shiyi.server.app import create_app
from shiyi.server.known import Known
from shiyi.server.opening import open_site
from shiyi.server.reading import MOST, Reader, Statement
from shiyi.server.tokens import Tokens
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests.server_site import GOJI, INTERACTION, WARFARIN, YIN, quads

SAMPLE = 150


@pytest.fixture(scope="module")
def readers(starter_kb: Path) -> Iterator[tuple[Reader, Reader]]:
    with KnowledgeBase.open(starter_kb) as base:
        facts = Facts.read(base.store, Schema.load())
        yield Reader(base.store, "zh"), Reader(base.store, "zh", Known(lambda: facts))


def said(found: Iterator[Statement]) -> set[tuple[object, ...]]:
    """Give what statements say, those past the surest of a relation left out."""
    return {
        (each.claim, each.predicate, each.subject.iri, each.object.iri, each.object.label,
         each.object.language, each.subject.label, each.other.other, each.confidence, each.forward,
         each.derived, each.negative)
        for each in found if not each.of
    }  # fmt: skip


def test_memory_says_of_a_concept_what_the_store_says(readers: tuple[Reader, Reader]) -> None:
    store, memory = readers
    concepts = {
        quad.subject for quad in store.store.match(None, SKOS.prefLabel, None, DefaultGraph())
    }
    named = sorted(each.value for each in concepts if isinstance(each, NamedNode))
    draw = random.Random(7)  # noqa: S311 # the same each time
    told = 0
    for iri in draw.sample(named, SAMPLE):
        node = NamedNode(iri)
        here = said(memory.statements(node))
        assert here == said(store.statements(node)), iri
        told += len(here)
    assert told > SAMPLE


def test_of_a_hub_both_tell_how_many_and_the_surest(readers: tuple[Reader, Reader]) -> None:
    node = NamedNode(f"{ID}flavour-sweet")
    for reader in readers:
        cut = [each for each in reader.statements(node) if each.of]
        by_relation = {each.predicate: each.of for each in cut}
        assert all(count > MOST for count in by_relation.values())
        assert by_relation["hasFlavour"] > MOST
        assert len([each for each in cut if each.predicate == "hasFlavour"]) == MOST


def test_what_an_update_changes_is_on_the_next_page_and_in_the_next_answer(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, quads(), {})
    token = Tokens(kb).add("ada", "write", 1)
    site = open_site(kb, replace(Settings(), kb=kb, query=QuerySettings(workers=1)))
    try:
        client = create_app(site).test_client()
        page = f"/page/{WARFARIN.value.removeprefix(ID)}?lang=en"
        claim, fact = INTERACTION.iri, f"<<( {YIN} {SHIYI.fears} {WARFARIN} )>>"
        assert "yin deficiency" not in client.get(page).text
        assert claim.value.removeprefix(ID) in client.get(page).text
        update = f"""
            PREFIX s: <https://w3id.org/shiyi/vocab#>
            INSERT DATA {{ {YIN} s:fears {WARFARIN} . <{ID}claim/new> <{RDF.reifies.value}> {fact} ;
              a s:Claim ; s:status s:accepted ; s:polarity s:positive ; s:confidence 0.7 }} ;
            DELETE WHERE {{ {claim} ?p ?o }} ;
            DELETE WHERE {{ {GOJI} s:interactsWith {WARFARIN} }}"""
        sent = client.post("/sparql", data={"update": update},
                           headers={"Authorization": f"Bearer {token}"})  # fmt: skip
        assert sent.status_code == 204, sent.text
        after = client.get(page).text
        assert "yin deficiency" in after
        assert claim.value.removeprefix(ID) not in after
        answer = client.post("/api/ask", json={"question": "Can I take goji with warfarin?"}).json
        assert answer
        assert claim.value not in {each["claim"] for each in answer["citations"]}
    finally:
        site.close()
