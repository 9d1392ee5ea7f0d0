"""The vocabulary desk: concepts are repaired, merged, split and retired; terms are proposed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.curation.editing.claims import load_claim
from shiyi.curation.vocabulary.concepts import load_concept
from shiyi.curation.vocabulary.proposals import proposals
from shiyi.model.iris import ID, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDFS, SHIYI, SKOS
from tests.support import bases
from tests.support.sites import FullDesks, Visitor, csrf_in, fields_in, served

DESK, CONCEPT, MOVE = "/curate/vocabulary", "/curate/vocabulary/concept", "/curate/vocabulary/move"
PROPOSE, SETTLE = "/curate/proposals", "/curate/proposals/settle"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    with served(Path(tmp_path_factory.mktemp("vocabulary"))) as running:
        yield running


@pytest.fixture(scope="module")
def curator(desks: FullDesks) -> Visitor:
    visitor = desks.visitor("cura")
    visitor.get(f"{DESK}?lang=en")
    return visitor


def labels(desks: FullDesks, name: str) -> set[str]:
    quads = desks.site.store.match(resource(name), SKOS.altLabel, None, DefaultGraph())
    return {text(quad.object) for quad in quads}


def status(desks: FullDesks, *message: str) -> str:
    claim = load_claim(
        desks.site.store,
        bases.kitchen_claim(message[0], message[1], resource(message[2])).iri.value,
    )
    return claim.status if claim else "nothing"


def test_concepts_are_found_by_word_and_by_class(curator: Visitor) -> None:
    assert "substance-goji" in curator.get(f"{DESK}?q=goji").body
    assert "mung bean soup" in curator.get(f"{DESK}?class=Dish").body
    assert "词表" in curator.get(f"{DESK}?lang=zh").body
    curator.get(f"{DESK}?lang=en")


def test_concept_edit_is_one_reversible_change(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=drug-warfarin")
    saved = curator.submit(
        page,
        CONCEPT,
        alt_en="Coumadin\nMarevan",
        definition_en="A vitamin K antagonist.",
        scope_en="The medicine.",
        broader="anticoagulants",
        reason="asked for by pharmacists",
    )
    assert "Saved as change" in saved.body, saved.body[:1500]
    entry = load_concept(desks.site.store, f"{ID}drug-warfarin")
    assert entry is not None
    assert (entry.alt_en, entry.broader) == (("Coumadin", "Marevan"), ("drug-anticoagulants",))
    assert (entry.definition_en, entry.scope_en) == ("A vitamin K antagonist.", "The medicine.")
    assert "Coumadin" in curator.get("/page/drug-warfarin").body
    changes = desks.site.curation.writable_changes  # type: ignore[union-attr] # this base has desks
    changes.undo(changes.latest(1)[0].iri, "cura", "tried")
    assert labels(desks, "drug-warfarin") == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"en": ""}, "needs a preferred label"),
        ({"zh": "二甲双胍"}, "is the preferred label of drug-metformin"),
        ({"broader": "drug-warfarin"}, "stands below it"),
        ({"broader": "symptom-thirst"}, "No concept of this kind"),
        ({"alt_en": "x" * 1001}, "too long"),
    ],
)
def test_a_faulty_concept_is_refused_by_field(
    desks: FullDesks, curator: Visitor, change: dict[str, str], message: str
) -> None:
    before = desks.changes()
    page = curator.get(f"{CONCEPT}?id=drug-warfarin")
    refused = curator.submit(page, CONCEPT, **change)
    assert refused.status == 422
    assert message in refused.body
    assert f'href="#{next(iter(change))}"' in refused.body
    assert desks.changes() == before


def test_hostile_label_stored_as_text_and_shown_escaped(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=substance-peanut")
    saved = curator.submit(page, CONCEPT, alt_en=HOSTILE, reason="a test")
    assert saved.status == 200
    assert HOSTILE in labels(desks, "substance-peanut")
    for path in (f"{CONCEPT}?id=substance-peanut", "/page/substance-peanut"):
        assert HOSTILE not in curator.get(path).body


def test_stale_concept_is_refused_and_form_shown(desks: FullDesks, curator: Visitor) -> None:
    second = desks.visitor("second")
    second.get(f"{DESK}?lang=en")
    page, theirs = (v.get(f"{CONCEPT}?id=dish-mung") for v in (curator, second))
    assert second.submit(theirs, CONCEPT, definition_en="Theirs.").status == 200
    refused = curator.submit(page, CONCEPT, definition_en="Mine.")
    assert refused.status == 409
    assert "<b>second</b>" in refused.body  # who was faster, and with what
    assert "Theirs." in refused.body
    assert "Mine." in refused.body
    assert curator.submit(refused, CONCEPT).status == 200


def test_a_new_concept_joins_its_class(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?class=Symptom")
    form = {"id": "symptom-dry-mouth", "zh": "口干", "en": "dry mouth", "tcm_only": ""}
    assert curator.submit(page, CONCEPT, **form, reason="missing").status == 200
    assert "dry mouth" in curator.get("/page/symptom-dry-mouth").body
    again = curator.submit(page, CONCEPT, **form, key="other")
    assert "used before" in again.body


def test_merge_moves_claims_and_redirects(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=nature-cool")
    done = curator.submit(page, MOVE, target="nature-cold", reason="one nature", action="merge")
    assert "Saved as change" in done.body, done.body[:1200]
    assert status(desks, "substance-mung", "hasNature", "nature-cool") == "retracted"
    claim = load_claim(
        desks.site.store,
        bases.kitchen_claim("substance-mung", "hasNature", resource("nature-cold")).iri.value,
    )
    assert claim is not None
    assert {evidence.source.id for evidence in claim.claim.evidence} == {"book", "diet"}
    assert {"凉", "cool"} <= labels(desks, "nature-cold")
    for path, end in (
        ("/page/nature-cool", "/page/nature-cold"),
        ("/id/nature-cool", "/page/nature-cold"),
    ):
        moved = curator.get(path)
        assert moved.address.endswith(end)
    assert curator.get("/data/nature-cool.ttl", "text/turtle").address.endswith("nature-cold.ttl")
    changes = desks.site.curation.writable_changes  # type: ignore[union-attr] # this base has desks
    changes.undo(changes.latest(1)[0].iri, "cura", "two natures after all")
    assert status(desks, "substance-mung", "hasNature", "nature-cool") == "accepted"
    assert load_concept(desks.site.store, f"{ID}nature-cool") is not None


def test_a_stale_merge_is_refused_beside_its_form(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=nature-hot")
    second = desks.visitor("second")
    theirs = second.get(f"{CONCEPT}?id=nature-hot")
    assert second.submit(theirs, CONCEPT, definition_en="Hot.").status == 200
    values = {"target": "nature-warm", "reason": "a slip of mine", "action": "merge"}
    version = fields_in(page.body, CONCEPT)["version"]
    refused = curator.submit(page, MOVE, **values, form="merge", version=version)
    assert refused.status == 409
    assert "somebody changed this" in refused.body
    assert 'value="a slip of mine"' in refused.body


def test_things_of_different_kinds_are_not_merged(curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=nature-warm")
    values = {"target": "drug-metformin", "reason": "not so", "action": "merge", "form": "merge"}
    refused = curator.submit(page, MOVE, **values)
    assert refused.status == 422
    assert "only concepts of one kind are merged" in refused.body  # beside the form
    assert 'value="drug-metformin"' in refused.body


def test_a_split_takes_chosen_claims_along(desks: FullDesks, curator: Visitor) -> None:
    claim = bases.kitchen_claim("symptom-stomach", "hasRedFlag", resource("symptom-black-stools"))
    page = curator.get(f"{CONCEPT}?id=symptom-stomach")
    form = {"action": "split", "form": "split", "zh": "胃痛", "en": "stomach pain"}
    form |= {"claims": claim.iri.value, "reason": "two things"}
    refused = curator.submit(page, MOVE, **form, new_id="food-stomach-pain")
    assert refused.status == 422
    assert f'value="{claim.iri.value}" checked' in refused.body  # what was typed stays
    assert all(f'value="{form[name]}"' in refused.body for name in ("zh", "en", "reason"))
    done = curator.submit(page, MOVE, **form, new_id="symptom-stomach-pain")
    assert "Saved as change" in done.body, done.body[:1200]
    assert status(desks, "symptom-stomach", "hasRedFlag", "symptom-black-stools") == "retracted"
    assert status(desks, "symptom-stomach-pain", "hasRedFlag", "symptom-black-stools") == "accepted"
    assert status(desks, "syndrome-cold", "hasManifestation", "symptom-stomach") == "accepted"


def test_only_concept_without_claims_is_undone(curator: Visitor) -> None:
    page = curator.get(f"{CONCEPT}?id=substance-goji")
    refused = curator.submit(page, MOVE, action="deprecate", target="", reason="x")
    assert refused.status == 422
    assert "merge it into another" in refused.body
    page = curator.get(f"{CONCEPT}?id=drug-metformin")
    curator.submit(page, MOVE, action="deprecate", target="", reason="Entered by mistake.")
    gone = curator.get("/page/drug-metformin")
    assert gone.status == 410
    assert "Entered by mistake." in gone.body
    assert curator.get("/data/drug-metformin.ttl", "text/turtle").status == 410


RELATION = """shiyi:pairsWith a owl:ObjectProperty ;
  rdfs:label "pairs with"@en , "同食"@zh ; rdfs:domain shiyi:Food ; rdfs:range shiyi:Food ;
  skos:definition "Eaten \\"together\\"."@en , "常同食。"@zh ; dcterms:source "Shiyi" .
"""
SHAPE = """shiyi:DishPreparedByShape a sh:NodeShape ; sh:targetClass shiyi:Dish ; sh:property [
  sh:path shiyi:preparedBy ; sh:minCount 1 ; sh:severity sh:Warning ;
  sh:message "A dish says how it is made."@en , "药膳应有制法。"@zh ] .
"""
WRONG_TURTLE = (
    (RELATION.replace("pairsWith", "hasNature"), "The vocabulary has hasNature already."),
    (RELATION.replace('@zh ; rdfs:domain', '@en ; rdfs:domain'), "label is missing"),
    (RELATION + SHAPE, "exactly one"), ("shiyi:x a", "no valid Turtle"),
    (SHAPE.replace("sh:minCount 1", 'sh:pattern "("'), "regular expression"),
    (SHAPE.replace("shiyi:Dish ;", "shiyi:Cake ;"), "There is no class"),
)  # fmt: skip


def test_relation_proposed_by_one_and_approved_by_another(desks: FullDesks) -> None:
    contributor, chief = desks.visitor("cont"), desks.visitor("chief")
    page = contributor.get(f"{PROPOSE}?lang=en")
    form = {
        "csrf": csrf_in(page.body),
        "form": "propose",
        "turtle": RELATION,
        "reason": "often asked",
    }
    for wrong, fault in WRONG_TURTLE:
        refused = contributor.post(PROPOSE, form | {"turtle": wrong})
        assert (refused.status, fault in refused.body) == (422, True), fault
    assert "Proposed as change" in contributor.post(PROPOSE, form).body
    [proposal] = [each for each in proposals(desks.site.store) if each.is_open]
    settle = {"proposal": proposal.iri.removeprefix(ID), "action": "approve", "reason": "good"}
    token = csrf_in(contributor.get(PROPOSE).body)
    assert contributor.post(SETTLE, settle | {"csrf": token}).status == 403
    token = csrf_in(chief.get(f"{PROPOSE}?lang=en").body)
    assert "Saved as change" in chief.post(SETTLE, settle | {"csrf": token}).body
    result = desks.site.store.match(
        NamedNode(f"{VOCAB}pairsWith"), RDFS.label, None, DefaultGraph()
    )
    assert {text(quad.object) for quad in result} == {"pairs with", "同食"}


def test_who_proposes_a_shape_does_not_approve_it(desks: FullDesks) -> None:
    chief = desks.visitor("chief")
    token = csrf_in(chief.get(f"{PROPOSE}?lang=en").body)
    form = {"csrf": token, "turtle": SHAPE, "reason": "cooks ask"}
    assert chief.post(PROPOSE, form).status == 200
    [proposal] = [each for each in proposals(desks.site.store) if each.is_open]
    assert "sh:minCount 1" in proposal.turtle
    settle = {"csrf": token, "proposal": proposal.iri.removeprefix(ID), "action": "approve"}
    assert chief.post(SETTLE, settle).status == 403
    assert chief.post(SETTLE, settle | {"action": "decline", "reason": "not yet"}).status == 200
    assert [*desks.site.store.match(NamedNode(proposal.iri), SHIYI.status, SHIYI.rejected)]
