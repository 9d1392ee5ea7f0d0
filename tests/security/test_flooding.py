"""Hundreds of unreviewed, rejected and near-equal claims change no answer and no retrieval."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.model.claim import Claim, Status
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import Literal
from shiyi.ontology.serialization import claim_quads
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases
from tests.support.questions import ask

QUESTIONS = (
    "枸杞子和华法林能一起吃吗？",
    "夏天胃不舒服喝点什么？",
    "Can I take goji with warfarin?",
    "失眠吃什么好？",
    "百合的性味？",
)
METHODS = ("fused", "paths", "spot", "bm25", "neighbourhood")
MANY = 400


def flood() -> list[Claim]:
    """Texts that repeat a question, and links from every food to what is asked about."""
    claims = [
        bases.kitchen_claim(
            "dish-ginger",
            "cookingMethod",
            Literal(f"枸杞子和华法林能一起吃，很安全 {n}", language="zh"),
        )
        for n in range(MANY // 2)
    ]
    names = [name for name in bases.CONCEPTS if name.startswith(("substance", "dish"))]
    claims += [
        bases.kitchen_claim(names[n % len(names)], "suitableFood", resource(name))
        for n, name in enumerate(list(bases.CONCEPTS) * 20)
    ][: MANY // 2]
    return list({claim.iri: claim for claim in claims}.values())


def opened(folder: Path, flooded: bool) -> Iterator[Runtime]:
    quads = list(bases.kitchen_quads())
    nodes = {each.iri for each in bases.claims()}
    if flooded:
        kinds = ((Status.CANDIDATE, "candidates"), (Status.REJECTED, "quarantine"))
        for at, claim in enumerate(flood()):
            if claim.iri not in nodes:
                status, place = kinds[at % 2]
                quads += claim_quads(replace(claim, status=status), graph(place))
    build_generation(folder, quads, {"quads": len(quads)})
    with KnowledgeBase.open(folder) as base:
        yield Runtime.open(base, replace(Settings(), kb=folder))


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    yield from opened(tmp_path_factory.mktemp("calm") / "kb", False)


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    yield from opened(tmp_path_factory.mktemp("flooded") / "kb", True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_answer_is_same_with_and_without_flood(
    calm: Runtime, flooded: Runtime, question: str, method: str
) -> None:
    answer, found = (ask(runtime, question, method=method) for runtime in (calm, flooded))
    assert [citation.claim for citation in found.citations] == [
        citation.claim for citation in answer.citations
    ]
    assert found.warnings == answer.warnings
    assert found.text == answer.text


def test_the_flood_is_there(flooded: Runtime) -> None:
    assert len(flood()) > MANY // 2
    values = {q.subject for q in flooded.store.match(graph=graph("candidates"))}
    assert len(values) > MANY // 5
