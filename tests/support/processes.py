"""Processes for tests: `shiyi` commands and servers, a headless browser, a canary."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def command(
    kb: Path, *words: str, env: dict[str, str] | None = None, timeout: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run `shiyi` over a base in a process of its own, with ``env`` added to the environment."""
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), *words],
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


@contextmanager
def serving(
    kb: Path, env: dict[str, str] | None = None, log: Path | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `shiyi serve` over a base; yield its address and process once it answers."""
    port = free_port()
    with (log or Path(os.devnull)).open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port", str(port)],
            env=os.environ | (env or {}),
            stdout=out,
            stderr=out,
        )
    address, until = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while True:
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=60).close()  # noqa: S310
                break
            except OSError as fault:
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("the server does not answer") from fault
                time.sleep(0.1)
        yield address, process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def chromium() -> Iterator[Any]:
    """Open Chromium, whose console is stored; the test is skipped where there is none."""
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
    """Return what the browser complained of since it was asked last."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def sized(driver: Any, width: int) -> None:
    """Set the width of the screen, a phone's below 600 pixels."""
    metrics = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait_until(driver: Any, is_reached: Callable[[], object]) -> object:
    """Return the first true value of ``is_reached`` within ten seconds."""
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(driver, 10).until(lambda _: is_reached())


def shown(driver: Any, element: Any) -> str:
    """Return the text of an element, once it is drawn."""
    return str(wait_until(driver, lambda: element.text))


def click(driver: Any, element: Any) -> None:
    """Click an element where it is: pages scroll smoothly, tests do not wait."""
    driver.execute_script("arguments[0].click()", element)


class Canary:
    """A listener on a free port; ``visits`` counts connections, ``address`` is its URL."""

    def __init__(self) -> None:
        self.visits = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@contextmanager
def running(app: Any, threads: int = 4) -> Iterator[str]:
    """Serve a WSGI application from a thread of this process; yield its address.

    At the end that thread closes the connections and the server: closed by another thread, they
    vanish under its poll, which may end it with connections left open.
    """
    from waitress.server import create_server

    server = create_server(app, map={}, host="127.0.0.1", port=0, threads=threads)

    def close() -> None:
        for channel in list(server.active_channels.values()):
            channel.handle_close()
        server.close()

    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.task_dispatcher.shutdown(timeout=30)
        with suppress(OSError):  # an awake thread closes, and its pipe, before it is woken
            server.trigger.pull_trigger(close)
        thread.join(30)
        assert not thread.is_alive()
