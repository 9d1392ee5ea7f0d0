"""The form of a model's reply while it reads a case."""

from typing import Annotated, Literal

from pydantic import Field

from shiyi.ingest.extraction.llm_forms import Form, Name


class CaseWords(Form):
    """Words of a case, and what they speak of."""

    words: Name
    kind: Literal["symptom", "pathogenesis", "pattern", "disease", "treatment"]


class CaseStep(Form):
    """A step of the reasoning that a case states."""

    start: Annotated[Name, Field(alias="from")]
    to: Name


class CaseForm(Form):
    """What a model found in a case."""

    mentions: Annotated[list[CaseWords], Field(max_length=200)]
    steps: Annotated[list[CaseStep], Field(max_length=200)]
    classes: Annotated[list[Name], Field(max_length=10)]
