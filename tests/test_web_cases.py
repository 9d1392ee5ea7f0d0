"""A concept's page counts the cases that speak of it, and quotes none."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.model.names import graph, resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.server.app import create_app
from shiyi.server.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.case_layer import counted
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests.server_site import GOJI, YIN, quads

PLACE = graph("cases", "ward")
TOLD = "口干咽燥已三年，夜间尤甚"


def case_quads() -> Iterator[Quad]:
    for number, (age, sex) in enumerate((("elder", "female"), ("elder", "male"), ("adult", ""))):
        case = resource(f"case/{number}")
        words = resource(f"mention/{number}")
        yield Quad(case, RDF.type, SHIYI.PatientCase, PLACE)
        yield Quad(case, RDF.value, Literal(TOLD, language="zh"), PLACE)
        yield Quad(case, SHIYI.ageGroup, Literal(age), PLACE)
        if sex:
            yield Quad(case, SHIYI.sex, Literal(sex), PLACE)
        yield Quad(words, SHIYI.mentionedIn, case, PLACE)
        yield Quad(words, RDFS.label, Literal("口干咽燥", language="zh"), PLACE)
        yield Quad(words, SHIYI.theReferenceOf, YIN, PLACE)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kb = tmp_path_factory.mktemp("cases") / "kb"
    build_generation(kb, [*quads(), *case_quads()], {})
    return kb


@pytest.fixture(scope="module")
def client(kb: Path) -> Iterator[FlaskClient]:
    site = open_site(kb, replace(Settings(), kb=kb))
    yield create_app(site).test_client()
    site.close()


def test_cases_are_counted_by_age_sex_and_words(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        found = counted(base.store, YIN.value)
        assert counted(base.store, GOJI.value).cases == 0
    assert found.cases == 3
    assert found.age_groups == (("elder", 2), ("adult", 1))
    assert found.sexes == (("female", 1), ("male", 1))
    assert found.words == (("口干咽燥", 3),)


@pytest.mark.parametrize(("language", "heading"), [("zh", "病例"), ("en", "Cases")])
def test_the_page_shows_the_counts_and_no_case(
    client: FlaskClient, language: str, heading: str
) -> None:
    path = "/page/" + YIN.value.rpartition("/")[2]
    page = client.get(path, headers={"Accept-Language": language}).text
    assert f">{heading} <span" in page
    assert "口干咽燥" in page
    assert TOLD not in page


def test_a_concept_no_case_speaks_of_has_no_such_part(client: FlaskClient) -> None:
    page = client.get("/page/" + GOJI.value.rpartition("/")[2]).text
    assert 'id="cases"' not in page
