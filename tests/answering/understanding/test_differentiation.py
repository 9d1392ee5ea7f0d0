"""Patterns that signs point to: where very many share a sign, the best known are looked at."""

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding import differentiation
from shiyi.answering.understanding.differentiation import differentiate
from shiyi.ontology.terms import SHIYI


def test_patterns_that_share_a_sign_are_limited(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = runtime.facts
    sign = max(
        facts.members(SHIYI.Symptom),
        key=lambda each: len(facts.inverse(each, SHIYI.hasManifestation)),
    )
    whole = differentiate(facts, (sign,), ()).patterns
    monkeypatch.setattr(differentiation, "_MOST", 3)
    assert differentiate(facts, (sign,), ()).patterns == whole[:3]
    assert len(whole) > 3
