"""What a server keeps of what it read has a bound, however long it runs."""

from pathlib import Path

import pytest

from shiyi.answering import evidence
from shiyi.answering.evidence import Evidences
from shiyi.answering.fact_file import open_facts
from shiyi.answering.facts import Facts
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.knowledge_base import KnowledgeBase


def opened(base: KnowledgeBase) -> Facts:
    return open_facts(base.folder / "index", base.release, Schema.load()).facts


def test_evidence_stays_in_memory_up_to_a_number_of_claims(
    starter_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_CITED_KEPT", 50)
    monkeypatch.setattr(evidence, "_READ_KEPT", 5)
    with KnowledgeBase.open(starter_kb) as base:
        facts = opened(base)
        claims = [claim for claim, _ in zip(facts.by_claim, range(200), strict=False)]
        evidences, anew = Evidences(base.store, facts), Evidences(base.store, facts)
        said = [evidences.of(claim, "zh") for claim in claims]
        assert evidences._said.cache_info().currsize == 50
        assert evidences._known.cache_info().currsize == 5
        assert all(said)
        assert said == [anew.of(claim, "zh") for claim in claims]


def test_a_name_is_in_memory_once_however_many_claims_have_it(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        facts = opened(base)
        said = [f for found in facts.by_subject.values() for f in found if not f.language][:500]
        assert len(said) == 500
        for fact in said:
            [other] = [f for f in facts.by_object[fact.object] if f.claim == fact.claim]
            assert other.claim is fact.claim
            assert other.subject is fact.subject
