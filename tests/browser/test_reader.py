"""A reader with a browser: ask, cite, profile, language, keyboard, phone."""

import re
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import DATA
from tests.support.processes import chromium, console, running, shown

AXE = DATA / "vendor" / "axe.min.js"
AXE_PAGES = (
    "/", "/check", "/ask?q=goji", "/page/substance-goji", "/browse?class=Food", "/concept-search?q=goji",
    "/vocab", "/sparql", "/nothing", "/compare?ids=substance-goji,drug-warfarin", "/statistics",
    "/dishes?with=goji", "/constitution", "/docs/", "/api", "/audit", "/releases/", "/vocab/reference",
    "/timeline/substance-goji", "/graph/asserted", "/ask", "/browse", "/docs/how-to/clients.md", "/curate/sign-in",
    "/sparql?query=SELECT+*+%7B+%3Fs+%3Fp+%3Fo+%7D+LIMIT+9",
)  # fmt: skip

pytestmark = pytest.mark.browser
By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys


def dropping(app: Any) -> Any:
    """Serve ``app``, save that a stream for ``dropped`` and a page for ``half`` break off early."""

    def events() -> Iterator[bytes]:
        yield b"event: linked\ndata: []\n\n"
        raise ConnectionAbortedError("as if a cable were pulled")

    def head(parts: Any) -> Iterator[bytes]:
        try:
            yield next(iter(parts)).replace(b'data-timeout="20000"', b'data-patience="600"')
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
    with running(dropping(create_app(site))) as result:
        yield result
    site.close()


@pytest.fixture(scope="module")
def driver(address: str) -> Iterator[Any]:  # it ends first, and its connections with it
    with chromium() as made:
        yield made


def test_asking_shows_warning_and_mark_opens_its_claim(driver: Any, address: str) -> None:
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
    driver.get(f"{address}/browse?lang=zh")
    field = driver.find_element(By.ID, "find")
    field.send_keys("goj")
    driver.implicitly_wait(5)
    driver.find_element(By.CSS_SELECTOR, ".suggestions li")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert driver.find_element(By.TAG_NAME, "h1").text.startswith("枸杞子")


def test_language_and_theme_are_switched_and_stored(driver: Any, address: str) -> None:
    driver.get(f"{address}/?lang=zh")
    driver.find_element(By.LINK_TEXT, "English").click()
    assert driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    driver.find_element(By.CSS_SELECTOR, "[data-theme-switch]").click()
    chosen = driver.find_element(By.TAG_NAME, "html").get_attribute("data-theme")
    driver.get(f"{address}/browse")
    page = driver.find_element(By.TAG_NAME, "html")
    assert (page.get_attribute("lang"), page.get_attribute("data-theme")) == ("en", chosen)


def test_print_is_dark_on_light_in_any_theme(driver: Any, address: str) -> None:
    driver.get(f"{address}/ask?lang=en&q=goji")
    driver.execute_script("document.documentElement.dataset.theme = 'dark'")
    colour = "return getComputedStyle(document.querySelector('.warnings')).backgroundColor"
    dark = driver.execute_script(colour)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        printed = driver.execute_script(colour)
        head = driver.find_element("css selector", "#answer-title")
        note = driver.find_element("css selector", ".answer > .print-only")
        assert head.size["height"] > 10  # the question, which is folded on the screen
        assert "/ask?q=goji" in note.text
        assert re.match(r"\d{4}-\d{2}-\d{2} · ", note.text)
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert dark != printed == "rgb(252, 235, 231)"


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_no_page_is_wider_than_the_screen(driver: Any, address: str, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in (*AXE_PAGES[:4], "/page/substance-hostile", "/browse", "/sparql", "/vocab"):
        driver.get(address + path)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert console(driver) == []


def test_the_keyboard_reaches_the_content_first(driver: Any, address: str) -> None:
    driver.get(f"{address}/vocab?lang=en")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert driver.switch_to.active_element.text == "Skip to content"
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert driver.switch_to.active_element.get_attribute("id") == "main"


def test_fields_have_names_and_pages_one_heading(driver: Any, address: str) -> None:
    nameless = """return [...document.querySelectorAll('input:not([type=hidden]),select,textarea')]
        .filter(e => !e.labels?.length && !e.getAttribute('aria-label')).map(e => e.outerHTML)"""
    for path in ("/", "/ask?q=goji", "/page/substance-goji", "/browse", "/sparql"):
        driver.get(address + path)
        assert driver.execute_script(nameless) == []
        assert driver.execute_script("return document.querySelectorAll('h1').length") == 1


def test_answer_is_shown_in_place_with_history(driver: Any, address: str) -> None:
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


def test_lost_connection_and_refused_question_say_so(driver: Any, address: str) -> None:
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
    online = offline | {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    assert alert.find_element(By.TAG_NAME, "button").text == "Try again"
    console(driver)  # the refused request is noted there; it is not a fault of the page


def test_broken_stream_is_retried_once_then_reported(driver: Any, address: str) -> None:
    driver.implicitly_wait(8)
    driver.get(f"{address}/?lang=en")
    field = driver.find_element(By.ID, "q")
    field.send_keys("dropped")
    field.submit()
    driver.find_element(By.XPATH, "//*[@class='step'][contains(., 'Trying again')]")
    driver.find_element(By.XPATH, "//*[@role='alert'][contains(., 'connection was lost')]")
    assert all("INCOMPLETE" in each for each in console(driver))


def test_page_that_broke_off_after_head_says_so(driver: Any, address: str) -> None:
    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=half")
    element = driver.find_element(By.CSS_SELECTOR, ".on-its-way a")
    assert "connection may be lost" in driver.find_element(By.CLASS_NAME, "on-its-way").text
    assert (element.text, element.get_attribute("href")) == ("Try again", driver.current_url)
    assert driver.find_element(By.ID, "q").get_attribute("value") == "half"  # nothing typed is lost
    assert all("INCOMPLETE" in each for each in console(driver))


def test_question_history_is_local_and_can_be_cleared(driver: Any, address: str) -> None:
    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=remember+goji&age=70")
    driver.get(f"{address}/?lang=en")
    driver.find_element(By.CSS_SELECTOR, "[data-history] summary").click()
    link = driver.find_element(By.LINK_TEXT, "remember goji")
    assert "age" not in link.get_attribute("href")
    driver.find_element(By.CSS_SELECTOR, "[data-forget]").click()
    assert not driver.find_element(By.CSS_SELECTOR, "[data-history]").is_displayed()
    assert driver.execute_script("return localStorage.getItem('shiyi:questions')") is None


def test_next_question_button_carries_the_context(driver: Any, address: str) -> None:
    driver.implicitly_wait(5)
    driver.get(f"{address}/ask?lang=en&q=my+feet+are+cold&age=70&method=paths")
    assert driver.execute_script("return document.querySelector('[name=method]').value") == "paths"
    button = driver.find_element(By.CSS_SELECTOR, ".next-questions button")
    assert "goji berry" in button.text
    driver.execute_script("arguments[0].click()", button)
    driver.find_element(By.XPATH, "//h1[contains(., 'watch for with goji berry')]")
    assert driver.current_url == f"{address}/ask"  # what was said travels in the body
    carried = {name: driver.find_element(By.NAME, name) for name in ("age", "method", "context")}
    values = {name: item.get_attribute("value") for name, item in carried.items()}
    assert (values["age"], values["method"]) == ("70", "paths")
    assert values["context"]
    assert console(driver) == []


def test_query_editor_completes_runs_and_draws(driver: Any, address: str) -> None:
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
    assert [tab.text for tab in tabs][:2] == ["Table", "Graph"]
    assert "PREFIX rdf:" in driver.find_element(By.ID, "query").get_attribute("value")
    driver.execute_script("arguments[0].click()", tabs[1])
    driver.find_element(By.CSS_SELECTOR, "[data-graph][data-drawn=yes] svg .g-node")
    assert driver.execute_script("return window.same")
    assert "query=PREFIX" in driver.current_url
    assert console(driver) == []


def test_graph_is_drawn_and_list_says_same(driver: Any, address: str) -> None:
    driver.get(f"{address}/ask?lang=en&q=goji")
    driver.implicitly_wait(5)
    figure = driver.find_element(By.CSS_SELECTOR, "[data-graph]")
    driver.execute_script("arguments[0].scrollIntoView()", figure)
    driver.find_element(By.CSS_SELECTOR, "[data-graph][data-drawn=yes] svg .g-node")
    assert driver.find_elements(By.CSS_SELECTOR, ".path-list .chain")
    assert console(driver) == []


def test_form_and_citations_work_without_scripts(driver: Any, address: str) -> None:
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
def test_axe_finds_nothing(driver: Any, address: str, scheme: str, language: str) -> None:
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    run = """const done = arguments[arguments.length - 1];
        document.querySelectorAll('details').forEach((e) => { e.open = true; });
        axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'],
                           resultTypes: ['violations'], preload: false})
           .then((found) => done([found.passes.length, found.violations
              .map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | '))]))"""
    fewer = "document.querySelectorAll('article').forEach((e, i) => i % 12 && e.remove());"
    driver.get(f"{address}/?lang={language}")
    driver.execute_script("localStorage.removeItem('theme')")
    script = {"source": AXE.read_text(encoding="utf-8")}
    added = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    for path in AXE_PAGES:
        driver.get(address + path)
        if path == "/vocab/reference":  # nearly 300 articles of few kinds take half a minute
            driver.execute_script(fewer)
        passed, faults = driver.execute_async_script(run)
        assert passed > 5, path
        assert faults == [], path
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_hostile_labels_never_run(driver: Any, address: str) -> None:
    hook = "window.ran = 0; window.alert = () => { window.ran += 1; };"
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hook})
    for path in ("/page/substance-hostile", "/browse?class=Food", "/ask?q=goji"):
        driver.get(address + path)
        assert driver.execute_script("return window.ran") == 0
