"""The quarantine desk: correct a claim, or reject it with a reason for the extractor."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.curation.editing.claims import load_claim
from shiyi.ingest.extraction.feedback import lessons_section, list_lessons
from shiyi.ingest.gate import GateResult, ProposedClaim, Votes, build_change
from shiyi.model.claim import Claim, Confidence, Evidence
from shiyi.model.iris import ID, graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.prompts.templates import Prompt
from shiyi.shapes.validation import Result
from shiyi.sparql.store.oxigraph import OxigraphStore, parse_n_quads
from tests.support import bases
from tests.support.sites import FullDesks, Visitor, served

DESK, EDIT = "/curate/quarantine", "/curate/edit"
PASSAGE, TEXT = resource("passage/q1"), "绿豆味甘。<b>能解百毒</b>，治一切病。"
WHY = Result(
    "", "Class", "", "", "What “has nature” points to is a nature.", "“性”应为四气。", "Violation"
)


def stored(relation: str, text: str, quote: str) -> Claim:
    evidence = Evidence(
        bases.KITCHEN_BOOK, Confidence(0.8), quote=quote, passage=PASSAGE, activity="llm-1"
    )
    node: NamedNode = getattr(SHIYI, relation)
    return Claim(resource("substance-mung"), node, resource(text), (evidence,))


WRONG = stored("hasNature", "symptom-thirst", "味甘")
USELESS = stored("hasEfficacy", "symptom-sleep", "能解百毒")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    place = graph("source", "book@1")
    quads = [
        Quad(PASSAGE, RDF.type, SHIYI.Passage, place),
        Quad(PASSAGE, RDF.value, Literal(TEXT, language="zh"), place),
        Quad(PASSAGE, PROV.wasDerivedFrom, bases.KITCHEN_BOOK.iri, place),
    ]
    results = [
        GateResult(ProposedClaim(claim, 2, 4), (result,))
        for claim, result in (
            (WRONG, WHY),
            (USELESS, replace(WHY, message_en="It is no efficacy.")),
        )
    ]
    lines = build_change(results, Votes(OxigraphStore.in_memory())).added
    quads += parse_n_quads("".join(lines).encode())
    with served(Path(tmp_path_factory.mktemp("quarantine")), quads) as running:
        yield running


@pytest.fixture(scope="module")
def curator(desks: FullDesks) -> Visitor:
    return desks.visitor("cura")


def test_quarantined_claim_shows_passage_and_reason(curator: Visitor) -> None:
    page = curator.get(f"{DESK}?lang=en")
    assert "What “has nature” points to is a nature." in page.body
    assert "<mark>味甘</mark>" in page.body
    assert "<b>能解百毒" not in page.body
    one = curator.get(f"{DESK}?relation=hasNature")
    assert "mung bean" in one.body
    assert "It is no efficacy." not in one.body.split("<article", 1)[1]
    assert "“性”应为四气。" in curator.get(f"{DESK}?lang=zh").body
    curator.get(f"{DESK}?lang=en")


def test_repaired_claim_becomes_candidate(desks: FullDesks, curator: Visitor) -> None:
    name = WRONG.iri.value.removeprefix(ID)
    form = curator.get(f"{EDIT}?claim={name}&do=mend&lang=en")
    assert TEXT[:4] in form.body
    page = curator.submit(form, EDIT, action="preview", relation="hasNature", object="nature-cool")
    assert page.status == 200, page.body[:2000]
    curator.submit(page, EDIT, action="save", reason="the flavour was taken for the nature")
    old = load_claim(desks.site.store, WRONG.iri.value)
    new = load_claim(desks.site.store, stored("hasNature", "nature-cool", "").iri.value)
    assert old is not None
    assert old.status == "retracted"
    assert new is not None  # it stood already as accepted in the kitchen: the evidence joins it
    assert new.status == "accepted"
    assert {evidence.quote for evidence in new.claim.evidence} == {"", "味甘"}
    assert name not in curator.get(DESK).body


def test_rejection_needs_reason_that_the_extractor_reads(
    desks: FullDesks, curator: Visitor
) -> None:
    page = curator.get(f"{DESK}?lang=en")
    chosen = {"claims": USELESS.iri.value}
    assert curator.submit(page, DESK, **chosen, reason=" ").status == 422
    done = curator.submit(page, DESK, **chosen, reason="A slogan is no efficacy.")
    assert "1 rejected" in done.body
    assert load_claim(desks.site.store, USELESS.iri.value).status == "rejected"  # type: ignore[union-attr] # it is there
    section = lessons_section(list_lessons(desks.site.store))
    assert "绿豆 hasEfficacy 失眠 in “能解百毒”: refused. A slogan is no efficacy." in section
    prompt = Prompt.named("extract-claims")
    text = prompt.fill(relations="", title="", passage="", lessons=section)
    assert "## Refused by curators" in text
    changes = desks.site.curation.writable_changes  # type: ignore[union-attr] # this base has desks
    changes.undo(changes.of(USELESS.iri.value)[-1].iri, "cura", "read again")
    assert lessons_section(list_lessons(desks.site.store)) == ""
    assert load_claim(desks.site.store, USELESS.iri.value).status == "quarantined"  # type: ignore[union-attr] # it is there


def test_a_reader_sees_the_desk_and_settles_nothing(desks: FullDesks) -> None:
    reader = desks.visitor("reader")
    page = reader.get(f"{DESK}?lang=en")
    assert page.status == 200
    assert 'value="reject"' not in page.body
    assert reader.submit(page, DESK, claim="claim/x", reason="no").status == 403
