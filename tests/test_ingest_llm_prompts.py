"""Prompts hold what they promise: worked cases in both languages, in the form that is asked for."""

import json
import re

import pytest
from pydantic import BaseModel

from shiyi.ingest.cases.llm_forms import CaseForm
from shiyi.ingest.extraction import llm_forms
from shiyi.ingest.extraction.relations import ATTRIBUTES, Relations
from shiyi.ingest.schools.chain import ChainForm
from shiyi.ingest.schools.overlay import ReasoningForm
from shiyi.prompts.prompt import Prompt

FORMS: dict[str, type[BaseModel]] = {
    "propose-relations": llm_forms.Relations, "filter-relations": llm_forms.Relations,
    "extract-claims": llm_forms.Statements, "extract-attributes": llm_forms.Attributes,
    "describe-passage": llm_forms.Notes, "repair-claims": llm_forms.Repairs,
    "read-case": CaseForm, "decompose-chain": ChainForm, "write-reasoning": ReasoningForm,
}  # fmt: skip
RELATIONS = Relations.of()


@pytest.mark.parametrize("name", FORMS)
def test_worked_cases_have_the_form_in_chinese_and_english(name: str) -> None:
    worked = Prompt.named(name).text.partition("## Worked cases")[2]
    replies = [line for line in worked.splitlines() if line.startswith("{")]
    assert len(replies) >= 2
    for each in replies:
        FORMS[name].model_validate(json.loads(each))
    asked = "".join(line for line in worked.splitlines() if not line.startswith("{"))
    assert re.search(r"[\u4e00-\u9fff]", asked)
    assert any(not re.search(r"[\u4e00-\u9fff]", line) for line in replies)


@pytest.mark.parametrize("name", ["extract-claims", "extract-attributes", "repair-claims"])
def test_every_worked_statement_would_be_taken(name: str) -> None:
    worked = Prompt.named(name).text.partition("## Worked cases")[2]
    for asked, reply in re.findall(r"^([^{\n].*)\n(\{.*)$", worked, re.MULTILINE):
        for each in _statements(json.loads(reply)):
            assert each["relation"] in RELATIONS.names
            assert each["quote"] in asked
            assert each["object"] in each["quote"]
            assert each["subject"].lower() in asked.lower()
            if name == "extract-attributes":
                assert each["relation"] in ATTRIBUTES


def _statements(said: dict[str, list[dict[str, dict[str, str]]]]) -> list[dict[str, str]]:
    [found] = said.values()
    return [each["statement"] if "number" in each else each for each in found  # type: ignore[misc]
            if not each.get("withdraw")]  # fmt: skip


def test_what_a_graph_records_of_itself_is_no_relation_of_texts() -> None:
    assert {"hasNature", "indicatedFor", "interactsWith"} <= set(RELATIONS.names)
    assert not {"status", "leadsTo", "belongsToSchool", "derivedCaution"} & set(RELATIONS.names)
    assert "hasNature (性(四气), has nature): DietaryMaterial | Dish → Nature" in RELATIONS.told()


@pytest.mark.parametrize(
    "said",
    [
        '{"statements": [{"subject": "a", "relation": "b", "object": "c", "quote": "d", "confidence": NaN}]}',
        '{"statements": [{"subject": "a", "relation": "b", "object": "c", "quote": "d", "confidence": -1}]}',
        '{"statements": [{"subject": "a\\u0000", "relation": "b", "object": "c", "quote": "d"}]}',
        '{"statements": [{"subject": "\\ud800", "relation": "b", "object": "c", "quote": "d"}]}',
        '{"statements": [{"subject": "a", "relation": "b", "object": "c", "quote": ""}]}', '{"statements": 1}',
    ],
)  # fmt: skip
def test_hostile_replies_have_not_the_form(said: str) -> None:
    with pytest.raises(ValueError, match=r"validation error|unicode"):
        llm_forms.Statements.model_validate(json.loads(said))
