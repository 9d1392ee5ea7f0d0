"""A real headless browser for the tests that look at pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--window-size=1280,900")  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """Open Chromium, whose console is kept; the test is skipped where there is none."""
    from selenium import webdriver

    browser, control = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or control is None:
        pytest.skip("no chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(control))
    try:
        yield made
    finally:
        made.quit()


def console(driver: Any) -> list[str]:
    """Give what the browser complained of since it was asked last."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
