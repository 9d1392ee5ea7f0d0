"""Hostile labels, notes and IRIs in a real browser: no script of theirs runs, no rule is broken."""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from shiyi.model.iris import ID, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS
from tests.support import hostile
from tests.support.hostile import PAYLOADS, TOGETHER, quoting, texts
from tests.support.processes import chromium
from tests.support.sites import served

pytestmark = pytest.mark.browser
pytest.importorskip("selenium", reason="selenium is not installed")
SIGNS = ("alert", "script", "onerror", "javascript:", "{{", "<")
CHOSEN = [payload for payload in PAYLOADS if any(sign in payload for sign in SIGNS)]
NIGHTLY = bool(os.environ.get("SHIYI_NIGHTLY"))
MANY = [each for each in texts() if "<" in each or "alert" in each][:: 1 if NIGHTLY else 5]
WATCH = """
window.ran = []; window.alert = function (x) { window.ran.push('alert ' + x); };
document.addEventListener('securitypolicyviolation', function (e) { window.ran.push('policy ' + e.blockedURI); });
"""


def planted() -> Iterator[Quad]:
    for number, text in enumerate(CHOSEN):
        node = resource(f"food-hostile-{number}")
        yield Quad(node, RDF.type, SKOS.Concept)
        yield Quad(node, RDF.type, SHIYI.Food)
        for predicate in (SKOS.prefLabel, SKOS.altLabel, SKOS.definition, RDFS.comment):
            for language in ("zh", "en"):
                yield Quad(node, predicate, Literal(f"恶{number} {text}", language=language))
        yield Quad(node, SHIYI.latinName, Literal(text))
        for scheme in ("javascript:alert(1)", "data:text/html,<script>alert(1)</script>"):
            yield Quad(node, SKOS.exactMatch, NamedNode(quote(scheme, safe=":,/()")))
    yield from hostile.planted(MANY)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("xss"), planted()) as desks:
        yield desks.address


@pytest.fixture(scope="module")
def driver(address: str) -> Iterator[Any]:
    with chromium() as made:
        made.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield made


def test_no_label_note_or_link_runs(driver: Any, address: str) -> None:
    assert len(CHOSEN) > 12
    pages = [f"/page/food-hostile-{number}" for number in range(len(CHOSEN))]
    pages += [
        "/browse?class=Food",
        "/concept-search?q=恶",
        "/graph/food-hostile-1",
        "/compare?ids=food-hostile-1,food-hostile-2",
    ]
    pages += [f"/ask?q={quote(each)}" for each in CHOSEN[::4]]
    pages += [
        f"/sparql?query={quote('SELECT ?n { ?s <http://www.w3.org/2004/02/skos/core#prefLabel> ?n } LIMIT 60')}"
    ]
    pages += [f"/page/food-many-{at}" for at in range(0, len(MANY), TOGETHER)]
    claims = [quoting(resource("food-many-0"), text) for text in MANY[:TOGETHER:9]]
    for claim in claims:
        pages += [
            f"/page/{node.value.removeprefix(ID)}"
            for node in (claim.iri, claim.evidence[0].source.iri)
        ]
    looked = 0
    for page in pages:
        driver.get(address + page)
        ran = driver.execute_script("return window.ran")
        assert ran == [], (page, ran)
        if "food-many" in page:  # names, notes and quotes are all there to be seen
            assert driver.page_source.count("lert") > TOGETHER // 5, page
        links = driver.execute_script(
            "return [...document.querySelectorAll('a[href],form[action],iframe,object,embed')]"
            ".map(e => e.href || e.action || e.tagName)"
        )
        bad = [link for link in links if not str(link).startswith(("http:", "https:", "mailto:"))]
        assert bad == [], (page, bad)
        looked += 1
    assert looked > 20
