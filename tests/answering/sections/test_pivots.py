"""Pivots of answers over the starter base: each is what it says, and none is missing."""

import re
from collections.abc import Collection
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.answering.sections.pivots import Pivots, find_pivots
from shiyi.model.iris import ID, graph
from shiyi.model.rdf import Literal, NamedNode, Quad, Triple
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.store.oxigraph import OxigraphStore

GINKGO = AskRequest("Can I take ginkgo with warfarin?")


@pytest.fixture(scope="module")
def runtime(runtime: Runtime) -> Runtime:
    """Return the base without guidance, so that relations alone decide."""
    found_facts = (f for facts in runtime.facts.by_subject.values() for f in facts)
    return runtime.with_changes({f.claim for f in found_facts if f.predicate == SHIYI.guidance}, ())


@pytest.fixture(scope="module")
def ginkgo(runtime: Runtime) -> Pivots:
    return find_pivots(runtime, GINKGO)


def test_verdict_falls_with_the_claim_it_rests_on(runtime: Runtime) -> None:
    request = AskRequest("婴儿可以吃蜂蜜吗")
    [pivot] = find_pivots(runtime, request).pivots
    assert (pivot.outcome, pivot.change) == ("verdict", "reject")
    assert (pivot.now, pivot.then) == ("do_not_combine contraindicated", "not_on_record")
    [claim] = pivot.claims
    assert claim.predicate.iri == SHIYI.contraindicatedIn.value
    answer = ask(runtime.with_changes({claim.claim}, ()), request)
    assert answer.verdict.kind == "not_on_record"
    assert claim.claim not in {citation.claim for citation in answer.citations}


def test_smallest_set_has_every_claim_it_needs(runtime: Runtime, ginkgo: Pivots) -> None:
    """The extract, its class of medicines and the leaf all warn of warfarin: none decides alone."""
    [pivot] = ginkgo.pivots
    assert ginkgo.complete
    claims = {citation.claim for citation in pivot.claims}
    assert len(claims) == 3
    cited = {citation.claim for citation in ask(runtime, GINKGO).citations}

    def verdict(withheld: Collection[str]) -> str:
        return ask(runtime.with_changes(withheld, ()), GINKGO).verdict.severity

    assert {verdict({each}) for each in cited | claims} == {"major"}
    assert {verdict(claims - {claim}) for claim in claims} == {"major"}
    assert verdict(claims) == "moderate"
    assert not claims <= cited  # one is cited where the others are withheld


def test_recommendation_is_dropped_without_its_claims(runtime: Runtime) -> None:
    request = AskRequest("便秘吃什么好")
    labels = {recommendation.label for recommendation in ask(runtime, request).recommendations}
    dropped = {p.now for p in find_pivots(runtime, request, asks=20).pivots if not p.then}
    assert labels
    assert dropped == labels


def test_limit_of_questions_is_stated(runtime: Runtime) -> None:
    assert not find_pivots(runtime, GINKGO, asks=1).complete


def test_accepting_a_candidate_changes_a_verdict(runtime: Runtime) -> None:
    claim, place = NamedNode(f"{ID}claim/{'0' * 32}"), graph("candidates")
    goji, pregnant = (
        NamedNode(f"{ID}{term}") for term in ("substance-gouqizi", "population-pregnant")
    )
    candidate = [
        Quad(claim, RDF.reifies, Triple(goji, SHIYI.contraindicatedIn, pregnant), place),
        Quad(claim, SHIYI.status, SHIYI.candidate, place),
        Quad(claim, SHIYI.confidence, Literal(0.9), place),
    ]
    request = AskRequest("孕妇能吃枸杞吗")
    store = OxigraphStore.in_memory()
    store.load_quads(candidate)
    pivots = find_pivots(replace(runtime, store=store), request).pivots
    [pivot] = [each for each in pivots if each.change == "accept"]
    assert (pivot.outcome, pivot.then) == ("verdict", "do_not_combine contraindicated")
    assert pivot.claims[0].claim == claim.value
    assert ask(runtime, request).verdict.kind == "ask_first"


def test_pivots_are_served_as_json_and_in_fold(starter_kb: Path) -> None:
    site = open_site(starter_kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    question = {"q": "婴儿可以吃蜂蜜吗", "lang": "en"}
    try:
        reply = client.get("/api/ask/pivots", query_string=question).get_json()
        assert [item["then"] for item in reply["pivots"]] == ["not_on_record"]
        text = client.get("/ask", query_string=question).text
        fold = unescape(re.search(r'href="(/ask\?[^"]+pivots=1)#pivots"', text)[1])  # type: ignore[index]
        shown = client.get(fold).text
        assert '<details class="pivots" id="pivots" open>' in shown
        assert reply["pivots"][0]["claims"][0]["claim"].rpartition("/")[2] in shown
    finally:
        site.close()
