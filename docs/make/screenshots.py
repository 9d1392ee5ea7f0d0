"""Takes the screenshots in docs/screenshots from a running server, with headless Chromium.

python docs/make/screenshots.py [http://127.0.0.1:8000] [--sign-in NAME PASSWORD] [--only NAME …]

The desks are taken too where an account is given. Fonts for Chinese must be installed
(Debian: fonts-noto-cjk).
"""

import argparse
import base64
import shutil
from pathlib import Path
from urllib.parse import quote

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

HERE = Path(__file__).parents[1] / "screenshots"
DESKTOP, PHONE = (1440, 1000), (390, 844)
ASK_ZH = "/ask?lang=zh&q=" + quote("失眠多梦、手脚心热，吃点什么好？")
ASK_EN = "/ask?lang=en&q=" + quote("Can I take ginkgo biloba with warfarin?")
MUNG = "/ask?lang=zh&q=" + quote("我最近胃不舒服，能推荐几款夏天的饮品吗？")
QUERY = "/sparql?lang=en&query=" + quote(
    "PREFIX shiyi: <https://w3id.org/shiyi/vocab#>\n"
    "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>\n"
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
    "SELECT ?food ?name ?confidence ?claim WHERE {\n"
    "  ?claim rdf:reifies <<( ?food shiyi:hasNature ?nature )>> ;\n"
    "         shiyi:confidence ?confidence .\n"
    '  ?food skos:prefLabel ?name . FILTER(lang(?name) = "en")\n'
    "} ORDER BY DESC(?confidence) LIMIT 20"
)
TRIPLES = "/sparql?lang=zh&query=" + quote(
    "PREFIX shiyi: <https://w3id.org/shiyi/vocab#>\n"
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
    "SELECT ?claim ?statement ?confidence WHERE {\n"
    "  ?claim rdf:reifies ?statement ; shiyi:confidence ?confidence .\n"
    "  FILTER(PREDICATE(?statement) = shiyi:interactsWith && ?confidence >= 0.95)\n"
    "} LIMIT 40"
)
# name -> page, size, what is done before the picture is taken
SHOTS: dict[str, tuple[str, tuple[int, int], str]] = {
    "home-desktop": ("/?lang=zh", DESKTOP, ""),
    "home-en-phone": ("/?lang=en", PHONE, ""),
    "ask-zh-desktop": (ASK_ZH, DESKTOP, ""),
    "ask-zh-dark": (ASK_ZH, DESKTOP, "dark"),
    "ask-zh-paths": (ASK_ZH, DESKTOP, "graph"),
    "ask-mung-bean-desktop": (MUNG, DESKTOP, ""),
    "ask-en-desktop": (ASK_EN, DESKTOP, ""),
    "ask-en-phone": (ASK_EN, PHONE, ""),
    "ask-en-claim-phone": (ASK_EN, PHONE, "card"),
    "concept-desktop": ("/page/substance-baihe?lang=zh", DESKTOP, ""),
    "concept-phone": ("/page/substance-gouqizi?lang=zh", PHONE, ""),
    "claim-desktop": ("", DESKTOP, ""),  # found on the page of an answer
    "compare-desktop": (
        "/compare?lang=zh&ids=substance-gouqizi,substance-baihe,substance-juhua",
        DESKTOP,
        "",
    ),
    "dishes-desktop": (
        "/dishes?lang=zh&constitution=constitution-yin-deficiency&with=" + quote("百合"),
        DESKTOP,
        "",
    ),
    "browse-desktop": ("/browse?lang=zh&class=MFHSubstance", DESKTOP, ""),
    "browse-home-desktop": ("/browse?lang=en", DESKTOP, ""),
    "facets-desktop": (
        "/browse?lang=zh&class=MFHSubstance&nature=nature-warm&tier=tier-standard",
        DESKTOP,
        "",
    ),
    "constitution-phone": ("/constitution?lang=en", PHONE, ""),
    "compare-phone": ("/compare?lang=zh&ids=substance-gouqizi,substance-baihe", PHONE, ""),
    "not-found-phone": ("/page/nothing?lang=zh", PHONE, "dark"),
    "sparql-desktop": (QUERY, DESKTOP, ""),
    "sparql-graph": (TRIPLES, DESKTOP, "view"),
    "statistics-desktop": ("/statistics?lang=zh", DESKTOP, ""),
}
DESKS: dict[str, tuple[str, tuple[int, int], str]] = {
    "curate-queue-desktop": ("/curate/queue?lang=zh", DESKTOP, ""),
    "curate-queue-phone": ("/curate/queue?lang=en", PHONE, ""),
}  # fmt: skip


def browser() -> webdriver.Chrome:
    """Start headless Chromium."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )


def take(driver: webdriver.Chrome, base: str, name: str) -> None:
    """Accept one picture of the first screen, or of the graph or the card of a claim."""
    path, (width, height), action = (SHOTS | DESKS)[name]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if action == "dark" else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    if not path:
        driver.get(base + ASK_EN)
        cited = "return document.querySelector('.citation .links a').getAttribute('href')"
        path = driver.execute_script(cited) + "?lang=en"
    driver.get(base + path)
    if action == "graph":
        driver.execute_script(
            "document.documentElement.style.scrollBehavior = 'auto';"
            "document.getElementById('paths').scrollIntoView()"
        )
        drawn = "return document.querySelector('.graph').dataset.drawn"
        WebDriverWait(driver, 20).until(lambda item: item.execute_script(drawn))
    elif action == "view":
        driver.execute_script(
            "document.documentElement.style.scrollBehavior = 'auto';"
            "document.querySelectorAll('.view-tabs button')[1].click();"
            "document.getElementById('results').scrollIntoView()"
        )
        drawn = "return document.querySelector('.graph').dataset.drawn"
        WebDriverWait(driver, 20).until(lambda item: item.execute_script(drawn))
    elif action == "card":
        driver.execute_script("document.querySelector('.cite').click()")
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 72})
    (HERE / f"{name}.webp").write_bytes(base64.b64decode(picture["data"]))


def sign_in(driver: webdriver.Chrome, base: str, name: str, password: str) -> None:
    """Open the desks for the pictures that follow."""
    driver.get(base + "/curate/sign-in")
    driver.find_element(By.NAME, "name").send_keys(name)
    driver.find_element(By.NAME, "password").send_keys(password, Keys.ENTER)
    WebDriverWait(driver, 20).until(lambda item: "sign-in" not in item.current_url)


def main() -> None:
    """Accept every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default="http://127.0.0.1:8000")
    parser.add_argument("--sign-in", nargs=2, metavar=("NAME", "PASSWORD"))
    parser.add_argument("--only", nargs="+", metavar="NAME")
    chosen = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    driver = browser()
    try:
        if chosen.sign_in:
            sign_in(driver, chosen.base, *chosen.sign_in)
        for name in chosen.only or [*SHOTS, *(DESKS if chosen.sign_in else ())]:
            take(driver, chosen.base, name)
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
