"""What the knowledge of answers keeps in memory has a bound."""

from pathlib import Path

import pytest

from shiyi.answering.knowledge import evidence
from shiyi.answering.knowledge import facts as facts_of_answers
from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.fact_file import open_facts
from shiyi.answering.knowledge.facts import Facts
from shiyi.columnar.strings import LazyMap, PatchedMap
from shiyi.linking import normalization
from shiyi.ontology.schema import Schema
from shiyi.sparql.base.knowledge_base import KnowledgeBase


def opened(base: KnowledgeBase) -> Facts:
    return open_facts(base.folder / "index", base.release, Schema.load()).facts


def test_evidence_cache_is_bounded_by_claims(
    starter_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_CITED_CACHE", 50)
    monkeypatch.setattr(evidence, "_READ_CACHE", 5)
    with KnowledgeBase.open(starter_kb) as base:
        facts = opened(base)
        claims = [claim for claim, _ in zip(facts.by_claim, range(200), strict=False)]
        evidences, second = Evidences(base.store, facts), Evidences(base.store, facts)
        results = [evidences.of(claim, "zh") for claim in claims]
        assert evidences._cited.cache_info().currsize == 50
        assert evidences._known.cache_info().currsize == 5
        assert all(results)
        assert results == [second.of(claim, "zh") for claim in claims]


def test_name_of_many_claims_is_stored_once(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        facts = opened(base)
        listed_facts = [f for row in facts.by_subject.values() for f in row if not f.language][:500]
        assert len(listed_facts) == 500
        for fact in listed_facts:
            [other] = [f for f in facts.by_object[fact.object] if f.claim == fact.claim]
            assert other.claim is fact.claim
            assert other.subject is fact.subject


def test_names_that_nobody_has_are_not_remembered(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        labels = opened(base).labels
        assert isinstance(labels, LazyMap)
        name = next(iter(labels))
        assert labels[name]
        before = labels._known.cache_info().currsize
        for number in range(100):
            asked = f"{name}-{number}"
            assert asked not in labels
            assert labels.get(asked, {}) == {}
            with pytest.raises(KeyError):
                labels[asked]
        assert labels._known.cache_info().currsize == before


def test_hierarchy_cache_is_bounded_by_concepts(
    starter_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts_of_answers, "_CACHED", 20)
    with KnowledgeBase.open(starter_kb) as base:
        facts = opened(base)
        concepts = [iri for iri, _ in zip(facts.broader, range(100), strict=False)]
        results = [(facts.above(concept), facts.below(concept)) for concept in concepts]
        for retained in (facts._ancestors, facts._descendants):
            assert retained.cache_info().currsize == 20  # type: ignore[attr-defined] # of lru_cache
        assert results == [(facts.above(concept), facts.below(concept)) for concept in concepts]
        assert any(len(above) > 1 for above, _ in results)


def test_entry_that_came_and_went_leaves_nothing_behind() -> None:
    entries: PatchedMap[str, int] = PatchedMap({"a": 1, "b": 2}, {"b": None})
    for number in range(1000):
        entries = PatchedMap(PatchedMap(entries, {f"c{number}": 3}), {f"c{number}": None})
    assert dict(entries) == {"a": 1}
    assert len(entries) == 1
    assert entries.changes == {"b": None}


def test_character_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 1000)))
    result = normalization.fold(text)
    monkeypatch.setattr(normalization, "_REMEMBERED", 100)
    assert normalization.fold(text[::-1]) == result[::-1]
    normalization._table().clear()
    assert normalization.fold(text) == result
    assert len(normalization._table()) <= 100
    assert normalization._fold_character.cache_info().maxsize == 1 << 16
