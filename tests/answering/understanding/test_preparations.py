"""The form that is asked for: a tea, a soup, congee; and a thing that is named as prepared."""

from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding.mentions import find_asked_forms
from shiyi.linking.normalization import QuestionText
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask
from tests.tables import from_table

_MISSED = ("没有找到以", "Nothing made by")


def _made(runtime: Runtime, iri: str) -> set[str]:
    return {f.object.rpartition("/method-")[2] for f in runtime.facts.of(iri, SHIYI.preparedBy)}


@from_table
def test_only_what_is_of_form_asked_for_suggested(
    runtime: Runtime, question: str, methods: tuple[str, ...]
) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    for recommendation in answer.recommendations:
        assert _made(runtime, recommendation.iri).intersection(methods), recommendation.label
    assert not any(result in answer.text for result in _MISSED)


@from_table
def test_other_preparations_are_offered_where_none_fits(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    recommendations = [
        r for r in answer.recommendations if not _made(runtime, r.iri) & {"wine", "stew"}
    ]
    assert not recommendations or any(result in answer.text for result in _MISSED)


@from_table
def test_a_fruit_or_a_vegetable_is_one(runtime: Runtime, question: str, group: str) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    kinds = runtime.facts.below(resource(f"foodgroup-{group}").value)
    for recommendation in answer.recommendations:
        near = runtime.facts.above(recommendation.iri)
        groups = {f.object for n in near for f in runtime.facts.of(n, SHIYI.hasFoodGroup)}
        assert groups.intersection(kinds), recommendation.label


@from_table
def test_a_drink_that_somebody_has_is_no_form(runtime: Runtime, question: str) -> None:
    forms, _ = find_asked_forms(
        QuestionText.of(question), runtime.linker.link(question), runtime.facts
    )
    assert not forms


@from_table
def test_named_preparation_is_not_another_recipe(
    runtime: Runtime, question: str, thing: str
) -> None:
    answer = ask(runtime, question)
    linked = {m.iri for m in answer.linked if m.iri}
    dishes = {i for i in linked if runtime.facts.is_a(i, SHIYI.Dish, SHIYI.Formula)}
    assert not dishes
    assert thing in answer.text
    guided = any(c.predicate.iri == SHIYI.guidance.value for c in answer.citations)
    assert (f"没有名为“{question[:3]}”的记载" in answer.text) != guided


@from_table
def test_dish_or_formula_of_that_very_name_itself(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert any(runtime.facts.is_a(m.iri, SHIYI.Dish, SHIYI.Formula) for m in answer.linked if m.iri)
    assert "没有名为" not in answer.text
