"""A quote is shown where it stands in its passage, on the pages of its claim and its evidence."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from shiyi.model.names import resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.statements import claim_quads
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.app import create_app
from shiyi.server.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from tests.server_site import BOOK, GOJI, YIN, claim, quads

PASSAGE = resource("passage/materia-1")
QUOTE = "枸杞子<b>补</b>肝肾"
WORDS = "论曰：" + "前" * 600 + QUOTE + "，明目。"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FlaskClient, str, str]]:
    evidence = replace(
        claim(GOJI, SHIYI.relieves, YIN).evidence[0], source=BOOK, quote=QUOTE, passage=PASSAGE
    )
    quoted = claim(GOJI, SHIYI.relieves, YIN, evidence=(evidence,))
    kb = tmp_path_factory.mktemp("quotes") / "kb"
    made = [*quads(), *claim_quads(quoted), Quad(PASSAGE, RDF.value, Literal(WORDS))]
    build_generation(kb, made, {"quads": len(made)})
    site = open_site(kb, replace(Settings(), kb=kb))
    app = create_app(site)
    yield app.test_client(), quoted.iri.value, evidence.iri(quoted.iri).value
    site.close()


@pytest.mark.parametrize("which", [1, 2])
def test_a_quote_stands_marked_in_its_passage(
    said: tuple[FlaskClient, str, str], which: int
) -> None:
    client = said[0]
    address = "/page/" + str(said[which]).partition("/id/")[2]
    page = client.get(address + "?lang=zh", headers={"Accept": "text/html"}).text
    assert "<mark>枸杞子&lt;b&gt;补&lt;/b&gt;肝肾</mark>，明目。</blockquote>" in page
    assert '<blockquote class="passage">…前前' in page
    assert "论曰" not in page  # far from the quote
