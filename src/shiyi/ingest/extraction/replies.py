"""Pydantic models of a language model's replies."""

import math
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


def _clean(text: str) -> str:
    """Refuse control characters and lone surrogates."""
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn"} and character not in "\n\t":
            raise ValueError("holds a control character")
    return text


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("is no number")
    return number


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_clean),
]
Line = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=1000), AfterValidator(_clean)
]
Quote = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Share = Annotated[float, Field(ge=0, le=1), AfterValidator(_finite)]


class Form(BaseModel):
    """A part of a reply; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Relations(Form):
    """Names of relations."""

    relations: Annotated[list[Name], Field(max_length=80)]


class Statement(Form):
    """One statement of a passage, in its own words."""

    subject: Name
    relation: Name
    object: Name
    quote: Quote
    subject_type: Line = ""
    object_type: Line = ""
    negated: bool = False
    confidence: Share = 0.5
    description: Line = ""


class Statements(Form):
    """The statements of a passage in the chosen relations."""

    statements: Annotated[list[Statement], Field(max_length=120)]


class Attributes(Form):
    """The statements of a passage about foods and dishes."""

    attributes: Annotated[list[Statement], Field(max_length=120)]


class QuestionAnswer(Form):
    """A question that a passage answers."""

    question: Name
    answer: Annotated[Line, Field(min_length=1)]


class Entity(Form):
    """A thing that a passage speaks of."""

    name: Name
    type: Line = ""
    layer: Literal["patient", "disease", "other"] = "other"
    description: Line = ""


class Notes(Form):
    """The searchable notes on a passage."""

    summary: Annotated[Line, Field(min_length=1)]
    questions: Annotated[list[QuestionAnswer], Field(max_length=20)]
    entities: Annotated[list[Entity], Field(max_length=80)]


class Repair(Form):
    """A refused statement repaired, or withdrawn."""

    number: int
    withdraw: bool = False
    statement: Statement | None = None


class Repairs(Form):
    """The refused statements of a passage, repaired."""

    repairs: Annotated[list[Repair], Field(max_length=240)]
