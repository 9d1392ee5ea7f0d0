"""The facts in memory after decisions are those that reading the whole base again would give."""

import gc
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.knowledge.updates import changes_in, level
from shiyi.answering.runtime import Runtime, RuntimeHolder
from shiyi.columnar.strings import PatchedMap
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.model.answer import CitedEvidence
from shiyi.model.claim import Claim, Status
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.derivation import read_derived, rule_quads
from shiyi.server.site.opening import Refresher
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import (
    CLAIMS,
    DATE,
    GOJI,
    HARM,
    INTERACTION,
    NAMES,
    TIRED,
    WARFARIN,
    build,
    claim,
)

STEW, CLASS_ = resource("dish-stew"), resource("drug-class")
KINDS = (SHIYI.Dish, SHIYI.Symptom, SHIYI.Food, SHIYI.MFHSubstance, SHIYI.Drug)
MORE = (
    claim(STEW, SHIYI.hasIngredient, GOJI, 0.9),
    claim(GOJI, SHIYI.interactsWith, CLASS_, 0.6, status=Status.CANDIDATE),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("living") / "kb"), write=True) as opened:
        quads: list[Quad] = [
            Quad(STEW, RDF.type, SHIYI.Dish),
            Quad(CLASS_, RDF.type, SHIYI.DrugClass),
            Quad(WARFARIN, SKOS.broader, CLASS_),
        ]
        for each in MORE:
            candidate = each.status is Status.CANDIDATE
            quads += claim_quads(each, graph("candidates") if candidate else DefaultGraph())
        opened.writer.write(quads, key="more", agent="test", reason="test")
        opened.writer.write(
            tuple(rule_quads(opened.store)), key="rules", agent="test", reason="test"
        )
        yield opened


@pytest.fixture(scope="module")
def parts(base: KnowledgeBase) -> tuple[RuntimeHolder, Refresher, Decisions]:
    living = RuntimeHolder(Runtime.open(base, Settings()))
    changes = Changes(base.writer)
    refresher = Refresher(living, changes, lambda: None)
    refresher.rederive_soon = lambda: None  # type: ignore[method-assign] # here it is called by name
    return living, refresher, Decisions(changes)


def flat(index: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: sorted(found, key=str) for key, found in index.items() if found}


def edges(projection: Projection) -> list[Any]:
    columns = (projection.source, projection.kind, projection.target, projection.confidence)
    return sorted(
        (projection.nodes[s], projection.predicates[k], projection.nodes[t], c, round(float(v), 9))
        for (s, k, t, v), c in zip(zip(*columns, strict=True), projection.claims, strict=True)
    )


def check_facts(living: RuntimeHolder, base: KnowledgeBase) -> None:
    read = Facts.read(base.store, Schema.load())
    facts = living.current.facts
    assert facts.joins == read.joins
    for name in (
        "by_subject",
        "by_object",
        "by_claim",
        "premises",
        "classes",
        "broader",
        "narrower",
        "_of_class",
    ):
        assert flat(getattr(facts, name)) == flat(getattr(read, name)), name
    assert edges(living.current.projection) == edges(Projection.from_store(base.store, ""))


def check(living: RuntimeHolder, base: KnowledgeBase) -> None:
    check_facts(living, base)
    quads = {q for q in base.store.match(graph=graph("derived")) if q.predicate != SHIYI.pageRank}
    assert quads == set(rule_quads(base.store))
    assert living.derived_claims() == read_derived(base.store)


def retrieved(runtime: Runtime) -> list[Any]:
    """Walk from every concept to each class."""
    walk = runtime.retriever.retrieve
    return [
        [path.hops for path in walk([node], [kind], 9, 0.0).paths]
        for node in sorted(runtime.facts.classes)
        for kind in KINDS
    ]


@pytest.mark.parametrize("seed", range(3))
def test_facts_and_walks_follow_class_and_hierarchy_changes(
    base: KnowledgeBase, parts: tuple[RuntimeHolder, Refresher, Decisions], seed: int
) -> None:
    living = parts[0]
    chance = random.Random(seed)  # noqa: S311
    concepts = [*NAMES, STEW, CLASS_]
    eased = [claim(each, SHIYI.relieves, TIRED, 0.7) for each in (GOJI, DATE, STEW)]
    quads = [quad for each in eased for quad in claim_quads(each, DefaultGraph())]
    base.writer.write(quads, key="eased", agent="test", reason="test")
    living.refresh(*changes_in(quads))
    walked = retrieved(living.current)
    seen = [walked]
    for step in range(8):
        node, default = chance.choice(concepts), DefaultGraph()
        old = [
            *base.store.match(node, RDF.type, None, default),
            *base.store.match(node, SKOS.broader, None, default),
        ]
        new = [Quad(node, RDF.type, chance.choice(KINDS), default)] if chance.random() < 0.9 else []
        above = [concept for concept in concepts if concept != node and concept.value > node.value]
        new += [
            Quad(node, SKOS.broader, broader, default) for broader in above if chance.random() < 0.2
        ]
        base.writer.write(new, old, key=f"{seed}-{step}", agent="test", reason="test")
        living.refresh(*changes_in((*old, *new)))
        check_facts(living, base)
        walked = retrieved(living.current)
        assert walked == retrieved(Runtime.open(base, Settings()))
        seen.append(walked)
    assert any(one != other for one, other in pairwise(seen))


@pytest.mark.parametrize("seed", range(4))
def test_facts_follow_any_course_of_reviews(
    base: KnowledgeBase, parts: tuple[RuntimeHolder, Refresher, Decisions], seed: int
) -> None:
    living, refresher, decisions = parts
    chance = random.Random(seed)  # noqa: S311
    changes = []
    for _ in range(12):
        chosen: Claim = chance.choice((*CLAIMS, *MORE))
        kind, who = chance.choice(("accept", "reject", "unsure")), chance.choice(("li", "wang"))
        changes.append(decisions.review(chosen.iri.value, ReviewDecision(kind, who)))
        if chance.random() < 0.3:
            decisions.undo(changes.pop(chance.randrange(len(changes))).iri, "li", "")
    refresher.rederive()
    check(living, base)


def test_inherited_cautions_come_and_go_with_their_premises(
    base: KnowledgeBase, parts: tuple[RuntimeHolder, Refresher, Decisions]
) -> None:
    living, refresher, decisions = parts
    for name in ("li", "wang"):
        decisions.review(MORE[1].iri.value, ReviewDecision("accept", name))
        decisions.review(INTERACTION.iri.value, ReviewDecision("reject", name))
    refresher.rederive()
    check(living, base)
    resting = [
        grounds
        for grounds in living.current.facts.premises.values()
        if MORE[1].iri.value in grounds
    ]
    assert resting
    for name in ("li", "wang"):
        decisions.review(MORE[1].iri.value, ReviewDecision("reject", name))
    refresher.rederive()
    check(living, base)
    assert not any(MORE[1].iri.value in g for g in living.current.facts.premises.values())


def test_an_adjacency_from_the_build_is_brought_level(
    base: KnowledgeBase, parts: tuple[RuntimeHolder, Refresher, Decisions]
) -> None:
    living, _, decisions = parts
    old = living.current.projection
    decisions.review(HARM.iri.value, ReviewDecision("accept", "li"))
    decisions.review(HARM.iri.value, ReviewDecision("accept", "wang"))
    assert edges(level(old, living.current.facts)) == edges(Projection.from_store(base.store, ""))


def test_replaced_objects_are_freed_at_a_refresh(
    base: KnowledgeBase, parts: tuple[RuntimeHolder, Refresher, Decisions]
) -> None:
    living = parts[0]
    claims = [claim for claim, _ in zip(living.current.facts.by_claim, range(3), strict=False)]
    living.refresh(claims)
    gc.collect()
    gc.disable()  # a server looks for rings of old objects hardly ever
    try:
        before = held_now()
        for _ in range(40):
            for each in claims:
                assert living.current.evidences.of(each, "zh")
            living.refresh(claims)
        assert held_now() == before
    finally:
        gc.enable()


def held_now() -> Counter[str]:
    kinds = {Runtime, Facts, Evidences, CitedEvidence, PatchedMap, Projection}
    return Counter(type(item).__name__ for item in gc.get_objects() if type(item) in kinds)
