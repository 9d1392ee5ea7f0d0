"""The claim editor: made from the shapes, checked, previewed, saved as one reversible change."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.curation.editing.changes import ACCEPT, replace_claim
from shiyi.curation.editing.claims import StoredClaim, load_claim
from shiyi.model.claim import Claim, Polarity
from shiyi.model.iris import ID, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, Quad, text
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases
from tests.support.places import ROOT
from tests.support.sites import FullDesks, Page, Visitor, served

HOSTILE = "<script>alert(1)</script>"
PASSAGE = resource("passage/p1")
TEXT = "生姜，味辛，性温。主治胃不适。"
EDIT = "/curate/edit"


def tail(claim: Claim) -> str:
    return claim.iri.value.removeprefix(ID)


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    place = graph("source", "book@1")
    extra = [
        Quad(PASSAGE, RDF.type, SHIYI.Passage, place),
        Quad(PASSAGE, RDF.value, Literal(TEXT, language="zh"), place),
        Quad(PASSAGE, PROV.wasDerivedFrom, bases.KITCHEN_BOOK.iri, place),
    ]
    with served(Path(tmp_path_factory.mktemp("desk")), extra) as running:
        yield running


@pytest.fixture(scope="module")
def curator(desks: FullDesks) -> Visitor:
    return desks.visitor("cura")


def opened(visitor: Visitor, claim: Claim, does: str = "edit") -> Page:
    page = visitor.get(f"{EDIT}?claim={tail(claim)}&do={does}&lang=en")
    assert page.status == 200, page.body[:400]
    return page


def present(desks: FullDesks, claim: Claim) -> str:
    found = load_claim(desks.site.store, claim.iri.value)
    return found.status if found else "nothing"


def test_form_has_fields_choices_and_words_of_shapes(curator: Visitor) -> None:
    page = opened(
        curator, bases.kitchen_claim("dish-ginger", "preparedBy", resource("method-decoction-tea"))
    )
    assert 'data-kinds="Method"' in page.body
    assert "A dose has a number and a unit." in page.body
    assert '<option value="contraindicated"' in page.body
    assert 'min="0" max="1"' in page.body


def test_fault_names_field_and_shape_and_nothing_saved(desks: FullDesks, curator: Visitor) -> None:
    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    before = desks.changes()
    page = curator.submit(
        opened(curator, claim),
        EDIT,
        action="save",
        object="drug-warfarin",
        reason="x",
        **{"e0-dose": "much"},
    )
    assert page.status == 422
    assert "DietaryMaterialShape" in page.body or "DoseShape" in page.body
    assert 'href="#e0-dose"' in page.body
    assert desks.changes() == before


def test_what_shapes_alone_know_found_by_confined_check(curator: Visitor) -> None:
    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    page = curator.submit(opened(curator, claim), EDIT, action="check", object="drug-warfarin")
    assert page.status == 422
    assert "What “has nature” points to is a nature." in page.body
    assert "<code>DietaryMaterialShape</code>" in page.body


def test_draft_is_checked_while_it_is_filled_in(curator: Visitor) -> None:
    from tests.support.sites import fields_in

    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    form = fields_in(opened(curator, claim).body, EDIT) | {"e0-severity": "terrible"}
    reply = json.loads(curator.post(f"{EDIT}/check", form).body)
    assert [(x["field"], x["shape"]) for x in reply["faults"]] == [("e0-severity", "SeverityShape")]
    assert json.loads(curator.post(f"{EDIT}/check", form | {"e0-severity": ""}).body)["conforms"]


def test_edit_retracts_old_claim_with_link_to_new(desks: FullDesks, curator: Visitor) -> None:
    old = bases.kitchen_claim(
        "dish-ginger", "suitableSeason", resource("season-summer"), bases.DIET
    )
    preview = curator.submit(
        opened(curator, old), EDIT, action="preview", object="花生百合粥", relation="hasIngredient"
    )
    assert preview.status == 422  # a dish is no ingredient
    preview = curator.submit(
        opened(curator, old), EDIT, action="preview", object="绿豆", relation="hasIngredient"
    )
    assert preview.status == 200, preview.body[:2000]
    assert "Effects of saving" in preview.body
    saved = curator.submit(preview, EDIT, action="save", reason="the recipe says so")
    assert "Saved as change" in saved.body, saved.body[:1500]
    new = bases.kitchen_claim("dish-ginger", "hasIngredient", resource("substance-mung"))
    assert (present(desks, old), present(desks, new)) == ("retracted", "accepted")
    page = curator.get(f"/page/{tail(old)}")
    assert page.address.endswith(f"/page/{tail(new)}")
    quads = desks.site.store.match(old.subject, old.predicate, old.object, DefaultGraph())
    assert list(quads) == []
    changes = desks.site.curation.writable_changes  # type: ignore[union-attr] # this base has desks
    [change] = changes.of(new.iri.value)
    changes.undo(change.iri, "cura", "only tried")
    assert (present(desks, old), present(desks, new)) == ("accepted", "nothing")


def test_conditions_and_quotes_survive_edit(desks: FullDesks, curator: Visitor) -> None:
    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    more = {
        "e1-source": "diet",
        "e1-quote": "性寒",
        "e1-passage": PASSAGE.value,
        "e1-kind": "read",
        "e1-dose": "3 g",
        "e1-population": "成人",
        "e1-duration": "7 天",
    }
    wrong = curator.submit(opened(curator, claim), EDIT, action="preview", **more)
    assert "must occur" in wrong.body
    assert "The quote does not stand in its passage" in wrong.body
    right = curator.submit(
        opened(curator, claim), EDIT, action="preview", **more | {"e1-quote": "性温"}
    )
    saved = curator.submit(right, EDIT, action="save", reason="read the book")
    assert "Saved as change" in saved.body
    found = load_claim(desks.site.store, claim.iri.value)
    assert found is not None
    [evidence] = [each for each in found.claim.evidence if each.source.id == "diet"]
    assert dict(evidence.qualifiers) == {"dose": "3 g", "population": "成人", "duration": "7 天"}
    node = evidence.iri(claim.iri)
    starts = [text(q.object) for q in desks.site.store.match(node, SHIYI.quoteStart)]
    assert starts == [str(TEXT.index("性温"))]
    assert found.confidence > 0.9


def test_what_touches_safety_waits_for_a_second_reviewer(
    desks: FullDesks, curator: Visitor
) -> None:
    old = bases.kitchen_claim(
        "substance-goji", "interactsWith", resource("drug-warfarin"), bases.CASE
    )
    page = curator.submit(opened(curator, old), EDIT, action="preview", object="drug-metformin")
    saved = curator.submit(page, EDIT, action="save", reason="the report speaks of it")
    assert "Proposed as change" in saved.body
    new = bases.kitchen_claim("substance-goji", "interactsWith", resource("drug-metformin"))
    assert (present(desks, old), present(desks, new)) == ("accepted", "candidate")
    assert "A revision waits" in opened(curator, old).body


def test_a_contributor_proposes_and_a_reader_may_not(desks: FullDesks) -> None:
    claim = bases.kitchen_claim("substance-mung", "hasNature", resource("nature-cool"), bases.DIET)
    contributor = desks.visitor("cont")
    page = contributor.submit(
        opened(contributor, claim), EDIT, action="preview", object="nature-cold"
    )
    assert page.status == 200
    assert "Save as a proposal" in page.body
    assert desks.visitor("reader").get(f"{EDIT}?claim={tail(claim)}").status == 403


def test_a_claim_is_split_turned_round_and_duplicated(desks: FullDesks, curator: Visitor) -> None:
    old = bases.kitchen_claim("symptom-sleep", "warrantsCheckFor", resource("disease-anemia"))
    page = curator.submit(
        opened(curator, old, "duplicate"), EDIT, action="preview", subject="symptom-stomach"
    )
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="also there").body
    twin = bases.kitchen_claim("symptom-stomach", "warrantsCheckFor", resource("disease-anemia"))
    assert (present(desks, old), present(desks, twin)) == ("accepted", "accepted")
    page = curator.submit(opened(curator, twin, "negate"), EDIT, action="preview")
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="it says not").body
    claim = bases.kitchen_claim(
        "symptom-stomach",
        "warrantsCheckFor",
        resource("disease-anemia"),
        polarity=Polarity.NEGATIVE,
    )
    assert (present(desks, twin), present(desks, claim)) == ("retracted", "accepted")
    both = bases.kitchen_claim("syndrome-heat", "hasManifestation", resource("symptom-thirst"))
    split = {"object": "symptom-warmth", "b-object": "symptom-sleep"}
    page = curator.submit(opened(curator, both, "split"), EDIT, action="preview", **split)
    assert page.status == 200, page.body[:3000]
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="two signs").body
    for name in ("symptom-warmth", "symptom-sleep"):
        assert (
            present(desks, bases.kitchen_claim("syndrome-heat", "hasManifestation", resource(name)))
            == "accepted"
        )
    choices = curator.get(f"/page/{tail(both)}")
    assert choices.status == 300
    assert choices.body.count("/page/claim/") >= 2


def test_stale_edit_is_refused_with_difference(desks: FullDesks, curator: Visitor) -> None:
    claim = bases.kitchen_claim("syndrome-cold", "hasManifestation", resource("symptom-warmth"))
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


def test_a_second_press_of_save_is_one_change(desks: FullDesks, curator: Visitor) -> None:
    claim = bases.kitchen_claim("dish-peanut", "hasIngredient", resource("substance-lily"))
    page = curator.submit(opened(curator, claim), EDIT, action="preview", object="substance-yam")
    curator.submit(page, EDIT, action="save", reason="once")
    before = desks.changes()
    curator.submit(page, EDIT, action="save", reason="once")
    assert desks.changes() == before


def test_a_hostile_text_comes_back_harmless(curator: Visitor) -> None:
    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    page = curator.submit(
        opened(curator, claim),
        EDIT,
        action="check",
        object=HOSTILE,
        subject=HOSTILE,
        **{"e0-source": HOSTILE, "e0-passage": HOSTILE, "e0-quote": HOSTILE},
    )
    assert page.status == 422
    assert HOSTILE not in page.body


def test_the_editor_speaks_chinese(curator: Visitor) -> None:
    claim = bases.kitchen_claim("substance-ginger", "hasNature", resource("nature-warm"))
    page = curator.get(f"{EDIT}?claim={tail(claim)}&lang=zh")
    assert "预览修改" in page.body
    assert "剂量应有数值与单位。" in page.body
    curator.get(f"{EDIT}?claim={tail(claim)}&lang=en")


def test_accepted_revision_retires_predecessor_until_undone(
    desks: FullDesks, curator: Visitor
) -> None:
    from shiyi.curation.reviews import Decisions, ReviewDecision

    old = bases.kitchen_claim("substance-lily", "cautionIn", resource("population-pregnant"))
    page = curator.submit(opened(curator, old), EDIT, action="preview", object="population-infant")
    curator.submit(page, EDIT, action="save", reason="the book says infants")
    new = bases.kitchen_claim("substance-lily", "cautionIn", resource("population-infant"))
    decisions = Decisions(desks.site.curation.writable_changes)  # type: ignore[union-attr] # it has desks
    decisions.review(new.iri.value, ReviewDecision("accept", "cura"))
    assert (present(desks, old), present(desks, new)) == ("accepted", "candidate")
    last = decisions.review(new.iri.value, ReviewDecision("accept", "second"))
    assert (present(desks, old), present(desks, new)) == ("retracted", "accepted")
    decisions.undo(last.iri, "second", "too soon")
    assert (present(desks, old), present(desks, new)) == ("accepted", "candidate")


def test_new_claim_made_step_by_step_without_script(desks: FullDesks, curator: Visitor) -> None:
    page = curator.get(f"{EDIT}?subject=substance-yam&lang=en")
    assert '<option value="hasNature"' in page.body
    page = curator.submit(page, EDIT, action="refresh", relation="hasFlavour")
    assert 'data-kinds="Flavour"' in page.body
    page = curator.submit(page, EDIT, action="refresh", relation="hasNature")
    evidence = {"e0-source": "book", "e0-kind": "read", "e0-locator": "p. 3"}
    page = curator.submit(page, EDIT, action="preview", object="nature-warm", **evidence)
    assert page.status == 200, page.body[:2000]
    assert "Saved" in curator.submit(page, EDIT, action="save", reason="was missing").body
    assert (
        present(desks, bases.kitchen_claim("substance-yam", "hasNature", resource("nature-warm")))
        == "accepted"
    )


def test_rejected_claims_are_marked_when_stated_again(desks: FullDesks, curator: Visitor) -> None:
    from shiyi.curation.reviews import Decisions, ReviewDecision

    old = bases.kitchen_claim(
        "constitution-qi-deficiency", "suitableFood", resource("substance-yam")
    )
    decisions = Decisions(desks.site.curation.writable_changes)  # type: ignore[union-attr] # it has desks
    decisions.review(old.iri.value, ReviewDecision("reject", "cura", "no"))
    other = bases.kitchen_claim(
        "constitution-yin-deficiency", "suitableFood", resource("substance-lily")
    )
    form = {"subject": "constitution-qi-deficiency", "object": "substance-yam"}
    page = curator.submit(opened(curator, other, "duplicate"), EDIT, action="preview", **form)
    assert page.status == 400
    assert "was rejected before" in page.body


SAVING = """
import sys
from pathlib import Path
from shiyi.curation.changes import Changes
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.server.curating.test_editor import edit_of, turned
with KnowledgeBase.open(Path(sys.argv[1]), write=True) as base:
    changes = Changes(base.writer)
    print("ready", flush=True)
    for at in range(10_000):
        changes.make(edit_of(base.store, at), "li")
        print(at, flush=True)
"""
ENDS = ("nature-cold", "nature-hot")


def turned(at: int) -> Claim:
    return bases.kitchen_claim("syndrome-cold", "hasThermalNature", resource(ENDS[at % 2]))


def edit_of(store: object, at: int) -> object:
    old = load_claim(store, turned(at).iri.value)  # type: ignore[arg-type] # a real store
    assert isinstance(old, StoredClaim), at
    evidence = old.claim.evidence
    new = Claim(old.claim.subject, old.claim.predicate, turned(at + 1).object, evidence)
    from shiyi.curation.changes import version_of

    seen = version_of(store, old.iri.value)  # type: ignore[arg-type] # a real store
    return replace_claim(store, old, [new], seen, ACCEPT)  # type: ignore[arg-type] # the same


def test_killed_save_leaves_old_or_new_claim(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    quads = list(bases.kitchen_quads())
    build_generation(kb, quads, {"quads": len(quads)})
    root = ROOT
    saved, seen = 0, set()
    for turn in range(3):
        start = SAVING.replace("range(10_000)", f"range({saved}, 10_000)")
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-c", start, str(kb)], cwd=root, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.04 + 0.05 * turn)
        process.kill()
        output = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        with KnowledgeBase.open(kb, write=True) as base:
            status = [_standing(base, at) for at in (0, 1)]
        assert sorted(status) in (["accepted", "retracted"], ["accepted", "nothing"]), status
        now = status.index("accepted")
        seen.add(now)
        least = int(output[-1]) + 1 if output else saved
        assert now in (least % 2, (least + 1) % 2)
        saved = least if least % 2 == now else least + 1  # what was reported saved, is saved
    assert saved > 2


def _standing(base: KnowledgeBase, at: int) -> str:
    claim = turned(at)
    stored = load_claim(base.store, claim.iri.value)
    triple = base.store.match(claim.subject, claim.predicate, claim.object, DefaultGraph())
    if stored is None:
        assert list(triple) == []
        return "nothing"
    assert (len(list(triple)) == 1) == (stored.status == "accepted")
    assert len(stored.claim.evidence) == 1
    return stored.status
