"""Things checked against one another: by function, as JSON, as a page, by command."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.answering.pipeline import AskRequest, ask
from shiyi.answering.runtime import Runtime
from shiyi.answering.sections.cabinet import MOST, NONE, CombinationReport, check_things
from shiyi.cli import main
from shiyi.errors import UsageError
from shiyi.model.profile import Profile
from shiyi.server.app import create_app
from shiyi.settings import Settings
from tests.tables import from_table

FIFTEEN = (
    "warfarin", "aspirin", "metformin", "fish oil", "ginkgo", "garlic", "turmeric", "vitamin D",
    "zinc", "St John's wort", "sertraline", "simvastatin", "grapefruit", "green tea", "liquorice",
)  # fmt: skip


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    app = create_app(starter_kb, Settings())
    yield app.test_client()
    app.extensions["shiyi"].close()


def checked(runtime: Runtime, *things: str, **profile: object) -> CombinationReport:
    return check_things(runtime, things, Profile.from_json(profile), "en")


def severity(found: CombinationReport, one: str, other: str) -> str:
    pair = found.between(one, other)
    assert pair is not None
    return pair.severity


@from_table
def test_severity_is_that_of_the_sources(
    runtime: Runtime, one: str, other: str, expected: str
) -> None:
    assert severity(checked(runtime, one, other), one, other) == expected
    assert severity(checked(runtime, other, one), one, other) == expected


def test_gravest_pairs_come_first_with_claims(runtime: Runtime) -> None:
    pairs = checked(runtime, "vitamin D", "warfarin", "zinc", "ginkgo").pairs
    assert (pairs[0].a, pairs[0].b) == ("warfarin", "ginkgo")
    assert pairs[0].reasons[0].claims
    assert "monitor INR" in pairs[0].reasons[0].text  # what to do, as the source states it
    assert pairs[-1].severity == NONE
    assert "does not mean no risk" in pairs[-1].reasons[0].text


def test_effects_of_medicines_add_up_beside_recorded_pair(runtime: Runtime) -> None:
    report = checked(runtime, "warfarin", "aspirin", "vitamin D")
    assert severity(report, "warfarin", "aspirin") == "major"
    assert {effect.things for effect in report.effects} == {("warfarin", "aspirin")}
    assert all(effect.claims for effect in report.effects)
    assert all("arfarin and aspirin" in effect.text for effect in report.effects)


def test_ingredients_of_a_dish_are_checked_and_counted(runtime: Runtime) -> None:
    report = check_things(runtime, ("黄芪炖鸡", "华法林", "生姜"), Profile(), "zh")
    assert [concept.label for concept in report.things[0].ingredients] == [
        "黄芪",
        "生姜",
        "大枣",
        "鸡肉",
    ]
    pair = report.between("华法林", "黄芪炖鸡")
    assert pair is not None
    assert "含黄芪" in pair.reasons[0].text
    assert [(duplicate.ingredient.label, duplicate.things) for duplicate in report.duplicates] == [
        ("生姜", ("黄芪炖鸡", "生姜"))
    ]


def test_one_thing_under_two_names_is_taken_twice(runtime: Runtime) -> None:
    report = checked(runtime, "Tylenol", "paracetamol")
    assert [duplicate.things for duplicate in report.duplicates] == [("Tylenol", "paracetamol")]
    assert "twice" in report.pairs[0].reasons[-1].text


@from_table
def test_medicines_of_one_ingredient_take_it_twice(
    runtime: Runtime, things: tuple[str, str], text: str
) -> None:
    language = "en" if things[0].isascii() else "zh"
    report = check_things(runtime, things, Profile(), language)
    assert any(text in reason.text for reason in report.pairs[0].reasons)
    assert things in {duplicate.things for duplicate in report.duplicates}
    mark = "和{}能一起吃吗？" if language == "zh" else " with {}: can I take both?"
    answer = ask(runtime, AskRequest(things[0] + mark.format(things[1])))
    assert any(text in warning.text for warning in answer.warnings)
    assert text in answer.text
    alone = ask(runtime, AskRequest(things[0] + mark.format("warfarin")))
    assert text not in alone.text


def test_misspelt_medicine_is_asked_back_and_not_checked(runtime: Runtime) -> None:
    report = checked(runtime, "wafarin", "ginkgo", "fish oil")
    wrong = report.things[0]
    assert wrong.to_json()["iri"] is None
    assert wrong.suggestions[0].label == "warfarin"
    assert all("wafarin" not in (pair.a, pair.b) for pair in report.pairs)


def test_profile_adds_conditions(runtime: Runtime) -> None:
    alone = checked(runtime, "ginkgo", "vitamin D")
    names = [concept.label for concept in alone.things[0].meanings]
    assert names == ["Ginkgo biloba leaf extract", "ginkgo seed"]  # the supplement first
    report = checked(runtime, "ginkgo", "vitamin D", pregnant=True)
    added = {concern.condition.label for concern in report.conditions} - {
        concern.condition.label for concern in alone.conditions
    }
    assert added == {"pregnant women"}


@pytest.mark.parametrize("things", [("warfarin",), ("warfarin", " warfarin "), ["x"] * 2])
def test_two_different_things_are_needed(runtime: Runtime, things: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="2 to 20"):
        checked(runtime, *things)


def test_too_many_things_are_refused(runtime: Runtime) -> None:
    with pytest.raises(UsageError, match="2 to 20"):
        checked(runtime, *(f"thing {n}" for n in range(MOST + 1)))


def test_fifteen_things_take_less_than_the_limit(runtime: Runtime) -> None:
    checked(runtime, *FIFTEEN)
    began = time.perf_counter()
    report = checked(runtime, *FIFTEEN)
    assert time.perf_counter() - began < 0.3
    assert len(report.pairs) == 105


def test_check_is_served_as_json(client: FlaskClient) -> None:
    values = client.post("/api/check", json={"things": ["warfarin", "ginkgo"]}).get_json()
    assert [value["text"] for value in values["things"]] == ["warfarin", "ginkgo"]
    assert values["pairs"][0]["severity"] == "major"
    assert client.post("/api/check", json={"things": ["warfarin"]}).status_code == 400
    assert client.post("/api/check", json={"things": ["a"] * 21}).status_code == 400


def test_page_shows_a_matrix_and_links_to_claims(client: FlaskClient) -> None:
    page = client.post(
        "/check?lang=en", data={"things": "warfarin\nginkgo\nzinc\nwafarin", "pregnant": "true"}
    )
    assert page.status_code == 200
    assert page.headers["Cache-Control"] == "no-store"
    assert page.text.count('class="cell sev-') == 3
    assert 'class="cell sev-major"' in page.text
    assert 'class="cell sev-none_on_record"' in page.text
    assert "/page/claim/" in page.text
    assert 'value="wafarin&#9;warfarin"' in page.text
    swapped = client.post(
        "/check?lang=en", data={"things": "wafarin\nginkgo", "replace": "wafarin\twarfarin"}
    )
    assert 'class="cell sev-major"' in swapped.text


def test_page_names_a_fault_beside_the_form(client: FlaskClient) -> None:
    page = client.post("/check?lang=en", data={"things": "warfarin"})
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert ">warfarin</textarea>" in page.text


def test_command_checks_things(starter_kb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--kb", str(starter_kb), "check"]
    assert main([*place, "warfarin", "ginkgo"]) == 0
    assert "major (+): warfarin × ginkgo" in capsys.readouterr().out
    assert main([*place, "wafarin", "ginkgo", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["things"][0]["suggestions"]
