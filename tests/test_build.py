"""Building a base: what describes it, and its second process."""

import os

import pytest

from shiyi.build import _second_process, add_description
from shiyi.errors import OutsideError
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import RDF, RDFS, SHIYI


def test_what_two_rows_state_is_counted_once() -> None:
    school, graph = NamedNode("https://e.org/school"), DefaultGraph()
    quads = [
        Quad(school, RDF.type, SHIYI.School, graph),
        Quad(school, RDFS.label, Literal("school", language="en"), graph),
    ]
    assert add_description(quads * 2) == add_description(quads)


@pytest.mark.slow
def test_killed_build_process_gives_an_error() -> None:
    with pytest.raises(OutsideError, match="is memory short"), _second_process() as executor:
        executor.submit(os._exit, 1).result()
