"""Takes the screenshots in docs/screenshots from a running server, with headless Chromium.

python docs/make_screenshots.py [http://127.0.0.1:8000]
"""

import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from selenium import webdriver

HERE = Path(__file__).parent / "screenshots"
SIZES = {"wide": (1440, 1000), "phone": (390, 844)}
PAGES = {
    "home": "/?lang=zh",
    "home-en": "/?lang=en",
    "ask": "/ask?lang=zh&q=" + quote("失眠多梦、手脚心热，吃点什么好？"),
    "ask-en": "/ask?lang=en&q=" + quote("Can I take ginkgo biloba with warfarin?"),
    "concept": "/page/substance-gouqizi?lang=zh",
    "claim": "",  # found on the concept's page
    "browse": "/browse?lang=zh&class=MFHSubstance",
    "sparql": "/sparql?lang=en&query="
    + quote(
        "PREFIX shiyi: <https://w3id.org/shiyi/vocab#>\n"
        "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>\n"
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
        "SELECT ?food ?name ?confidence ?claim WHERE {\n"
        "  ?claim rdf:reifies <<( ?food shiyi:hasNature ?nature )>> ;\n"
        "         shiyi:confidence ?confidence .\n"
        '  ?food skos:prefLabel ?name . FILTER(lang(?name) = "en")\n'
        "} ORDER BY DESC(?confidence) LIMIT 20"
    ),
}


def browser(width: int, height: int, dark: bool = False) -> webdriver.Chrome:
    """Start headless Chromium with a window whose page has exactly this width."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    return driver


def main(base: str) -> None:
    """Take every page in every size, and one in the dark."""
    HERE.mkdir(exist_ok=True)
    for name, size in SIZES.items():
        driver = browser(*size)
        for page, path in PAGES.items():
            if page == "claim":
                driver.get(base + PAGES["concept"])
                found = (
                    "document.querySelector('.theme:not(.safety) .claim-link').getAttribute('href')"
                )
                path = driver.execute_script(f"return {found}") + "?lang=zh"
            driver.get(base + path)
            driver.save_screenshot(str(HERE / f"{page}-{name}.png"))
        driver.quit()
    driver = browser(*SIZES["wide"], dark=True)
    driver.get(base + PAGES["ask"])
    driver.save_screenshot(str(HERE / "ask-dark.png"))
    driver.quit()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
