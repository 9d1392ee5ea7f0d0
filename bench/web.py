"""How the pages feel: time to the first byte, weight, paint, shifts, blocking, and a graph of 300 things.

python bench/web.py KB [--requests 40]

Starts its own server on a free loopback port. The first byte is timed over plain HTTP, once at the
first visit and then warm. Headless Chromium loads each page with an empty cache: as a desktop, as a
phone whose processor is four times slower, as Lighthouse does, and over 400 kbit/s with 100 ms of
delay: first and largest contentful paint, layout shifts, and blocking time (beyond 50 ms of a task).
"""

import argparse
import html
import http.client
import re
import shutil
import statistics
import time
from typing import Any
from urllib.parse import quote

from serving import start_server

ALL = "CONSTRUCT { ?c ?r ?t } { ?c ?r ?t FILTER(isTriple(?t)) } LIMIT 600"
SUBSTANCE = "/page/substance-gouqizi?lang=zh"
# the page of a claim and the table of claims are found on the page of the substance
LINKED = {"claim": r'href="(/page/claim/[^"]*)"', "claims table": r'href="(/sparql\?query=[^"]*)"'}
PAGES = {
    "home": "/?lang=zh",
    "ask, answered": "/ask?lang=zh&q=" + quote("失眠多梦、手脚心热，吃点什么好？"),
    "ask, warned": "/ask?lang=en&q=" + quote("Can I take ginkgo biloba with warfarin?"),
    "substance": SUBSTANCE, "hub": "/page/population-pregnant?lang=en", "claim": "",
    "claims table": "", "browse": "/browse?lang=zh", "class": "/browse?class=MFHSubstance&lang=zh",
    "hierarchy": "/browse?class=Disease&lang=en",
    "facets": "/browse?class=Food&lang=zh&nature=nature-cool&tier=tier-classic",
    "search": "/concept-search?q=gouqi&lang=zh",
    "compare": "/compare?lang=zh&ids=substance-gouqizi,substance-baihe,substance-juhua",
    "dishes": "/dishes?lang=zh&with=" + quote("百合"),
    "dishes for one": "/dishes?lang=en&constitution=constitution-yin-deficiency",
    "rule": "/page/rule-mfh-2019-spice?lang=zh",
    "constitution": "/constitution?lang=zh", "check": "/check?lang=zh", "docs": "/docs/?lang=zh",
    "statistics": "/statistics?lang=zh",
    "query page": "/sparql?lang=zh", "vocabulary": "/vocab?lang=en",
    "releases": "/releases/?lang=zh",
    "sign in": "/curate/sign-in?lang=zh", "not found": "/nothing?lang=zh",
}  # fmt: skip
WATCH = """window.seen = {shift: 0, paint: 0, blocked: 0};
const watch = (type, hear) => new PerformanceObserver((list) => list.getEntries().forEach(hear)).observe({type, buffered: true});
watch("layout-shift", (each) => { if (!each.hadRecentInput) seen.shift += each.value; });
watch("largest-contentful-paint", (each) => { seen.paint = each.startTime; });
watch("longtask", (each) => { seen.blocked += each.duration - 50; });"""
WEIGHT = """const all = [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")];
const fonts = all.filter((each) => each.name.includes("woff2"));
const size = (parts) => parts.reduce((sum, each) => sum + each.transferSize, 0);
return [size(all) - size(fonts), seen.paint, seen.shift, seen.blocked,
  performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0];"""
MOVED = """const done = arguments[0], picture = document.querySelector(".graph-stage svg"), at = [];
const whole = picture.getAttribute("viewBox").split(" ").map(Number);
const step = (now) => { at.push(now); if (at.length > 60) return done(at.slice(1).map((each, place) => each - at[place]));
  picture.setAttribute("viewBox", [whole[0] + at.length, whole[1], whole[2] / 1.5, whole[3] / 1.5].join(" ")); requestAnimationFrame(step); };
requestAnimationFrame(step);"""
NODES = "return document.querySelectorAll('.graph-stage .g-node').length"


def fetch(port: int, path: str) -> tuple[float, float, str]:
    """Return the milliseconds to the first byte, those to the last, and the text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begun = time.perf_counter()
    connection.request("GET", path, headers={"Accept": "text/html"})
    reply = connection.getresponse()
    first = (time.perf_counter() - begun) * 1000
    text = reply.read().decode()
    last = (time.perf_counter() - begun) * 1000
    connection.close()
    return first, last, text


def time_visits(port: int, path: str, requests: int) -> dict[str, float]:
    """Time the first visit and the later ones."""
    first, _, _ = fetch(port, path)
    results = [fetch(port, path)[:2] for _ in range(requests)]

    def most(times: list[float]) -> float:
        return round(statistics.quantiles(times, n=20, method="inclusive")[-1], 1)

    return {
        "first_visit_ms": round(first, 1),
        "ttfb_p95_ms": most([row[0] for row in results]),
        "whole_p95_ms": most([row[1] for row in results]),
    }


def browser() -> Any:
    """Start headless Chromium with a fresh profile."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


ROUNDS = {"": (1280, 1, -1), "phone_": (390, 4, -1), "slow_": (390, 1, 50_000)}


def emulate_device(driver: Any, width: int, slowed: int, rate: int) -> None:
    """Set the width of the browser, how often its processor is ``slowed``, and bytes per second (-1: any)."""
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slowed})
    network = {"offline": False, "latency": 100 if rate > 0 else 0}
    network |= {"downloadThroughput": rate, "uploadThroughput": rate}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", network)


def load_page(driver: Any, address: str) -> dict[str, float]:
    """Load a page with an empty cache; its weight is taken down at its end, so with its graph."""
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    driver.get(address)
    time.sleep(0.6)
    _, paint, shift, blocked, first = driver.execute_script(WEIGHT)
    driver.execute_script("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    time.sleep(0.6)
    size, *_ = driver.execute_script(WEIGHT)
    return {
        "KB": round(size / 1000),
        "fcp_ms": round(first),
        "lcp_ms": round(paint),
        "cls": round(shift, 3),
        "tbt_ms": round(blocked),
    }


def draw_graph(driver: Any, base: str) -> dict[str, float]:
    """Draw a graph of 300 things, then move it for 60 frames."""
    driver.get(f"{base}/sparql?lang=en&query={quote(ALL)}")
    begun = time.perf_counter()
    driver.execute_script("document.querySelectorAll('.view-tabs button')[1].click()")
    while not driver.execute_script("return document.querySelector('.graph').dataset.drawn"):
        time.sleep(0.02)
    seconds = time.perf_counter() - begun
    frames = sorted(driver.execute_async_script(MOVED))
    return {
        "nodes": driver.execute_script(NODES),
        "drawn_ms": round(seconds * 1000),
        "frame_p50_ms": round(frames[len(frames) // 2], 1),
        "frame_p95_ms": round(frames[int(len(frames) * 0.95)], 1),
    }


def pages(port: int) -> dict[str, str]:
    """Name the pages with their addresses."""
    text = fetch(port, SUBSTANCE)[2]
    matches = {name: re.search(pattern, text) for name, pattern in LINKED.items()}
    return PAGES | {name: html.unescape(match[1]) for name, match in matches.items() if match}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", default="kb")
    parser.add_argument("--requests", type=int, default=40)
    options = parser.parse_args()
    server, port, _ = start_server(options.kb)
    base = f"http://127.0.0.1:{port}"
    time.sleep(4)  # what it makes while it starts
    results: dict[str, dict[str, float]] = {}
    driver = browser()
    try:
        for name, path in pages(port).items():
            results[name] = time_visits(port, path, options.requests)
        for begin, device in ROUNDS.items():
            emulate_device(driver, *device)
            for name, path in pages(port).items():
                seen = load_page(driver, base + path)
                results[name] |= {begin + key: value for key, value in seen.items()}
        emulate_device(driver, *ROUNDS[""])
        results["graph"] = draw_graph(driver, base)
    finally:
        driver.quit()
        server.terminate()
        server.wait(timeout=20)
    for name, values in results.items():
        print(f"{name:15}", "  ".join(f"{key} {value:g}" for key, value in values.items()))


if __name__ == "__main__":
    main()
