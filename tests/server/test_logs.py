"""The log of a server, in both forms."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from shiyi.errors import SettingError
from shiyi.server.app import configure_logging, create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import ServerSettings, Settings
from tests.support.places import ROOT
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
def test_the_log_is_lines_for_people_or_objects_for_programs(form: str) -> None:
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


def test_a_form_of_log_that_is_not_there_is_named() -> None:
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


def test_nothing_of_a_person_is_in_a_log_or_an_address(
    starter_kb: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = Settings(server=ServerSettings(slow=1e-6))
    app = create_app(open_site(starter_kb, settings, read_only=True), settings)
    client = app.test_client()
    person = {"age": "71.5", "medicines": "华法林，warfarinum", "allergies": "花生过敏"}
    try:
        page = client.post("/ask", data={"q": "可以喝枸杞茶吗", **person}, headers=HTML)
        shown = page.text  # a stream is read to its end before the next begins
        data = {"q": "可以喝枸杞茶吗", **person}
        shown += client.post("/api/ask/stream?page=1", data=data).text
        for path in ("/api/ask", "/api/check", "/check", "/ask"):
            for result in (
                {"data": {"things": "华法林\nwarfarinum", **person}},
                {"json": {"question": "华法林", "things": ["华法林", "warfarinum"]}},
            ):
                assert client.post(path, **result).text
    finally:
        app.extensions["shiyi"].close()
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert page.headers["Referrer-Policy"] == "strict-origin"
    assert reported(shown)  # what was said is on the page, for the next question
    addresses = re.findall(r'(?:href|src|action)="([^"]*)"', shown)
    assert len(addresses) > 20
    assert [each for each in addresses if reported(each)] == []
    lines = [f"{each.getMessage()} {vars(each)}" for each in caplog.records]
    assert any("slow request" in each for each in lines)
    assert [each for each in lines if reported(each)] == []


def test_proxy_logs_no_query_string() -> None:
    conf = (ROOT / "server/deploy/nginx.conf").read_text("utf-8")
    form = re.findall(r"log_format private '([^']*)'", conf)[0]
    assert not re.search(r"\$(request|request_uri|args|query_string|http_referer)\b", form)
    assert re.findall(r"^\s*access_log\s.*", conf, re.MULTILINE) == [
        "  access_log /var/log/nginx/access.log private;"
    ]
    assert "error_log /var/log/nginx/error.log crit;" in conf
