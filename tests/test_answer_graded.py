"""Sources grade cautions in words of their own: none is told milder than it is, and one that forbids counts."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.evidence import forbids
from shiyi.answering.voice import Voice
from shiyi.ontology.terms import SHIYI


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Can I take red yeast rice in pregnancy?", "to be avoided in pregnant women"),
        ("Can I eat high-mercury fish while pregnant?", "to be avoided in pregnant women"),
        ("Is codonopsis fine in pregnancy?", "not recommended in pregnant women"),
        ("孕妇能吃螃蟹吗", "孕妇忌用"),
        ("孕妇能吃白果吗", "孕妇忌用"),
    ],
)
def test_a_grade_is_told_as_the_gravest_source_has_it(
    runtime: Runtime, question: str, said: str
) -> None:
    answer = ask(runtime, question)
    assert said in answer.text
    assert said in " ".join(warning.text for warning in answer.warnings)


def test_what_any_source_forbids_is_forbidden_and_in_english_nothing_forbidden_is_a_caution(
    runtime: Runtime,
) -> None:
    safety, evidences = runtime.safety, runtime.safety.evidences
    english = Voice("en", runtime.facts, evidences)
    differing = forbidden = 0
    for claim, [fact, *_] in runtime.facts.by_claim.items():
        if fact.predicate != SHIYI.cautionIn:
            continue
        grades = {
            value
            for each in evidences.of(claim, "en")
            for name, value in each.qualifiers
            if name == "grade"
        }
        if not any(forbids(grade) for grade in grades):
            continue
        forbidden += 1
        differing += not all(forbids(grade) for grade in grades)
        assert safety.severity(fact) == "contraindicated", grades
        assert english.grade(fact) in {"contraindicated", "to be avoided"}, grades
    assert forbidden > 100
    assert differing > 5
