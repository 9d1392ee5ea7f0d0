"""How the pages feel: time to the first byte, weight, paint, shifts, and a graph of 300 things.

python bench/web.py KB [--requests 40] [--json FILE]

Starts its own server on a free loopback port; headless Chromium loads each page with an empty cache.
"""

import argparse
import http.client
import json
import shutil
import statistics
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from serving import started

ASK = "/ask?lang=zh&q=" + quote("失眠多梦、手脚心热，吃点什么好？")
ALL = "CONSTRUCT { ?c ?r ?t } { ?c ?r ?t FILTER(isTriple(?t)) } LIMIT 600"
PAGES = {
    "/": "/?lang=zh", "/ask": ASK, "/page (substance)": "/page/substance-gouqizi?lang=zh",
    "/page (hub)": "/page/population-pregnant?lang=en",
    "/browse": "/browse?class=MFHSubstance&lang=zh", "/compare":
    "/compare?lang=zh&ids=substance-gouqizi,substance-baihe", "/dishes": "/dishes?lang=zh&with="
    + quote("百合"), "/statistics": "/statistics?lang=zh", "/sparql": "/sparql?lang=zh",
    "/vocab": "/vocab?lang=en", "/curate/sign-in": "/curate/sign-in?lang=zh",
}  # fmt: skip
WATCH = """window.seen = {shift: 0, paint: 0};
new PerformanceObserver((list) => { for (const each of list.getEntries()) if (!each.hadRecentInput) seen.shift += each.value; })
  .observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => { for (const each of list.getEntries()) seen.paint = each.startTime; })
  .observe({type: "largest-contentful-paint", buffered: true});"""
WEIGHT = """const all = [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")];
return [all.reduce((sum, each) => sum + each.transferSize, 0), all.length, seen.paint, seen.shift];"""
PANNED = """const done = arguments[0], graph = document.querySelector(".graph-stage")._cyreg.cy, at = [];
const step = (now) => { at.push(now); if (at.length > 60) return done(at.slice(1).map((each, place) => each - at[place]));
  graph.panBy({x: place(at.length), y: 1}); requestAnimationFrame(step); };
const place = (n) => (n % 20 < 10 ? 6 : -6);
requestAnimationFrame(step);"""


def first_byte(port: int, path: str, requests: int) -> float:
    """Give the 95th percentile of the time to the first byte in milliseconds, warm."""
    connection, times = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
    for turn in range(requests + 3):
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        reply = connection.getresponse()
        took = (time.perf_counter() - begun) * 1000
        reply.read()
        if turn >= 3:
            times.append(took)
    connection.close()
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def browser() -> Any:
    """Start headless Chromium with a fresh profile."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


def loaded(driver: Any, address: str) -> dict[str, float]:
    """Load a page with an empty cache, down to its end, so that graphs are drawn too."""
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    driver.get(address)
    driver.execute_script("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    time.sleep(1.0)
    size, requests, paint, shift = driver.execute_script(WEIGHT)
    return {"KB": round(size / 1000), "requests": requests, "paint_ms": round(paint),
            "shift": round(shift, 3)}  # fmt: skip


def drawn(driver: Any, base: str) -> dict[str, float]:
    """Draw a graph of 300 things, then move it for 60 frames."""
    driver.get(f"{base}/sparql?lang=en&query={quote(ALL)}")
    begun = time.perf_counter()
    driver.execute_script("document.querySelectorAll('.view-tabs button')[1].click()")
    while not driver.execute_script("return document.querySelector('.graph').dataset.drawn"):
        time.sleep(0.02)
    seconds = time.perf_counter() - begun
    frames = sorted(driver.execute_async_script(PANNED))
    nodes = driver.execute_script(
        "return document.querySelector('.graph-stage')._cyreg.cy.nodes().length"
    )
    return {"nodes": nodes, "drawn_ms": round(seconds * 1000),
            "frame_p50_ms": round(frames[len(frames) // 2], 1),
            "frame_p95_ms": round(frames[int(len(frames) * 0.95)], 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", default="kb")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    server, port, _ = started(chosen.kb)
    base, found = f"http://127.0.0.1:{port}", {}
    driver = browser()
    try:
        for name, path in PAGES.items():
            found[name] = {
                "ttfb_p95_ms": round(first_byte(port, path, chosen.requests), 1),
                **loaded(driver, base + path),
            }
        found["graph"] = drawn(driver, base)
    finally:
        driver.quit()
        server.terminate()
        server.wait(timeout=20)
    for name, values in found.items():
        print(f"{name:18}", "  ".join(f"{key} {value:g}" for key, value in values.items()))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
