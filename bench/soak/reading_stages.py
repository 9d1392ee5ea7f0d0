"""Killed while reading texts, with rules and with a model, and while forgetting them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from tests.ingest.extraction.test_llm import GATE, INDEX, JOURNAL, KEY
from tests.support.copies import copy_base
from tests.support.model_endpoints import serving

from shiyi.errors import UsageError
from shiyi.ingest import retraction as forgetting
from shiyi.ingest.batches import ImportRun, Report
from shiyi.ingest.documents.files import read_text
from shiyi.ingest.run import Options, ingest, text_batches
from shiyi.ingest.sources import ExtractorFactory
from shiyi.model.rdf import NamedNode, Quad, text
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.settings import IngestSettings, ModelSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from soak.killing import DamageCount, Say, Stage

_HERBS = "山楂 山药 枸杞子 大枣 百合".split()  # noqa: SIM905
_WORDS = ("味甘，性平。治头痛。", "味辛，性温。治咳嗽。", "味甘，性平。煮粥食。")
PAGE = "# 本草\n\n" + "".join(
    f"## {herb}\n\n{_WORDS[at % 3]}\n\n" for at, herb in enumerate(_HERBS)
)
_SETTINGS = replace(
    Settings(),
    models=ModelSettings(extract="scripted", attempts=3, wait=0.01, timeout=20.0),
    ingest=IngestSettings(batch=1),
)


def _read(kb: Path, page: Path, kind: str, say: Say) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        extracting = ExtractorFactory(kind, INDEX, GATE, _SETTINGS, base.path)
        dataset, document = read_text(page, 1_000_000)
        report = Report()
        run = ImportRun(dataset, _SETTINGS, report)
        batches = text_batches(run, [document], extracting.extractor(dataset), base.store)
        watched = Options(progress=lambda _: say(base.writer.journal.sequence))
        ingest(dataset, batches, report, GATE, base.writer, watched)
        extracting.close()


def _all_quads(kb: Path) -> set[Quad]:
    with KnowledgeBase.open(kb, write=True) as base:
        return {quad for quad in base.store.match() if quad.graph_name != JOURNAL}


@cache
def _wanted(kb: Path) -> set[Quad]:
    return _all_quads(kb)


def _lay(folder: Path) -> None:
    page = folder / "notes.md"
    page.write_text(PAGE, "utf-8")
    build_generation(folder / "empty", [], {})
    for kind in ("rules", "llm"):
        kb = folder / f"whole-{kind}"
        copy_base(folder / "empty", kb)
        with _model(folder):
            _read(kb, page, kind, lambda _: None)
    copy_base(folder / "empty", folder / "kb")


@contextmanager
def _model(folder: Path) -> Iterator[None]:
    with serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
        (folder / "address").write_text(server.url)
        yield


def _torn(quads: set[Quad]) -> int:
    """Count claims without evidence, and evidence whose quote is not in its passage."""
    claims = {q.subject for q in quads if q.predicate == RDF.type and q.object == SHIYI.Claim}
    borne = {q.subject for q in quads if q.predicate == SHIYI.evidence}
    values = {q.subject: text(q.object) for q in quads if q.predicate == RDF.value}
    quotes = {q.subject: text(q.object) for q in quads if q.predicate == SHIYI.quote}
    wrong = 0
    for quad in quads:
        if quad.predicate == PROV.wasDerivedFrom and quad.subject in quotes:
            wrong += quotes[quad.subject] not in values.get(cast("NamedNode", quad.object), "")
    return len(claims - borne) + wrong


def _reader(kind: str) -> tuple[str, str]:
    return kind, f"whole-{kind}"


def read_by_rules(folder: Path, turn: int, say: Say) -> None:
    """Ingest a text with pattern rules."""
    _read(folder / "kb", folder / "notes.md", "rules", say)


def read_by_model(folder: Path, turn: int, say: Say) -> None:
    """Ingest a text with a language model, whose endpoint answers at once."""
    with _model(folder):
        _read(folder / "kb", folder / "notes.md", "llm", say)


def _check_read(folder: Path, kind: str, items: list[int]) -> DamageCount:
    with KnowledgeBase.open(folder / "kb", write=True) as base:
        found = DamageCount(lost=max(0, max(items, default=0) - base.sequence))
        found.torn += _torn({quad for quad in base.store.match() if quad.graph_name != JOURNAL})
    with _model(folder):
        _read(folder / "kb", folder / "notes.md", kind, lambda _: None)
    now, wanted = _all_quads(folder / "kb"), _wanted(folder / f"whole-{kind}")
    found.lost += len(wanted - now)
    found.doubled += len(now - wanted)
    shutil.rmtree(folder / "kb")
    copy_base(folder / "empty", folder / "kb")
    return found


def check_rules(folder: Path, turn: int, found: list[int]) -> DamageCount:
    """Look whether going on gives what an undisturbed run gives."""
    return _check_read(folder, "rules", found)


def check_model(folder: Path, turn: int, found: list[int]) -> DamageCount:
    """Look whether going on gives what an undisturbed run gives."""
    return _check_read(folder, "llm", found)


def _lay_read(folder: Path) -> None:
    _lay(folder)
    shutil.rmtree(folder / "kb")
    copy_base(folder / "whole-rules", folder / "kb")
    copy_base(folder / "whole-rules", folder / "without")
    _forget(folder / "without")


def _forget(kb: Path, say: Say = lambda _: None) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        write = base.writer.write

        def message(*result: Any, **named: Any) -> int:
            number = write(*result, **named)
            say(number)
            return number

        with patch.object(base.writer, "write", message):
            try:
                forgetting.forget(base.writer, "text-notes")
            except UsageError:  # the last part was written before the kill
                return


def forget(folder: Path, turn: int, say: Say) -> None:
    """Forget the text, in parts of a few quads, so that a kill falls between them."""
    forgetting._PART = 40
    _forget(folder / "kb", say)


def check_forgotten(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether going on leaves what an undisturbed run leaves."""
    found = DamageCount(torn=_torn(_all_quads(folder / "kb")))
    _forget(folder / "kb")
    now, wanted = _all_quads(folder / "kb"), _wanted(folder / "without")
    found.lost += len(wanted - now)
    found.doubled += len(now - wanted)
    shutil.rmtree(folder / "kb")
    copy_base(folder / "whole-rules", folder / "kb")
    return found


# a word is stated after each change, and a process dies soon after one of them: between two, or in one
READING = (
    Stage("ingest", _lay, read_by_rules, check_rules, 0.02, 4),
    Stage("model batch", _lay, read_by_model, check_model, 0.05, 4),
    Stage("migration (forget)", _lay_read, forget, check_forgotten, 0.01, 4),
)
