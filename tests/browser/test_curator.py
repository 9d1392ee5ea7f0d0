"""An expert with a browser: sign in, review by keyboard, see the answer change, take it back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.model.iris import ID, resource
from tests.support import bases
from tests.support.bases import SWEETNESS
from tests.support.places import DATA
from tests.support.processes import chromium, running
from tests.support.sites import PASSWORD, Desks, FullDesks, open_desks, served
from tests.support.sites import PASSWORD as DESK_PASSWORD

AXE = DATA / "vendor" / "axe.min.js"
PAGES = ("queue", "history", "progress", "people", "audit", "account")

pytestmark = pytest.mark.browser
selenium = pytest.importorskip("selenium", reason="selenium is not installed")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("browser")) as opened_desks:
        yield opened_desks


@pytest.fixture(scope="module")
def address(desks: Desks) -> Iterator[str]:
    with running(desks.app) as result:
        yield result


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium() as made:
        made.implicitly_wait(10)
        yield made


@pytest.fixture
def signed_in(driver: Any, address: str) -> Any:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(f"{address}/curate/queue?lang=en&view=all&relation=hasFlavour")
    if "sign-in" in driver.current_url:
        driver.find_element(By.NAME, "name").send_keys("administrator")
        driver.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
        driver.find_element(By.CSS_SELECTOR, ".desks")
    return driver


def answer(driver: Any, address: str) -> str:
    from selenium.webdriver.common.by import By

    driver.get(f"{address}/ask?q=What+is+the+flavour+of+goji%3F&lang=en")
    return str(driver.find_element(By.TAG_NAME, "main").text)


def press(driver: Any, key: str) -> None:
    from selenium.webdriver.common.by import By

    driver.find_element(By.TAG_NAME, "body").send_keys(key)


def test_keyboard_review_changes_answer_and_z_undoes(signed_in: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver = signed_in
    assert "sweet" in answer(driver, address)
    driver.get(f"{address}/curate/queue?view=all&relation=hasFlavour")
    press(driver, "j")
    assert "goji" in driver.find_element(By.CSS_SELECTOR, "[data-row].here .say").text
    press(driver, "r")
    driver.find_element(By.XPATH, "//*[@class='done'][contains(., 'Reject')]//button")
    assert "sweet" not in answer(driver, address)
    driver.get(f"{address}/curate/history")
    driver.find_element(By.CSS_SELECTOR, ".events form button").click()
    assert "undone" in driver.find_element(By.CSS_SELECTOR, ".done").text
    assert "sweet" in answer(driver, address)


def test_z_takes_the_last_decision_back(signed_in: Any, address: str, desks: Desks) -> None:
    from selenium.webdriver.common.by import By

    driver = signed_in
    driver.get(f"{address}/curate/claim?claim={SWEETNESS.iri.value}")
    press(driver, "u")
    driver.find_element(By.CSS_SELECTOR, "form.done")
    press(driver, "z")
    assert "undone" in driver.find_element(By.CSS_SELECTOR, "p.done").text
    assert desks.curation.writable_changes.latest(1)[0].kind == "undo"


def test_typing_a_reason_decides_nothing(signed_in: Any, address: str, desks: Desks) -> None:
    from selenium.webdriver.common.by import By

    before = desks.curation.writable_changes.last
    signed_in.get(f"{address}/curate/claim?claim={SWEETNESS.iri.value}")
    signed_in.find_element(By.NAME, "reason").send_keys("aruszn")
    assert signed_in.find_element(By.NAME, "reason").get_attribute("value") == "aruszn"
    assert desks.curation.writable_changes.last == before


@pytest.mark.parametrize("width", [1280, 375])
def test_the_desks_are_within_reach_for_all(signed_in: Any, address: str, width: int) -> None:
    driver = signed_in
    driver.set_window_size(width, 900)
    pages = [*PAGES, f"claim?claim={SWEETNESS.iri.value}", f"thing?iri={SWEETNESS.iri.value}"]
    for page in pages:
        driver.get(f"{address}/curate/{page}")
        driver.execute_script(AXE.read_text("utf-8"))
        found = driver.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        assert [
            f"{item['id']}: {item['nodes'][0]['html'][:150]}" for item in found["violations"]
        ] == [], page
        wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 1, page
        assert [e["message"] for e in driver.get_log("browser") if e["level"] == "SEVERE"] == []


CLAIM = bases.kitchen_claim(
    "dish-ginger", "preparedBy", resource("method-decoction-tea"), bases.DIET
)
EDITOR = f"/curate/edit?claim={CLAIM.iri.value.removeprefix(ID)}&lang=en"
DESK_PAGES = (
    EDITOR, "/curate/quarantine", "/curate/mappings", "/curate/vocabulary?class=Dish",
    "/curate/vocabulary/concept?id=drug-warfarin", "/curate/proposals", "/curate/feedback",
    f"/curate/report?about={CLAIM.iri.value.removeprefix(ID)}",
)  # fmt: skip


@pytest.fixture(scope="module")
def full_desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    with served(Path(tmp_path_factory.mktemp("browser"))) as running:
        yield running


@pytest.fixture(scope="module")
def desk_driver(full_desks: FullDesks) -> Iterator[Any]:
    from selenium.webdriver.common.by import By

    with chromium() as made:
        made.get(f"{full_desks.address}/curate/sign-in?next=/curate/account&lang=en")
        made.find_element(By.NAME, "name").send_keys("cura")
        field = made.find_element(By.NAME, "password")
        field.send_keys(DESK_PASSWORD)
        field.submit()
        made.implicitly_wait(10)
        made.find_element(By.CLASS_NAME, "desks")
        yield made


def test_shapes_speak_while_one_types_and_keyboard_saves(
    desk_driver: Any, full_desks: FullDesks
) -> None:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    desk_driver.get(full_desks.address + EDITOR)
    desk_driver.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    dose = desk_driver.find_element(By.ID, "e0-dose")
    dose.send_keys("much")
    fault = desk_driver.find_element(By.CSS_SELECTOR, '[data-fault-of="e0-dose"]')
    WebDriverWait(desk_driver, 20).until(lambda _: fault.is_displayed())
    assert "A dose has a number and a unit." in fault.text
    assert "DoseShape" in fault.text
    assert dose.get_attribute("aria-invalid") == "true"
    dose.clear()
    dose.send_keys("3 g")
    WebDriverWait(desk_driver, 20).until(lambda _: not fault.is_displayed())
    desk_driver.find_element(By.CSS_SELECTOR, 'button[value="preview"]').send_keys(Keys.ENTER)
    reason = desk_driver.find_element(By.NAME, "reason")
    assert "Effects of saving" in desk_driver.find_element(By.TAG_NAME, "main").text
    reason.send_keys("The book gives it.")
    desk_driver.find_element(By.CSS_SELECTOR, 'button[value="save"]').send_keys(Keys.ENTER)
    stale = [StaleElementReferenceException]  # the page before has such a line as well
    WebDriverWait(desk_driver, 20, ignored_exceptions=stale).until(
        lambda item: "Saved as change" in item.find_element(By.CLASS_NAME, "done").text
    )


def test_completion_puts_one_identifier_into_the_field(
    desk_driver: Any, full_desks: FullDesks
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    desk_driver.get(full_desks.address + EDITOR)
    field = desk_driver.find_element(By.ID, "subject")
    field.clear()
    field.send_keys("mung bean s")
    desk_driver.find_element(By.CSS_SELECTOR, "#suggest-subject li")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert field.get_attribute("value") == "dish-mung"


@pytest.mark.parametrize("width", [360, 1440])
def test_every_desk_fits_screen_and_is_accessible(
    desk_driver: Any, full_desks: FullDesks, width: int
) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    desk_driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for path in DESK_PAGES:
        desk_driver.get(full_desks.address + path)
        wide = desk_driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
        desk_driver.execute_script(AXE.read_text("utf-8"))
        found = desk_driver.execute_async_script(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']}).then(arguments[0])"
        )
        listed = [(item["id"], item["nodes"][0]["html"][:120]) for item in found["violations"]]
        assert listed == [], path
    desk_driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
