"""The frame: one typed value that says what a question asks, of what, and for whom.

Everything after the reader reads the frame; the question is not parsed a second time. A client
sends the frame of the turn before as the context of the next, so it is parsed like any input.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema

from shiyi.errors import UsageError

AskType = Literal[
    "advice", "avoid", "may", "compare", "property", "list", "evidence", "how", "dose", "why",
    "meaning", "regulation", "constitution", "clarification", "emergency", "self_harm",
    "stop_medicine", "out_of_scope", "chitchat",
]  # fmt: skip
Alarm = Literal["emergency", "self_harm"]
Polarity = Literal["positive", "negative", "both", "none"]
Who = Literal["self", "child", "parent", "partner", "other", "general"]
Assertion = Literal["affirmed", "denied", "past", "planned", "uncertain"]
Role = Literal[
    "asked_about", "complaint", "aim", "condition", "medicine", "supplement", "allergy", "eaten",
    "topic", "other_person",
]  # fmt: skip
Sex = Literal["", "female", "male"]
Operator = Literal["is", "is_not", "before", "after", "more", "less"]
Share = Annotated[float, Field(ge=0, le=1)]
Place = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(max_length=4000)]
Iri = Annotated[Text, WithJsonSchema({"type": ["string", "null"]})]
OrNull = Annotated[  # an empty list is written as null
    tuple[Text, ...], WithJsonSchema({"type": ["array", "null"], "items": {"type": "string"}})
]
Years = Annotated[float, Field(ge=0, le=130)]
ASKS: Final[tuple[str, ...]] = get_args(AskType)
ALARMS: Final[tuple[str, ...]] = get_args(Alarm)
POLARITIES: Final[tuple[str, ...]] = get_args(Polarity)
WHO: Final[tuple[str, ...]] = get_args(Who)
ASSERTIONS: Final[tuple[str, ...]] = get_args(Assertion)
ROLES: Final[tuple[str, ...]] = get_args(Role)

REPEATED: Final = ("shorter", "in-english", "in-chinese", "plainer", "again", "source")
SHORT: Final = 60  # characters of a question that may be elliptical
_SHOWN: Final = 0.1  # an ask of less probability is left out, but for the likeliest
_STRICT: Final = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing that a question may ask, with its calibrated probability."""

    __pydantic_config__ = _STRICT
    type: AskType
    p: Share


@dataclass(frozen=True, slots=True)
class State:
    """A state of the person, such as pregnancy, and whether it is so."""

    __pydantic_config__ = _STRICT
    label: Text
    assertion: Assertion = "affirmed"
    iri: Iri = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """The person whom a question is about."""

    __pydantic_config__ = _STRICT
    who: Who = "self"
    age: Years | None = None
    sex: Annotated[Sex, WithJsonSchema({"enum": ["", "female", "male", None]})] = ""
    states: tuple[State, ...] = ()


@dataclass(frozen=True, slots=True)
class Focus:
    """Something that a question names, the part it plays, and whether it is so.

    ``iri`` is empty where nothing of that name is known; ``also`` are the other concepts that bear
    the name, likeliest first; ``within`` is the longer word that it is read from: 人参汤.
    """

    __pydantic_config__ = _STRICT
    text: Text
    start: Place = 0
    end: Place = 0
    iri: Iri = ""
    label: Text = ""
    role: Role = "topic"
    assertion: Assertion = "affirmed"
    also: tuple[Text, ...] = ()
    within: Text = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """What things of a list must have: a property of the vocabulary, an operator and a value."""

    __pydantic_config__ = _STRICT
    property: Text
    operator: Operator = "is"
    value: Text = ""


@dataclass(frozen=True, slots=True)
class WantedKinds:
    """What is wanted: classes, ways of preparing, seasons, and how much of it.

    ``relations`` are properties and ``kinds`` classes that the words name, ``measure`` is whether
    things are counted or ranked, ``cues`` are the remaining signs that a form of answer heeds.
    """

    __pydantic_config__ = _STRICT
    classes: tuple[Text, ...] = ()
    form: OrNull = ()
    season: OrNull = ()
    diet: tuple[Text, ...] = ()
    relations: tuple[Text, ...] = ()
    kinds: tuple[Text, ...] = ()
    measure: Literal["", "count", "most"] = ""
    limit: Annotated[int, Field(ge=0, le=200)] = 0
    ordinal: Annotated[int, Field(ge=-1, le=20)] = 0
    cues: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A question as it is understood.

    ``asks`` are types with their probabilities, the likeliest first. ``danger`` is the probability
    of an emergency or of self-harm; ``alarm`` says which of them the slots of the question tell
    of, ``slots`` are those that its words fill, ``signs`` the signs of an emergency described.
    ``leaning`` is ``cold`` or ``hot`` where the words decide, with the words. ``topics`` are those
    that are no matter of food. ``second`` is what another clause asks surely, ``root`` what was
    asked before questions that only follow it.
    """

    __pydantic_config__ = _STRICT
    text: Text
    language: Literal["zh", "en"]
    asks: Annotated[tuple[Intent, ...], Field(min_length=1)]
    polarity: Polarity
    patient: Patient = Patient()
    wanted: WantedKinds = WantedKinds()
    focus: tuple[Focus, ...] = ()
    conditions: tuple[Condition, ...] = ()
    danger: Share = 0.0
    alarm: Literal["", "emergency", "self_harm"] = ""
    signs: tuple[Text, ...] = ()
    slots: tuple[Text, ...] = ()
    leaning: tuple[Text, ...] = ()
    topics: tuple[Text, ...] = ()
    second: tuple[AskType, ...] = ()
    root: Literal[AskType, ""] = ""

    @property
    def ask(self) -> AskType:
        """Return the type that is asked most likely."""
        return self.asks[0].type

    @property
    def confidence(self) -> float:
        """Return the probability of the likeliest type."""
        return self.asks[0].p

    def probability(self, *types: str) -> float:
        """Return the probability that one of some types is asked.

        >>> asks = (Intent("avoid", 0.7), Intent("advice", 0.2), Intent("may", 0.1))
        >>> round(Frame("?", "en", asks, "negative").probability("advice", "may"), 3)
        0.3
        """
        return sum(intent.p for intent in self.asks if intent.type in types)

    def alarm_from(self, minimum: float) -> str:
        """Return the alarm that the slots raise, or a probability of at least ``minimum``.

        Both estimates count alike; the greater one where the words tell of a danger, the lesser
        one where they name nothing that could be one.
        """
        both = self.danger, self.probability(*ALARMS)
        likely = sum(both) / 2 if _TELLING.isdisjoint(self.slots) else max(both)
        likely = min(both) if (_TELLING | _GROUNDS).isdisjoint(self.slots) else likely
        return self.alarm or (max(ALARMS, key=self.probability) if likely >= minimum else "")

    def of_role(self, *roles: str) -> tuple[Focus, ...]:
        """Return what plays one of some roles and is not denied."""
        return tuple(f for f in self.focus if f.role in roles and f.assertion != "denied")

    @property
    def is_repeated(self) -> bool:
        """Return whether the answer before is asked for once more, in another way."""
        named = any(f.iri for f in self.focus)
        return self.has_cue(*REPEATED) and not named and len(self.text) <= SHORT

    def has_cue(self, *cues: str) -> bool:
        """Return whether the words gave one of some signs."""
        return not set(cues).isdisjoint(self.wanted.cues)

    def with_ask(self, ask: AskType) -> Self:
        """Return the same frame with one ask that is certain."""
        return replace(self, asks=(Intent(ask, 1.0),))

    def in_language(self, language: str) -> Self:
        """Return the same frame, to be answered in a language."""
        return replace(self, language="zh" if language == "zh" else "en")

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``shiyi frame --json`` and ``POST /api/frame``."""
        whole: dict[str, Any] = _to_json(self)
        asks = [e for i, e in enumerate(whole.pop("asks")) if i == 0 or e["p"] >= _SHOWN]
        whole["confidence"] = round(self.confidence, 4)
        return {"text": whole.pop("text"), "language": whole.pop("language"), "ask": asks} | whole

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Parse what :meth:`to_json` returns, or an object that holds it as ``frame``.

        Raise ``UsageError`` for anything else.

        >>> Frame.from_json({"frame": {"text": "?"}})
        Traceback (most recent call last):
        ...
        shiyi.errors.UsageError: the context is no frame: language: Field required
        """
        if isinstance(value, Mapping) and isinstance(value.get("frame"), Mapping):
            value = value["frame"]
        if not isinstance(value, Mapping):
            raise UsageError("the context is no frame: it is no JSON object")
        given = {"asks" if k == "ask" else k: v for k, v in _drop_nulls(value).items()}
        given.pop("confidence", None)
        try:
            frame: Self = _adapter().validate_python(given)
        except ValidationError as fault:
            first = fault.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])).replace("asks", "ask")[:80]
            message = f"the context is no frame: {where}: {first['msg']}"
            raise UsageError(message) from fault
        return frame


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Frame)


def _to_json(value: Any) -> Any:
    """Write empty identifiers as null and probabilities with four digits."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    pairs = ((name, getattr(value, name)) for name in value.__dataclass_fields__)
    return {k: None if k in _NULL and not v else _to_json(v) for k, v in pairs}


def _drop_nulls(value: Any) -> Any:
    """Leave null fields out, so that each takes its default."""
    if isinstance(value, Mapping):
        return {str(k): _drop_nulls(v) for k, v in value.items() if v is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value


_TELLING: Final = frozenset({  # slots that tell of danger by themselves
    "attempt", "bite", "despair", "eating", "euthanasia", "farewell", "lethal", "means", "mistake",
    "rescue", "self-cutting", "signs", "wish",
})  # fmt: skip
# slots that may be part of a danger
_GROUNDS: Final = frozenset({"chemical", "medicine", "overdose", "plant", "symptom", "taken"})
_NULL: Final = frozenset({"iri", "sex", "alarm", "root", "form", "season"})
