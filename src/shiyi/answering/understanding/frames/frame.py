"""The frame: one typed value that says what a question asks, of what, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shiyi.errors import UsageError

ASKS: Final = (
    "advice", "avoid", "may", "compare", "property", "list", "evidence", "how", "dose", "why",
    "meaning", "regulation", "constitution", "clarification", "emergency", "self_harm",
    "stop_medicine", "out_of_scope", "chitchat",
)  # fmt: skip
ALARMS: Final = ("emergency", "self_harm")
POLARITIES: Final = ("positive", "negative", "both", "none")
WHO: Final = ("self", "child", "parent", "partner", "other", "general")
ASSERTIONS: Final = ("affirmed", "denied", "past", "planned", "uncertain")

ROLES: Final = (
    "asked_about", "complaint", "aim", "condition", "medicine", "supplement", "allergy", "eaten",
    "topic", "other_person",
)  # fmt: skip

_SHOWN: Final = 0.1  # an ask of less probability is left out, but for the likeliest
_OLDEST: Final = 130


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that a question may ask, with its calibrated probability."""

    type: str
    p: float


@dataclass(frozen=True, slots=True)
class State:
    """A state of the person, such as pregnancy, and whether it is so."""

    label: str
    assertion: str = "affirmed"


@dataclass(frozen=True, slots=True)
class Patient:
    """The person whom a question is about."""

    who: str = "self"
    age: float | None = None
    states: tuple[State, ...] = ()


@dataclass(frozen=True, slots=True)
class Focus:
    """Something that a question names, the part it plays, and whether it is so."""

    text: str
    start: int
    end: int
    iri: str
    label: str
    role: str
    assertion: str = "affirmed"

    def to_json(self) -> dict[str, Any]:
        """Return the object that a frame holds in ``focus``."""
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "iri": self.iri or None,
            "label": self.label,
            "role": self.role,
            "assertion": self.assertion,
        }


@dataclass(frozen=True, slots=True)
class Frame:
    """A question as it is understood.

    ``asks`` are all types with their probabilities, the likeliest first; they add up to 1.
    ``danger`` is the probability of an emergency or of self-harm; ``alarm`` says which of them
    the slots of the question tell of, and ``slots`` are those that its words fill.
    """

    text: str
    language: str
    asks: tuple[Ask, ...]
    polarity: str
    patient: Patient = Patient()
    focus: tuple[Focus, ...] = ()
    danger: float = 0.0
    alarm: str = ""
    slots: tuple[str, ...] = ()

    @property
    def ask(self) -> str:
        """Return the type that is asked most likely."""
        return self.asks[0].type

    @property
    def confidence(self) -> float:
        """Return the probability of the likeliest type."""
        return self.asks[0].p

    def probability(self, *types: str) -> float:
        """Return the probability that one of some types is asked.

        >>> asks = (Ask("avoid", 0.7), Ask("advice", 0.2), Ask("may", 0.1))
        >>> round(Frame("?", "en", asks, "negative").probability("advice", "may"), 3)
        0.3
        """
        return sum(each.p for each in self.asks if each.type in types)

    def alarm_from(self, least: float) -> str:
        """Return which alarm is raised: by the slots, or by a probability of at least ``least``."""
        return self.alarm or (max(ALARMS, key=self.probability) if self.danger >= least else "")

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``shiyi frame --json`` and ``POST /api/frame``."""
        shown = [e for i, e in enumerate(self.asks) if i == 0 or e.p >= _SHOWN]
        return {
            "text": self.text,
            "language": self.language,
            "ask": [{"type": each.type, "p": round(each.p, 4)} for each in shown],
            "polarity": self.polarity,
            "focus": [each.to_json() for each in self.focus],
            "patient": {
                "who": self.patient.who,
                "age": self.patient.age,
                "states": [
                    {"label": each.label, "assertion": each.assertion}
                    for each in self.patient.states
                ],
            },
            "alarm": self.alarm or None,
            "danger": round(self.danger, 4),
            "confidence": round(self.confidence, 4),
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Parse what :meth:`to_json` returns, or an object that holds it as ``frame``.

        Raise ``UsageError`` for anything else.

        >>> Frame.from_json({"frame": {"text": "?"}})
        Traceback (most recent call last):
        ...
        shiyi.errors.UsageError: the context is no frame: language is missing
        """
        fields = _object(value, "the object")
        fields = _object(fields["frame"], "frame") if "frame" in fields else fields
        for name in ("text", "language", "ask", "polarity", "patient"):
            if name not in fields:
                raise UsageError(f"the context is no frame: {name} is missing")
        person = _object(fields["patient"], "patient")
        asks = tuple(
            Ask(_one_of(ASKS, each.get("type"), "ask.type"), _share(each.get("p"), "ask.p"))
            for each in _objects(fields["ask"], "ask")
        )
        if not asks:
            raise UsageError("the context is no frame: ask is empty")
        states = tuple(
            State(
                _text(each.get("label"), "states.label"),
                _one_of(ASSERTIONS, each.get("assertion"), "states.assertion"),
            )
            for each in _objects(person.get("states", []), "states")
        )
        return cls(
            _text(fields["text"], "text"),
            _one_of(("zh", "en"), fields["language"], "language"),
            asks,
            _one_of(POLARITIES, fields["polarity"], "polarity"),
            Patient(_one_of(WHO, person.get("who"), "who"), _age(person.get("age")), states),
            tuple(_focus(each) for each in _objects(fields.get("focus", []), "focus")),
            _share(fields.get("danger", 0.0), "danger"),
            _one_of(ALARMS, fields["alarm"], "alarm") if fields.get("alarm") else "",
        )


def _focus(value: Mapping[str, Any]) -> Focus:
    return Focus(
        _text(value.get("text"), "focus.text"),
        _place(value.get("start")),
        _place(value.get("end")),
        _text(value.get("iri") or "", "focus.iri"),
        _text(value.get("label"), "focus.label"),
        _one_of(ROLES, value.get("role"), "focus.role"),
        _one_of(ASSERTIONS, value.get("assertion"), "focus.assertion"),
    )


def _place(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("the context is no frame: a place in focus is no number from 0")
    return value


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"the context is no frame: {name} is no JSON object")
    return value


def _objects(value: object, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise UsageError(f"the context is no frame: {name} is no list")
    return [_object(each, name) for each in value]


def _one_of(known: tuple[str, ...], value: object, name: str) -> str:
    if value not in known:
        raise UsageError(f"the context is no frame: {name} is none of {', '.join(known)}")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"the context is no frame: {name} is no text")
    return value


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"the context is no frame: {name} is no number from 0 to 1")
    return float(value)


def _age(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _OLDEST:
        raise UsageError("the context is no frame: age is no number of years")
    return float(value)
