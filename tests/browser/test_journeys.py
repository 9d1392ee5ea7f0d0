"""A reader over whole bases: profile, cabinet, palette, downloads, graphs, sharing."""

import csv
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.processes import chromium, click, console, running, shown, sized, wait_until
from tests.support.sites import served

pytestmark = pytest.mark.browser
ActionChains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
SLEEP = quote("失眠吃什么好？")
WIDE_PAGES = (
    "/compare?ids=substance-mung,substance-ginger,substance-goji,substance-lily", "/dishes",
    "/constitution", "/statistics", "/browse?class=Food", "/nothing",
    "/sparql?query=SELECT+*+%7B+%3Fs+%3Fp+%3Fo+%7D+LIMIT+40",
)  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("reader")) as desks:
        yield desks.address


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(address: str, downloads: Path) -> Iterator[Any]:
    with chromium() as made:
        made.implicitly_wait(8)
        made.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)}
        )
        yield made


def foods(driver: Any) -> list[str]:
    return [element.text for element in driver.find_elements("css selector", ".card-title")]


def asked_with(driver: Any, address: str, name: str, *keys: str) -> None:
    """Ask about sleep after filling one field of the profile."""
    driver.get(f"{address}/ask?lang=zh&q={SLEEP}")
    driver.find_element("css selector", ".asked-fold > summary").click()
    driver.find_element("css selector", ".profile summary").click()
    driver.find_element("name", name).send_keys(*keys)
    driver.execute_script("window.before = true")
    driver.find_element("css selector", "#again button.primary").click()
    driver.find_element("css selector", ".warnings")


def test_pregnancy_in_profile_takes_food_away_and_warns(driver: Any, address: str) -> None:
    driver.get(f"{address}/ask?lang=zh&q={SLEEP}")
    assert "百合" in foods(driver)
    asked_with(driver, address, "pregnant", "是")
    assert "百合" not in foods(driver)
    assert "孕" in driver.find_element("class name", "warnings").text
    retained = driver.find_element("name", "pregnant").get_attribute("value")
    assert retained == "true"  # the panel still says so for the next question
    assert console(driver) == []


@pytest.fixture(scope="module")
def real_address(starter_kb: Path) -> Iterator[str]:
    from shiyi.server.app import create_app
    from shiyi.server.site.opening import open_site
    from shiyi.settings import Settings

    site = open_site(starter_kb, Settings(), read_only=True)
    with running(create_app(site)) as result:
        yield result
    site.close()


def test_first_warning_stands_on_first_screen_of_phone(driver: Any, real_address: str) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        driver.get(f"{real_address}/ask?lang=zh")
        values = {
            "q": "当归黄芪炖鸡能吃吗？", "age": "72", "sex": "female", "pregnant": "false",
            "medicines": "华法林、阿司匹林", "conditions": "糖尿病", "allergies": "花生",
        }  # fmt: skip
        driver.execute_script(
            """const form = document.querySelector("form.ask-form");
            for (const name in arguments[0]) form.elements[name].value = arguments[0][name];
            form.requestSubmit();""",
            values,
        )
        warning = driver.find_element("css selector", ".warning")
        tops = "return arguments[0].getBoundingClientRect().bottom"
        assert driver.execute_script(tops, warning) < 844
        band = driver.find_element("css selector", ".verdict-band p")
        assert len(band.text) <= 40
        assert driver.execute_script("return scrollY") == 0
        assert driver.current_url == f"{real_address}/ask"
        shown = driver.find_elements("css selector", ".warning")
        assert sum(item.is_displayed() for item in shown) == 3 < len(shown)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert console(driver) == []


def test_cabinet_filled_by_keys_and_stays_in_browser(driver: Any, real_address: str) -> None:
    driver.get(f"{real_address}/check?lang=en")
    field = driver.find_element("id", "thing")
    for name in ("warfarin", "ginkgo", "zinc"):
        field.send_keys(name, Keys.ENTER)
    assert len(driver.find_elements("css selector", ".things li")) == 3
    click(driver, driver.find_element("css selector", ".cabinet .primary"))
    cell = driver.find_element("css selector", ".cell.sev-major")
    assert cell.get_attribute("aria-label").startswith(
        "Ginkgo biloba leaf extract × warfarin: Major"
    )
    assert driver.current_url == f"{real_address}/check"
    driver.get(f"{real_address}/check?lang=en")
    assert len(driver.find_elements("css selector", ".things li")) == 3
    click(driver, driver.find_element("css selector", "[data-cabinet-clear]"))
    assert driver.execute_script("return localStorage.getItem('shiyi:cabinet')") is None
    assert console(driver) == []


def test_a_medicine_is_completed_from_pinyin_and_checked(driver: Any, address: str) -> None:
    driver.get(f"{address}/ask?lang=zh&q={SLEEP}")
    assert "枸杞子" in foods(driver)
    driver.find_element("css selector", ".asked-fold > summary").click()
    driver.find_element("css selector", ".profile summary").click()
    field = driver.find_element("name", "medicines")
    field.send_keys("huafalin")
    assert driver.find_element("css selector", ".suggestions li").text.startswith("华法林")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert field.get_attribute("value") == "华法林"
    asked = "return performance.getEntriesByType('resource').filter((e) => e.name.includes('q='))"
    assert driver.execute_script(asked) == []  # names travel in the body
    field.send_keys(Keys.ENTER)
    driver.find_element("css selector", ".warnings")
    assert "枸杞子" not in foods(driver)


def test_pinyin_on_home_page_leads_to_concept(driver: Any, address: str) -> None:
    driver.get(f"{address}/?lang=zh")
    field = driver.find_element("id", "find")
    field.send_keys("shengjiang")
    assert driver.find_element("css selector", ".suggestions li").text.startswith("生姜")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    driver.find_element("css selector", ".concept-layout")
    assert driver.find_element("tag name", "h1").text.startswith("生姜")


def test_question_to_claim_works_by_keyboard(driver: Any, address: str) -> None:
    def press(*keys: str) -> None:
        ActionChains(driver).send_keys(*keys).perform()

    def here() -> Any:
        return driver.switch_to.active_element

    driver.get(f"{address}/?lang=en")
    for _ in range(15):
        press(Keys.TAB)
        if here().get_attribute("id") == "q":
            break
    press("What is good for insomnia?", Keys.ENTER)
    driver.find_element("css selector", ".answer .cite")
    assert here().get_attribute("id") == "answer-title"
    for _ in range(12):
        press(Keys.TAB)
        if "cite" in (here().get_attribute("class") or "").split():
            break
    number = here().text
    press(Keys.ENTER)
    card = driver.find_element("css selector", "dialog.claim-card[open]")
    assert card.get_attribute("aria-labelledby") == "card-title"
    assert driver.execute_script("return arguments[0].contains(document.activeElement)", card)
    press(Keys.ESCAPE)
    assert here().text == number  # back where one was
    assert driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert console(driver) == []


def test_rows_that_are_seen_are_downloaded_in_order(
    driver: Any, address: str, downloads: Path
) -> None:
    driver.get(f"{address}/page/substance-mung?lang=en")
    driver.find_element("link text", "Claims as a table").click()
    heads = driver.find_elements("css selector", ".results-table thead button")
    assert [head.text for head in heads][:3] == ["from", "relation", "to"]
    driver.find_element("id", "narrow").send_keys("nature")
    click(driver, next(head for head in heads if head.text == "to"))
    cells = driver.find_elements("css selector", ".results-table tbody tr td:nth-child(3)")
    seen = [cell.text.removesuffix(" en") for cell in cells if cell.is_displayed()]
    click(driver, driver.find_element("css selector", "[data-seen]"))
    file = downloads / "shiyi.csv"
    for _ in range(100):
        if file.is_file() and file.stat().st_size:
            break
        time.sleep(0.05)
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    assert [row["to"] for row in rows] == seen == ["cold", "cool"]
    assert all(row["claim"].startswith("https://w3id.org/shiyi/id/claim/") for row in rows)
    assert float(rows[0]["confidence"]) > 0.5


def test_what_facets_leave_is_downloaded(address: str) -> None:
    path = f"{address}/browse?class=Food&nature=nature-cold&lang=en&format=csv"
    with urllib.request.urlopen(path) as reply:  # noqa: S310 - our own server
        table = list(csv.DictReader(reply.read().decode().splitlines()))
    assert [row["label"] for row in table] == ["mung bean"]


def test_nodes_of_query_graph_do_not_overlap(driver: Any, address: str) -> None:
    query = quote("CONSTRUCT { ?c ?r ?t } { ?c ?r ?t FILTER(isTriple(?t)) }")
    driver.get(f"{address}/sparql?lang=en&query={query}")
    click(driver, driver.find_elements("css selector", ".view-tabs button")[1])
    driver.find_element("css selector", "[data-graph][data-drawn=yes] svg .g-node")
    boxes = driver.execute_script(
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
    assert console(driver) == []


def test_cancelling_query_says_so_and_page_stays(driver: Any, address: str) -> None:
    driver.get(f"{address}/sparql?lang=en")
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    driver.execute_script(
        "document.querySelector('.CodeMirror').CodeMirror.setValue(arguments[0]);"
        "document.querySelector('[name=timeout]').value = 2;"
        "document.querySelector('.query-form').requestSubmit()",
        slow,
    )
    driver.find_element("css selector", "[data-cancel]").click()
    clock = driver.find_element("css selector", "[data-clock]")
    assert clock.text == "Cancelled."
    assert slow in driver.find_element("id", "query").get_attribute("value")


def test_moments_are_shown_in_the_readers_own_time(driver: Any, address: str) -> None:
    driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Shanghai"})
    try:
        driver.get(f"{address}/?lang=en")
        shown = driver.execute_script(
            "const at = document.createElement('time'); at.dateTime = '2026-11-22T20:30:00+00:00';"
            "at.textContent = '22 Nov 2026, 20:30 UTC'; document.body.append(at); enhance(document.body);"
            "return [at.textContent, at.title]"
        )
    finally:
        driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert shown[0].startswith("Nov 23, 2026, 4:30")
    assert shown[1].endswith("UTC")


@pytest.mark.parametrize("width", [320, 390, 3840])
def test_cards_and_tables_fit_screen_in_both_languages(
    driver: Any, address: str, width: int
) -> None:
    sized(driver, width)
    try:
        for path in WIDE_PAGES:
            for language in ("zh", "en"):
                driver.get(f"{address}{path}{'&' if '?' in path else '?'}lang={language}")
                wide = driver.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, (path, language, wide)
        driver.get(f"{address}/ask?lang=zh&q={SLEEP}")
        driver.execute_script("document.querySelector('.cite').click()")
        box = driver.find_element("css selector", "dialog[open]").rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.get_log("browser")  # the 404 that was asked for


def test_missing_page_answers_in_language_of_reader(driver: Any, address: str) -> None:
    driver.get(f"{address}/nothing?lang=zh")
    body = driver.find_element("css selector", ".error-page").text
    assert "没有这个页面" in body
    assert "not found" not in body.lower()
    driver.find_element("id", "find").send_keys("绿豆\n")
    assert "绿豆" in driver.find_element("css selector", ".results").text
    driver.get_log("browser")


def test_command_palette_finds_every_kind_by_keyboard(driver: Any, address: str) -> None:
    driver.get(f"{address}/browse?lang=en")
    driver.find_element("tag name", "body").send_keys(Keys.CONTROL, "k")
    field = driver.find_element("css selector", ".palette[open] input")
    field.send_keys("goji")
    driver.find_element("css selector", "#palette-0[aria-selected=true]")
    titles = [e.text for e in driver.find_elements("css selector", ".palette-title")]
    assert titles[:2] == ["Concepts", "Claims"]
    assert titles[-1] == "Ask"
    field.send_keys(Keys.ENTER)
    driver.find_element("css selector", ".concept-head")
    assert "/page/substance-" in driver.current_url
    assert console(driver) == []


def test_a_sentence_lights_its_claims(driver: Any, real_address: str) -> None:
    question = quote("Can I take ginkgo with warfarin?")
    driver.get(f"{real_address}/ask?lang=en&q={question}")
    figure = driver.find_element("css selector", ".answer [data-graph]")
    driver.execute_script("arguments[0].scrollIntoView()", figure)
    driver.find_element("css selector", "[data-drawn=yes] .g-node")
    driver.execute_script(
        "document.querySelector('.sentence a.cite').closest('.sentence')"
        ".dispatchEvent(new Event('mouseenter'))"
    )
    assert driver.find_elements("css selector", ".g-edge.lit")
    assert driver.find_elements("css selector", ".citation.now")
    assert console(driver) == []


def test_sharing_and_the_page_for_the_doctor(driver: Any, real_address: str) -> None:
    driver.get(f"{real_address}/ask?lang=en")
    driver.execute_script(
        """const form = document.querySelector("form.ask-form");
        form.elements.q.value = "Can I take ginkgo with warfarin?";
        form.elements.age.value = 71; form.elements.conditions.value = "gout"; form.requestSubmit();"""
    )
    click(driver, driver.find_element("css selector", "[data-opens=share]"))
    link = driver.find_element("id", "share-link").get_attribute("value")
    assert "ginkgo" in link
    assert "71" not in link.partition("?")[2]
    assert "gout" not in link
    details = driver.find_element("id", "share-text")
    assert not details.is_displayed()
    click(driver, driver.find_element("css selector", "[data-add]"))
    assert "gout" in details.text
    click(driver, driver.find_element("css selector", "#share [data-closes]"))
    click(driver, driver.find_element("css selector", "[data-opens=doctor]"))
    paper = driver.find_element("id", "doctor")
    assert "gout" in shown(driver, paper)
    assert "ginkgo" in paper.text
    assert console(driver) == []


def test_fault_of_query_is_marked_with_remedy(driver: Any, address: str) -> None:
    query = quote("SELECT ?x WHERE {\n ?x a shiyi:Food }")
    driver.get(f"{address}/sparql?lang=en&query={query}")
    assert "shiyi" in driver.find_element("css selector", ".remedy").text
    assert driver.find_element("css selector", ".fault-lines .here mark").text
    tabs = "[role=tab][aria-controls=query]"
    before = len(driver.find_elements("css selector", tabs))
    click(driver, driver.find_element("css selector", ".fault .primary"))
    driver.find_element("css selector", ".results-table")
    assert len(driver.find_elements("css selector", tabs)) == before + 1


def test_tabs_of_queries_named_by_what_they_ask(driver: Any, address: str) -> None:
    """In Chinese too, where a query without a comment has a single name."""
    query = quote(
        "PREFIX shiyi: <https://w3id.org/shiyi/vocab#>\nSELECT ?dish { ?dish a shiyi:Dish }"
    )
    driver.get(f"{address}/sparql?lang=zh&query={query}")
    tab = driver.find_element("css selector", "[role=tab][aria-controls=query][aria-selected=true]")
    assert tab.text == "SELECT ?dish { ?dish a shiyi"[:28]
    driver.get_log("browser")


def test_saved_queries_and_history_stay_in_the_browser(driver: Any, address: str) -> None:
    query = "SELECT ?dish { ?dish a <https://w3id.org/shiyi/vocab#Dish> }"
    driver.get(f"{address}/sparql?lang=en")
    driver.execute_script("localStorage.clear(); shiyiQuery.write(arguments[0])", query)
    click(driver, driver.find_element("css selector", ".query-form .primary"))
    driver.execute_script("document.querySelector('[data-save-query]').click()")
    driver.get(f"{address}/sparql?lang=en")  # another visit
    for element in driver.find_elements("css selector", ".workbench summary")[1:]:
        click(driver, element)
    for name in ("saved", "history"):
        driver.execute_script("shiyiQuery.write('ASK {}')")
        click(driver, driver.find_element("css selector", f"[data-list={name}] .link"))
        assert driver.execute_script("return shiyiQuery.read()") == query
    click(driver, driver.find_element("css selector", "[data-list=saved] .chip"))
    click(driver, driver.find_element("css selector", "[data-forget-queries]"))
    stored = driver.execute_script("return JSON.parse(localStorage.getItem('shiyi:queries'))")
    assert (stored["saved"], stored["history"]) == ([], [])
    assert console(driver) == []


def test_numbers_of_a_query_are_drawn_as_bars(driver: Any, address: str) -> None:
    query = quote('SELECT ?of ?n { VALUES (?of ?n) { ("one" 10) ("two" 40) ("three" 20) } }')
    driver.get(f"{address}/sparql?lang=en&query={query}")
    tab = driver.find_elements("css selector", ".view-tabs button")[-1]
    assert tab.text == "Chart"
    click(driver, tab)
    names = [element.text for element in driver.find_elements("css selector", ".bars dt")]
    assert names == ["one", "two", "three"]
    found = driver.find_elements("css selector", ".bars .bar-value")
    bars = [element.rect["width"] for element in found]
    assert [round(item / bars[1], 2) for item in bars] == [0.25, 1, 0.5]


def test_graph_grows_from_concept_in_colours_of_classes(driver: Any, real_address: str) -> None:
    driver.get(f"{real_address}/sparql?lang=en")
    click(driver, driver.find_element("css selector", ".workbench summary"))
    driver.find_element("name", "id").send_keys("substance-shengjiang", Keys.ESCAPE, Keys.ENTER)
    node = driver.find_element("css selector", "[data-drawn=yes] .g-node.complaint")
    before = len(driver.find_elements("css selector", ".g-node"))
    driver.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))",
        node,
    )
    click(driver, driver.find_element("css selector", ".graph-caption button"))
    wait_until(driver, lambda: len(driver.find_elements("css selector", ".g-node")) > before + 2)
    looks = ("food", "complaint", "other")
    assert all(driver.find_elements("css selector", f".g-node.{look}") for look in looks)
    shown = driver.find_elements("css selector", "[data-look]")
    assert {item.get_attribute("data-look") for item in shown if item.is_displayed()} >= set(looks)
    assert console(driver) == []


def test_graph_below_screen_is_drawn_for_print(driver: Any, real_address: str) -> None:
    driver.get(f"{real_address}/page/drug-warfarin?lang=en")
    figure = driver.find_element("css selector", "[data-graph]")
    assert figure.rect["y"] > 2_000
    wait_until(driver, lambda: figure.get_attribute("data-drawn"))
    assert driver.find_elements("css selector", ".g-node")


def test_labels_of_a_timeline_have_no_outline(driver: Any, real_address: str) -> None:
    driver.get(f"{real_address}/timeline/substance-gouqizi?lang=zh")
    text = driver.find_element("css selector", ".timeline-picture text")
    assert text.value_of_css_property("stroke") == "none"
