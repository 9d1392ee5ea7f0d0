"""An expert with a browser: sign in, review by keyboard, see the answer change, take it back."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import chromium
from tests.curation_base import SWEETNESS
from tests.curation_site import PASSWORD, Desks, open_desks

AXE = Path(__file__).parent / "data" / "vendor" / "axe.min.js"
PAGES = ("queue", "history", "progress", "people", "audit", "account")

pytestmark = pytest.mark.browser
selenium = pytest.importorskip("selenium", reason="selenium is not installed")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(desks: Desks) -> Iterator[str]:
    from waitress.server import create_server

    server = create_server(desks.app, map={}, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium() as made:
        made.implicitly_wait(10)
        yield made


@pytest.fixture
def signed_in(driver: Any, address: str) -> Any:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(f"{address}/curate/queue?lang=en&whose=all&relation=hasFlavour")
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


def test_a_review_by_keyboard_changes_the_answer_and_z_takes_it_back(
    signed_in: Any, address: str
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver = signed_in
    assert "sweet" in answer(driver, address)
    driver.get(f"{address}/curate/queue?whose=all&relation=hasFlavour")
    press(driver, "j")
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert "goji" in driver.find_element(By.TAG_NAME, "h1").text
    press(driver, "r")
    assert "Rejected." in driver.find_element(By.CSS_SELECTOR, "form.done").text
    assert "sweet" not in answer(driver, address)
    driver.get(f"{address}/curate/history")
    driver.find_element(By.CSS_SELECTOR, ".events form button").click()
    assert "taken back" in driver.find_element(By.CSS_SELECTOR, ".done").text
    assert "sweet" in answer(driver, address)


def test_z_takes_the_last_decision_back(signed_in: Any, address: str, desks: Desks) -> None:
    from selenium.webdriver.common.by import By

    driver = signed_in
    driver.get(f"{address}/curate/claim?claim={SWEETNESS.iri.value}")
    press(driver, "u")
    driver.find_element(By.CSS_SELECTOR, "form.done")
    press(driver, "z")
    assert "taken back" in driver.find_element(By.CSS_SELECTOR, "p.done").text
    assert desks.curation.writing.latest(1)[0].kind == "undo"


def test_typing_a_reason_decides_nothing(signed_in: Any, address: str, desks: Desks) -> None:
    from selenium.webdriver.common.by import By

    before = desks.curation.writing.last
    signed_in.get(f"{address}/curate/claim?claim={SWEETNESS.iri.value}")
    signed_in.find_element(By.NAME, "reason").send_keys("aruszn")
    assert signed_in.find_element(By.NAME, "reason").get_attribute("value") == "aruszn"
    assert desks.curation.writing.last == before


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
            f"{each['id']}: {each['nodes'][0]['html'][:150]}" for each in found["violations"]
        ] == [], page
        wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 1, page
        assert [e["message"] for e in driver.get_log("browser") if e["level"] == "SEVERE"] == []
