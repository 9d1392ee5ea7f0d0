"""The log of a server, in both forms."""

import json
import re
import subprocess
import sys
import urllib.request
from email.message import Message
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import pytest

from shiyi.errors import SettingError
from shiyi.server.app import configure_logging
from tests.support.places import ROOT
from tests.support.processes import serving
from tests.support.sites import HTML

SPEAKER = """
import logging, sys
from shiyi.server.app import configure_logging
configure_logging(sys.argv[1])
logging.getLogger("shiyi").info("begun")
logging.getLogger("other").info("never told")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("shiyi").exception("fault at %s", "/nowhere", extra={"route": "/x", "ms": 3})
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_lines_for_people_or_objects_for_programs(form: str) -> None:
    output = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", SPEAKER, form], capture_output=True, text=True, check=True
    ).stderr
    assert "never told" not in output
    assert "ZeroDivisionError" in output
    if form == "json":
        begun, fault = map(json.loads, output.splitlines())
        assert (begun["level"], begun["logger"], begun["message"]) == ("info", "shiyi", "begun")
        assert (fault["message"], fault["route"], fault["ms"]) == ("fault at /nowhere", "/x", 3)
        assert fault["fault"].startswith("Traceback")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fault["time"])
    else:
        assert re.match(
            r"\S+Z INFO shiyi: begun\n\S+Z ERROR shiyi: fault at /nowhere route=/x ms=3\n", output
        )


def test_unknown_log_format_is_named() -> None:
    with pytest.raises(SettingError, match="text, json"):
        configure_logging("xml")


def test_nobody_forges_a_line_of_the_log() -> None:
    speaker = """
import logging
from shiyi.server.app import configure_logging
configure_logging("text")
logging.getLogger("shiyi").warning("gone: %s", "x\\n2026-11-22 INFO shiyi: 枸杞\\u2028\\x1b[2J", extra={"a": "1\\r2"})
"""
    output = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", speaker], capture_output=True, text=True, check=True
    ).stderr
    assert len(output.splitlines()) == 1
    assert "枸杞" in output
    assert "\x1b" not in output


SECRET = ("华法林", "warfarinum", "花生过敏", "71.5")


def reported(text: str) -> list[str]:
    return [
        each for each in SECRET if each in text or quote(each) in text or quote_plus(each) in text
    ]


def posted(url: str, form: dict[str, str] | None, data: object = None) -> tuple[str, Message]:
    """Post a form, or JSON where there is none, and return the text and headers of the reply."""
    body = urlencode(form).encode() if form else json.dumps(data).encode()
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    headers = {**HTML, "Content-Type": kind}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:  # noqa: S310
        return reply.read().decode(), reply.headers


def test_nothing_of_person_is_in_log_or_address(starter_kb: Path, tmp_path: Path) -> None:
    person = {"age": "71.5", "medicines": "华法林，warfarinum", "allergies": "花生过敏"}
    asked = {"q": "可以喝枸杞茶吗", **person}
    log = tmp_path / "log"
    with serving(starter_kb, {"SHIYI_SERVER_SLOW": "1e-6"}, log) as (server, _):
        page, headers = posted(f"{server}/ask", asked)
        shown = page + posted(f"{server}/api/ask/stream?page=1", asked)[0]
        posted(f"{server}/api/ask", None, {"question": "华法林"})
        posted(f"{server}/api/check", None, {"things": ["华法林", "warfarinum"]})
        assert posted(f"{server}/check", {"things": "华法林\nwarfarinum", **person})[0]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "strict-origin"
    assert reported(shown)  # what was reported is on the page, for the next question
    addresses = re.findall(r'(?:href|src|action)="([^"]*)"', shown)
    assert len(addresses) > 20
    assert [address for address in addresses if reported(address)] == []
    lines = log.read_text("utf-8").splitlines()
    assert [
        route for route in ("/ask", "/api/check", "/check") if f"route={route} " not in str(lines)
    ] == []
    assert [line for line in lines if reported(line)] == []


def test_proxy_logs_no_query_string() -> None:
    conf = (ROOT / "server/deploy/nginx.conf").read_text("utf-8")
    form = re.findall(r"log_format private '([^']*)'", conf)[0]
    assert not re.search(r"\$(request|request_uri|args|query_string|http_referer)\b", form)
    assert re.findall(r"^\s*access_log\s.*", conf, re.MULTILINE) == [
        "  access_log /var/log/nginx/access.log private;"
    ]
    assert "error_log /var/log/nginx/error.log crit;" in conf
