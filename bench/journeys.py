"""What six kinds of users do on the pages: clicks, keys and seconds of each job, in Chromium.

python bench/journeys.py http://127.0.0.1:8000 [--sign-in NAME PASSWORD]

A parent on a phone, somebody with six supplements, a student, a researcher, a curator (where an
account is given: one claim is reviewed and the review undone) and somebody with a screen reader,
who uses keys alone. Typing a text counts as one entry. Ends with 1 where a job does not succeed.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from web import browser, emulate_device


class Job:
    """One job in a browser; what a person does is counted."""

    def __init__(self, driver: Any, base: str, language: str, width: int = 1280) -> None:
        self.driver, self.base, self.language = driver, base, language
        self.clicks = self.entries = self.keys = 0
        emulate_device(driver, width, 1, -1)
        driver.delete_all_cookies()
        driver.implicitly_wait(20)
        self.open("/")
        driver.execute_script("localStorage.clear()")
        self.begun = time.perf_counter()

    def open(self, path: str) -> None:
        """Load a page, as a bookmark does."""
        mark = "&" if "?" in path else "?"
        self.driver.get(f"{self.base}{path}{mark}lang={self.language}")

    def find(self, selector: str) -> Any:
        """Return the first element that fits, once it is there."""
        return self.driver.find_element("css selector", selector)

    def click(self, selector: str) -> None:
        """Click the first element that fits, again where the page replaced it."""
        self.clicks += 1
        at_once = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})"
        for last in (False, False, True):
            try:
                element = self.find(selector)
                self.driver.execute_script(at_once, element)
                element.click()
                return
            except StaleElementReferenceException:
                if last:
                    raise

    def enter(self, selector: str, text: str) -> None:
        """Type a text into a field."""
        self.entries += 1
        self.find(selector).send_keys(text)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        self.keys += len(keys)
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, selector: str, most: int = 40) -> None:
        """Press Tab until an element that fits has the focus."""
        from selenium.webdriver.common.keys import Keys

        fits = "return document.activeElement.matches(arguments[0])"
        for _ in range(most):
            if self.driver.execute_script(fits, selector):
                return
            self.press(Keys.TAB)
        raise LookupError(f"{selector} is not reached with {most} keys")


def parent(job: Job) -> str:
    """Ask for a child of 6 with constipation who must not have peanuts, on a phone."""
    job.enter("#q", "孩子6岁便秘，吃什么好？花生过敏")
    job.click("form.ask-form button.primary")
    band = job.find(".verdict-band")
    return f"verdict ends at y={band.rect['y'] + band.rect['height']:.0f} of 844"


def cabinet(job: Job) -> str:
    """Check six supplements beside one another, and open the gravest pair."""
    job.click('a[href^="/check"]')
    for name in ("ginkgo", "fish oil", "turmeric", "St John's wort", "magnesium", "garlic"):
        job.enter("#thing", f"{name}\n")
    job.click(".cabinet .primary")
    return f"{len(job.driver.find_elements('css selector', '.cell'))} pairs"


def student(job: Job) -> str:
    """Find ginger by pinyin, then open its first effect."""
    job.enter("#find", "shengjiang")
    job.click(".suggestions li")
    job.click("section[aria-labelledby=effects] a")
    job.find("h1")
    return str(job.driver.title)


def researcher(job: Job) -> str:
    """Run an example query and see it as a chart."""
    job.click('a[href^="/sparql"]')
    job.clicks += 1
    job.driver.execute_script(
        "const box = document.querySelector('[data-examples]'); box.selectedIndex = 1;"
        "box.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    job.click(".query-form button.primary")
    job.find("#results")
    return f"{len(job.driver.find_elements('css selector', '.results-table tbody tr'))} rows"


def curator(job: Job, name: str, password: str) -> str:
    """Sign in, mark the first claim of the queue as unsure, and undo that."""
    job.open("/curate/sign-in")
    job.enter("[name=name]", name)
    job.enter("[name=password]", f"{password}\n")
    job.click("[data-row] a")
    job.click("button[name=kind][value=unsure]")
    job.find(".done")
    job.click(".done button")
    return str(job.find("p.done").text)


def listener(job: Job) -> str:
    """Ask with keys alone, and reach the claim behind the first sentence."""
    from selenium.webdriver.common.keys import Keys

    job.tab_to("#q")
    job.entries += 1
    job.driver.switch_to.active_element.send_keys("Can I take ginkgo with warfarin?")
    job.press(Keys.ENTER)
    job.find(".answer .cite")
    time.sleep(0.3)
    element = job.driver.switch_to.active_element
    heading = element.accessible_name or element.text
    job.tab_to(".cite")
    job.press(Keys.ENTER)
    return f"focus on “{heading}”, then “{job.find('dialog[open]').accessible_name}”"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default="http://127.0.0.1:8000")
    parser.add_argument("--sign-in", nargs=2, metavar=("NAME", "PASSWORD"))
    options = parser.parse_args()
    jobs: list[tuple[str, str, int, Callable[[Job], str]]] = [
        ("parent, phone", "zh", 390, parent),
        ("six supplements", "en", 1280, cabinet),
        ("student", "zh", 1280, student),
        ("researcher", "en", 1280, researcher),
        ("screen reader", "en", 1280, listener),
    ]
    if options.sign_in:
        jobs.append(("curator", "en", 1280, lambda job: curator(job, *options.sign_in)))
    driver, failed = browser(), 0
    print("| who | clicks | entries | keys | seconds | seen |\n|---|--:|--:|--:|--:|---|")
    for who, language, width, do in jobs:
        job = Job(driver, options.base, language, width)
        try:
            seen = do(job)
        except (WebDriverException, LookupError) as fault:
            failed += 1
            seen = f"FAILED: {str(fault).splitlines()[0]}"
        seconds = time.perf_counter() - job.begun
        print(f"| {who} | {job.clicks} | {job.entries} | {job.keys} | {seconds:.1f} | {seen} |")
    driver.quit()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
