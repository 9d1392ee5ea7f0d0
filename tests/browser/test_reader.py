"""A reader with a browser: ask, cite, profile, language, keyboard, phone."""

import csv
import threading
import time
import urllib.request
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.places import DATA
from tests.support.processes import chromium, console, running
from tests.support.sites import served

AXE = DATA / "vendor" / "axe.min.js"
AXE_PAGES = (
    "/", "/check", "/ask?q=goji", "/page/substance-goji", "/browse?class=Food", "/concept-search?q=goji",
    "/vocab", "/sparql", "/nothing", "/compare?ids=substance-goji,drug-warfarin", "/statistics",
    "/dishes?with=goji", "/constitution", "/sparql?query=SELECT+*+%7B+%3Fs+%3Fp+%3Fo+%7D+LIMIT+9",
)  # fmt: skip

pytestmark = pytest.mark.browser
selenium = pytest.importorskip("selenium", reason="selenium is not installed")


def dropping(app: Any) -> Any:
    """Serve ``app``, save that a stream for ``dropped`` and a page for ``half`` break off early."""

    def events() -> Iterator[bytes]:
        yield b"event: linked\ndata: []\n\n"
        raise ConnectionAbortedError("as if a cable were pulled")

    def head(parts: Any) -> Iterator[bytes]:
        try:
            yield next(iter(parts)).replace(b'data-patience="20000"', b'data-patience="600"')
            threading.Event().wait(0.4)  # the head is shown by then
            raise ConnectionAbortedError("as if a cable were pulled")
        finally:
            parts.close()

    def posted(environ: dict[str, Any]) -> bytes:
        body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        return body

    def serve(environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"] == "/ask" and "q=half" in environ["QUERY_STRING"]:
            return head(app(environ | {"HTTP_ACCEPT_ENCODING": ""}, start))
        if environ["PATH_INFO"] == "/api/ask/stream" and b"q=dropped" in posted(environ):
            start("200 OK", [("Content-Type", "text/event-stream")])
            return events()
        return app(environ, start)

    return serve


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from shiyi.server.app import create_app
    from tests.support.sites import open_test_site

    site = open_test_site(Path(tmp_path_factory.mktemp("site")))
    with running(dropping(create_app(site))) as found:
        yield found
    site.close()


@pytest.fixture(scope="module")
def driver(address: str) -> Iterator[Any]:  # it ends first, and its connections with it
    with chromium() as made:
        yield made


def test_asking_shows_the_warning_and_a_mark_opens_its_claim(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(f"{address}/?lang=en")
    field = driver.find_element(By.ID, "q")
    field.send_keys("Is goji fine with warfarin?", Keys.ENTER)
    driver.implicitly_wait(5)
    assert "May raise the INR." in driver.find_element(By.CLASS_NAME, "warnings").text
    driver.find_element(By.CSS_SELECTOR, ".warnings .cite").click()
    card = driver.find_element(By.CSS_SELECTOR, "dialog.claim-card[open]")
    assert "Materia Medica" in shown(driver, card)
    assert "0.80" in card.text
    card.find_element(By.LINK_TEXT, "Open this claim").click()
    assert "interacts with" in driver.find_element(By.TAG_NAME, "h1").text
    assert console(driver) == []


def test_completion_is_driven_by_keys(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(f"{address}/browse?lang=zh")
    field = driver.find_element(By.ID, "find")
    field.send_keys("goj")
    driver.implicitly_wait(5)
    driver.find_element(By.CSS_SELECTOR, ".suggestions li")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert driver.find_element(By.TAG_NAME, "h1").text.startswith("枸杞子")


def test_the_language_and_the_theme_are_switched_and_kept(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.get(f"{address}/?lang=zh")
    driver.find_element(By.LINK_TEXT, "English").click()
    assert driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    driver.find_element(By.CSS_SELECTOR, "[data-theme-switch]").click()
    chosen = driver.find_element(By.TAG_NAME, "html").get_attribute("data-theme")
    driver.get(f"{address}/browse")
    page = driver.find_element(By.TAG_NAME, "html")
    assert (page.get_attribute("lang"), page.get_attribute("data-theme")) == ("en", chosen)


def test_what_is_printed_is_dark_on_light_whatever_the_theme(driver: Any, address: str) -> None:
    driver.get(f"{address}/ask?lang=en&q=goji")
    driver.execute_script("document.documentElement.dataset.theme = 'dark'")
    colour = "return getComputedStyle(document.querySelector('.warnings')).backgroundColor"
    dark = driver.execute_script(colour)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        printed = driver.execute_script(colour)
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert dark != printed == "rgb(252, 235, 231)"


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_no_page_is_wider_than_the_screen(driver: Any, address: str, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in (
        "/",
        "/ask?q=goji",
        "/page/substance-goji",
        "/page/substance-hostile",
        "/browse",
        "/sparql",
        "/vocab",
    ):
        driver.get(address + path)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert console(driver) == []


def test_the_keyboard_reaches_the_content_first(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.get(f"{address}/vocab?lang=en")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert driver.switch_to.active_element.text == "Skip to content"
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert driver.switch_to.active_element.get_attribute("id") == "main"


def test_every_field_has_a_name_and_every_page_one_heading(driver: Any, address: str) -> None:
    nameless = """return [...document.querySelectorAll('input:not([type=hidden]),select,textarea')]
        .filter(e => !e.labels?.length && !e.getAttribute('aria-label')).map(e => e.outerHTML)"""
    for path in ("/", "/ask?q=goji", "/page/substance-goji", "/browse", "/sparql"):
        driver.get(address + path)
        assert driver.execute_script(nameless) == []
        assert driver.execute_script("return document.querySelectorAll('h1').length") == 1


def test_the_answer_comes_without_leaving_the_page_and_back_leads_back(
    driver: Any, address: str
) -> None:
    from selenium.webdriver.common.by import By

    driver.get(f"{address}/ask?lang=en&q=first+about+goji")
    driver.execute_script("window.same = true")
    reply = driver.find_element(By.ID, "reply-1")
    reply.send_keys("cold")
    reply.submit()
    driver.implicitly_wait(5)
    driver.find_element(By.XPATH, "//h1[contains(., 'cold')]")
    assert driver.execute_script("return window.same")
    assert driver.execute_script("return document.activeElement.id") == "answer-title"
    assert driver.current_url == f"{address}/ask"  # a reply may tell of a person
    driver.back()
    driver.find_element(By.XPATH, "//h1[not(contains(., 'cold'))]")
    assert console(driver) == []


def test_a_lost_connection_and_a_refused_question_say_so(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.implicitly_wait(5)
    driver.get(f"{address}/?lang=en")
    field = driver.find_element(By.ID, "q")
    field.send_keys("outside")
    field.submit()
    assert "model endpoint" in driver.find_element(By.CSS_SELECTOR, "[role=alert]").text
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    field.submit()
    alert = driver.find_element(By.XPATH, "//*[@role='alert'][contains(., 'connection was lost')]")
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    assert alert.find_element(By.TAG_NAME, "button").text == "Try again"
    console(driver)  # the refused request is noted there; it is not a fault of the page


def test_a_stream_that_breaks_off_is_asked_for_once_more_and_then_said(
    driver: Any, address: str
) -> None:
    from selenium.webdriver.common.by import By

    driver.implicitly_wait(8)
    driver.get(f"{address}/?lang=en")
    field = driver.find_element(By.ID, "q")
    field.send_keys("dropped")
    field.submit()
    driver.find_element(By.XPATH, "//*[@class='said'][contains(., 'Trying again')]")
    driver.find_element(By.XPATH, "//*[@role='alert'][contains(., 'connection was lost')]")
    assert all("INCOMPLETE" in each for each in console(driver))


def test_a_page_that_broke_off_after_its_head_says_so(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=half")
    again = driver.find_element(By.CSS_SELECTOR, ".on-its-way a")
    assert "connection may be lost" in driver.find_element(By.CLASS_NAME, "on-its-way").text
    assert (again.text, again.get_attribute("href")) == ("Try again", driver.current_url)
    assert driver.find_element(By.ID, "q").get_attribute("value") == "half"  # nothing typed is lost
    assert all("INCOMPLETE" in each for each in console(driver))


def test_what_was_asked_is_remembered_here_and_forgotten_on_wish(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=remember+goji&age=70")
    driver.get(f"{address}/?lang=en")
    driver.find_element(By.CSS_SELECTOR, "[data-history] summary").click()
    link = driver.find_element(By.LINK_TEXT, "remember goji")
    assert "age" not in link.get_attribute("href")
    driver.find_element(By.CSS_SELECTOR, "[data-forget]").click()
    assert not driver.find_element(By.CSS_SELECTOR, "[data-history]").is_displayed()
    assert driver.execute_script("return localStorage.getItem('shiyi:questions')") is None


def test_a_next_question_is_a_button_that_carries_what_was_said(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=my+feet+are+cold&age=70&method=paths")
    assert driver.execute_script("return document.querySelector('[name=method]').value") == "paths"
    button = driver.find_element(By.CSS_SELECTOR, ".next-questions button")
    assert "goji berry" in button.text
    driver.execute_script("arguments[0].click()", button)
    driver.find_element(By.XPATH, "//h1[contains(., 'watch for with goji berry')]")
    assert driver.current_url == f"{address}/ask"  # what was said travels in the body
    carried = {name: driver.find_element(By.NAME, name) for name in ("age", "method", "context")}
    values = {name: each.get_attribute("value") for name, each in carried.items()}
    assert (values["age"], values["method"]) == ("70", "paths")
    assert values["context"]
    assert console(driver) == []


def test_the_query_editor_completes_runs_and_draws_without_leaving_the_page(
    driver: Any, address: str
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.implicitly_wait(8)
    driver.get(f"{address}/sparql?lang=en")
    driver.execute_script(
        "window.same = true; window.mirror = document.querySelector('.CodeMirror').CodeMirror;"
        "mirror.setValue('SELECT ?claim ?said ?confidence { ?claim rdf:reifies ?said ; ');"
        "mirror.focus(); mirror.execCommand('goDocEnd')"
    )
    field = driver.find_element(By.CSS_SELECTOR, ".CodeMirror-code[contenteditable]")
    field.send_keys("shiyi:conf")
    driver.find_element(By.XPATH, "//*[contains(@class, 'hint')][. = 'shiyi:confidence']")
    field.send_keys(Keys.ENTER, " ?confidence }", Keys.CONTROL, Keys.ENTER)
    tabs = driver.find_elements(By.CSS_SELECTOR, ".view-tabs button")
    assert [each.text for each in tabs][:2] == ["Table", "Graph"]
    assert "PREFIX rdf:" in driver.find_element(By.ID, "query").get_attribute("value")
    driver.execute_script("arguments[0].click()", tabs[1])
    driver.find_element(By.CSS_SELECTOR, "[data-graph][data-drawn=yes] svg .g-node")
    assert driver.execute_script("return window.same")
    assert "query=PREFIX" in driver.current_url
    assert console(driver) == []


def test_the_graph_is_drawn_and_the_list_says_the_same(driver: Any, address: str) -> None:
    from selenium.webdriver.common.by import By

    driver.get(f"{address}/ask?lang=en&q=goji")
    driver.implicitly_wait(5)
    figure = driver.find_element(By.CSS_SELECTOR, "[data-graph]")
    driver.execute_script("arguments[0].scrollIntoView()", figure)
    driver.find_element(By.CSS_SELECTOR, "[data-graph][data-drawn=yes] svg .g-node")
    assert driver.find_elements(By.CSS_SELECTOR, ".path-list .chain")
    assert console(driver) == []


def test_without_scripts_the_form_asks_and_the_marks_lead_to_their_claims(
    driver: Any, address: str
) -> None:
    from selenium.webdriver.common.by import By

    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(f"{address}/?lang=en")
        field = driver.find_element(By.ID, "q")
        field.send_keys("goji")
        driver.find_element(By.CSS_SELECTOR, ".ask-form button.primary").click()
        driver.implicitly_wait(5)
        assert "May raise the INR." in driver.find_element(By.CLASS_NAME, "warnings").text
        assert not driver.find_element(By.CSS_SELECTOR, ".graph").is_displayed()
        assert driver.find_element(By.CSS_SELECTOR, ".chain").is_displayed()
        driver.find_element(By.CSS_SELECTOR, ".warnings .cite").click()
        assert driver.current_url.endswith("#citation-1")
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(("scheme", "language"), [("light", "zh"), ("dark", "en")])
def test_axe_finds_nothing_serious(driver: Any, address: str, scheme: str, language: str) -> None:
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    run = """const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']})
           .then((found) => done([found.passes.length, found.violations
              .filter((v) => ['serious', 'critical'].includes(v.impact))
              .map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | '))]))"""
    driver.get(f"{address}/?lang={language}")
    driver.execute_script("localStorage.removeItem('theme')")
    for path in AXE_PAGES:
        driver.get(address + path)
        # what is folded is looked at too
        driver.execute_script(
            "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
        )
        driver.execute_script(AXE.read_text(encoding="utf-8"))
        passed, faults = driver.execute_async_script(run)
        assert passed > 5, path
        assert faults == [], path
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_hostile_labels_never_run(driver: Any, address: str) -> None:
    hook = "window.ran = 0; window.alert = () => { window.ran += 1; };"
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hook})
    for path in ("/page/substance-hostile", "/browse?class=Food", "/ask?q=goji"):
        driver.get(address + path)
        assert driver.execute_script("return window.ran") == 0


pytest.importorskip("selenium", reason="selenium is not installed")
SLEEP = quote("失眠吃什么好？")


@pytest.fixture(scope="module")
def reader_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("reader")) as desks:
        yield desks.address


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def reader_driver(reader_address: str, downloads: Path) -> Iterator[Any]:
    with chromium() as made:
        made.implicitly_wait(8)
        made.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)}
        )
        yield made


def sized(driver: Any, width: int) -> None:
    metrics = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def shown(driver: Any, element: Any) -> str:
    """Return the text of an element, once it is drawn."""
    from selenium.webdriver.support.wait import WebDriverWait

    return str(WebDriverWait(driver, 10).until(lambda _: element.text))


def click(driver: Any, element: Any) -> None:
    driver.execute_script(
        "arguments[0].click()", element
    )  # pages scroll smoothly, tests do not wait


def foods(driver: Any) -> list[str]:
    return [each.text for each in driver.find_elements("css selector", ".card-title")]


def asked_with(driver: Any, address: str, name: str, *keys: str) -> None:
    """Ask about sleep after filling one field of the profile."""
    driver.get(f"{address}/ask?lang=zh&q={SLEEP}")
    driver.find_element("css selector", ".asked-fold > summary").click()
    driver.find_element("css selector", ".profile summary").click()
    driver.find_element("name", name).send_keys(*keys)
    driver.execute_script("window.before = true")
    driver.find_element("css selector", "#again button.primary").click()
    driver.find_element("css selector", ".warnings")


def test_a_pregnancy_in_the_profile_takes_a_food_away_and_warns(
    reader_driver: Any, reader_address: str
) -> None:
    reader_driver.get(f"{reader_address}/ask?lang=zh&q={SLEEP}")
    assert "百合" in foods(reader_driver)
    asked_with(reader_driver, reader_address, "pregnant", "是")
    assert "百合" not in foods(reader_driver)
    assert "孕" in reader_driver.find_element("class name", "warnings").text
    retained = reader_driver.find_element("name", "pregnant").get_attribute("value")
    assert retained == "true"  # the panel still says so for the next question
    assert console(reader_driver) == []


@pytest.fixture(scope="module")
def real_address(starter_kb: Path) -> Iterator[str]:
    from shiyi.server.app import create_app
    from shiyi.server.site.opening import open_site
    from shiyi.settings import Settings

    site = open_site(starter_kb, Settings(), read_only=True)
    with running(create_app(site)) as found:
        yield found
    site.close()


def test_first_warning_stands_on_the_first_screen_of_a_phone(
    reader_driver: Any, real_address: str
) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    reader_driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        reader_driver.get(f"{real_address}/ask?lang=zh")
        values = {
            "q": "当归黄芪炖鸡能吃吗？", "age": "72", "sex": "female", "pregnant": "false",
            "medicines": "华法林、阿司匹林", "conditions": "糖尿病", "allergies": "花生",
        }  # fmt: skip
        reader_driver.execute_script(
            """const form = document.querySelector("form.ask-form");
            for (const name in arguments[0]) form.elements[name].value = arguments[0][name];
            form.requestSubmit();""",
            values,
        )
        warning = reader_driver.find_element("css selector", ".warning")
        tops = "return arguments[0].getBoundingClientRect().bottom"
        assert reader_driver.execute_script(tops, warning) < 844
        band = reader_driver.find_element("css selector", ".verdict-band p")
        assert len(band.text) <= 40
        assert reader_driver.execute_script("return scrollY") == 0
        assert reader_driver.current_url == f"{real_address}/ask"
        shown = reader_driver.find_elements("css selector", ".warning")
        assert sum(each.is_displayed() for each in shown) == 3 < len(shown)
    finally:
        reader_driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert console(reader_driver) == []


def test_cabinet_is_filled_by_keys_and_stays_in_the_browser(
    reader_driver: Any, real_address: str
) -> None:
    from selenium.webdriver.common.keys import Keys

    reader_driver.get(f"{real_address}/check?lang=en")
    field = reader_driver.find_element("id", "thing")
    for name in ("warfarin", "ginkgo", "zinc"):
        field.send_keys(name, Keys.ENTER)
    assert len(reader_driver.find_elements("css selector", ".things li")) == 3
    click(reader_driver, reader_driver.find_element("css selector", ".cabinet .primary"))
    cell = reader_driver.find_element("css selector", ".cell.sev-major")
    assert cell.get_attribute("aria-label").startswith("ginkgo seed × warfarin: Major")
    assert reader_driver.current_url == f"{real_address}/check"
    reader_driver.get(f"{real_address}/check?lang=en")
    assert len(reader_driver.find_elements("css selector", ".things li")) == 3
    click(reader_driver, reader_driver.find_element("css selector", "[data-cabinet-clear]"))
    assert reader_driver.execute_script("return localStorage.getItem('shiyi:cabinet')") is None
    assert console(reader_driver) == []


def test_a_medicine_is_completed_from_pinyin_and_checked(
    reader_driver: Any, reader_address: str
) -> None:
    from selenium.webdriver.common.keys import Keys

    reader_driver.get(f"{reader_address}/ask?lang=zh&q={SLEEP}")
    assert "枸杞子" in foods(reader_driver)
    reader_driver.find_element("css selector", ".asked-fold > summary").click()
    reader_driver.find_element("css selector", ".profile summary").click()
    field = reader_driver.find_element("name", "medicines")
    field.send_keys("huafalin")
    assert reader_driver.find_element("css selector", ".suggestions li").text.startswith("华法林")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert field.get_attribute("value") == "华法林"
    field.send_keys(Keys.ENTER)
    reader_driver.find_element("css selector", ".warnings")
    assert "枸杞子" not in foods(reader_driver)


def test_pinyin_on_the_home_page_leads_to_the_concept(
    reader_driver: Any, reader_address: str
) -> None:
    from selenium.webdriver.common.keys import Keys

    reader_driver.get(f"{reader_address}/?lang=zh")
    field = reader_driver.find_element("id", "find")
    field.send_keys("shengjiang")
    assert reader_driver.find_element("css selector", ".suggestions li").text.startswith("生姜")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    reader_driver.find_element("css selector", ".concept-layout")
    assert reader_driver.find_element("tag name", "h1").text.startswith("生姜")


def test_the_whole_way_from_question_to_claim_needs_keys_alone(
    reader_driver: Any, reader_address: str
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        ActionChains(reader_driver).send_keys(*keys).perform()

    def here() -> Any:
        return reader_driver.switch_to.active_element

    reader_driver.get(f"{reader_address}/?lang=en")
    for _ in range(15):
        press(Keys.TAB)
        if here().get_attribute("id") == "q":
            break
    press("What is good for insomnia?", Keys.ENTER)
    reader_driver.find_element("css selector", ".answer .cite")
    assert here().get_attribute("id") == "answer-title"
    for _ in range(12):
        press(Keys.TAB)
        if "cite" in (here().get_attribute("class") or "").split():
            break
    number = here().text
    press(Keys.ENTER)
    card = reader_driver.find_element("css selector", "dialog.claim-card[open]")
    assert card.get_attribute("aria-labelledby") == "card-title"
    assert reader_driver.execute_script(
        "return arguments[0].contains(document.activeElement)", card
    )
    press(Keys.ESCAPE)
    assert here().text == number  # back where one was
    assert reader_driver.execute_script(
        "return getComputedStyle(document.activeElement).outlineStyle"
    )
    assert console(reader_driver) == []


def test_the_rows_that_are_seen_are_downloaded_in_their_order(
    reader_driver: Any, reader_address: str, downloads: Path
) -> None:
    reader_driver.get(f"{reader_address}/page/substance-mung?lang=en")
    reader_driver.find_element("link text", "Claims as a table").click()
    heads = reader_driver.find_elements("css selector", ".results-table thead button")
    assert [each.text for each in heads][:3] == ["from", "relation", "to"]
    reader_driver.find_element("id", "narrow").send_keys("nature")
    click(reader_driver, next(each for each in heads if each.text == "to"))
    seen = [
        each.text.removesuffix(" en")
        for each in reader_driver.find_elements(
            "css selector", ".results-table tbody tr td:nth-child(3)"
        )
        if each.is_displayed()
    ]
    click(reader_driver, reader_driver.find_element("css selector", "[data-seen]"))
    file = downloads / "shiyi.csv"
    for _ in range(100):
        if file.is_file() and file.stat().st_size:
            break
        time.sleep(0.05)
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    assert [row["to"] for row in rows] == seen == ["cold", "cool"]
    assert all(row["claim"].startswith("https://w3id.org/shiyi/id/claim/") for row in rows)
    assert float(rows[0]["confidence"]) > 0.5


def test_what_facets_leave_is_downloaded(reader_address: str) -> None:
    path = f"{reader_address}/browse?class=Food&nature=nature-cold&lang=en&format=csv"
    with urllib.request.urlopen(path) as reply:  # noqa: S310 - our own server
        table = list(csv.DictReader(reply.read().decode().splitlines()))
    assert [row["label"] for row in table] == ["mung bean"]


def test_the_parts_of_a_querys_graph_do_not_lie_on_each_other(
    reader_driver: Any, reader_address: str
) -> None:
    query = quote("CONSTRUCT { ?c ?r ?t } { ?c ?r ?t FILTER(isTriple(?t)) }")
    reader_driver.get(f"{reader_address}/sparql?lang=en&query={query}")
    click(reader_driver, reader_driver.find_elements("css selector", ".view-tabs button")[1])
    reader_driver.find_element("css selector", "[data-graph][data-drawn=yes] svg .g-node")
    boxes = reader_driver.execute_script(
        "return [...document.querySelectorAll('.g-node rect')].map((n) => { const r ="
        " n.getBoundingClientRect(); return {x1: r.left, x2: r.right, y1: r.top, y2: r.bottom} })"
    )
    assert len(boxes) > 20
    over = [
        (a, b)
        for at, a in enumerate(boxes)
        for b in boxes[at + 1 :]
        if a["x1"] < b["x2"] and b["x1"] < a["x2"] and a["y1"] < b["y2"] and b["y1"] < a["y2"]
    ]
    assert over == []
    assert console(reader_driver) == []


def test_cancelling_a_query_says_so_and_the_page_stays(
    reader_driver: Any, reader_address: str
) -> None:
    reader_driver.get(f"{reader_address}/sparql?lang=en")
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    reader_driver.execute_script(
        "document.querySelector('.CodeMirror').CodeMirror.setValue(arguments[0]);"
        "document.querySelector('[name=timeout]').value = 2;"
        "document.querySelector('.query-form').requestSubmit()",
        slow,
    )
    reader_driver.find_element("css selector", "[data-cancel]").click()
    clock = reader_driver.find_element("css selector", "[data-clock]")
    assert clock.text == "Cancelled."
    assert slow in reader_driver.find_element("id", "query").get_attribute("value")


def test_moments_are_shown_in_the_readers_own_time(reader_driver: Any, reader_address: str) -> None:
    reader_driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Shanghai"})
    try:
        reader_driver.get(f"{reader_address}/?lang=en")
        shown = reader_driver.execute_script(
            "const at = document.createElement('time'); at.dateTime = '2026-11-22T20:30:00+00:00';"
            "at.textContent = '22 Nov 2026, 20:30 UTC'; document.body.append(at); enhance(document.body);"
            "return [at.textContent, at.title]"
        )
    finally:
        reader_driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert shown[0].startswith("Nov 23, 2026, 4:30")
    assert shown[1].endswith("UTC")


@pytest.mark.parametrize("width", [320, 390, 3840])
def test_cards_tables_and_faults_fit_the_screen_in_both_languages(
    reader_driver: Any, reader_address: str, width: int
) -> None:
    sized(reader_driver, width)
    try:
        for path in (
            "/compare?ids=substance-mung,substance-ginger,substance-goji,substance-lily",
            "/constitution",
            "/statistics",
            "/dishes",
            "/browse?class=Food",
            "/nothing",
            "/sparql?query=SELECT+*+%7B+%3Fs+%3Fp+%3Fo+%7D+LIMIT+40",
        ):
            for language in ("zh", "en"):
                reader_driver.get(
                    f"{reader_address}{path}{'&' if '?' in path else '?'}lang={language}"
                )
                wide = reader_driver.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, (path, language, wide)
        reader_driver.get(f"{reader_address}/ask?lang=zh&q={SLEEP}")
        reader_driver.execute_script("document.querySelector('.cite').click()")
        box = reader_driver.find_element("css selector", "dialog[open]").rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    finally:
        reader_driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        reader_driver.get_log("browser")  # the 404 that was asked for


def test_a_page_that_is_not_there_says_so_in_the_readers_language(
    reader_driver: Any, reader_address: str
) -> None:
    reader_driver.get(f"{reader_address}/nothing?lang=zh")
    body = reader_driver.find_element("css selector", ".error-page").text
    assert "没有这个页面" in body
    assert "not found" not in body.lower()
    reader_driver.find_element("id", "find").send_keys("绿豆\n")
    assert "绿豆" in reader_driver.find_element("css selector", ".results").text
    reader_driver.get_log("browser")


def test_the_palette_finds_concepts_claims_pages_and_queries_by_keys(
    reader_driver: Any, reader_address: str
) -> None:
    from selenium.webdriver.common.keys import Keys

    reader_driver.get(f"{reader_address}/browse?lang=en")
    reader_driver.find_element("tag name", "body").send_keys(Keys.CONTROL, "k")
    field = reader_driver.find_element("css selector", ".palette[open] input")
    field.send_keys("goji")
    reader_driver.find_element("css selector", "#palette-0[aria-selected=true]")
    titles = [e.text for e in reader_driver.find_elements("css selector", ".palette-title")]
    assert titles[:2] == ["Concepts", "Claims"]
    assert titles[-1] == "Ask"
    field.send_keys(Keys.ENTER)
    reader_driver.find_element("css selector", ".concept-head")
    assert "/page/substance-" in reader_driver.current_url
    assert console(reader_driver) == []


def test_a_sentence_lights_its_claims_and_a_node_shows_more(
    reader_driver: Any, real_address: str
) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    question = quote("Can I take ginkgo with warfarin?")
    reader_driver.get(f"{real_address}/ask?lang=en&q={question}")
    figure = reader_driver.find_element("css selector", ".answer [data-graph]")
    reader_driver.execute_script("arguments[0].scrollIntoView()", figure)
    reader_driver.find_element("css selector", "[data-drawn=yes] .g-node")
    reader_driver.execute_script(
        "document.querySelector('.sentence a.cite').closest('.sentence')"
        ".dispatchEvent(new Event('mouseenter'))"
    )
    assert reader_driver.find_elements("css selector", ".g-edge.lit")
    assert reader_driver.find_elements("css selector", ".citation.now")
    before = len(reader_driver.find_elements("css selector", ".g-node"))
    reader_driver.execute_script(
        "document.querySelector('.g-node').dispatchEvent("
        "new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    click(reader_driver, reader_driver.find_element("css selector", ".graph-said button"))
    WebDriverWait(reader_driver, 10).until(
        lambda driver: len(driver.find_elements("css selector", ".g-node")) > before
    )
    assert console(reader_driver) == []


def test_sharing_and_the_page_for_the_doctor(reader_driver: Any, real_address: str) -> None:
    reader_driver.get(f"{real_address}/ask?lang=en")
    reader_driver.execute_script(
        """const form = document.querySelector("form.ask-form");
        form.elements.q.value = "Can I take ginkgo with warfarin?";
        form.elements.age.value = 71; form.elements.conditions.value = "gout"; form.requestSubmit();"""
    )
    click(reader_driver, reader_driver.find_element("css selector", "[data-opens=share]"))
    link = reader_driver.find_element("id", "share-link").get_attribute("value")
    assert "ginkgo" in link
    assert "71" not in link
    assert "gout" not in link
    details = reader_driver.find_element("id", "share-text")
    assert not details.is_displayed()
    click(reader_driver, reader_driver.find_element("css selector", "[data-add]"))
    assert "gout" in details.text
    click(reader_driver, reader_driver.find_element("css selector", "#share [data-closes]"))
    click(reader_driver, reader_driver.find_element("css selector", "[data-opens=doctor]"))
    paper = reader_driver.find_element("id", "doctor")
    assert "gout" in shown(reader_driver, paper)
    assert "ginkgo" in paper.text
    assert console(reader_driver) == []


def test_a_fault_of_a_query_is_marked_with_a_remedy(
    reader_driver: Any, reader_address: str
) -> None:
    query = quote("SELECT ?x WHERE {\n ?x a shiyi:Food }")
    reader_driver.get(f"{reader_address}/sparql?lang=en&query={query}")
    assert "shiyi" in reader_driver.find_element("css selector", ".remedy").text
    assert reader_driver.find_element("css selector", ".fault-lines .here mark").text
    tabs = "[role=tab][aria-controls=query]"
    before = len(reader_driver.find_elements("css selector", tabs))
    click(reader_driver, reader_driver.find_element("css selector", ".fault .primary"))
    reader_driver.find_element("css selector", ".results-table")
    assert len(reader_driver.find_elements("css selector", tabs)) == before + 1
