"""The claim editor in a real browser: checked while one types, saved by keyboard, fit for phones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.model.names import ID, resource
from tests import kitchen
from tests.browsing import chromium
from tests.desk_site import PASSWORD, Desks, served

AXE = Path(__file__).parent / "data" / "vendor" / "axe.min.js"
CLAIM = kitchen.claim("dish-ginger", "preparedBy", resource("method-decoction-tea"), kitchen.DIET)
EDITOR = f"/curate/edit?claim={CLAIM.iri.value.removeprefix(ID)}&lang=en"
PAGES = (
    EDITOR, "/curate/quarantine", "/curate/mappings", "/curate/vocabulary?class=Dish",
    "/curate/vocabulary/concept?id=drug-warfarin", "/curate/proposals", "/curate/feedback",
    f"/curate/report?about={CLAIM.iri.value.removeprefix(ID)}",
)  # fmt: skip

pytestmark = pytest.mark.browser
selenium = pytest.importorskip("selenium", reason="selenium is not installed")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with served(Path(tmp_path_factory.mktemp("browser"))) as running:
        yield running


@pytest.fixture(scope="module")
def driver(desks: Desks) -> Iterator[Any]:
    from selenium.webdriver.common.by import By

    with chromium() as made:
        made.get(f"{desks.address}/curate/sign-in?next=/curate/account&lang=en")
        made.find_element(By.NAME, "name").send_keys("cura")
        field = made.find_element(By.NAME, "password")
        field.send_keys(PASSWORD)
        field.submit()
        made.implicitly_wait(10)
        made.find_element(By.CLASS_NAME, "desks")
        yield made


def test_the_shapes_speak_while_one_types_and_the_keyboard_saves(driver: Any, desks: Desks) -> None:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(desks.address + EDITOR)
    driver.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    dose = driver.find_element(By.ID, "e0-dose")
    dose.send_keys("much")
    fault = driver.find_element(By.CSS_SELECTOR, '[data-fault-of="e0-dose"]')
    WebDriverWait(driver, 20).until(lambda _: fault.is_displayed())
    assert "A dose has a number and a unit." in fault.text
    assert "DoseShape" in fault.text
    assert dose.get_attribute("aria-invalid") == "true"
    dose.clear()
    dose.send_keys("3 g")
    WebDriverWait(driver, 20).until(lambda _: not fault.is_displayed())
    driver.find_element(By.CSS_SELECTOR, 'button[value="preview"]').send_keys(Keys.ENTER)
    reason = driver.find_element(By.NAME, "reason")
    assert "What saving would change" in driver.find_element(By.TAG_NAME, "main").text
    reason.send_keys("The book gives it.")
    driver.find_element(By.CSS_SELECTOR, 'button[value="save"]').send_keys(Keys.ENTER)
    stale = [StaleElementReferenceException]  # the page before has such a line as well
    WebDriverWait(driver, 20, ignored_exceptions=stale).until(
        lambda made: "Saved as change" in made.find_element(By.CLASS_NAME, "done").text
    )


def test_completion_puts_one_identifier_into_the_field(driver: Any, desks: Desks) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(desks.address + EDITOR)
    field = driver.find_element(By.ID, "subject")
    field.clear()
    field.send_keys("mung bean s")
    driver.find_element(By.CSS_SELECTOR, "#suggest-subject li")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert field.get_attribute("value") == "dish-mung"


@pytest.mark.parametrize("width", [360, 1440])
def test_no_desk_is_wider_than_the_screen_or_breaks_a_rule_of_access(
    driver: Any, desks: Desks, width: int
) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for path in PAGES:
        driver.get(desks.address + path)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
        driver.execute_script(AXE.read_text("utf-8"))
        found = driver.execute_async_script(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']}).then(arguments[0])"
        )
        said = [(each["id"], each["nodes"][0]["html"][:120]) for each in found["violations"]]
        assert said == [], path
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
