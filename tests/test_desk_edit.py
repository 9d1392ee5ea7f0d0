"""The claim editor: made from the shapes, checked, previewed, saved as one reversible change."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.curation.editing_claims import stored_claim
from shiyi.model.claim import Claim, Polarity
from shiyi.model.names import ID, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, Quad, text
from shiyi.ontology.terms import PROV, RDF, SHIYI
from tests import kitchen
from tests.desk_site import Desks, Page, Visitor, served

HOSTILE = "<script>alert(1)</script>"
PASSAGE = resource("passage/p1")
TEXT = "生姜，味辛，性温。主治胃不适。"
EDIT = "/curate/edit"


def tail(claim: Claim) -> str:
    return claim.iri.value.removeprefix(ID)


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    place = graph("source", "book@1")
    extra = [
        Quad(PASSAGE, RDF.type, SHIYI.Passage, place),
        Quad(PASSAGE, RDF.value, Literal(TEXT, language="zh"), place),
        Quad(PASSAGE, PROV.wasDerivedFrom, kitchen.BOOK.iri, place),
    ]
    with served(Path(tmp_path_factory.mktemp("desk")), extra) as running:
        yield running


@pytest.fixture(scope="module")
def curator(desks: Desks) -> Visitor:
    return desks.visitor("cura")


def opened(visitor: Visitor, claim: Claim, does: str = "edit") -> Page:
    page = visitor.get(f"{EDIT}?claim={tail(claim)}&do={does}&lang=en")
    assert page.status == 200, page.body[:400]
    return page


def held(desks: Desks, claim: Claim) -> str:
    found = stored_claim(desks.site.store, claim.iri.value)
    return found.status if found else "nothing"


def test_the_form_has_the_fields_choices_and_words_of_the_shapes(curator: Visitor) -> None:
    page = opened(
        curator, kitchen.claim("dish-ginger", "preparedBy", resource("method-decoction-tea"))
    )
    assert 'data-kinds="Method"' in page.body
    assert "A dose has a number and a unit." in page.body
    assert '<option value="contraindicated"' in page.body
    assert 'min="0" max="1"' in page.body


def test_a_fault_names_its_field_and_its_shape_and_nothing_is_saved(
    desks: Desks, curator: Visitor
) -> None:
    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    before = desks.site.version()
    sent = curator.submit(
        opened(curator, claim), EDIT, action="save", object="drug-warfarin", reason="x",
        **{"e0-dose": "much"},
    )  # fmt: skip
    assert sent.status == 422
    assert "DietaryMaterialShape" in sent.body or "DoseShape" in sent.body
    assert 'href="#e0-dose"' in sent.body
    assert desks.site.version() == before


def test_what_the_shapes_alone_know_is_found_by_the_confined_check(curator: Visitor) -> None:
    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    sent = curator.submit(opened(curator, claim), EDIT, action="check", object="drug-warfarin")
    assert sent.status == 422
    assert "What “has nature” points to is a nature." in sent.body
    assert "<code>DietaryMaterialShape</code>" in sent.body


def test_a_draft_is_checked_while_it_is_filled_in(curator: Visitor) -> None:
    from tests.desk_site import fields_in

    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    form = fields_in(opened(curator, claim).body, EDIT) | {"e0-severity": "terrible"}
    said = json.loads(curator.post(f"{EDIT}/check", form).body)
    assert [(x["field"], x["shape"]) for x in said["faults"]] == [("e0-severity", "SeverityShape")]
    assert json.loads(curator.post(f"{EDIT}/check", form | {"e0-severity": ""}).body)["conforms"]


def test_an_edit_retracts_the_old_claim_which_then_points_to_the_new(
    desks: Desks, curator: Visitor
) -> None:
    old = kitchen.claim("dish-ginger", "suitableSeason", resource("season-summer"), kitchen.DIET)
    preview = curator.submit(
        opened(curator, old), EDIT, action="preview", object="花生百合粥", relation="hasIngredient"
    )
    assert preview.status == 422  # a dish is no ingredient
    preview = curator.submit(
        opened(curator, old), EDIT, action="preview", object="绿豆", relation="hasIngredient"
    )
    assert preview.status == 200, preview.body[:2000]
    assert "What saving would change" in preview.body
    saved = curator.submit(preview, EDIT, action="save", reason="the recipe says so")
    assert "Saved as change" in saved.body, saved.body[:1500]
    new = kitchen.claim("dish-ginger", "hasIngredient", resource("substance-mung"))
    assert (held(desks, old), held(desks, new)) == ("retracted", "accepted")
    page = curator.get(f"/page/{tail(old)}")
    assert page.address.endswith(f"/page/{tail(new)}")
    asserted = desks.site.store.match(old.subject, old.predicate, old.object, DefaultGraph())
    assert list(asserted) == []
    changes = desks.site.curation.writing  # type: ignore[union-attr] # this base has desks
    [change] = changes.of(new.iri.value)
    changes.undo(change.iri, "cura", "only tried")
    assert (held(desks, old), held(desks, new)) == ("accepted", "nothing")


def test_conditions_and_quotes_are_kept_and_a_quote_stands_in_its_passage(
    desks: Desks, curator: Visitor
) -> None:
    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    more = {
        "e1-source": "diet",
        "e1-quote": "性寒",
        "e1-passage": PASSAGE.value,
        "e1-checked": "source",
        "e1-dose": "3 g",
        "e1-population": "成人",
        "e1-duration": "7 天",
    }
    wrong = curator.submit(opened(curator, claim), EDIT, action="preview", **more)
    assert "must stand" in wrong.body
    assert "The quote does not stand in its passage" in wrong.body
    right = curator.submit(
        opened(curator, claim), EDIT, action="preview", **more | {"e1-quote": "性温"}
    )
    saved = curator.submit(right, EDIT, action="save", reason="read the book")
    assert "Saved as change" in saved.body
    found = stored_claim(desks.site.store, claim.iri.value)
    assert found is not None
    [added] = [each for each in found.claim.evidence if each.source.id == "diet"]
    assert dict(added.qualifiers) == {"dose": "3 g", "population": "成人", "duration": "7 天"}
    node = added.iri(claim.iri)
    starts = [text(q.object) for q in desks.site.store.match(node, SHIYI.quoteStart)]
    assert starts == [str(TEXT.index("性温"))]
    assert found.confidence > 0.9


def test_what_touches_safety_waits_for_a_second_reviewer(desks: Desks, curator: Visitor) -> None:
    old = kitchen.claim("substance-goji", "interactsWith", resource("drug-warfarin"), kitchen.CASE)
    page = curator.submit(opened(curator, old), EDIT, action="preview", object="drug-metformin")
    saved = curator.submit(page, EDIT, action="save", reason="the report speaks of it")
    assert "Proposed as change" in saved.body
    new = kitchen.claim("substance-goji", "interactsWith", resource("drug-metformin"))
    assert (held(desks, old), held(desks, new)) == ("accepted", "candidate")
    assert "A revision waits" in opened(curator, old).body


def test_a_contributor_proposes_and_a_reader_may_not(desks: Desks) -> None:
    claim = kitchen.claim("substance-mung", "hasNature", resource("nature-cool"), kitchen.DIET)
    contributor = desks.visitor("cont")
    page = contributor.submit(
        opened(contributor, claim), EDIT, action="preview", object="nature-cold"
    )
    assert page.status == 200
    assert "Save as a proposal" in page.body
    assert desks.visitor("reader").get(f"{EDIT}?claim={tail(claim)}").status == 403


def test_a_claim_is_split_turned_round_and_duplicated(desks: Desks, curator: Visitor) -> None:
    old = kitchen.claim("symptom-sleep", "warrantsCheckFor", resource("disease-anemia"))
    page = curator.submit(opened(curator, old, "duplicate"), EDIT, action="preview",
                          subject="symptom-stomach")  # fmt: skip
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="also there").body
    twin = kitchen.claim("symptom-stomach", "warrantsCheckFor", resource("disease-anemia"))
    assert (held(desks, old), held(desks, twin)) == ("accepted", "accepted")
    page = curator.submit(opened(curator, twin, "negate"), EDIT, action="preview")
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="it says not").body
    turned = kitchen.claim("symptom-stomach", "warrantsCheckFor", resource("disease-anemia"),
                           polarity=Polarity.NEGATIVE)  # fmt: skip
    assert (held(desks, twin), held(desks, turned)) == ("retracted", "accepted")
    both = kitchen.claim("syndrome-heat", "hasManifestation", resource("symptom-thirst"))
    split = {"object": "symptom-warmth", "b-object": "symptom-sleep"}
    page = curator.submit(opened(curator, both, "split"), EDIT, action="preview", **split)
    assert page.status == 200, page.body[:3000]
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="two signs").body
    for name in ("symptom-warmth", "symptom-sleep"):
        assert (
            held(desks, kitchen.claim("syndrome-heat", "hasManifestation", resource(name)))
            == "accepted"
        )
    choices = curator.get(f"/page/{tail(both)}")
    assert choices.status == 300
    assert choices.body.count("/page/claim/") >= 2


def test_a_stale_edit_is_refused_with_the_difference_and_keeps_what_was_typed(
    desks: Desks, curator: Visitor
) -> None:
    claim = kitchen.claim("syndrome-cold", "hasManifestation", resource("symptom-warmth"))
    second = desks.visitor("second")
    mine, theirs = opened(curator, claim), opened(second, claim)
    note = {"e0-note_en": "They wrote this."}
    page = second.submit(theirs, EDIT, action="preview", **note)
    assert "Saved" in second.submit(page, EDIT, action="save", reason="a note").body
    preview = curator.submit(mine, EDIT, action="preview", **{"e0-note_en": "I wrote this."})
    refused = curator.submit(preview, EDIT, action="save", reason="my note")
    assert refused.status == 409
    assert "They wrote this." in refused.body
    assert "second" in refused.body
    assert "I wrote this." in refused.body
    again = curator.submit(refused, EDIT, action="preview")
    assert "Saved" in curator.submit(again, EDIT, action="save", reason="seen, and mine").body


def test_a_second_press_of_save_is_one_change(desks: Desks, curator: Visitor) -> None:
    claim = kitchen.claim("dish-peanut", "hasIngredient", resource("substance-lily"))
    page = curator.submit(opened(curator, claim), EDIT, action="preview", object="substance-yam")
    curator.submit(page, EDIT, action="save", reason="once")
    before = desks.site.version()
    curator.submit(page, EDIT, action="save", reason="once")
    assert desks.site.version() == before


def test_a_hostile_text_comes_back_harmless(curator: Visitor) -> None:
    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    sent = curator.submit(
        opened(curator, claim), EDIT, action="check", object=HOSTILE, subject=HOSTILE,
        **{"e0-source": HOSTILE, "e0-passage": HOSTILE, "e0-quote": HOSTILE},
    )  # fmt: skip
    assert sent.status == 422
    assert HOSTILE not in sent.body


def test_the_editor_speaks_chinese(curator: Visitor) -> None:
    claim = kitchen.claim("substance-ginger", "hasNature", resource("nature-warm"))
    page = curator.get(f"{EDIT}?claim={tail(claim)}&lang=zh")
    assert "看看会改变什么" in page.body
    assert "剂量应有数值与单位。" in page.body
    curator.get(f"{EDIT}?claim={tail(claim)}&lang=en")


def test_an_accepted_revision_retires_its_forerunner_and_undoing_gives_it_back(
    desks: Desks, curator: Visitor
) -> None:
    from shiyi.curation.decisions import Decisions

    old = kitchen.claim("substance-lily", "cautionIn", resource("population-pregnant"))
    page = curator.submit(opened(curator, old), EDIT, action="preview", object="population-infant")
    curator.submit(page, EDIT, action="save", reason="the book says infants")
    new = kitchen.claim("substance-lily", "cautionIn", resource("population-infant"))
    decisions = Decisions(desks.site.curation.writing)  # type: ignore[union-attr] # it has desks
    decisions.review(new.iri.value, "accept", "cura")
    assert (held(desks, old), held(desks, new)) == ("accepted", "candidate")
    last = decisions.review(new.iri.value, "accept", "second")
    assert (held(desks, old), held(desks, new)) == ("retracted", "accepted")
    decisions.undo(last.iri, "second", "too soon")
    assert (held(desks, old), held(desks, new)) == ("accepted", "candidate")


def test_a_new_claim_is_made_step_by_step_without_a_script(desks: Desks, curator: Visitor) -> None:
    page = curator.get(f"{EDIT}?subject=substance-yam&lang=en")
    assert '<option value="hasNature"' in page.body
    page = curator.submit(page, EDIT, action="refresh", relation="hasFlavour")
    assert 'data-kinds="Flavour"' in page.body
    page = curator.submit(page, EDIT, action="refresh", relation="hasNature")
    evidence = {"e0-source": "book", "e0-checked": "source", "e0-locator": "p. 3"}
    page = curator.submit(page, EDIT, action="preview", object="nature-warm", **evidence)
    assert page.status == 200, page.body[:2000]
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="was missing").body
    assert (
        held(desks, kitchen.claim("substance-yam", "hasNature", resource("nature-warm")))
        == "accepted"
    )


def test_what_was_rejected_is_not_said_again_unseen(desks: Desks, curator: Visitor) -> None:
    from shiyi.curation.decisions import Decisions

    old = kitchen.claim("constitution-qi-deficiency", "suitableFood", resource("substance-yam"))
    decisions = Decisions(desks.site.curation.writing)  # type: ignore[union-attr] # it has desks
    decisions.review(old.iri.value, "reject", "cura", "no")
    other = kitchen.claim("constitution-yin-deficiency", "suitableFood", resource("substance-lily"))
    form = {"subject": "constitution-qi-deficiency", "object": "substance-yam"}
    page = curator.submit(opened(curator, other, "duplicate"), EDIT, action="preview", **form)
    assert page.status == 400
    assert "was rejected before" in page.body
