"""Patterns that signs point to: where very many share a sign, the best known are looked at."""

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding import differentiation
from shiyi.answering.understanding.differentiation import differentiate
from shiyi.ontology.terms import SHIYI


def test_of_patterns_that_share_sign_so_many_of_best_known_looked_at(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = runtime.facts
    sign = max(
        facts.members(SHIYI.Symptom), key=lambda each: len(facts.into(each, SHIYI.hasManifestation))
    )
    whole = differentiate(facts, (sign,), ()).patterns
    monkeypatch.setattr(differentiation, "_MOST", 3)
    assert differentiate(facts, (sign,), ()).patterns == whole[:3]
    assert len(whole) > 3
