"""The linker over the tables of the repository, with the shipped model."""

from functools import cache

from shiyi.artefacts import artefact
from shiyi.linking.embedding.embedder import open_shipped
from shiyi.linking.embedding.index import LabelVectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker


@cache
def of_tables() -> Linker:
    """Make it once a process."""
    index, model = LabelIndex.from_tables(artefact("ontology/concepts")), open_shipped()
    assert model is not None
    return Linker(index, LabelVectors.of(index, model))
