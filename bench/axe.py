"""What axe-core, the console and the widths find on every main page, in both languages and themes.

python bench/axe.py [http://127.0.0.1:8000] [--sign-in NAME PASSWORD]

Asks a running server; the desks are looked at too where an account is given. Everything folded is
unfolded first. Prints what was found and ends with 1 where anything serious was.
"""

import argparse
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from web import PAGES, browser, pages

AXE = Path(__file__).parent.parent / "tests" / "data" / "vendor" / "axe.min.js"
DESKS = (
    "queue",
    "mappings",
    "vocabulary",
    "quarantine",
    "feedback",
    "history",
    "people",
    "progress",
    "audit",
    "account",
)
MORE = (
    "/ask",
    "/ask?q=" + quote("capital of France"),
    "/page/substance-baihe",
    "/compare",
    "/dishes",
    "/vocab/reference",
    "/audit",
    "/api",
    "/docs/reference/queries.md",
    "/timeline/substance-shengjiang",
    "/page/rule-mfh-2019-spice",
    "/page/constituent-curcumin",
    "/page/drug-warfarin",
    "/page/substance-shengjiang",
    "/page/source-llmqa",
)
RUN = """const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}).then((found) =>
  done(found.violations.map((each) => [each.impact, each.id, each.nodes[0].html.slice(0, 120)])));"""


def check_page(driver: Any, address: str, width: int) -> list[str]:
    """Load a page, unfold it, and list what is wrong with it."""
    driver.get(address)
    driver.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    results = [" ".join(item) for item in driver.execute_async_script(RUN)]
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    if wide > width:
        results.append(f"serious: {wide} px wide")
    headings = driver.execute_script("return document.querySelectorAll('h1').length")
    if headings != 1:
        results.append(f"serious: {headings} headings of the first level")
    text = driver.get_log("browser")
    return results + [
        f"serious: {item['message']}"
        for item in text
        if item["level"] == "SEVERE" and " 404 " not in item["message"]
    ]


def set_theme(driver: Any, width: int, scheme: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default="http://127.0.0.1:8000")
    parser.add_argument("--sign-in", nargs=2, metavar=("NAME", "PASSWORD"))
    options = parser.parse_args()
    driver = browser()
    paths = [*(PAGES | pages(int(options.base.rpartition(":")[2]))).values(), *MORE]
    if options.sign_in:
        driver.get(options.base + "/curate/sign-in")
        for name, text in zip(("name", "password"), options.sign_in, strict=True):
            driver.find_element("name", name).send_keys(text)
        driver.find_element("name", "password").submit()
        time.sleep(2)
        paths += [f"/curate/{desk}" for desk in DESKS]
    serious = looks = 0
    for width, scheme, language in (
        (1280, "light", "zh"),
        (1280, "light", "en"),
        (1280, "dark", "zh"),
        (1280, "dark", "en"),
        (320, "light", "en"),
        (390, "dark", "zh"),
    ):
        set_theme(driver, width, scheme)
        for path in dict.fromkeys(
            path.replace("lang=zh", "").replace("lang=en", "") for path in paths
        ):
            address = f"{options.base}{path}{'&' if '?' in path else '?'}lang={language}"
            looks += 1
            for each in check_page(driver, address, width):
                serious += each.startswith(("serious", "critical"))
                print(width, scheme, language, path, each, flush=True)
    driver.quit()
    print(f"{looks} looks at {len(set(paths))} pages, {serious} serious")
    raise SystemExit(1 if serious else 0)


if __name__ == "__main__":
    main()
