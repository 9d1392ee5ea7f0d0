"""The documentation and the page of the API."""

import re
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.server.app import create_app
from shiyi.server.pages.documentation import _render_page, page_files, read_page, search_pages
from tests.support.sites import HTML, open_test_site


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(Path(tmp_path_factory.mktemp("docs")))
    yield create_app(site).test_client()
    site.close()


def test_every_page_opens_and_its_links_lead_somewhere(client: FlaskClient) -> None:
    assert len(page_files()) > 20
    broken = []
    for name in page_files():
        language = "zh" if name.endswith(".zh.md") else "en"
        page = client.get(f"/docs/{name}", headers=HTML, follow_redirects=True)
        assert page.status_code == 200, name
        name = name.replace(".zh.md", ".md")
        html = str(read_page(name, language).html)
        for link in re.findall(r'(?:href|src)="([^"]+)"', html):
            if "://" in link or link.startswith(("mailto:", "/")):
                continue
            target, _, anchor = link.partition("#")
            place = normpath(Path(name).parent / target) if target else name
            if place.endswith(".md"):
                known = {heading.anchor for heading in read_page(place, language).headings}
                if anchor and anchor not in known:
                    broken.append(f"{name}: {link}")
            elif client.get(f"/docs/{place}").status_code != 200:
                broken.append(f"{name}: {link}")
    assert broken == []


def test_start_page_is_in_language_of_reader(client: FlaskClient) -> None:
    assert "食医使用说明" in client.get("/docs/?lang=zh", headers=HTML).text
    assert "Documentation of Shiyi" in client.get("/docs/?lang=en", headers=HTML).text
    assert client.get("/docs").headers["Location"].endswith("/docs/")
    for old in ("commands", "commands.md", "TESTING.md"):
        assert client.get(f"/docs/{old}").headers["Location"].startswith("/docs/reference/")


def test_page_is_shown_and_found_in_both_languages(client: FlaskClient) -> None:
    address = "/docs/tutorials/first-query.md"
    assert "第一条查询" in client.get(f"{address}?lang=zh", headers=HTML).text
    assert "A first query" in client.get(f"{address}?lang=en", headers=HTML).text
    moved = client.get("/docs/tutorials/first-query.zh.md", headers=HTML)
    assert moved.headers["Location"] == f"{address}?lang=zh"
    for language, result in (("zh", address), ("en", f"{address}?lang=zh")):
        page = client.get(f"/docs/?q=第一条查询&lang={language}", headers=HTML).text
        assert f'href="{result}"' in page
    assert search_pages("curation")[0].language == "en"


def test_a_heading_may_state_its_anchor() -> None:
    page = _render_page("a.md", "zh", "# 甲\n\n## 写入 `x` {#writing}\n\n[乙](b.zh.md#c)")
    assert [heading.anchor for heading in page.headings] == ["甲", "writing"]
    assert page.headings[1].text == "写入 x"
    assert '<h2 id="writing">写入 <code>x</code></h2>' in page.html


@pytest.mark.parametrize(
    "name", ["nothing.md", "make/fonts.py", "../README.md", "figures/testing-figures.json"]
)
def test_no_other_file_is_served(client: FlaskClient, name: str) -> None:
    assert client.get(f"/docs/{name}").status_code == 404


def test_words_are_found_title_first(client: FlaskClient) -> None:
    assert search_pages("curation")[0].name == "how-to/curation.md"
    assert search_pages("xqzptw") == []
    page = client.get("/docs/?q=<b>systemd&lang=en", headers=HTML).text
    assert "<b>systemd" not in page
    assert 'href="/docs/how-to/deployment.md"' in client.get("/docs/?q=systemd", headers=HTML).text


def test_api_page_shows_accepted_body_of_operations(client: FlaskClient) -> None:
    page = client.get("/api?lang=en", headers=HTML).text
    described = client.get("/api/openapi.json").get_json()
    names = [item["operationId"] for path in described["paths"].values() for item in path.values()]
    assert re.findall(r'class="operation" id="(\w+)"', page) == names
    assert "&#34;things&#34;: [" in page
    assert "http://" not in page.replace("http://localhost", "")


def test_each_query_of_page_has_run_link(client: FlaskClient) -> None:
    queries = 0
    for name in page_files():
        html = str(read_page(name, "zh" if name.endswith(".zh.md") else "en").html)
        links = re.findall(r'href="(/sparql\?query=[^"]+)"', html)
        assert len(links) == html.count("language-sparql"), name
        for link in links:
            queries += 1
            reply = client.get(link, headers={"Accept": "application/sparql-results+json"})
            known = reply.status_code == 200 or "SERVICE" in reply.text  # no index here
            assert known, (name, reply.text)
    assert queries >= 8


def test_queries_and_modules_have_pages_made_from_them(client: FlaskClient) -> None:
    page = client.get("/docs/reference/queries.md", headers=HTML)
    assert "facts-of-goji" in page.text
    assert 'href="/sparql?query=' in page.text
    index = client.get("/docs/reference/python.md", headers=HTML)
    assert 'href="python/answering.md"' in index.text
    modules = client.get("/docs/reference/python/model.md", headers=HTML)
    assert "class Claim" in modules.text
    assert client.get("/docs/reference/python/nothing.md", headers=HTML).status_code == 404
