"""What is to be avoided is no wish for advice; what is alike is listed; a definition defines."""

from shiyi.answering.pipeline import Runtime
from shiyi.model.iris import VOCAB
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask, read
from tests.tables import from_table


@from_table
def test_foods_to_avoid_are_listed_separately(
    runtime: Runtime, question: str, avoid: bool, advice: bool
) -> None:
    asked = read(runtime, question)
    assert (asked.wants("avoid"), asked.wants("advice")) == (avoid, advice)


@from_table
def test_question_what_to_avoid_gets_no_recommendation(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations == ()
    assert not answer.abstained
    against = {
        "unsuitableFood",
        "contraindicatedIn",
        "cautionIn",
        "aggravates",
        "derivedCaution",
        "hasRedFlag",
        "guidance",
    }
    assert {c.predicate.iri.removeprefix(VOCAB) for c in answer.citations} <= against
    assert "没有列出的不等于没有风险" in answer.text or "not thereby free of risk" in answer.text


def test_medicines_come_last_among_what_is_best_avoided(runtime: Runtime) -> None:
    answer = ask(runtime, "哮喘病人要避免什么药和食物")
    named = [c.subject.iri for c in answer.citations if not c.predicate.iri.endswith("hasRedFlag")]
    drugs = [runtime.facts.is_a(iri, SHIYI.Drug) for iri in named]
    assert drugs == sorted(drugs)
    assert {*drugs} == {True, False}


def test_what_a_medicine_forbids_is_its_interactions(runtime: Runtime) -> None:
    answer = ask(runtime, "吃华法林要避免什么食物")
    results = {c.predicate.iri for c in answer.citations}
    assert results == {f"{VOCAB}interactsWith", f"{VOCAB}guidance"}
    assert len(answer.citations) > 3
    assert answer.recommendations == ()


@from_table
def test_things_of_nature_listed_alike_in_both_languages(
    runtime: Runtime, zh: str, en: str
) -> None:
    one, other = ask(runtime, zh), ask(runtime, en)
    assert [c.claim for c in one.citations] == [c.claim for c in other.citations]
    assert {c.predicate.iri for c in one.citations} == {f"{VOCAB}hasNature"}
    assert one.recommendations == ()


@from_table
def test_sign_stated_in_sentence_not_read_as_emergency(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert not any(w.severity == "emergency" for w in answer.warnings)
    assert any(m.iri.endswith("symptom-constipation") for m in answer.linked)
    assert answer.paths


@from_table
def test_list_meets_every_condition_that_its_words_set(
    runtime: Runtime, question: str, conditions: set[str], named: set[str], absent: set[str]
) -> None:
    results = {
        f"{c.property} {c.operator} {c.value.split('|')[0].rpartition('/')[2]}".rstrip()
        for c in read(runtime, question).frame.conditions
    }
    assert results == conditions
    text = ask(runtime, question).text
    assert {each for each in named if each not in text} == set()
    assert {each for each in absent if each in text} == set()
