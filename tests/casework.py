"""A base of one's own, open for writing, for the tests of cases and schools."""

import argparse
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.cli.extracting import Extracting
from shiyi.cli.sourcing import batches_of
from shiyi.ingest.forget import forget
from shiyi.ingest.gate import Gate
from shiyi.ingest.report import Report
from shiyi.ingest.run import Options, ingest
from shiyi.linking.labels import LabelIndex
from shiyi.model.rdf import NamedNode, Quad
from shiyi.ontology.terms import DCAT, RDF, SHIYI
from shiyi.settings import ModelSettings, Settings
from shiyi.sparql.knowledge_base import KnowledgeBase


class Desk:
    """A base of the user's own, open for writing, and what reads cases into it."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.base = base
        self.index = LabelIndex.load(base.folder / "index", base.release)
        self.extracting = Extracting("rules", self.index, Gate(self.index), Settings(), base.path)

    def take(self, path: Path, extracting: Extracting | None = None, school: str = "") -> Report:
        reader, report = extracting or self.extracting, Report()
        words = argparse.Namespace(source="cases", school=school, limit=0)
        dataset, batches = batches_of(words, path, reader, self.base, report)
        return ingest(dataset, batches, report, reader.gate, self.base.writer, Options())

    def forget(self, report: Report) -> dict[str, int]:
        return forget(self.base.writer, report.dataset.partition("@")[0])

    def with_model(self) -> Extracting:
        settings = replace(Settings(), models=ModelSettings(extract="scripted", wait=0.01))
        made = Extracting("llm", self.index, self.extracting.gate, settings, self.base.path)
        made._linker = self.extracting._linker  # opening another takes seconds
        return made

    def held(self) -> set[Quad]:
        """Give what the graphs of cases, schools and their sources hold."""
        store = self.base.store
        kinds = (SHIYI.PatientCase, SHIYI.School, DCAT.Dataset)
        places = {q.graph_name for kind in kinds for q in store.match(None, RDF.type, kind)}
        return {
            quad for place in places if isinstance(place, NamedNode)
            for quad in store.match(graph=place)
        }  # fmt: skip


@pytest.fixture(scope="module")
def desk(starter_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    copy = tmp_path_factory.mktemp("cases") / "kb"
    subprocess.run(["cp", "-r", str(starter_kb), str(copy)], check=True)  # noqa: S603, S607
    with KnowledgeBase.open(copy, write=True) as base:
        yield Desk(base)
