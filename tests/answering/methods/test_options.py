"""Every option of every method changes the outcome of some question on the starter base."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.tables import cases

# an option, another value, the method, and questions one of which it answers otherwise
OPTIONS = cases("answering", "method_options")
ELSEWHERE = dict(cases("answering", "options_elsewhere"))  # and the module that shows their effect
SECTIONS = {each.name for each in fields(Settings)} - {"kb", "base", "store"}
OPERATIONAL = {"models", "query", "remote", "server"}  # how it runs, not what is answered or learnt
RESOURCES = {"reasoning.threads", "ingest.batch", "ingest.table_batch"}  # the outcome is the same


@pytest.fixture(scope="module")
def base(starter_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(starter_kb) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(base: KnowledgeBase) -> Runtime:
    return Runtime.open(base, Settings())


def outcome(runtime: Runtime, question: str, method: str) -> object:
    """Return what an answer recommends, cites and ranks, and what ran its queries."""
    answer = ask(runtime, AskRequest(question, method))
    ranked = [(claim, round(score, 6)) for claim, score in answer.trace.claims]
    paths = [(round(path.score, 6), [hop.claim for hop in path.hops]) for path in answer.paths]
    cited = [citation.claim for citation in answer.citations]
    given = [recommendation.iri for recommendation in answer.recommendations]
    return given, cited, ranked, paths, answer.missing, answer.trace.engine


@pytest.mark.parametrize(("option", "value", "method", "questions"), OPTIONS)
def test_an_option_changes_an_outcome(
    base: KnowledgeBase,
    plain: Runtime,
    option: str,
    value: str,
    method: str,
    questions: tuple[str, ...],
) -> None:
    runtime = Runtime.open(base, Settings.read(f"{option} = {value}", {}))
    assert any(outcome(plain, q, method) != outcome(runtime, q, method) for q in questions)


def test_no_option_of_a_method_is_left_out() -> None:
    known = {
        f"{name}.{field.name}"
        for name in SECTIONS - OPERATIONAL - ELSEWHERE.keys()
        for field in fields(getattr(Settings(), name))
    }
    tried = {option for option, *_ in OPTIONS}
    tried |= {f"reasoning.{option}" for option, _ in cases("other", "training_options")}
    assert known - tried - ELSEWHERE.keys() == RESOURCES
    tests = Path(__file__).parents[2]
    for option, module in ELSEWHERE.items():
        key = option.rpartition(".")[2]
        assert re.search(rf"(?i)(?:\b|_){key}\b", (tests / module).read_text("utf-8")), option
